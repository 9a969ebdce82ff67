/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_checkpoint.c - what is kept, what is resumed from, and that no fault at any operation loses a checkpoint.
 *
 * The tensors and the state of a checkpoint all say its step, so one glance tells whether it is a mixture. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "pipeline/checkpoint.h"
#include "pipeline/json.h"
#include "tensor/fs.h"
#include "tests/support/temp.h"

enum { N = 300 };

static float weights[N], momentum[N];
static int64_t counter;
static const TtNamedTensor model_list[] = {{"fc.weight", TT_F32, {2, {N / 3, 3}}, weights},
                                           {"bn.num_batches_tracked", TT_I64, {0}, &counter}};
static const TtNamedTensor optimizer_list[] = {{"fc.weight.momentum", TT_F32, {1, {N}}, momentum}};
static const TtCheckpointPart parts[] = {{TT_CHECKPOINT_MODEL, model_list, 2},
                                         {TT_CHECKPOINT_OPTIMIZER, optimizer_list, 1}};

static TtStatus save_as(TtCheckpoints *c, int64_t step, double metric, bool keep)
{
    for (int i = 0; i < N; i++) weights[i] = (float)step, momentum[i] = -(float)step;
    counter = step;
    json_t *state = json_pack("{s:I, s:f}", "step", (json_int_t)step, "third", 1.0 / 3);
    TtCheckpointSave s = {.step = step,
                          .has_metric = metric >= 0,
                          .metric = metric,
                          .keep = keep,
                          .parts = parts,
                          .part_count = 2,
                          .state = state};
    TtStatus status = tt_checkpoints_save(c, &s);
    json_decref(state);
    /* the caller may change everything at once */
    for (int i = 0; i < N; i++) weights[i] = momentum[i] = -1000;
    counter = -1000;
    return status;
}

