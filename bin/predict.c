/* SPDX-License-Identifier: Apache-2.0 */
/* bin/predict.c - ttrain predict CONFIG [key=value ...] INPUT... [--weights FILE] [--output DIR] */
#include <string.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "pipeline/predict.h"

static const char usage[] =
    "usage: ttrain predict CONFIG.yaml [key=value ...] INPUT... [--weights FILE] [--top-k N] [--format json|csv]\n"
    "                      [--output DIR]\n"
    "  INPUT             picture files, or folders of them\n"
    "  --weights FILE    .safetensors or .pth; default: the run's best checkpoint, else its last\n"
    "  --top-k N         classes a picture (default 5)\n"
    "  --format json|csv one JSON object a line (default), or CSV\n"
    "  --output DIR      write DIR/predictions.jsonl or .csv instead of printing\n";

int tt_cmd_predict(int argc, char **argv)
{
    TtPredictOptions o = {.top_k = 5};
    const char *format = "json";
    const TtFlag flags[] = {{"--weights", .text = &o.weights},
                            {"--output", .text = &o.output_dir},
                            {"--format", .text = &format},
                            {"--top-k", .number = &o.top_k},
                            {0}};
    TtArgs a;
    TtConfig *c = NULL;
    TtStatus s = tt_args_parse(argc, argv, flags, usage, &a);
    if (s == TT_OK && !a.help) {
        o.csv = strcmp(format, "csv") == 0;
        if (!o.csv && strcmp(format, "json") != 0)
            s = TT_FAIL(TT_ECONFIG, "--format must be json or csv, not '%s'", format);
        if (s == TT_OK && o.top_k < 1) s = TT_FAIL(TT_ECONFIG, "--top-k must be at least 1");
        if (s == TT_OK && a.n_inputs == 0) s = TT_FAIL(TT_ECONFIG, "no pictures given: ttrain predict CONFIG INPUT...");
        if (s == TT_OK) s = tt_args_config(&a, true, &c);
        if (s == TT_OK) s = tt_predict(c, &o, a.n_inputs, a.inputs);
    }
    tt_config_free(c);
    tt_args_free(&a);
    return tt_args_exit(s);
}
