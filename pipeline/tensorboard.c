/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tensorboard.c - event files.
 *
 * A file is a list of TFRecords, each an Event message. The first says the version of the format, the second starts the
 * session. Nothing is read back: what a killed process left half-written stays at the end of its own file, where readers
 * stop, and the next session has a file of its own. */
#include "pipeline/tensorboard.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tensor/fs.h"
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
    *out = NULL;
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

TtStatus tt_tensorboard_code(TtTensorboard *t, const char *tag, int64_t step, const char *text)
{
    /* Four blanks before each line make Markdown leave it alone, whatever it contains (a fence could be closed). */
    size_t lines = 1;
    for (const char *p = text; *p; p++) lines += *p == '\n';
    char *indented;
    TT_TRY(tt_alloc((void **)&indented, strlen(text) + 4 * lines + 1));
    char *out = indented;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        memcpy(out, "    ", 4);
        memcpy(out + 4, p, n);
        out += 4 + n;
        p += n;
    }
    *out = '\0';
    TtStatus s = tt_tensorboard_text(t, tag, step, indented);
    tt_free(indented);
    return s;
}

/* ---- histograms */

/* Edges 0, +-1e-12 * 1.1^k below 1e20, as torch.utils.tensorboard's default bins (add_histogram, make_histogram). */
enum { HALF_EDGES = 774, EDGES = 2 * HALF_EDGES + 1 };
static double edges[EDGES];
static pthread_once_t edges_once = PTHREAD_ONCE_INIT;

static void make_edges(void)
{
    double v = 1e-12;
    for (int i = 0; i < HALF_EDGES; i++, v *= 1.1) {
        edges[HALF_EDGES + 1 + i] = v;
        edges[HALF_EDGES - 1 - i] = -v;
    }
}

/* b with edges[b] <= x < edges[b + 1], as numpy.histogram; outside of them the nearest. */
static int find_bucket(double x)
{
    int lo = 0, hi = EDGES - 2;
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        if (edges[mid] <= x)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

TtStatus tt_tensorboard_histogram(TtTensorboard *t, const char *tag, int64_t step, const float *values, int64_t n)
{
    pthread_once(&edges_once, make_edges);
    double counts[EDGES] = {0}; /* [b + 1]: edges[b] to edges[b + 1]; [0] stays empty */
    Tt__Tb__Histogram h = TT__TB__HISTOGRAM__INIT;
    int first = EDGES, last = -1;
    for (int64_t i = 0; i < n; i++) {
        double v = values[i];
        if (!isfinite(v)) continue;
        int b = find_bucket(v);
        counts[b + 1]++;
        first = TT_MIN(first, b), last = TT_MAX(last, b);
        h.min = h.num > 0 ? fmin(h.min, v) : v, h.max = h.num > 0 ? fmax(h.max, v) : v;
        h.num++, h.sum += v, h.sum_squares += v * v;
    }
    if (last < 0) return TT_OK;
    /* A bucket is named by its upper edge; an empty one in front gives the first its lower edge. */
    h.n_bucket = h.n_bucket_limit = (size_t)(last - first + 2);
    h.bucket = counts + first, h.bucket_limit = edges + first;
    Tt__Tb__Summary__Value v = TT__TB__SUMMARY__VALUE__INIT;
    v.value_case = TT__TB__SUMMARY__VALUE__VALUE_HISTO;
    v.histo = &h;
    return write_value(t, tag, step, &v);
}

/* ---- sound */

/* RIFF header of 44 bytes, then int16 samples, little-endian. */
static void write_wav(uint8_t *wav, const float *samples, size_t n, int channels, int rate)
{
    size_t bytes = n * 2;
    memcpy(wav, "RIFF", 4), put_le(wav + 4, 36 + bytes, 4);
    memcpy(wav + 8, "WAVEfmt ", 8), put_le(wav + 16, 16, 4);
    put_le(wav + 20, 1, 2), put_le(wav + 22, (uint64_t)channels, 2); /* PCM */
    put_le(wav + 24, (uint64_t)rate, 4), put_le(wav + 28, (uint64_t)rate * (uint64_t)channels * 2, 4);
    put_le(wav + 32, (uint64_t)channels * 2, 2), put_le(wav + 34, 16, 2);
    memcpy(wav + 36, "data", 4), put_le(wav + 40, bytes, 4);
    for (size_t i = 0; i < n; i++) {
        double v = isfinite(samples[i]) ? TT_MIN(TT_MAX((double)samples[i], -1), 1) : 0;
        put_le(wav + 44 + 2 * i, (uint64_t)lrint(v * 32767), 2);
    }
}

TtStatus tt_tensorboard_audio(TtTensorboard *t, const char *tag, int64_t step, const float *samples, int64_t frames,
                              int channels, int rate)
{
    TT_ASSERT(frames >= 0 && channels > 0 && channels < 65536 && rate > 0 && frames <= (INT32_MAX - 44) / 2 / channels);
    size_t n = (size_t)frames * (size_t)channels;
    uint8_t *wav;
    TT_TRY(tt_alloc((void **)&wav, 44 + 2 * n));
    write_wav(wav, samples, n, channels, rate);
    Tt__Tb__Summary__Audio a = TT__TB__SUMMARY__AUDIO__INIT;
    a.sample_rate = (float)rate, a.num_channels = channels, a.length_frames = frames;
    a.encoded_audio_string = (ProtobufCBinaryData){.len = 44 + 2 * n, .data = wav};
    a.content_type = (char[]){"audio/wav"};
    Tt__Tb__Summary__Value v = TT__TB__SUMMARY__VALUE__INIT;
    v.value_case = TT__TB__SUMMARY__VALUE__VALUE_AUDIO;
    v.audio = &a;
    TtStatus s = write_value(t, tag, step, &v);
    tt_free(wav);
    return s;
}
