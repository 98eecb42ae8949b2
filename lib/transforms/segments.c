/* See segments.h. */
#include "transforms/segments.h"

#include "ir/dead.h"
#include "ir/loop.h"
#include "lower/lower.h"

enum { FEWEST_TRIPS = 4 };

/* Two loops, and how they are cut: see segments.h. */
typedef struct Pair {
  GlowArena *arena;
  GlowModule *module;
  GlowNode *loop, *back;
  bool *taped; /* by result of `loop`: only `back` reads it, from its last slice */
  int64_t trips, count, length, rest;
  int64_t gain; /* the bytes that are not kept any more */
} Pair;

static const GlowBlock *body_of(const GlowNode *loop) { return loop->regions[0]; }

static uint32_t carried_by(const GlowNode *loop) { return body_of(loop)->nparams - 2; }

/* ---- Which loops ----------------------------------------------------------------------------- */

/* The trips of a loop of the function whose results have known extents; -1 for other nodes. */
static int64_t trips_of(const GlowNode *n) {
  if (n->op != GLOW_OP_LOOP || n->pred.value)
    return -1;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!glow_type_is_tensor(n->results[i].type) || !glow_type_is_static(n->results[i].type))
      return -1;
  return glow_loop_trips(n);
}

/* Whether nothing in the regions of n does more than compute. */
static bool is_pure_inside(const GlowNode *n) {
  const GlowNode *end = body_of(n)->last;
  for (GlowNode *k = body_of(n)->first; k != end; k = glow_next_in_walk(k)) {
    bool ends = GLOW_HAS(glow_node_desc(k), TERMINATOR);
    if (!k->nregions && !ends && !GLOW_HAS(glow_node_desc(k), PURE))
      return false;
  }
  return true;
}

/* The loop whose body alone reads `tape`, which `loop` stacks, one slice in each iteration, from
 * the last slice on; NULL if there is none. */
static GlowNode *reader_of(const GlowNode *loop, const GlowValue *tape, int64_t trips) {
  const GlowBlock *b = tape->uses ? tape->uses->user->block : NULL;
  GlowNode *back = b && b->owner == GLOW_BLOCK_REGION ? b->of.node : NULL;
  if (!back || back->block != loop->block || trips_of(back) != trips)
    return NULL;
  bool backwards = true;
  for (const GlowUse *u = tape->uses; u; u = u->next)
    if (!glow_loop_picks(back, u->user, trips, &backwards) || !backwards ||
        u != &u->user->operands[0] || ((const GlowGatherMembers *)u->user->members)->axis != 0)
      return NULL;
  return back;
}

static int64_t slice_bytes(const GlowNode *loop, uint32_t i) {
  return glow_type_bytes(loop->results[i].type) / loop->results[i].type->dims[0].size;
}

/* Sets how long segments are, so that the slices of `kept` bytes for a segment and those of
 * `starts` bytes for all segments are the fewest bytes; a quarter more, if that leaves no rest.
 * Returns how many. */
static int64_t choose_segments(Pair *p, int64_t kept, int64_t starts) {
  int64_t best = INT64_MAX, even = INT64_MAX, at = 0, evenly = 0;
  for (int64_t length = 2; length <= p->trips / 2 && length * kept / 2 <= best; length++) {
    int64_t bytes = p->trips / length * starts + length * kept;
    at = bytes < best ? length : at;
    best = bytes < best ? bytes : best;
    if (p->trips % length == 0 && bytes < even) {
      evenly = length;
      even = bytes;
    }
  }
  bool is_even = even / 5 <= best / 4;
  p->length = is_even ? evenly : at;
  p->count = p->trips / p->length;
  p->rest = p->trips % p->length;
  return is_even ? even : best;
}

/* Whether n is the first of two loops that are worth to cut. */
static bool find_pair(GlowArena *arena, GlowModule *m, GlowNode *n, Pair *p) {
  *p = (Pair){.arena = arena, .module = m, .loop = n, .trips = trips_of(n)};
  if (p->trips < FEWEST_TRIPS || !is_pure_inside(n))
    return false;
  p->taped = GLOW_NEW_ARRAY(arena, bool, n->nresults);
  int64_t kept = 0, starts = 0;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowNode *back = i < carried_by(n) ? NULL : reader_of(n, &n->results[i], p->trips);
    p->taped[i] = back && (!p->back || p->back == back);
    p->back = p->taped[i] ? back : p->back;
    kept += p->taped[i] ? slice_bytes(n, i) : 0;
    starts += i < carried_by(n) ? glow_type_bytes(n->results[i].type) : 0;
  }
  if (kept > 0)
    p->gain = p->trips * kept - choose_segments(p, kept, starts);
  return p->gain > 0;
}

