/* Formulas: parsing them, and matching with backtracking over the order of commutative operands.
 *
 * The matcher has a list of goals: each is a part of the formula, and the value that it must match.
 * A goal whose part is an operator is replaced by goals for the operands. If these fail and the
 * operator is commutative, its operands are swapped and tried again. Formulas are short texts in
 * our sources, so the work for each node has a constant bound. */
#include "transforms/match.h"
#include "backend/interp/interp.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

typedef enum PartKind {
  PART_ANY,      /* _ or x */
  PART_CONSTANT, /* ~x */
  PART_NUMBER,   /* 1.41421356 */
  PART_SCALAR,   /* #a */
  PART_NODE,     /* Add(p, q) */
  PART_CHOICE    /* {p | q} */
} PartKind;

#define MAX_ARGS 6

typedef struct Part Part;
struct Part {
  PartKind kind;
  char letter; /* 0: none */
  double number;
  GlowOp op;
  uint32_t nargs;
  Part *args[MAX_ARGS]; /* operands, or alternatives */
};

/* ---- Reading formulas ------------------------------------------------------------------------ */

typedef struct Reader {
  GlowContext *ctx;
  GlowArena *arena;
  const char *at;
} Reader;

static void skip_spaces(Reader *r) {
  while (*r->at == ' ')
    r->at++;
}

static bool accept(Reader *r, char c) {
  skip_spaces(r);
  if (*r->at != c)
    return false;
  r->at++;
  return true;
}

static Part *read_part(Reader *r);

static void read_list(Reader *r, Part *p, char separator, char end) {
  do {
    GLOW_CHECK(r->ctx, p->nargs < MAX_ARGS, "a list in a formula is too long");
    p->args[p->nargs++] = read_part(r);
  } while (accept(r, separator));
  GLOW_CHECK(r->ctx, accept(r, end), "a formula lacks a parenthesis");
}

static void read_node(Reader *r, Part *p) {
  const char *start = r->at;
  while (isalnum((unsigned char)*r->at))
    r->at++;
  p->kind = PART_NODE;
  p->op = glow_op_from_node_name(start, (size_t)(r->at - start));
  bool known = p->op != GLOW_OP_COUNT && accept(r, '(');
  GLOW_CHECK(r->ctx, known, "a formula names an unknown operator");
  read_list(r, p, ',', ')');
}

static Part *read_part(Reader *r) {
  Part *p = GLOW_NEW(r->arena, Part);
  skip_spaces(r);
  if (accept(r, '_'))
    return p;
  if (accept(r, '{')) {
    p->kind = PART_CHOICE;
    read_list(r, p, '|', '}');
    return p;
  }
  if (isdigit((unsigned char)*r->at) || *r->at == '-') {
    char *end;
    p->kind = PART_NUMBER;
    p->number = glow_parse_double(r->at, &end);
    r->at = end;
    return p;
  }
  if (accept(r, '#'))
    p->kind = PART_SCALAR;
  else if (accept(r, '~'))
    p->kind = PART_CONSTANT;
  if (islower((unsigned char)*r->at)) {
    p->letter = *r->at++;
    if (!accept(r, '='))
      return p;
  }
  if (p->letter && *r->at == '{') {
    Part *choice = read_part(r);
    choice->letter = p->letter;
    return choice;
  }
  GLOW_CHECK(r->ctx, p->kind == PART_ANY && isupper((unsigned char)*r->at), "a formula is wrong");
  read_node(r, p);
  return p;
}

/* ---- Values ---------------------------------------------------------------------------------- */

double glow_kind_roundoff(GlowKind kind) {
  return kind == GLOW_KIND_DOUBLE     ? 0x1p-53
         : kind == GLOW_KIND_FLOAT    ? 0x1p-24
         : kind == GLOW_KIND_FLOAT16  ? 0x1p-11
         : kind == GLOW_KIND_BFLOAT16 ? 0x1p-8
                                      : 0;
}

/* Whether n only moves elements, or converts floating-point numbers. */
static bool keeps_numbers(const GlowNode *n) {
  switch (n->op) {
  case GLOW_OP_CAST:
    return glow_kind_is_float(n->results[0].type->kind) &&
           glow_kind_is_float(glow_node_in(n, 0)->type->kind);
  case GLOW_OP_RESHAPE:
  case GLOW_OP_SQUEEZE:
  case GLOW_OP_UNSQUEEZE:
  case GLOW_OP_EXPAND:
  case GLOW_OP_IDENTITY:
    return true;
  default:
    return false;
  }
}

/* Whether an eval block is a handful of nodes on small tensors, so that its value is cheap. */
static bool is_cheap(const GlowBlock *b) {
  uint32_t count = 0;
  for (const GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->noperands; i++) {
      const GlowValue *v = n->operands[i].value;
      if (v && glow_type_bytes(v->type) > GLOW_MAX_FOLDED_BYTES)
        return false;
      if (v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->init.kind == GLOW_INIT_EVAL)
        return false;
    }
    if (++count > 8)
      return false;
  }
  return true;
}

