/* Judging bounded passes.
 *
 * Values of both functions are matched by their names and by the nodes that use them (`meaning`).
 * The function after the pass is walked node by node: an operand that stands for an old value takes
 * that value, so each rewritten value is computed from the inputs that it had; if it stands for an
 * old value itself it is judged, and then the old value goes on.
 *
 * S belongs to the old expression from there back to the values that the new one started from:
 * every node is evaluated in double, on values and on magnitudes. A node that is not element-wise
 * is applied to the magnitudes of its operands; an element-wise one gets the sum of what a relative
 * change of c * u of each operand's magnitude does to its result, which for sums and products is
 * the expression over absolute values, and works for exp and division too. Where the pass says
 * BOUNDED_OVERALL, the largest magnitude of an operand stands for all. K, the number of products,
 * is what the node gives on ones, of a mean the number of elements. Cones that overflow or
 * underflow on the way are not judged; they begin at what was dequantized, and hold no other
 * quantized values.
 *
 * With BOUNDED_TIES, integers that Quantize made differ by one at most, and only where the number
 * that was quantized lies within c u S of a tie. */
#include "test/random/bound.h"

#include <math.h>
#include <stdlib.h>

#include "driver/passes.h"
#include "tensor/element.h"

typedef struct Precision {
  GlowKind kind;
  double unit, least, most; /* roundoff, smallest normal, largest */
} Precision;

static const Precision *precision(GlowKind kind) {
  static const Precision table[] = {{GLOW_KIND_FLOAT, 0x1p-24, 0x1p-126, 0x1p128},
                                    {GLOW_KIND_DOUBLE, 0x1p-53, 0x1p-1022, 0x1p1023},
                                    {GLOW_KIND_FLOAT16, 0x1p-11, 0x1p-14, 0x1p16},
                                    {GLOW_KIND_BFLOAT16, 0x1p-8, 0x1p-126, 0x1p128}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].kind == kind)
      return &table[i];
  return NULL;
}

static bool is_float(const GlowType *t) {
  return t->cls == GLOW_TYPE_TENSOR && !t->quantized && precision(t->kind);
}

/* A value of the old function in double, and its magnitude. */
typedef struct Cell {
  GlowTensor *value, *size;
  double terms; /* products on the longest way here */
} Cell;

typedef GLOW_VEC(GlowStr) Names;

typedef struct Judge {
  GlowContext *ctx;
  GlowArena *arena;
  const GlowPass *pass;
  const GlowFunction *before;
  GlowModule *lowered, *wide; /* before, lowered; the same in double */
  GlowFunction *old_wide;
  GlowMap *old;             /* name -> tensor, before */
  GlowMap *fresh;           /* name -> tensor, after, where the name is new */
  GlowMap *cuts;            /* name -> Names: what a new value started from */
  GlowMap *values;          /* name -> value of the wide function */
  GlowValues *constants[2]; /* of the lowered module, and after */
  GLOW_VEC(GlowTensor *) owned;
  /* Of the value that is judged: */
  const Names *cut;
  GlowMap *cells;
  double unit;
  bool lost;     /* overflow, underflow, or something that cannot be evaluated */
  bool infinite; /* an operand has an element that is no number */
  unsigned *judged;
  const char *why;
} Judge;

static GlowTensor *own(Judge *j, GlowTensor *t) {
  glow_vec_push(j->arena, &j->owned, t);
  return t;
}

/* ---- The old expression in double ------------------------------------------------------------ */

static const GlowType *widened(GlowContext *ctx, const GlowType *t) {
  return is_float(t) ? glow_type_with_kind(ctx, t, GLOW_KIND_DOUBLE) : t;
}

static bool widen_node(GlowNode *n, void *arg) {
  GlowContext *ctx = arg;
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < n->nresults; i++)
    n->results[i].type = widened(ctx, n->results[i].type);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    GlowKind *kind = (GlowKind *)((char *)n->members + d->members[i].offset);
    if (d->members[i].type == GLOW_MEMBER_KIND && !d->members[i].array && precision(*kind))
      *kind = GLOW_KIND_DOUBLE;
  }
  return true;
}

