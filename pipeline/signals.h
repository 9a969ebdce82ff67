/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/signals.h - what signals ask of a run.
 *
 *   SIGTERM, SIGUSR1  finish the step, write a checkpoint, exit 75 (run again to go on)
 *   SIGINT            the same with exit 130; a second one ends at once
 *   SIGHUP            write a checkpoint and go on
 * Handlers only set flags; the trainer looks at them between steps. */
#ifndef TT_PIPELINE_SIGNALS_H
#define TT_PIPELINE_SIGNALS_H

#include "tensor/status.h"

void tt_signals_install(void);
/* TT_OK, TT_ESTOPPED or TT_EINTERRUPTED. */
TtStatus tt_signals_stop(void);
/* Name of the signal that asked for the stop, or NULL. */
const char *tt_signals_name(void);
/* True once for each SIGHUP. */
bool tt_signals_take_save(void);
void tt_signals_reset(void); /* for tests */

#endif
