/* See program.h. */
#include "program.h"

#include <stdlib.h>
#include <time.h>

#include "support/pages.h"

GlowModule *bench_parse(GlowContext *ctx, GlowText *text) {
  size_t size = text->size;
  GlowModule *m = glow_module_parse(ctx, "bench", glow_text_cstr(text), size);
  if (m && (!glow_module_verify(m) || !glow_module_entry(m, NULL)))
    m = NULL;
  glow_text_release(text);
  return m;
}

bool bench_plan(GlowContext *ctx, GlowText *text, const GlowIsa *isa, GlowCpuPlan *plan) {
  GlowModule *m = bench_parse(ctx, text);
  return m && glow_cpu_plan(ctx->arena, glow_module_entry(m, NULL), isa, plan);
}

double bench_own_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_fill(float *p, int64_t n, uint32_t seed) {
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(int)(seed >> 16) * 0x1p-16f - 0.5f;
  }
}

void *bench_alloc(int64_t bytes) {
  size_t size = (size_t)(bytes + 63) / 64 * 64 + 64;
  void *data = aligned_alloc(64, size);
  if (data)
    glow_prefer_large_pages(data, size);
  return data;
}

bool bench_make_storage(const GlowCpuPlan *plan, void **storage) {
  for (uint32_t i = 0; i < plan->nouter; i++) {
    int64_t bytes = glow_type_bytes(plan->outer[i]->type);
    storage[i] = bench_alloc(bytes);
    if (!storage[i])
      return false;
    bench_fill(storage[i], bytes / 4, i + 1);
  }
  return true;
}

void bench_free_storage(const GlowCpuPlan *plan, void **storage) {
  for (uint32_t i = 0; i < plan->nouter; i++)
    free(storage[i]);
}
