/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/evaluate.c - `ttrain eval`. */
#include "pipeline/evaluate.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/checkpoint.h"
#include "pipeline/state.h"
#include "pipeline/weights.h"

/* The best checkpoint, else the last one; of two kinds of weights those that were validated. */
static const char *find_weights(TtSession *s)
{
    static const char *const links[] = {"best", "last"}, *const files[] = {TT_CHECKPOINT_EMA, TT_CHECKPOINT_MODEL};
    for (int i = 0; i < TT_COUNT(links); i++) {
        const char *dir = tt_arena_printf(&s->arena, "%s/checkpoints/%s", s->config->output_dir, links[i]);
        struct stat st;
        if (lstat(dir, &st) == 0 && stat(dir, &st) != 0) tt_warn("%s leads nowhere", dir);
        for (int k = 0; k < TT_COUNT(files); k++) {
            const char *path = tt_arena_printf(&s->arena, "%s/%s", dir, files[k]);
            if (access(path, F_OK) == 0) return path;
        }
    }
    return NULL;
}

/* Weights out of a checkpoint are as it was written, and the data has the classes that it was trained on. */
static TtStatus check_checkpoint(TtSession *s, const char *weights)
{
    const char *slash = strrchr(weights, '/');
    const char *dir = slash ? tt_arena_printf(&s->arena, "%.*s", (int)(slash - weights), weights) : ".";
    if (access(tt_arena_printf(&s->arena, "%s/MANIFEST.json", dir), F_OK) != 0) return TT_OK;
    TT_TRY(tt_checkpoint_verify(dir));
    json_t *state;
    TT_TRY(tt_checkpoint_read_state(dir, &state));
    int n;
    const char *const *names = tt_session_classes(s, &n);
    TtStatus st = tt_state_same_classes(state, names, n, s->train ? "data.train" : "data.val");
    json_decref(state);
    return st;
}

TtStatus tt_load_run_weights(TtSession *s, const char *weights)
{
    if (!weights) weights = find_weights(s);
    if (!weights)
        return TT_FAIL(TT_ECHECKPOINT, "%s/checkpoints holds no model: train first, or give --weights FILE",
                       s->config->output_dir);
    TT_TRY(check_checkpoint(s, weights));
    return tt_weights_load(tt_net_params(s->net), weights, NULL);
}

TtStatus tt_evaluate(const TtConfig *c, const char *weights, json_t **out)
{
    TtSession s;
    TtValidation v = {0};
    *out = NULL;
    TtStatus st = tt_session_parse(c, &s);
    s.model.weights = NULL; /* --weights or the run's own replace what training starts from */
    if (st == TT_OK && !tt_session_has_val(c))
        st = tt_node_fail(tt_node_key(c->root, "data"), "data.val is missing: eval needs a validation set");
    if (st == TT_OK) st = tt_session_open_data(&s, TT_SESSION_VAL);
    if (st == TT_OK) st = tt_session_open_net(&s);
    if (st == TT_OK) st = tt_load_run_weights(&s, weights);
    if (st == TT_OK) st = tt_session_open_loaders(&s);
    if (st == TT_OK) st = tt_validate(&s, 0, NULL, NULL, &v);
    if (st == TT_OK && !isfinite(v.loss)) st = TT_FAIL(TT_EDIVERGED, "val/loss is not finite with these weights");
    if (st == TT_OK) {
        int n;
        const char *const *names = tt_session_classes(&s, &n);
        *out = tt_validation_json(&v, n == v.stats.classes ? names : NULL, true);
    }
    tt_validation_free(&v);
    tt_session_close(&s);
    return st;
}
