/* SPDX-License-Identifier: Apache-2.0 */
/* bin/args.h - command lines: flags anywhere, then a config, overrides and inputs. */
#ifndef TT_BIN_ARGS_H
#define TT_BIN_ARGS_H

#include "pipeline/config.h"

typedef struct TtFlag {
    const char *name;  /* "--weights" */
    const char **text; /* takes a value: --weights X or --weights=X */
    bool *set;         /* or takes none */
    int64_t *number;   /* or takes a number, 0 or more */
} TtFlag;

typedef struct TtArgs {
    bool help;          /* --help was asked for and printed */
    const char *config; /* the first word that is no override */
    int n_overrides;
    char **overrides; /* key=value words */
    int n_inputs;
    char **inputs; /* the other words */
} TtArgs;

/* Parse what follows the command's name (argv[0]). Words that look like key=value are overrides unless a file of that
 * name exists and a config has been seen already; `--` ends flags and overrides. */
TtStatus tt_args_parse(int argc, char **argv, const TtFlag *flags, const char *usage, TtArgs *out) TT_NODISCARD;
/* Load the config with the overrides; the config is required. Unless the command TAKES_INPUTS, another word is an error:
 * most likely an override gone wrong. */
TtStatus tt_args_config(const TtArgs *a, bool takes_inputs, TtConfig **out) TT_NODISCARD;
void tt_args_free(TtArgs *a);
/* S, or when that is TT_OK and a result printed to stdout did not arrive (disk full): TT_EINTERNAL. */
TtStatus tt_args_flush(TtStatus s) TT_NODISCARD;
/* Print the error, if any, as the first line of stderr that a scheduler's log shows, and return the exit code. */
int tt_args_exit(TtStatus s);

#endif
