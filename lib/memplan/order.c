/* Orders of steps with a low peak of live bytes.
 *
 * A step that every other step comes before or after, in any order, cuts the problem: what is alive
 * when it runs does not depend on the orders on both sides. Residual networks and transformers
 * consist of small pieces between such steps. Each piece is solved exactly by dynamic programming
 * over the sets of steps that can have run (order_exact.c), if it has at most 64 steps and not too
 * many such sets; otherwise by child memory (order_greedy.c), as in Glow's scheduler.
 *
 * Only pieces that decide the peak leave the given order. */
#include "memplan/order_internal.h"

enum { MAX_STEPS = 1 << 13 }; /* n * n bits are needed */

/* ---- What is alive --------------------------------------------------------------------------- */

GlowOrderState *glow_order_begin(GlowArena *scratch, const GlowOrderProblem *p) {
  GlowOrderState *s = GLOW_NEW(scratch, GlowOrderState);
  s->problem = p;
  s->left = GLOW_NEW_ARRAY(scratch, uint32_t, p->nvalues);
  bool *made = GLOW_NEW_ARRAY(scratch, bool, p->nvalues);
  for (uint32_t v = 0; v < p->nvalues; v++)
    s->left[v] = p->values[v].stays;
  for (uint32_t i = 0; i < p->nsteps; i++) {
    const GlowOrderStep *t = &p->steps[i];
    for (uint32_t k = 0; k < t->takes.count; k++)
      s->left[t->takes.data[k]]++;
    for (uint32_t k = 0; k < t->makes.count; k++)
      made[t->makes.data[k]] = true;
  }
  for (uint32_t v = 0; v < p->nvalues; v++)
    if (!made[v] && s->left[v])
      s->live += p->values[v].bytes;
  s->peak = s->live;
  return s;
}

void glow_order_run(GlowOrderState *s, uint32_t step) {
  const GlowOrderProblem *p = s->problem;
  const GlowOrderStep *t = &p->steps[step];
  int64_t during = s->live + t->inner;
  for (uint32_t k = 0; k < t->makes.count; k++) {
    int64_t bytes = p->values[t->makes.data[k]].bytes;
    during += bytes;
    s->live += s->left[t->makes.data[k]] ? bytes : 0;
  }
  bool reuses = false;
  for (uint32_t k = 0; k < t->reuses.count; k++)
    reuses = reuses || s->left[t->reuses.data[k]] == 1;
  for (uint32_t k = 0; k < t->takes.count; k++)
    if (--s->left[t->takes.data[k]] == 0)
      s->live -= p->values[t->takes.data[k]].bytes;
  during -= reuses ? t->reused : 0;
  s->peak = during > s->peak ? during : s->peak;
}

int64_t glow_order_peak(GlowArena *scratch, const GlowOrderProblem *p, const uint32_t *order) {
  GlowOrderState *s = glow_order_begin(scratch, p);
  for (uint32_t i = 0; i < p->nsteps; i++)
    glow_order_run(s, order[i]);
  return s->peak;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

uint32_t *glow_order_makers(GlowArena *scratch, const GlowOrderProblem *p) {
  uint32_t *maker = GLOW_NEW_ARRAY(scratch, uint32_t, p->nvalues);
  for (uint32_t v = 0; v < p->nvalues; v++)
    maker[v] = GLOW_ORDER_NONE;
  for (uint32_t i = 0; i < p->nsteps; i++)
    for (uint32_t k = 0; k < p->steps[i].makes.count; k++)
      maker[p->steps[i].makes.data[k]] = i;
  return maker;
}

/* Returns, for each step, how many steps come before it or after it in every order. */
static uint32_t *count_relatives(GlowArena *scratch, const GlowOrderProblem *p) {
  uint32_t n = p->nsteps, words = (n + 63) / 64;
  uint32_t *relatives = GLOW_NEW_ARRAY(scratch, uint32_t, n);
  uint32_t *maker = glow_order_makers(scratch, p);
  uint64_t *before = GLOW_NEW_ARRAY(scratch, uint64_t, (size_t)n * words);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t *mine = &before[(size_t)i * words];
    const GlowOrderStep *t = &p->steps[i];
    for (uint32_t k = 0; k < t->takes.count + t->after.count; k++) {
      uint32_t other =
          k < t->takes.count ? maker[t->takes.data[k]] : t->after.data[k - t->takes.count];
      if (other == GLOW_ORDER_NONE)
        continue;
      for (uint32_t w = 0; w < words; w++)
        mine[w] |= before[(size_t)other * words + w];
      mine[other / 64] |= UINT64_C(1) << other % 64;
    }
    for (uint32_t w = 0; w < words; w++)
      for (uint64_t bits = mine[w]; bits; bits &= bits - 1) {
        relatives[i]++;
        relatives[w * 64 + (uint32_t)__builtin_ctzll(bits)]++;
      }
  }
  return relatives;
}

