/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_loader.c - batches of the loader: the same for any number of workers and after a seek; shapes, ranks, stalls,
 * interruption, memory. Meant to be run under ThreadSanitizer too. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/support/dataset_config.h"
#include "tests/support/fake_set.h"
#include "tests/support/temp.h"

static void test_content(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    prepare(&f, &fake, 21, TT_SAMPLER_SEQUENTIAL);
    f.o.transforms = &plain;
    open_loader(&f);
    assert_int_equal(tt_loader_steps(f.l), 3);
    for (int step = 0; step < 3; step++) {
        TtBatch *b = next(&f);
        int n = step < 2 ? 8 : 5;
        assert_int_equal(b->n, n);
        assert_int_equal(b->epoch, 0);
        assert_int_equal(b->step, step);
        assert_null(b->targets.data);
        assert_true(b->wait >= 0);
        assert_true(tt_shape_equal(&b->x.shape, &TT_SHAPE(n, 4, 5, 3)));
        assert_true(tt_tensor_contiguous(&b->x));
        assert_int_equal(b->x.dtype, TT_F32);
        for (int i = 0; i < n; i++) {
            assert_int_equal(b->indices[i], 8 * step + i);
            assert_int_equal(b->labels[i], (8 * step + i) % FAKE_CLASSES);
            for (int k = 0; k < 60; k++) {
                uint8_t want = fake_byte(8 * step + i, k);
                assert_true(fabsf(((float *)b->x.data)[i * 60 + k] - (float)want / 255.0f) < 1e-7f);
            }
        }
        tt_loader_release(f.l, b);
    }
    assert_null(next(&f));
    TtBatch *b = next(&f);
    assert_int_equal(b->epoch, 1);
    assert_int_equal(b->step, 0);
    finish(&f); /* with a batch still held */
}

static void test_workers_agree(void **state)
{
    const int workers[] = {1, 2, 5, 16};
    const TtTransformChain *chains[] = {&noise, &noise_fixed, &mixed};
    enum { MOST = 64 };
    for (int c = 0; c < TT_COUNT(chains); c++) {
        uint64_t first[MOST], hashes[MOST];
        int n = 0;
        for (int i = 0; i < TT_COUNT(workers); i++) {
            Fake fake = fake_set();
            fake.sleep_us = 300;
            Fixture f;
            prepare(&f, &fake, 67, TT_SAMPLER_RANDOM);
            f.o.transforms = chains[c];
            f.o.num_workers = workers[i];
            open_loader(&f);
            int got = hash_epochs(&f, 4, hashes);
            finish(&f);
            if (i == 0) memcpy(first, hashes, sizeof first), n = got;
            assert_int_equal(got, n);
            assert_memory_equal(first, hashes, (size_t)n * sizeof *first);
        }
        assert_int_equal(n, 4 * 9);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) assert_true(first[i] != first[j]); /* epochs are augmented anew */
    }
}

static void test_drop_last(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    prepare(&f, &fake, 21, TT_SAMPLER_RANDOM);
    f.o.drop_last = true;
    open_loader(&f);
    assert_int_equal(tt_loader_steps(f.l), 2);
    for (int e = 0; e < 3; e++) {
        for (int s = 0; s < 2; s++) {
            TtBatch *b = next(&f);
            assert_int_equal(b->n, 8);
            tt_loader_release(f.l, b);
        }
        assert_null(next(&f));
    }
    finish(&f);
    prepare(&f, &fake, 7, TT_SAMPLER_RANDOM);
    f.o.drop_last = true;
    expect_error(tt_loader_open(&f.o, &f.l), TT_ECONFIG, "7 samples", "drop_last", NULL);
    finish(&f);
}

