/* See early.h. */
#include "transforms/early.h"

#include <stdlib.h>

#include "transforms/turn.h"

enum { MOST = 24 }; /* nodes that a group may have; an update of Adam takes 17 */

/* Where a node comes to stand: behind node `anchor` of the old text, as the next-th of those that
 * come there. */
typedef struct Place {
  uint32_t anchor, next;
  GlowNode *node;
} Place;

typedef struct Early {
  GlowTurn turn;
  Place *places; /* by node */
} Early;

/* Nodes that end in Saves, by numbers that ascend. */
typedef struct Group {
  uint32_t count, nodes[MOST];
} Group;

static int compare_places(const void *a, const void *b) {
  const Place *x = a, *y = b;
  if (x->anchor != y->anchor)
    return x->anchor < y->anchor ? -1 : 1;
  return x->next < y->next ? -1 : x->next > y->next;
}

static bool has(const Group *g, uint32_t node) {
  for (uint32_t i = 0; i < g->count; i++)
    if (g->nodes[i] == node)
      return true;
  return false;
}

static bool may_move(const GlowNode *n) {
  return n->op == GLOW_OP_SAVE || (GLOW_HAS(glow_node_desc(n), PURE) && !n->nregions);
}

static bool add(Group *g, const GlowNode *n) {
  uint32_t at = g->count;
  if (has(g, n->order))
    return true;
  if (at == MOST || !may_move(n))
    return false;
  for (; at > 0 && g->nodes[at - 1] > n->order; at--)
    g->nodes[at] = g->nodes[at - 1];
  g->nodes[at] = n->order;
  g->count++;
  return true;
}

/* Adds all that read what nodes of the group compute. False if something reads it that cannot be
 * of a group, or if too many do. */
static bool add_readers(const Early *e, Group *g) {
  for (uint32_t i = 0; i < g->count; i++) {
    const GlowNode *n = e->turn.nodes.data[g->nodes[i]];
    uint32_t before = g->count;
    for (uint32_t k = 0; k < n->nresults; k++)
      for (const GlowUse *u = n->results[k].uses; u; u = u->next)
        if (u->user->block != n->block || !add(g, u->user))
          return false;
    i = g->count > before ? UINT32_MAX : i; /* some stand before this one: from the start */
  }
  return true;
}

/* Whether v can be computed anywhere: storage, or a number that came to the front. */
static bool is_ready(const Early *e, const GlowValue *v) {
  return !v || v->kind != GLOW_VALUE_RESULT || e->places[v->def.node->order].anchor == 0;
}

static bool is_for_group(const Early *e, const Group *g, const GlowNode *n) {
  for (uint32_t k = 0; k < n->noperands; k++)
    if (!is_ready(e, n->operands[k].value))
      return false;
  for (uint32_t k = 0; k < n->nresults; k++)
    for (const GlowUse *u = n->results[k].uses; u; u = u->next)
      if (u->user->block != n->block || !has(g, u->user->order))
        return false;
  return is_ready(e, n->pred.value) && may_move(n);
}

/* Adds what only the group reads, and what is computed of storage: the scaled velocity. */
static bool add_helpers(const Early *e, Group *g) {
  for (uint32_t i = 0; i < g->count; i++) {
    const GlowNode *n = e->turn.nodes.data[g->nodes[i]];
    uint32_t before = g->count;
    for (uint32_t k = 0; k < n->noperands; k++) {
      const GlowValue *v = n->operands[k].value;
      if (v && !is_ready(e, v) && is_for_group(e, g, v->def.node) && !add(g, v->def.node))
        return false;
    }
    i = g->count > before ? UINT32_MAX : i;
  }
  return true;
}

/* The node `first` and all that read its results, until there are only Saves. */
static bool find_group(const Early *e, uint32_t first, Group *g) {
  *g = (Group){0};
  return add(g, e->turn.nodes.data[first]) && add_readers(e, g) && add_helpers(e, g);
}

/* Moves *last to the last node of the function, besides the group, that reads v or what is a view
 * of it. */
static void pass_readers(const Early *e, const Group *g, const GlowValue *v, Place *last) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    if (glow_block_function(n->block) != e->turn.function || has(g, n->order))
      continue;
    if (compare_places(last, &e->places[n->order]) < 0)
      *last = e->places[n->order];
    for (uint32_t k = 0; GLOW_HAS(glow_node_desc(n), MOVEMENT) && k < n->nresults; k++)
      pass_readers(e, g, &n->results[k], last);
  }
}

/* The last place of a node before the group that makes what the group reads, or reads the storage
 * that the group saves into: an update in place comes behind it. */
static Place place_behind(const Early *e, const Group *g) {
  Place last = {0};
  for (uint32_t i = 0; i < g->count; i++) {
    const GlowNode *n = e->turn.nodes.data[g->nodes[i]];
    for (uint32_t k = 0; k < n->noperands + 1; k++) {
      const GlowValue *v = k < n->noperands ? n->operands[k].value : n->pred.value;
      if (v && v->kind == GLOW_VALUE_RESULT && !has(g, v->def.node->order) &&
          compare_places(&last, &e->places[v->def.node->order]) < 0)
        last = e->places[v->def.node->order];
    }
    if (n->op == GLOW_OP_SAVE)
      pass_readers(e, g, n->operands[GLOW_SAVE_IN_STORAGE].value, &last);
  }
  return last;
}

/* Moves the group that begins with node `first`, if there is one and something stands between. */
static void move_group(Early *e, uint32_t first, uint32_t *next) {
  Group g;
  if (!find_group(e, first, &g))
    return;
  Place last = place_behind(e, &g);
  if (e->places[first].anchor <= last.anchor + 1)
    return;
  for (uint32_t i = 0; i < g.count; i++) {
    e->places[g.nodes[i]].anchor = last.anchor;
    e->places[g.nodes[i]].next = ++*next;
  }
}

/* Single numbers that are computed of nothing but numbers, such as the rate of learning, come to
 * the front. */
static void move_numbers(Early *e) {
  for (uint32_t i = 0, next = 0; i < e->turn.nodes.count; i++) {
    const GlowNode *n = e->turn.nodes.data[i];
    bool is_number = may_move(n) && n->op != GLOW_OP_SAVE && !n->pred.value;
    for (uint32_t k = 0; k < n->nresults; k++)
      is_number &= n->results[k].type->rank == 0;
    for (uint32_t k = 0; k < n->noperands && is_number; k++) {
      const GlowValue *v = n->operands[k].value;
      is_number = !v || (v->type->rank == 0 && (v->kind != GLOW_VALUE_RESULT ||
                                                e->places[v->def.node->order].anchor == 0));
    }
    if (is_number)
      e->places[i] = (Place){.next = ++next, .node = e->places[i].node};
  }
}

void glow_save_early(GlowArena *arena, GlowFunction *f) {
  Early e = {.turn = glow_turn_find(arena, f)};
  uint32_t count = e.turn.nodes.count, next = count;
  e.places = GLOW_NEW_ARRAY(arena, Place, count + 1);
  for (uint32_t i = 0; i < count; i++)
    e.places[i] = (Place){.anchor = i + 1, .node = e.turn.nodes.data[i]};
  move_numbers(&e);
  for (uint32_t i = 0; i + 1 < count; i++)
    move_group(&e, i, &next);
  GlowNode *end = e.turn.nodes.data[count - 1];
  qsort(e.places, count, sizeof *e.places, compare_places);
  for (uint32_t i = 0; i < count; i++)
    if (e.places[i].node != end)
      glow_node_move_before(e.places[i].node, end);
}
