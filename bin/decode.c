/* SPDX-License-Identifier: Apache-2.0 */
/* bin/decode.c - ttrain decode FILE [--output FILE.npy]: one file as the pipeline would see it. A kind of media is one
 * reader in the table below; the file's first bytes choose it. */
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "audio/reader.h"
#include "bin/args.h"
#include "bin/commands.h"
#include "data/dataset.h"
#include "tensor/file.h"
#include "data/npy.h"

static const char usage[] = "usage: ttrain decode FILE [--output FILE.npy]\n"
                            "  --output FILE.npy  write the array in NumPy's format\n";

typedef struct Decoded {
    TtTensor array; /* a view of what the reader holds below */
    json_t *info;   /* what is printed */
    TtImage image;
    TtAudio audio;
    TtSample file;
} Decoded;

static bool is_image(const uint8_t *head, size_t n, const char *path)
{
    return tt_image_format(head, n) != NULL;
}

static TtStatus read_image(const char *path, Decoded *d)
{
    TT_TRY(tt_sample_read_file(&d->file, path));
    TT_TRY(tt_image_decode(d->file.bytes, d->file.bytes_size, path, NULL, &d->image));
    d->array = tt_tensor(d->image.data, d->image.dtype, TT_SHAPE(d->image.h, d->image.w, d->image.c));
    json_object_set_new(d->info, "format", json_string(tt_image_format(d->file.bytes, d->file.bytes_size)));
    return TT_OK;
}

static bool is_audio(const uint8_t *head, size_t n, const char *path)
{
    return tt_audio_format(head, n, path) != NULL;
}

static TtStatus read_audio(const char *path, Decoded *d)
{
    TtAudioReader *r;
    TT_TRY(tt_audio_open(path, &r));
    TtAudioInfo info = tt_audio_reader_info(r);
    TtStatus status = tt_audio_read(r, INT64_MAX, &d->audio);
    tt_audio_close(r);
    TT_TRY(status);
    d->array = tt_tensor(d->audio.data, TT_F32, TT_SHAPE(d->audio.channels, d->audio.frames));
    json_object_set_new(d->info, "format", json_string(info.format));
    json_object_set_new(d->info, "codec", json_string(info.codec));
    json_object_set_new(d->info, "sample_rate", json_integer(info.sample_rate));
    return TT_OK;
}

static const struct {
    const char *kind;
    bool (*knows)(const uint8_t *head, size_t n, const char *path);
    TtStatus (*read)(const char *path, Decoded *d); /* sets array, and what info has besides kind, shape and dtype */
} readers[] = {
    {"image", is_image, read_image},
    {"audio", is_audio, read_audio},
};

static TtStatus read_media(const char *path, Decoded *d)
{
    uint8_t head[1 << 14];
    uint64_t size;
    int fd;
    TT_TRY(tt_file_open(path, &fd, &size));
    size_t n = TT_MIN(size, sizeof head);
    TtStatus status = tt_file_read_at(fd, path, head, n, 0);
    close(fd);
    TT_TRY(status);
    if (n == 0) return TT_FAIL(TT_EDATA, "%s: the file is empty", path);
    for (int i = 0; i < TT_COUNT(readers); i++) {
        if (!readers[i].knows(head, n, path)) continue;
        json_object_set_new(d->info, "kind", json_string(readers[i].kind));
        return readers[i].read(path, d);
    }
    return TT_FAIL(TT_EDATA, "%s: unknown format: neither a picture nor sound by its content", path);
}

static TtStatus print(const Decoded *d)
{
    json_t *shape = json_array();
    for (int i = 0; i < d->array.shape.rank; i++) json_array_append_new(shape, json_integer(d->array.shape.dims[i]));
    json_object_set_new(d->info, "shape", shape);
    json_object_set_new(d->info, "dtype", json_string(tt_dtype_name(d->array.dtype)));
    json_dumpf(d->info, stdout, JSON_COMPACT);
    putchar('\n');
    return tt_args_flush(TT_OK);
}

static TtStatus decode(const char *path, const char *output)
{
    Decoded d = {.info = json_object()};
    TtStatus status = read_media(path, &d);
    if (status == TT_OK && output) status = tt_npy_write(output, &d.array);
    if (status == TT_OK) status = print(&d);
    json_decref(d.info);
    tt_image_free(&d.image);
    tt_audio_free(&d.audio);
    tt_sample_free(&d.file);
    return status;
}

int tt_cmd_decode(int argc, char **argv)
{
    const char *output = NULL;
    const TtFlag flags[] = {{"--output", .text = &output}, {0}};
    TtArgs a;
    TtStatus s = tt_args_parse(argc, argv, flags, usage, &a);
    if (s == TT_OK && !a.help) {
        /* a file may be called a=b.png; there are no overrides here */
        if ((a.config ? 1 : 0) + a.n_overrides + a.n_inputs != 1)
            s = TT_FAIL(TT_ECONFIG, "decode takes one file: ttrain decode FILE [--output FILE.npy]");
        else
            s = decode(a.config ? a.config : a.overrides[0], output);
    }
    tt_args_free(&a);
    return tt_args_exit(s);
}