static void widen_function(GlowFunction *f) {
  GlowContext *ctx = f->module->ctx;
  for (uint32_t i = 0; i < f->body->nparams; i++)
    f->body->params[i]->type = widened(ctx, f->body->params[i]->type);
  glow_block_walk(f->body, widen_node, ctx);
}

static GlowTensor *in_double(Judge *j, const GlowTensor *t) {
  if (!is_float(t->type))
    return own(j, glow_tensor_copy(j->ctx, t));
  GlowTensor *wide = own(j, glow_tensor_create(j->ctx, widened(j->ctx, t->type)));
  for (int64_t i = 0, n = glow_tensor_elements(t); i < n; i++)
    glow_tensor_set(wide, i, glow_scalar_float(glow_tensor_get_double(t, i)));
  return wide;
}

/* t with each element through fn(x, size, by): a perturbation, a magnitude, or 1. */
static GlowTensor *mapped(Judge *j, const GlowTensor *t, const GlowTensor *size, double by,
                          double (*fn)(double x, double size, double by)) {
  GlowTensor *to = own(j, glow_tensor_copy(j->ctx, t));
  for (int64_t i = 0, n = is_float(t->type) ? glow_tensor_elements(t) : 0; i < n; i++) {
    double s = size ? glow_tensor_get_double(size, i) : 0;
    glow_tensor_set(to, i, glow_scalar_float(fn(glow_tensor_get_double(t, i), s, by)));
  }
  return to;
}
static double magnitude(double x, double size, double by) { return (void)size, (void)by, fabs(x); }
static double one(double x, double size, double by) { return (void)x, (void)size, (void)by, 1; }
static double moved(double x, double size, double by) { return x + size * by; }

/* Storage has a name space of its own. */
static GlowStr key_of(const Judge *j, const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE ? glow_str_printf(j->ctx, "@%s", v->name) : v->name;
}

static bool evaluate(Judge *j, GlowNode *n, const GlowTensor *const *in, GlowTensor **out) {
  if (!glow_interp_eval_node(n, in, out, true))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    own(j, out[i]);
  return true;
}

static double largest(const GlowTensor *t) {
  double most = 0;
  for (int64_t i = 0, n = is_float(t->type) ? glow_tensor_elements(t) : 0; i < n; i++)
    most = fmax(most, fabs(glow_tensor_get_double(t, i)));
  return most;
}

/* size = max(size, other), or with `sum` size + |other - value| / by. */
static void raise_to(GlowTensor *size, const GlowTensor *other, const GlowTensor *value, double by,
                     bool sum) {
  for (int64_t i = 0, n = glow_tensor_elements(size); i < n; i++) {
    double s = glow_tensor_get_double(size, i), o = glow_tensor_get_double(other, i);
    double more = value ? fabs(o - glow_tensor_get_double(value, i)) / by : o;
    glow_tensor_set(size, i, glow_scalar_float(sum ? s + more : fmax(s, more)));
  }
}

typedef struct NodeCells {
  GlowNode *node;
  uint32_t count;
  Cell **in;
  const GlowTensor **values, **work;
  GlowTensor **out, **tried;
} NodeCells;

/* The result's magnitude from changing one operand at a time. */
static bool elementwise_size(Judge *j, NodeCells *c, GlowTensor *size) {
  double by = fmax(j->pass->bound.constant, 1) * j->unit;
  GlowTensor *total = mapped(j, size, NULL, 0, moved); /* a copy: value + 0 */
  total = mapped(j, total, total, -1, moved);
  for (uint32_t i = 0; i < c->count; i++) {
    if (!c->in[i] || !is_float(c->values[i]->type))
      continue;
    GlowTensor *most = mapped(j, total, total, -1, moved);
    for (int sign = -1; sign <= 1; sign += 2) {
      memcpy(c->work, c->values, c->count * sizeof *c->work);
      c->work[i] = mapped(j, c->values[i], c->in[i]->size, sign * by, moved);
      if (!evaluate(j, c->node, c->work, c->tried))
        return false;
      raise_to(most, c->tried[0], c->out[0], by, false);
    }
    raise_to(total, most, NULL, 0, true);
  }
  raise_to(size, total, NULL, 0, false);
  return true;
}

