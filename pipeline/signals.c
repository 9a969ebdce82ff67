/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/signals.c - flags set by handlers. */
#include "pipeline/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_code, stop_signal, save_asked;

static void on_signal(int number)
{
    if (number == SIGHUP) {
        save_asked = 1;
        return;
    }
    if (number == SIGINT && stop_code == TT_EINTERRUPTED) _exit(TT_EINTERRUPTED); /* twice: the user means it */
    if (stop_code == 0 || number == SIGINT) {
        stop_code = number == SIGINT ? TT_EINTERRUPTED : TT_ESTOPPED;
        stop_signal = number;
    }
}

void tt_signals_install(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&a.sa_mask);
    const int numbers[] = {SIGTERM, SIGUSR1, SIGINT, SIGHUP};
    for (int i = 0; i < TT_COUNT(numbers); i++) {
        /* nohup and `&` in scripts set SIGHUP or SIGINT to be ignored: leave them so. */
        struct sigaction was;
        if (sigaction(numbers[i], NULL, &was) == 0 && was.sa_handler == SIG_IGN && numbers[i] != SIGTERM) continue;
        sigaction(numbers[i], &a, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of write(), not the end of a training run */
}

TtStatus tt_signals_stop(void)
{
    return (TtStatus)stop_code;
}

const char *tt_signals_name(void)
{
    switch (stop_signal) {
    case SIGTERM: return "SIGTERM";
    case SIGUSR1: return "SIGUSR1";
    case SIGINT: return "SIGINT";
    default: return NULL;
    }
}

bool tt_signals_take_save(void)
{
    bool asked = save_asked;
    save_asked = 0;
    return asked;
}

void tt_signals_reset(void)
{
    stop_code = stop_signal = save_asked = 0;
}
