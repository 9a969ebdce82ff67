/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/temp.c - folders for tests. They are removed by nftw, not by the code under test. */
#include "tests/support/temp.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int temp_setup(void **state)
{
    /* in memory where that is: tests of thousands of flushes need not wait for a disk */
    char *path = strdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/ttrain-test-XXXXXX" : "/tmp/ttrain-test-XXXXXX");
    *state = path ? mkdtemp(path) : NULL;
    return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

int temp_teardown(void **state)
{
    int failed = nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return failed;
}

int temp_entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d) closedir(d);
    return n;
}
