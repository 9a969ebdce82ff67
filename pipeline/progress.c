/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/progress.c - numbers, durations and progress lines as text. Pure functions. */
#include "pipeline/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *tt_number_format(double v, char buf[32])
{
    double a = fabs(v);
    if (isnan(v))
        strcpy(buf, "nan");
    else if (isinf(v))
        strcpy(buf, v > 0 ? "inf" : "-inf");
    else if (a != 0 && (a < 1e-3 || a >= 9999.5))
        snprintf(buf, 32, "%.2e", v);
    else
        snprintf(buf, 32, "%.*f", a < 0.1 ? 5 : a < 1 ? 4 : a < 10 ? 3 : a < 100 ? 2 : a < 1000 ? 1 : 0, v);
    return buf;
}

const char *tt_duration_format(double s, char buf[32])
{
    if (!(s >= 0) || s > 1e9) return strcpy(buf, "?");
    long long t = (long long)(s + 0.5);
    if (t < 60)
        snprintf(buf, 32, "%llds", t);
    else if (t < 86400)
        snprintf(buf, 32, "%lld:%02lld:%02lld", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(buf, 32, "%lldd %02lld:%02lld", t / 86400, t / 3600 % 24, t / 60 % 60);
    return buf;
}

const char *tt_bytes_format(double b, char buf[32])
{
    static const char units[] = "BkMGTP";
    int u = 0;
    for (; b >= 999.5 && units[u + 1]; u++) b /= 1000;
    snprintf(buf, 32, u >= 3 ? "%.1f%c" : "%.0f%c", b, units[u]);
    return buf;
}

TtProgressLine tt_progress_line(void)
{
    return (TtProgressLine){.loss = NAN,
                            .mean_loss = NAN,
                            .lr = NAN,
                            .samples = "",
                            .samples_per_second = NAN,
                            .step_seconds = NAN,
                            .data_seconds = NAN,
                            .grad_norm = NAN,
                            .memory = NAN,
                            .eta = NAN};
}

/* ---- the line: fields in the order they stand in, each with a rank; the highest rank gives way first */

enum { FIELDS = 10, FIELD_TEXT = 96 };
typedef struct Fields {
    int n;
    int rank[FIELDS];
    char text[FIELDS][FIELD_TEXT];
} Fields;

static TT_PRINTF(3, 4) void add(Fields *f, int rank, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->text[f->n], FIELD_TEXT, fmt, ap);
    va_end(ap);
    f->rank[f->n++] = rank;
}

static void make_fields(const TtProgressLine *p, Fields *f)
{
    char a[32], b[32];
    add(f, 0, "%s %lld [%lld/%lld %d%%]", p->phase ? p->phase : "train", (long long)p->epoch, (long long)p->step,
        (long long)p->steps, p->steps > 0 ? (int)(100 * p->step / p->steps) : 0);
    bool mean = !isnan(p->mean_loss);
    if (!isnan(p->loss) || !mean)
        add(f, 1, mean ? "loss %s (%s)" : "loss %s", tt_number_format(p->loss, a), tt_number_format(p->mean_loss, b));
    else
        add(f, 1, "loss (%s)", tt_number_format(p->mean_loss, b));
    if (p->extra) add(f, 3, "%s", p->extra);
    if (!isnan(p->lr)) add(f, 5, "lr %.1e", p->lr);
    if (isfinite(p->samples_per_second))
        add(f, 4, "%.*f %s/s", p->samples_per_second < 10 ? 1 : 0, p->samples_per_second, p->samples);
    if (isfinite(p->step_seconds)) add(f, 7, "step %.3fs", p->step_seconds);
    if (isfinite(p->data_seconds)) add(f, 6, "data %.3fs", p->data_seconds);
    if (!isnan(p->grad_norm)) add(f, 8, "gnorm %.3g", p->grad_norm);
    if (isfinite(p->memory)) add(f, 9, "mem %s", tt_bytes_format(p->memory, a));
    if (isfinite(p->eta)) add(f, 2, "eta %s", tt_duration_format(p->eta, a));
}

const char *tt_progress_fit(const TtProgressLine *p, int width, char buf[TT_PROGRESS_TEXT])
{
    Fields f = {0};
    make_fields(p, &f);
    for (int most = FIELDS - 1;; most--) {
        int n = 0;
        buf[0] = '\0';
        for (int i = 0; i < f.n && n < TT_PROGRESS_TEXT; i++)
            if (f.rank[i] <= most) n += snprintf(buf + n, (size_t)(TT_PROGRESS_TEXT - n), n ? " %s" : "%s", f.text[i]);
        if (n <= width || most == 0) return buf;
    }
}

const char *tt_progress_format(const TtProgressLine *p, char buf[TT_PROGRESS_TEXT])
{
    return tt_progress_fit(p, TT_PROGRESS_TEXT, buf);
}
