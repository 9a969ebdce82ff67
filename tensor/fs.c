/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/fs.c - atomic writes, folders, symlinks, removal and locks. */
#include "tensor/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "tensor/arena.h"

enum {
    MAX_DEPTH = 32, /* of trees to remove */
    MAX_WRITE = 1 << 30,
    READ_CHUNK = 1 << 20
};

static TtFsHook hook;

void tt_fs_test_hook(TtFsHook h)
{
    hook = h;
}

/* True when the operation may go on; else errno is set. */
static bool permit(TtFsOp op, const char *path, const char *target)
{
    int error = hook ? hook(op, path, target) : 0;
    if (error) errno = error;
    return error == 0;
}

/* A message for a failed write, from errno. */
static TtStatus write_failed(const char *what, const char *path)
{
    int error = errno;
    if (error == ENOSPC || error == EDQUOT) {
        uint64_t left = tt_fs_free_bytes(path);
        return TT_FAIL(TT_EINTERNAL, "%s: cannot %s: %s (%llu MB left); free some space and run again", path, what,
                       strerror(error), (unsigned long long)(left == UINT64_MAX ? 0 : left >> 20));
    }
    return TT_FAIL(TT_EINTERNAL, "%s: cannot %s: %s", path, what, strerror(error));
}

char *tt_fs_join(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    bool slash = n > 0 && a[n - 1] != '/';
    char *s = tt_realloc(NULL, n + m + 2);
    memcpy(s, a, n);
    if (slash) s[n] = '/';
    memcpy(s + n + slash, b, m + 1);
    return s;
}

/* The folder that holds PATH, from malloc. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (slash == path) n = 1;
    char *s = tt_realloc(NULL, n + 2);
    memcpy(s, slash ? path : ".", slash ? n : 1);
    s[slash ? n : 1] = '\0';
    return s;
}

/* PATH's folder with ".NAME.PID-N.tmp" in it; N makes it new within the process. */
static char *temp_beside(const char *path)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = strlen(path) + 48;
    char *s = tt_realloc(NULL, size);
    /* a name near the file system's limit of 255 must leave room for the suffix */
    snprintf(s, size, "%.*s.%.200s.%ld-%u.tmp", (int)(name - path), path, name, (long)getpid(),
             atomic_fetch_add(&counter, 1));
    return s;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static int close_retry(int fd)
{
    /* on Linux the descriptor is gone even after EINTR */
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

/* ------------------------------------------------------------------ writer */

static void writer_free(TtFsWriter *w)
{
    free(w->path);
    free(w->temp);
    XXH3_freeState(w->hash);
    *w = (TtFsWriter){.fd = -1};
}

TtStatus tt_fs_open(TtFsWriter *w, const char *path, TtFsMode mode)
{
    *w = (TtFsWriter){.fd = -1, .mode = mode, .path = tt_realloc(NULL, strlen(path) + 1)};
    strcpy(w->path, path);
    struct stat st;
    int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
    if (mode != TT_FS_ATOMIC) {
        flags |= O_CREAT | O_EXCL;
    } else if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) {
        w->temp = temp_beside(path);
        flags |= O_CREAT | O_EXCL;
    }                               /* else a device or pipe; a folder fails with EISDIR */
    for (int tries = 0;; tries++) { /* a leftover of a killed process with our pid may be in the way */
        const char *file = w->temp ? w->temp : path;
        w->fd = permit(TT_FS_OP_OPEN, file, NULL) ? open(file, flags, 0666) : -1;
        if (w->fd >= 0 || errno != EEXIST || !w->temp || tries == 1000) break;
        free(w->temp);
        w->temp = temp_beside(path);
    }
    if (w->fd < 0) {
        TtStatus status = write_failed("create", w->path);
        writer_free(w);
        return status;
    }
    w->hash = XXH3_createState();
    TT_ASSERT(w->hash && XXH3_128bits_reset(w->hash) == XXH_OK);
    return TT_OK;
}

TtStatus tt_fs_put(TtFsWriter *w, const void *data, size_t size)
{
    const char *p = data;
    XXH3_128bits_update(w->hash, data, size);
    w->size += size;
    while (size > 0) {
        ssize_t n = permit(TT_FS_OP_WRITE, w->temp ? w->temp : w->path, NULL)
                        ? write(w->fd, p, TT_MIN(size, (size_t)MAX_WRITE))
                        : -1;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return write_failed("write", w->path);
        p += n, size -= (size_t)n;
    }
    return TT_OK;
}

