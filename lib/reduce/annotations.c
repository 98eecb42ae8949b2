/* Annotations, which say something about a node or the module without being computed: predicates,
 * attributes that have a default, placement of functions, the module's header, locations. */
#include "reduce/delta.h"

/* ---- Predicates ------------------------------------------------------------------------------ */
static bool has_predicate(const GlowNode *n) { return n->pred.value != NULL; }

static void drop_predicate(GlowDelta *d, GlowNode *n) {
  (void)d;
  glow_use_set(&n->pred, NULL);
}

void glow_delta_predicates(GlowDelta *d) { glow_delta_each_node(d, has_predicate, drop_predicate); }

/* ---- Attributes ------------------------------------------------------------------------------ */
static bool reset_member(GlowNode *n, const GlowMember *m, bool only_ask) {
  char *at = (char *)n->members + m->offset;
  if (m->required || glow_member_is_default(m, n->members))
    return false;
  if (!only_ask)
    memcpy(at, m->initial, m->array ? sizeof(GlowArray) : glow_member_size(m));
  return true;
}

static void reset_placement(GlowDelta *d, GlowFunction *f) {
  if (f->device && glow_delta_offer(d))
    f->device = NULL;
  if (f->inline_always && glow_delta_offer(d))
    f->inline_always = false;
  if ((f->arena >= 0 || f->align >= 0) && glow_delta_offer(d)) {
    f->arena = f->align = -1;
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      if (n->op == GLOW_OP_ALLOC)
        ((GlowAllocMembers *)n->members)->at = -1;
  }
}

/* An offset of a buffer is part of a plan, which goes as a whole. */
static void reset_members(GlowDelta *d, GlowNode *n) {
  const GlowOpDesc *desc = glow_node_desc(n);
  if (n->op == GLOW_OP_ALLOC)
    return;
  for (uint32_t i = 0; i < desc->nmembers; i++)
    if (reset_member(n, &desc->members[i], true) && glow_delta_offer(d)) {
      reset_member(n, &desc->members[i], false);
      d->retype = true;
    }
  if (n->shards && glow_delta_offer(d))
    n->shards = 0;
}

void glow_delta_attributes(GlowDelta *d) {
  for (GlowFunction *f = d->module->first_function; f; f = f->next) {
    reset_placement(d, f);
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      reset_members(d, n);
  }
}

/* ---- The header ------------------------------------------------------------------------------ */
void glow_delta_header(GlowDelta *d) {
  GlowModule *m = d->module;
  if (m->name && glow_delta_offer(d))
    m->name = NULL;
  if (m->version >= 0 && glow_delta_offer(d))
    m->version = -1;
  if (m->target && glow_delta_offer(d))
    m->target = NULL;
  if (m->producer && glow_delta_offer(d))
    m->producer = NULL;
}

/* ---- Locations ------------------------------------------------------------------------------- */
static bool has_location(const GlowNode *n) { return n->origin != NULL; }
static bool storage_has_location(const GlowStorage *s) { return s->origin != NULL; }

static void drop_location(GlowDelta *d, GlowNode *n) {
  (void)d;
  n->origin = NULL;
}

static void drop_storage_location(GlowDelta *d, GlowStorage *s) {
  (void)d;
  s->origin = NULL;
}

void glow_delta_locations(GlowDelta *d) {
  glow_delta_each_node(d, has_location, drop_location);
  glow_delta_each_storage(d, storage_has_location, drop_storage_location);
}
