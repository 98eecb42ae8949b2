/* Checkpoints: all that a training run needs to go on, in a safetensors file. It has an entry for
 * each variable of the module, under its name, and metadata:
 *
 *   step                    how many steps there were
 *   epoch                   step / (samples / batch)
 *   seed, samples, batch    the order; seed "none": samples come as they lie
 *   variables               a checksum of the names and types of the variables, in order
 *   data                    a checksum of the values
 *   score                   of the best one alone: what the evaluation said
 *
 * Numbers are text; checksums are 16 hexadecimal digits (support/checksum.h). */
#ifndef GLOW_TRAIN_CHECKPOINT_H
#define GLOW_TRAIN_CHECKPOINT_H

#include "driver/session.h"
#include "tensor/blob.h"
#include "train/order.h"

/* A variable of the module as it was declared. */
typedef struct GlowDeclared {
  GlowStr name;
  const GlowType *type;
  bool written;      /* by some entry */
  GlowTensor *value; /* owned; of variables that are not written: it stays. Else NULL */
} GlowDeclared;

typedef struct GlowCheckpoints {
  GlowSession *session;
  GlowOrder order;
  GLOW_VEC(GlowDeclared) variables;
  uint64_t hash;
  const char *path; /* of the last one; NULL: none is written */
  int64_t keep;     /* so many of the last ones are kept */
  int64_t last;     /* the step of the file at `path`; -1: it is not there, or not ours */
} GlowCheckpoints;

/* Notes the variables of the session's module, whose entries are the session's, before passes
 * change it. After glow_checkpoint_read, if there is something to be resumed. Removes what killed
 * processes have left half written beside c->path. BAD_INPUT after a diagnostic. */
GlowStatus glow_checkpoints_begin(GlowCheckpoints *c, GlowSession *s);
void glow_checkpoints_close(GlowCheckpoints *c);

/* Gives the variables of the session the values of a checkpoint, and sets *step. BAD_INPUT after
 * diagnostics: variables that are missing or of another type, damage, or another order than
 * c->order unless `reset`. */
GlowStatus glow_checkpoint_read(GlowCheckpoints *c, GlowSession *s, const char *path, bool reset,
                                int64_t *step);
/* The same of an open file; diagnostics are at `at`. */
GlowStatus glow_checkpoint_take(const GlowCheckpoints *c, GlowSession *s, const GlowBlob *blob,
                                GlowLoc at, bool reset, int64_t *step);

/* Writes c->path after so many steps. A file there becomes STEM-STEP.EXT if more than the last are
 * kept, and those that are older than the last `keep` are removed. IO after a diagnostic: what was
 * there stays. */
GlowStatus glow_checkpoint_write(GlowCheckpoints *c, const GlowState *state, int64_t step);
/* Writes STEM-best.EXT with a score. */
GlowStatus glow_checkpoint_write_best(const GlowCheckpoints *c, const GlowState *state,
                                      int64_t step, double score);
/* Whether there is such a file with a score, which *score gets. */
bool glow_checkpoint_best(const GlowCheckpoints *c, double *score);

#endif
