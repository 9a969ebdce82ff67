/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tensorboard.h - event files that TensorBoard reads: TFRecord framing around protocol buffers.
 *
 * A resumed run opens a new file with a session record at the step it goes on from; TensorBoard then drops what older
 * files hold from that step on, so that curves are not drawn twice. */
#ifndef TT_PIPELINE_TENSORBOARD_H
#define TT_PIPELINE_TENSORBOARD_H

#include "tensor/status.h"

typedef struct TtTensorboard TtTensorboard;

/* Open DIR/events.out.tfevents.TIME.HOST.PID. STEP is the first step this session will write. */
TtStatus tt_tensorboard_open(const char *dir, int64_t step, TtTensorboard **out) TT_NODISCARD;
TtStatus tt_tensorboard_close(TtTensorboard *t) TT_NODISCARD; /* NULL is fine */
TtStatus tt_tensorboard_flush(TtTensorboard *t) TT_NODISCARD;

TtStatus tt_tensorboard_scalar(TtTensorboard *t, const char *tag, int64_t step, double value) TT_NODISCARD;
/* A PNG or JPEG file's bytes. */
TtStatus tt_tensorboard_image(TtTensorboard *t, const char *tag, int64_t step, int h, int w, const uint8_t *bytes,
                              size_t size) TT_NODISCARD;
/* Buckets as torch.utils.tensorboard's default ("tensorflow"); values that are not finite are left out. */
TtStatus tt_tensorboard_histogram(TtTensorboard *t, const char *tag, int64_t step, const float *values,
                                  int64_t n) TT_NODISCARD;
/* Markdown. */
TtStatus tt_tensorboard_text(TtTensorboard *t, const char *tag, int64_t step, const char *text) TT_NODISCARD;

/* CRC32C (Castagnoli), and TFRecord's mask of it. */
uint32_t tt_crc32c(const void *data, size_t n);
uint32_t tt_crc32c_masked(const void *data, size_t n);

#endif
