/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/runinfo.c - env.json and status.json. */
#include "pipeline/runinfo.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <archive.h>
#include <cairo.h>
#include <jpeglib.h>
#include <oneapi/dnnl/dnnl.h>
#include <png.h>
#include <protobuf-c/protobuf-c.h>
#include <xxhash.h>
#include <yaml.h>
#include <zip.h>
#include <zlib.h>

#include "pipeline/commit.h" /* generated: TT_COMMIT */
#include "pipeline/json.h"
#include "tensor/arena.h"
#include "tensor/fs.h"
#include "tensor/op.h"

/* Any bytes as a string: those that are not UTF-8, which JSON cannot hold, as '?'. */
static json_t *text(const char *s)
{
    json_t *v = json_string(s);
    if (v) return v;
    char *copy = strcpy(tt_realloc(NULL, strlen(s) + 1), s);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p >= 0x80) *p = '?';
    v = json_string(copy);
    free(copy);
    return v;
}

static void put_text(json_t *o, const char *key, const char *s)
{
    json_object_set_new(o, key, s ? text(s) : json_null());
}

static void put_now(json_t *o, const char *key)
{
    char buf[40];
    time_t t = time(NULL);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%SZ", &tm);
    put_text(o, key, buf);
}

static void put_process(json_t *o)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    put_text(o, "host", host);
    json_object_set_new(o, "pid", json_integer(getpid()));
}

static TtStatus write_file(const char *run_dir, const char *name, json_t *o)
{
    char *path = tt_fs_join(run_dir, name);
    TtStatus s = tt_json_write(path, o);
    free(path);
    json_decref(o);
    return s;
}

/* ---- env.json */

/* oneDNN is asked here for its version only; all else about it is behind kernels/cpu/dnnl*.c. */
static json_t *libraries(void)
{
    const dnnl_version_t *d = dnnl_version();
    const int jpeg = LIBJPEG_TURBO_VERSION_NUMBER, xxh = (int)XXH_versionNumber();
    json_t *o = json_object();
    json_object_set_new(o, "oneDNN", json_sprintf("%d.%d.%d", d->major, d->minor, d->patch));
    json_object_set_new(o, "libjpeg-turbo", json_sprintf("%d.%d.%d", jpeg / 1000000, jpeg / 1000 % 1000, jpeg % 1000));
    put_text(o, "libpng", png_get_libpng_ver(NULL));
    put_text(o, "zlib", zlibVersion());
    put_text(o, "libyaml", yaml_get_version_string());
    put_text(o, "jansson", JANSSON_VERSION);
    json_object_set_new(o, "xxHash", json_sprintf("%d.%d.%d", xxh / 10000, xxh / 100 % 100, xxh % 100));
    put_text(o, "libarchive", archive_version_string());
    put_text(o, "libzip", zip_libzip_version());
    put_text(o, "protobuf-c", protobuf_c_version());
    put_text(o, "cairo", cairo_version_string());
    return o;
}

/* What batch systems tell a job about itself, and what changes how it runs. */
static json_t *job_variables(void)
{
    static const char *const names[] = {
        "SLURM_JOB_ID",
        "SLURM_JOB_NAME",
        "SLURM_ARRAY_TASK_ID",
        "SLURM_RESTART_COUNT",
        "SLURM_JOB_NODELIST",
        "SLURM_CPUS_PER_TASK",
        "SLURM_MEM_PER_NODE",
        "PBS_JOBID",
        "LSB_JOBID",
        "JOB_ID",
        "HOSTNAME",
        "POD_NAME",
        "POD_NAMESPACE",
        "NODE_NAME",
        "JOB_COMPLETION_INDEX",
        "OMP_NUM_THREADS",
        "OMP_PROC_BIND",
        "TT_CPU",
        "TZ",
        "LANG",
    };
    json_t *o = json_object();
    for (int i = 0; i < TT_COUNT(names); i++)
        if (getenv(names[i])) put_text(o, names[i], getenv(names[i]));
    return o;
}

/* The first "KEY : value" line of /proc/cpuinfo, or null: not every architecture has one. */
static void put_cpu_model(json_t *o)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[512];
    const char *model = NULL;
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = '\0';
        model = colon + 1 + strspn(colon + 1, " \t");
        break;
    }
    put_text(o, "cpu", model);
    if (f) fclose(f);
}

TtStatus tt_runinfo_write(const char *run_dir, int argc, char **argv, int threads)
{
    struct utsname u;
    cpu_set_t cpus;
    json_t *o = json_object(), *command = json_array();
    char *cwd = getcwd(NULL, 0);
    uname(&u);
    for (int i = 0; i < argc; i++) json_array_append_new(command, text(argv[i]));
    put_text(o, "ttrain", TT_VERSION);
    put_text(o, "commit", *TT_COMMIT ? TT_COMMIT : NULL);
    put_text(o, "compiler", __VERSION__);
    json_object_set_new(o, "libraries", libraries());
    json_object_set_new(o, "command", command);
    put_text(o, "directory", cwd);
    put_now(o, "started");
    put_process(o);
    json_object_set_new(o, "kernel", json_sprintf("%s %s %s", u.sysname, u.release, u.machine));
    put_cpu_model(o);
    json_object_set_new(o, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
    json_object_set_new(o, "cores_allowed", known ? json_integer(CPU_COUNT(&cpus)) : json_null());
    json_object_set_new(o, "memory_bytes", json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)));
    put_text(o, "isa", tt_cpu_isa());
    json_object_set_new(o, "threads", json_integer(threads));
    json_object_set_new(o, "variables", job_variables());
    free(cwd);
    return write_file(run_dir, "env.json", o);
}

/* ---- status.json */

TtStatus tt_runinfo_status(const char *run_dir, const char *state, const json_t *more)
{
    json_t *o = json_object();
    put_text(o, "state", state);
    put_process(o);
    put_now(o, "updated");
    json_object_update(o, (json_t *)(uintptr_t)more);
    return write_file(run_dir, "status.json", o);
}