static void test_seek(void **state)
{
    Fake fake = fake_set();
    fake.sleep_us = 200;
    Fixture f;
    enum { EPOCHS = 3, STEPS = 6 };
    uint64_t hashes[EPOCHS * STEPS];
    prepare(&f, &fake, 48, TT_SAMPLER_RANDOM);
    open_loader(&f);
    assert_int_equal(hash_epochs(&f, EPOCHS, hashes), EPOCHS * STEPS);
    for (int i = 0; i < 60; i++) {
        int e = i * 7 % EPOCHS, s = i * 5 % STEPS;
        assert_int_equal(tt_loader_seek(f.l, e, s), TT_OK);
        for (int k = 0; k < i % 3 + 1; k++) { /* and go on from there, over the end of an epoch */
            TtBatch *b = next(&f);
            if (!b) {
                e++, s = 0;
                b = next(&f);
            }
            assert_int_equal(b->epoch, e);
            assert_int_equal(b->step, s);
            if (e < EPOCHS) assert_true(hash_batch(b) == hashes[e * STEPS + s]);
            s++;
            tt_loader_release(f.l, b);
        }
    }
    assert_int_equal(tt_loader_seek(f.l, 1, STEPS), TT_OK); /* the end of an epoch is a place too */
    assert_null(next(&f));
    TtBatch *b = next(&f);
    assert_int_equal(b->epoch, 2);
    assert_true(hash_batch(b) == hashes[2 * STEPS]);
    tt_loader_release(f.l, b);
    expect_error(tt_loader_seek(f.l, 0, STEPS + 1), TT_ECONFIG, "step 7", "has 6", NULL);
    expect_error(tt_loader_seek(f.l, -1, 0), TT_ECONFIG, NULL);
    finish(&f);
}

/* Reads before a seek's place are not needed: what is read is bounded by the prefetch. */
static void test_seek_is_cheap(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    prepare(&f, &fake, 100000, TT_SAMPLER_SEQUENTIAL);
    f.o.num_workers = 2;
    open_loader(&f);
    assert_int_equal(atomic_load(&fake.reads), 0); /* nothing starts before it is asked for */
    assert_int_equal(tt_loader_seek(f.l, 900, 12000), TT_OK);
    TtBatch *b = next(&f);
    assert_int_equal(b->indices[0], 96000);
    assert_int_equal(b->epoch, 900);
    assert_in_range(atomic_load(&fake.reads), 8, (4 + 1) * 8);
    finish(&f);
}

static void test_stop_at_end(void **state)
{
    for (int stop = 0; stop < 2; stop++) {
        Fake fake = fake_set();
        Fixture f;
        prepare(&f, &fake, 24, TT_SAMPLER_RANDOM);
        f.o.stop_at_end = stop;
        open_loader(&f);
        for (int epoch = 0; epoch < 3; epoch++) {
            for (int step = 0; step < 3; step++) tt_loader_release(f.l, next(&f));
            assert_null(next(&f));
            int reads = 24 * (epoch + 1);
            sleep_us(10000);
            for (int i = 0; i < 2000 && !stop && atomic_load(&fake.reads) <= reads; i++) sleep_us(1000);
            if (stop)
                assert_int_equal(atomic_load(&fake.reads), reads);
            else
                assert_true(atomic_load(&fake.reads) > reads);
        }
        assert_int_equal(tt_loader_seek(f.l, 0, 0), TT_OK); /* without asking for the end: as validation does */
        for (int step = 0; step < 3; step++) tt_loader_release(f.l, next(&f));
        assert_int_equal(tt_loader_seek(f.l, 0, 0), TT_OK);
        TtBatch *b = next(&f);
        assert_int_equal(b->epoch, 0);
        assert_int_equal(b->step, 0);
        finish(&f);
    }
}

