/* See open.h. */
#include "test/corpus/open.h"

#include <stdio.h>

#include "lower/lower.h"
#include "transforms/transforms.h"

/* The symbol for an extent of n: equal extents of a case have one symbol, whose range ends beyond
 * n, so that n is not what the program's memory is planned for. */
static GlowDim symbol(GlowModule *m, int64_t n) {
  return glow_dim_ranged(
      glow_extent(m->ctx, glow_str_printf(m->ctx, "d%lld", (long long)n), 1, 2 * n + 1, 1));
}

/* Whether attempt k opens inputs of this type. */
static bool is_open_input(const GlowType *t, unsigned k) {
  return glow_type_is_tensor(t) && glow_type_is_static(t) &&
         (k == 0 || glow_kind_is_float(t->kind));
}

static uint32_t open_value(GlowModule *m, GlowValue *v, unsigned k) {
  const GlowType *t = v->type;
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t opened = 0;
  if (!is_open_input(t, k))
    return 0;
  for (uint32_t a = 0; a < t->rank; a++) {
    const uint32_t alone[] = {0, 1, t->rank - 1};
    bool opens = t->dims[a].size > 1 && (k < 2 || a == alone[k - 2]);
    dims[a] = opens ? symbol(m, t->dims[a].size) : t->dims[a];
    opened += opens;
  }
  v->type = glow_type_with_dims(m->ctx, t, t->rank, dims);
  glow_module_add_extents(m, v->type);
  return opened;
}

/* A storage that gets a value is as open as the value. */
static bool open_saved(GlowNode *n, void *module) {
  if (n->op != GLOW_OP_SAVE)
    return true;
  const GlowType *t = glow_node_in(n, GLOW_SAVE_IN_VALUE)->type;
  GlowValue *storage = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  if (storage->def.storage->cls == GLOW_PLACEHOLDER && !glow_type_is_static(t)) {
    storage->type = t;
    glow_module_add_extents(module, t);
  }
  return true;
}

uint32_t glow_open_inputs(GlowSession *s, unsigned k) {
  GlowModule *m = s->module;
  uint32_t opened = 0;
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  for (uint32_t i = 0; i < names.count; i++) {
    GlowStorage *storage = glow_module_storage(m, names.data[i]);
    if (storage && storage->cls == GLOW_PLACEHOLDER &&
        glow_bindings_find(&s->inputs, names.data[i]))
      opened += open_value(m, &storage->value, k);
  }
  if (!opened || !glow_reinfer_module(m))
    return 0;
  glow_block_walk(s->entry->body, open_saved, m);
  return opened;
}
