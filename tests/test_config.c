/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_config.c - YAML with places and bounds, overrides, references, typed keys, printing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "pipeline/config.h"
#include "pipeline/reference.h"
#include "pipeline/sections.h"
#include "pipeline/tree.h"
#include "pipeline/yaml.h"

#define MODEL "model: {name: resnet18, num_classes: 10}\n"

static TtStatus load_with(const char *text, int n, char *const *overrides, TtConfig **c)
{
    TtStatus status = tt_config_parse("c.yaml", text, strlen(text), n, overrides, c);
    if (status == TT_OK) status = tt_sections_check(*c);
    if (status != TT_OK) tt_config_free(*c);
    return status;
}

static TtConfig *load(const char *text)
{
    TtConfig *c;
    if (load_with(text, 0, NULL, &c) != TT_OK) fail_msg("%s\n%s", tt_error_message(), text);
    return c;
}

/* ---- the text: where an error is reported, and how it begins */

static void test_places(void **state)
{
    static const char *const cases[][2] = {
        /* tabs: at the tab, wherever libyaml stumbles */
        {MODEL "trainer:\n\tepochs: 3\n", "c.yaml:3:1: a tab"},
        {MODEL "trainer:\n  epochs: 3\n \tmax_steps: 3\n", "c.yaml:4:2: a tab"},
        {MODEL "trainer:\n  epochs: 3\n   \tmax_steps: 3\n", "c.yaml:4:4: a tab"},
        {MODEL "transforms:\n  train:\n  \t- Resize\n", "c.yaml:4:3: a tab"},
        {MODEL "transforms:\n  train:\n  -\tResize\n", "c.yaml:4:4: a tab"},
        {MODEL "transforms:\n  train:\n  - a\n\t- b\n", "c.yaml:5:1: a tab"},
        /* encoding and control characters */
        {MODEL "name: \xff\n", "c.yaml:2:7: the byte 0xff is not UTF-8"},
        {MODEL "name: \"\xc3\xa9\xc3\xa9\" # \xc3\n", "c.yaml:2:14: the byte 0xc3 is not UTF-8"},
        {MODEL "name: \xed\xa0\x80\n", "c.yaml:2:7: the byte 0xed is not UTF-8"},
        {MODEL "name: \xc0\x80\n", "c.yaml:2:7: the byte 0xc0 is not UTF-8"},
        {MODEL "name: \xf4\x90\x80\x80\n", "c.yaml:2:7: the byte 0xf4 is not UTF-8"},
        {"\xff\xfem\0", "c.yaml:1:1: the byte 0xff is not UTF-8"},
        {MODEL "name: a\x01z\n", "c.yaml:2:8: the control character U+0001"},
        {MODEL "name: a\x7fz\n", "c.yaml:2:8: the control character U+007F"},
        {MODEL "name: \"a\\0b\"\n", "c.yaml:2:7: a text cannot hold the character \\0"},
        /* columns count characters, a byte-order mark none; CR LF and CR end lines, U+2028 does not */
        {"{name: \"\xc3\xa9t\xc3\xa9\", sed: 1}", "c.yaml:1:15: unknown key 'sed'"},
        {"\xef\xbb\xbfsed: 1\n", "c.yaml:1:1: unknown key 'sed'"},
        {"\xef\xbb\xbf" MODEL "seed: \xf0\x9f\x98\x80\n", "c.yaml:2:7: seed must be an integer"},
        {"name: x\r\n\r\nsed: 1\r\n", "c.yaml:3:1: unknown key 'sed'"},
        {"name: x\rsed: 1\r", "c.yaml:2:1: unknown key 'sed'"},
        {"name: \"x\xe2\x80\xa8 y\"\nsed: 1\n", "c.yaml:2:1: unknown key 'sed'"},
        /* documents */
        {"", "c.yaml:1:1: the configuration is empty"},
        {"# nothing\n\n", "c.yaml:1:1: the configuration is empty"},
        {"---\n", "c.yaml:1:1: the configuration is empty"},
        {"null\n", "c.yaml:1:1: the configuration is empty"},
        {"[1]\n", "c.yaml:1:1: the configuration must be a map"},
        {"text\n", "c.yaml:1:1: the configuration must be a map"},
        {MODEL "---\n" MODEL, "c.yaml:2:1: a second document"},
        {MODEL "...\n" MODEL, "c.yaml:3:1: did not find expected <document start>"},
        /* duplicate keys: the second; quoting does not matter; nested ones too */
        {MODEL "seed: 1\n'seed': 2\nseed: 3\n", "c.yaml:3:1: the key 'seed' is given twice; it is already at line 2"},
        {"model: {name: a, name: b}\n", "c.yaml:1:18: the key 'name' is given twice"},
        {MODEL "<<: {seed: 1}\n<<: {seed: 2}\n", "c.yaml:3:1: the key '<<' is given twice"},
        /* anchors, aliases, tags, keys */
        {MODEL "seed: *sed\n", "c.yaml:2:7: the alias '*sed' has no anchor"},
        {MODEL "data: &d {train: [*d]}\n", "c.yaml:2:19: the alias '*d' stands inside its own anchor"},
        {MODEL "trainer: &t {epochs: 3}\nlogging: *t\n", "c.yaml:2:14: unknown key 'epochs'"},
        {MODEL "seed: !!python/object:os.system x\n", "c.yaml:2:7: the tag 'tag:yaml.org,2002:python/object:os"},
        {MODEL "seed: !mine 3\n", "c.yaml:2:7: the tag '!mine' means nothing here"},
        {MODEL "seed: !!str 3\n", "c.yaml:2:7: seed must be an integer, not the string '3'"},
        {MODEL "? [a]\n: 3\n", "c.yaml:2:3: a key must be a word"},
        {MODEL "<<: 3\n", "c.yaml:2:5: << takes a map or a list of maps"},
        {MODEL "<<: [{seed: 1}, 3]\n", "c.yaml:2:17: << takes a map or a list of maps"},
        {MODEL "<<: {sed: 1}\n", "c.yaml:2:6: unknown key 'sed'"},
        /* syntax */
        {MODEL "name: \"abc\n", "c.yaml:2:7: found unexpected end of stream"},
        {MODEL "name: a: b\n", "c.yaml:2:8: mapping values are not allowed"},
        {MODEL "data: {train: {path: ${name}/x}}\n", "c.yaml:2:23: did not find expected ',' or '}'"},
        {MODEL "name: [a, b\nseed: 3\n", "c.yaml:3:5: did not find expected ',' or ']'"},
        {MODEL "  seed: 3\n", "c.yaml:2:3: did not find expected key"},
        {MODEL "seed: @a\n", "c.yaml:2:7: found character that cannot start any token"},
        {"%YAML 3.0\n---\n" MODEL, "c.yaml:1:1: found incompatible YAML document"},
        {"{\"model\": {\"name\": \"x\"} \"seed\": 1}", "c.yaml:1:25: did not find expected ',' or '}'"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtConfig *c;
        if (load_with(cases[i][0], 0, NULL, &c) != TT_ECONFIG) fail_msg("taken:\n%s", cases[i][0]);
        if (strncmp(tt_error_message(), cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s\nexpected %s\n%s", tt_error_message(), cases[i][1], cases[i][0]);
    }
}

static void test_good_syntax(void **state)
{
    static const char *const cases[] = {
        "{\"model\":{\"name\":\"resnet18\",\"num_classes\":10},\"seed\":1,\"trainer\":{\"epochs\":3}}",
        "%YAML 1.2\n---\n" MODEL "seed: 1\ntrainer: {epochs: 3}\n...\n",
        "\xef\xbb\xbf" MODEL "seed:\t1\t# tabs between tokens are fine\ntrainer: {\n\tepochs: 3}\n",
        "model:\r\n  name: resnet18\r\n  num_classes: 10\r\nseed: 1\r\ntrainer:\r\n  epochs: 3",
        "seed: &one 1\n" MODEL "data: {val_batch_size: *one}\ntrainer: {epochs: !!int \"3\"}\n",
        "? model\n: {? name : resnet18, num_classes: 0xa}\nseed: 0o1\ntrainer: {epochs: +3}\n",
        "seed: 1\n<<: [{trainer: {epochs: 3}, seed: 7}, {trainer: {epochs: 4}, seed: 8}]\n" MODEL,
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtConfig *c = load(cases[i]);
        assert_true(c->seed == 1 && c->trainer.epochs == 3);
        assert_int_equal(c->size, strlen(cases[i]));
        assert_memory_equal(c->bytes, cases[i], c->size);
        tt_config_free(c);
    }
}

/* COUNT times TEXT between BEFORE and AFTER; the caller frees it. */
static char *repeat(const char *before, const char *text, size_t count, const char *after)
{
    size_t n = strlen(text), a = strlen(before), b = strlen(after);
    char *s = malloc(a + n * count + b + 1);
    assert_non_null(s);
    memcpy(s, before, a);
    for (size_t i = 0; i < count; i++) memcpy(s + a + i * n, text, n);
    memcpy(s + a + n * count, after, b + 1);
    return s;
}

static void expect_error(char *text, const char *want)
{
    TtConfig *c;
    assert_int_equal(load_with(text, 0, NULL, &c), TT_ECONFIG);
    if (!strstr(tt_error_message(), want)) fail_msg("%s, expected %s", tt_error_message(), want);
    free(text);
}

static void test_bounds(void **state)
{
    expect_error(repeat("transforms: {train: ", "[", 10000, ""), "c.yaml:1:119: nested more than 100 levels deep");
    expect_error(repeat(MODEL "name: '", "x", TT_YAML_SCALAR + 1, "'\n"), "c.yaml:2:7: a text of 65537 bytes");
    expect_error(repeat(MODEL "transforms: {train: [", "1,", TT_YAML_NODES, "]}\n"), "more than 1000000 nodes");
    /* depth grows through aliases: each anchor holds the last */
    char *chain = malloc(20000), *p = chain;
    assert_non_null(chain);
    p += sprintf(p, "x0: &x0 [1]\n");
    for (int i = 1; i < 200; i++) p += sprintf(p, "x%d: &x%d [*x%d]\n", i, i, i - 1);
    expect_error(chain, "nested more than 100 levels deep");
    /* the classic bomb */
    char *bomb = malloc(20000);
    assert_non_null(bomb);
    p = bomb + sprintf(bomb, "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n");
    for (int i = 1; i < 10; i++) {
        p += sprintf(p, "x%d: &x%d [*x%d", i, i, i - 1);
        for (int k = 1; k < 10; k++) p += sprintf(p, ", *x%d", i - 1);
        p += sprintf(p, "]\n");
    }
    expect_error(bomb, "more than 1000000 nodes");
    /* references: too many, too long together, a bomb of whole values */
    expect_error(repeat(MODEL "name: \"", "${seed}", 1001, "\"\n"), "more than 1000 references");
    char *inner = repeat("", "x", 60000, "");
    char *outer = malloc(70000);
    assert_non_null(outer);
    sprintf(outer, MODEL "output_dir: %s\nresume: ${output_dir}${output_dir}\n", inner);
    expect_error(outer, "the text is longer than 65536 bytes");
    free(inner);
    char *copies = malloc(20000);
    assert_non_null(copies);
    p = copies + sprintf(copies, MODEL "data:\n  x0: [a, a, a, a, a, a, a, a, a, a]\n");
    for (int i = 1; i < 8; i++) {
        p += sprintf(p, "  x%d: [\"${data.x%d}\"", i, i - 1);
        for (int k = 1; k < 10; k++) p += sprintf(p, ", \"${data.x%d}\"", i - 1);
        p += sprintf(p, "]\n");
    }
    expect_error(copies, "more than 1000000 nodes");
    /* many keys: no quadratic search */
    char *keys = malloc(4 << 20);
    assert_non_null(keys);
    p = keys;
    for (int i = 0; i < 200000; i++) p += sprintf(p, "k%d: 1\n", i);
    sprintf(p, "k7: 2\n");
    expect_error(keys, "c.yaml:200001:1: the key 'k7' is given twice; it is already at line 8");
}

static void test_files(void **state)
{
    TtConfig *c;
    assert_int_equal(tt_config_load("no/such.yaml", 0, NULL, &c), TT_ECONFIG);
    assert_null(c);
    assert_string_equal(tt_error_message(), "no/such.yaml: cannot open the configuration: No such file or directory");
    assert_int_equal(tt_config_load("/", 0, NULL, &c), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "/: cannot read the configuration: Is a directory");
    char path[] = "/tmp/tt_config_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, MODEL, strlen(MODEL)), strlen(MODEL));
    assert_int_equal(tt_config_load(path, 0, NULL, &c), TT_OK);
    assert_string_equal(c->bytes, MODEL);
    assert_string_equal(c->name, path + 5); /* without a key `name`, the file's */
    tt_config_free(c);
    assert_int_equal(ftruncate(fd, (off_t)100 << 20), 0);
    assert_int_equal(tt_config_load(path, 0, NULL, &c), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), ":1:1: the file is larger than 16 MB"));
    close(fd);
    unlink(path);
}

/* ---- overrides */

#define OVERRIDE_BASE                                                                                              \
    MODEL "data: {global_batch_size: 8}\ntransforms:\n  train:\n    - &n {Normalize: {mean: [0.5], std: [0.5]}}\n" \
          "    - RandomHorizontalFlip\n  val: [*n]\nscheduler:\nseed: 3\n"

static void test_overrides(void **state)
{
    char *args[] = {"seed=5",
                    "seed=7",
                    "transforms.train.0.Normalize.mean=[0.25, 0.5, 0.75]",
                    "transforms.train.1.RandomHorizontalFlip.p=0.25",
                    "scheduler.name=cosine",
                    "scheduler.warmup_epochs=2",
                    "optimizer={name: sgd, lr: 1e-2}",
                    "optimizer.lr=2e-2",
                    "output_dir=out/${name}",
                    "trainer.early_stopping.patience=4",
                    "name=r=1",
                    "trainer.max_steps="};
    TtConfig *c;
    TtStatus status = load_with(OVERRIDE_BASE, TT_COUNT(args), args, &c);
    if (status != TT_OK) fail_msg("%s", tt_error_message());
    assert_true(c->seed == 7 && c->trainer.early_stopping.patience == 4 && c->trainer.max_steps == TT_NULL_INT);
    assert_string_equal(c->output_dir, "out/r=1");
    const TtNode *mean = tt_tree_find(c->root, "transforms.train.0.Normalize.mean", NULL);
    const TtNode *val = tt_tree_find(c->root, "transforms.val.0.Normalize.mean", NULL);
    assert_int_equal(mean->count, 3);
    assert_int_equal(val->count, 1); /* the alias is a copy */
    assert_string_equal(tt_tree_find(c->root, "transforms.train.1.RandomHorizontalFlip.p", NULL)->text, "0.25");
    assert_string_equal(tt_tree_find(c->root, "optimizer.lr", NULL)->text, "2e-2");
    assert_string_equal(c->bytes, OVERRIDE_BASE);
    tt_config_free(c);
}

static void test_override_errors(void **state)
{
    static const char *const cases[][2] = {
        {"seed", "argument 'seed': expected key=value, such as optimizer.lr=0.1"},
        {"=1", "argument '=1': the key before '=' has an empty part"},
        {"tr\xe4iner.epochs=1", "argument 'tr\xe4iner.epochs=1': the key before '=' is not UTF-8 text"},
        {"a..b=1", "argument 'a..b=1': the key before '=' has an empty part"},
        {"seed.=1", "argument 'seed.=1': the key before '=' has an empty part"},
        {"seed.x=1", "argument 'seed.x=1': 'x' cannot be set inside the single value '3'"},
        {"sed=1", "argument 'sed=1': unknown key 'sed'; did you mean 'seed'?"},
        {"optimzer.lr=1", "argument 'optimzer.lr=1': unknown key 'optimzer'; did you mean 'optimizer'?"},
        {"trainer.epoch=1", "argument 'trainer.epoch=1': unknown key 'epoch'; did you mean 'epochs'?"},
        {"trainer.epochs=3.5", "argument 'trainer.epochs=3.5': epochs must be an integer, not '3.5'"},
        {"trainer.epochs=", "argument 'trainer.epochs=': epochs is null and max_steps is not given"},
        {"trainer={epoch: 3}", "argument 'trainer={epoch: 3}': unknown key 'epoch'; did you mean 'epochs'?"},
        {"trainer=3", "argument 'trainer=3': trainer must be a map of keys to values, not a single value"},
        {"seed=[1,", "argument 'seed=[1,': did not find expected node content"},
        {"seed='1", "argument 'seed='1': found unexpected end of stream"},
        {"seed=\t1:\t- 2", "argument 'seed=\t1:\t- 2': a tab cannot indent"},
        {"seed=\xff", "argument 'seed=\xff': the byte 0xff is not UTF-8"},
        {"seed=*x", "argument 'seed=*x': the alias '*x' has no anchor"},
        {"seed=${sed}", "argument 'seed=${sed}': ${sed} refers to no key; did you mean ${seed}?"},
        {"seed={a: 1, a: 2}", "argument 'seed={a: 1, a: 2}': the key 'a' is given twice"},
        {"seed=--- 1\n--- 2", "argument 'seed=--- 1 --- 2': a second document"},
        {"transforms.train.2=x", "argument 'transforms.train.2=x': '2' is no index of a list of 2 elements"},
        {"transforms.train.-1=x", "argument 'transforms.train.-1=x': '-1' is no index of a list of 2 elements"},
        {"transforms.train.99999999999=x", "argument 'transforms.train.99999999999=x': '99999999999' is no index"},
        {"transforms.train.Normalize.mean=1", "argument 'transforms.train.Normalize.mean=1': 'Normalize' is no index"},
        {"optimizer={lr: 1}", "argument 'optimizer={lr: 1}': optimizer: the key 'name' is missing"},
        {"optimizer.lr=1", "argument 'optimizer.lr=1': optimizer: the key 'name' is missing"},
        {"scheduler.warmup_epochs=1", "argument 'scheduler.warmup_epochs=1': scheduler: the key 'name' is missing"},
        {"loss={name: cross_entropi}", "argument 'loss={name: cross_entropi}': unknown loss 'cross_entropi'"},
        {"model.num_classes=0", "argument 'model.num_classes=0': num_classes must be"},
        {"model=", "argument 'model=': the key 'model' is missing"},
        {"trainer.grad_accum_steps=3",
         "argument 'trainer.grad_accum_steps=3': grad_accum_steps must divide data.global_batch_size, 8"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        char *arg = (char *)(uintptr_t)cases[i][0];
        TtConfig *c;
        if (load_with(OVERRIDE_BASE, 1, &arg, &c) != TT_ECONFIG) fail_msg("%s is taken", arg);
        if (strncmp(tt_error_message(), cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s\nexpected %s", tt_error_message(), cases[i][1]);
    }
    /* a key of a thousand levels */
    char *deep = repeat("", "a.", 1000, "a=1");
    TtConfig *c;
    assert_int_equal(load_with(OVERRIDE_BASE, 1, &deep, &c), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), "the key has more than 100 levels"));
    free(deep);
}

/* ---- references */

static void test_references(void **state)
{
    setenv("TT_TEST_BATCH", "16", 1);
    setenv("TT_TEST_DIR", "/data/a b", 1);
    unsetenv("TT_TEST_NONE");
    TtConfig *c = load(MODEL "name: run-${seed}-${model.name}\n"
                             "output_dir: $$5/${name}/$x/${trainer.epochs}/$\n"
                             "data: {global_batch_size: \"${env:TT_TEST_BATCH}\", train: {type: image_folder, path: "
                             "\"${env:TT_TEST_DIR}/x\"}, val: \"${data.train}\",\n"
                             "  num_workers: \"${env:TT_TEST_NONE,3}\"}\n"
                             "transforms:\n  train: [{Resize: {size: 8}}]\n  val: ${transforms.train}\n"
                             "resume: $${name}\nlogging: {interval: \"${data.global_batch_size}\"}\n");
    assert_string_equal(c->name, "run-42-resnet18");
    assert_string_equal(c->output_dir, "$5/run-42-resnet18/$x/90/$");
    assert_true(c->data.global_batch_size == 16 && c->data.num_workers == 3 && c->logging.interval == 16);
    assert_string_equal(tt_node_get(c->data.val, "path")->text, "/data/a b/x");
    assert_string_equal(c->resume, "${name}");
    assert_string_equal(tt_tree_find(c->root, "transforms.val.0.Resize.size", NULL)->text, "8");
    assert_ptr_not_equal(c->transforms.val, c->transforms.train);
    tt_config_free(c);
    c = load(MODEL);
    assert_string_equal(c->output_dir, "runs/c");
    tt_config_free(c);
}

static void test_reference_errors(void **state)
{
    static const char *const cases[][2] = {
        {MODEL "output_dir: runs/${nmae}\n", "c.yaml:2:13: ${nmae} refers to no key; did you mean ${name}?"},
        {MODEL "output_dir: ${model.nme}\n", "c.yaml:2:13: ${model.nme} refers to no key; did you mean ${model.name}?"},
        {MODEL "output_dir: ${train.epochs}\n", "c.yaml:2:13: ${train.epochs} refers to no key; did you mean "
                                                "${trainer.epochs}?"},
        {MODEL "output_dir: ${optimizer}\n", "c.yaml:2:13: ${optimizer} is not given in this configuration"},
        {MODEL "output_dir: a${model}\n", "c.yaml:2:13: ${model} is a map and cannot be part of a text"},
        {MODEL "output_dir: ${model}\n", "c.yaml:2:13: output_dir must be a string, not a map"},
        {MODEL "output_dir: ${name\n", "c.yaml:2:13: '${' without a '}'"},
        {MODEL "output_dir: a${}b\n", "c.yaml:2:13: ${} refers to no key"},
        {MODEL "output_dir: ${output_dir}\n", "c.yaml:2:13: the reference in '${output_dir}' leads back to itself"},
        {MODEL "output_dir: a${name}\nname: b${output_dir}\n", "c.yaml:2:13: the reference in 'a${name}' leads back"},
        {MODEL "data: {train: {type: \"${data}\"}}\n", "c.yaml:2:22: the reference in '${data}' leads back to itself"},
        {MODEL "output_dir: ${env:TT_TEST_NONE}\n", "c.yaml:2:13: the environment variable 'TT_TEST_NONE' is not set"},
        {MODEL "seed: ${env:TT_TEST_BAD}\n", "c.yaml:2:7: seed must be an integer, not 'many'"},
        {MODEL "trainer: {epochs: \"${model.name}\"}\n", "c.yaml:2:19: epochs must be an integer, not 'resnet18'"},
    };
    setenv("TT_TEST_BAD", "many", 1);
    unsetenv("TT_TEST_NONE");
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtConfig *c;
        if (load_with(cases[i][0], 0, NULL, &c) != TT_ECONFIG) fail_msg("taken:\n%s", cases[i][0]);
        if (strncmp(tt_error_message(), cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s\nexpected %s", tt_error_message(), cases[i][1]);
    }
}

/* ---- typed keys */

static void test_defaults(void **state)
{
    TtConfig *c = load(MODEL);
    assert_true(c->seed == 42 && c->device == TT_DEVICE_AUTO && !c->loss && !c->optimizer && !c->scheduler);
    assert_string_equal(c->resume, "auto");
    const TtDataConfig *d = &c->data;
    assert_true(!d->train && d->global_batch_size == 64 && d->num_workers == TT_AUTO_INT && d->prefetch_factor == 2);
    assert_true(d->shuffle && d->drop_last && d->on_error == TT_ON_ERROR_FAIL && d->max_errors == TT_NULL_INT);
    assert_true(d->max_pixels == 1 << 28 && d->orientation && d->sampler == TT_SAMPLE_RANDOM && d->fraction == 1);
    assert_true(d->folds == TT_NULL_INT && d->val_batch_size == TT_NULL_INT && d->stall_timeout == 60);
    const TtTrainerConfig *t = &c->trainer;
    assert_true(t->epochs == 90 && t->max_steps == TT_NULL_INT && isnan(t->max_seconds) && t->grad_accum_steps == 1);
    assert_true(t->precision == TT_PRECISION_FP32 && isnan(t->clip_grad_norm) && isnan(t->clip_grad_value));
    assert_true(t->val_interval == 1 && t->nonfinite_patience == 3 && t->threads == TT_AUTO_INT && isnan(t->ema_decay));
    assert_true(t->fusion && t->planning && !t->reference && !t->poison && t->conv_algorithm == TT_CONV_AUTO);
    assert_true(t->early_stopping.patience == TT_NULL_INT && t->early_stopping.min_delta == 0);
    assert_true(c->distributed.backend == TT_BACKEND_AUTO && c->distributed.bucket_cap_mb == 25);
    assert_true(c->distributed.timeout == 600 && !c->distributed.sync_bn);
    const TtCheckpointConfig *k = &c->checkpoint;
    assert_true(k->every_n_steps == TT_NULL_INT && k->every_n_epochs == 1 && k->save_last && k->save_top_k == 1);
    assert_true(k->mode == TT_MODE_AUTO && k->async && k->keep_last == 1);
    assert_string_equal(k->monitor, "auto");
    assert_true(c->logging.interval == 50 && c->logging.tensorboard && c->logging.jsonl && c->logging.csv);
    assert_true(c->logging.progress == TT_AUTO_BOOL && c->logging.images && c->logging.plots);
    tt_config_free(c);
    c = load(MODEL "trainer: {max_steps: 5}\ndata: {shuffle: false}\nlogging: {progress: false}\nscheduler: null\n"
                   "checkpoint: {monitor: val/loss, mode: min}\n");
    assert_true(c->trainer.epochs == TT_NULL_INT && c->trainer.max_steps == 5);
    assert_true(c->data.sampler == TT_SAMPLE_SEQUENTIAL && c->logging.progress == TT_FALSE);
    assert_true(c->checkpoint.mode == TT_MODE_MIN);
    tt_config_free(c);
}

static void test_key_errors(void **state)
{
    static const char *const cases[][2] = {
        {"seed: 3\n", "c.yaml:1:1: the key 'model' is missing"},
        {"model: {num_classes: 3}\n", "c.yaml:1:1: model"},
        {"model: [resnet18]\n", "c.yaml:1:8: model must be a map"},
        {MODEL "seed: -1\n", "c.yaml:2:7: seed must be at least 0, not -1"},
        {MODEL "device: tpu\n", "c.yaml:2:9: device must be auto, cpu or cuda, not 'tpu'"},
        {MODEL "name: a/b\n", "c.yaml:2:7: name must be a plain name"},
        {MODEL "name: ..\n", "c.yaml:2:7: name must be a plain name"},
        {MODEL "output_dir: ''\n", "c.yaml:2:13: output_dir is empty"},
        {MODEL "data: {shuffle: yes}\n", "c.yaml:2:17: shuffle must be a boolean, true or false, not 'yes'"},
        {MODEL "data: {global_batch_size: 0}\n", "c.yaml:2:27: global_batch_size must be at least 1, not 0"},
        {MODEL "data: {sampler: random, shuffle: false}\n", "c.yaml:2:17: sampler: random and shuffle: false"},
        {MODEL "data: {class_weights: [1, 2]}\n", "c.yaml:2:23: class_weights need sampler: weighted"},
        {MODEL "data: {class_weights: [0, 0], sampler: weighted}\n", "c.yaml:2:23: class_weights are all 0"},
        {MODEL "data: {class_weights: [1, -1], sampler: weighted}\n", "c.yaml:2:27: class_weights must be at least 0"},
        {MODEL "data: {fraction: 0}\n", "c.yaml:2:18: fraction must be greater than 0, not 0"},
        {MODEL "data: {fraction: 1.5}\n", "c.yaml:2:18: fraction must be at most 1, not 1.5"},
        {MODEL "data: {folds: 5, fold: 5}\n", "c.yaml:2:24: fold must be less than folds, 5"},
        {MODEL "data: {fold: 1}\n", "c.yaml:2:14: fold needs folds"},
        {MODEL "data: {max_errors: 3}\n", "c.yaml:2:20: max_errors needs on_error: skip"},
        {MODEL "trainer: {max_time: soon}\n", "c.yaml:2:21: max_time must be a time above 0"},
        {MODEL "trainer: {epochs: 1e3}\n", "c.yaml:2:19: epochs must be an integer, not '1e3'"},
        {MODEL "trainer: {epochs: 99999999999999999999}\n", "c.yaml:2:19: epochs: the integer 999"},
        {MODEL "trainer: {clip_grad_norm: 0}\n", "c.yaml:2:27: clip_grad_norm must be greater than 0"},
        {MODEL "trainer: {clip_grad_norm: 1, clip_grad_value: 1}\n", "c.yaml:2:47: give one of clip_grad_norm"},
        {MODEL "trainer: {ema_decay: 1.0}\n", "c.yaml:2:22: ema_decay must be less than 1"},
        {MODEL "trainer: {early_stopping: {patience: 0}}\n", "c.yaml:2:38: patience must be at least 1"},
        {MODEL "trainer: {precision: fp16}\n", "c.yaml:2:22: precision must be fp32 or bf16, not 'fp16'"},
        {MODEL "distributed: {virtual_ranks: 5}\n", "c.yaml:2:30: virtual_ranks must divide"},
        {MODEL "checkpoint: {mode: best}\n", "c.yaml:2:20: mode must be auto, min or max, not 'best'"},
        {MODEL "optimizer: {name: sgd, lr: .nan}\n", "c.yaml:2:28: lr must be a finite number, not .nan"},
        {MODEL "optimizer: {name: adagrad}\nscheduler: {name: one_cycle}\n",
         "c.yaml:3:19: the schedule moves the momentum, which adagrad has not"},
        {MODEL "loss: {name: cross_entropy, label_smoothing: 2}\n", "c.yaml:2:46: label_smoothing must be at most 1"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtConfig *c;
        if (load_with(cases[i][0], 0, NULL, &c) != TT_ECONFIG) fail_msg("taken:\n%s", cases[i][0]);
        if (strncmp(tt_error_message(), cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s\nexpected %s", tt_error_message(), cases[i][1]);
    }
    TtConfig *c = load(MODEL "data: {global_batch_size: 4}\n");
    assert_int_equal(tt_config_require(c, "data.train"), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "c.yaml:2:1: the key 'data.train' is missing");
    assert_int_equal(tt_config_require(c, "optimizer"), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "c.yaml:1:1: the key 'optimizer' is missing");
    assert_int_equal(tt_config_require(c, "model.name"), TT_OK);
    tt_config_free(c);
}

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        double seconds; /* 0: refused */
    } cases[] = {{"90", 90},
                 {"1.5", 1.5},
                 {"1h30m", 5400},
                 {"2d", 172800},
                 {"1d2h3m4s", 93784},
                 {"0.5h", 1800},
                 {"01:30:00", 5400},
                 {"12:30", 45000},
                 {"1-12:00:00", 129600},
                 {"00:00:05", 5},
                 {"0", 0},
                 {"", 0},
                 {"-5", 0},
                 {"1x", 0},
                 {"h", 0},
                 {"1h 30m", 0},
                 {"1:2:3:4", 0},
                 {"1:", 0},
                 {"1::2", 0},
                 {"1e3", 0},
                 {"0x10", 0},
                 {"inf", 0},
                 {"1.2.3", 0},
                 {"1-2-3:00", 0},
                 {"soon", 0},
                 {"1h30", 5400 - 1770}};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        double s = 0;
        bool ok = tt_duration_parse(cases[i].text, &s);
        if (ok != (cases[i].seconds > 0) || (ok && s != cases[i].seconds))
            fail_msg("%s is %g, expected %g", cases[i].text, ok ? s : -1, cases[i].seconds);
    }
}

/* ---- printing */

typedef TtStatus (*Printer)(const TtConfig *c, FILE *f);
static TtStatus print_all(const TtConfig *c, FILE *f)
{
    return tt_config_print(f, c, false);
}
static TtStatus print_help(const TtConfig *c, FILE *f)
{
    return tt_config_print(f, c, true);
}

static char *printed(const TtConfig *c, Printer print)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(print(c, f), TT_OK);
    fclose(f);
    return text;
}

/* What PRINT gives loads again and prints the same; the caller frees the text. */
static char *round_trip(const TtConfig *c, Printer print)
{
    char *first = printed(c, print);
    TtConfig *again;
    if (tt_config_parse("c.yaml", first, strlen(first), 0, NULL, &again) != TT_OK)
        fail_msg("%s\n%s", tt_error_message(), first);
    char *second = printed(again, print);
    assert_string_equal(first, second);
    assert_string_equal(again->name, c->name);
    assert_string_equal(again->output_dir, c->output_dir);
    assert_string_equal(again->checkpoint.monitor, c->checkpoint.monitor);
    free(second);
    tt_config_free(again);
    return first;
}

static void test_resolved(void **state)
{
    static const char text[] =
        "name: 'no'\noutput_dir: \"runs/${name} # 1\"\n" MODEL
        "transforms:\n  train:\n    - A: {size: 32, $$x: [0.5, 1.0]}\n    - [a, [b, c], {d: [e]}]\n    - plain\n"
        "    - {}\n    - [[[1]], []]\n    - B:\n        mean: [0.1, '1', ~, '', \"x: y\"]\n        c: {d: {e: f}}\n"
        "        std: \"\\u00e9\\t\\x85\"\n    - \"b\\nc\"\n"
        "checkpoint: {monitor: \"$${x} $$$ $y\", every_n_epochs: null}\n";
    TtConfig *c;
    assert_int_equal(tt_config_parse("c.yaml", text, strlen(text), 0, NULL, &c), TT_OK);
    assert_string_equal(c->checkpoint.monitor, "${x} $$ $y");
    char *out = round_trip(c, tt_config_write_resolved);
    assert_string_equal(out,
                        "name: \"no\"\noutput_dir: \"runs/no # 1\"\nmodel: {name: resnet18, num_classes: 10}\n"
                        "transforms:\n  train:\n    - A:\n        size: 32\n        $$x: [0.5, 1.0]\n    - - a\n"
                        "      - [b, c]\n      - d: [e]\n    - plain\n    - {}\n    - - - [1]\n      - []\n"
                        "    - B:\n        mean: [0.1, \"1\", ~, \"\", \"x: y\"]\n        c:\n          d: {e: f}\n"
                        "        std: \"\u00e9\\t\\u0085\"\n    - \"b\\nc\"\n"
                        "checkpoint: {monitor: \"$${x} $$$ $y\", every_n_epochs: null}\n");
    free(out);
    tt_config_free(c);
}

static void test_print(void **state)
{
    TtConfig *c = load("name: 'no'\noutput_dir: \"runs/${name} # 1\"\n" MODEL
                       "data:\n  train: {type: image_folder, path: \"a: b\"}\n  fraction: 1e-4\n"
                       "transforms:\n  train:\n    - RandomResizedCrop: {size: 32}\n    - RandomHorizontalFlip\n"
                       "    - Normalize: {mean: [0.1], std: [0.5]}\n  val: []\n"
                       "optimizer: {name: sgd, lr: 1e-1, groups: [{match: ['*.bias'], weight_decay: 0}]}\n"
                       "scheduler: {name: plateau}\ntrainer: {max_steps: 10, max_time: 1h}\n"
                       "loss: {name: cross_entropy, weight: [1, 2]}\ncheckpoint: {monitor: \"$${x} $$$ $y\"}\n");
    TtConfig *bad;
    assert_int_equal(tt_config_parse("c.yaml", "model: {name: x}\n", 17, 0, NULL, &bad), TT_OK);
    FILE *null = fopen("/dev/null", "w");
    assert_int_equal(tt_config_print(null, bad, true), TT_ECONFIG);
    fclose(null);
    tt_config_free(bad);
    char *text = round_trip(c, print_all);
    assert_non_null(strstr(text, "  fraction: 0.0001\n"));
    assert_non_null(strstr(text, "\n  epochs: null\n"));
    assert_non_null(strstr(text, "transforms:\n  train:\n    - RandomResizedCrop:\n        size: [32]\n"));
    assert_non_null(strstr(text, "\n    - RandomHorizontalFlip:\n        p: 0.5\n"));
    assert_non_null(strstr(text, "\n  val: []\n"));
    assert_non_null(strstr(text, "\n  groups: [{match: [\"*.bias\"], weight_decay: 0}]\n"));
    free(text);
    text = round_trip(c, print_help);
    assert_non_null(strstr(text, "\nseed: 42  # of all random numbers (default 42)\n"));
    assert_non_null(strstr(text, "\n  momentum: 0.0  # momentum (default 0.0)\n"));
    assert_non_null(strstr(text, "\n  label_smoothing: 0.0  # "));
    assert_non_null(strstr(text, "\n    patience: null  # stop after"));
    free(text);
    tt_config_free(c);
}

/* Every row of the reference page has its five cells, and every registered thing is there. */
static void test_reference(void **state)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    tt_reference_markdown(f);
    fclose(f);
    static const char *const there[] = {"| `trainer.early_stopping.patience` |",
                                        "- `resnet18`: ",
                                        "### image_folder\n",
                                        "### RandomResizedCrop\n",
                                        "### cross_entropy\n",
                                        "### lars\n",
                                        "### plateau\n",
                                        "| `lr_scale` |",
                                        "| `aux_weight` |",
                                        "| `weights` |",
                                        "| `warmup_epochs` |"};
    for (int i = 0; i < TT_COUNT(there); i++)
        if (!strstr(text, there[i])) fail_msg("%s is not there", there[i]);
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        int cells = 0;
        for (char *p = line; *p; p++) cells += *p == '|' && !(p > line && p[-1] == '\\');
        if (cells && cells != 6) fail_msg("%d bars in %s", cells, line);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),     cmocka_unit_test(test_good_syntax),
        cmocka_unit_test(test_bounds),     cmocka_unit_test(test_files),
        cmocka_unit_test(test_overrides),  cmocka_unit_test(test_override_errors),
        cmocka_unit_test(test_references), cmocka_unit_test(test_reference_errors),
        cmocka_unit_test(test_defaults),   cmocka_unit_test(test_key_errors),
        cmocka_unit_test(test_durations),  cmocka_unit_test(test_print),
        cmocka_unit_test(test_resolved),   cmocka_unit_test(test_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
