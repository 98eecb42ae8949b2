/* Constant values: what can be computed before a program runs, and what is one number. */
#include "analysis/constness.h"

#include "analysis/effects.h"

struct GlowConstness {
  GlowArena *arena;
  int64_t limit;  /* see glow_constness_limit */
  GlowMap *known; /* node to one of the marks below */
};

/* The map holds the addresses of these two; their content means nothing. */
static char yes_mark, no_mark;

GlowConstness *glow_constness_create(GlowArena *arena) {
  GlowConstness *c = GLOW_NEW(arena, GlowConstness);
  c->arena = arena;
  c->known = glow_map_create(arena);
  c->limit = INT64_MAX;
  return c;
}

void glow_constness_limit(GlowConstness *c, int64_t bytes) { c->limit = bytes; }

/* Whether the text says extents that only runs know, as it may of a Splat. */
static bool has_open_results(const GlowNode *n) {
  bool open = false;
  for (uint32_t i = 0; i < n->nresults; i++)
    open |= glow_type_has_symbols(n->results[i].type);
  return open;
}

bool glow_node_is_foldable(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  return !has_open_results(n) && GLOW_HAS(d, PURE) && !GLOW_HAS(d, RANDOM) && !n->nregions &&
         !n->pred.value && n->nresults > 0;
}

typedef GLOW_VEC(GlowNode *) NodeVec;

static bool is_constant_leaf(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT;
}

/* The elements that a module holds for a value: a splat is one number. */
static int64_t stored_elements(const GlowValue *v) {
  bool splat = glow_value_def(v, GLOW_OP_SPLAT) ||
               (is_constant_leaf(v) && v->def.storage->init.kind == GLOW_INIT_SPLAT);
  return splat ? 1 : glow_type_elements(v->type);
}

/* Whether evaluating n would repeat elements and make the module larger by more than the limit. */
static bool grows(const GlowConstness *c, const GlowNode *n) {
  if (n->op == GLOW_OP_SPLAT || c->limit == INT64_MAX)
    return false;
  int64_t before = 0;
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value && glow_type_is_tensor(n->operands[i].value->type))
      before += stored_elements(n->operands[i].value);
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    int64_t elements = glow_type_is_tensor(t) ? glow_type_elements(t) : 0;
    if (elements > before && (elements - before) * glow_kind_info[t->kind].bits / 8 > c->limit)
      return true;
  }
  return false;
}

/* The mark of n; NULL if it depends on an operand without a mark, whose node is then pushed to be
 * decided first. */
static const char *decide(GlowConstness *c, GlowNode *n, NodeVec *stack) {
  if (!glow_node_is_foldable(n) || grows(c, n))
    return &no_mark;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v || is_constant_leaf(v))
      continue;
    if (v->kind != GLOW_VALUE_RESULT)
      return &no_mark;
    const char *mark = glow_map_get(c->known, v->def.node);
    if (mark == &no_mark)
      return &no_mark;
    if (!mark) {
      glow_vec_push(c->arena, stack, v->def.node);
      return NULL;
    }
  }
  return &yes_mark;
}

bool glow_constness_of(GlowConstness *c, const GlowValue *v) {
  if (v->kind != GLOW_VALUE_RESULT)
    return is_constant_leaf(v);
  NodeVec stack = {0};
  glow_vec_push(c->arena, &stack, v->def.node);
  while (stack.count) {
    GlowNode *n = stack.data[stack.count - 1];
    const char *mark = glow_map_get(c->known, n);
    if (!mark)
      mark = decide(c, n, &stack);
    if (mark) {
      glow_map_set(c->known, n, (void *)(uintptr_t)mark);
      stack.count--;
    }
  }
  return glow_map_get(c->known, v->def.node) == &yes_mark;
}

bool glow_value_splat(const GlowValue *v, GlowScalar *value) {
  const GlowNode *n = glow_value_def(v, GLOW_OP_SPLAT);
  if (n) {
    *value = ((const GlowSplatMembers *)n->members)->value;
    return true;
  }
  if (!is_constant_leaf(v) || glow_kind_info[v->type->kind].cls == GLOW_CLASS_COMPLEX ||
      v->type->quantized)
    return false;
  const GlowInit *init = &v->def.storage->init;
  if (init->kind == GLOW_INIT_SPLAT) {
    *value = init->splat;
    return true;
  }
  bool readable = init->kind == GLOW_INIT_LIST || init->kind == GLOW_INIT_RESOURCE ||
                  init->kind == GLOW_INIT_PAYLOAD;
  const GlowTensor *t = init->tensor;
  if (!readable || !t || t->bytes > GLOW_MAX_FOLDED_BYTES || !glow_type_is_static(t->type) ||
      t->type->kind == GLOW_KIND_STRING)
    return false;
  int64_t count = glow_tensor_elements(t);
  if (count == 0)
    return false;
  *value = glow_tensor_get(t, 0);
  for (int64_t i = 1; i < count; i++)
    if (!glow_scalar_same(*value, glow_tensor_get(t, i)))
      return false;
  return true;
}
