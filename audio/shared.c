/* SPDX-License-Identifier: Apache-2.0 */
/* audio/shared.c - the shared plans and the choice of the inner loops' instruction set. */
#include "audio/shared.h"

#include <pthread.h>

#include "audio/loops.h"
#include "tensor/arena.h"
#include "tensor/isa.h"

/* ---- plans */

typedef struct Plan {
    struct Plan *next;
    TtFft *fft;
} Plan;

static Plan *plans;
static pthread_mutex_t plans_lock = PTHREAD_MUTEX_INITIALIZER;

static TtStatus find_or_make(int64_t n, const TtFft **out)
{
    for (const Plan *p = plans; p; p = p->next)
        if (tt_fft_length(p->fft) == n) {
            *out = p->fft;
            return TT_OK;
        }
    TtFft *fft;
    TT_TRY(tt_fft_new(n, &fft));
    Plan *p = tt_realloc(NULL, sizeof *p);
    *p = (Plan){.next = plans, .fft = fft};
    plans = p;
    *out = fft;
    return TT_OK;
}

TtStatus tt_fft_shared(int64_t n, const TtFft **out)
{
    pthread_mutex_lock(&plans_lock);
    const TtStatus status = find_or_make(n, out);
    pthread_mutex_unlock(&plans_lock);
    return status;
}

/* ---- inner loops */

extern const TtAudioLoops tt_audio_loops_c, tt_audio_loops_avx2, tt_audio_loops_avx512;
static const TtAudioLoops *const tables[TT_ISAS] = {TT_ISA_TABLES(&tt_audio_loops)};

const TtAudioLoops *tt_audio_loops_of(const char *isa)
{
    TtIsa found;
    return tt_isa_find(isa, &found) ? tables[found] : NULL;
}

const TtAudioLoops *tt_audio_loops(void)
{
    return tables[tt_isa()];
}