/* The step of a checkpoint, all of whose content must be of that step. */
static int64_t step_in(const char *path)
{
    json_t *state;
    assert_int_equal(tt_checkpoint_verify(path), TT_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(tt_checkpoint_read(path, &parts[i]), TT_OK);
    assert_int_equal(tt_checkpoint_read_state(path, &state), TT_OK);
    int64_t step = json_integer_value(json_object_get(state, "step"));
    assert_true(json_real_value(json_object_get(state, "third")) == 1.0 / 3);
    json_decref(state);
    for (int i = 0; i < N; i++) assert_true(weights[i] == (float)step && momentum[i] == -(float)step);
    assert_int_equal(counter, step);
    return step;
}

/* Step that a resume finds, 0 when it begins anew. */
static int64_t resumed(const char *folder, const char *resume)
{
    char *path;
    if (tt_checkpoint_resume(folder, resume, &path) != TT_OK) fail_msg("%s", tt_error_message());
    int64_t step = path ? step_in(path) : 0;
    free(path);
    return step;
}

static int64_t linked(const char *folder, const char *name)
{
    char *path = tt_fs_join(folder, name);
    int64_t step = tt_fs_exists(path) ? step_in(path) : 0;
    free(path);
    return step;
}

static bool present(const char *folder, int64_t step)
{
    char name[64];
    snprintf(name, sizeof name, "step_%08lld", (long long)step);
    char *path = tt_fs_join(folder, name);
    bool there = tt_fs_exists(path);
    free(path);
    return there;
}

static void assert_present(const char *folder, const char *steps)
{
    char got[256] = "";
    for (int64_t s = 0; s < 100; s++)
        if (present(folder, s)) snprintf(got + strlen(got), sizeof got - strlen(got), "%lld ", (long long)s);
    assert_string_equal(got, steps);
}

static TtCheckpoints *open_with(const char *folder, TtCheckpointPolicy policy)
{
    TtCheckpoints *c;
    if (!policy.monitor) policy.monitor = "val/acc1";
    if (tt_checkpoints_open(folder, &policy, &c) != TT_OK) fail_msg("%s", tt_error_message());
    return c;
}

static int warnings;
static char warned[4096];

static void take_warning(void *user, const char *text)
{
    warnings++;
    snprintf(warned + strlen(warned), sizeof warned - strlen(warned), "%s\n", text);
}

static int setup(void **state)
{
    warnings = 0;
    warned[0] = '\0';
    tt_warn_sink(take_warning, NULL);
    return temp_setup(state);
}

static int teardown(void **state)
{
    tt_warn_sink(NULL, NULL);
    tt_fs_test_hook(NULL);
    return temp_teardown(state);
}

/* ------------------------------------------------------------------ what is kept */

static void test_retention(void **state)
{
    static const struct {
        TtCheckpointPolicy policy;
        double metrics[6]; /* of steps 1 to 6, -1: none */
        const char *kept;
        int64_t last, best;
    } cases[] = {
        {{.save_top_k = 1, .maximize = true}, {0.1, 0.5, 0.2, 0.3, -1, 0.4}, "2 6 ", 6, 2},
        {{.save_top_k = 1}, {0.1, 0.5, 0.2, 0.3, -1, 0.4}, "1 6 ", 6, 1},
        {{.save_top_k = 2, .maximize = true}, {0.1, 0.5, 0.2, 0.3, -1, 0.4}, "2 6 ", 6, 2},
        {{.save_top_k = 3, .maximize = true}, {0.1, 0.5, 0.2, 0.3, -1, 0.4}, "2 4 6 ", 6, 2},
        {{.save_top_k = 9, .maximize = true}, {0.1, 0.5, -1, 0.3, -1, -1}, "1 2 4 6 ", 6, 2},
        {{.keep_last = -1}, {-1, 0.1, -1, 0.2, -1, -1}, "1 2 3 4 5 6 ", 6, 0},
        {{.save_top_k = 0, .maximize = true}, {0.1, 0.5, 0.2, 0.3, -1, 0.4}, "6 ", 6, 0},
        {{.keep_last = 3, .save_top_k = 0}, {-1, -1, -1, -1, -1, -1}, "4 5 6 ", 6, 0},
        {{.keep_last = 2, .save_top_k = 1, .maximize = true}, {0.9, 0.5, 0.2, 0.3, -1, 0.4}, "1 5 6 ", 6, 1},
        {{.keep_last = 1, .save_top_k = 1, .maximize = true}, {-1, -1, -1, -1, -1, -1}, "6 ", 6, 0},
        /* equals: the first stays the best; a first metric of 0 or 1 is a best like any other */
        {{.save_top_k = 1, .maximize = true}, {0, 1, 1, 1, 1, 1}, "2 6 ", 6, 2},
        {{.save_top_k = 1, .maximize = true}, {0, 0, 0, 0, 0, 0}, "1 6 ", 6, 1},
        {{.save_top_k = 1}, {1, 1, 1, 1, 1, 1}, "1 6 ", 6, 1},
        {{.save_top_k = 1}, {1, 0.0 / 0.0, 1.0 / 0.0, 2, 3, 4}, "1 6 ", 6, 1},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        char name[16];
        snprintf(name, sizeof name, "%d/c", i);
        char *folder = tt_fs_join(*state, name);
        TtCheckpoints *c = open_with(folder, cases[i].policy);
        for (int s = 1; s <= 6; s++) {
            assert_int_equal(save_as(c, s, cases[i].metrics[s - 1], false), TT_OK);
            if (s != 3) continue; /* the policy needs no memory but the folder */
            tt_checkpoints_close(c);
            c = open_with(folder, cases[i].policy);
        }
        tt_checkpoints_close(c);
        assert_present(folder, cases[i].kept);
        assert_int_equal(linked(folder, "last"), cases[i].last);
        assert_int_equal(linked(folder, "best"), cases[i].best);
        free(folder);
    }
    assert_int_equal(warnings, 0);
}

static void test_keep(void **state)
{
    TtCheckpoints *c = open_with(*state, (TtCheckpointPolicy){.async = true});
    for (int s = 1; s <= 9; s++) assert_int_equal(save_as(c, s, -1, s % 4 == 0), TT_OK);
    assert_int_equal(tt_checkpoints_wait(c), TT_OK);
    assert_int_equal(tt_checkpoints_wait(c), TT_OK);
    assert_present(*state, "4 8 9 ");
    tt_checkpoints_close(c);
    assert_int_equal(temp_entries(*state), 4); /* and `last` */
    char target[64], *link = tt_fs_join(*state, "last");
    ssize_t n = readlink(link, target, sizeof target);
    assert_true(n == 13 && memcmp(target, "step_00000009", 13) == 0);
    free(link);
}

/* Another metric than before is not compared with it. */
static void test_other_monitor(void **state)
{
    TtCheckpointPolicy p = {.save_top_k = 1, .maximize = true, .monitor = "val/acc1"};
    TtCheckpoints *c = open_with(*state, p);
    assert_int_equal(save_as(c, 1, 0.9, false), TT_OK);
    assert_int_equal(save_as(c, 2, 0.8, false), TT_OK);
    tt_checkpoints_close(c);
    p.monitor = "val/acc5";
    c = open_with(*state, p);
    assert_int_equal(linked(*state, "best"), 1);
    assert_int_equal(save_as(c, 3, 0.1, false), TT_OK);
    assert_int_equal(linked(*state, "best"), 3);
    assert_present(*state, "3 ");
    tt_checkpoints_close(c);
}

/* The same step again: replaced; the metric stays known when the model is the same. */
static void test_same_step(void **state)
{
    TtCheckpointPolicy p = {.save_top_k = 1, .maximize = true};
    TtCheckpoints *c = open_with(*state, p);
    assert_int_equal(save_as(c, 1, 0.2, false), TT_OK);
    assert_int_equal(save_as(c, 2, 0.5, true), TT_OK);
    assert_int_equal(save_as(c, 2, -1, false), TT_OK);
    assert_int_equal(save_as(c, 3, 0.4, false), TT_OK);
    assert_int_equal(save_as(c, 4, 0.3, false), TT_OK);
    assert_present(*state, "2 4 ");
    assert_int_equal(linked(*state, "best"), 2);
    tt_checkpoints_close(c);
    assert_int_equal(temp_entries(*state), 4);
}

/* Back to an older one: what is saved then is the newest, though its step is smaller. */
static void test_rewind(void **state)
{
    TtCheckpoints *c = open_with(*state, (TtCheckpointPolicy){.keep_last = 3});
    for (int s = 10; s <= 30; s += 10) assert_int_equal(save_as(c, s, -1, false), TT_OK);
    assert_int_equal(resumed(*state, "auto"), 30);
    assert_int_equal(save_as(c, 15, -1, false), TT_OK);
    assert_int_equal(resumed(*state, "auto"), 15);
    assert_int_equal(linked(*state, "last"), 15);
    assert_int_equal(save_as(c, 30, -1, false), TT_OK);
    assert_present(*state, "15 20 30 ");
    assert_int_equal(resumed(*state, "auto"), 30);
    tt_checkpoints_close(c);
}

/* ------------------------------------------------------------------ damage */

static void damage(const char *folder, const char *file, long at, int flip)
{
    char *path = tt_fs_join(folder, file);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    assert_true(c != EOF && fputc(c ^ flip, f) != EOF);
    fclose(f);
    free(path);
}

static void remove_file(const char *folder, const char *file)
{
    char *path = tt_fs_join(folder, file);
    assert_int_equal(remove(path), 0);
    free(path);
}

static void test_damage(void **state)
{
    static const struct {
        const char *file;
        long at; /* 0: removed; 1: cut short; else this byte is changed */
    } cases[] = {
        {"model.safetensors", 200},   {"model.safetensors", -1}, {"optimizer.safetensors", 120}, {"state.json", 12},
        {"MANIFEST.json", 30},        {"MANIFEST.json", -10},    {"MANIFEST.json", 0},           {"MANIFEST.json", 1},
        {"optimizer.safetensors", 0}, {"state.json", 0},         {"model.safetensors", 1},       {"state.json", 1},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        char name[16], *path;
        snprintf(name, sizeof name, "%d", i);
        char *folder = tt_fs_join(*state, name), *newest = tt_fs_join(folder, "step_00000002");
        char *file = tt_fs_join(newest, cases[i].file), *good = tt_fs_join(folder, "step_00000001");
        TtCheckpoints *c = open_with(folder, (TtCheckpointPolicy){.keep_last = 2});
        for (int s = 1; s <= 2; s++) assert_int_equal(save_as(c, s, -1, false), TT_OK);
        tt_checkpoints_close(c);
        if (cases[i].at == 0)
            remove_file(newest, cases[i].file);
        else if (cases[i].at == 1)
            assert_int_equal(truncate(file, 20), 0);
        else
            damage(newest, cases[i].file, cases[i].at, 1);
        warnings = 0, warned[0] = '\0';
        assert_int_equal(resumed(folder, "auto"), 1);
        assert_int_equal(warnings, 1);
        assert_non_null(strstr(warned, newest));
        assert_int_equal(resumed(folder, "must"), 1);
        assert_int_equal(resumed(folder, good), 1);
        assert_int_equal(resumed(folder, folder), 1);
        /* named, it must be whole */
        assert_int_equal(tt_checkpoint_resume(folder, newest, &path), TT_ECHECKPOINT);
        assert_non_null(strstr(tt_error_message(), newest));
        assert_null(path);
        /* training goes on and saves the same step again */
        c = open_with(folder, (TtCheckpointPolicy){0});
        assert_int_equal(save_as(c, 2, -1, false), TT_OK);
        tt_checkpoints_close(c);
        assert_int_equal(resumed(folder, "must"), 2);
        assert_present(folder, "2 ");
        /* nothing whole at all */
        damage(newest, "model.safetensors", 150, 128);
        assert_int_equal(resumed(folder, "auto"), 0);
        assert_int_equal(tt_checkpoint_resume(folder, "must", &path), TT_ECHECKPOINT);
        free(good), free(file), free(newest), free(folder);
    }
}

static void test_resume(void **state)
{
    char *path, *run = tt_fs_join(*state, "run"), *folder = tt_fs_join(run, "checkpoints");
    char *last = tt_fs_join(folder, "last"), *empty = tt_fs_join(*state, "empty"), *none = tt_fs_join(*state, "none");
    char *state_file = tt_fs_join(folder, "last/state.json");
    assert_int_equal(resumed(folder, "auto"), 0);
    assert_int_equal(resumed(folder, "never"), 0);
    assert_int_equal(tt_checkpoint_resume(folder, "must", &path), TT_ECHECKPOINT);
    assert_int_equal(warnings, 0);
    TtCheckpoints *c = open_with(folder, (TtCheckpointPolicy){.keep_last = 2});
    for (int s = 1; s <= 2; s++) assert_int_equal(save_as(c, s, -1, false), TT_OK);
    tt_checkpoints_close(c);
    assert_int_equal(resumed(folder, "never"), 0);
    assert_int_equal(resumed(folder, run), 2);
    assert_int_equal(resumed(folder, folder), 2);
    assert_int_equal(resumed(folder, last), 2);
    assert_int_equal(tt_fs_mkdirs(empty), TT_OK);
    const char *bad[] = {empty, none, state_file, "sometimes"};
    for (int i = 0; i < TT_COUNT(bad); i++) {
        assert_int_equal(tt_checkpoint_resume(folder, bad[i], &path), TT_ECHECKPOINT);
        assert_ptr_equal(strstr(tt_error_message(), bad[i]), tt_error_message());
    }
    /* other things in the folder are nobody's business */
    char *odd = tt_fs_join(folder, "step_00000007x"), *note = tt_fs_join(folder, "note.txt");
    assert_int_equal(tt_fs_mkdirs(odd), TT_OK);
    assert_int_equal(tt_fs_write(note, "x", 1), TT_OK);
    c = open_with(folder, (TtCheckpointPolicy){0});
    assert_int_equal(save_as(c, 123456789012, -1, false), TT_OK);
    tt_checkpoints_close(c);
    assert_true(tt_fs_exists(odd) && tt_fs_exists(note));
    assert_int_equal(resumed(folder, "auto"), 123456789012);
    assert_int_equal(temp_entries(folder), 4);
    free(note), free(odd), free(state_file), free(none), free(empty), free(last), free(folder), free(run);
}

/* ------------------------------------------------------------------ faults */

enum { UNSYNCED = 64 };

static struct {
    int at, calls, error; /* which operation fails; error 0: the process dies there */
    bool stays_full;      /* and everything that needs space after it */
    bool power_loss;      /* what was not flushed is lost */
} fault;

/* What a loss of power would undo until it is flushed: new names in a folder, bytes of files, renames. */
static struct {
    char path[256], target[256], before[64]; /* before: what the link at target pointed to */
    TtFsOp op;
} unsynced[UNSYNCED];
static int unsynced_count;

static void forget(const char *path)
{
    int kept = 0;
    for (int i = 0; i < unsynced_count; i++) {
        const char *of = unsynced[i].op == TT_FS_OP_WRITE ? unsynced[i].path : unsynced[i].target;
        size_t n = strlen(path);
        bool flushed = unsynced[i].op == TT_FS_OP_WRITE
                           ? strcmp(of, path) == 0
                           : strncmp(of, path, n) == 0 && of[n] == '/' && !strchr(of + n + 1, '/');
        if (!flushed) unsynced[kept++] = unsynced[i];
    }
    unsynced_count = kept;
}

static void lose_power(void)
{
    for (int i = unsynced_count - 1; i >= 0; i--) {
        if (unsynced[i].op == TT_FS_OP_OPEN) {
            unlink(unsynced[i].path), unlink(unsynced[i].target);
        } else if (unsynced[i].op == TT_FS_OP_WRITE) {
            if (truncate(unsynced[i].path, 3) != 0 && truncate(unsynced[i].target, 3) != 0) continue; /* removed */
        } else if (!unsynced[i].before[0]) {
            rename(unsynced[i].target, unsynced[i].path);
        } else {
            unlink(unsynced[i].target);
            if (symlink(unsynced[i].before, unsynced[i].target) != 0) _exit(3);
        }
    }
}

/* A file that is not flushed moves with its folder: its target is where it is then. */
static void move_files(const char *from, const char *to)
{
    size_t n = strlen(from);
    for (int i = 0; i < unsynced_count; i++)
        if (unsynced[i].op != TT_FS_OP_RENAME && strncmp(unsynced[i].path, from, n) == 0 && unsynced[i].path[n] == '/')
            snprintf(unsynced[i].target, 256, "%s%s", to, unsynced[i].path + n);
}

static int inject(TtFsOp op, const char *path, const char *target)
{
    bool needs_space = op == TT_FS_OP_OPEN || op == TT_FS_OP_WRITE || op == TT_FS_OP_MKDIR || op == TT_FS_OP_SYMLINK;
    int call = ++fault.calls;
    if (call == fault.at && !fault.error) {
        if (fault.power_loss) lose_power();
        _exit(99);
    }
    if (call == fault.at || (call > fault.at && fault.stays_full && needs_space)) return fault.error;
    if (!fault.power_loss) return 0;
    if (op == TT_FS_OP_RENAME) move_files(path, target);
    if (op == TT_FS_OP_SYNC) {
        forget(path);
    } else if ((op == TT_FS_OP_OPEN || op == TT_FS_OP_WRITE || op == TT_FS_OP_RENAME) && unsynced_count < UNSYNCED) {
        unsynced[unsynced_count].op = op;
        snprintf(unsynced[unsynced_count].path, 256, "%s", path);
        snprintf(unsynced[unsynced_count].target, 256, "%s", target ? target : path);
        ssize_t n = target ? readlink(target, unsynced[unsynced_count].before, 63) : 0;
        unsynced[unsynced_count++].before[n > 0 ? n : 0] = '\0';
    }
    return 0;
}

/* Saves of a run, so many that every branch is walked: first and later ones, a better metric, the same step again. */
static const struct {
    int64_t step;
    double metric;
} run[] = {{1, 0.3}, {2, -1}, {3, 0.5}, {3, 0.5}, {4, 0.4}, {5, 0.6}, {6, -1}};

static void check_after(const char *folder, int64_t acknowledged, int64_t tried, int64_t best)
{
    int64_t got = resumed(folder, "auto");
    if (got != acknowledged && got != tried)
        fail_msg("fault at %d: resumed from %lld, saved %lld", fault.at, (long long)got, (long long)acknowledged);
    if (acknowledged) assert_true(linked(folder, "last") > 0);
    if (best) assert_true(linked(folder, "best") > 0);
    assert_int_equal(warnings, 0); /* nothing that looks damaged, even for a moment */
}

static void walk_kills(const char *folder_root, bool power_loss)
{
    int64_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    TtCheckpointPolicy policy = {.save_top_k = 1, .maximize = true};
    int died = 0;
    for (int at = 1;; at++) {
        char name[32];
        snprintf(name, sizeof name, "%d-%d", power_loss, at);
        char *folder = tt_fs_join(folder_root, name);
        shared[0] = shared[1] = shared[2] = 0;
        pid_t child = fork();
        if (child == 0) {
            fault.at = at, fault.calls = fault.error = 0, fault.power_loss = power_loss;
            unsynced_count = 0;
            tt_fs_test_hook(inject);
            TtCheckpoints *c = open_with(folder, policy);
            for (int i = 0; i < TT_COUNT(run); i++) {
                shared[1] = run[i].step;
                if (save_as(c, run[i].step, run[i].metric, false) != TT_OK) _exit(2);
                shared[0] = run[i].step;
                shared[2] |= run[i].metric >= 0;
            }
            tt_checkpoints_close(c);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 0) {
            free(folder);
            break;
        }
        assert_int_equal(WEXITSTATUS(status), 99);
        died++;
        fault.at = at;
        check_after(folder, shared[0], shared[1], shared[2]);
        /* and the next run finishes what was begun */
        TtCheckpoints *c = open_with(folder, policy);
        assert_int_equal(save_as(c, 9, 0.1, false), TT_OK);
        tt_checkpoints_close(c);
        assert_int_equal(resumed(folder, "must"), 9);
        assert_true(temp_entries(folder) <= 4);
        free(folder);
    }
    assert_true(died > 150);
    munmap(shared, 4096);
}

static void test_killed(void **state)
{
    walk_kills(*state, false);
}

static void test_power_loss(void **state)
{
    walk_kills(*state, true);
}

/* Errors instead of death: the save says so, the older checkpoints stay, the next save works. */
static void test_errors(void **state)
{
    TtCheckpointPolicy policy = {.save_top_k = 1, .maximize = true};
    for (int mode = 0; mode < 4; mode++) {
        for (int at = 1;; at++) {
            char name[32];
            snprintf(name, sizeof name, "%d-%d", mode, at);
            char *folder = tt_fs_join(*state, name);
            policy.async = mode == 3;
            TtCheckpoints *c = open_with(folder, policy);
            assert_int_equal(save_as(c, 1, 0.5, false), TT_OK);
            assert_int_equal(save_as(c, 2, 0.4, false), TT_OK);
            assert_int_equal(tt_checkpoints_wait(c), TT_OK);
            fault.at = at, fault.calls = 0, fault.error = mode == 1 ? EIO : ENOSPC;
            fault.stays_full = mode == 2, fault.power_loss = false;
            tt_fs_test_hook(inject);
            TtStatus status = save_as(c, 3, 0.6, false);
            if (mode == 3) {
                assert_int_equal(status, TT_OK);
                status = tt_checkpoints_wait(c);
                assert_int_equal(tt_checkpoints_wait(c), TT_OK); /* told once */
            }
            bool reached = fault.calls >= at;
            tt_fs_test_hook(NULL);
            if (reached) {
                assert_int_equal(status, TT_EINTERNAL);
                assert_non_null(strstr(tt_error_message(), strerror(fault.error)));
            } else {
                assert_int_equal(status, TT_OK);
            }
            warnings = 0;
            check_after(folder, reached ? 2 : 3, 3, 1);
            assert_int_equal(save_as(c, 4, 0.1, false), TT_OK);
            tt_checkpoints_close(c);
            assert_int_equal(resumed(folder, "must"), 4);
            assert_int_equal(temp_entries(folder), 4); /* 4, the best, two links */
            free(folder);
            if (!reached) break;
        }
    }
}

/* An error in the background that nobody asked for is a warning at the end. */
static void test_late_error(void **state)
{
    TtCheckpoints *c = open_with(*state, (TtCheckpointPolicy){.async = true});
    fault.at = 3, fault.calls = 0, fault.error = ENOSPC, fault.stays_full = true;
    tt_fs_test_hook(inject);
    assert_int_equal(save_as(c, 1, -1, false), TT_OK);
    tt_checkpoints_close(c);
    assert_true(warnings >= 1);
    assert_non_null(strstr(warned, "No space left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_retention, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_monitor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_step, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewind, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_resume, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_power_loss, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_error, setup, teardown),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
