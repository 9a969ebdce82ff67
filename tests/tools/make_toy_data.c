/* SPDX-License-Identifier: Apache-2.0 */
/* tests/tools/make_toy_data.c - an image_folder to train on in seconds: make_toy_data DIR CLASSES PER_CLASS SIZE
 *
 * Writes DIR/train and DIR/val with CLASSES folders of PNG pictures of SIZE x SIZE: stripes whose direction and
 * spacing are the class, with a random phase, tint and noise. A small network learns them in a few epochs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tensor/arena.h"
#include "tensor/rng.h"
#include "vision/image.h"

static void draw(uint8_t *pixels, int size, int class, TtRng *r)
{
    double angle = 3.14159265 * class / 5.0 + 0.1 * tt_rng_normal(r), wave = 0.5 + 0.25 * (class % 3);
    double phase = tt_rng_uniform(r, 0, 6.28), tint[3];
    for (int c = 0; c < 3; c++) tint[c] = tt_rng_uniform(r, 60, 110);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            double v = sin(wave * (x * cos(angle) + y * sin(angle)) + phase);
            for (int c = 0; c < 3; c++) {
                double level = 128 + tint[c] * v + 12 * tt_rng_normal(r);
                *pixels++ = (uint8_t)fmin(255, fmax(0, level));
            }
        }
}

static int make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return 0;
    perror(path);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: make_toy_data DIR CLASSES PER_CLASS SIZE\n");
        return 2;
    }
    int classes = atoi(argv[2]), per_class = atoi(argv[3]), size = atoi(argv[4]);
    uint8_t *pixels = tt_realloc(NULL, (size_t)size * (size_t)size * 3);
    char path[4096];
    if (make_folder(argv[1])) return 1;
    for (int split = 0; split < 2; split++) {
        const char *name = split ? "val" : "train";
        snprintf(path, sizeof path, "%s/%s", argv[1], name);
        if (make_folder(path)) return 1;
        for (int class = 0; class < classes; class ++) {
            snprintf(path, sizeof path, "%s/%s/class%02d", argv[1], name, class);
            if (make_folder(path)) return 1;
            for (int i = 0; i < (split ? (per_class + 3) / 4 : per_class); i++) {
                TtRng r = tt_rng(7, TT_RNG_TEST, (uint64_t)split, (uint64_t) class, (uint64_t)i);
                draw(pixels, size, class, &r);
                snprintf(path, sizeof path, "%s/%s/class%02d/%04d.png", argv[1], name, class, i);
                if (tt_png_write(path, pixels, size, size, 3) != TT_OK) {
                    fprintf(stderr, "%s\n", tt_error_message());
                    return 1;
                }
            }
        }
    }
    free(pixels);
    return 0;
}
