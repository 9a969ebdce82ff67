/* SPDX-License-Identifier: Apache-2.0 */
/* bin/bench.c - ttrain bench step|data CONFIG [key=value ...] [--steps N] [--json] */
#include <string.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "pipeline/bench.h"

static const char usage[] = "usage: ttrain bench step|data CONFIG.yaml [key=value ...] [--steps N] [--json]\n"
                            "  step       training steps on synthetic data of the config's shapes\n"
                            "  data       the loader alone\n"
                            "  --steps N  steps in all, the first included (default 20)\n"
                            "  --json     the last line on stdout is a JSON object\n";

int tt_cmd_bench(int argc, char **argv)
{
    TtBenchOptions o = {.steps = 20};
    const TtFlag flags[] = {{"--steps", .number = &o.steps}, {"--json", .set = &o.json}, {0}};
    TtArgs a;
    TtConfig *c = NULL;
    const char *what = argc > 1 ? argv[1] : "--help";
    bool step = strcmp(what, "step") == 0, help = strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0;
    TtStatus s = TT_OK;
    if (!step && !help && strcmp(what, "data") != 0) {
        fprintf(stderr, "bench what? `ttrain bench step CONFIG` or `ttrain bench data CONFIG`\n");
        return TT_ECONFIG;
    }
    s = tt_args_parse(help ? argc : argc - 1, help ? argv : argv + 1, flags, usage, &a);
    if (s == TT_OK && !a.help && o.steps < 1) s = TT_FAIL(TT_ECONFIG, "--steps must be at least 1");
    if (s == TT_OK && !a.help) s = tt_args_config(&a, false, &c);
    if (s == TT_OK && !a.help) s = step ? tt_bench_step(c, &o) : tt_bench_data(c, &o);
    tt_config_free(c);
    tt_args_free(&a);
    return tt_args_exit(s);
}
