/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ffmpeg.c - sound through FFmpeg's demuxers and decoders.
 *
 * FFmpeg is made for players, which go on whatever happens. Here every error, every packet it calls corrupt and every
 * missing sample is an error of the file: containers are checked before it sees them, decoders are told to stop, and
 * the number of samples must be what the file says. It reads through the callbacks below only, never from a name. */
#include "audio/reader_impl.h"

#ifndef TT_FFMPEG
TtStatus tt_ffmpeg_open(TtAudioReader *r, const TtAudioFormat *format)
{
    return TT_FAIL(TT_EDATA,
                   "%s: %s needs FFmpeg, which this program was built without; install libavformat-dev and "
                   "libavcodec-dev and build again",
                   r->name, format->name);
}
#else
#include <stdlib.h>
#include <string.h>

#include "audio/ffmpeg_load.h"
#include "tensor/arena.h"

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 28, 100)
#define CHANNELS(x) ((x)->ch_layout.nb_channels)
#else
#define CHANNELS(x) ((x)->channels)
#endif

enum { IO_BUFFER = 1 << 15, MD5 = 16 };

typedef struct Ffmpeg {
    const TtFfmpeg *av;
    const char *demuxer;
    TtOggLink *links; /* of an Ogg file: decoded one after the other */
    int n_links, link;
    int64_t expected; /* frames of this link; -1: unknown */
    int64_t least;    /* fewer frames are damage, where the exact number is not known */
    bool exact;       /* another number of frames is damage */
    bool limited;     /* what is decoded beyond is padding */

    /* what is open now: a whole file or one link */
    TtAudioSource source;
    uint64_t io_at;
    bool io_failed; /* the error is recorded */
    AVFormatContext *format;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;
    int stream;
    int64_t done;      /* frames of this link that were given out or skipped */
    int64_t skip;      /* frames to drop first */
    int64_t used;      /* of f->frame */
    int64_t first_pts; /* of frame 0, in samples */
    bool has_pts, ended;
    bool broken; /* an error has been told: nothing here can be trusted before it is opened anew */

    const uint8_t *order; /* where the file's channels are in FFmpeg's frames; NULL: in their places */
    struct AVMD5 *md5;    /* of a FLAC stream that is read from its start; else NULL */
    uint8_t md5_want[MD5];
} Ffmpeg;

/* ------------------------------------------------------------------ input */

static int io_read(void *opaque, uint8_t *buf, int size)
{
    Ffmpeg *f = opaque;
    uint64_t left = f->source.size - TT_MIN(f->io_at, f->source.size);
    size_t n = (size_t)TT_MIN(left, (uint64_t)size);
    if (n == 0) return AVERROR_EOF;
    if (tt_source_read(&f->source, buf, n, f->io_at) != TT_OK) {
        f->io_failed = true;
        return AVERROR(EIO);
    }
    f->io_at += n;
    return (int)n;
}

static int64_t io_seek(void *opaque, int64_t offset, int whence)
{
    Ffmpeg *f = opaque;
    if (whence == AVSEEK_SIZE) return (int64_t)f->source.size;
    whence &= ~AVSEEK_FORCE;
    if (whence == SEEK_CUR) offset += (int64_t)f->io_at;
    if (whence == SEEK_END) offset += (int64_t)f->source.size;
    if (offset < 0) return AVERROR(EINVAL);
    f->io_at = (uint64_t)offset;
    return offset;
}

/* A file may name others (playlists, external tracks): none is opened. */
static int io_refuse(AVFormatContext *s, AVIOContext **pb, const char *url, int flags, AVDictionary **options)
{
    return AVERROR(EPERM);
}

/* ------------------------------------------------------------------ errors */

static TtStatus av_fail(TtAudioReader *r, int code, const char *what)
{
    Ffmpeg *f = r->state;
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    const char *detail = tt_ffmpeg_complaint();
    if (f->io_failed) return tt_error_code();
    f->av->av_strerror(code, text, sizeof text);
    return TT_FAIL(TT_EDATA, "%s: %s: %s: %s%s%s", r->name, r->info.format, what, text, *detail ? ": " : "", detail);
}

