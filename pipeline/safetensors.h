/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/safetensors.h - Hugging Face's safetensors format.
 *
 * Eight bytes little-endian length, that many bytes of JSON, then the tensors' bytes:
 *   {"__metadata__": {"k": "v"}, "NAME": {"dtype": "F32", "shape": [2,3], "data_offsets": [0,24]}, ...}
 * Read strictly: the tensors cover the bytes behind the header exactly, without overlap, hole or rest.
 * https://github.com/huggingface/safetensors, "Format" */
#ifndef TT_PIPELINE_SAFETENSORS_H
#define TT_PIPELINE_SAFETENSORS_H

#include "tensor/fs.h"
#include "pipeline/state_dict.h"

enum { TT_SAFETENSORS_MAX_HEADER = 100 * 1000 * 1000 };

TtStatus tt_safetensors_open(const char *path, TtStateDict **out) TT_NODISCARD;

/* Put the tensors into an open writer in the library's own order (wider types first, then by name), so that its
 * save_file makes the same bytes. Nothing is copied. The metadata is {"format": "pt"}. */
TtStatus tt_safetensors_put(TtFsWriter *w, const TtNamedTensor *list, int count) TT_NODISCARD;
/* The same into a file, replaced atomically. */
TtStatus tt_safetensors_save(const char *path, const TtNamedTensor *list, int count) TT_NODISCARD;

#endif
