/* What -recompute finds on small graphs against all ways there are: a search over the sets of
 * values that are alive, in which any value may be computed again at any time. */
#include <string.h>

#include "ops/infer.h"
#include "support/diag.h"
#include "test/unit/unit.h"
#include "transforms/ways.h"

/* Stages of a chain, values of the first part of other graphs, at most. */
enum { MOST = 8, MOST_OTHERS = 6, NODES = 2 * MOST, STATES = 1 << NODES };

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

/* What -recompute takes for the cost of a value. */
static int64_t cost_of(const Value *v) {
  int64_t elements = (int64_t)v->rows * v->columns;
  return v->inner && !v->reads ? elements * v->inner : 2 * bytes_of(v);
}

static uint32_t draw_extent(void) { return 1u << (1 + draw(4)); }

/* A graph as -grad makes them: the second part goes back over the values, and reads each once, or
 * what it was made of. The values of a chain read the one before. */
static Graph draw_graph(bool chain) {
  Graph g = {.n = 3 + draw((chain ? MOST : MOST_OTHERS) - 2)};
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

/* A value of either part, as the search sees it; the last one of all is returned, and takes no room
 * among the others. */
typedef struct Item {
  unsigned reads; /* bits of items */
  int64_t bytes, cost;
} Item;

static uint32_t list_items(const Graph *g, Item *items) {
  for (uint32_t i = 0; i < g->n; i++)
    items[i] =
        (Item){i ? reads_of(&g->values[i]) : 0, bytes_of(&g->values[i]), cost_of(&g->values[i])};
  for (uint32_t i = 0; i < g->late; i++)
    items[g->n + i] = (Item){g->lates[i].reads | (i ? 1u << (g->n + i - 1) : 0),
                             i + 1 < g->late ? bytes_of(&g->lates[i]) : 0, cost_of(&g->lates[i])};
  return g->n + g->late;
}

/* The sets of items that are alive, with the least cost of all ways to them; and those whose cost
 * was lowered, in the order in which they are looked at again. */
typedef struct Sets {
  int64_t best[STATES];
  bool waits[STATES];
  uint32_t queue[STATES], first, count;
} Sets;

static void lower(Sets *s, uint32_t set, int64_t cost) {
  if (cost >= s->best[set])
    return;
  s->best[set] = cost;
  if (!s->waits[set])
    s->queue[(s->first + s->count++) % STATES] = set;
  s->waits[set] = true;
}

/* The least cost of all values that are computed, in a graph of which at most `memory` bytes are
 * alive at one time; -1 if there is no way. */
static int64_t search(const Graph *g, int64_t memory) {
  static Sets s;
  Item items[NODES];
  uint32_t count = list_items(g, items), last = 1u << (count - 1);
  int64_t least = -1;
  memset(&s, 0, sizeof s);
  memset(s.best, 0x7f, sizeof s.best);
  lower(&s, 0, 0);
  while (s.count) {
    uint32_t set = s.queue[s.first];
    int64_t alive = 0, cost = s.best[set];
    s.first = (s.first + 1) % STATES;
    s.count--;
    s.waits[set] = false;
    if (set & last && (least < 0 || cost < least))
      least = cost;
    for (uint32_t i = 0; i < count; i++)
      alive += set >> i & 1 ? items[i].bytes : 0;
    for (uint32_t i = 0; i < count; i++)
      if (set >> i & 1)
        lower(&s, set ^ 1u << i, cost);
      else if ((set & items[i].reads) == items[i].reads && alive + items[i].bytes <= memory)
        lower(&s, set | 1u << i, cost + items[i].cost);
  }
  return least;
}

/* ---- What -recompute finds ------------------------------------------------------------------- */

/* The cost of the values that a function computes, and the most bytes that are alive. */
typedef struct Found {
  int64_t cost, peak;
} Found;

static Found measure(GlowArena *arena, GlowFunction *f) {
  Found found = {.peak = glow_turn_find(arena, f).peak};
  for (const GlowNode *n = f->body->first; n; n = n->next) {
    int64_t macs = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
    if (n->nresults && n->op != GLOW_OP_BARRIER)
      found.cost += macs ? macs : 2 * glow_type_bytes(n->results[0].type);
  }
  return found;
}

/* What there is within `memory` bytes; a cost of -1 if no way is found. */
static Found find(GlowContext *ctx, const GlowText *text, int64_t memory) {
  GlowModule *m = glow_module_parse(ctx, "m.gg", text->data, text->size);
  GlowFunction *f = m ? glow_module_function(m, glow_str(ctx, "f")) : NULL;
  CHECK(f);
  GlowWays ways = glow_ways_find(ctx->arena, f, memory);
  if (!ways.best)
    return (Found){-1, -1};
  CHECK(glow_way_take(ctx->arena, f, ways.best));
  CHECK(glow_module_verify(m));
  return measure(ctx->arena, f);
}

static uint32_t budgets;

/* Budgets from 100 to 30 percent of what is alive as the text stands. */
static void check(GlowContext *ctx, const Graph *g) {
  GlowText text;
  glow_text_init(&text, ctx);
  print_graph(&text, g);
  GlowModule *m = glow_module_parse(ctx, "m.gg", text.data, text.size);
  CHECK(m);
  Found whole = measure(ctx->arena, glow_module_function(m, glow_str(ctx, "f")));
  for (int64_t share = 100; share >= 30; share -= 10) {
    int64_t memory = whole.peak * share / 100, best = search(g, memory);
    Found got = find(ctx, &text, memory);
    EXPECT(got.cost == best && got.peak <= memory, "%lld bytes of %lld: cost %lld, least %lld",
           (long long)got.peak, (long long)memory, (long long)got.cost, (long long)best);
    budgets += best >= 0;
    if (best < 0)
      break;
  }
  glow_text_release(&text);
}

static void check_some(GlowContext *ctx, void *chains) {
  for (int i = 0; i < 25; i++) {
    Graph g = draw_graph(*(bool *)chains);
    check(ctx, &g);
  }
}

/* 500 graphs, whose budgets are kept with the least cost, or not at all if there is no way. */
static void check_all(bool chains) {
  state = 5;
  budgets = 0;
  for (int i = 0; i < 20; i++) {
    GlowContext *ctx = glow_context_create();
    CHECK(glow_protect(ctx, check_some, &chains) == GLOW_OK);
    glow_context_destroy(ctx);
  }
  printf("%s: %u budgets\n", chains ? "chains" : "graphs", budgets);
  CHECK(budgets > 1200);
}

int main(void) {
  check_all(true);
  check_all(false);
  return unit_finish();
}
