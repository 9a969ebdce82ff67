/* SPDX-License-Identifier: Apache-2.0 */
/* bin/decode.c - ttrain decode FILE [--output FILE.npy]: one file as the pipeline would see it. */
#include <jansson.h>
#include <stdio.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "data/dataset.h"
#include "data/npy.h"

static const char usage[] = "usage: ttrain decode FILE [--output FILE.npy]\n"
                            "  --output FILE.npy  write the array in NumPy's format\n";

static TtStatus decode_image(const TtSample *in, const char *path, TtTensor *out, TtImage *image, json_t *info)
{
    TT_TRY(tt_image_decode(in->bytes, in->bytes_size, path, NULL, image));
    TtImageInfo header;
    TT_TRY(tt_image_info(in->bytes, in->bytes_size, path, NULL, &header));
    *out = tt_tensor(image->data, image->dtype, TT_SHAPE(image->h, image->w, image->c));
    json_object_set_new(info, "kind", json_string("image"));
    json_object_set_new(info, "format", json_string(header.format));
    return TT_OK;
}

static TtStatus decode(const char *path, const char *output)
{
    TtSample in = {0};
    TtImage image = {0};
    TtTensor array;
    json_t *info = json_object(), *shape = json_array();
    TtStatus s = tt_sample_read_file(&in, path);
    if (s == TT_OK) s = decode_image(&in, path, &array, &image, info);
    if (s == TT_OK && output) s = tt_npy_write(output, &array);
    if (s == TT_OK) {
        for (int i = 0; i < array.shape.rank; i++) json_array_append_new(shape, json_integer(array.shape.dims[i]));
        json_object_set(info, "shape", shape);
        json_object_set_new(info, "dtype", json_string(tt_dtype_name(array.dtype)));
        json_dumpf(info, stdout, JSON_COMPACT);
        putchar('\n');
    }
    json_decref(shape);
    json_decref(info);
    tt_image_free(&image);
    tt_sample_free(&in);
    return s;
}

int tt_cmd_decode(int argc, char **argv)
{
    const char *output = NULL;
    const TtFlag flags[] = {{"--output", .text = &output}, {0}};
    TtArgs a;
    TtStatus s = tt_args_parse(argc, argv, flags, usage, &a);
    if (s == TT_OK && !a.help) {
        if (!a.config || a.n_inputs)
            s = TT_FAIL(TT_ECONFIG, "decode takes one file: ttrain decode FILE [--output FILE.npy]");
        else
            s = decode(a.config, output);
    }
    tt_args_free(&a);
    return tt_args_exit(s);
}
