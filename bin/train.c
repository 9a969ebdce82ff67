/* SPDX-License-Identifier: Apache-2.0 */
/* bin/train.c - ttrain [train] CONFIG [key=value ...] [--resume ...] [--overwrite] [--check] [--dry-run] [--print-config] */
#include <stdio.h>
#include <string.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "pipeline/check.h"
#include "pipeline/trainer.h"

static const char usage[] =
    "usage: ttrain [train] CONFIG.yaml [key=value ...]\n"
    "  --resume auto|never|must|DIR  where to start (default: the config's resume, auto); never is refused\n"
    "                                where output_dir holds a run\n"
    "  --overwrite                   remove an earlier run in output_dir first\n"
    "  --check                       check keys, paths, classes, batch, disk and memory; train nothing\n"
    "  --dry-run                     two training steps, one validation step, a checkpoint; leaves nothing behind\n"
    "  --print-config                print all keys with their values and help\n";

int tt_cmd_train(int argc, char **argv)
{
    TtTrainerOptions o = {.argc = argc, .argv = argv};
    bool check = false, dry_run = false, print = false;
    const TtFlag flags[] = {{"--resume", .text = &o.resume},   {"--overwrite", .set = &o.overwrite},
                            {"--check", .set = &check},        {"--dry-run", .set = &dry_run},
                            {"--print-config", .set = &print}, {0}};
    TtArgs a;
    TtConfig *c = NULL;
    TtStatus s = tt_args_parse(argc, argv, flags, usage, &a);
    if (s == TT_OK && !a.help) s = tt_args_config(&a, false, &c);
    if (s == TT_OK && !a.help) {
        if (print)
            s = tt_config_print(stdout, c, true);
        else if (check)
            s = tt_check_config(c, stdout);
        else if (dry_run)
            s = tt_check_dry_run(c);
        else
            s = tt_train(c, &o);
    }
    tt_config_free(c);
    tt_args_free(&a);
    return tt_args_exit(s);
}