/* Magnitudes of an operand; a pass may ask for its largest one everywhere. */
static const GlowTensor *overall_size(Judge *j, const Cell *c) {
  if (!j->pass->bound.overall || !is_float(c->size->type))
    return c->size;
  GlowTensor *all = own(j, glow_tensor_copy(j->ctx, c->size));
  glow_tensor_fill(all, glow_scalar_float(largest(c->size)));
  return all;
}

/* How many terms the node adds up: what it gives on ones, or for a mean, which divides by that
 * number, how many elements there are for each result. */
static double terms_of(const NodeCells *c) {
  if (c->node->op != GLOW_OP_REDUCE_MEAN)
    return largest(c->tried[0]);
  return (double)glow_tensor_elements(c->values[0]) / (double)glow_tensor_elements(c->tried[0]);
}

/* Results' magnitudes: the node on magnitudes, and no less than the largest one unless elements are
 * only moved. *terms: what it gives on ones. */
static bool applied_sizes(Judge *j, NodeCells *c, GlowTensor **sizes, double *terms) {
  double most = 0;
  for (uint32_t i = 0; i < c->count; i++) {
    c->work[i] = c->in[i] ? overall_size(j, c->in[i]) : NULL;
    most = fmax(most, c->in[i] ? largest(c->in[i]->size) : 0);
  }
  if (!evaluate(j, c->node, c->work, sizes))
    return false;
  if (GLOW_HAS(glow_node_desc(c->node), MOVEMENT))
    return true;
  for (uint32_t k = 0; k < c->node->nresults; k++)
    if (is_float(sizes[k]->type)) {
      GlowTensor *least = own(j, glow_tensor_copy(j->ctx, sizes[k]));
      glow_tensor_fill(least, glow_scalar_float(most));
      raise_to(sizes[k], least, NULL, 0, false);
    }
  for (uint32_t i = 0; i < c->count; i++)
    c->work[i] = c->in[i] ? mapped(j, c->values[i], NULL, 0, one) : NULL;
  if (!evaluate(j, c->node, c->work, c->tried))
    return false;
  *terms += c->node->nresults ? terms_of(c) : 0;
  return true;
}

/* Whether the value left the range where rounding is relative. */
static bool out_of_range(const GlowTensor *size, const GlowTensor *value, GlowKind kind) {
  const Precision *p = precision(kind);
  for (int64_t i = 0, n = p ? glow_tensor_elements(size) : 0; i < n; i++) {
    double s = glow_tensor_get_double(size, i), v = fabs(glow_tensor_get_double(value, i));
    if (!(s < p->most / 4) || (v > 0 && v < p->least))
      return true;
  }
  return false;
}

static Cell *cell_of(Judge *j, GlowValue *v);

static Cell *leaf(Judge *j, const GlowValue *v) {
  const GlowTensor *t = glow_map_get(j->old, key_of(j, v));
  if (v->kind == GLOW_VALUE_STORAGE && !t) {
    GlowStorage *s = glow_module_storage(j->lowered, v->name);
    t = s ? glow_values_get(j->constants[0], s) : NULL;
  }
  if (!t || t->type->cls != GLOW_TYPE_TENSOR || t->type->quantized)
    return NULL;
  Cell *c = GLOW_NEW(j->arena, Cell);
  c->value = in_double(j, t);
  c->size = mapped(j, c->value, NULL, 0, magnitude);
  for (int64_t i = 0, n = glow_tensor_elements(c->value); i < n; i++)
    j->infinite |= !isfinite(glow_tensor_get_double(c->value, i));
  return c;
}

static bool in_cut(const Judge *j, GlowStr name) {
  for (uint32_t i = 0; i < j->cut->count; i++)
    if (j->cut->data[i] == name)
      return true;
  return false;
}

