/* See rerun.h. A state says which nodes have run and are not forgotten, as bits, and how many of
 * the nodes that run once, in the order of the text, have run. A step from it forgets a node, or
 * runs one whose operands are there. What states cost is lowered until no step lowers it. */
#include "transforms/rerun.h"

#include "ir/dead.h"
#include "transforms/turn.h"

enum { MOST_BITS = 16, MOST_STATES = 1 << 18 };

#define NEVER INT64_MAX
#define NO_MOVE UINT32_MAX

/* A node of the body. Those with results have a bit. */
typedef struct Move {
  GlowNode *node;
  uint32_t bit;   /* 0: no results */
  uint32_t reads; /* the bits of the nodes whose results it reads */
  int64_t bytes;  /* of its results */
  int64_t inner;  /* alive in its regions */
  int64_t cost;   /* 0 if it runs once */
  bool once;
  uint32_t from, until; /* it runs when so many of the nodes have run that run once */
} Move;

typedef struct Search {
  GlowArena *arena;
  GlowFunction *function;
  GLOW_VEC(Move) moves;    /* in the order of the text */
  GLOW_VEC(uint32_t) once; /* those that run once */
  uint32_t nbits, nstates;
  int64_t limit;    /* the bytes that may be alive */
  bool least;       /* a state costs the most bytes alive on the way to it, not the work */
  int64_t *cost;    /* by state, least so far */
  uint32_t *before; /* by state: the one before it on that way, */
  uint32_t *move;   /* and the move from there; NO_MOVE: a node is forgotten */
  bool *waits;      /* by state: it is in the queue */
  uint32_t *queue;  /* a ring of states whose cost was lowered */
  uint32_t first, count;
} Search;

/* ---- The nodes ------------------------------------------------------------------------------- */

/* A number that is made of nothing is always there. */
static bool is_given(const GlowNode *n) {
  return n->noperands == 0 && n->nresults == 1 && n->results[0].type->rank == 0;
}

static bool runs_once(const GlowNode *n) {
  return !GLOW_HAS(glow_node_desc(n), PURE) || n->nregions || n->pred.value || n->noperands == 0;
}

/* A use of a node's operand, or of its predicate, by number; NULL behind the last. */
static const GlowUse *use_at(const GlowNode *n, uint32_t i) {
  return i < n->noperands ? &n->operands[i] : i == n->noperands ? &n->pred : NULL;
}

/* Sets when m runs because of what it reads of storage x: what the Saves before it have left. */
static void set_window(const Search *s, Move *m, const GlowValue *x) {
  for (const GlowUse *u = x->uses; u; u = u->next) {
    if (u->user->op != GLOW_OP_SAVE || u != &u->user->operands[GLOW_SAVE_IN_STORAGE] ||
        glow_block_function(u->user->block) != s->function)
      continue;
    for (uint32_t k = 0; k < s->once.count; k++) {
      uint32_t order = s->moves.data[s->once.data[k]].node->order;
      if (order != u->user->order)
        continue;
      if (order < m->node->order && m->from < k + 1)
        m->from = k + 1;
      if (order > m->node->order && m->until > k)
        m->until = k;
    }
  }
}

/* Sets what m reads, in its regions, too. */
static void set_reads(const Search *s, Move *m) {
  m->until = s->once.count;
  for (const GlowNode *n = m->node; n && n->order == m->node->order;
       n = glow_next_in_walk((GlowNode *)n)) {
    const GlowUse *u;
    for (uint32_t i = 0; (u = use_at(n, i)) != NULL; i++) {
      if (!u->value)
        continue;
      for (uint32_t k = 0; u->value->kind == GLOW_VALUE_RESULT && k < s->moves.count; k++)
        m->reads |= s->moves.data[k].node == u->value->def.node && &s->moves.data[k] != m
                        ? s->moves.data[k].bit
                        : 0;
      if (u->value->kind == GLOW_VALUE_STORAGE && !m->once)
        set_window(s, m, u->value);
    }
  }
}

/* False if there are too many nodes, or none that has to run, or a Barrier, behind which its
 * operand lives on. */
