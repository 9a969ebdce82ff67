/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/evaluate.c - `ttrain eval`. */
#include "pipeline/evaluate.h"

#include <math.h>
#include <unistd.h>

#include "pipeline/json.h"
#include "pipeline/weights.h"

TtStatus tt_load_run_weights(TtSession *s, const char *weights)
{
    if (!weights) {
        const char *dir = s->config->output_dir;
        weights = tt_arena_printf(&s->arena, "%s/checkpoints/best/model.safetensors", dir);
        if (access(weights, F_OK) != 0)
            weights = tt_arena_printf(&s->arena, "%s/checkpoints/last/model.safetensors", dir);
        if (access(weights, F_OK) != 0)
            return TT_FAIL(TT_ECHECKPOINT, "%s/checkpoints holds no model: train first, or give --weights FILE", dir);
    }
    return tt_weights_load(tt_net_params(s->net), weights, NULL);
}

json_t *tt_validation_json(const TtValidation *v, const char *const *class_names, bool per_class)
{
    json_t *o = json_object();
    json_object_set_new(o, "val/loss", tt_json_real(v->loss));
    json_object_set_new(o, "val/acc1", tt_json_real(tt_class_stats_acc1(&v->stats)));
    if (v->stats.classes > 5) json_object_set_new(o, "val/acc5", tt_json_real(tt_class_stats_acc5(&v->stats)));
    json_object_set_new(o, "val/samples", json_integer(v->samples));
    if (!per_class) return o;
    json_t *all = json_object();
    for (int c = 0; c < v->stats.classes; c++) {
        char number[32];
        snprintf(number, sizeof number, "%d", c);
        json_object_set_new(all, class_names ? class_names[c] : number,
                            tt_json_real(tt_class_stats_recall(&v->stats, c)));
    }
    json_object_set_new(o, "val/per_class_acc", all);
    return o;
}

TtStatus tt_evaluate(const TtConfig *c, const char *weights, json_t **out)
{
    TtSession s;
    TtValidation v = {0};
    *out = NULL;
    TtStatus st = tt_session_parse(c, &s);
    s.model.weights = NULL; /* --weights or the run's own replace what training starts from */
    if (st == TT_OK && tt_node_is_null(c->data.val))
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
