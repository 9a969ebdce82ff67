/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ffmpeg_load.c - finding FFmpeg's libraries at run time. Without their headers at build time this is empty. */
#ifdef TT_FFMPEG
#include "audio/ffmpeg_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define STRING2(x) #x
#define STRING(x) STRING2(x)
#define SO_AVUTIL "libavutil.so." STRING(LIBAVUTIL_VERSION_MAJOR)
#define SO_AVCODEC "libavcodec.so." STRING(LIBAVCODEC_VERSION_MAJOR)
#define SO_AVFORMAT "libavformat.so." STRING(LIBAVFORMAT_VERSION_MAJOR)
#define PACKAGES                                                          \
    "libavformat" STRING(LIBAVFORMAT_VERSION_MAJOR) " libavcodec" STRING( \
        LIBAVCODEC_VERSION_MAJOR) " libavutil" STRING(LIBAVUTIL_VERSION_MAJOR)

static TtFfmpeg table;
static char missing[256]; /* what could not be loaded */
static _Thread_local char complaint[192];

static void on_log(void *context, int level, const char *fmt, va_list ap)
{
    if (level > AV_LOG_ERROR) return;
    vsnprintf(complaint, sizeof complaint, fmt, ap);
    complaint[strcspn(complaint, "\r\n")] = '\0';
}

static void load(void)
{
    /* avutil first: the others would bring it, but each must be the one that belongs to the headers. They stay loaded
     * until the process ends; their threads and tables would not survive being unloaded. */
    void *avutil = dlopen(SO_AVUTIL, RTLD_NOW | RTLD_LOCAL);
    void *avcodec = avutil ? dlopen(SO_AVCODEC, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *avformat = avcodec ? dlopen(SO_AVFORMAT, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!avformat) {
        const char *why = dlerror();
        snprintf(missing, sizeof missing, "%s", why ? why : "unknown error");
        return;
    }
#define LOAD(library, name)                        \
    *(void **)&table.name = dlsym(library, #name); \
    if (!table.name) snprintf(missing, sizeof missing, "no %s in lib%s", #name, #library);
    TT_FFMPEG_FUNCTIONS(LOAD)
#undef LOAD
    if (!missing[0]) table.av_log_set_callback(on_log);
}

TtStatus tt_ffmpeg_load(const char *file, const TtFfmpeg **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (missing[0])
        return TT_FAIL(TT_EDATA, "%s: this format needs FFmpeg's libraries (Debian packages " PACKAGES "): %s", file,
                       missing);
    complaint[0] = '\0';
    *out = &table;
    return TT_OK;
}

const char *tt_ffmpeg_complaint(void)
{
    return complaint;
}

void tt_ffmpeg_clear_complaint(void)
{
    complaint[0] = '\0';
}
#endif