static TtStatus no_memory(const TtAudioReader *r)
{
    return TT_FAIL(TT_EINTERNAL, "%s: no memory for decoding", r->name);
}

/* ------------------------------------------------------------------ opening */

static void close_stream(Ffmpeg *f)
{
    AVIOContext *pb = f->format ? f->format->pb : NULL;
    f->av->av_freep(&f->md5);
    f->av->avcodec_free_context(&f->decoder);
    f->av->av_frame_free(&f->frame);
    f->av->av_packet_free(&f->packet);
    if (f->format) f->av->avformat_close_input(&f->format);
    if (pb) {
        f->av->av_freep(&pb->buffer);
        f->av->avio_context_free(&pb);
    }
}

static TtStatus open_container(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    const AVInputFormat *input = f->av->av_find_input_format(f->demuxer);
    if (!input) return TT_FAIL(TT_EDATA, "%s: the installed FFmpeg cannot read %s", r->name, r->info.format);
    f->io_at = 0;
    f->format = f->av->avformat_alloc_context();
    uint8_t *buffer = f->av->av_malloc(IO_BUFFER);
    AVIOContext *pb = buffer ? f->av->avio_alloc_context(buffer, IO_BUFFER, 0, f, io_read, NULL, io_seek) : NULL;
    if (!f->format || !pb) {
        f->av->av_free(buffer);
        return no_memory(r);
    }
    f->format->pb = pb;
    f->format->io_open = io_refuse;
    f->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    f->format->error_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
    int e = f->av->avformat_open_input(&f->format, "", (AVInputFormat *)input, NULL);
    if (e < 0) { /* the context is gone, what we put into it is not */
        f->av->av_freep(&pb->buffer);
        f->av->avio_context_free(&pb);
        return av_fail(r, e, "cannot open");
    }
    e = f->av->avformat_find_stream_info(f->format, NULL);
    return e < 0 ? av_fail(r, e, "no stream can be read") : TT_OK;
}

