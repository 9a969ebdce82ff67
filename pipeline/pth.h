/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pth.h - files of torch.save: the zip of today and the format before PyTorch 1.6.
 *
 * Zip: PREFIX/data.pkl is a pickle of the state dict; PREFIX/data/KEY holds a storage; PREFIX/byteorder says "little"
 * or "big". Before: four pickles (magic number, protocol, system, state dict), one of the storages' keys, and then the
 * storages, each after its number of elements. torch/serialization.py, _save and _legacy_save.
 *
 * A dict around the state dict (keys state_dict, model_state_dict, model, ...) is taken off. */
#ifndef TT_PIPELINE_PTH_H
#define TT_PIPELINE_PTH_H

#include "pipeline/state_dict.h"

TtStatus tt_pth_open_zip(const char *path, TtStateDict **out) TT_NODISCARD;
TtStatus tt_pth_open_legacy(const char *path, TtStateDict **out) TT_NODISCARD;

#endif
