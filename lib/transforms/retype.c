/* Every type and size of a module. */
#include "transforms/transforms.h"

typedef struct Map {
  GlowModule *module;
  GlowTypeFn *type;
  GlowSizeFn *size;
  void *arg;
} Map;

static void map_value(const Map *m, GlowValue *v) { v->type = m->type(m->arg, v->type); }

static void map_members(const Map *m, GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    if (d->members[i].type != GLOW_MEMBER_TYPE || d->members[i].array)
      continue;
    const GlowType **t = (const GlowType **)(void *)((char *)n->members + d->members[i].offset);
    if (*t)
      *t = m->type(m->arg, *t);
  }
  glow_node_sizes(n, m->size, m->arg);
}

static void map_block(const Map *m, GlowBlock *block) {
  for (uint32_t i = 0; i < block->nparams; i++)
    map_value(m, block->params[i]);
  for (GlowNode *n = block->first; n; n = n->next) {
    map_members(m, n);
    for (uint32_t i = 0; i < n->nresults; i++)
      map_value(m, &n->results[i]);
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        map_block(m, n->regions[i]);
  }
}

void glow_map_types(GlowModule *module, GlowTypeFn *type, GlowSizeFn *size, void *arg) {
  const Map m = {module, type, size, arg};
  for (GlowStorage *s = module->first_storage; s; s = s->next)
    map_value(&m, &s->value);
  for (GlowFunction *f = module->first_function; f; f = f->next) {
    map_block(&m, f->body);
    for (uint32_t i = 0; i < f->nresults; i++)
      f->results[i] = type(arg, f->results[i]);
  }
}

static const GlowType *note_type(void *module, const GlowType *t) {
  glow_module_add_extents(module, t);
  return t;
}

static void note_size(void *module, GlowSize *size) {
  if (size->extent)
    glow_module_add_extent(module, size->extent);
}

void glow_retype(GlowModule *module, GlowTypeFn *type, GlowSizeFn *size, void *arg) {
  glow_map_types(module, type, size, arg);
  module->extents.count = 0;
  glow_map_types(module, note_type, note_size, module);
}
