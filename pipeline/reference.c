/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/reference.c - the reference page: every key, model, data set, transform, loss, optimizer and schedule, as
 * their option tables describe them. Nothing is written here that a table knows. */
#include "pipeline/reference.h"

#include "data/dataset.h"
#include "models/model.h"
#include "pipeline/config.h"
#include "pipeline/loss.h"
#include "pipeline/optimizer.h"
#include "pipeline/scheduler.h"
#include "data/transform.h"

static const char introduction[] =
    "# Configuration reference\n\n"
    "Written by `ttrain list --markdown` from the option tables; do not edit.\n\n"
    "A configuration is one YAML 1.2 document: `1e-4` is a number, only `true` and `false` are booleans, and JSON is "
    "fine. Unknown keys, wrong types and values out of range are errors with file, line and column. A key without a "
    "default must be given where its section is.\n\n"
    "- `key.path=value` on the command line overrides a key; the value is YAML: `optimizer.lr=0.01`, "
    "`transforms.train.0.RandomResizedCrop.size=192`, `scheduler={name: cosine}`.\n"
    "- `${key.path}` is another key's value, `${env:NAME}` an environment variable, `${env:NAME,default}` one that may "
    "be missing, `$$` a dollar sign. Inside `{}` and `[]` YAML wants quotes: `\"${name}\"`.\n"
    "- Anchors (`&a`), aliases (`*a`) and merge keys (`<<`) work.\n"
    "- `ttrain train CONFIG --print-config` shows every key with its value.\n";

static void table(FILE *f, const TtOption *options)
{
    if (!tt_options_count(options)) {
        fputs("No options.\n", f);
        return;
    }
    fputs("| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n", f);
    tt_options_markdown(f, options, "");
}

static void entry(FILE *f, const char *name, const char *help, const TtOption *options)
{
    fprintf(f, "\n### %s\n\n%s.\n\n", name, help);
    table(f, options);
}

/* Architectures of one family share a table: one heading for all of them. */
static void models(FILE *f)
{
    fputs("\n## Models: `model`\n\nEvery model takes, besides its own options:\n\n", f);
    table(f, tt_model_common_options);
    for (int i = 0; tt_models[i]; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++) seen = seen || tt_models[k]->options == tt_models[i]->options;
        if (seen) continue;
        fputc('\n', f);
        for (int k = i; tt_models[k]; k++)
            if (tt_models[k]->options == tt_models[i]->options)
                fprintf(f, "- `%s`: %s\n", tt_models[k]->name, tt_models[k]->help);
        fputc('\n', f);
        table(f, tt_models[i]->options);
    }
}

static void training(FILE *f)
{
    TtArena arena = {0};
    fputs("\n## Losses: `loss`\n\nEvery loss takes, besides its own options:\n\n", f);
    table(f, tt_loss_common_options);
    for (int i = 0; tt_losses[i]; i++) entry(f, tt_losses[i]->name, tt_losses[i]->help, tt_losses[i]->options);
    fputs("\n## Optimizers: `optimizer`\n\nArguments, defaults and formulas are torch.optim's. An element of `groups` "
          "takes any option of the optimizer (what it leaves out is the optimizer's) and these; the first group that "
          "matches a parameter's name counts:\n\n",
          f);
    table(f, tt_optimizer_group_options);
    for (int i = 0; tt_optimizers[i]; i++)
        entry(f, tt_optimizers[i]->name, tt_optimizers[i]->help, tt_optimizer_table(tt_optimizers[i], &arena));
    fputs("\n## Schedules: `scheduler`\n\nArguments, defaults and formulas are torch.optim.lr_scheduler's; the unit of "
          "time is `interval`. `scheduler: null` is a constant rate. A warm-up of W units raises the rate as "
          "`lr * (t + 1) / W`; the schedule begins behind it.\n",
          f);
    for (int i = 0; tt_schedulers[i]; i++)
        entry(f, tt_schedulers[i]->name, tt_schedulers[i]->help, tt_scheduler_table(tt_schedulers[i], &arena));
    tt_arena_free(&arena);
}

void tt_reference_markdown(FILE *f)
{
    fputs(introduction, f);
    fputs("\n## Keys\n\n", f);
    table(f, tt_config_options);
    fputs("\n`trainer.max_time` is seconds (`5400`), units (`1h30m`, `2d`) or a clock (`01:30:00`, `1-12:00:00`).\n",
          f);
    models(f);
    fputs("\n## Data sets: `data.train`, `data.val`\n", f);
    for (int i = 0; tt_datasets[i]; i++) entry(f, tt_datasets[i]->name, tt_datasets[i]->help, tt_datasets[i]->options);
    fputs("\n## Transforms: `transforms.train`, `transforms.val`\n\nNames, arguments, defaults and pixels are "
          "torchvision.transforms.v2's. A list element is `{Name: {argument: value}}` or just `Name`.\n",
          f);
    for (int i = 0; tt_transforms[i]; i++)
        entry(f, tt_transforms[i]->name, tt_transforms[i]->help, tt_transforms[i]->options);
    training(f);
}
