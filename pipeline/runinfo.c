/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/runinfo.c - env.json and status.json. */
#include "pipeline/runinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cairo.h>
#include <jpeglib.h>
#include <oneapi/dnnl/dnnl.h>
#include <png.h>
#include <zlib.h>

#include "pipeline/json.h"
#include "tensor/fs.h"
#include "tensor/op.h"

static json_t *now_text(void)
{
    char buf[40];
    time_t t = time(NULL);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_string(buf);
}

static json_t *host_name(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    json_t *s = json_string(host);
    return s ? s : json_null();
}

/* The first "KEY : value" line of a file of /proc, or null. */
static json_t *proc_value(const char *path, const char *key)
{
    FILE *f = fopen(path, "r");
    char line[512];
    json_t *v = NULL;
    while (f && !v && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        v = json_string(colon);
    }
    if (f) fclose(f);
    return v ? v : json_null();
}

static json_t *libraries(void)
{
    const dnnl_version_t *d = dnnl_version();
    json_t *o = json_object();
    json_object_set_new(o, "oneDNN", json_sprintf("%d.%d.%d", d->major, d->minor, d->patch));
    json_object_set_new(o, "libjpeg-turbo", json_sprintf("%d", LIBJPEG_TURBO_VERSION_NUMBER));
    json_object_set_new(o, "libpng", json_string(png_get_libpng_ver(NULL)));
    json_object_set_new(o, "zlib", json_string(zlibVersion()));
    json_object_set_new(o, "jansson", json_string(JANSSON_VERSION));
    json_object_set_new(o, "cairo", json_string(cairo_version_string()));
    return o;
}

/* What batch systems tell a job about itself. */
static json_t *job_variables(void)
{
    static const char *const names[] = {
        "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST", "KUBERNETES_SERVICE_HOST",
        "HOSTNAME",     "PBS_JOBID",      "LSB_JOBID",           "OMP_NUM_THREADS",    "TT_CPU"};
    json_t *o = json_object();
    for (int i = 0; i < TT_COUNT(names); i++) {
        const char *v = getenv(names[i]);
        if (v) json_object_set_new(o, names[i], json_string(v));
    }
    return o;
}

TtStatus tt_runinfo_write(const char *run_dir, int argc, char **argv, int threads)
{
    struct utsname u;
    json_t *o = json_object(), *command = json_array();
    uname(&u);
    for (int i = 0; i < argc; i++) {
        json_t *s = json_string(argv[i]);
        json_array_append_new(command, s ? s : json_null());
    }
    json_object_set_new(o, "ttrain", json_string(TT_VERSION));
    json_object_set_new(o, "compiler", json_string(__VERSION__));
    json_object_set_new(o, "libraries", libraries());
    json_object_set_new(o, "command", command);
    json_object_set_new(o, "started", now_text());
    json_object_set_new(o, "host", host_name());
    json_object_set_new(o, "pid", json_integer(getpid()));
    json_object_set_new(o, "kernel", json_sprintf("%s %s %s", u.sysname, u.release, u.machine));
    json_object_set_new(o, "cpu", proc_value("/proc/cpuinfo", "model name"));
    json_object_set_new(o, "memory", proc_value("/proc/meminfo", "MemTotal"));
    json_object_set_new(o, "isa", json_string(tt_cpu_isa()));
    json_object_set_new(o, "threads", json_integer(threads));
    json_object_set_new(o, "job", job_variables());
    char *path = tt_fs_join(run_dir, "env.json");
    TtStatus s = tt_json_write(path, o);
    free(path);
    json_decref(o);
    return s;
}

TtStatus tt_runinfo_status(const char *run_dir, const char *state, const json_t *more)
{
    json_t *o = json_object();
    json_object_set_new(o, "state", json_string(state));
    json_object_set_new(o, "pid", json_integer(getpid()));
    json_object_set_new(o, "host", host_name());
    json_object_set_new(o, "updated", now_text());
    json_object_update(o, (json_t *)(uintptr_t)more);
    char *path = tt_fs_join(run_dir, "status.json");
    TtStatus s = tt_json_write(path, o);
    free(path);
    json_decref(o);
    return s;
}
