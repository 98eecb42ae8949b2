/* See feed.h. */
#include "driver/feed.h"

#include <string.h>

#include "analysis/access.h"

GlowStatus glow_feed_bind(GlowSession *s, const char *const *sources, uint32_t count) {
  GlowNameList names = {0};
  for (uint32_t i = 0; i < count; i++) {
    GlowStr name = NULL;
    if (!glow_session_split(s, sources[i], &name))
      return GLOW_BAD_INPUT;
    glow_vec_push(s->ctx->arena, &names, name);
  }
  return glow_session_bind_first(s, &names, 1);
}

/* The type of one sample of an input. NULL after a diagnostic. */
static const GlowType *sample_type(const GlowFeed *f, const GlowStorage *st, GlowStr name,
                                   const GlowType *type) {
  const char *problem = NULL;
  if (!glow_type_is_tensor(type) || type->unranked || !type->rank)
    problem = "has no extent for samples; --input gives it a value";
  else if (!glow_type_is_static(type))
    problem = "has open extents; -bind gives them a size";
  else if (type->layout || type->kind == GLOW_KIND_STRING || glow_kind_info[type->kind].bits < 8)
    problem = "cannot be filled with samples";
  else if (!type->dims[0].size)
    problem = "has no place for a sample";
  if (!problem)
    return glow_type_with_dims(f->ctx, type, type->rank - 1, type->dims + 1);
  glow_error(f->ctx, st ? st->src : GLOW_NOWHERE, "input '%s' is %s, which %s", name,
             glow_type_str(f->ctx, type), problem);
  return NULL;
}

/* All inputs have as many places for samples, and all sources as many samples. */
static bool agrees(const GlowFeed *f, uint32_t i, GlowStr name, int64_t batch) {
  const GlowSamples *s = f->samples.data[i];
  GlowLoc at = glow_loc_file(f->ctx, s->name);
  if (batch != f->batch) {
    glow_error(f->ctx, at, "input '%s' takes %lld samples, but '%s' takes %lld", name,
               (long long)batch, f->inputs.data[0].name, (long long)f->batch);
    return false;
  }
  if (s->count == f->count)
    return true;
  glow_error(f->ctx, at, "it has %lld samples, but '%s' has %lld", (long long)s->count,
             f->samples.data[0]->name, (long long)f->count);
  return false;
}

static bool add_source(GlowFeed *f, GlowSession *s, const char *spec,
                       const GlowImageOptions *image) {
  GlowStr name = NULL;
  const char *source = glow_session_split(s, spec, &name);
  if (!source)
    return false;
  const GlowType *type = glow_session_input_type(s, name);
  if (!type || glow_bindings_find(&f->inputs, name)) {
    glow_error(f->ctx, GLOW_NOWHERE,
               type ? "input '%s' is given twice" : "'%s' is a variable, not an input", name);
    return false;
  }
  const GlowType *one = sample_type(f, glow_module_storage(s->module, name), name, type);
  GlowSamples *samples = one ? glow_samples_open(f->ctx, source, one, image) : NULL;
  if (!samples)
    return false;
  glow_vec_push(f->ctx->arena, &f->samples, samples);
  glow_vec_push(f->ctx->arena, &f->inputs, ((GlowBinding){name, NULL}));
  GlowBinding *b = &f->inputs.data[f->inputs.count - 1];
  b->tensor = glow_tensor_create(f->ctx, type);
  if (f->samples.count == 1) {
    f->batch = type->dims[0].size;
    f->count = samples->count;
  }
  return agrees(f, f->samples.count - 1, name, type->dims[0].size);
}

/* An input without samples has the value of the session. False after a diagnostic. */
static bool add_fixed(GlowFeed *f, const GlowSession *s, const GlowValue *v, const char *option) {
  GlowTensor *t = glow_bindings_find(&s->inputs, v->name);
  if (t) {
    glow_vec_push(f->ctx->arena, &f->inputs, ((GlowBinding){v->name, t}));
    return true;
  }
  glow_error(f->ctx, glow_value_loc(v), "there are no data for input '%s' of @%s: --%s %s=SOURCE",
             v->name, s->entry->name, option, v->name);
  return false;
}

/* All inputs that the entry reads have samples or a value. */
static bool is_complete(GlowFeed *f, const GlowSession *s, const char *option) {
  GlowArena *arena = glow_arena_create(f->ctx);
  const GlowAccess *access = glow_function_accesses(s->entry, arena).of;
  GlowOuterValues outer = glow_function_outer_values(s->entry, arena);
  bool ok = true;
  for (uint32_t i = 0; i < outer.count; i++) {
    const GlowValue *v = outer.data[i];
    bool read = access[v->id].wanted || v->kind == GLOW_VALUE_PARAM;
    if (read && glow_outer_class(v) == GLOW_PLACEHOLDER && !glow_bindings_find(&f->inputs, v->name))
      ok = add_fixed(f, s, v, option) && ok;
  }
  glow_arena_destroy(arena);
  return ok;
}

GlowStatus glow_feed_open(GlowFeed *f, GlowSession *s, const char *const *sources, uint32_t count,
                          const char *option, const GlowImageOptions *image) {
  f->ctx = s->ctx;
  bool ok = true;
  for (uint32_t i = 0; i < count; i++)
    ok = add_source(f, s, sources[i], image) && ok;
  ok = ok && is_complete(f, s, option);
  if (ok && !f->samples.count) {
    glow_error(f->ctx, s->entry->src, "@%s gets no samples: --%s NAME=SOURCE", s->entry->name,
               option);
    ok = false;
  }
  if (ok && (!f->count || f->count > UINT32_MAX)) {
    glow_error(f->ctx, glow_loc_file(f->ctx, f->samples.data[0]->name),
               "it has %lld samples; 1 to 2^32 - 1 are possible", (long long)f->count);
    ok = false;
  }
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

bool glow_feed_fill(GlowFeed *f, const uint64_t *samples, int64_t n) {
  for (uint32_t i = 0; i < f->samples.count; i++) {
    GlowTensor *t = f->inputs.data[i].tensor;
    size_t bytes = t->bytes / (size_t)f->batch;
    char *first = t->data;
    for (int64_t b = 0; b < n; b++)
      if (!glow_samples_read(f->samples.data[i], (int64_t)samples[b], first + (size_t)b * bytes))
        return false;
    for (int64_t b = n; bytes && b < f->batch; b++)
      memcpy(first + (size_t)b * bytes, first, bytes);
  }
  return true;
}

void glow_feed_close(GlowFeed *f) {
  for (uint32_t i = 0; i < f->samples.count; i++)
    glow_tensor_free(f->inputs.data[i].tensor);
  f->samples.count = f->inputs.count = 0;
}
