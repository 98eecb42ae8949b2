/* The programs of test/codegen, and memory for all that they find outside of their arenas. */
#ifndef GLOW_TEST_UNIT_PROGRAMS_H
#define GLOW_TEST_UNIT_PROGRAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/access.h"
#include "backend/cpu/cpu.h"
#include "support/file.h"

/* A file of test/codegen. False after a diagnostic. */
static inline bool open_codegen_file(GlowContext *ctx, const char *name, GlowInput *input) {
  char path[1024];
  const char *slash = strrchr(__FILE__, '/');
  snprintf(path, sizeof path, "%.*s/../codegen/%s", slash ? (int)(slash - __FILE__) : 1,
           slash ? __FILE__ : ".", name);
  return glow_input_open(ctx, path, false, GLOW_NOWHERE, input);
}

/* Small numbers of both signs; of integers and truth values zeros and ones. */
static inline void fill_outer(void *data, const GlowType *t) {
  size_t bytes = (size_t)glow_type_bytes(t), width = glow_kind_info[t->kind].bits / 8;
  float *f = data;
  uint8_t *b = data;
  for (size_t i = 0; t->kind == GLOW_KIND_FLOAT && i < bytes / 4; i++)
    f[i] = (float)((int)(i * 7919 % 2001) - 1000) / 999.0f;
  for (size_t i = 0; t->kind != GLOW_KIND_FLOAT && width && i < bytes; i++)
    b[i] = i % width == 0 && i / width % 3 == 0;
}

/* Memory for all that the program touches. */
static inline void **make_outer_memory(GlowArena *arena, const GlowCpuPlan *plan) {
  void **storage = GLOW_NEW_ARRAY(arena, void *, plan->nouter);
  GlowValues *values = NULL;
  for (uint32_t i = 0; i < plan->nouter; i++) {
    GlowValue *v = plan->outer[i];
    size_t bytes = (size_t)glow_type_bytes(v->type);
    storage[i] = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(storage[i], 0, (bytes + 127) / 64 * 64);
    bool bound = glow_outer_class(v) == GLOW_PLACEHOLDER;
    if (!bound && !values)
      values = glow_values_create(v->def.storage->module);
    const GlowTensor *value = bound ? NULL : glow_values_get(values, v->def.storage);
    if (value)
      memcpy(storage[i], value->data, bytes);
    else
      fill_outer(storage[i], v->type);
  }
  glow_values_destroy(values);
  return storage;
}

static inline void free_outer_memory(const GlowCpuPlan *plan, void **storage) {
  for (uint32_t i = 0; i < plan->nouter; i++)
    free(storage[i]);
}

#endif