static void test_ranks(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    int64_t order[27];
    int seen[27] = {0};
    prepare(&f, &fake, 27, TT_SAMPLER_RANDOM);
    tt_sampler_order(f.sampler, 0, order);
    tt_sampler_close(f.sampler);
    for (int rank = 0; rank < 3; rank++) { /* 27 = 2 * 12 + 3: the last parts are 3, 0, 0 */
        prepare(&f, &fake, 27, TT_SAMPLER_RANDOM);
        f.o.batch_size = 4, f.o.rank = rank, f.o.world = 3;
        open_loader(&f);
        assert_int_equal(tt_loader_steps(f.l), 3);
        for (int step = 0; step < 3; step++) {
            TtBatch *b = next(&f);
            assert_int_equal(b->n, step < 2 ? 4 : rank == 0 ? 3 : 0);
            assert_int_equal(b->x.shape.dims[0], b->n);
            for (int i = 0; i < b->n; i++) {
                assert_int_equal(b->indices[i], order[step * 12 + rank * 4 + i]);
                seen[b->indices[i]]++;
            }
            tt_loader_release(f.l, b);
        }
        assert_null(next(&f));
        finish(&f);
    }
    for (int i = 0; i < 27; i++) assert_int_equal(seen[i], 1);
}

static void test_channels(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    TtBatch *b;
    for (int grey = 0; grey < 2; grey++) {
        prepare(&f, &fake, 8, TT_SAMPLER_SEQUENTIAL);
        f.o.transforms = grey ? &made_grey : &plain;
        f.o.channels = 1;
        open_loader(&f);
        b = next(&f);
        assert_true(tt_shape_equal(&b->x.shape, &TT_SHAPE(8, 4, 5, 1)));
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 20; k++) {
                uint8_t want = fake_byte(i, 3 * k + grey); /* red, or green */
                assert_true(fabsf(((float *)b->x.data)[i * 20 + k] - (float)want / 255.0f) < 1e-7f);
            }
        finish(&f);
    }
    prepare(&f, &fake, 8, TT_SAMPLER_SEQUENTIAL);
    f.o.transforms = &made_grey;
    open_loader(&f);
    expect_error(tt_loader_next(f.l, &b), TT_ECONFIG, "1 channels", "takes 3", NULL);
    finish(&f);
}

static void test_targets(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    prepare(&f, &fake, 8, TT_SAMPLER_SEQUENTIAL);
    f.o.transforms = &mixed;
    open_loader(&f);
    TtBatch *b = next(&f);
    assert_true(tt_shape_equal(&b->targets.shape, &TT_SHAPE(8, FAKE_CLASSES)));
    TtRng r = tt_rng(5, TT_RNG_BATCH, 0, 0, 0);
    float share = tt_rng_float(&r), *t = b->targets.data;
    for (int i = 0; i < 8; i++)
        for (int c = 0; c < FAKE_CLASSES; c++) {
            float want =
                i == 7 ? (float)(c == i % FAKE_CLASSES)
                       : share * (float)(c == i % FAKE_CLASSES) + (1 - share) * (float)(c == (i + 1) % FAKE_CLASSES);
            assert_true(fabsf(t[i * FAKE_CLASSES + c] - want) < 1e-6f);
        }
    finish(&f);
    prepare(&f, &fake, 8, TT_SAMPLER_SEQUENTIAL);
    f.o.transforms = &mixed;
    f.o.num_classes = 0;
    expect_error(tt_loader_open(&f.o, &f.l), TT_ECONFIG, "Mix", "classes", NULL);
    finish(&f);
}

/* ---- time and memory */

static void *interrupt_soon(void *loader)
{
    sleep_us(20000);
    tt_loader_interrupt(loader);
    return NULL;
}

