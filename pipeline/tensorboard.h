/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tensorboard.h - event files that TensorBoard reads: TFRecord framing around protocol buffers.
 *
 * A resumed run opens a new file with a session record at the step it goes on from; TensorBoard then drops what older
 * files hold from that step on, so that curves are not drawn twice. */
#ifndef TT_PIPELINE_TENSORBOARD_H
#define TT_PIPELINE_TENSORBOARD_H

#include "tensor/status.h"

typedef struct TtTensorboard TtTensorboard;

/* Open DIR/events.out.tfevents.TIME.HOST.PID. STEP is the first step that this session writes: 0 for a new run, one more
 * than the resumed step for a resumed one. Not thread-safe: one thread writes. Failures are TT_EINTERNAL (disk full). */
TtStatus tt_tensorboard_open(const char *dir, int64_t step, TtTensorboard **out) TT_NODISCARD;
TtStatus tt_tensorboard_close(TtTensorboard *t) TT_NODISCARD; /* NULL is fine */
/* Hand what was written to the system, so that a reader sees it and a killed process does not lose it. */
TtStatus tt_tensorboard_flush(TtTensorboard *t) TT_NODISCARD;

/* In what follows TAG is what TensorBoard groups by ("train/loss": card "loss" in group "train"). */
TtStatus tt_tensorboard_scalar(TtTensorboard *t, const char *tag, int64_t step, double value) TT_NODISCARD;
/* A PNG or JPEG file's bytes, such as a TtPlot's. */
TtStatus tt_tensorboard_image(TtTensorboard *t, const char *tag, int64_t step, int h, int w, const uint8_t *bytes,
                              size_t size) TT_NODISCARD;
/* Buckets as torch.utils.tensorboard's add_histogram with its default bins. Values that are not finite are left out;
 * those beyond 1e20 count in the outermost bucket. Nothing finite: nothing is written. */
TtStatus tt_tensorboard_histogram(TtTensorboard *t, const char *tag, int64_t step, const float *values,
                                  int64_t n) TT_NODISCARD;
/* Markdown, as add_text writes it. */
TtStatus tt_tensorboard_text(TtTensorboard *t, const char *tag, int64_t step, const char *text) TT_NODISCARD;
/* Text that keeps its line ends and blanks, such as a config. */
TtStatus tt_tensorboard_code(TtTensorboard *t, const char *tag, int64_t step, const char *text) TT_NODISCARD;
/* SAMPLES (frames,channels) in [-1,1], RATE in Hz; stored as a WAV file of 16 bits, values beyond are clipped. */
TtStatus tt_tensorboard_audio(TtTensorboard *t, const char *tag, int64_t step, const float *samples, int64_t frames,
                              int channels, int rate) TT_NODISCARD;

/* CRC-32C (Castagnoli; RFC 3720 appendix B.4 has test vectors), and TFRecord's mask of it. */
uint32_t tt_crc32c(const void *data, size_t n);
uint32_t tt_crc32c_masked(const void *data, size_t n);

#endif
