/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/fs.h - files that are whole or not there.
 *
 * A scheduled job may be killed, or the disk may fill, at any instruction. Whatever matters is therefore written aside
 * in the same folder, flushed to the disk, renamed into place, and the folder flushed: a reader sees the old file or
 * the new one. All of it goes through here, so that one hook can make any single operation fail in tests.
 *
 * Failures are TT_EINTERNAL (the machine's) unless a function says otherwise, and name the file and the cause. */
#ifndef TT_TENSOR_FS_H
#define TT_TENSOR_FS_H

#include "tensor/status.h"

typedef enum TtFsMode {
    /* Replaces PATH in one step when committed. A device or pipe, as in --output /dev/stdout, is written in place. */
    TT_FS_ATOMIC,
    /* Written in place and must not exist yet: for folders that are themselves renamed into place. */
    TT_FS_NEW,
    /* The same without a flush of its own: for folders of many files, all flushed at once before the rename. */
    TT_FS_UNFLUSHED
} TtFsMode;

typedef struct TtFsWriter {
    int fd; /* -1 when not open */
    TtFsMode mode;
    char *path, *temp; /* temp is NULL when written in place */
    uint64_t size;     /* bytes put so far */
    void *hash;
} TtFsWriter;

TtStatus tt_fs_open(TtFsWriter *w, const char *path, TtFsMode mode) TT_NODISCARD;
TtStatus tt_fs_put(TtFsWriter *w, const void *data, size_t size) TT_NODISCARD;
/* Flush and make visible. Success or not, the writer is closed afterwards; on failure nothing is left behind. */
TtStatus tt_fs_commit(TtFsWriter *w) TT_NODISCARD;
/* Give up and remove what was written; does nothing on a closed writer. */
void tt_fs_discard(TtFsWriter *w);
/* XXH3-128 of the bytes put so far, as 32 hexadecimal digits in xxhsum's order. */
enum { TT_FS_DIGEST = 33 };
void tt_fs_digest(const TtFsWriter *w, char out[TT_FS_DIGEST]);

/* open, put, commit. */
TtStatus tt_fs_write(const char *path, const void *data, size_t size) TT_NODISCARD;

/* The whole file and a NUL behind it, to be freed with free(). Larger than LIMIT, or unreadable, is CODE. */
TtStatus tt_fs_read(const char *path, size_t limit, TtStatus code, char **data, size_t *size) TT_NODISCARD;
/* Size and XXH3-128 of a file; unreadable is CODE. */
TtStatus tt_fs_checksum(const char *path, TtStatus code, uint64_t *size, char digest[TT_FS_DIGEST]) TT_NODISCARD;

TtStatus tt_fs_mkdirs(const char *path) TT_NODISCARD; /* as mkdir -p */
TtStatus tt_fs_sync_dir(const char *path) TT_NODISCARD;
/* Flush the whole file system that PATH lies on: quicker than thousands of files one by one. */
TtStatus tt_fs_sync_all(const char *path) TT_NODISCARD;
TtStatus tt_fs_rename(const char *from, const char *to) TT_NODISCARD; /* and flush TO's folder */
/* Make LINK point to TARGET (relative to LINK's folder) in one step, whether or not it exists. */
TtStatus tt_fs_symlink(const char *target, const char *link) TT_NODISCARD;
/* Remove the tree NAME, one component, inside the folder PARENT. Symlinks are removed, never followed, and other file
 * systems are not entered, so that nothing outside can be hit. No such tree: TT_OK. */
TtStatus tt_fs_remove_tree(const char *parent, const char *name) TT_NODISCARD;
/* Remove what killed writers left in this folder (".NAME.PID-N.tmp"). Only for folders that this process has locked. */
TtStatus tt_fs_remove_temps(const char *folder) TT_NODISCARD;

bool tt_fs_exists(const char *path); /* follows symlinks */
bool tt_fs_is_dir(const char *path);
/* Bytes that this user can still write on PATH's file system; UINT64_MAX when it cannot be known. */
uint64_t tt_fs_free_bytes(const char *path);
/* "A/B" from malloc; ends the process when there is no memory. */
char *tt_fs_join(const char *a, const char *b);

/* One process per run directory. The kernel holds the lock, so it ends with the process however that ends; the text in
 * the file (pid, host, time) only serves the message. Held by another: TT_ECONFIG. A file system without locks: a
 * warning, and the run goes on. */
typedef struct TtFsLock {
    bool held;
    int fd;
} TtFsLock;
TtStatus tt_fs_lock(TtFsLock *lock, const char *path) TT_NODISCARD;
void tt_fs_unlock(TtFsLock *lock); /* a zeroed or released lock is left alone */

/* For tests: called before each operation; an errno other than 0 makes it fail so. Set while no other thread writes.
 * TARGET is where a rename leads, else NULL. */
typedef enum TtFsOp {
    TT_FS_OP_OPEN,
    TT_FS_OP_WRITE,
    TT_FS_OP_SYNC,
    TT_FS_OP_RENAME,
    TT_FS_OP_MKDIR,
    TT_FS_OP_SYMLINK,
    TT_FS_OP_UNLINK
} TtFsOp;
typedef int (*TtFsHook)(TtFsOp op, const char *path, const char *target);
void tt_fs_test_hook(TtFsHook hook);

#endif