static void test_stall_and_interrupt(void **state)
{
    Fake fake = fake_set();
    fake.stuck = 3;
    Fixture f;
    TtBatch *b;
    pthread_t thread;
    prepare(&f, &fake, 64, TT_SAMPLER_SEQUENTIAL);
    f.o.stall_seconds = 0.05;
    open_loader(&f);
    pthread_create(&thread, NULL, interrupt_soon, f.l);
    expect_error(tt_loader_next(f.l, &b), TT_ESTOPPED, NULL);
    pthread_join(thread, NULL);
    capture_warnings();
    while (!atomic_load(&fake.stuck_seen)) sleep_us(1000);
    for (int waited = 0; waited < 200 && !strstr(captured_warnings(), "fake/003.png"); waited += 40) {
        pthread_create(&thread, NULL, interrupt_soon, f.l); /* end the wait now and then, to look */
        expect_error(tt_loader_next(f.l, &b), TT_ESTOPPED, NULL);
        pthread_join(thread, NULL);
    }
    assert_non_null(strstr(captured_warnings(), "fake/003.png: has been in work for"));
    /* the other workers went on: all but the stuck sample's of the queue have been read */
    for (int i = 0; i < 2000 && atomic_load(&fake.reads) < 6 * 8; i++) sleep_us(1000);
    assert_int_equal(atomic_load(&fake.reads), 6 * 8);
    atomic_store(&fake.stuck, -1);
    b = next(&f); /* no batch was lost */
    assert_int_equal(b->step, 0);
    assert_int_equal(b->indices[3], 3);
    release_warnings();
    tt_loader_interrupt(f.l); /* nobody waits: the next call tells */
    expect_error(tt_loader_next(f.l, &b), TT_ESTOPPED, NULL);
    b = next(&f);
    assert_int_equal(b->step, 1);
    finish(&f);
}

static void *unstick_soon(void *fake)
{
    sleep_us(20000);
    atomic_store(&((Fake *)fake)->stuck, -1);
    return NULL;
}

static void test_close_in_work(void **state)
{
    for (int i = 0; i < 40; i++) {
        Fake fake = fake_set();
        fake.sleep_us = 300;
        Fixture f;
        prepare(&f, &fake, 640, TT_SAMPLER_RANDOM);
        f.o.num_workers = 1 + i % 5;
        f.o.transforms = i % 2 ? &mixed : &noise;
        open_loader(&f);
        if (i % 3) assert_int_equal(tt_loader_seek(f.l, i, i % 80), TT_OK);
        if (i % 4 == 1) tt_loader_release(f.l, next(&f));
        if (i % 4 == 2) sleep_us(500);
        finish(&f);
    }
    tt_loader_close(NULL);
    /* seeking away from a batch whose first sample is stuck, while others wait for its size */
    Fake fake = fake_set();
    fake.stuck = 0;
    Fixture f;
    pthread_t thread;
    prepare(&f, &fake, 640, TT_SAMPLER_SEQUENTIAL);
    open_loader(&f);
    assert_int_equal(tt_loader_seek(f.l, 0, 0), TT_OK);
    while (!atomic_load(&fake.stuck_seen)) sleep_us(1000);
    assert_int_equal(tt_loader_seek(f.l, 0, 40), TT_OK);
    TtBatch *b = next(&f);
    assert_int_equal(b->indices[0], 320);
    tt_loader_release(f.l, b);
    pthread_create(&thread, NULL, unstick_soon, &fake);
    finish(&f);
    pthread_join(thread, NULL);
}

static long resident_kb(void)
{
    long pages = 0, total;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &pages), 2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

#ifdef __SANITIZE_ADDRESS__ /* keeps freed memory for a while, and looks for leaks itself */
enum { ALLOWED_KB = 1 << 20 };
#else
enum { ALLOWED_KB = 1024 };
#endif

static void test_no_leak(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    prepare(&f, &fake, 20, TT_SAMPLER_RANDOM);
    f.o.num_workers = 2;
    f.o.transforms = &mixed;
    open_loader(&f);
    long before = 0;
    for (int epoch = 0; epoch < 3000; epoch++) {
        TtBatch *b;
        if (epoch == 300) before = resident_kb();
        while ((b = next(&f))) tt_loader_release(f.l, b);
    }
    assert_true(resident_kb() - before < ALLOWED_KB); /* 2700 epochs of 3 batches of 2 KB would be 16 MB */
    finish(&f);
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_content),       TEST(test_workers_agree),       TEST(test_drop_last),     TEST(test_seek),
        TEST(test_seek_is_cheap), TEST(test_stop_at_end),         TEST(test_ranks),         TEST(test_channels),
        TEST(test_targets),       TEST(test_stall_and_interrupt), TEST(test_close_in_work), TEST(test_no_leak),
    };
    return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}
