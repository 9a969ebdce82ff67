/* SPDX-License-Identifier: Apache-2.0 */
/* data/tar.h - where the members of a tar file lie (POSIX.1-2001 ustar and pax, GNU long names and base-256 sizes).
 *
 * Nothing is extracted: a member is an offset and a size, read later with pread. */
#ifndef TT_DATA_TAR_H
#define TT_DATA_TAR_H

#include "tensor/status.h"

typedef struct TtTarMember {
    const char *name; /* lives during the call */
    uint64_t offset, size;
} TtTarMember;

/* Called for each regular file, in order; any error stops the scan and is returned. */
typedef TtStatus (*TtTarVisit)(void *user, const TtTarMember *m);

/* Go through the SIZE bytes of an open file. NAME is for messages. A wrong checksum, a size or a name out of bounds,
 * and a member that the file does not hold to its end are TT_EDATA with the byte. A missing end mark after a whole
 * member is a warning. */
TtStatus tt_tar_scan(int fd, uint64_t size, const char *name, TtTarVisit visit, void *user) TT_NODISCARD;

#endif
