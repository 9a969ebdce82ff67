/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tensorboard.c - event files. */
#include "pipeline/tensorboard.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/fs.h"
#include "pipeline/tensorboard.pb-c.h"
#include "tensor/arena.h"

struct TtTensorboard {
    FILE *f;
    char *path;
};

/* ---- framing */

static uint32_t crc_table[256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82F63B78u : c >> 1;
        crc_table[i] = c;
    }
}

uint32_t tt_crc32c(const void *data, size_t n)
{
    pthread_once(&crc_once, make_crc_table);
    uint32_t c = 0xffffffffu;
    for (const uint8_t *p = data; n > 0; n--, p++) c = c >> 8 ^ crc_table[(c ^ *p) & 255];
    return ~c;
}

uint32_t tt_crc32c_masked(const void *data, size_t n)
{
    uint32_t c = tt_crc32c(data, n);
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

static void put_le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) p[i] = (uint8_t)(v >> 8 * i);
}

/* length, its CRC, the message, its CRC */
static TtStatus write_event(TtTensorboard *t, Tt__Tb__Event *e)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    e->wall_time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    size_t n = tt__tb__event__get_packed_size(e);
    uint8_t *record;
    TT_TRY(tt_alloc((void **)&record, n + 16));
    put_le(record, n, 8);
    put_le(record + 8, tt_crc32c_masked(record, 8), 4);
    tt__tb__event__pack(e, record + 12);
    put_le(record + 12 + n, tt_crc32c_masked(record + 12, n), 4);
    bool ok = fwrite(record, 1, n + 16, t->f) == n + 16;
    tt_free(record);
    return ok ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %m", t->path);
}

/* ---- files */

/* TensorBoard reads a folder's files in the order of their names: a new one must come behind all others even when it is
 * made in the same second, or by a machine whose clock is behind. */
static long long next_time(const char *dir)
{
    long long latest = (long long)time(NULL);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        long long t;
        if (sscanf(e->d_name, "events.out.tfevents.%lld", &t) == 1 && t >= latest && t < 9999999999) latest = t + 1;
    }
    if (d) closedir(d);
    return latest;
}

TtStatus tt_tensorboard_open(const char *dir, int64_t step, TtTensorboard **out)
{
    char host[128] = "host", name[256];
    TT_TRY(tt_fs_mkdirs(dir));
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s.%ld", next_time(dir), host, (long)getpid());
    TtTensorboard *t = tt_realloc(NULL, sizeof *t);
    *t = (TtTensorboard){.path = tt_fs_join(dir, name)};
    t->f = fopen(t->path, "wb");
    TtStatus s = t->f ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %m", t->path);
    Tt__Tb__Event version = TT__TB__EVENT__INIT, start = TT__TB__EVENT__INIT;
    version.what_case = TT__TB__EVENT__WHAT_FILE_VERSION;
    version.file_version = (char[]){"brain.Event:2"};
    Tt__Tb__SessionLog log = TT__TB__SESSION_LOG__INIT;
    log.status = TT__TB__SESSION_LOG__STATUS__START;
    start.step = step;
    start.what_case = TT__TB__EVENT__WHAT_SESSION_LOG;
    start.session_log = &log;
    if (s == TT_OK) s = write_event(t, &version);
    if (s == TT_OK) s = write_event(t, &start);
    if (s == TT_OK) s = tt_tensorboard_flush(t);
    if (s != TT_OK) {
        if (t->f) fclose(t->f);
        free(t->path);
        free(t);
        t = NULL;
    }
    *out = t;
    return s;
}

TtStatus tt_tensorboard_flush(TtTensorboard *t)
{
    return fflush(t->f) == 0 ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %m", t->path);
}

TtStatus tt_tensorboard_close(TtTensorboard *t)
{
    if (!t) return TT_OK;
    TtStatus s = fclose(t->f) == 0 ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %m", t->path);
    free(t->path);
    free(t);
    return s;
}

/* ---- values */

static TtStatus write_value(TtTensorboard *t, const char *tag, int64_t step, Tt__Tb__Summary__Value *v)
{
    v->tag = (char *)(uintptr_t)tag;
    Tt__Tb__Summary summary = TT__TB__SUMMARY__INIT;
    summary.n_value = 1;
    summary.value = &v;
    Tt__Tb__Event e = TT__TB__EVENT__INIT;
    e.step = step;
    e.what_case = TT__TB__EVENT__WHAT_SUMMARY;
    e.summary = &summary;
    return write_event(t, &e);
}

