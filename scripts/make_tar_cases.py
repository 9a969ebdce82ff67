#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# scripts/make_tar_cases.py - writes tests/data/tar: one small archive in each format of Python's tarfile, and what
# tarfile itself finds in it (name@offset+size for each regular file).
import io
import os
import tarfile

OUT = "tests/data/tar"
DEEP = "/".join(["folder%02d" % i for i in range(12)]) + "/picture.jpg"  # 119 bytes: needs ustar's prefix
LONG = "n" * 150 + ".cls"  # no place to split: needs GNU's or pax's extension
WIDE = "\u00e9t\u00e9/\u6f22.txt"

os.makedirs(OUT, exist_ok=True)
for name, fmt in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
    path = "%s/%s.tar" % (OUT, name)
    with tarfile.open(path, "w", format=fmt) as t:
        for member, size in (("a.jpg", 700), (DEEP, 3), (LONG, 512), (WIDE, 0), ("last.json", 1)):
            if fmt == tarfile.USTAR_FORMAT and member == LONG:
                continue
            info = tarfile.TarInfo(member)
            info.size = size
            info.mtime = 1.5 if fmt == tarfile.PAX_FORMAT else 1
            t.addfile(info, io.BytesIO(b"x" * size))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        t.addfile(folder)
    with tarfile.open(path) as t, open(path + ".txt", "w") as f:
        for m in t.getmembers():
            if m.isreg():
                f.write("%s@%d+%d\n" % (m.name, m.offset_data, m.size))
