/* SPDX-License-Identifier: Apache-2.0 */
/* data/audio_manifest.h - what others must know of sets of speech. */
#ifndef TT_DATA_AUDIO_MANIFEST_H
#define TT_DATA_AUDIO_MANIFEST_H

#include "audio/vocabulary.h"
#include "data/dataset.h"

/* The characters of an opened set; NULL for other types. */
const TtVocabulary *tt_audio_manifest_vocabulary(const TtDataset *d);
/* The same, and the rate in Hz, of a config's {type: audio_manifest, ...} without opening any file. */
TtStatus tt_audio_manifest_labels(const TtNode *map, TtArena *arena, int *rate, TtVocabulary *out) TT_NODISCARD;

#endif
