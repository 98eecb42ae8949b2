/* See bound.h. */
#include "backend/cpu/bound.h"

#include "analysis/access.h"
#include "ir/infer.h"
#include "tensor/form.h"

typedef struct Bind {
  GlowContext *ctx;
  GlowArena *arena;
  const GlowBoundSymbol *symbols;
  uint32_t count;
  GlowBound bound; /* the values whose types are not static, with the types of the text */
} Bind;

/* ---- Numbers --------------------------------------------------------------------------------- */

typedef struct Numbers {
  const GlowBoundSymbol *symbols;
  uint32_t count;
} Numbers;

static bool number_of(void *numbers, const GlowExtent *symbol, GlowForm *f) {
  const Numbers *n = numbers;
  for (uint32_t i = 0; i < n->count; i++)
    if (n->symbols[i].extent == symbol) {
      *f = glow_form_number(n->symbols[i].size);
      return true;
    }
  return false;
}

int64_t glow_bound_size(const GlowExtent *extent, const GlowBoundSymbol *symbols, uint32_t count) {
  Numbers n = {symbols, count};
  int64_t size;
  return glow_extent_number(extent, number_of, &n, &size) ? size : -1;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static const GlowType *with_dims(Bind *b, const GlowType *t, const GlowDim *dims) {
  const GlowType *type = glow_type_with_dims(b->ctx, t, t->rank, dims);
  return t->layout ? glow_type_with_layout(b->ctx, type, t->layout) : type;
}

static void bind_value(Bind *b, GlowValue *v) {
  const GlowType *t = v->type;
  GlowDim dims[GLOW_MAX_RANK];
  if (!glow_type_is_tensor(t) || t->unranked || glow_type_is_static(t))
    return;
  for (uint32_t a = 0; a < t->rank; a++) {
    const GlowExtent *extent = t->dims[a].extent;
    int64_t size = extent ? glow_bound_size(extent, b->symbols, b->count) : -1;
    dims[a] = size < 0 ? t->dims[a] : GLOW_EXACT(size);
  }
  glow_vec_push(b->arena, &b->bound.values, v);
  glow_vec_push(b->arena, &b->bound.types, t);
  v->type = with_dims(b, t, dims);
}

static void bind_params(Bind *b, GlowBlock *block) {
  for (uint32_t i = 0; i < block->nparams; i++)
    bind_value(b, block->params[i]);
}

static void bind_size(void *arg, GlowSize *size) {
  const Bind *b = arg;
  int64_t number = size->extent ? glow_bound_size(size->extent, b->symbols, b->count) : -1;
  if (number >= 0)
    *size = (GlowSize){.size = number};
}

static void has_symbol(void *found, GlowSize *size) { *(bool *)found |= size->extent != NULL; }

/* A copy of n's members with numbers becomes n's; those of the text are kept. */
static void bind_members(Bind *b, GlowNode *n) {
  bool found = false;
  glow_node_sizes(n, has_symbol, &found);
  if (!found)
    return;
  const GlowOpDesc *d = glow_node_desc(n);
  void *text = n->members, *bound = glow_arena_alloc(b->arena, d->member_size);
  glow_members_copy(b->arena, d, bound, text);
  glow_vec_push(b->arena, &b->bound.nodes, n);
  glow_vec_push(b->arena, &b->bound.members, text);
  n->members = bound;
  glow_node_sizes(n, bind_size, b);
}

static bool bind_node(GlowNode *n, void *arg) {
  bind_members(arg, n);
  for (uint32_t i = 0; i < n->nresults; i++)
    bind_value(arg, &n->results[i]);
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i])
      bind_params(arg, n->regions[i]);
  return true;
}

/* ---- What follows from operands -------------------------------------------------------------- */

/* Whether an instruction other than n writes v, or a view of it. */
static bool others_write(const GlowNode *n, const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (u->user != n &&
        (u->qual == GLOW_QUAL_OUT || u->qual == GLOW_QUAL_INOUT ||
         (u->user->op == GLOW_OP_TENSORVIEW && others_write(n, &u->user->results[0]))))
      return true;
  return false;
}

/* Whether v is a buffer of n's block, or a port, that nothing but n writes. */
static bool is_only_writer(const GlowNode *n, const GlowValue *v) {
  const GlowNode *alloc = glow_value_def(v, GLOW_OP_ALLOC);
  bool mine = alloc ? alloc->block == n->block
                    : glow_value_is_outer(v) && glow_outer_class(v) == GLOW_PLACEHOLDER &&
                          n->block->owner == GLOW_BLOCK_FUNCTION;
  return mine && !others_write(n, v);
}

/* A stack has no rule of its own: its results are as large as its operands together. */
static bool infer_stack(const GlowNode *n, GlowArena *arena, const GlowType **types) {
  const char *error = NULL;
  uint32_t nin = glow_node_nins(n);
  const GlowType **in = GLOW_NEW_ARRAY(arena, const GlowType *, nin);
  for (uint32_t i = 0; i < nin; i++)
    in[i] = glow_node_in(n, i) ? glow_node_in(n, i)->type : NULL;
  GlowInfer infer = {
      .ctx = n->block->module->ctx, .desc = glow_node_desc(n), .loc = glow_node_loc(n)};
  const GlowType *t = glow_infer_broadcast(&infer, in, nin, &error);
  for (uint32_t i = 0; i < n->nouts; i++)
    types[i] = t;
  return t || glow_infer_error(&infer, "%s", error);
}

static bool infer_node(GlowNode *n, void *arg) {
  Bind *b = arg;
  const GlowType **types = NULL;
  bool ok = true;
  for (uint32_t i = 0; ok && i < n->nouts; i++) {
    GlowValue *v = n->operands[i].value;
    if (!v || glow_type_is_static(v->type) || !is_only_writer(n, v))
      continue;
    if (!types) {
      types = GLOW_NEW_ARRAY(b->arena, const GlowType *, n->nouts);
      ok = glow_node_desc(n)->body ? infer_stack(n, b->arena, types) : glow_node_infer(n, types);
    }
    if (ok && types[i] && glow_type_is_static(types[i]) && types[i]->rank == v->type->rank)
      v->type = with_dims(b, v->type, types[i]->dims);
  }
  return true;
}

/* ---------------------------------------------------------------------------------------------- */

void glow_bound_make(GlowArena *arena, GlowFunction *f, const GlowBoundSymbol *symbols,
                     uint32_t count, GlowBound *bound) {
  Bind b = {.ctx = f->module->ctx, .arena = arena, .symbols = symbols, .count = count};
  for (GlowStorage *s = f->module->first_storage; s; s = s->next)
    bind_value(&b, &s->value);
  bind_params(&b, f->body);
  glow_block_walk(f->body, bind_node, &b);
  GlowSilence silence; /* what does not fit is a fault of the run, at the instruction */
  glow_silence_begin(b.ctx, &silence);
  glow_block_walk(f->body, infer_node, &b);
  glow_silence_end(&silence);
  glow_bound_swap(&b.bound);
  *bound = b.bound;
}

void glow_bound_swap(GlowBound *b) {
  for (uint32_t i = 0; i < b->values.count; i++) {
    const GlowType *now = b->values.data[i]->type;
    b->values.data[i]->type = b->types.data[i];
    b->types.data[i] = now;
  }
  for (uint32_t i = 0; i < b->nodes.count; i++) {
    void *now = b->nodes.data[i]->members;
    b->nodes.data[i]->members = b->members.data[i];
    b->members.data[i] = now;
  }
}
