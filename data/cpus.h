/* SPDX-License-Identifier: Apache-2.0 */
/* data/cpus.h - the cgroup's bound on CPUs; tt_cpu_count in loader.h is what callers want. */
#ifndef TT_DATA_CPUS_H
#define TT_DATA_CPUS_H

#include "tensor/status.h"

/* CPUs that the cgroup's quota allows (v1 and v2), 0 when it sets no bound. ROOT stands before /proc and /sys: "" but
 * in tests. */
int tt_cpu_quota(const char *root);

#endif
