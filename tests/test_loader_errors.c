/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_loader_errors.c - the loader's errors: the first in order whichever worker meets it, samples left out and
 * replaced, bad_samples.tsv, faults of the config. Meant to be run under ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/fs.h"
#include "tests/support/dataset_config.h"
#include "tests/support/fake_set.h"
#include "tests/support/temp.h"

/* Marks samples as bad by their place in the first epoch's order. */
static void spoil(Fixture *f, char *bad, int n, const int *places, int n_places)
{
    int64_t *order = malloc((size_t)n * sizeof *order);
    memset(bad, '0', (size_t)n);
    tt_sampler_order(f->sampler, 0, order);
    for (int i = 0; i < n_places; i++) bad[order[places[i]]] = '1';
    free(order);
}

static void test_first_error_wins(void **state)
{
    const int places[] = {21, 19, 40};
    const int workers[] = {1, 3, 16};
    for (int i = 0; i < TT_COUNT(workers); i++) {
        char bad[64], want[64];
        int64_t order[64];
        Fake fake = fake_set();
        fake.bad = bad;
        fake.sleep_us = 500;
        Fixture f;
        TtBatch *b;
        prepare(&f, &fake, 64, TT_SAMPLER_RANDOM);
        f.o.num_workers = workers[i];
        spoil(&f, bad, 64, places, 3);
        tt_sampler_order(f.sampler, 0, order);
        open_loader(&f);
        for (int step = 0; step < 2; step++) tt_loader_release(f.l, next(&f)); /* what comes before is delivered */
        snprintf(want, sizeof want, "fake/%03lld.png: at byte %lld: broken", (long long)order[19],
                 (long long)order[19] + 100);
        for (int again = 0; again < 2; again++)
            expect_error(tt_loader_next(f.l, &b), TT_EDATA, want, "ttrain decode fake/", "data.on_error: skip", NULL);
        assert_null(b);
        assert_int_equal(tt_loader_seek(f.l, 0, 3), TT_OK); /* a seek forgets it */
        b = next(&f);
        assert_int_equal(b->step, 3);
        finish(&f);
    }
}

static void test_skip(void **state)
{
    const char *dir = *state;
    const int places[] = {0, 5, 6, 7, 8, 30, 49};
    enum { N = 50, EPOCHS = 3, MOST = EPOCHS * 7 };
    uint64_t first[MOST], hashes[MOST];
    char bad[N];
    int64_t order[N];
    for (int workers = 1; workers <= 7; workers += 3) {
        char tsv[4096];
        Fake fake = fake_set();
        fake.bad = bad;
        fake.sleep_us = 200;
        Fixture f;
        snprintf(tsv, sizeof tsv, "%s/bad-%d.tsv", dir, workers);
        prepare(&f, &fake, N, TT_SAMPLER_RANDOM);
        f.o.num_workers = workers;
        f.o.skip_errors = true;
        f.o.bad_samples_path = tsv;
        spoil(&f, bad, N, places, TT_COUNT(places));
        tt_sampler_order(f.sampler, 0, order);
        open_loader(&f);
        capture_warnings();
        TtBatch *b = next(&f);
        /* replaced by the next good one of the order */
        const int from[8] = {1, 1, 2, 3, 4, 9, 9, 9};
        for (int i = 0; i < 8; i++) {
            assert_int_equal(b->indices[i], order[from[i]]);
            assert_int_equal(b->labels[i], order[from[i]] % FAKE_CLASSES);
        }
        tt_loader_release(f.l, b);
        assert_int_equal(tt_loader_errors(f.l), 5); /* 0, 5, 6, 7 and, as a candidate, 8 */
        assert_int_equal(tt_loader_seek(f.l, 0, 6), TT_OK);
        b = next(&f);
        assert_int_equal(b->n, 2);
        assert_int_equal(b->indices[0], order[48]);
        assert_int_equal(b->indices[1], order[1]); /* cyclically: 49 and 0 are bad */
        tt_loader_release(f.l, b);
        assert_int_equal(tt_loader_seek(f.l, 0, 0), TT_OK);
        int n = hash_epochs(&f, EPOCHS, hashes);
        assert_int_equal(n, MOST);
        assert_int_equal(tt_loader_errors(f.l), 7); /* each once, over three epochs */
        release_warnings();
        finish(&f);
        if (workers == 1) memcpy(first, hashes, sizeof first);
        assert_memory_equal(first, hashes, sizeof first);

        char *text, line[256];
        size_t size;
        int lines = 0;
        assert_int_equal(tt_fs_read(tsv, 1 << 16, TT_EDATA, &text, &size), TT_OK);
        for (const char *p = text; (p = strchr(p, '\n')); p++) lines++;
        assert_int_equal(lines, 7);
        snprintf(line, sizeof line, "fake/%03lld.png\t%lld\tbroken\n", (long long)order[0], (long long)order[0] + 100);
        assert_memory_equal(text, line, strlen(line)); /* the first in order comes first */
        free(text);
        int warned = 0;
        for (const char *p = captured_warnings(); (p = strstr(p, "sample left out")); p++) warned++;
        assert_int_equal(warned, 5); /* the first five; the next would be the eighth */
    }
}

