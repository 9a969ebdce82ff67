/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/replay.c - run every file of a corpus through a fuzz target, without a fuzzer.
 *
 *   replay_NAME [FILE or FOLDER ...]     default: tests/fuzz/corpus/NAME
 *
 * A target's checks, a crash and a sanitizer all end the process; the file that did it is named on stderr. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/fs.h"
#include "tests/fuzz/fuzz.h"

static const char *current;
static int count;

/* Sanitizers end the process without a signal. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void name_file(void)
{
    static const char text[] = "replay: failed at ";
    ssize_t ignored = write(2, text, sizeof text - 1) + write(2, current, strlen(current)) + write(2, "\n", 1);
    (void)ignored;
}

static void on_signal(int sig)
{
    name_file();
    signal(sig, SIG_DFL);
    raise(sig);
}

static int replay_file(const char *path)
{
    char *data;
    size_t size;
    if (tt_fs_read(path, (size_t)1 << 28, TT_EDATA, &data, &size) != TT_OK) {
        fprintf(stderr, "%s\n", tt_error_message());
        return 1;
    }
    current = path;
    /* An exact copy: reading beyond the input must not land on the NUL behind it. */
    uint8_t *exact = malloc(size ? size : 1);
    TT_ASSERT(exact);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    free(data);
    count++;
    return 0;
}

static int replay(const char *path)
{
    struct dirent **names;
    if (!tt_fs_is_dir(path)) return replay_file(path);
    int n = scandir(path, &names, NULL, alphasort), failed = n < 0;
    for (int i = 0; i < n; i++) {
        char *file = tt_fs_join(path, names[i]->d_name);
        if (names[i]->d_name[0] != '.') failed |= replay_file(file);
        free(file);
        free(names[i]);
    }
    if (n >= 0) free(names);
    return failed;
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    if (strncmp(name, "replay_", 7) == 0) name += 7;
    char folder[256];
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(name_file);
    else
        signal(SIGSEGV, on_signal);
    int failed = argc < 2 ? replay(folder) : 0;
    for (int i = 1; i < argc; i++) failed |= replay(argv[i]);
    printf("%s: %d files replayed\n", name, count);
    return failed || count == 0;
}
