/* What every fuzz target shares: a fresh context per input, silent diagnostics, and the rule that
 * nothing but an internal error is a finding (crashes and sanitizer reports are by themselves). With
 * GLOW_FUZZ_PRINT in the environment, diagnostics are shown. */
#ifndef GLOW_TEST_FUZZ_H
#define GLOW_TEST_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/diag.h"

typedef struct GlowFuzzInput {
  const uint8_t *data; /* followed by a NUL that is not counted */
  size_t size;
} GlowFuzzInput;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void glow_fuzz_diagnostic(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (getenv("GLOW_FUZZ_PRINT"))
    fprintf(stderr, "%s\n", d->message);
}

/* Runs body on an exact-size copy of the input (readers of texts are promised a NUL behind it). */
static inline int glow_fuzz(const uint8_t *data, size_t size, bool terminate,
                            void (*body)(GlowContext *ctx, void *input)) {
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return 0;
  glow_context_set_diagnostic_fn(ctx, glow_fuzz_diagnostic, NULL);
  char *copy = malloc(size + terminate + !(size + terminate));
  if (copy) {
    if (size)
      memcpy(copy, data, size);
    if (terminate)
      copy[size] = 0;
    GlowFuzzInput input = {(const uint8_t *)copy, size};
    if (glow_protect(ctx, body, &input) == GLOW_INTERNAL)
      __builtin_trap();
  }
  glow_context_destroy(ctx);
  free(copy);
  return 0;
}

#define GLOW_FUZZ_TARGET(terminate, body)                                                          \
  int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                   \
    return glow_fuzz(data, size, (terminate), (body));                                             \
  }

#endif
