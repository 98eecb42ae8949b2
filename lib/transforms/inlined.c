/* See inlined.h. Unlike -inline, which replaces Calls where they are and callees first, this goes
 * from the caller down and leaves every function as it is. */
#include "transforms/inlined.h"

#include "transforms/transforms.h"

enum { MOST_NODES = 100000 };

typedef struct Copy {
  GlowPassRun *run;
  const GlowFunction *root;
  const GlowMap *keep;
  GlowSavedValues *saved;
  uint32_t left; /* nodes that may still be copied */
} Copy;

GlowValue *glow_inlined_value(const GlowMap *map, GlowValue *v) {
  GlowValue *to = v ? glow_map_get(map, v) : NULL;
  return to ? to : v;
}

GlowFunction *glow_callee(const GlowNode *n) {
  return n->op == GLOW_OP_CALL
             ? glow_module_function(n->block->module, ((const GlowCallMembers *)n->members)->callee)
             : NULL;
}

static bool is_kept(const Copy *c, const GlowNode *call) {
  return glow_map_get(c->keep, ((const GlowCallMembers *)call->members)->callee) != NULL;
}

static void save(Copy *c, GlowValue *storage, GlowValue *value) {
  for (uint32_t i = 0; i < c->saved->count; i++)
    if (c->saved->data[i].storage == storage) {
      c->saved->data[i].value = value;
      return;
    }
  GlowSavedValue s = {storage, value};
  glow_vec_push(c->run->arena, c->saved, s);
}

static bool copy_body(Copy *c, GlowBuilder *b, const GlowFunction *f, GlowMap *map, bool callee);

/* The results of the Call n, of the copies of its operands; without a map, of the operands. NULL
 * after a diagnostic. */
static GlowValue **call(Copy *c, GlowBuilder *b, const GlowNode *n, const GlowMap *map) {
  GlowPassRun *run = c->run;
  const GlowFunction *f = glow_callee(n);
  if (!f || f->kind != GLOW_FUNC) {
    glow_error(run->ctx, glow_node_loc(n), "@%s has no body that could be copied here",
               f ? f->name : "");
    return NULL;
  }
  GlowMap *inner = glow_map_create(run->arena);
  for (uint32_t i = 0; i < n->noperands; i++)
    glow_map_set(inner, f->body->params[i],
                 map ? glow_inlined_value(map, n->operands[i].value) : n->operands[i].value);
  if (!copy_body(c, b, f, inner, true))
    return NULL;
  GlowValue **results = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults + 1);
  const GlowNode *end = glow_block_terminator(f->body);
  for (uint32_t i = 0; i < n->nresults; i++)
    results[i] = glow_inlined_value(inner, end->operands[i].value);
  return results;
}

/* Replaces the Calls in the regions of a copied node. Nothing is saved there. */
static bool expand_regions(Copy *c, GlowNode *n) {
  for (uint32_t r = 0; r < n->nregions; r++)
    for (GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL, *next; k; k = next) {
      next = k->next;
      if (!expand_regions(c, k))
        return false;
      if (k->op != GLOW_OP_CALL || is_kept(c, k))
        continue;
      GlowBuilder b = glow_builder_before(k);
      uint32_t saves = c->saved->count;
      GlowValue **results = call(c, &b, k, NULL);
      if (results && c->saved->count != saves)
        glow_error(c->run->ctx, glow_node_loc(k), "@%s saves, and is called in a region",
                   glow_callee(k)->name);
      if (!results || c->saved->count != saves)
        return false;
      glow_node_replace(k, results, k->nresults);
    }
  return true;
}

static bool count(Copy *c, const GlowNode *n) {
  if (c->left-- > 0)
    return true;
  glow_error(c->run->ctx, glow_node_loc(n), "@%s has more than %d nodes without Calls",
             c->root->name, MOST_NODES);
  return false;
}

static bool copy_node(Copy *c, GlowBuilder *b, const GlowNode *n, GlowMap *map, bool callee) {
  if (!count(c, n))
    return false;
  if (n->op != GLOW_OP_CALL || is_kept(c, n)) {
    GlowNode *copy = glow_node_clone(b, n, map);
    if (callee)
      glow_node_renumber(copy);
    return expand_regions(c, copy);
  }
  GlowValue **results = call(c, b, n, map);
  for (uint32_t i = 0; results && i < n->nresults; i++)
    glow_map_set(map, &n->results[i], results[i]);
  return results != NULL;
}

static bool copy_body(Copy *c, GlowBuilder *b, const GlowFunction *f, GlowMap *map, bool callee) {
  for (uint32_t i = 0; i < c->saved->count; i++)
    glow_map_set(map, c->saved->data[i].storage, c->saved->data[i].value);
  const GlowNode *end = glow_block_terminator(f->body);
  for (const GlowNode *n = f->body->first; n && n != end; n = n->next)
    if (n->op != GLOW_OP_SAVE && !copy_node(c, b, n, map, callee))
      return false;
  for (const GlowNode *n = f->body->first; n && n != end; n = n->next)
    if (n->op == GLOW_OP_SAVE)
      save(c, glow_node_in(n, GLOW_SAVE_IN_STORAGE),
           glow_inlined_value(map, glow_node_in(n, GLOW_SAVE_IN_VALUE)));
  return true;
}

bool glow_clone_inlined(GlowPassRun *run, GlowBuilder *b, const GlowFunction *f,
                        const GlowMap *keep, GlowMap *map, GlowSavedValues *saved) {
  Copy c = {.run = run, .root = f, .keep = keep, .saved = saved, .left = MOST_NODES};
  return copy_body(&c, b, f, map, false);
}
