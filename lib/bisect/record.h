/* Every value of one run, in the order in which they are computed.
 *
 * A graph tells of its values as it is walked. In a program, a copy to a placeholder of its own
 * (a probe) stands behind each instruction, so that any backend tells what it wrote; in a loop,
 * what the last round wrote. */
#ifndef GLOW_BISECT_RECORD_H
#define GLOW_BISECT_RECORD_H

#include "backend/backend.h"

typedef struct GlowRecordEntry {
  const GlowNode *node; /* of the record's module; NULL: an output of the run */
  GlowStr name;         /* of the result, the buffer or the output */
  uint32_t occurrence;  /* how many values of this name came before */
  GlowTensor *tensor;   /* in the plain layout; NULL: never written */
  uint64_t hash;        /* of its bytes */
} GlowRecordEntry;

typedef struct GlowRecord {
  GlowContext *ctx;
  GlowArena *arena;
  GlowModule *module; /* a copy of the one that was asked for */
  bool program;
  GLOW_VEC(GlowRecordEntry) entries;
  GlowBindings outputs; /* without probes */
  GlowMap *counts;      /* name to occurrences so far */
  GlowDefer release;
} GlowRecord;

/* Runs a copy of m and keeps all values, or with `values` false the outputs only. False after a
 * diagnostic. Either way end it with glow_record_end, in reverse order. */
bool glow_record_begin(GlowRecord *r, const GlowModule *m, GlowStr entry,
                       const GlowBindings *inputs, GlowBackendFn backend, bool values);
void glow_record_end(GlowRecord *r);

/* The first value of `after` that `before` lacks, though it has one of the same name or place. With
 * `slight` false only one that leaves the tolerance counts. NULL if there is none; *was is the
 * value that it should have. */
const GlowRecordEntry *glow_record_first(const GlowRecord *before, const GlowRecord *after,
                                         bool slight, double rtol, double atol,
                                         const GlowRecordEntry **was);

#endif