/* The first stream of sound; the others are not read. */
static TtStatus open_decoder(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    f->stream = -1;
    for (unsigned i = 0; i < f->format->nb_streams; i++) {
        AVStream *s = f->format->streams[i];
        if (f->stream < 0 && s->codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
            f->stream = (int)i;
        else
            s->discard = AVDISCARD_ALL;
    }
    if (f->stream < 0) return TT_FAIL(TT_EDATA, "%s: there is no sound in this file", r->name);
    AVStream *s = f->format->streams[f->stream];
    const AVCodec *codec = f->av->avcodec_find_decoder(s->codecpar->codec_id);
    if (!codec)
        return TT_FAIL(TT_EDATA, "%s: %s: no decoder for %s in the installed FFmpeg", r->name, r->info.format,
                       f->av->avcodec_get_name(s->codecpar->codec_id));
    r->info.codec = f->av->avcodec_get_name(s->codecpar->codec_id);
    f->decoder = f->av->avcodec_alloc_context3(codec);
    f->packet = f->av->av_packet_alloc();
    f->frame = f->av->av_frame_alloc();
    if (!f->decoder || !f->packet || !f->frame) return no_memory(r);
    int e = f->av->avcodec_parameters_to_context(f->decoder, s->codecpar);
    f->decoder->pkt_timebase = s->time_base;
    f->decoder->thread_count = 1; /* the loader has its own threads */
    f->decoder->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
    if (e >= 0) e = f->av->avcodec_open2(f->decoder, codec, NULL);
    return e < 0 ? av_fail(r, e, "cannot decode") : TT_OK;
}

/* ------------------------------------------------------------------ decoding */

/* The next packet of our stream into the decoder, or word that there is none. */
static TtStatus feed(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    for (;;) {
        int e = f->av->av_read_frame(f->format, f->packet);
        if (e == AVERROR_EOF && !f->io_failed && f->format->pb->error >= 0) {
            e = f->av->avcodec_send_packet(f->decoder, NULL);
            return e < 0 && e != AVERROR_EOF ? av_fail(r, e, "cannot decode") : TT_OK;
        }
        if (e < 0 || f->io_failed) return av_fail(r, e, "cannot read");
        bool ours = f->packet->stream_index == f->stream, corrupt = f->packet->flags & AV_PKT_FLAG_CORRUPT;
        int64_t at = f->packet->pos;
        if (ours && !corrupt) e = f->av->avcodec_send_packet(f->decoder, f->packet);
        f->av->av_packet_unref(f->packet);
        if (!ours) continue;
        if (corrupt)
            return TT_SOURCE_FAIL(&f->source, (uint64_t)TT_MAX(at, (int64_t)0), "a damaged or cut packet of %s",
                                  r->info.codec);
        return e < 0 ? av_fail(r, e, "damaged data") : TT_OK;
    }
}

static TtStatus check_frame(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    const AVFrame *frame = f->frame;
    if (frame->decode_error_flags || (frame->flags & AV_FRAME_FLAG_CORRUPT))
        return av_fail(r, AVERROR_INVALIDDATA, "damaged data");
    if (frame->nb_samples <= 0 || CHANNELS(frame) <= 0 || frame->sample_rate <= 0)
        return av_fail(r, AVERROR_INVALIDDATA, "a frame without samples");
    if (r->info.channels && (CHANNELS(frame) != r->info.channels || frame->sample_rate != r->info.sample_rate))
        return TT_FAIL(TT_EDATA, "%s: %d channels at %d Hz become %d at %d Hz within the file", r->name,
                       r->info.channels, r->info.sample_rate, CHANNELS(frame), frame->sample_rate);
    return TT_OK;
}

/* Decode until there is a frame with unused samples, or f->ended. */
static TtStatus next_frame(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    f->used = 0;
    tt_ffmpeg_clear_complaint();
    while (!f->ended) {
        int e = f->av->avcodec_receive_frame(f->decoder, f->frame); /* drops the frame before */
        if (e == 0) return check_frame(r);
        if (e == AVERROR_EOF)
            f->ended = true;
        else if (e != AVERROR(EAGAIN))
            return av_fail(r, e, "damaged data");
        else
            TT_TRY(feed(r));
    }
    return TT_OK;
}

#define EACH(type, value)                                                   \
    do {                                                                    \
        const type *p = (const type *)plane + from * step;                  \
        for (int64_t i = 0; i < n; i++, p += step) out[i] = (float)(value); \
    } while (0)

/* N samples of channel C, beginning with the frame's sample FROM. */
static TtStatus convert(TtAudioReader *r, int c, int64_t from, int64_t n, float *out)
{
    const Ffmpeg *f = r->state;
    const AVFrame *frame = f->frame;
    bool planar = f->av->av_sample_fmt_is_planar(frame->format);
    if (f->order) c = f->order[c];
    int64_t step = planar ? 1 : r->info.channels;
    size_t size = (size_t)f->av->av_get_bytes_per_sample(frame->format);
    const void *plane = planar ? frame->extended_data[c] : frame->extended_data[0] + (size_t)c * size;
    switch (frame->format) {
    case AV_SAMPLE_FMT_U8:
    case AV_SAMPLE_FMT_U8P: EACH(uint8_t, (*p - 128) / 128.0F); break;
    case AV_SAMPLE_FMT_S16:
    case AV_SAMPLE_FMT_S16P: EACH(int16_t, *p / 32768.0F); break;
    case AV_SAMPLE_FMT_S32:
    case AV_SAMPLE_FMT_S32P: EACH(int32_t, (float)*p / 2147483648.0F); break;
    case AV_SAMPLE_FMT_S64:
    case AV_SAMPLE_FMT_S64P: EACH(int64_t, (float)*p / 9223372036854775808.0F); break;
    case AV_SAMPLE_FMT_FLT:
    case AV_SAMPLE_FMT_FLTP: EACH(float, *p); break;
    case AV_SAMPLE_FMT_DBL:
    case AV_SAMPLE_FMT_DBLP: EACH(double, *p); break;
    default: return TT_FAIL(TT_EDATA, "%s: samples of an unknown kind", r->name);
    }
    return TT_OK;
}
#undef EACH

/* A time of FFmpeg's in samples; false when it cannot tell samples apart. */
static bool to_samples(const Ffmpeg *f, const TtAudioReader *r, int64_t pts, int64_t *out)
{
    *out = 0;
    AVRational base = f->format->streams[f->stream]->time_base;
    if (pts == AV_NOPTS_VALUE || base.num != 1 || base.den % r->info.sample_rate != 0) return false;
    int64_t ticks = base.den / r->info.sample_rate;
    *out = pts / ticks;
    return pts % ticks == 0;
}

/* ------------------------------------------------------------------ FLAC's own checksum */

/* STREAMINFO (RFC 9639, 8.2): 36 bits at bit 108 count the samples, 16 bytes from byte 18 are the MD5 of all of them.
 * Zero means unknown. */
static void use_streaminfo(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    const AVCodecParameters *p = f->format->streams[f->stream]->codecpar;
    static const uint8_t none[MD5];
    if (p->codec_id != AV_CODEC_ID_FLAC || p->extradata_size < 34) return;
    const uint8_t *e = p->extradata;
    int64_t total = (int64_t)(e[13] & 15) << 32 | tt_be32(e + 14);
    if (total) f->expected = total, f->exact = true;
    if (memcmp(e + 18, none, MD5) == 0) return;
    memcpy(f->md5_want, e + 18, MD5);
    f->md5 = f->av->av_md5_alloc();
    if (f->md5) f->av->av_md5_init(f->md5);
}

/* As the encoder saw them: interleaved, little-endian, as many bytes as the bits need. FFmpeg has them left-justified. */
static void hash_frame(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    const AVFrame *frame = f->frame;
    bool wide = frame->format == AV_SAMPLE_FMT_S32 || frame->format == AV_SAMPLE_FMT_S32P;
    bool planar = f->av->av_sample_fmt_is_planar(frame->format);
    int bits = f->decoder->bits_per_raw_sample, shift = (wide ? 32 : 16) - bits, bytes = (bits + 7) / 8;
    uint8_t buffer[4096];
    size_t at = 0;
    for (int64_t i = 0; i < frame->nb_samples; i++)
        for (int c = 0; c < r->info.channels; c++) {
            const void *p = frame->extended_data[planar ? c : 0];
            int64_t k = planar ? i : i * r->info.channels + c;
            int32_t v = (wide ? ((const int32_t *)p)[k] : ((const int16_t *)p)[k]) >> shift;
            for (int b = 0; b < bytes; b++) buffer[at++] = (uint8_t)(v >> 8 * b);
            if (at <= sizeof buffer - 4) continue;
            f->av->av_md5_update(f->md5, buffer, at);
            at = 0;
        }
    f->av->av_md5_update(f->md5, buffer, at);
}

/* A FLAC frame carries the number of its first sample: frames that are lost show, whatever the header says. */
static TtStatus check_flac_frame(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    int64_t at;
    if (f->md5) hash_frame(r);
    if (strcmp(f->demuxer, "flac") == 0 && f->has_pts && to_samples(f, r, f->frame->pts, &at) &&
        at - f->first_pts != f->done)
        return TT_FAIL(TT_EDATA, "%s: a frame that begins with sample %lld follows sample %lld: data is missing",
                       r->name, (long long)(at - f->first_pts), (long long)f->done);
    return TT_OK;
}

/* ------------------------------------------------------------------ a file or link, from its start to its end */

/* The last granule position is where the sound ends. The first page's may say that it does not start at 0: earlier,
 * so that the first samples are dropped, or later, as in a piece of a broadcast. A single page only says where it ends
 * (Vorbis I specification, A.2; RFC 7845, 4). */
static void use_granule(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    const TtOggLink *link = &f->links[f->link];
    const AVCodecParameters *p = f->format->streams[f->stream]->codecpar;
    bool opus = p->codec_id == AV_CODEC_ID_OPUS;
    int64_t start;
    if (f->exact || link->granule < 0) return;
    if (f->ended)
        start = 0;
    else if (!to_samples(f, r, f->frame->pts, &start))
        return;
    if (link->one_page) start = 0;
    int64_t end = link->granule - (opus && p->extradata_size >= 12 ? tt_le16(p->extradata + 10) : 0);
    f->skip = TT_MAX(-start, (int64_t)0);
    f->expected = TT_MAX(end - TT_MAX(start, (int64_t)0), (int64_t)0);
    f->exact = f->limited = true;
}

/* Vorbis and Opus have an order of channels of their own, left, centre, right, ..., which FFmpeg turns into that of WAV
 * (Vorbis I specification, 4.3.9; RFC 7845, 5.1.1.2). Turned back: channels stay in the file's order. */
static void use_order(TtAudioReader *r)
{
    static const uint8_t orders[8][8] = {[2] = {0, 2, 1},
                                         [4] = {0, 2, 1, 3, 4},
                                         [5] = {0, 2, 1, 4, 5, 3},
                                         [6] = {0, 2, 1, 5, 6, 4, 3},
                                         [7] = {0, 2, 1, 6, 7, 4, 5, 3}};
    Ffmpeg *f = r->state;
    const AVCodecParameters *p = f->format->streams[f->stream]->codecpar;
    bool opus = p->codec_id == AV_CODEC_ID_OPUS && p->extradata_size >= 19 && p->extradata[18] == 1;
    f->order = NULL;
    if (!opus && p->codec_id != AV_CODEC_ID_VORBIS) return;
    if (r->info.channels <= 8 && orders[r->info.channels - 1][1] != 0) f->order = orders[r->info.channels - 1];
}

/* What other containers say of their length. Some headers give the number of samples; elsewhere times are rounded, or
 * stand for the sound without the padding at its end. */
static void use_duration(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    static const char *const exact[] = {"aiff", "caf", "au", "w64", "nist", "wavpack", "tta", "ape"};
    static const char *const rounded[] = {"mp4", "wav"};
    int64_t frames;
    if (f->exact || !to_samples(f, r, f->format->streams[f->stream]->duration, &frames) || frames <= 0) return;
    for (int i = 0; i < TT_COUNT(exact); i++)
        if (strcmp(r->info.format, exact[i]) == 0) f->expected = frames, f->exact = true;
    for (int i = 0; i < TT_COUNT(rounded); i++)
        if (strcmp(r->info.format, rounded[i]) == 0) f->least = frames - r->info.sample_rate / 50;
}

static TtStatus open_link(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    f->source = r->source;
    f->ended = f->io_failed = false;
    f->done = f->skip = 0;
    if (f->links) {
        f->source = tt_source_part(&r->source, f->links[f->link].offset, f->links[f->link].size);
        f->expected = -1, f->least = 0;
        f->exact = f->limited = false;
    }
    TT_TRY(open_container(r));
    TT_TRY(open_decoder(r));
    use_streaminfo(r);
    TT_TRY(next_frame(r));
    if (f->ended && !r->info.channels) return TT_FAIL(TT_EDATA, "%s: %s: " TT_AUDIO_EMPTY, r->name, r->info.format);
    if (!f->ended) {
        r->info.channels = CHANNELS(f->frame);
        r->info.sample_rate = f->frame->sample_rate;
    }
    f->links ? use_granule(r) : use_duration(r);
    use_order(r);
    if (f->ended) return TT_OK;
    f->has_pts = to_samples(f, r, f->frame->pts, &f->first_pts);
    f->first_pts += f->skip;
    if (f->md5) hash_frame(r);
    return TT_OK;
}

/* All frames of this link are decoded: are they what was promised? */
static TtStatus finish_link(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    uint8_t md5[MD5];
    if (f->exact ? f->done != f->expected : f->done < f->least)
        return TT_FAIL(TT_EDATA, "%s: %lld samples were decoded, the file says %lld: it is damaged or cut", r->name,
                       (long long)f->done, (long long)(f->exact ? f->expected : f->least));
    if (!f->md5) return TT_OK;
    f->av->av_md5_final(f->md5, md5);
    f->av->av_freep(&f->md5);
    if (memcmp(md5, f->md5_want, MD5) != 0)
        return TT_FAIL(TT_EDATA, "%s: the MD5 of the decoded samples is not the file's: it is damaged", r->name);
    return TT_OK;
}

/* ------------------------------------------------------------------ the backend */

/* The next frames, at most MAX; OUT NULL drops them. */
static TtStatus take(TtAudioReader *r, float *out, int64_t stride, int64_t max, int64_t *n)
{
    Ffmpeg *f = r->state;
    for (*n = 0; *n < max;) {
        int64_t left = f->ended ? 0 : f->frame->nb_samples - f->used;
        bool full = f->limited && f->done == f->expected;
        if (f->ended || full) {
            TT_TRY(finish_link(r));
            if (f->link + 1 >= f->n_links) break;
            close_stream(f);
            f->link++;
            TT_TRY(open_link(r));
        } else if (left == 0) {
            TT_TRY(next_frame(r));
            if (!f->ended) TT_TRY(check_flac_frame(r));
        } else if (f->skip > 0) {
            int64_t k = TT_MIN(left, f->skip);
            f->used += k, f->skip -= k;
        } else {
            int64_t k = TT_MIN(left, max - *n);
            if (f->limited) k = TT_MIN(k, f->expected - f->done);
            for (int c = 0; out && c < r->info.channels; c++) TT_TRY(convert(r, c, f->used, k, out + c * stride + *n));
            f->used += k, f->done += k, *n += k;
        }
    }
    return TT_OK;
}

static TtStatus ffmpeg_read(TtAudioReader *r, float *out, int64_t stride, int64_t max, int64_t *n)
{
    Ffmpeg *f = r->state;
    if (f->broken) return TT_FAIL(TT_EDATA, "%s: reading goes on after an error only from a new place", r->name);
    TtStatus st = take(r, out, stride, max, n);
    f->broken = st != TT_OK;
    return st;
}

/* Samples to decode before a place so that what follows is bit for bit what decoding from the start would give; -1 for
 * codecs that remember more (predictors, noise generators): those are decoded from the start. */
static int64_t preroll(int codec)
{
    if (codec >= AV_CODEC_ID_FIRST_AUDIO && codec < AV_CODEC_ID_ADPCM_IMA_QT) return 0; /* PCM */
    switch (codec) {
    case AV_CODEC_ID_FLAC:
    case AV_CODEC_ID_ALAC:
    case AV_CODEC_ID_WAVPACK: return 0;
    case AV_CODEC_ID_VORBIS: return 4 * 8192; /* blocks of at most 8192 samples overlap */
    case AV_CODEC_ID_MP1:
    case AV_CODEC_ID_MP2:
    case AV_CODEC_ID_MP3: return 64 * 1152; /* 511 bytes of reservoir are at most 47 frames */
    default: return -1;
    }
}

/* Decode from about WARM samples before sample TARGET on FFmpeg's timeline; *OK when TARGET has been reached. */
static TtStatus jump(TtAudioReader *r, int64_t target, int64_t warm, bool *ok)
{
    Ffmpeg *f = r->state;
    const int64_t ticks = f->format->streams[f->stream]->time_base.den / r->info.sample_rate;
    int64_t next = INT64_MIN, at;
    int errors = 0;
    *ok = false;
    if (target - warm <= f->first_pts) return TT_OK;
    if (f->av->av_seek_frame(f->format, f->stream, (target - warm) * ticks, AVSEEK_FLAG_BACKWARD) < 0) return TT_OK;
    f->av->avcodec_flush_buffers(f->decoder);
    f->av->av_freep(&f->md5); /* it needs every sample */
    f->ended = false;
    for (;;) {
        TtStatus st = next_frame(r);
        if (st == TT_EDATA && next <= target - warm / 2 && errors++ < 64) continue; /* what it needs lies before */
        TT_TRY(st);
        if (f->ended) return TT_OK;
        if (!to_samples(f, r, f->frame->pts, &at)) continue;
        if (at > target || (next != INT64_MIN && at != next && errors == 0)) return TT_OK;
        next = at + f->frame->nb_samples;
        if (next <= target) continue;
        f->used = target - at;
        *ok = true;
        return TT_OK;
    }
}

static TtStatus rewind_link(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    close_stream(f);
    f->link = 0;
    r->position = 0;
    return open_link(r);
}

static TtStatus go_to(TtAudioReader *r, int64_t frame)
{
    Ffmpeg *f = r->state;
    int64_t warm = preroll(f->format->streams[f->stream]->codecpar->codec_id), n;
    bool far = frame < r->position || frame - r->position > 2 * (warm + r->info.sample_rate), ok = false;
    if (far && warm >= 0 && f->n_links <= 1 && f->has_pts) {
        for (int i = 0; i < 3 && !ok; i++, warm = 4 * warm + r->info.sample_rate)
            TT_TRY(jump(r, f->first_pts + frame, warm, &ok));
        if (ok) {
            f->done = frame;
            f->skip = 0;
            return TT_OK;
        }
        TT_TRY(rewind_link(r));
    }
    if (frame < r->position) TT_TRY(rewind_link(r));
    TT_TRY(take(r, NULL, 0, frame - r->position, &n));
    r->position += n;
    if (r->position < frame)
        return TT_FAIL(TT_EDATA, "%s: frame %lld is beyond the end: there are %lld", r->name, (long long)frame,
                       (long long)r->position);
    return TT_OK;
}

static TtStatus ffmpeg_seek(TtAudioReader *r, int64_t frame)
{
    Ffmpeg *f = r->state;
    TtStatus st = f->broken ? rewind_link(r) : TT_OK;
    if (st == TT_OK) st = go_to(r, frame);
    f->broken = st != TT_OK;
    return st;
}

static void ffmpeg_close(TtAudioReader *r)
{
    Ffmpeg *f = r->state;
    close_stream(f);
    free(f->links);
    free(f);
}

static const TtAudioBackend backend = {ffmpeg_read, ffmpeg_seek, ffmpeg_close};

TtStatus tt_ffmpeg_open(TtAudioReader *r, const TtAudioFormat *format)
{
    const TtFfmpeg *av;
    int64_t frames = -1;
    bool mp3 = strcmp(format->name, "mp3") == 0;
    TT_TRY(tt_ffmpeg_load(r->name, &av));
    TT_TRY(tt_boxes_check(&r->source, format->name));
    if (mp3 || strcmp(format->name, "aac") == 0) TT_TRY(tt_mpeg_check(&r->source, !mp3, &frames));
    Ffmpeg *f = tt_realloc(NULL, sizeof *f);
    *f = (Ffmpeg){.av = av, .demuxer = format->demuxer, .expected = mp3 ? frames : -1, .exact = mp3};
    r->state = f;
    r->backend = &backend;
    if (strcmp(format->name, "ogg") == 0) TT_TRY(tt_ogg_check(&r->source, &f->links, &f->n_links));
    TT_TRY(open_link(r));
    if (f->exact && f->n_links <= 1) r->info.frames = f->expected;
    return TT_OK;
}
#endif