TtStatus tt_tensorboard_scalar(TtTensorboard *t, const char *tag, int64_t step, double value)
{
    Tt__Tb__Summary__Value v = TT__TB__SUMMARY__VALUE__INIT;
    v.value_case = TT__TB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    v.simple_value = (float)value;
    return write_value(t, tag, step, &v);
}

TtStatus tt_tensorboard_image(TtTensorboard *t, const char *tag, int64_t step, int h, int w, const uint8_t *bytes,
                              size_t size)
{
    Tt__Tb__Summary__Image im = TT__TB__SUMMARY__IMAGE__INIT;
    im.height = h, im.width = w, im.colorspace = 3;
    im.encoded_image_string = (ProtobufCBinaryData){.len = size, .data = (uint8_t *)(uintptr_t)bytes};
    Tt__Tb__Summary__Value v = TT__TB__SUMMARY__VALUE__INIT;
    v.value_case = TT__TB__SUMMARY__VALUE__VALUE_IMAGE;
    v.image = &im;
    return write_value(t, tag, step, &v);
}

TtStatus tt_tensorboard_text(TtTensorboard *t, const char *tag, int64_t step, const char *text)
{
    ProtobufCBinaryData bytes = {.len = strlen(text), .data = (uint8_t *)(uintptr_t)text};
    Tt__Tb__Shape__Dim dim = TT__TB__SHAPE__DIM__INIT, *dims[1] = {&dim};
    dim.size = 1;
    Tt__Tb__Shape shape = TT__TB__SHAPE__INIT;
    shape.n_dim = 1, shape.dim = dims;
    Tt__Tb__Tensor tensor = TT__TB__TENSOR__INIT;
    tensor.dtype = 7, tensor.tensor_shape = &shape, tensor.n_string_val = 1, tensor.string_val = &bytes;
    Tt__Tb__Metadata__Plugin plugin = TT__TB__METADATA__PLUGIN__INIT;
    plugin.plugin_name = (char[]){"text"};
    Tt__Tb__Metadata metadata = TT__TB__METADATA__INIT;
    metadata.plugin_data = &plugin;
    Tt__Tb__Summary__Value v = TT__TB__SUMMARY__VALUE__INIT;
    v.value_case = TT__TB__SUMMARY__VALUE__VALUE_TENSOR;
    v.tensor = &tensor;
    v.metadata = &metadata;
    return write_value(t, tag, step, &v);
}

/* Limits 0, +-1e-12 * 1.1^k up to 1e20, as torch.utils.tensorboard's default bins. */
enum { HALF_BINS = 775, BINS = 2 * HALF_BINS + 1 };
static double bin_limits[BINS];
static pthread_once_t bins_once = PTHREAD_ONCE_INIT;

static void make_bins(void)
{
    double v = 1e-12;
    for (int i = 0; i < HALF_BINS; i++, v *= 1.1) bin_limits[HALF_BINS + 1 + i] = v, bin_limits[HALF_BINS - 1 - i] = -v;
}

/* The first bin whose limit is at least X; the last when none is. */
static int find_bin(double x)
{
    int lo = 0, hi = BINS - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (bin_limits[mid] >= x)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

TtStatus tt_tensorboard_histogram(TtTensorboard *t, const char *tag, int64_t step, const float *values, int64_t n)
{
    pthread_once(&bins_once, make_bins);
    double *counts;
    TT_TRY(tt_alloc((void **)&counts, BINS * sizeof *counts));
    memset(counts, 0, BINS * sizeof *counts);
    Tt__Tb__Histogram h = TT__TB__HISTOGRAM__INIT;
    int first = BINS, last = -1;
    for (int64_t i = 0; i < n; i++) {
        double v = values[i];
        if (!isfinite(v)) continue;
        int b = find_bin(v);
        counts[b]++;
        first = TT_MIN(first, b), last = TT_MAX(last, b);
        h.min = h.num ? fmin(h.min, v) : v, h.max = h.num ? fmax(h.max, v) : v;
        h.num++, h.sum += v, h.sum_squares += v * v;
    }
    TtStatus s = TT_OK;
    if (last >= 0) { /* one empty bin before the first gives it a lower edge */
        first = TT_MAX(first - 1, 0);
        h.n_bucket = h.n_bucket_limit = (size_t)(last - first + 1);
        h.bucket = counts + first, h.bucket_limit = bin_limits + first;
        Tt__Tb__Summary__Value v = TT__TB__SUMMARY__VALUE__INIT;
        v.value_case = TT__TB__SUMMARY__VALUE__VALUE_HISTO;
        v.histo = &h;
        s = write_value(t, tag, step, &v);
    }
    tt_free(counts);
    return s;
}