/* ---- Parts of loops -------------------------------------------------------------------------- */

static GlowValue *number(const Pair *p, const char *what, int64_t value) {
  return glow_constant_int(p->module, p->loop, what, value);
}

static GlowValue *slice(GlowBuilder *b, GlowValue *stack, GlowValue *at) {
  return glow_then(b, GLOW_OP_GATHER, (GlowValue *[]){stack, at}, 2,
                   &(GlowGatherMembers){.axis = 0});
}

static GlowValue *mapped(const GlowMap *map, GlowValue *v) {
  GlowValue *to = v ? glow_map_get(map, v) : NULL;
  return to ? to : v;
}

/* A loop at b of `count` iterations over `body`. */
static GlowNode *make_loop(const Pair *p, GlowBuilder *b, int64_t count, GlowBlock *body,
                           GlowValue *const *inits, uint32_t ninits) {
  GlowValue **ins = GLOW_NEW_ARRAY(p->arena, GlowValue *, ninits + 2);
  ins[0] = number(p, "segment", count);
  for (uint32_t i = 0; i < ninits; i++)
    ins[i + 2] = inits[i];
  GlowNodeSpec spec = {.op = GLOW_OP_LOOP,
                       .ins = ins,
                       .nins = ninits + 2,
                       .regions = &body,
                       .nregions = 1,
                       .nresults = glow_block_terminator(body)->noperands - 1};
  GlowNode *loop = glow_node_create(b, &spec);
  GLOW_CHECK(b->module->ctx, loop, "a Loop cannot be built");
  return loop;
}

/* A body for a loop at b, with the parameters that `like` has. */
static GlowBlock *make_body(GlowBuilder *b, const GlowNode *like, GlowBuilder *inside) {
  const GlowBlock *from = body_of(like);
  GlowBlock *body = glow_build_region(b, from->label, inside);
  for (uint32_t i = 0; i < from->nparams; i++)
    glow_block_add_param(body, from->params[i]->name, from->params[i]->type);
  return body;
}

/* The result of p->loop that is a tape and that n, of p->back's body, reads; -1 if n reads none. */
static int64_t tape_read_by(const Pair *p, const GlowNode *n) {
  for (uint32_t i = 0; n->op == GLOW_OP_GATHER && i < p->loop->nresults; i++)
    if (p->taped[i] && glow_node_in(n, 0) == &p->loop->results[i])
      return i;
  return -1;
}

/* What a part of a loop stacks of its results besides those that it carries. */
typedef enum Stacks { STACKS_OUTPUTS = 1, STACKS_TAPES = 2 } Stacks;

/* `count` iterations of `n` at b, from number `first` on, or from 0 if that is NULL. A Gather of a
 * tape reads the slice of tapes[i] instead, where `tapes` are those of these iterations. The
 * results are those that are carried, then what `stacks` says, in the order of n's results. */
static GlowNode *part_of(const Pair *p, GlowBuilder *b, const GlowNode *n, GlowValue *first,
                         int64_t count, GlowValue *const *inits, GlowValue *const *tapes,
                         unsigned stacks) {
  GlowBuilder in;
  GlowBlock *body = make_body(b, n, &in);
  const GlowBlock *from = body_of(n);
  const GlowNode *end = glow_block_terminator(from);
  GlowMap *map = glow_map_create(p->arena);
  GlowValue **yields = GLOW_NEW_ARRAY(p->arena, GlowValue *, end->noperands);
  for (uint32_t i = 0; i < from->nparams; i++)
    glow_map_set(map, from->params[i], body->params[i]);
  GlowValue *at = body->params[0], *back = NULL;
  if (first)
    glow_map_set(map, from->params[0], glow_then2(&in, GLOW_OP_ADD, first, at));
  if (tapes)
    back = glow_then2(&in, GLOW_OP_SUB, number(p, "last", count - 1), at);
  for (GlowNode *k = from->first; k != end; k = k->next) {
    int64_t tape = tapes ? tape_read_by(p, k) : -1;
    if (tape >= 0)
      glow_map_set(map, &k->results[0], slice(&in, tapes[tape], back));
    else
      glow_node_renumber(glow_node_clone(&in, k, map));
  }
  uint32_t nyields = 0;
  for (uint32_t i = 0; i < end->noperands; i++) {
    bool taped = n == p->loop && i > carried_by(n) && p->taped[i - 1];
    if (i <= carried_by(n) || stacks & (taped ? STACKS_TAPES : STACKS_OUTPUTS))
      yields[nyields++] = mapped(map, end->operands[i].value);
  }
  glow_build_terminator(body, GLOW_OP_YIELD, yields, nyields)->src = end->src;
  glow_remove_unneeded(body);
  return make_loop(p, b, count, body, inits, carried_by(n));
}

