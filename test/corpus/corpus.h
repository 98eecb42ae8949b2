/* One case of the ONNX conformance corpus. */
#ifndef GLOW_TEST_CORPUS_CORPUS_H
#define GLOW_TEST_CORPUS_CORPUS_H

#include <stdbool.h>

#include "driver/backend.h"
#include "ops/op.h"
#include "test/corpus/bundles.h"

/* GLOW_REFUSED: no program comes of it, or the backend cannot compile it. GLOW_LEFT_OUT: it has
 * none of the wanted operators. */
typedef enum GlowVerdict {
  GLOW_PASSED,
  GLOW_FAILED,
  GLOW_UNSUPPORTED,
  GLOW_REFUSED,
  GLOW_LEFT_OUT
} GlowVerdict;

typedef struct GlowCase {
  const char *dir; /* holds model.onnx and test_data_set_0 */
  const char *name;
  bool shape_only; /* the outputs are random: judged by type and shape */
  bool primitives; /* lower to primitives, and run nothing else */
  bool open;       /* extents of inputs become symbols: the bits of the program without symbols */
  bool passes;     /* every pass alone and left out of -O2 as well */
  int level;       /* -O<level> first; negative: nothing */
  const bool *wanted; /* GLOW_OP_COUNT of them: operators that a case must have; NULL: any case */
  /* The name of a backend that must give the interpreter's bits, besides what is expected; NULL:
   * the interpreter alone. `tier` says by which code. */
  const char *backend;
  GlowTier tier;
  const struct GlowParallel *parallel; /* what it runs on besides one thread; NULL: nothing */
  GlowBundles *bundles;                /* instead of a backend: that takes the program too */
  /* Results. */
  char error[512];                    /* the first diagnostic */
  unsigned pipelines;                 /* that were judged */
  unsigned opened;                    /* extents that became symbols */
  unsigned steps;                     /* instructions that the interpreter runs */
  bool hosted;                        /* has no bundle: the process must take part in each run */
  uint16_t references[GLOW_OP_COUNT]; /* instructions that the backend runs as reference kernels */
  uint16_t stepped[GLOW_OP_COUNT];    /* those that are steps of the interpreter */
} GlowCase;

GlowVerdict glow_case_run(GlowCase *c);

#endif
