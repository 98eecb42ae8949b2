/* What -recompute finds on small graphs against all ways there are: a search over the sets of
 * values that are alive, in which any value may be computed again at any time. */
#include <string.h>

#include "driver/passes.h"
#include "ops/infer.h"
#include "support/diag.h"
#include "test/unit/unit.h"
#include "transforms/turn.h"

enum { MOST = 8, NODES = 12 };

static uint32_t state;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* A value of a graph: a matrix. It is made of the value `before` by a MatMul with a weight if
 * `reads` is 0, else of all values that `reads` has as bits. */
typedef struct Value {
  uint32_t rows, columns, before, inner; /* inner: the columns of `before` */
  unsigned reads;
} Value;

/* The first part computes n values, the second part `late` ones, each of which reads the one before
 * besides. */
typedef struct Graph {
  uint32_t n, late;
  Value values[MOST], lates[MOST];
} Graph;

static int64_t bytes_of(const Value *v) { return (int64_t)sizeof(float) * v->rows * v->columns; }

static unsigned reads_of(const Value *v) { return v->reads ? v->reads : 1u << v->before; }

/* What the pass takes for the cost of a value. */
static int64_t cost_of(const Graph *g, uint32_t i) {
  const Value *v = &g->values[i];
  int64_t elements = (int64_t)v->rows * v->columns;
  return v->inner && !v->reads ? elements * v->inner : 2 * bytes_of(v);
}

static uint32_t draw_extent(void) { return 1u << (1 + draw(4)); }

/* A graph as -grad makes them: the second part goes back over the values, and reads each once, or
 * what it was made of. The values of a chain read the one before. */
static Graph draw_graph(bool chain) {
  Graph g = {.n = 3 + draw(NODES / 2 - 2)};
  g.late = g.n;
  for (uint32_t i = 0; i < g.n; i++) {
    Value *v = &g.values[i];
    v->before = i == 0 ? MOST : chain || draw(3) ? i - 1 : draw(i);
    if (i && !chain && draw(3) == 0)
      v->reads = 1u << v->before | 1u << draw(i);
    v->inner = i ? g.values[v->before].columns : 0;
    v->rows = i && !v->reads ? g.values[v->before].rows : draw_extent();
    v->columns = draw_extent();
    Value *back = &g.lates[g.n - 1 - i];
    *back = (Value){.rows = v->rows, .columns = v->columns, .reads = 1u << i};
    if (i && draw(2))
      back->reads = reads_of(v);
  }
  return g;
}

/* Einsum of what the value reads and of a weight, which gives it its extents; or MatMul. */
static void print_value(GlowText *t, const char *name, uint32_t number, const Value *v,
                        const char *first) {
  if (!v->reads && !first) {
    glow_text_printf(t, "  %%%s%u = MatMul(%%v%u, @w%ux%u)\n", name, number, v->before, v->inner,
                     v->columns);
    return;
  }
  char equation[64] = "";
  uint32_t count = 0;
  glow_text_printf(t, "  %%%s%u = Einsum(", name, number);
  if (first) {
    glow_text_printf(t, "%s, ", first);
    count++;
  }
  for (uint32_t i = 0; i < MOST; i++)
    if (v->reads >> i & 1) {
      glow_text_printf(t, "%%v%u, ", i);
      count++;
    }
  for (uint32_t i = 0; i < count; i++) {
    char term[] = {(char)('a' + 2 * i), (char)('b' + 2 * i), ',', '\0'};
    strcat(equation, term);
  }
  glow_text_printf(t, "@w%ux%u) {equation = \"%syz->yz\"}\n", v->rows, v->columns, equation);
}

/* The text of the graph as a function @f, in a GlowText that the caller releases. */
static void print_graph(GlowText *t, const Graph *g) {
  glow_text_printf(t, "declare {\n");
  for (uint32_t r = 2; r <= 16; r *= 2)
    for (uint32_t c = 2; c <= 16; c *= 2)
      glow_text_printf(t, "  variable @w%ux%u : float<%u x %u> = splat(0.5)\n", r, c, r, c);
  const Value *end = &g->lates[g->late - 1];
  glow_text_printf(t, "}\nfunc @f(%%x : float<2 x 2>) -> (float<%u x %u>) {\n", end->rows,
                   end->columns);
  for (uint32_t i = 0; i < g->n; i++)
    print_value(t, "v", i, &g->values[i], i ? NULL : "%x");
  for (uint32_t i = 0; i < g->late; i++) {
    char before[8];
    snprintf(before, sizeof before, "%%l%u", i - 1);
    print_value(t, "l", i, &g->lates[i], i ? before : "%x");
  }
  glow_text_printf(t, "  return %%l%u\n}\n", g->late - 1);
}

/* ---- All ways -------------------------------------------------------------------------------- */

/* The least cost of all values that are computed, in a graph of which at most `memory` bytes are
 * alive at one time; -1 if there is no way. A state is how many nodes of the second part have run,
 * and which values are alive. */
