/* Bundles: the programs of a module as an object, a header and a file of weights, for C programs
 * without the rest of Glow. */
#ifndef GLOW_BUNDLE_BUNDLE_H
#define GLOW_BUNDLE_BUNDLE_H

#include "backend/cpu/cpu.h"
#include "codegen/unit.h"

typedef struct GlowBundleOptions {
  const char *name;  /* of the model: begins symbols, macros and the names of files */
  bool link_weights; /* constants go into the object instead of a file */
  int64_t max_memory; /* bytes that each program may need on one thread; 0: no limit */
  GlowCodegenOptions code;
} GlowBundleOptions;

/* A buffer that callers give: a placeholder or a parameter. */
typedef struct GlowBundleBuffer {
  const GlowValue *value;
  const char *field; /* its name in C */
  bool in, out;
} GlowBundleBuffer;
typedef GLOW_VEC(GlowBundleBuffer) GlowBundleBuffers;

/* One program. */
typedef struct GlowBundleEntry {
  GlowFunction *function;
  const char *symbol; /* <name>_<program> */
  GlowCpuPlan plan;
  GlowBundleParams params;
  GlowBundleSlot *slots;
  GlowBundleBuffers buffers;
} GlowBundleEntry;

/* A variable, and where it lies in the memory of variables. */
typedef struct GlowBundleVariable {
  const GlowValue *value;
  int64_t offset;
} GlowBundleVariable;

typedef struct GlowBundle {
  GlowArena *arena; /* of all that is below but the weights */
  GlowModule *module;
  const GlowBundleOptions *options;
  const char *name, *macro; /* options->name as the beginning of identifiers and of macros */
  GlowBundleEntry *entries;
  uint32_t nentries;
  GLOW_VEC(GlowBundleVariable) variables; /* those that programs use, in order */
  GlowWeightsHeader header;
  uint8_t *weights; /* header.size bytes, malloc'ed; NULL if there are none */
} GlowBundle;

/* Plans all programs of a module, which must hold nothing else, and collects the weights. NULL
 * after diagnostics. `options` must stay. */
GlowBundle *glow_bundle_create(GlowModule *m, const GlowBundleOptions *options);
void glow_bundle_destroy(GlowBundle *b); /* NULL is ignored */
void glow_bundle_destroy_fn(void *bundle);

/* The code, in any form. False after a diagnostic. */
bool glow_bundle_code(const GlowBundle *b, GlowCodeForm form, GlowText *out);
/* The header: C99 and C++. */
void glow_bundle_header(const GlowBundle *b, GlowText *out);

#endif
