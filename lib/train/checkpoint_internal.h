/* What reading and writing of checkpoints share. */
#ifndef GLOW_TRAIN_CHECKPOINT_INTERNAL_H
#define GLOW_TRAIN_CHECKPOINT_INTERNAL_H

#include "train/checkpoint.h"

/* A checksum of the names and types of all variables, in the order of the module. */
uint64_t glow_checkpoint_hash(const GlowModule *m);
/* An entry of the metadata; NULL: there is none. */
const char *glow_checkpoint_text(const GlowBlob *blob, const char *key);

#endif