static void test_skip_resumed(void **state)
{
    const int places[] = {2, 20};
    char bad[32], tsv[4096], *text;
    size_t size;
    Fake fake = fake_set();
    fake.bad = bad;
    Fixture f;
    TtBatch *b;
    snprintf(tsv, sizeof tsv, "%s/bad.tsv", (const char *)*state);
    for (int run = 0; run < 2; run++) {
        prepare(&f, &fake, 32, TT_SAMPLER_RANDOM);
        f.o.skip_errors = true;
        f.o.max_errors = 1;
        f.o.bad_samples_path = tsv;
        spoil(&f, bad, 32, places, 2);
        open_loader(&f);
        assert_int_equal(tt_loader_errors(f.l), run);
        capture_warnings();
        tt_loader_release(f.l, next(&f));
        assert_int_equal(tt_loader_errors(f.l), 1);
        release_warnings();
        finish(&f);
        assert_int_equal(tt_fs_read(tsv, 1 << 16, TT_EDATA, &text, &size), TT_OK);
        assert_null(strchr(strchr(text, '\n') + 1, '\n')); /* one line, also after the second run */
        free(text);
    }
    /* the one before the resume counts: one more is too much */
    prepare(&f, &fake, 32, TT_SAMPLER_RANDOM);
    f.o.skip_errors = true;
    f.o.max_errors = 1;
    f.o.bad_samples_path = tsv;
    open_loader(&f);
    assert_int_equal(tt_loader_seek(f.l, 0, 2), TT_OK);
    capture_warnings();
    expect_error(tt_loader_next(f.l, &b), TT_EDATA, "broken", "bad samples: 2", "data.max_errors is 1", "bad.tsv",
                 NULL);
    release_warnings();
    finish(&f);
    /* a line that a kill has cut is ended and not glued to the next */
    put_text(tsv, "fake/000.png\t1\tx\nfake/00");
    prepare(&f, &fake, 32, TT_SAMPLER_RANDOM);
    f.o.skip_errors = true;
    f.o.bad_samples_path = tsv;
    open_loader(&f);
    capture_warnings();
    tt_loader_release(f.l, next(&f));
    release_warnings();
    finish(&f);
    assert_int_equal(tt_fs_read(tsv, 1 << 16, TT_EDATA, &text, &size), TT_OK);
    assert_non_null(strstr(text, "\nfake/00\nfake/"));
    free(text);
}

static void test_max_errors(void **state)
{
    const int places[] = {3, 17, 18, 33};
    for (int workers = 1; workers <= 5; workers += 4) {
        char bad[64];
        Fake fake = fake_set();
        fake.bad = bad;
        Fixture f;
        TtBatch *b;
        prepare(&f, &fake, 64, TT_SAMPLER_RANDOM);
        f.o.num_workers = workers;
        f.o.skip_errors = true;
        f.o.max_errors = 2;
        spoil(&f, bad, 64, places, 4);
        open_loader(&f);
        capture_warnings();
        for (int step = 0; step < 2; step++) tt_loader_release(f.l, next(&f));
        expect_error(tt_loader_next(f.l, &b), TT_EDATA, "bad samples: 3", "max_errors is 2", NULL);
        expect_error(tt_loader_next(f.l, &b), TT_EDATA, "bad samples: 3", NULL);
        release_warnings();
        finish(&f);
    }
}

static void test_all_bad(void **state)
{
    char bad[33];
    memset(bad, '1', sizeof bad);
    for (int bound = -1; bound < 6; bound += 6) {
        Fake fake = fake_set();
        fake.bad = bad;
        Fixture f;
        TtBatch *b;
        prepare(&f, &fake, 33, TT_SAMPLER_RANDOM);
        f.o.skip_errors = true;
        f.o.max_errors = bound;
        open_loader(&f);
        capture_warnings();
        expect_error(tt_loader_next(f.l, &b), TT_EDATA, bound < 0 ? "none of the 33 samples" : "max_errors is 5", NULL);
        release_warnings();
        finish(&f);
        if (bound < 0)
            assert_in_range(atomic_load(&fake.reads), 33, 33 * 3); /* a bad sample is not read again and again */
    }
}

static TtStatus fail_on_six(const void *options, TtTransformArgs *a)
{
    return strstr(a->name, "006") ? TT_FAIL(*(const TtStatus *)options, "%s: too small to crop", a->name) : TT_OK;
}