static bool collect(Search *s) {
  GlowTurn t = glow_turn_find(s->arena, s->function);
  if (t.nodes.count > 4 * MOST_BITS)
    return false;
  for (uint32_t i = 0; i < t.nodes.count; i++) {
    GlowNode *n = t.nodes.data[i];
    if (is_given(n))
      continue;
    Move m = {.node = n, .once = runs_once(n), .inner = t.inner[i]};
    m.bytes = glow_turn_result_bytes(n);
    m.bit = n->nresults ? 1u << s->nbits++ : 0;
    m.cost = m.once ? 0 : glow_turn_cost(n);
    if (s->nbits > MOST_BITS || n->op == GLOW_OP_BARRIER)
      return false;
    if (m.once)
      glow_vec_push(s->arena, &s->once, s->moves.count);
    glow_vec_push(s->arena, &s->moves, m);
  }
  for (uint32_t i = 0; i < s->moves.count; i++)
    set_reads(s, &s->moves.data[i]);
  s->nstates = (s->once.count + 1) << s->nbits;
  return s->once.count && s->nstates <= MOST_STATES;
}

/* ---- The states ------------------------------------------------------------------------------ */

static uint32_t set_of(const Search *s, uint32_t state) { return state & ((1u << s->nbits) - 1); }

static int64_t bytes_of(const Search *s, uint32_t set) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < s->moves.count; i++)
    bytes += set & s->moves.data[i].bit ? s->moves.data[i].bytes : 0;
  return bytes;
}

static void reach(Search *s, uint32_t state, int64_t cost, uint32_t before, uint32_t move) {
  if (cost >= s->cost[state])
    return;
  s->cost[state] = cost;
  s->before[state] = before;
  s->move[state] = move;
  if (!s->waits[state])
    s->queue[(s->first + s->count++) % s->nstates] = state;
  s->waits[state] = true;
}

/* Takes all steps from a state. */
static void leave(Search *s, uint32_t state) {
  uint32_t set = set_of(s, state), done = state >> s->nbits;
  int64_t cost = s->cost[state], here = bytes_of(s, set);
  for (uint32_t bit = 1; bit <= set; bit <<= 1)
    if (set & bit)
      reach(s, state ^ bit, cost, state, NO_MOVE);
  for (uint32_t i = 0; i < s->moves.count; i++) {
    const Move *m = &s->moves.data[i];
    int64_t alive = here + m->bytes + m->inner;
    bool next = m->once ? done < s->once.count && s->once.data[done] == i
                        : !(set & m->bit) && done >= m->from && done <= m->until;
    if (!next || (m->reads & ~set) || alive > s->limit)
      continue;
    uint32_t to = (set | m->bit) + ((done + m->once) << s->nbits);
    reach(s, to, s->least ? (alive > cost ? alive : cost) : cost + m->cost, state, i);
  }
}

/* The state in which all nodes that run once have run, at the least cost; NO_MOVE if there is
 * none. */
static uint32_t find(Search *s) {
  s->cost = GLOW_NEW_ARRAY(s->arena, int64_t, s->nstates);
  s->before = GLOW_NEW_ARRAY(s->arena, uint32_t, s->nstates);
  s->move = GLOW_NEW_ARRAY(s->arena, uint32_t, s->nstates);
  s->waits = GLOW_NEW_ARRAY(s->arena, bool, s->nstates);
  s->queue = GLOW_NEW_ARRAY(s->arena, uint32_t, s->nstates);
  for (uint32_t i = 0; i < s->nstates; i++)
    s->cost[i] = NEVER;
  reach(s, 0, 0, 0, NO_MOVE);
  while (s->count) {
    uint32_t state = s->queue[s->first];
    s->first = (s->first + 1) % s->nstates;
    s->count--;
    s->waits[state] = false;
    leave(s, state);
  }
  uint32_t best = s->once.count << s->nbits;
  for (uint32_t i = best; i < s->nstates; i++)
    best = s->cost[i] < s->cost[best] ? i : best;
  return s->cost[best] < NEVER ? best : NO_MOVE;
}

int64_t glow_rerun_least(GlowArena *arena, GlowFunction *f) {
  Search s = {.arena = arena, .function = f, .least = true};
  s.limit = glow_turn_find(arena, f).peak; /* the order of the text is one of all */
  if (!collect(&s))
    return -1;
  uint32_t end = find(&s);
  return end == NO_MOVE ? -1 : s.cost[end];
}

/* ---- The new order --------------------------------------------------------------------------- */

/* The moves on the way to a state, in their order. */
typedef struct Way {
  Search *s;
  GLOW_VEC(uint32_t) moves;
  GlowMap *now;     /* results of nodes -> what they are at this place: themselves, or copies */
  uint32_t at;      /* the place in `moves` */
  GlowNode *before; /* where nodes are put: in front of the last of those that run once */
} Way;

