/* SPDX-License-Identifier: Apache-2.0 */
/* bin/list.c - ttrain list KIND: what can be named in a config. */
#include <stdio.h>
#include <string.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "data/dataset.h"
#include "kernels/ops/unary.h"
#include "models/model.h"
#include "pipeline/loss.h"
#include "pipeline/optimizer.h"
#include "pipeline/reference.h"
#include "pipeline/scheduler.h"
#include "data/transform.h"

static const char usage[] =
    "usage: ttrain list models|layers|transforms|datasets|optimizers|schedulers|losses|ops [--options]\n"
    "       ttrain list --markdown    the reference page of all config keys\n"
    "  --options  also each one's arguments: type, default, range, help\n";

static void show(const char *name, const char *help, const TtOption *table, bool options)
{
    printf("%-24s %s\n", name, help ? help : "");
    if (!options || !table || !table->key) return;
    puts("\n| key | type | default | range | |\n|---|---|---|---|---|");
    tt_options_markdown(stdout, table, "");
    putchar('\n');
}

#define SHOW_ALL(list) \
    for (int i = 0; list[i]; i++) show(list[i]->name, list[i]->help, list[i]->options, options)

static void models(bool options)
{
    SHOW_ALL(tt_models);
}

static void transforms(bool options)
{
    SHOW_ALL(tt_transforms);
}

static void datasets(bool options)
{
    SHOW_ALL(tt_datasets);
}

static void optimizers(bool options)
{
    SHOW_ALL(tt_optimizers);
}

static void schedulers(bool options)
{
    SHOW_ALL(tt_schedulers);
}

static void losses(bool options)
{
    SHOW_ALL(tt_losses);
}

static void ops(bool options)
{
    for (int i = 0; i < TT_OP_COUNT; i++) show(tt_ops[i]->name, tt_ops[i]->help, NULL, options);
    puts("\nkinds of unary:");
    for (int i = 0; i < TT_UNARY_COUNT; i++)
        show(tt_unary_name((TtUnaryKind)i), tt_unary_help((TtUnaryKind)i), NULL, options);
}

/* What models are made of: ops together with their parameters. tests/cli.sh checks that all of models/nn.h are here. */
static const struct {
    const char *name, *help;
} all_layers[] = {
    {"conv2d", "torch.nn.Conv2d: weight (out, in/groups, kh, kw), bias (out)"},
    {"conv1d", "torch.nn.Conv1d on (N,T,C): weight (out, in/groups, kernel), bias (out)"},
    {"conv_transpose1d", "torch.nn.ConvTranspose1d on (N,T,C): weight (in, out/groups, kernel), bias (out)"},
    {"batch_norm", "torch.nn.BatchNorm2d: weight, bias, running_mean, running_var, num_batches_tracked"},
    {"group_norm", "torch.nn.GroupNorm of (N,...,C): weight (C), bias (C)"},
    {"layer_norm", "torch.nn.LayerNorm over the last axis: weight (C), bias (C)"},
    {"prelu", "torch.nn.PReLU: weight (1) or (C)"},
    {"linear", "torch.nn.Linear on the last axis: weight (out, in), bias (out)"},
    {"global_avg_pool", "torch.nn.AdaptiveAvgPool2d(1) and flatten"},
};

static void layers(bool options)
{
    for (int i = 0; i < TT_COUNT(all_layers); i++) show(all_layers[i].name, all_layers[i].help, NULL, options);
}

static const struct {
    const char *name;
    void (*show)(bool options);
} kinds[] = {{"models", models},         {"layers", layers},         {"transforms", transforms}, {"datasets", datasets},
             {"optimizers", optimizers}, {"schedulers", schedulers}, {"losses", losses},         {"ops", ops}};

static TtStatus list(const char *kind, bool options)
{
    const char *names[TT_COUNT(kinds)];
    for (int i = 0; i < TT_COUNT(kinds); i++) {
        names[i] = kinds[i].name;
        if (kind && strcmp(kind, names[i]) == 0) {
            kinds[i].show(options);
            return TT_OK;
        }
    }
    const char *near = kind ? tt_nearest(kind, names, TT_COUNT(kinds)) : NULL;
    if (near) return TT_FAIL(TT_ECONFIG, "there is no list of '%s'; did you mean '%s'?", kind, near);
    return TT_FAIL(TT_ECONFIG,
                   "list what? models, layers, transforms, datasets, optimizers, schedulers, losses or ops");
}

int tt_cmd_list(int argc, char **argv)
{
    bool options = false, markdown = false;
    const TtFlag flags[] = {{"--options", .set = &options}, {"--markdown", .set = &markdown}, {0}};
    TtArgs a;
    TtStatus s = tt_args_parse(argc, argv, flags, usage, &a);
    if (s == TT_OK && !a.help && a.n_inputs) s = TT_FAIL(TT_ECONFIG, "list takes one word, not also '%s'", a.inputs[0]);
    if (s == TT_OK && !a.help) {
        if (markdown)
            tt_reference_markdown(stdout);
        else
            s = list(a.config, options);
    }
    s = tt_args_flush(s);
    tt_args_free(&a);
    return tt_args_exit(s);
}
