/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/runinfo.h - env.json (what a run is computed on) and status.json (how far it is), for people and schedulers. */
#ifndef TT_PIPELINE_RUNINFO_H
#define TT_PIPELINE_RUNINFO_H

#include <jansson.h>

#include "tensor/status.h"

/* Write RUN_DIR/env.json, about the process that writes to the run directory now: version and commit, compiler and
 * libraries, command line, working directory, host, kernel, CPU, cores, memory, instruction set, threads, and what the
 * batch system says about the job. Of the environment only the variables named in runinfo.c are kept: others may hold
 * secrets. */
TtStatus tt_runinfo_write(const char *run_dir, int argc, char **argv, int threads) TT_NODISCARD;
/* Replace RUN_DIR/status.json in one step: {"state": STATE, "pid", "host", "updated", ...MORE}. STATE is running,
 * stopped, done or failed. MORE is borrowed. */
TtStatus tt_runinfo_status(const char *run_dir, const char *state, const json_t *more) TT_NODISCARD;

#endif
