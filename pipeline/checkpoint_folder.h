/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/checkpoint_folder.h - the folder of checkpoints and their manifests; for pipeline/checkpoint*.c only. */
#ifndef TT_PIPELINE_CHECKPOINT_FOLDER_H
#define TT_PIPELINE_CHECKPOINT_FOLDER_H

#include <jansson.h>

#include "tensor/fs.h"

#define TT_MANIFEST "MANIFEST.json"
#define TT_STATE "state.json"

enum { TT_CHECKPOINT_NAME = 64 };

typedef struct TtCheckpointEntry {
    char name[TT_CHECKPOINT_NAME]; /* "step_00001000" */
    bool readable;                 /* the manifest is whole; the rest is known only then */
    int64_t step, serial;
    bool has_metric, keep;
    double metric;
    char *monitor;
    json_t *files;
} TtCheckpointEntry;

typedef struct TtCheckpointScan {
    TtCheckpointEntry *list; /* oldest first by serial, unreadable ones before all others */
    int count;
} TtCheckpointScan;

void tt_checkpoint_name(int64_t step, char name[TT_CHECKPOINT_NAME]);
/* ".NAME.KIND": hidden folders of a save in progress. tmp: being written; old: replaced by one of the same step;
 * gone: being removed. */
void tt_checkpoint_hidden(const char *name, const char *kind, char hidden[TT_CHECKPOINT_NAME]);

TtStatus tt_checkpoint_scan(const char *folder, TtCheckpointScan *scan) TT_NODISCARD;
void tt_checkpoint_scan_free(TtCheckpointScan *scan);

/* Bring back a replaced checkpoint whose successor never came, remove everything else that is hidden. */
TtStatus tt_checkpoint_recover(const char *folder) TT_NODISCARD;

/* The manifest's text, sealed with a checksum of its own, from malloc. FILES: name to {size, xxh3_128}. */
char *tt_manifest_text(const TtCheckpointEntry *e);

#endif
