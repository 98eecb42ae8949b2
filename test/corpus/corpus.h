/* One case of the ONNX conformance corpus. */
#ifndef GLOW_TEST_CORPUS_CORPUS_H
#define GLOW_TEST_CORPUS_CORPUS_H

#include <stdbool.h>

typedef enum GlowVerdict { GLOW_PASSED, GLOW_FAILED, GLOW_UNSUPPORTED } GlowVerdict;

typedef struct GlowCase {
  const char *dir; /* holds model.onnx and test_data_set_0 */
  const char *name;
  bool shape_only; /* the outputs are random: judged by type and shape */
  bool primitives; /* lower to primitives, and run nothing else */
  bool passes;     /* every pass alone and left out of -O2 as well */
  int level;       /* -O<level> first; negative: nothing */
  /* Results. */
  char error[512];    /* the first diagnostic */
  unsigned pipelines; /* that were judged */
} GlowCase;

GlowVerdict glow_case_run(GlowCase *c);

#endif