static void digest_text(const XXH3_state_t *hash, char out[TT_FS_DIGEST])
{
    XXH128_hash_t h = XXH3_128bits_digest(hash);
    snprintf(out, TT_FS_DIGEST, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

void tt_fs_digest(const TtFsWriter *w, char out[TT_FS_DIGEST])
{
    digest_text(w->hash, out);
}

/* Some file systems, and all pipes and devices, cannot be flushed and say EINVAL: nothing more can be done there. */
static bool sync_fd(int fd, const char *path)
{
    if (!permit(TT_FS_OP_SYNC, path, NULL)) return false;
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

TtStatus tt_fs_commit(TtFsWriter *w)
{
    TtStatus status = TT_OK;
    const char *file = w->temp ? w->temp : w->path;
    if (w->mode != TT_FS_UNFLUSHED && !sync_fd(w->fd, file)) status = write_failed("flush", w->path);
    if (close_retry(w->fd) != 0 && status == TT_OK) status = write_failed("close", w->path);
    w->fd = -1;
    if (status == TT_OK && w->temp) {
        if (!permit(TT_FS_OP_RENAME, w->temp, w->path) || rename(w->temp, w->path) != 0) {
            status = write_failed("replace", w->path);
        } else {
            char *folder = parent_of(w->path);
            free(w->temp);
            w->temp = NULL;
            status = tt_fs_sync_dir(folder);
            free(folder);
        }
    }
    if (w->temp) unlink(w->temp);
    writer_free(w);
    return status;
}

void tt_fs_discard(TtFsWriter *w)
{
    if (w->fd < 0) return;
    close_retry(w->fd);
    if (w->temp)
        unlink(w->temp);
    else if (w->mode != TT_FS_ATOMIC)
        unlink(w->path);
    writer_free(w);
}

TtStatus tt_fs_write(const char *path, const void *data, size_t size)
{
    TtFsWriter w;
    TT_TRY(tt_fs_open(&w, path, TT_FS_ATOMIC));
    TtStatus status = tt_fs_put(&w, data, size);
    if (status != TT_OK) {
        tt_fs_discard(&w);
        return status;
    }
    return tt_fs_commit(&w);
}

/* ------------------------------------------------------------------ reading */

static ssize_t read_retry(int fd, void *p, size_t n)
{
    ssize_t got;
    do got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Pipes are taken where somebody writes into them (a config from <(...)), devices never: /dev/zero has no end. */
static TtStatus open_to_read(const char *path, TtStatus code, int *fd, struct stat *st)
{
    /* O_NONBLOCK: opening a named pipe would wait for its writer. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0) return TT_FAIL(code, "%s: cannot open: %s", path, strerror(errno));
    const char *what = NULL;
    if (fstat(*fd, st) != 0 || S_ISDIR(st->st_mode))
        what = "a folder";
    else if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
        what = "a device";
    if (!what) {
        fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK);
        return TT_OK;
    }
    close(*fd);
    return TT_FAIL(code, "%s: is %s, not a file", path, what);
}

TtStatus tt_fs_read(const char *path, size_t limit, TtStatus code, char **data, size_t *size)
{
    int fd;
    struct stat st;
    *data = NULL, *size = 0;
    TT_TRY(open_to_read(path, code, &fd, &st));
    /* The size is a hint: pipes have none and files may grow while being read. */
    size_t capacity = S_ISREG(st.st_mode) && st.st_size >= 0 ? TT_MIN((size_t)st.st_size, limit) + 2 : 4096, used = 0;
    char *p = malloc(capacity);
    TtStatus status = TT_OK;
    while (p) {
        ssize_t n = read_retry(fd, p + used, capacity - used - 1);
        if (n < 0) status = TT_FAIL(code, "%s: cannot read: %s", path, strerror(errno));
        if (n <= 0) break;
        used += (size_t)n;
        if (used > limit) {
            status = TT_FAIL(code, "%s: larger than %zu bytes, the most that is read of such a file", path, limit);
            break;
        }
        if (used + 1 < capacity) continue;
        char *grown = realloc(p, capacity *= 2);
        if (!grown) free(p);
        p = grown;
    }
    close(fd);
    if (!p) return TT_FAIL(TT_EINTERNAL, "%s: out of memory (%zu bytes)", path, capacity);
    if (status != TT_OK) {
        free(p);
        return status;
    }
    p[used] = '\0';
    *data = p, *size = used;
    return TT_OK;
}

TtStatus tt_fs_checksum(const char *path, TtStatus code, uint64_t *size, char digest[TT_FS_DIGEST])
{
    int fd;
    struct stat st;
    TT_TRY(open_to_read(path, code, &fd, &st));
    XXH3_state_t *hash = XXH3_createState();
    char *buf = tt_realloc(NULL, READ_CHUNK);
    TT_ASSERT(hash && XXH3_128bits_reset(hash) == XXH_OK);
    ssize_t n;
    *size = 0;
    while ((n = read_retry(fd, buf, READ_CHUNK)) > 0) {
        XXH3_128bits_update(hash, buf, (size_t)n);
        *size += (uint64_t)n;
    }
    TtStatus status = n < 0 ? TT_FAIL(code, "%s: cannot read: %s", path, strerror(errno)) : TT_OK;
    digest_text(hash, digest);
    XXH3_freeState(hash);
    free(buf);
    close(fd);
    return status;
}

/* ------------------------------------------------------------------ folders and links */

bool tt_fs_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool tt_fs_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

uint64_t tt_fs_free_bytes(const char *path)
{
    struct statvfs v;
    int got = statvfs(path, &v);
    if (got != 0 && errno == ENOENT) { /* a file that is still to be written */
        char *folder = parent_of(path);
        got = statvfs(folder, &v);
        free(folder);
    }
    return got == 0 ? (uint64_t)v.f_bavail * v.f_frsize : UINT64_MAX;
}

TtStatus tt_fs_sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return write_failed("open", path);
    TtStatus status = sync_fd(fd, path) ? TT_OK : write_failed("flush", path);
    close(fd);
    return status;
}

TtStatus tt_fs_sync_all(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return write_failed("open", path);
    TtStatus status =
        permit(TT_FS_OP_SYNC, path, NULL) && syncfs(fd) == 0 ? TT_OK : write_failed("flush to the disk", path);
    close(fd);
    return status;
}

static TtStatus make_dir(const char *path)
{
    if (permit(TT_FS_OP_MKDIR, path, NULL) && mkdir(path, 0777) == 0) {
        char *folder = parent_of(path);
        TtStatus status = tt_fs_sync_dir(folder);
        free(folder);
        return status;
    }
    int error = errno;
    if (tt_fs_is_dir(path)) return TT_OK;
    errno = error;
    return write_failed("create folder", path);
}

TtStatus tt_fs_mkdirs(const char *path)
{
    size_t n = strlen(path);
    char *s = tt_realloc(NULL, n + 1);
    memcpy(s, path, n + 1);
    while (n > 1 && s[n - 1] == '/') s[--n] = '\0';
    TtStatus status = TT_OK;
    for (size_t i = 1; i <= n && status == TT_OK; i++) {
        if (s[i] != '/' && i != n) continue;
        char c = s[i];
        s[i] = '\0';
        if (!tt_fs_is_dir(s)) status = make_dir(s);
        s[i] = c;
    }
    free(s);
    return status;
}

TtStatus tt_fs_rename(const char *from, const char *to)
{
    if (!permit(TT_FS_OP_RENAME, from, to) || rename(from, to) != 0) return write_failed("rename into place", to);
    char *folder = parent_of(to);
    TtStatus status = tt_fs_sync_dir(folder);
    free(folder);
    return status;
}

TtStatus tt_fs_symlink(const char *target, const char *link)
{
    char *temp = temp_beside(link);
    TtStatus status = TT_OK;
    unlink(temp);
    if (!permit(TT_FS_OP_SYMLINK, temp, NULL) || symlink(target, temp) != 0)
        status = write_failed("create symlink", link);
    else
        status = tt_fs_rename(temp, link);
    if (status != TT_OK) unlink(temp);
    free(temp);
    return status;
}

/* ------------------------------------------------------------------ removal */

static TtStatus unlink_at(int dir, const char *name, const char *path, int flags)
{
    if (permit(TT_FS_OP_UNLINK, path, NULL) && unlinkat(dir, name, flags) == 0) return TT_OK;
    return errno == ENOENT ? TT_OK : write_failed("remove", path);
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Depth is bounded by MAX_DEPTH, and with it the recursion. */
static TtStatus remove_at(int dir, const char *name, const char *path, dev_t device, int depth)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? TT_OK : write_failed("remove", path);
    if (!S_ISDIR(st.st_mode)) return unlink_at(dir, name, path, 0);
    if (st.st_dev != device) return TT_FAIL(TT_EINTERNAL, "%s: not removed: it lies on another file system", path);
    if (depth == MAX_DEPTH) return TT_FAIL(TT_EINTERNAL, "%s: not removed: more than %d folders deep", path, MAX_DEPTH);
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        TtStatus failed = write_failed("remove", path);
        if (fd >= 0) close(fd);
        return failed;
    }
    TtStatus status = TT_OK;
    struct dirent *e;
    while (status == TT_OK && (e = readdir(d))) {
        if (is_dot(e->d_name)) continue;
        char *inner = tt_fs_join(path, e->d_name);
        status = remove_at(dirfd(d), e->d_name, inner, device, depth + 1);
        free(inner);
    }
    closedir(d);
    return status == TT_OK ? unlink_at(dir, name, path, AT_REMOVEDIR) : status;
}

TtStatus tt_fs_remove_tree(const char *parent, const char *name)
{
    TT_ASSERT(*name && !strchr(name, '/') && !is_dot(name));
    int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return errno == ENOENT ? TT_OK : write_failed("open", parent);
    struct stat st;
    char *path = tt_fs_join(parent, name);
    TtStatus status = fstat(dir, &st) == 0 ? remove_at(dir, name, path, st.st_dev, 0) : write_failed("look at", parent);
    free(path);
    close(dir);
    return status;
}

TtStatus tt_fs_remove_temps(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return errno == ENOENT ? TT_OK : write_failed("open", folder);
    TtStatus status = TT_OK;
    struct dirent *e;
    while (status == TT_OK && (e = readdir(d))) {
        struct stat st;
        if (e->d_name[0] != '.' || !ends_with(e->d_name, ".tmp") ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode))
            continue;
        char *path = tt_fs_join(folder, e->d_name);
        status = unlink_at(dirfd(d), e->d_name, path, 0);
        free(path);
    }
    closedir(d);
    return status;
}

/* ------------------------------------------------------------------ lock */

/* Open-file-description locks work over NFS and between threads; flock is for the few systems without them.
 * 0: taken, 1: held by another, -1: this file system has no locks. */
static int take_lock(int fd)
{
#ifdef F_OFD_SETLK
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &l) == 0) return 0;
    if (errno == EAGAIN || errno == EACCES) return 1;