bool glow_value_number(GlowValues *values, const GlowValue *v, double *number) {
  for (int i = 0; i < 16 && v->kind == GLOW_VALUE_RESULT && keeps_numbers(v->def.node); i++)
    v = glow_node_in(v->def.node, 0);
  GlowScalar s;
  if (!glow_type_is_tensor(v->type) || v->type->quantized)
    return false;
  if (glow_value_splat(v, &s)) {
    *number = s.is_int ? (double)s.i : s.f;
    return true;
  }
  if (v->kind != GLOW_VALUE_STORAGE || v->def.storage->init.kind != GLOW_INIT_EVAL ||
      !glow_kind_is_float(v->type->kind) || !is_cheap(v->def.storage->init.eval))
    return false;
  const GlowTensor *t = glow_values_get(values, v->def.storage);
  int64_t count = t ? glow_tensor_elements(t) : 0;
  for (int64_t i = 0; i < count; i++) {
    double element = glow_tensor_get_double(t, i);
    if (i && (element != *number || signbit(element) != signbit(*number)))
      return false;
    *number = element;
  }
  return count > 0;
}

bool glow_values_equal(const GlowValue *a, const GlowValue *b) {
  if (a == b)
    return true;
  if (a->type != b->type || !glow_type_is_tensor(a->type) || a->type->kind == GLOW_KIND_STRING)
    return false;
  const GlowTensor *s = glow_value_known(a), *t = glow_value_known(b);
  return s && t && s->bytes == t->bytes && memcmp(s->data, t->data, s->bytes) == 0;
}

/* ---- Matching -------------------------------------------------------------------------------- */

typedef struct Goal Goal;
struct Goal {
  const Part *part;
  GlowValue *value;
  const Goal *next;
};

static bool solve(GlowMatch *m, const Goal *goal);

static bool is_inner(const GlowMatch *m, const GlowNode *n) {
  for (uint32_t i = 0; i < m->count; i++)
    if (m->node[i] == n)
      return true;
  return false;
}

/* Whether nothing else uses what the nodes below the root compute. */
static bool is_closed(const GlowMatch *m) {
  for (uint32_t i = 0; i < m->count; i++) {
    const GlowNode *n = m->node[i];
    for (uint32_t k = 0; n != m->root && k < n->nresults; k++)
      for (const GlowUse *u = n->results[k].uses; u; u = u->next)
        if (u == &u->user->pred || !is_inner(m, u->user))
          return false;
  }
  return true;
}

/* Binds a letter; false if it stands for something else already. */
static bool bind(GlowMatch *m, char letter, GlowValue *v) {
  if (!letter)
    return true;
  GlowValue **bound = &m->value[letter - 'a'];
  if (*bound)
    return glow_values_equal(*bound, v);
  *bound = v;
  return true;
}

static bool match_operands(GlowMatch *m, const Part *p, const GlowNode *n, bool swap,
                           const Goal *next) {
  Goal goals[MAX_ARGS];
  for (uint32_t i = p->nargs; i-- > 0;) {
    uint32_t from = swap && i < 2 ? 1 - i : i;
    goals[i] = (Goal){p->args[i], glow_node_in(n, from), next};
    if (!goals[i].value)
      return false;
    next = &goals[i];
  }
  return solve(m, next);
}

static bool match_node(GlowMatch *m, const Part *p, GlowValue *v, const Goal *next) {
  GlowNode *n = glow_value_def(v, p->op);
  if (!n || n->pred.value != m->root->pred.value || n->nresults != 1 ||
      !glow_product_is_direct(n) || m->count == GLOW_MATCH_NODES || p->nargs > glow_node_nins(n))
    return false;
  for (uint32_t i = p->nargs; i < glow_node_nins(n); i++)
    if (glow_node_in(n, i))
      return false;
  if (!is_inner(m, n))
    m->node[m->count++] = n;
  if (!GLOW_HAS(glow_node_desc(n), COMMUTATIVE))
    return match_operands(m, p, n, false, next);
  GlowMatch saved = *m;
  if (match_operands(m, p, n, false, next))
    return true;
  *m = saved;
  return match_operands(m, p, n, true, next);
}

static bool match_choice(GlowMatch *m, const Part *p, GlowValue *v, const Goal *next) {
  GlowMatch saved = *m;
  for (uint32_t i = 0; i < p->nargs; i++) {
    Goal goal = {p->args[i], v, next};
    if (solve(m, &goal))
      return true;
    *m = saved;
  }
  return false;
}

static bool match_number(GlowMatch *m, const Part *p, const GlowValue *v) {
  double number;
  if (!glow_value_number(m->values, v, &number))
    return false;
  if (p->kind == PART_SCALAR) {
    m->number[p->letter - 'a'] = number;
    return true;
  }
  return fabs(number - p->number) <= 2 * glow_kind_roundoff(v->type->kind) * fabs(p->number);
}

