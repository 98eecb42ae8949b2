/* Types, constants and inputs. Extents come from a few numbers per module, so that shapes meet;
 * values from several moods, special ones among them. */
#include <math.h>
#include <string.h>

#include "tensor/element.h"
#include "test/random/internal.h"
#include "transforms/transforms.h"

int64_t glow_gen_extent(GlowGen *g) { return g->extents[CHOOSE(g, 4)]; }

const GlowType *glow_gen_type(GlowGen *g, GlowKind kind) {
  static const uint8_t ranks[] = {2, 3, 4, 1, 2, 4, 0, 3};
  int64_t dims[GLOW_MAX_RANK];
  uint32_t rank = ranks[CHOOSE(g, sizeof ranks)];
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = ONCE_IN(g, 24) ? 0 : ONCE_IN(g, 6) ? 1 : glow_gen_extent(g);
  return glow_type_exact(g->ctx, kind, rank, dims);
}

/* ---- Elements -------------------------------------------------------------------------------- */

typedef enum Mood { SMALL, NORMAL, POSITIVE, EQUAL, SPECIAL, MOODS } Mood;

static double special(GlowChoice *c) {
  static const double values[] = {0.0,    -0.0, NAN,    INFINITY,    -INFINITY, 1e-40,
                                  -1e-42, 6e-8, 3.4e38, -3.4e38,     65504.,    1e300,
                                  5e-324, 0.5,  1.5,    2.5,         -0.5,      255.0,
                                  -128.0, 1.0,  -1.0,   2147483648.0};
  return values[glow_choose(c, sizeof values / sizeof *values)];
}

static double element(GlowChoice *c, Mood mood) {
  switch (mood) {
  case NORMAL:
    return ((double)glow_choose(c, 4096) - 2048.0) / 777.0;
  case POSITIVE:
    return 0.0625 + glow_choose(c, 1024) / 300.0;
  case EQUAL:
    return glow_choose(c, 2) - 0.0;
  case SPECIAL:
    return special(c);
  default:
    return (double)glow_choose(c, 9) - 4.0;
  }
}

static void fill_strings(GlowChoice *c, GlowContext *ctx, GlowTensor *t) {
  static const char *const words[] = {"", "a", "B b", "\xc3\xa4", "and", "12"};
  for (int64_t i = 0, n = glow_tensor_elements(t); i < n; i++) {
    const char *s = words[glow_choose(c, 6)];
    glow_tensor_set_string(ctx, t, i, s, strlen(s));
  }
}

void glow_gen_fill(GlowChoice *c, GlowTensor *t) {
  static const Mood moods[] = {NORMAL, SMALL, NORMAL, POSITIVE, NORMAL, EQUAL, NORMAL, SPECIAL};
  Mood mood = moods[glow_choose(c, sizeof moods / sizeof *moods)];
  GlowKindClass cls = glow_kind_info[t->type->kind].cls;
  if (mood == SPECIAL && t->type->rank == 0 && glow_kind_is_integer(t->type->kind))
    mood = SMALL; /* trip counts */
  for (int64_t i = 0, n = glow_tensor_elements(t); i < n; i++) {
    double v = cls == GLOW_CLASS_BOOL ? (double)glow_choose(c, 2) : element(c, mood);
    glow_tensor_set(t, i, glow_scalar_float(cls == GLOW_CLASS_UINT && v < 0 ? -v : v));
  }
}

static GlowTensor *random_tensor(GlowContext *ctx, GlowChoice *c, const GlowType *type) {
  GlowTensor *t = glow_tensor_create(ctx, type);
  if (type->cls != GLOW_TYPE_TENSOR)
    return t;
  if (type->kind == GLOW_KIND_STRING)
    fill_strings(c, ctx, t);
  else
    glow_gen_fill(c, t);
  return t;
}

/* ---- Storage --------------------------------------------------------------------------------- */

static GlowValue *list(GlowGen *g, GlowTensor *t) {
  GlowStorage *s = glow_constant_list(g->module, glow_gen_name(g), t);
  glow_tensor_free(t);
  return &s->value;
}

GlowValue *glow_gen_ints(GlowGen *g, const GlowType *type, const int64_t *values) {
  GlowTensor *t = glow_tensor_create(g->ctx, type);
  for (int64_t i = 0, n = glow_tensor_elements(t); i < n; i++)
    glow_tensor_set(t, i, glow_scalar_int(values[i]));
  return list(g, t);
}