static void find_moves(Way *w, uint32_t end) {
  for (uint32_t state = end; state; state = w->s->before[state])
    if (w->s->move[state] != NO_MOVE)
      glow_vec_push(w->s->arena, &w->moves, w->s->move[state]);
  for (uint32_t i = 0; 2 * i + 1 < w->moves.count; i++) {
    uint32_t *a = &w->moves.data[i], *b = &w->moves.data[w->moves.count - 1 - i], move = *a;
    *a = *b;
    *b = move;
  }
}

/* Whether a move from this one on reads what `move` has now, before it runs again. */
static bool is_read_later(const Way *w, uint32_t move) {
  for (uint32_t i = w->at; i < w->moves.count; i++) {
    if (w->s->moves.data[w->moves.data[i]].reads & w->s->moves.data[move].bit)
      return true;
    if (w->moves.data[i] == move)
      return false;
  }
  return false;
}

static GlowValue *current(const Way *w, GlowValue *v) {
  GlowValue *now = v ? glow_map_get(w->now, v) : NULL;
  return now ? now : v;
}

/* What a copy at this place has to wait for: the value that was computed last of those that are
 * still read, v not counted. NULL if there is none. */
static GlowValue *value_before(const Way *w, const GlowValue *v) {
  for (uint32_t i = w->at; i-- > 0;) {
    const GlowNode *n = w->s->moves.data[w->moves.data[i]].node;
    for (uint32_t r = 0; r < n->nresults; r++)
      if (&n->results[r] != v && is_read_later(w, w->moves.data[i]))
        return current(w, (GlowValue *)&n->results[r]);
  }
  return NULL;
}

/* Runs a node again. What it reads comes through Barriers, so that nobody merges it with the node
 * that has run before. */
static void run_again(Way *w, GlowNode *n) {
  GlowBuilder b = glow_builder_before(w->before);
  GlowMap *map = glow_map_create(w->s->arena);
  b.src = n->src;
  b.origin = n->origin;
  b.pred = NULL;
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *x = n->operands[i].value;
    bool holds = x && (x->kind == GLOW_VALUE_RESULT ? !is_given(x->def.node)
                                                    : x->kind != GLOW_VALUE_STORAGE ||
                                                          x->def.storage->cls == GLOW_PLACEHOLDER);
    if (holds && !glow_map_get(map, x))
      glow_map_set(map, x, &glow_turn_hold(&b, x, current(w, x), value_before(w, x))->results[0]);
  }
  GlowNode *copy = glow_turn_copy(&b, n, value_before(w, NULL), map);
  for (uint32_t r = 0; r < n->nresults; r++)
    glow_map_set(w->now, &n->results[r], &copy->results[r]);
}

/* Puts a node that runs for the first time here, and lets it read what there is. */
static void run_first(Way *w, GlowNode *n) {
  GlowBlock *body = n->block;
  if (n != w->before)
    glow_node_move_before(n, w->before);
  for (GlowNode *k = n; k && (k == n || k->block != body); k = glow_next_in_walk(k)) {
    const GlowUse *u;
    for (uint32_t i = 0; (u = use_at(k, i)) != NULL; i++)
      if (current(w, u->value) != u->value)
        glow_use_set((GlowUse *)u, current(w, u->value));
  }
  for (uint32_t r = 0; r < n->nresults; r++)
    glow_map_set(w->now, &n->results[r], &n->results[r]);
}

bool glow_rerun(GlowArena *arena, GlowFunction *f, int64_t bytes) {
  Search s = {.arena = arena, .function = f, .limit = bytes};
  uint32_t end = collect(&s) ? find(&s) : NO_MOVE;
  if (end == NO_MOVE)
    return false;
  Way w = {.s = &s, .now = glow_map_create(arena)};
  w.before = s.moves.data[s.once.data[s.once.count - 1]].node;
  find_moves(&w, end);
  bool *ran = GLOW_NEW_ARRAY(arena, bool, s.moves.count);
  for (w.at = 0; w.at < w.moves.count; w.at++) {
    GlowNode *n = s.moves.data[w.moves.data[w.at]].node;
    if (ran[w.moves.data[w.at]])
      run_again(&w, n);
    else
      run_first(&w, n);
    ran[w.moves.data[w.at]] = true;
  }
  glow_remove_unneeded(f->body);
  return true;
}
