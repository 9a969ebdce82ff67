/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/task.c - the list of tasks. */
#include "pipeline/task.h"

#include <string.h>

#define TASK(name) extern const TtTaskDef tt_task_##name;
#include "pipeline/tasks.def"
#undef TASK

static const TtTaskDef *const tasks[] = {
#define TASK(name) &tt_task_##name,
#include "pipeline/tasks.def"
#undef TASK
};

const TtTaskDef *tt_task_find(TtTask task)
{
    for (int i = 0; i < TT_COUNT(tasks); i++)
        if (tasks[i]->task == task) return tasks[i];
    TT_ASSERT(!"a task without a definition");
    return NULL;
}

bool tt_metric_less_is_better(const char *name)
{
    static const char *const endings[] = {"loss", "cer", "wer"};
    size_t n = strlen(name);
    for (int i = 0; i < TT_COUNT(endings); i++) {
        size_t k = strlen(endings[i]);
        if (n >= k && strcmp(name + n - k, endings[i]) == 0) return true;
    }
    return false;
}

TtStatus tt_task_check_metric(const TtTaskDef *d, const char *name, const TtNode *at, const char *key)
{
    enum { MOST = 16 };
    const char *names[MOST] = {"val/loss"};
    int n = 1;
    for (; d->metrics[n - 1] && n < MOST; n++) names[n] = d->metrics[n - 1];
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return TT_OK;
    const char *near = tt_nearest(name, names, n);
    char all[256] = "";
    for (int i = 0; i < n; i++) snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
    return tt_node_fail(at, "%s: there is no metric '%.60s'%s%s%s; validations of this model give %s", key, name,
                        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}