static bool fill_cells(Judge *j, GlowNode *n, NodeCells *c) {
  uint32_t ports = glow_node_desc(n)->nin;
  c->node = n;
  c->count = n->noperands > ports ? n->noperands : ports;
  c->in = GLOW_NEW_ARRAY(j->arena, Cell *, c->count + 1);
  c->values = GLOW_NEW_ARRAY(j->arena, const GlowTensor *, c->count + 1);
  c->work = GLOW_NEW_ARRAY(j->arena, const GlowTensor *, c->count + 1);
  c->out = GLOW_NEW_ARRAY(j->arena, GlowTensor *, n->nresults + 1);
  c->tried = GLOW_NEW_ARRAY(j->arena, GlowTensor *, n->nresults + 1);
  for (uint32_t i = 0; i < n->noperands; i++) {
    if (!n->operands[i].value)
      continue;
    c->in[i] = cell_of(j, n->operands[i].value);
    if (!c->in[i])
      return false;
    c->values[i] = c->in[i]->value;
  }
  return true;
}

static Cell *node_cells(Judge *j, GlowNode *n, uint32_t wanted) {
  NodeCells c;
  double terms = 0;
  if (!fill_cells(j, n, &c) || !evaluate(j, n, c.values, c.out))
    return NULL;
  for (uint32_t i = 0; i < c.count; i++)
    terms = c.in[i] ? fmax(terms, c.in[i]->terms) : terms;
  GlowTensor **sizes = GLOW_NEW_ARRAY(j->arena, GlowTensor *, n->nresults + 1);
  bool simple = GLOW_HAS(glow_node_desc(n), ELEMENTWISE);
  if (simple) {
    sizes[0] = mapped(j, c.out[0], NULL, 0, magnitude);
    if (is_float(sizes[0]->type) && !elementwise_size(j, &c, sizes[0]))
      return NULL;
  } else if (!applied_sizes(j, &c, sizes, &terms)) {
    return NULL;
  }
  Cell *result = NULL;
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *narrow = n->results[i].name ? glow_map_get(j->values, n->results[i].name) : 0;
    Cell *cell = GLOW_NEW(j->arena, Cell);
    *cell = (Cell){c.out[i], sizes[i], terms};
    if (narrow && is_float(narrow->type)) {
      j->unit = fmax(j->unit, precision(narrow->type->kind)->unit);
      j->lost |= out_of_range(sizes[i], c.out[i], narrow->type->kind);
    }
    if (n->results[i].name)
      glow_map_set(j->cells, n->results[i].name, cell);
    result = i == wanted ? cell : result;
  }
  return result;
}

