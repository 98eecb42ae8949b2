/* Computes element-wise values of the forward part of a training step again where the backward part
 * reads them, if what they are computed from is kept anyway:
 *
 *   %d = Sub(%x, %mean)  ..  %y = Conv(%x, ..)  ..  Mul(%g, %d)
 *     becomes   ..  %d.1 = Sub(%x, %mean);  Mul(%g, %d.1)
 *
 * The forward part then has %d in one loop with its readers, the backward part too, and neither
 * keeps %d. The place of the text where most bytes are alive divides the two. A value stays where a
 * reader of the backward part is no element-wise node, since no loop would compute it on the way,
 * and where keeping its operands would take more bytes than it does. Only functions that save into
 * variables, or are gradients, have a backward part.
 *
 * Exact. The pass stands behind -cse, which would merge the copies again. */
#include <inttypes.h>

#include "analysis/access.h"
#include "transforms/transforms.h"
#include "transforms/turn.h"

enum { LEAST_BYTES = 4096 };

/* Whether f has a backward part: it changes variables. */
static bool trains(const GlowFunction *f) {
  for (const GlowNode *n = f->body->first; n; n = n->next)
    if (n->op == GLOW_OP_SAVE &&
        glow_outer_class(glow_node_in(n, GLOW_SAVE_IN_STORAGE)) == GLOW_VARIABLE)
      return true;
  return f->primal != NULL;
}

/* Whether a loop around `reader`, behind the turn, can compute v, which has its shape, on the way.
 */
static bool can_fuse(const GlowTurn *t, const GlowUse *u, const GlowValue *v) {
  const GlowNode *reader = u->user;
  return GLOW_HAS(glow_node_desc(reader), ELEMENTWISE) && reader->block == t->function->body &&
         reader->nresults == 1 && u != &reader->pred &&
         glow_type_is_same_shape(reader->results[0].type, v->type) &&
         reader->results[0].type->layout == v->type->layout;
}

/* Whether n and `reader`, behind it, are in loops of their own: a node between them is none of a
 * loop. */
static bool is_apart(const GlowTurn *t, const GlowNode *n, const GlowNode *reader) {
  for (uint32_t i = n->order + 1; i < reader->order; i++) {
    const GlowOpDesc *d = glow_node_desc(t->nodes.data[i]);
    if (!GLOW_HAS(d, ELEMENTWISE) && !GLOW_HAS(d, MOVEMENT))
      return true;
  }
  return false;
}

/* Whether the backward part reads v, only in loops that can compute v on the way. */
static bool is_read_in_loops(const GlowTurn *t, const GlowValue *v) {
  bool late = false;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    if (!glow_turn_reads_late(t, u))
      continue;
    if (!can_fuse(t, u, v) || !is_apart(t, v->def.node, u->user))
      return false;
    late = true;
  }
  return late;
}

/* The bytes of operands that would have to be kept for v's sake. */
static int64_t bytes_for(const GlowTurn *t, const GlowNode *n) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *x = n->operands[i].value;
    if (x && x->kind == GLOW_VALUE_RESULT && !glow_turn_is_kept(t, x))
      bytes += glow_turn_bytes(x);
  }
  return bytes;
}

static bool is_cheap(const GlowTurn *t, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, ELEMENTWISE) || !GLOW_HAS(d, PURE) || n->nresults != 1 || n->nregions ||
      n->pred.value || !n->noperands)
    return false;
  const GlowValue *v = &n->results[0];
  int64_t bytes = glow_turn_bytes(v);
  return bytes >= LEAST_BYTES && is_read_in_loops(t, v) && bytes_for(t, n) * 8 <= bytes;
}

/* Gives each reader of v behind the turn a copy of n of its own. */
static void copy_to_readers(const GlowTurn *t, GlowPassRun *run, GlowNode *n) {
  GlowValue *v = &n->results[0];
  for (GlowUse *u = v->uses, *next; u; u = next) {
    next = u->next;
    if (!glow_turn_reads_late(t, u))
      continue;
    GlowBuilder b = glow_builder_before(u->user);
    GlowNode *copy = glow_node_clone(&b, n, glow_map_create(run->arena));
    copy->order = u->user->order;
    glow_use_set(u, &copy->results[0]);
  }
}

bool glow_pass_recompute_cheap(GlowPassRun *run) {
  if (!trains(run->function))
    return true;
  GlowTurn t = glow_turn_find(run->arena, run->function);
  uint64_t count = 0;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < t.at; i++) {
    GlowNode *n = t.nodes.data[i];
    if (!is_cheap(&t, n))
      continue;
    glow_pass_changed(run, n, "is computed again where the backward part reads it");
    bytes += glow_turn_bytes(&n->results[0]);
    count++;
    copy_to_readers(&t, run, n);
  }
  if (count)
    glow_pass_remark(run, run->function->src,
                     "@%s: %" PRIu64 " values are not kept, %" PRId64 " bytes", run->function->name,
                     count, bytes);
  glow_remove_unneeded(run->function->body);
  return true;
}
