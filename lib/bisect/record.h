/* Every value of one run, in the order in which they are computed.
 *
 * The graph walker reports the values of a graph as it computes them. In a program, a probe stands
 * behind each instruction: a copy of what the instruction wrote to a placeholder of its own, so
 * that any backend can tell. In a loop a probe has what the last iteration wrote. */
#ifndef GLOW_BISECT_RECORD_H
#define GLOW_BISECT_RECORD_H

#include "bisect/numeric.h"

typedef struct GlowRecordEntry {
  const GlowNode *node;   /* of the record's module; NULL: an output of the run */
  GlowStr name;           /* of the result, the buffer or the output */
  const GlowValue *value; /* the result or the buffer; NULL: an output of the run */
  uint32_t occurrence;    /* how many values of this name came before */
  GlowTensor *tensor;     /* in the plain layout; NULL: never written */
  uint64_t hash;          /* of its bytes */
} GlowRecordEntry;

typedef struct GlowRecord {
  GlowContext *ctx;
  GlowArena *arena;
  GlowModule *module; /* a copy of the one that was asked for; its nodes keep their `order` */
  const GlowFunction *function;
  bool program;
  GLOW_VEC(GlowRecordEntry) entries;
  GlowBindings outputs; /* without probes */
  GlowMap *counts;      /* name to occurrences so far */
  GlowDefer release;
} GlowRecord;

typedef struct GlowRecordOptions {
  GlowBackendFn run;
  GlowTier tier;               /* as in GlowRunOptions */
  bool values;                 /* keep all values, not the outputs only */
  bool primitives;             /* as in GlowRunOptions */
  const unsigned char *poison; /* as in GlowRunOptions */
} GlowRecordOptions;

/* Runs a copy of m and keeps what the options ask for. False after a diagnostic. Either way end
 * the record with glow_record_end, in reverse order. */
bool glow_record_begin(GlowRecord *r, const GlowModule *m, GlowStr entry,
                       const GlowBindings *inputs, const GlowRecordOptions *options);
void glow_record_end(GlowRecord *r);

/* Whether a program gives the same outputs in two runs by the interpreter whose memory holds
 * different bytes at first. If not, the outputs depend on memory that nobody has written. *ran:
 * both runs came to their end; false after a diagnostic. */
bool glow_record_is_settled(const GlowModule *m, GlowStr entry, const GlowBindings *inputs,
                            bool *ran);

/* A comparison of the values of two runs. */
typedef struct GlowRecordPair {
  const GlowRecord *before, *after;
  bool slight; /* any other bit counts, not only a value that leaves the tolerance */
  double rtol, atol;
  /* Whether the outputs of `after` are right once `e` has the value `was`; may be NULL. */
  bool (*mends)(void *user, const GlowRecordEntry *e, const GlowRecordEntry *was);
  void *user;
} GlowRecordPair;

/* The first value of `after` that differs from its counterparts in `before` and, given the value of
 * one of them, makes the outputs right. If there is no such value: the first that differs from all
 * of its counterparts. NULL if there is none. *was is the value that it should have. */
const GlowRecordEntry *glow_record_first(const GlowRecordPair *pair, const GlowRecordEntry **was);

/* Prints to stdout what e is, how far it lies from `was`, and where the node stands. */
void glow_record_print_entry(const GlowNumericBisect *b, const char *what, const GlowRecordEntry *e,
                             const GlowRecordEntry *was);

/* The instruction that entry e of a record of m belongs to, alone. Its buffers hold what they held
 * in the record; fault->values borrows these tensors. NULL if the fault does not show on that, or
 * if the instruction stands in a region. */
GlowModule *glow_fault_cut_instruction(GlowNumericFault *fault, const GlowModule *m, const GlowRecord *r,
                                       const GlowRecordEntry *e);

/* Runs with one value put right. */
typedef struct GlowPatch {
  const GlowNumericBisect *bisect; /* tolerances */
  GlowStr entry;
  const GlowBindings *inputs, *want; /* want: what the outputs should be */
  GlowBackendFn run;
} GlowPatch;

/* Whether the outputs are right when e, a value of a record, is `was`. True for a value of a loop
 * and for one of open extents, which cannot be put right from outside. */
bool glow_patch_mends(const GlowPatch *patch, const GlowRecordEntry *e, const GlowRecordEntry *was);

#endif
