/* SPDX-License-Identifier: Apache-2.0 */
/* bin/eval.c - ttrain eval CONFIG [key=value ...] [--weights FILE]: the validation metrics as one JSON object. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "pipeline/evaluate.h"
#include "pipeline/json.h"

static const char usage[] =
    "usage: ttrain eval CONFIG.yaml [key=value ...] [--weights FILE]\n"
    "  --weights FILE  .safetensors or .pth; default: the run's best checkpoint, else its last\n";

int tt_cmd_eval(int argc, char **argv)
{
    const char *weights = NULL;
    const TtFlag flags[] = {{"--weights", .text = &weights}, {0}};
    TtArgs a;
    TtConfig *c = NULL;
    json_t *metrics = NULL;
    TtStatus s = tt_args_parse(argc, argv, flags, usage, &a);
    if (s == TT_OK && !a.help) s = tt_args_config(&a, false, &c);
    if (s == TT_OK && !a.help) s = tt_evaluate(c, weights, &metrics);
    if (metrics) {
        char *line = tt_json_line(metrics);
        puts(line);
        s = tt_args_flush(TT_OK);
        free(line);
        json_decref(metrics);
    }
    tt_config_free(c);
    tt_args_free(&a);
    return tt_args_exit(s);
}