/* A stretch of the given order, steps [from, to), whose steps may change places among themselves
 * only. given, best: peaks of the given order and of the one that was found. */
typedef struct Piece {
  uint32_t from, to;
  int64_t given, best;
  bool exact;
} Piece;
typedef GLOW_VEC(Piece) Pieces;

static void cut(GlowArena *scratch, const GlowOrderProblem *p, Pieces *pieces) {
  uint32_t *relatives = count_relatives(scratch, p), from = 0;
  for (uint32_t i = 0; i < p->nsteps; i++) {
    if (relatives[i] != p->nsteps - 1)
      continue;
    if (from < i)
      glow_vec_push(scratch, pieces, ((Piece){.from = from, .to = i}));
    glow_vec_push(scratch, pieces, ((Piece){.from = i, .to = i + 1}));
    from = i + 1;
  }
  if (from < p->nsteps)
    glow_vec_push(scratch, pieces, ((Piece){.from = from, .to = p->nsteps}));
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Runs the steps order[from, to): *s moves behind them. Returns their own peak. */
static int64_t run_piece(GlowOrderState *s, const uint32_t *order, uint32_t from, uint32_t to) {
  s->peak = s->live;
  for (uint32_t i = from; i < to; i++)
    glow_order_run(s, order[i]);
  return s->peak;
}

static GlowOrderState copy_state(GlowArena *scratch, const GlowOrderState *s) {
  GlowOrderState copy = *s;
  copy.left = glow_arena_copy(scratch, s->left, s->problem->nvalues * sizeof *copy.left);
  return copy;
}

/* Finds an order of a piece, and its peak. `s` is the state where the piece begins; it moves to
 * where the piece ends. */
static void solve_piece(GlowArena *scratch, GlowOrderState *s, Piece *piece, uint32_t *order) {
  uint32_t from = piece->from, to = piece->to;
  piece->exact = true;
  if (to - from == 1) {
    piece->given = piece->best = run_piece(s, order, from, to);
    return;
  }
  const GlowOrderState start = copy_state(scratch, s);
  GlowOrderState at = copy_state(scratch, s);
  piece->given = piece->best = run_piece(s, order, from, to);
  uint32_t *found = GLOW_NEW_ARRAY(scratch, uint32_t, to);
  glow_order_greedy(scratch, s->problem, from, to, found);
  int64_t peak = run_piece(&at, found, from, to);
  if (peak < piece->best) {
    piece->best = peak;
    memcpy(&order[from], &found[from], (to - from) * sizeof *order);
  }
  piece->exact = glow_order_exact(scratch, &start, from, to, &piece->best, &order[from]);
}

/* No order needs less: each step needs what it takes and makes. */
static int64_t lower_bound(const GlowOrderProblem *p) {
  int64_t most = 0;
  for (uint32_t i = 0; i < p->nsteps; i++) {
    const GlowOrderStep *t = &p->steps[i];
    int64_t bytes = t->inner - (t->reuses.count ? t->reused : 0);
    for (uint32_t k = 0; k < t->takes.count; k++)
      bytes += p->values[t->takes.data[k]].bytes;
    for (uint32_t k = 0; k < t->makes.count; k++)
      bytes += p->values[t->makes.data[k]].bytes;
    most = bytes > most ? bytes : most;
  }
  return most;
}

GlowOrderResult glow_order_find(GlowArena *scratch, const GlowOrderProblem *p, uint32_t *order) {
  GlowOrderResult r = {0};
  for (uint32_t i = 0; i < p->nsteps; i++)
    order[i] = i;
  r.given = r.best = glow_order_peak(scratch, p, order);
  r.exact = r.best == lower_bound(p);
  if (r.exact || p->nsteps > MAX_STEPS)
    return r;
  Pieces pieces = {0};
  cut(scratch, p, &pieces);
  GlowOrderState *s = glow_order_begin(scratch, p);
  r.best = s->peak;
  for (uint32_t i = 0; i < pieces.count; i++) {
    GlowArena *own = glow_arena_create(glow_arena_context(scratch));
    solve_piece(own, s, &pieces.data[i], order);
    glow_arena_destroy(own);
    r.best = pieces.data[i].best > r.best ? pieces.data[i].best : r.best;
  }
  bool all_exact = true;
  for (uint32_t i = 0; i < pieces.count; i++) {
    const Piece *piece = &pieces.data[i];
    for (uint32_t k = piece->from; piece->given <= r.best && k < piece->to; k++)
      order[k] = k;
    all_exact = all_exact && (piece->exact || piece->best < r.best);
  }
  r.exact = all_exact || r.best == lower_bound(p);
  return r;
}
