/* See dropped.h. */
#include "transforms/dropped.h"

#include <string.h>

#include "ir/dead.h"

static bool can_run_again(const GlowNode *n) {
  return GLOW_HAS(glow_node_desc(n), PURE) && !n->nregions && n->noperands > 0;
}

/* Whether the function saves into storage that n reads before node number `at`: behind the Save, n
 * would hold up the old value. */
static bool is_saved_over(const GlowNode *n, uint32_t at) {
  for (uint32_t r = 0; r < n->noperands; r++) {
    const GlowValue *x = n->operands[r].value;
    for (const GlowUse *u = x && x->kind == GLOW_VALUE_STORAGE ? x->uses : NULL; u; u = u->next)
      if (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE] &&
          glow_block_function(u->user->block) == glow_block_function(n->block) &&
          u->user->order < at)
        return true;
  }
  return false;
}

static uint32_t first_reader(const GlowTurn *t, const GlowValue *v) {
  uint32_t first = UINT32_MAX;
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (glow_turn_reads_late(t, u) && u->user->order < first)
      first = u->user->order;
  return first;
}

GlowKept glow_kept_find(GlowArena *arena, GlowFunction *f) {
  GlowKept k = {.arena = arena, .turn = glow_turn_find(arena, f)};
  for (uint32_t i = 0; i < k.turn.at; i++)
    for (uint32_t r = 0; r < k.turn.nodes.data[i]->nresults; r++) {
      GlowValue *v = &k.turn.nodes.data[i]->results[r];
      if (glow_turn_is_kept(&k.turn, v) && !glow_turn_is_small(&k.turn, v) &&
          can_run_again(v->def.node) && !is_saved_over(v->def.node, first_reader(&k.turn, v)))
        glow_vec_push(arena, &k.values, v);
    }
  k.dropped = GLOW_NEW_ARRAY(arena, bool, k.values.count + 1);
  k.needed = GLOW_NEW_ARRAY(arena, bool, k.turn.at + 1);
  k.at = glow_map_create(arena);
  for (uint32_t i = 0; i < k.values.count; i++)
    glow_map_set(k.at, k.values.data[i], &k.dropped[i]);
  return k;
}

/* ---- What runs again ------------------------------------------------------------------------- */

static bool is_of_first_part(const GlowKept *k, const GlowValue *v) {
  return v && v->kind == GLOW_VALUE_RESULT && v->def.node->order < k->turn.at;
}

static bool is_dropped(const GlowKept *k, const GlowValue *v) {
  const bool *dropped = glow_map_get(k->at, v);
  return dropped && *dropped;
}

/* Whether v is there for copies in front of node number `at`, or has to be. */
static bool stays(const GlowKept *k, const GlowValue *v, uint32_t at) {
  return !is_of_first_part(k, v) || !can_run_again(v->def.node) || is_saved_over(v->def.node, at) ||
         glow_turn_is_small(&k->turn, v) || (glow_turn_is_kept(&k->turn, v) && !is_dropped(k, v));
}

/* Marks in k->needed the node of v and those before it that have to run again in front of node
 * number `at`, where values have these copies. */
static void find_needed(const GlowKept *k, const GlowMap *copies, const GlowValue *v, uint32_t at) {
  memset(k->needed, 0, k->turn.at * sizeof *k->needed);
  k->needed[v->def.node->order] = true;
  for (uint32_t i = v->def.node->order + 1; i-- > 0;) {
    const GlowNode *n = k->turn.nodes.data[i];
    for (uint32_t r = 0; k->needed[i] && r < n->noperands; r++) {
      const GlowValue *x = n->operands[r].value;
      if (!stays(k, x, at) && !(copies && glow_map_get(copies, x)))
        k->needed[x->def.node->order] = true;
    }
  }
}

int64_t glow_kept_cost(const GlowKept *k, uint32_t i) {
  const GlowValue *v = k->values.data[i];
  int64_t cost = 0;
  find_needed(k, NULL, v, first_reader(&k->turn, v));
  for (uint32_t n = 0; n <= v->def.node->order; n++)
    cost += k->needed[n] ? glow_turn_cost(k->turn.nodes.data[n]) : 0;
  return cost;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

typedef struct Drop {
  GlowKept *k;
  GlowMap *copies; /* of values that are not kept, so far */
  bool apart;      /* see glow_kept_drop */
} Drop;

static bool is_weight(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls != GLOW_PLACEHOLDER;
}

/* Sets what a copy of n reads at b: copies, and values that stay behind a Barrier. */
static void map_operands(const Drop *d, GlowBuilder *b, const GlowNode *n, GlowValue *after,
                         GlowMap *map) {
  for (uint32_t r = 0; r < n->noperands; r++) {
    GlowValue *x = n->operands[r].value, *copy = x ? glow_map_get(d->copies, x) : NULL;
    if (!x || glow_map_get(map, x) || is_weight(x))
      continue;
    bool is_made_of_nothing = x->kind == GLOW_VALUE_RESULT && !x->def.node->noperands;
    if (!copy && !is_made_of_nothing)
      copy = &glow_turn_hold(b, x, x, after)->results[0];
    if (copy)
      glow_map_set(map, x, copy);
  }
}

/* Lets the second part read `copy` in place of v. */
static void read_copy(const Drop *d, GlowValue *v, GlowValue *copy) {
  for (GlowUse *u = v->uses, *next; u; u = next) {
    next = u->next;
    if (glow_turn_reads_late(&d->k->turn, u))
      glow_use_set(u, copy);
  }
}

/* Computes v again in front of `reader`. */
static void run_again(Drop *d, const GlowValue *v, GlowNode *reader) {
  GlowBuilder b = glow_builder_before(reader);
  b.pred = NULL;
  GlowMap *map = glow_map_create(d->k->arena);
  GlowValue *after = glow_turn_value_before(&d->k->turn, reader);
  find_needed(d->k, d->copies, v, reader->order);
  for (uint32_t i = 0, end = v->def.node->order; i <= end; i++) {
    GlowNode *n = d->k->turn.nodes.data[i];
    if (!d->k->needed[i])
      continue;
    map_operands(d, &b, n, after, map);
    GlowNode *copy = glow_turn_copy(&b, n, after, map);
    for (uint32_t r = 0; r < n->nresults; r++)
      if (is_dropped(d->k, &n->results[r]) && !(d->apart && &n->results[r] != v)) {
        glow_map_set(d->copies, &n->results[r], &copy->results[r]);
        read_copy(d, &n->results[r], &copy->results[r]);
      }
  }
}

void glow_kept_drop(GlowKept *k, bool apart) {
  Drop d = {.k = k, .copies = glow_map_create(k->arena), .apart = apart};
  for (uint32_t i = k->turn.at; i < k->turn.nodes.count; i++) {
    GlowNode *n = k->turn.nodes.data[i];
    for (GlowNode *in = n; in && (in == n || in->block != n->block); in = glow_next_in_walk(in))
      for (uint32_t r = 0; r < in->noperands; r++) {
        GlowValue *v = in->operands[r].value;
        if (v && is_dropped(k, v) && !glow_map_get(d.copies, v))
          run_again(&d, v, n);
      }
  }
  glow_remove_unneeded(k->turn.function->body);
}
