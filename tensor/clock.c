/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/clock.c - the monotonic clock in seconds. */
#include "tensor/clock.h"

#include <time.h>

double tt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
