/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ffmpeg_load.h - FFmpeg's libraries, loaded when the first file needs them.
 *
 * Linked, they and the hundred libraries behind them would take 50 ms of every start and be needed by every installation.
 * They are loaded under the names that belong to the headers at build time, so that structures fit. Each function that
 * is used stands in the list below; av(name) calls it. */
#ifndef TT_AUDIO_FFMPEG_LOAD_H
#define TT_AUDIO_FFMPEG_LOAD_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/md5.h>
#include <libavutil/mem.h>

#include "tensor/status.h"

/* clang-format off */
#define TT_FFMPEG_FUNCTIONS(F) \
    F(avutil, av_malloc) F(avutil, av_free) F(avutil, av_freep) F(avutil, av_strerror) F(avutil, av_log_set_callback) \
    F(avutil, av_frame_alloc) F(avutil, av_frame_free) F(avutil, av_frame_unref) F(avutil, av_rescale_q) \
    F(avutil, av_md5_alloc) F(avutil, av_md5_init) F(avutil, av_md5_update) F(avutil, av_md5_final) \
    F(avutil, av_get_bytes_per_sample) F(avutil, av_sample_fmt_is_planar) F(avutil, av_strdup) \
    F(avcodec, avcodec_find_decoder) F(avcodec, avcodec_alloc_context3) F(avcodec, avcodec_free_context) \
    F(avcodec, avcodec_parameters_to_context) F(avcodec, avcodec_open2) F(avcodec, avcodec_send_packet) \
    F(avcodec, avcodec_receive_frame) F(avcodec, avcodec_flush_buffers) F(avcodec, avcodec_get_name) \
    F(avcodec, av_packet_alloc) F(avcodec, av_packet_free) F(avcodec, av_packet_unref) \
    F(avformat, avformat_alloc_context) F(avformat, avformat_open_input) F(avformat, avformat_close_input) \
    F(avformat, avformat_find_stream_info) F(avformat, av_find_input_format) F(avformat, avio_alloc_context) \
    F(avformat, avio_context_free) F(avformat, av_read_frame) F(avformat, av_seek_frame)
/* clang-format on */

typedef struct TtFfmpeg {
#define TT_FFMPEG_FIELD(library, name) __typeof__(name) *name;
    TT_FFMPEG_FUNCTIONS(TT_FFMPEG_FIELD)
#undef TT_FFMPEG_FIELD
} TtFfmpeg;

/* All of it, once; safe from any thread. TT_EDATA, which names FILE and says what to install, when there is none. */
TtStatus tt_ffmpeg_load(const char *file, const TtFfmpeg **out) TT_NODISCARD;
/* What the libraries last complained of in this thread, "" when nothing; they print nothing themselves. */
const char *tt_ffmpeg_complaint(void);
void tt_ffmpeg_clear_complaint(void);

#endif
