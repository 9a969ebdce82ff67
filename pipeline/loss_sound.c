/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/loss_sound.c - the losses of speech recognition and of separation. */
#include "kernels/ops/ctc.h"
#include "kernels/ops/si_snr.h"
#include "pipeline/loss.h"

/* ---- ctc */

static const TtOption ctc_options[] = {
    {"blank", TT_OPT_INT, offsetof(TtCtcAttrs, blank), .def = "0", .flags = TT_OPT_RANGED, .min = 0, .max = 1 << 20,
     .help = "class that means no letter"},
    {"zero_infinity", TT_OPT_BOOL, offsetof(TtCtcAttrs, zero_infinity), .def = "false",
     .help = "a text that does not fit into its frames counts nothing instead of making the loss infinite"},
    {0},
};

static TtStatus ctc_check(void *options, const TtNode *node, int64_t classes)
{
    const TtCtcAttrs *o = options;
    if (!classes || o->blank < classes) return TT_OK;
    const TtNode *at = tt_node_get(node, "blank");
    return tt_node_fail(at ? at : node, "blank is %lld, but there are %lld classes", (long long)o->blank,
                        (long long)classes);
}

static void ctc_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    TtCtcIn ctc = {.log_probs = in->logits,
                   .targets = in->target,
                   .input_lengths = in->lengths,
                   .target_lengths = in->target_lengths,
                   .scale = in->scale};
    tt_ctc_loss(g, &ctc, options, out);
}

extern const TtLossDef tt_loss_ctc;
const TtLossDef tt_loss_ctc = {
    .name = "ctc",
    .help = "connectionist temporal classification, divided by the length of the text",
    .options = ctc_options,
    .options_size = sizeof(TtCtcAttrs),
    .tasks = TT_TASK_SPEECH,
    .lengths = true,
    .check = ctc_check,
    .emit = ctc_emit,
};

/* ---- si_snr */

typedef struct SiSnr {
    bool pit;
} SiSnr;

static const TtOption si_snr_options[] = {
    {"pit", TT_OPT_BOOL, offsetof(SiSnr, pit), .def = "true",
     .help = "the best assignment of references to estimates counts; false: the given order"},
    {0},
};

static void si_snr_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    const SiSnr *o = options;
    tt_si_snr_loss(g, in->logits, in->target, TT_NONE, in->scale, &(TtSiSnrAttrs){.fixed_order = !o->pit}, out);
}

extern const TtLossDef tt_loss_si_snr;
const TtLossDef tt_loss_si_snr = {
    .name = "si_snr",
    .help = "minus the scale-invariant signal-to-noise ratio in dB, permutation invariant",
    .options = si_snr_options,
    .options_size = sizeof(SiSnr),
    .tasks = TT_TASK_SEPARATION,
    .emit = si_snr_emit,
};