static bool solve(GlowMatch *m, const Goal *goal) {
  if (!goal)
    return is_closed(m);
  const Part *p = goal->part;
  GlowValue *v = goal->value;
  if (!bind(m, p->letter, v))
    return false;
  switch (p->kind) {
  case PART_NODE:
    return match_node(m, p, v, goal->next);
  case PART_CHOICE:
    return match_choice(m, p, v, goal->next);
  case PART_NUMBER:
  case PART_SCALAR:
    return match_number(m, p, v) && solve(m, goal->next);
  case PART_CONSTANT:
    return glow_constness_of(m->constness, v) && solve(m, goal->next);
  default:
    return solve(m, goal->next);
  }
}

/* ---- The walk -------------------------------------------------------------------------------- */

typedef struct Recognizer {
  GlowPassRun *run;
  const char *what;
  const GlowFormula *formulas;
  Part **parts;
  uint32_t count;
  GlowConstness *constness;
  GlowValues *values;
  GLOW_VEC(GlowNode *) roots; /* nodes that some formula starts with */
} Recognizer;

static bool find_root(GlowNode *n, void *arg) {
  Recognizer *r = arg;
  for (uint32_t i = 0; i < r->count; i++)
    if (r->parts[i]->op == n->op) {
      glow_vec_push(r->run->arena, &r->roots, n);
      break;
    }
  return true;
}

/* Whether formula i was found at n and replaced. */
static bool try_formula(Recognizer *r, uint32_t i, GlowNode *n) {
  GlowMatch m = {.root = n, .constness = r->constness, .values = r->values};
  Goal goal = {.part = r->parts[i], .value = &n->results[0]};
  if (!solve(&m, &goal))
    return false;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *y = r->formulas[i].build(&b, &m);
  if (!y)
    return false;
  if (y->type != n->results[0].type) {
    if (y->kind == GLOW_VALUE_RESULT)
      glow_remove_dead(y->def.node);
    return false;
  }
  glow_pass_changed(r->run, n, "%u nodes become %s", m.count, r->what);
  glow_node_replace(n, &y, 1);
  for (uint32_t k = 1; k < m.count; k++)
    glow_remove_dead(m.node[k]);
  return true;
}

bool glow_recognize(GlowPassRun *run, const char *what, const GlowFormula *formulas,
                    uint32_t count) {
  Recognizer r = {.run = run,
                  .what = what,
                  .formulas = formulas,
                  .parts = GLOW_NEW_ARRAY(run->arena, Part *, count),
                  .count = count,
                  .constness = glow_constness_create(run->arena),
                  .values = glow_values_create(run->module)};
  GlowDefer defer;
  glow_defer_push(run->ctx, &defer, glow_values_destroy_fn, r.values);
  for (uint32_t i = 0; i < count; i++) {
    Reader reader = {run->ctx, run->arena, formulas[i].text};
    r.parts[i] = read_part(&reader);
    GLOW_CHECK(run->ctx, r.parts[i]->kind == PART_NODE && !*reader.at, "a formula is wrong");
  }
  glow_block_walk(run->function->body, find_root, &r);
  unsigned errors = glow_context_error_count(run->ctx);
  for (uint32_t k = r.roots.count; k-- > 0;) {
    GlowNode *n = r.roots.data[k];
    for (uint32_t i = 0; n->block && i < count; i++)
      if (r.parts[i]->op == n->op && glow_product_is_direct(n) && try_formula(&r, i, n))
        break;
  }
  glow_defer_pop(run->ctx, &defer, true);
  return glow_context_error_count(run->ctx) == errors;
}

/* ---- Questions that recognizers ask ---------------------------------------------------------- */

bool glow_reduced_axes(const GlowNode *n, uint32_t *mask) {
  const GlowValue *axes_value = glow_node_in(n, 1);
  const GlowTensor *axes = axes_value ? glow_value_known(axes_value) : NULL;
  const GlowType *x = glow_node_in(n, 0)->type;
  const GlowReduceSumMembers *members = n->members; /* all Reduce operators have these */
  if (!members->keep || members->noop || x->unranked || (axes_value && !axes))
    return false;
  int64_t count = axes ? glow_tensor_elements(axes) : 0;
  *mask = count ? 0 : (UINT32_C(1) << x->rank) - 1;
  for (int64_t i = 0; i < count; i++) {
    int64_t axis = glow_tensor_get_int(axes, i);
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank)
      return false;
    *mask |= UINT32_C(1) << axis;
  }
  return true;
}

int64_t glow_single_axis(uint32_t mask) {
  return mask && !(mask & (mask - 1)) ? __builtin_ctz(mask) : -1;
}

bool glow_stands_along(const GlowValue *v, const GlowType *x, int64_t axis) {
  if (!v)
    return true;
  const GlowType *t = v->type;
  if (!glow_type_is_static(t) || t->rank > x->rank || t->kind != x->kind)
    return false;
  for (uint32_t i = 0; i < t->rank; i++) {
    uint32_t at = i + x->rank - t->rank;
    GlowDim d = x->dims[at];
    bool same = d.kind == GLOW_DIM_EXACT && d.size == t->dims[i].size && at >= axis;
    if (t->dims[i].size != 1 && !same)
      return false;
  }
  return true;
}