/* Ends the body of a loop over segments with the results of `inner`, and, if asked, what the
 * segment starts with as further stacks. */
static void end_segments(const Pair *p, GlowBlock *body, GlowNode *inner, bool stacks_starts) {
  uint32_t carried = body->nparams - 2, count = 0;
  GlowValue **yields = GLOW_NEW_ARRAY(p->arena, GlowValue *, 1 + inner->nresults + carried);
  yields[count++] = body->params[1];
  for (uint32_t i = 0; i < inner->nresults; i++)
    yields[count++] = &inner->results[i];
  for (uint32_t i = 0; stacks_starts && i < carried; i++)
    yields[count++] = body->params[i + 2];
  glow_build_terminator(body, GLOW_OP_YIELD, yields, count)->src = inner->src;
}

/* count * length iterations in segments, without tapes; the last results are what the segments
 * start with. */
static GlowNode *make_segments(const Pair *p, GlowBuilder *b) {
  GlowBuilder in;
  GlowBlock *body = make_body(b, p->loop, &in);
  GlowValue *first = glow_then2(&in, GLOW_OP_MUL, body->params[0], number(p, "length", p->length));
  GlowNode *inner =
      part_of(p, &in, p->loop, first, p->length, body->params + 2, NULL, STACKS_OUTPUTS);
  end_segments(p, body, inner, true);
  GlowValue **inits = GLOW_NEW_ARRAY(p->arena, GlowValue *, carried_by(p->loop) + 1);
  for (uint32_t i = 0; i < carried_by(p->loop); i++)
    inits[i] = glow_node_in(p->loop, GLOW_LOOP_IN_INIT + i);
  return make_loop(p, b, p->count, body, inits, carried_by(p->loop));
}

/* By result of p->loop: where `part`, a loop that stacks nothing but them, has the tapes. */
static GlowValue **tapes_of(const Pair *p, GlowNode *part, bool has_outputs) {
  GlowValue **tapes = GLOW_NEW_ARRAY(p->arena, GlowValue *, p->loop->nresults);
  uint32_t at = carried_by(p->loop);
  for (uint32_t i = at; i < p->loop->nresults; i++)
    if (p->taped[i] || has_outputs)
      tapes[i] = &part->results[at++];
  return tapes;
}

/* Back over the segments, from the derivatives `inits` on. */
static GlowNode *make_back(const Pair *p, GlowBuilder *b, GlowNode *segments,
                           GlowValue *const *inits) {
  GlowBuilder in;
  GlowBlock *body = make_body(b, p->back, &in);
  uint32_t carried = carried_by(p->loop);
  GlowValue *length = number(p, "length", p->length), *j = body->params[0];
  GlowValue *segment = glow_then2(&in, GLOW_OP_SUB, number(p, "last", p->count - 1), j);
  GlowValue *first = glow_then2(&in, GLOW_OP_MUL, segment, length);
  GlowValue *behind = glow_then2(&in, GLOW_OP_MUL, j, length);
  if (p->rest)
    behind = glow_then2(&in, GLOW_OP_ADD, behind, number(p, "rest", p->rest));
  GlowValue **starts = GLOW_NEW_ARRAY(p->arena, GlowValue *, carried + 1);
  for (uint32_t i = 0; i < carried; i++)
    starts[i] = slice(&in, &segments->results[segments->nresults - carried + i], segment);
  GlowNode *again = part_of(p, &in, p->loop, first, p->length, starts, NULL, STACKS_TAPES);
  GlowNode *inner = part_of(p, &in, p->back, behind, p->length, body->params + 2,
                            tapes_of(p, again, false), STACKS_OUTPUTS);
  end_segments(p, body, inner, false);
  return make_loop(p, b, p->count, body, inits, carried_by(p->back));
}

