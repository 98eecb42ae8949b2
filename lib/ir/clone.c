/* Deep copies of nodes and modules. A GlowMap maps the values of the original to those of the copy;
 * a value without an entry is used as it is. Types and strings belong to the context and are
 * shared. */
#include <string.h>

#include "ir/ir_internal.h"

static GlowValue *mapped(GlowMap *map, GlowValue *v) {
  GlowValue *to = v ? glow_map_get(map, v) : NULL;
  return to ? to : v;
}

static void clone_nodes(GlowBlock *to, const GlowBlock *from, GlowMap *map);

static GlowBlock *clone_block(GlowModule *m, GlowNames *names, const GlowBlock *from,
                              GlowMap *map) {
  GlowBlock *b = glow_block_create(m, from->level, names, from->label);
  b->scalar = from->scalar;
  for (uint32_t i = 0; i < from->nparams; i++)
    glow_map_set(map, from->params[i],
                 glow_block_add_param(b, from->params[i]->name, from->params[i]->type));
  return b;
}

GlowNode *glow_node_clone(GlowBuilder *b, const GlowNode *n, GlowMap *map) {
  GlowModule *m = b->module;
  GlowNodeShape shape = {n->nouts, glow_node_nins(n), n->nextra, n->nresults, n->nregions};
  GlowNode *c = glow_node_new(m, n->op, shape);
  glow_members_copy(m->arena, glow_node_desc(n), c->members, n->members);
  c->shards = n->shards;
  c->src = n->src;
  c->origin = n->origin ? glow_arena_copy(m->arena, n->origin, sizeof *n->origin) : NULL;
  bool terminator = GLOW_HAS(glow_node_desc(n), TERMINATOR);
  glow_node_insert(c, b->block,
                   b->before || terminator ? b->before : glow_block_terminator(b->block));
  for (uint32_t i = 0; i < n->noperands; i++) {
    glow_use_set(&c->operands[i], mapped(map, n->operands[i].value));
    c->operands[i].qual = n->operands[i].qual;
  }
  glow_use_set(&c->pred, n->pred.value ? mapped(map, n->pred.value) : terminator ? NULL : b->pred);
  for (uint32_t i = 0; i < n->nregions; i++) {
    const GlowBlock *from = n->regions[i];
    if (!from)
      continue;
    GlowBlock *region = clone_block(m, from->scalar ? NULL : b->block->names, from, map);
    glow_node_attach_region(c, i, region);
    clone_nodes(region, from, map);
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *from = &n->results[i], *to = &c->results[i];
    to->type = from->type;
    if (from->name)
      glow_value_set_name(to, from->name);
    glow_map_set(map, from, to);
  }
  return c;
}

void glow_node_renumber(GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].name && glow_name_is_number(n->results[i].name))
      glow_value_set_name(&n->results[i], NULL);
}

static void clone_nodes(GlowBlock *to, const GlowBlock *from, GlowMap *map) {
  GlowBuilder b = {.module = to->module, .block = to};
  for (const GlowNode *n = from->first; n; n = n->next)
    glow_node_clone(&b, n, map);
}

static void clone_storage(GlowModule *to, const GlowStorage *s, GlowMap *map) {
  GlowInit init = s->init;
  if (init.eval) {
    init.eval = clone_block(to, NULL, s->init.eval, map);
    clone_nodes(init.eval, s->init.eval, map);
  }
  GlowStorage *c = glow_storage_create(to, s->cls, s->value.name, s->value.type, init);
  c->src = s->src;
  c->origin = s->origin ? glow_arena_copy(to->arena, s->origin, sizeof *s->origin) : NULL;
  glow_map_set(map, &s->value, &c->value);
}

static void clone_function(GlowModule *to, const GlowFunction *f, GlowMap *map) {
  GlowArena *arena = to->arena;
  GlowFunction *c = glow_function_create(to, f->kind, f->name);
  GlowFunction shell = *c;
  *c = *f;
  c->body = shell.body;
  c->prev = shell.prev;
  c->next = shell.next;
  c->module = to;
  c->results = glow_arena_copy(arena, f->results, f->nresults * sizeof *f->results);
  if (f->result_names)
    c->result_names =
        glow_arena_copy(arena, f->result_names, f->nresults * sizeof *f->result_names);
  c->from = glow_arena_copy(arena, f->from, f->nfrom * sizeof *f->from);
  c->wrt = glow_arena_copy(arena, f->wrt, f->nwrt * sizeof *f->wrt);
  c->keeping = glow_arena_copy(arena, f->keeping, f->nkeeping * sizeof *f->keeping);
  for (uint32_t i = 0; i < f->body->nparams; i++) {
    GlowValue *p = f->body->params[i];
    glow_map_set(map, p, glow_block_add_param(c->body, p->name, p->type));
  }
  clone_nodes(c->body, f->body, map);
}

GlowModule *glow_module_clone(const GlowModule *m) {
  GlowModule *c = glow_module_create(m->ctx, m->name);
  c->version = m->version;
  c->target = m->target;
  c->src = m->src;
  c->base = m->base;
  c->producer = m->producer;
  c->path_dir = m->path_dir;
  c->elided = m->elided;
  for (uint32_t i = 0; i < m->extents.count; i++)
    glow_vec_push(c->arena, &c->extents, m->extents.data[i]);
  GlowArena *scratch = glow_arena_create(m->ctx);
  GlowMap *map = glow_map_create(scratch);
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    clone_storage(c, s, map);
  for (const GlowFunction *f = m->first_function; f; f = f->next)
    clone_function(c, f, map);
  glow_arena_destroy(scratch);
  return c;
}