static GlowValue *splat(GlowGen *g, const GlowType *type) {
  GlowTensor *one = glow_tensor_create(g->ctx, glow_type_with_dims(g->ctx, type, 0, NULL));
  glow_gen_fill(g->choice, one);
  GlowInit init = {.kind = GLOW_INIT_SPLAT, .splat = glow_tensor_get(one, 0)};
  glow_tensor_free(one);
  return &glow_storage_create(g->module, GLOW_CONSTANT, glow_gen_name(g), type, init)->value;
}

static GlowValue *drawn(GlowGen *g, const GlowType *type) {
  GlowRandom r = {.kind = (GlowRandomKind)CHOOSE(g, 3), .fan = 4, .low = -1, .high = 2};
  r.mean = 0.25;
  r.scale = 0.5;
  r.seed = CHOOSE(g, 1000);
  GlowInit init = {.kind = GLOW_INIT_RANDOM, .random = r};
  return &glow_storage_create(g->module, GLOW_CONSTANT, glow_gen_name(g), type, init)->value;
}

/* eval { the sum of two other constants }. */
static GlowValue *evaluated(GlowGen *g, const GlowType *type) {
  GlowValue *x = drawn(g, type), *y = splat(g, type);
  GlowBlock *b = glow_block_create(g->module, GLOW_LEVEL_GRAPH, NULL, NULL);
  GlowBuilder at = glow_builder_at_end(b);
  GlowValue *sum = glow_build2(&at, CHOOSE(g, 2) ? GLOW_OP_ADD : GLOW_OP_MUL, x, y, NULL, NULL);
  if (!sum)
    return x;
  glow_build_terminator(b, GLOW_OP_YIELD, &sum, 1);
  GlowInit init = {.kind = GLOW_INIT_EVAL, .eval = b};
  return &glow_storage_create(g->module, GLOW_CONSTANT, glow_gen_name(g), type, init)->value;
}

GlowValue *glow_gen_fresh(GlowGen *g, const GlowType *type) {
  bool words = type->kind == GLOW_KIND_STRING;
  bool smooth = glow_kind_is_float(type->kind) && glow_kind_info[type->kind].bits >= 16;
  uint32_t how = CHOOSE(g, 8);
  if (how == 0)
    return list(g, random_tensor(g->ctx, g->choice, type));
  if (how == 1 && !words)
    return splat(g, type);
  if (how == 2 && smooth)
    return drawn(g, type);
  if (how == 3 && smooth)
    return evaluated(g, type);
  if (how == 4 && g->depth == 0 && !g->function->has_results)
    return glow_block_add_param(g->function->body, glow_gen_name(g), type);
  return &glow_storage_create(g->module, GLOW_PLACEHOLDER, glow_gen_name(g), type,
                              (GlowInit){.kind = GLOW_INIT_NONE})
              ->value;
}

/* ---- The pool -------------------------------------------------------------------------------- */

GlowStr glow_gen_name(GlowGen *g) { return glow_str_printf(g->ctx, "v%u", g->names++); }

void glow_gen_add(GlowGen *g, GlowValue *v) {
  for (uint32_t i = 0; i < g->pool.count; i++)
    if (g->pool.data[i] == v)
      return;
  glow_vec_push(g->arena, &g->pool, v);
}

bool glow_gen_same_type(const GlowValue *v, const void *type) { return v->type == type; }

GlowValue *glow_gen_pick(GlowGen *g, bool (*fits)(const GlowValue *v, const void *arg),
                         const void *arg) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->pool.count; i++)
    n += fits(g->pool.data[i], arg);
  if (n == 0)
    return NULL;
  uint32_t a = CHOOSE(g, n), b = CHOOSE(g, n), k = a > b ? a : b;
  for (uint32_t i = 0;; i++)
    if (fits(g->pool.data[i], arg) && k-- == 0)
      return g->pool.data[i];
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static bool add_input(GlowContext *ctx, GlowChoice *c, GlowBindings *inputs, const GlowValue *v) {
  if (v->type->cls == GLOW_TYPE_TENSOR && !glow_type_is_static(v->type))
    return false;
  GlowTensor *t = random_tensor(ctx, c, v->type);
  glow_vec_push(ctx->arena, inputs, ((GlowBinding){v->name, t}));
  return true;
}

bool glow_random_inputs(GlowFunction *f, GlowChoice *c, GlowBindings *inputs) {
  GlowContext *ctx = f->module->ctx;
  for (GlowStorage *s = f->module->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER && !add_input(ctx, c, inputs, &s->value))
      return false;
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (!add_input(ctx, c, inputs, f->body->params[i]))
      return false;
  return true;
}

void glow_random_release(GlowBindings *b) {
  for (uint32_t i = 0; i < b->count; i++)
    glow_tensor_free(b->data[i].tensor);
  b->count = 0;
}