/* ---- Both loops in parts --------------------------------------------------------------------- */

/* Result i of n, of which `segments` has the stack by segments, and `rest`, if it is not NULL, that
 * of the other iterations, behind or in front. */
static GlowValue *joined(const Pair *p, GlowBuilder *b, const GlowNode *n, uint32_t i,
                         GlowValue *segments, GlowValue *rest) {
  GlowDim dims[GLOW_MAX_RANK];
  const GlowType *t = n->results[i].type;
  for (uint32_t k = 0; k < t->rank; k++)
    dims[k] = t->dims[k];
  dims[0] = GLOW_EXACT(p->count * p->length);
  GlowValue *all = glow_build_reshape(b, n, segments, t->rank, dims);
  GlowValue *parts[] = {n == p->back ? rest : all, n == p->back ? all : rest};
  return rest ? glow_build_concat(b, parts, 2, 0) : all;
}

/* The uses and the name of old become those of v. */
static void replace(GlowValue *old, GlowValue *v) {
  GlowStr name = old->name;
  glow_value_replace_uses(old, v);
  glow_value_set_name(old, NULL);
  if (!glow_name_is_number(name))
    glow_value_set_name(v, name);
}

/* Puts `last`, of which the carried results come, and the stacks of both parts in place of n. */
static void replace_results(const Pair *p, GlowBuilder *b, GlowNode *n, GlowNode *segments,
                            GlowNode *rest, GlowNode *last) {
  uint32_t carried = carried_by(n), s = carried, r = carried;
  for (uint32_t i = 0; i < n->nresults; i++) {
    if (i < carried) {
      replace(&n->results[i], &last->results[i]);
      continue;
    }
    bool taped = n == p->loop && p->taped[i];
    if (!taped)
      replace(&n->results[i],
              joined(p, b, n, i, &segments->results[s++], rest ? &rest->results[r] : NULL));
    r++;
  }
}

static GlowValue **results_of(const Pair *p, GlowNode *n) {
  GlowValue **values = GLOW_NEW_ARRAY(p->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++)
    values[i] = &n->results[i];
  return values;
}

static void cut(const Pair *p) {
  GlowBuilder b = glow_builder_before(p->loop);
  GlowNode *segments = make_segments(p, &b), *rest = NULL, *rest_back = NULL;
  if (p->rest)
    rest = part_of(p, &b, p->loop, number(p, "first", p->count * p->length), p->rest,
                   results_of(p, segments), NULL, STACKS_OUTPUTS | STACKS_TAPES);
  replace_results(p, &b, p->loop, segments, rest, rest ? rest : segments);
  b = glow_builder_before(p->back);
  GlowValue **inits = GLOW_NEW_ARRAY(p->arena, GlowValue *, carried_by(p->back) + 1);
  for (uint32_t i = 0; i < carried_by(p->back); i++)
    inits[i] = glow_node_in(p->back, GLOW_LOOP_IN_INIT + i);
  if (rest) {
    rest_back =
        part_of(p, &b, p->back, NULL, p->rest, inits, tapes_of(p, rest, true), STACKS_OUTPUTS);
    inits = results_of(p, rest_back);
  }
  GlowNode *back = make_back(p, &b, segments, inits);
  replace_results(p, &b, p->back, back, rest_back, back);
  glow_node_remove(p->back);
  glow_node_remove(p->loop);
}

bool glow_segment_loop(GlowArena *arena, GlowFunction *f) {
  Pair best = {0}, p;
  for (GlowNode *n = f->body->first; n; n = n->next)
    if (find_pair(arena, f->module, n, &p) && p.gain > best.gain)
      best = p;
  if (!best.loop)
    return false;
  cut(&best);
  return true;
}

const GlowNode *glow_segment_open(const GlowFunction *f) {
  for (const GlowNode *n = f->body->first; n; n = n->next)
    if (n->op == GLOW_OP_LOOP && n->nresults > carried_by(n) && glow_loop_trips(n) < 0)
      return n;
  return NULL;
}
