/* A Splat of open extents: the only node whose extents neither its operands nor their values say.
 * They follow from the extents of what the function reads. */
#include "backend/interp/interp_internal.h"

#include "tensor/form.h"

typedef struct Search {
  GlowWalk *walk;
  const GlowNode *node;
} Search;

/* The value that the function has for an input or a variable that grows, or NULL. */
static const GlowTensor *value_of(GlowWalk *w, GlowStorage *s) {
  bool grows = s->cls == GLOW_VARIABLE && glow_type_grows(s->value.type);
  if (grows)
    return glow_walk_get(w, &s->value);
  return s->cls == GLOW_PLACEHOLDER && w->cells ? w->cells->cells[s->value.id].tensor : NULL;
}

static bool extent_in(const GlowType *t, const GlowTensor *value, const GlowExtent *symbol,
                      GlowForm *f) {
  for (uint32_t a = 0; value && glow_type_is_tensor(t) && a < t->rank; a++)
    if (t->dims[a].extent == symbol) {
      *f = glow_form_number(value->type->dims[a].size);
      return true;
    }
  return false;
}

static bool symbol_number(void *search, const GlowExtent *symbol, GlowForm *f) {
  const Search *s = search;
  const GlowBlock *body = glow_block_function(s->node->block)->body;
  for (uint32_t i = 0; i < body->nparams; i++)
    if (extent_in(body->params[i]->type, glow_walk_get(s->walk, body->params[i]), symbol, f))
      return true;
  for (GlowStorage *g = body->module->first_storage; g; g = g->next)
    if (glow_type_has_symbols(g->value.type) &&
        extent_in(g->value.type, value_of(s->walk, g), symbol, f))
      return true;
  return false;
}

bool glow_walk_open_splat(GlowWalk *w, const GlowNode *n, GlowTensor **out) {
  const GlowType *t = n->results[0].type;
  Search s = {w, n};
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < t->rank; a++) {
    const GlowExtent *e = t->dims[a].extent;
    int64_t size = t->dims[a].size;
    if (e ? !glow_extent_number(e, symbol_number, &s, &size) : t->dims[a].kind != GLOW_DIM_EXACT) {
      glow_run_error(n, "no input says the extent %s", glow_dim_str(w->ctx, t->dims[a]));
      return false;
    }
    dims[a] = GLOW_EXACT(size);
  }
  const GlowType *type = glow_type_with_dims(w->ctx, t, t->rank, dims);
  *out =
      glow_tensor_create(w->ctx, t->layout ? glow_type_with_layout(w->ctx, type, t->layout) : type);
  glow_tensor_fill(*out, ((const GlowSplatMembers *)n->members)->value);
  return true;
}
