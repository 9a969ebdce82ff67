/* SPDX-License-Identifier: Apache-2.0 */
/* data/cpus.c - how many CPUs this process may use.
 *
 * A container is often given a share of the machine by a quota that sched_getaffinity does not show; as many threads
 * as the machine has CPUs would then only be throttled. The quota of every group on the way up counts. */
#include "data/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"

enum { TEXT = 4096 };

/* The first line of a small file; false when there is none. */
static bool read_line(const char *path, char *buf, size_t size)
{
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fgets(buf, (int)size, f) != NULL;
    fclose(f);
    if (ok) buf[strcspn(buf, "\n")] = '\0';
    return ok;
}

/* CPUs that QUOTA of PERIOD microseconds allow, a part of one counted as one; 0 for no bound. */
static int quota_cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    return (int)TT_MIN((quota + period - 1) / period, 1 << 20);
}

static int v2_quota(const char *folder)
{
    char path[2 * TEXT], text[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2) return 0; /* or "max" */
    return quota_cpus(quota, period);
}

static int v1_quota(const char *folder)
{
    char path[2 * TEXT], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, period, sizeof period)) return 0;
    return quota_cpus(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The least bound of GROUP and the groups above it, below the mount point. Inside a container the group's path may be
 * the host's and not exist; its upper part, at last the mount point itself, still does. */
static int least_quota(const char *mount, const char *group, int (*quota)(const char *))
{
    char folder[2 * TEXT];
    int least = 0;
    snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        int n = quota(folder);
        if (n > 0 && (least == 0 || n < least)) least = n;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= strlen(mount) || !slash) return least;
        *slash = '\0';
    }
}

/* Whether the comma-separated LIST holds "cpu". */
static bool has_cpu(const char *list, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = strcspn(list + at, ",:");
        if (n == 3 && memcmp(list + at, "cpu", 3) == 0) return true;
        at += n + 1;
    }
    return false;
}

int tt_cpu_quota(const char *root)
{
    char path[TEXT], line[TEXT], mount[TEXT];
    int least = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) { /* "ID:CONTROLLERS:PATH" */
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group || strstr(group, "/../")) continue;
        int n = 0;
        size_t len = (size_t)(group - list - 1);
        if (len == 0) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            n = least_quota(mount, group + 1, v2_quota);
        } else if (has_cpu(list + 1, len)) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%.*s", root, (int)len, list + 1);
            n = least_quota(mount, group + 1, v1_quota);
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
            if (n == 0) n = least_quota(mount, group + 1, v1_quota);
        }
        if (n > 0 && (least == 0 || n < least)) least = n;
    }
    fclose(f);
    return least;
}

int tt_cpu_count(void)
{
    /* The kernel refuses a mask smaller than its own; machines with more than 1024 CPUs exist. */
    int count = 1;
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        if (!set) break;
        int rc = sched_getaffinity(0, size, set);
        if (rc == 0) count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (rc == 0) break;
    }
    int quota = tt_cpu_quota("");
    return TT_MAX(1, quota > 0 ? TT_MIN(quota, count) : count);
}

int tt_loader_auto_workers(void)
{
    enum { MOST = 16 }; /* beyond that the storage is the limit, or the number should be chosen by a person */
    return TT_MIN(tt_cpu_count(), MOST);
}
