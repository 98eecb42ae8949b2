/* Initializers: values known at compile time, equality, and paths of resources. */
#include <string.h>

#include "ir/ir_internal.h"
#include "support/file.h"

GlowTensor *glow_tensor_in_context(GlowContext *ctx, const GlowType *type, const void *data,
                                   size_t bytes) {
  GlowTensor *t = GLOW_NEW(ctx->arena, GlowTensor);
  t->type = type;
  t->data = (void *)(uintptr_t)data; /* never written: owned is false */
  t->bytes = bytes;
  return t;
}

/* A splat as a tensor, which is made at the first call and kept. */
static const GlowTensor *spread(GlowStorage *s) {
  if (!s->init.tensor) {
    GlowContext *ctx = s->module->ctx;
    size_t bytes = (size_t)glow_type_bytes(s->value.type);
    GlowTensor *t =
        glow_tensor_in_context(ctx, s->value.type, glow_arena_alloc(ctx->arena, bytes), bytes);
    glow_tensor_fill(t, s->init.splat);
    s->init.tensor = t;
  }
  return s->init.tensor;
}

const GlowTensor *glow_value_known(const GlowValue *v) {
  if (v->kind != GLOW_VALUE_STORAGE || v->def.storage->cls != GLOW_CONSTANT)
    return NULL;
  GlowStorage *s = v->def.storage;
  const GlowType *t = v->type;
  if (!glow_type_is_static(t) || glow_type_bytes(t) > GLOW_MAX_FOLDED_BYTES)
    return NULL;
  switch (s->init.kind) {
  case GLOW_INIT_SPLAT:
    return t->kind == GLOW_KIND_STRING ? NULL : spread(s);
  case GLOW_INIT_LIST:
    return s->init.tensor;
  case GLOW_INIT_RESOURCE:
  case GLOW_INIT_PAYLOAD:
    return glow_kind_is_integer(t->kind) || t->kind == GLOW_KIND_BOOL ? s->init.tensor : NULL;
  default:
    return NULL;
  }
}

/* The absolute path of a resource. */
static GlowStr resource_path(const GlowModule *m, GlowStr file) {
  return glow_path_absolute(m->ctx, glow_path_join(m->ctx, m->path_dir, file));
}

static bool same_double(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool same_random(const GlowRandom *a, const GlowRandom *b) {
  if (a->kind != b->kind || a->seed != b->seed)
    return false;
  switch (a->kind) {
  case GLOW_RANDOM_XAVIER:
    return same_double(a->fan, b->fan);
  case GLOW_RANDOM_UNIFORM:
    return same_double(a->low, b->low) && same_double(a->high, b->high);
  case GLOW_RANDOM_NORMAL:
    return same_double(a->mean, b->mean) && same_double(a->scale, b->scale);
  }
  return false;
}

static bool same_tensor(const GlowTensor *a, const GlowTensor *b) {
  return a == b || (a && b && glow_tensor_same_bits(a, b));
}

bool glow_init_equal(const GlowStorage *a, const GlowStorage *b) {
  const GlowInit *x = &a->init, *y = &b->init;
  if (x->kind != y->kind)
    return false;
  switch (x->kind) {
  case GLOW_INIT_NONE:
  case GLOW_INIT_ELIDED:
  case GLOW_INIT_EVAL: /* blocks are compared by the caller */
    return true;
  case GLOW_INIT_SPLAT:
    return x->splat.is_int == y->splat.is_int &&
           (x->splat.is_int ? x->splat.i == y->splat.i : same_double(x->splat.f, y->splat.f));
  case GLOW_INIT_LIST:
    return same_tensor(x->tensor, y->tensor);
  case GLOW_INIT_RANDOM:
    return same_random(&x->random, &y->random);
  case GLOW_INIT_RESOURCE:
    return x->key == y->key &&
           resource_path(a->module, x->file) == resource_path(b->module, y->file);
  case GLOW_INIT_PAYLOAD:
    return same_tensor(x->tensor, y->tensor);
  }
  return false;
}