static const TtTransformDef six_def = {.name = "FailOnSix", .apply = fail_on_six};

static void test_transform_errors(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    TtBatch *b;
    for (int skip_it = 0; skip_it < 2; skip_it++)
        for (int config = 0; config < 2; config++) {
            TtStatus code = config ? TT_ECONFIG : TT_EDATA;
            const TtTransformChain chain = {.n = 1, .list = &(TtTransform){&six_def, &code}};
            prepare(&f, &fake, 16, TT_SAMPLER_SEQUENTIAL);
            f.o.transforms = &chain;
            f.o.skip_errors = skip_it;
            open_loader(&f);
            capture_warnings();
            if (skip_it && !config) {
                b = next(&f);
                assert_int_equal(b->indices[6], 7);
                assert_int_equal(b->indices[7], 7);
            } else {
                expect_error(tt_loader_next(f.l, &b), code, "fake/006.png: too small to crop", NULL);
            }
            release_warnings();
            finish(&f);
        }
}

/* Faults of the config are not skipped. */
static void test_sizes_differ(void **state)
{
    for (int skip_it = 0; skip_it < 2; skip_it++)
        for (int fixed = 0; fixed < 2; fixed++)
            for (int odd = 0; odd < 16; odd += 5) {
                Fake fake = fake_set();
                fake.odd = odd;
                Fixture f;
                TtBatch *b;
                TtStatus st = TT_OK;
                prepare(&f, &fake, 16, TT_SAMPLER_SEQUENTIAL);
                f.o.transforms = fixed ? &noise_fixed : &plain;
                f.o.skip_errors = skip_it;
                open_loader(&f);
                for (int step = 0; step < 2 && st == TT_OK; step++) {
                    st = tt_loader_next(f.l, &b);
                    if (b) tt_loader_release(f.l, b);
                }
                char name[32];
                /* without a size set by the transforms the first of the batch sets it, and the second is at fault */
                bool sets = odd % 8 == 0 && !fixed;
                snprintf(name, sizeof name, "fake/%03d.png: ", sets ? odd + 1 : odd);
                expect_error(st, TT_EDATA, name, sets ? "is 4x5" : "is 6x5", sets ? "of 6x5" : "of 4x5", "CenterCrop",
                             NULL);
                finish(&f);
            }
}

static int64_t large_label(const TtDataset *d, int64_t index)
{
    return index == 13 ? 9 : 0;
}

static void test_labels(void **state)
{
    Fake fake = fake_set();
    fake.wrong_label = 9;
    Fixture f;
    TtBatch *b;
    prepare(&f, &fake, 16, TT_SAMPLER_SEQUENTIAL);
    f.o.skip_errors = true;
    open_loader(&f);
    tt_loader_release(f.l, next(&f));
    expect_error(tt_loader_next(f.l, &b), TT_EDATA, "fake/009.png", "label 5", "model.num_classes is 5", NULL);
    finish(&f);
    /* what is known without reading fails at once */
    TtDatasetDef def = fake_def;
    def.label = large_label;
    prepare(&f, &fake, 16, TT_SAMPLER_SEQUENTIAL);
    f.set.def = &def;
    f.o.classes_key = "model.params.num_classes";
    expect_error(tt_loader_open(&f.o, &f.l), TT_EDATA, "fake/013.png", "label 9", "model.params.num_classes is 5",
                 NULL);
    f.o.num_classes = 0; /* unchecked */
    open_loader(&f);
    finish(&f);
}

static void test_options(void **state)
{
    Fake fake = fake_set();
    Fixture f;
    prepare(&f, &fake, 16, TT_SAMPLER_SEQUENTIAL);
    const TtLoaderOptions good = f.o;
    f.o.num_workers = 0;
    expect_error(tt_loader_open(&f.o, &f.l), TT_ECONFIG, "num_workers", NULL);
    f.o = good, f.o.prefetch_factor = 0;
    expect_error(tt_loader_open(&f.o, &f.l), TT_ECONFIG, "prefetch_factor", NULL);
    f.o = good, f.o.batch_size = 0;
    expect_error(tt_loader_open(&f.o, &f.l), TT_ECONFIG, "batch", NULL);
    f.o = good, f.o.channels = 2;
    expect_error(tt_loader_open(&f.o, &f.l), TT_ECONFIG, "channels", NULL);
    finish(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, temp_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first_error_wins), TEST(test_skip),    TEST(test_skip_resumed),
        TEST(test_max_errors),       TEST(test_all_bad), TEST(test_transform_errors),
        TEST(test_sizes_differ),     TEST(test_labels),  TEST(test_options),
    };
    return cmocka_run_group_tests_name("loader_errors", tests, NULL, NULL);
}