static int64_t search(const Graph *g, int64_t memory) {
  static int64_t best[MOST + 1][1 << MOST];
  static bool done[MOST + 1][1 << MOST];
  memset(best, 0x7f, sizeof best);
  memset(done, 0, sizeof done);
  best[0][0] = 0;
  for (;;) {
    uint32_t p = 0, set = 0;
    int64_t least = INT64_MAX / 4;
    for (uint32_t a = 0; a <= g->late; a++)
      for (uint32_t b = 0; b < 1u << g->n; b++)
        if (!done[a][b] && best[a][b] < least) {
          least = best[a][b];
          p = a;
          set = b;
        }
    if (least == INT64_MAX / 4)
      return -1;
    if (p == g->late)
      return least;
    done[p][set] = true;
    int64_t alive = p ? bytes_of(&g->lates[p - 1]) : 0;
    for (uint32_t i = 0; i < g->n; i++)
      alive += set >> i & 1 ? bytes_of(&g->values[i]) : 0;
    /* Forget a value, compute one, or run the next node of the second part. */
    for (uint32_t i = 0; i < g->n; i++) {
      unsigned reads = i ? reads_of(&g->values[i]) : 0, to = set ^ 1u << i;
      bool has = set >> i & 1;
      int64_t cost = least + (has ? 0 : cost_of(g, i));
      bool may = has || ((set & reads) == reads && alive + bytes_of(&g->values[i]) <= memory);
      if (may && cost < best[p][to])
        best[p][to] = cost;
    }
    unsigned reads = g->lates[p].reads;
    int64_t more = p + 1 < g->late ? bytes_of(&g->lates[p]) : 0;
    if ((set & reads) == reads && alive + more <= memory && least < best[p + 1][set])
      best[p + 1][set] = least;
  }
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* The cost of the values that a function computes, and the most bytes that are alive. */
typedef struct Found {
  int64_t cost, peak;
} Found;

static Found measure(GlowArena *arena, GlowFunction *f) {
  Found found = {.peak = glow_turn_find(arena, f).peak};
  for (const GlowNode *n = f->body->first; n; n = n->next) {
    bool late = n->nresults == 0 || n->op == GLOW_OP_BARRIER || n->results[0].name[0] == 'l';
    int64_t macs = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
    if (!late)
      found.cost += macs ? macs : 2 * glow_type_bytes(n->results[0].type);
  }
  return found;
}

/* What the pass finds within `memory` bytes; a cost of -1 if it finds nothing. */
static Found run_pass(GlowContext *ctx, const GlowText *text, int64_t memory) {
  char passes[64];
  Found found = {-1, -1};
  GlowModule *m = glow_module_parse(ctx, "m.gg", text->data, text->size);
  GlowFunction *f = m ? glow_module_function(m, glow_str(ctx, "f")) : NULL;
  CHECK(f);
  snprintf(passes, sizeof passes, "recompute<memory=%lld>", (long long)memory);
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  const GlowRunnerOptions options = {.verify_each = true};
  if (glow_pipeline_run(m, glow_pipeline_parse(ctx, &glow_passes, passes), &options) == GLOW_OK)
    found = measure(ctx->arena, f);
  glow_silence_end(&silence);
  return found;
}

/* Of the budgets that some way keeps: how many the pass keeps, and with the least cost; and the sum
 * of its costs over the least ones. */
typedef struct Score {
  bool chains;
  uint32_t budgets, kept, least;
  double ratio;
} Score;

/* Budgets from 90 to 40 percent of what is alive without the pass. */
static void check(GlowContext *ctx, const Graph *g, Score *score) {
  GlowText text;
  glow_text_init(&text, ctx);
  print_graph(&text, g);
  Found whole = run_pass(ctx, &text, INT64_MAX / 4);
  CHECK(whole.cost >= search(g, whole.peak));
  for (int64_t share = 90; share >= 40; share -= 10) {
    int64_t memory = whole.peak * share / 100, best = search(g, memory);
    if (best < 0)
      break;
    Found got = run_pass(ctx, &text, memory);
    score->budgets++;
    if (got.cost < 0)
      continue;
    EXPECT(got.cost >= best && got.peak <= memory, "%lld bytes of %lld: cost %lld, least %lld",
           (long long)got.peak, (long long)memory, (long long)got.cost, (long long)best);
    score->kept++;
    score->least += got.cost == best;
    score->ratio += (double)got.cost / (double)best;
  }
  glow_text_release(&text);
}

static void check_some(GlowContext *ctx, void *score) {
  for (int i = 0; i < 25; i++) {
    Graph g = draw_graph(((Score *)score)->chains);
    check(ctx, &g, score);
  }
}

/* 500 graphs, of which the pass keeps so many percent of the budgets, and so many of these with the
 * least cost, and costs at most `ratio` times the least in the mean. */
static void check_all(bool chains, uint32_t kept, uint32_t least, double ratio) {
  Score score = {.chains = chains};
  state = 5;
  for (int i = 0; i < 20; i++) {
    GlowContext *ctx = glow_context_create();
    CHECK(glow_protect(ctx, check_some, &score) == GLOW_OK);
    glow_context_destroy(ctx);
  }
  double mean = score.ratio / score.kept;
  printf("%s: %u budgets, of which the pass keeps %u, %u with the least cost, in the mean %.3f of "
         "it\n",
         chains ? "chains" : "graphs", score.budgets, score.kept, score.least, mean);
  CHECK(score.budgets > 700);
  CHECK(100 * score.kept >= kept * score.budgets);
  CHECK(100 * score.least >= least * score.kept);
  CHECK(mean <= ratio);
}

int main(void) {
  check_all(true, 100, 95, 1.005);
  check_all(false, 95, 94, 1.008);
  return unit_finish();
}
