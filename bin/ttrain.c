/* SPDX-License-Identifier: Apache-2.0 */
/* bin/ttrain.c - find the command and run it. `ttrain CONFIG.yaml ...` trains. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/commands.h"
#include "tensor/node.h"

/* Threads that wait at the end of a kernel must not burn the time of those still at work: on a machine with a busy
 * neighbour, or with loader workers on the same cores, spinning stalls every step by whole scheduler slices. libgomp
 * takes its settings from the environment when it is loaded, before main, so the program starts itself once more with
 * them (about ten milliseconds, only for commands that compute). What the user has set stays. */
static void set_wait_policy(char **argv)
{
    char path[4096];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0 || setenv("GOMP_SPINCOUNT", "5000", 1) != 0) return;
    path[n] = '\0';
    execv(path, argv); /* on failure: go on spinning */
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
    bool computes;
} commands[] = {
#define CMD(name, computes, help) {#name, tt_cmd_##name, help, computes},
#include "bin/commands.def"
#undef CMD
};

static void print_usage(FILE *f)
{
    fprintf(f, "ttrain " TT_VERSION " - train from one YAML file\n\n"
               "usage: ttrain CONFIG.yaml [key=value ...]    train (the default command)\n"
               "       ttrain COMMAND ...\n\ncommands:\n");
    for (int i = 0; i < TT_COUNT(commands); i++) fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(f, "\n`ttrain COMMAND --help` tells more; man ttrain has it all.\n");
}

/* A first word that can only be meant as a command: no file of that name, and nothing that files or overrides have. */
static bool unknown_command(const char *word)
{
    return word[0] != '-' && !strpbrk(word, "./=") && access(word, F_OK) != 0;
}

static int refuse_command(const char *word)
{
    const char *names[TT_COUNT(commands)];
    for (int i = 0; i < TT_COUNT(commands); i++) names[i] = commands[i].name;
    const char *near = tt_nearest(word, names, TT_COUNT(commands));
    fprintf(stderr, "ttrain: there is no command '%s' and no file of that name%s%s%s\n", word,
            near ? "; did you mean '" : "; `ttrain --help` lists the commands", near ? near : "", near ? "'?" : "");
    return TT_ECONFIG;
}

/* A scheduler may start us with closed streams; the first files we opened would then get what is printed. */
static void open_standard_streams(void)
{
    int fd;
    do fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

/* Results that stdout did not take are an error. */
static int end(int code)
{
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (!lost || code != 0) return code;
    fprintf(stderr, "ttrain: cannot write to stdout: %s\n", strerror(errno));
    return TT_EINTERNAL;
}

int main(int argc, char **argv)
{
    open_standard_streams();
    if (argc < 2) {
        print_usage(stderr);
        return TT_ECONFIG;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("ttrain " TT_VERSION);
        return end(0);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return end(0);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file over `ulimit -f` is then an error of write(), reported and cleaned up after */
    for (int i = 0; i < TT_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        if (commands[i].computes) set_wait_policy(argv);
        return end(commands[i].run(argc - 1, argv + 1));
    }
    if (unknown_command(argv[1])) return refuse_command(argv[1]);
    set_wait_policy(argv);
    return end(tt_cmd_train(argc, argv));
}