static Cell *cell_of(Judge *j, GlowValue *v) {
  GlowStr key = v->name ? key_of(j, v) : NULL;
  Cell *c = key ? glow_map_get(j->cells, key) : NULL;
  if (c)
    return c;
  bool node = v->kind == GLOW_VALUE_RESULT && !in_cut(j, v->name) &&
              v->def.node->op != GLOW_OP_DEQUANTIZE &&
              GLOW_HAS(glow_node_desc(v->def.node), PURE) && !v->def.node->nregions &&
              !GLOW_HAS(glow_node_desc(v->def.node), RANDOM);
  c = node ? node_cells(j, v->def.node, v->index) : leaf(j, v);
  if (c && key)
    glow_map_set(j->cells, key, c);
  return c;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static const char *compare(Judge *j, GlowStr name, const GlowTensor *want, const GlowTensor *got,
                           const Cell *c) {
  double bound = j->pass->bound.per_term * c->terms + j->pass->bound.constant;
  double tiny = precision(want->type->kind)->least;
  for (int64_t i = 0, n = glow_tensor_elements(want); i < n; i++) {
    double w = glow_tensor_get_double(want, i), g = glow_tensor_get_double(got, i);
    double s = glow_tensor_get_double(c->size, i);
    if (isnan(w) || isinf(w) || !isfinite(s) || (isnan(g) && j->infinite))
      continue;
    if (!(fabs(g - w) <= bound * j->unit * (s + tiny)))
      return glow_str_printf(
          j->ctx,
          "%%%s, element %lld: %.9g before, %.9g after; off by %.3g u S, allowed "
          "%.3g (S = %.3g, K = %g)",
          name, (long long)i, w, g, fabs(g - w) / j->unit / (s + tiny), bound, s, c->terms);
  }
  return NULL;
}

/* The same of what the Quantize `def` made; c is what it read. */
static const char *compare_steps(Judge *j, GlowStr name, const GlowTensor *want,
                                 const GlowTensor *got, const Cell *c) {
  double scale = (double)want->type->scale, bound = j->pass->bound.constant;
  for (int64_t i = 0, n = glow_tensor_elements(want); i < n; i++) {
    int64_t w = glow_tensor_get_int(want, i), g = glow_tensor_get_int(got, i);
    double x = glow_tensor_get_double(c->value, i), s = glow_tensor_get_double(c->size, i);
    double steps = x / scale, tie = fabs(steps - floor(steps) - 0.5) * scale;
    if (w == g || !isfinite(x) || !isfinite(s))
      continue;
    if (llabs(w - g) > 1 || !(tie <= bound * j->unit * (s + scale)))
      return glow_str_printf(j->ctx,
                             "%%%s, element %lld: %lld before, %lld after; %.9g is %.3g u S from a "
                             "tie, allowed %.3g",
                             name, (long long)i, (long long)w, (long long)g, x,
                             tie / j->unit / (s + scale), bound);
  }
  return NULL;
}

/* Compares what the new function computes for the old value `name`. */
static void judge(Judge *j, GlowStr name, const GlowTensor *got, const Names *cut) {
  static const Names none;
  const GlowTensor *want = glow_map_get(j->old, name);
  GlowValue *v = glow_map_get(j->values, name);
  bool steps =
      j->pass->bound.ties && want && want->type->cls == GLOW_TYPE_TENSOR && want->type->quantized;
  if (j->why || !want || !v || (!steps && !is_float(want->type)) || want->type != got->type)
    return;
  GlowFunction *f = j->old_wide;
  GlowNode *def = NULL;
  for (GlowNode *n = f->body->first; n && !def; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++)
      if (n->results[i].name == name)
        def = n;
  if (!def || (steps && def->op != GLOW_OP_QUANTIZE))
    return;
  uint32_t index = 0;
  while (def->results[index].name != name)
    index++;
  j->cut = cut ? cut : &none;
  j->cells = glow_map_create(j->arena);
  j->unit = precision(steps ? GLOW_KIND_FLOAT : want->type->kind)->unit;
  j->lost = j->infinite = false;
  GlowValue *judged = steps ? glow_node_in(def, 0) : &def->results[index];
  const Cell *c = !steps && in_cut(j, name) ? leaf(j, v) : cell_of(j, judged);
  if (!c || j->lost || !is_float(c->value->type))
    return;
  ++*j->judged;
  j->why = steps ? compare_steps(j, name, want, got, c) : compare(j, name, want, got, c);
}

/* ---- The new function ------------------------------------------------------------------------ */

/* The node of the old function that n was, or NULL: the terminator, a Save into the same storage,
 * or the node with the name of n's first result. */
static const GlowNode *node_before(const Judge *j, const GlowNode *n) {
  if (GLOW_HAS(glow_node_desc(n), TERMINATOR))
    return glow_block_terminator(j->before->body);
  if (n->op == GLOW_OP_SAVE) {
    for (const GlowNode *was = j->before->body->first; was; was = was->next)
      if (was->op == GLOW_OP_SAVE && was->operands[1].value->name == n->operands[1].value->name)
        return was;
    return NULL;
  }
  GlowStr name = n->nresults ? n->results[0].name : NULL;
  const GlowValue *v = name ? glow_map_get(j->values, name) : NULL;
  return v && v->def.node->op == n->op && v->def.node->noperands == n->noperands ? v->def.node
                                                                                 : NULL;
}

/* Whether the node that was n has operands of the same names. */
static bool same_operands(const GlowNode *was, const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *a = was->operands[i].value, *b = n->operands[i].value;
    if ((a ? a->name : NULL) != (b ? b->name : NULL))
      return false;
  }
  return true;
}

/* Whether n, a user of v, reads other storage besides, or other values of the old function, than
 * the node that it was: it may compute the same of other values then, as a product does of other
 * rows of its matrix, or the last of several sums in another order. */
static bool reads_other(const Judge *j, const GlowNode *was, const GlowNode *n,
                        const GlowValue *v) {
  for (uint32_t i = 0; i < n->noperands && i < was->noperands; i++) {
    const GlowValue *a = was->operands[i].value, *b = n->operands[i].value;
    if (!a || !b || b == v || (a->kind == b->kind && a->name == b->name))
      continue;
    if (a->kind == GLOW_VALUE_STORAGE || b->kind == GLOW_VALUE_STORAGE ||
        glow_map_get(j->old, b->name))
      return true;
  }
  return false;
}