#endif
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    return errno == EWOULDBLOCK ? 1 : -1;
}

static TtStatus held_by_another(int fd, const char *path)
{
    char text[256] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n > 0) text[n] = '\0';
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = c[1] ? ' ' : '\0';
    return TT_FAIL(TT_ECONFIG, "%s: in use by %s; wait until it ends or choose another output_dir", path,
                   *text ? text : "another process");
}

TtStatus tt_fs_lock(TtFsLock *lock, const char *path)
{
    *lock = (TtFsLock){0};
    for (int tries = 0; tries < 100; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0) return write_failed("create lock file", path);
        int got = take_lock(fd);
        if (got > 0) {
            TtStatus status = held_by_another(fd, path);
            close(fd);
            return status;
        }
        int error = errno;
        struct stat ours, there;
        if (fstat(fd, &ours) != 0 || stat(path, &there) != 0 || ours.st_ino != there.st_ino) {
            close(fd); /* somebody removed the file between open and lock */
            continue;
        }
        if (got < 0) tt_warn("%s: cannot be locked here (%s); take care that one run uses it", path, strerror(error));
        char host[128] = "?", stamp[32] = "?", text[256];
        gethostname(host, sizeof host - 1);
        time_t now = time(NULL);
        struct tm tm;
        if (gmtime_r(&now, &tm)) strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &tm);
        int n = snprintf(text, sizeof text, "process %ld on %s since %s\n", (long)getpid(), host, stamp);
        if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) {
            TtStatus status = write_failed("write", path);
            close(fd);
            return status;
        }
        *lock = (TtFsLock){.held = true, .fd = fd};
        return TT_OK;
    }
    return TT_FAIL(TT_EINTERNAL, "%s: the lock file is removed again and again by another process", path);
}

void tt_fs_unlock(TtFsLock *lock)
{
    if (!lock->held) return;
    if (ftruncate(lock->fd, 0) != 0) tt_warn("lock file: cannot empty: %s", strerror(errno));
    close(lock->fd);
    *lock = (TtFsLock){0};
}
