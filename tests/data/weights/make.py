# SPDX-License-Identifier: Apache-2.0
"""Writes the files beside it with PyTorch and safetensors. Only for making them anew; the tests read the files.

mixed.safetensors is what every mixed_*.pth must give: views, strides, shared storages, all element types, odd names."""
import collections
import io
import os
import pickle
import zipfile

import numpy as np
import safetensors.torch
import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
g = torch.Generator().manual_seed(1)


def rand(*s):
    return torch.randn(*s, generator=g)


row, base = rand(40), rand(6, 8)
sd = collections.OrderedDict(
    plain=rand(3, 4), transposed=rand(3, 4).t(), permuted=rand(2, 3, 4).permute(2, 0, 1), offset=row[5:17],
    stepped=row[3:30:4], shared_rows=base[:3], shared_columns=base[:, 2:5], scalar=torch.tensor(3.25),
    empty=torch.zeros(0, 5), expanded=torch.tensor([1.5]).expand(4, 3),
    channels_last=rand(2, 3, 4, 5).to(memory_format=torch.channels_last), six=rand(1, 2, 1, 2, 1, 2),
    f16=rand(5).half(), bf16=rand(5).bfloat16(), f64=rand(5).double(), i64=torch.tensor([-7, 2**53 + 1, -2**62]),
    i32=torch.tensor([-7, 100], dtype=torch.int32), i16=torch.tensor([-7, 100], dtype=torch.int16),
    i8=torch.tensor([-7, 100], dtype=torch.int8), u8=torch.tensor([0, 255], dtype=torch.uint8),
    bool=torch.tensor([True, False]), special=torch.tensor([float("inf"), float("nan"), -0.0, 1e-45]),
    parameter=torch.nn.Parameter(rand(2, 2)))
sd["tied"] = sd["plain"]
sd["na\u00efve.\u540d\"\\\n"] = rand(2)
safetensors.torch.save_file({k: v.detach().contiguous().clone() for k, v in sd.items()}, "mixed.safetensors",
                            metadata={"format": "pt", "note": "\u540d, [{\": \u0000"})
torch.save(sd, "mixed_zip.pth")
torch.save(sd, "mixed_protocol4.pth", pickle_protocol=4)
torch.save(sd, "mixed_legacy.pth", _use_new_zipfile_serialization=False)


def rezip(source, target, method, change=lambda name, data: data):
    z = zipfile.ZipFile(source)
    with zipfile.ZipFile(target, "w", method) as o:
        for name in z.namelist():
            o.writestr(zipfile.ZipInfo(name), change(name, z.read(name)), method)


rezip("mixed_zip.pth", "mixed_deflated.pth", zipfile.ZIP_DEFLATED)
# the width of each storage's elements, by key, from the pickle's own order
widths = {}


class Widths(pickle.Unpickler):
    def persistent_load(self, pid):
        widths[pid[2]] = pid[1].dtype.itemsize if hasattr(pid[1], "dtype") else 1
        return torch.storage.TypedStorage(wrap_storage=torch.UntypedStorage(pid[4] * widths[pid[2]]),
                                          dtype=getattr(pid[1], "dtype", torch.uint8), _internal=True)


Widths(io.BytesIO(zipfile.ZipFile("mixed_zip.pth").read("mixed_zip/data.pkl"))).load()


def big(name, data):
    if name.endswith("byteorder"):
        return b"big"
    if "/data/" in name:
        return np.frombuffer(data, dtype="u%d" % widths[name.split("/")[-1]]).byteswap().tobytes()
    return data


rezip("mixed_zip.pth", "mixed_big_endian.pth", zipfile.ZIP_STORED, big)
torch.save({"epoch": 3, "best": 0.5, "names": ["a", None, (1, 2)], "big": 1 << 40, "negative": -(1 << 40),
            "state_dict": sd, "optimizer": {"state": {0: {"exp_avg": rand(3)}}}}, "mixed_wrapped.pth")
torch.save({"epoch": 3, "model": sd, "optimizer": {"state": {0: {"exp_avg": rand(3)}}}}, "mixed_wrapped_legacy.pth",
           _use_new_zipfile_serialization=False)

# a small model, plain, wrapped by DataParallel and compile, in half precision, without counters
model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.Linear(2, 3))
with torch.no_grad():
    for i, v in enumerate(model.state_dict().values()):
        v.copy_(torch.arange(v.numel()).reshape(v.shape) + 10 * i)
small = model.state_dict()
torch.save(small, "small.pth")
torch.save({"module." + k: v for k, v in small.items()}, "small_data_parallel.pth")
torch.save({"_orig_mod.module." + k: v for k, v in small.items()}, "small_compiled.pth")
safetensors.torch.save_file({k: v.double() if v.is_floating_point() else v for k, v in small.items()}, "small_f64.safetensors")
safetensors.torch.save_file({k: v.bfloat16() for k, v in small.items() if "tracked" not in k}, "small_bf16.safetensors")
safetensors.torch.save_file({"backbone." + k: v for k, v in small.items() if k[0] != "2"} | {"head.x": rand(2)},
                            "small_backbone.safetensors")

# what must be refused


class Call:
    def __reduce__(self):
        return os.getpid, ()


torch.save({"a": torch.ones(2), "b": Call()}, "bad_call.pth")
torch.save({"a": torch.ones(2), "b": Call()}, "bad_call_legacy.pth", _use_new_zipfile_serialization=False)
torch.save({"a": torch.ones(2), "b": Call()}, "bad_call_protocol4.pth", pickle_protocol=4)
torch.save(torch.nn.Linear(1, 1), "bad_module.pth")
torch.save({"a": torch._neg_view(torch.ones(2))}, "bad_negated.pth")
torch.save(torch.ones(2), "bad_tensor.pth")
torch.save({"a": torch.ones(2), "epoch": 3}, "bad_entry.pth")
torch.save({"a": torch.ones(2).to_sparse()}, "bad_sparse.pth")
np.savez("bad_zip.pth.npz", a=np.ones(1))
os.replace("bad_zip.pth.npz", "bad_zip.pth")
data = bytearray(open("small.pth", "rb").read())
at = data.find(small["2.weight"].numpy().tobytes())
data[at] ^= 1
open("bad_crc.pth", "wb").write(data)
rezip("small.pth", "bad_storage_size.pth", zipfile.ZIP_STORED, lambda n, d: d + b"x" if n.endswith("/data/3") else d)
pickle.dump({"a": 1}, open("bad_pickle.pth", "wb"))