/* Which old value v stands for: the one of its name if its node is as it was, else what its users
 * used before, else the one of its name; NULL if there is none. A pass may give the result of a
 * chain the name of its first value. */
static GlowStr meaning(const Judge *j, const GlowValue *v) {
  GlowStr found = NULL;
  const GlowNode *def = v->kind == GLOW_VALUE_RESULT ? node_before(j, v->def.node) : NULL;
  if (def && same_operands(def, v->def.node))
    return v->name;
  if (j->pass->bound.ties && !(glow_type_is_tensor(v->type) && v->type->quantized))
    return NULL; /* numbers are in other steps */
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *was = u->user->block->owner == GLOW_BLOCK_FUNCTION && u != &u->user->pred
                              ? node_before(j, u->user)
                              : NULL;
    for (uint32_t i = 0; was && i < was->noperands && i < u->user->noperands; i++) {
      const GlowValue *old = was->operands[i].value;
      if (old && old->name == v->name)
        return v->name;
      if (old && u == &u->user->operands[i] && old->type == v->type &&
          old->kind == GLOW_VALUE_RESULT && !reads_other(j, was, u->user, v))
        found = old->name;
    }
  }
  return found ? found : v->name && glow_map_get(j->old, v->name) ? v->name : NULL;
}

static const GlowTensor *value_after(Judge *j, GlowValue *v, Names *cut) {
  GlowStr name = v->kind == GLOW_VALUE_RESULT ? meaning(j, v) : key_of(j, v);
  const GlowTensor *t = name ? glow_map_get(j->old, name) : NULL;
  if (v->kind == GLOW_VALUE_STORAGE)
    return t ? t : glow_values_get(j->constants[1], v->def.storage);
  if (t && t->type == v->type) {
    if (v->kind == GLOW_VALUE_RESULT)
      glow_vec_push(j->arena, cut, name);
    return t;
  }
  const Names *more = glow_map_get(j->cuts, v);
  for (uint32_t i = 0; more && i < more->count; i++)
    glow_vec_push(j->arena, cut, more->data[i]);
  return glow_map_get(j->fresh, v);
}

/* Whether the old function has this very node, so that there is nothing to judge. */
static bool unchanged(const Judge *j, const GlowNode *n) {
  const GlowNode *was = node_before(j, n);
  if (!was || !glow_members_equal(glow_node_desc(n), was->members, n->members))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses && meaning(j, &n->results[i]) != was->results[i].name)
      return false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *a = was->operands[i].value, *b = n->operands[i].value;
    GlowStr name = b && b->kind == GLOW_VALUE_RESULT ? meaning(j, b) : b ? b->name : NULL;
    if ((a ? a->name : NULL) != name)
      return false;
  }
  return true;
}

static bool compute(Judge *j, GlowNode *n) {
  const GlowTensor *in[64] = {NULL};
  GlowTensor *out[32];
  Names *cut = GLOW_NEW(j->arena, Names);
  if (n->noperands > 48 || n->nresults > 32)
    return false;
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value && !(in[i] = value_after(j, n->operands[i].value, cut)))
      return false;
  if (!evaluate(j, n, in, out))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowStr name = meaning(j, &n->results[i]);
    if (name) {
      judge(j, name, out[i], cut);
    } else {
      glow_map_set(j->fresh, &n->results[i], out[i]);
      glow_map_set(j->cuts, &n->results[i], cut);
    }
  }
  return true;
}

/* Operands of a Return or Save that stand for another value now: an old one that was there. */
static void judge_places(Judge *j, const GlowNode *was, const GlowNode *n) {
  for (uint32_t i = 0; was && i < n->noperands && i < was->noperands; i++) {
    GlowValue *a = was->operands[i].value, *b = n->operands[i].value;
    Names *cut = GLOW_NEW(j->arena, Names);
    const GlowTensor *t =
        a && b && a->name != b->name && !glow_map_get(j->fresh, b) ? value_after(j, b, cut) : NULL;
    if (t)
      judge(j, a->name, t, cut);
  }
}

static void walk_after(Judge *j, GlowFunction *after) {
  for (GlowNode *n = after->body->first; n && !j->why; n = n->next) {
    if (GLOW_HAS(glow_node_desc(n), TERMINATOR) || n->op == GLOW_OP_SAVE)
      judge_places(j, node_before(j, n), n);
    else if (!unchanged(j, n) && !compute(j, n))
      return; /* regions are not looked into */
  }
}

/* ---- The old function ------------------------------------------------------------------------ */

static void remember(void *user, const GlowNode *n, GlowTensor *const *results) {
  Judge *j = user;
  if (n->block->owner != GLOW_BLOCK_FUNCTION)
    return;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].name)
      glow_map_set(j->old, n->results[i].name, own(j, glow_tensor_copy(j->ctx, results[i])));
}

static GlowTensor *find_input(const GlowBindings *inputs, GlowStr name) {
  for (uint32_t i = inputs->count; i-- > 0;) /* parameters come last */
    if (inputs->data[i].name == name)
      return inputs->data[i].tensor;
  return NULL;
}

static bool record_before(Judge *j, GlowFunction *before, const GlowBindings *inputs) {
  GlowBindings outputs = {0};
  GlowModule *m = before->module;
  bool ok = glow_interp_run(before, inputs, &outputs,
                            &(GlowRunOptions){.trace = remember, .trace_user = j}) == GLOW_OK;
  glow_random_release(&outputs);
  for (GlowStorage *s = m->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER)
      glow_map_set(j->old, key_of(j, &s->value), find_input(inputs, s->value.name));
  for (uint32_t i = 0; i < before->body->nparams; i++) {
    GlowStr name = before->body->params[i]->name;
    glow_map_set(j->old, name, find_input(inputs, name));
  }
  for (GlowNode *n = before->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++)
      if (n->results[i].name)
        glow_map_set(j->values, n->results[i].name, &n->results[i]);
  j->lowered = glow_module_clone(m);
  GlowPipeline *lower = glow_pipeline_parse(j->ctx, &glow_passes, "lower");
  ok = ok && lower &&
       glow_pipeline_run(j->lowered, lower, &(GlowRunnerOptions){.math = GLOW_MATH_EXACT}) ==
           GLOW_OK;
  j->constants[0] = glow_values_create(j->lowered);
  j->wide = glow_module_clone(j->lowered);
  for (GlowFunction *f = j->wide->first_function; f; f = f->next)
    if (f->kind == GLOW_FUNC)
      widen_function(f);
  j->old_wide = glow_module_function(j->wide, before->name);
  return ok && j->old_wide;
}

static bool has_calls(const GlowFunction *f) {
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
    if (n->op == GLOW_OP_CALL)
      return true;
  return false;
}

const char *glow_bound_check(GlowModule *before, GlowModule *after, GlowStr name,
                             const GlowBindings *inputs, const GlowPass *pass, unsigned *judged) {
  GlowFunction *f = glow_module_function(before, name), *g = glow_module_function(after, name);
  if (!f || !g || f->kind != GLOW_FUNC || g->kind != GLOW_FUNC || has_calls(f))
    return NULL;
  if (pass->bound.constant <= 0)
    return "the row of the pass states no bound";
  Judge j = {.ctx = before->ctx, .before = f, .pass = pass, .judged = judged};
  j.arena = glow_arena_create(j.ctx);
  j.old = glow_map_create(j.arena);
  j.fresh = glow_map_create(j.arena);
  j.cuts = glow_map_create(j.arena);
  j.values = glow_map_create(j.arena);
  j.constants[1] = glow_values_create(after);
  if (record_before(&j, f, inputs))
    walk_after(&j, g);
  for (uint32_t i = 0; i < j.owned.count; i++)
    glow_tensor_free(j.owned.data[i]);
  for (int i = 0; i < 2; i++)
    glow_values_destroy(j.constants[i]);
  glow_module_destroy(j.lowered);
  glow_module_destroy(j.wide);
  glow_arena_destroy(j.arena);
  return j.why;
}
