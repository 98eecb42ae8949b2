/* Random initializers for variables of floating point, by what reads them.
 *
 *   -initialize='kind=he;seed=1'   he      normal with scale Sqrt(2 / fan-in)
 *                                  xavier  uniform in +-Sqrt(6 / (fan-in + fan-out))
 *                                  torch   PyTorch's defaults: uniform in +-1 / Sqrt(fan-in)
 *
 * A weight is read by a contraction, a recurrent cell or Gather, also behind a Transpose or
 * Reshape: fan-in is how many products an output adds up, fan-out how many outputs an input takes
 * part in. Factors (Scale, Mul) become 1, other vectors 0; with torch what is added to a
 * contraction has the limits of its weight, cells have 1 / Sqrt(hidden), and an embedding is normal
 * with scale 1.
 *
 * What a function saves, running statistics and states, keeps its initializer. Variable number i
 * that becomes random, in the order of the declarations, has the seed (seed << 20) + i.
 *
 * Requested: it replaces values. */
#include <string.h>

#include "pass/pass.h"
#include "transforms/globs.h"
#include "transforms/transforms.h"

typedef enum Kind { HE, XAVIER, TORCH } Kind;
static const char *const kinds[] = {"he", "xavier", "torch"};

/* How a node reads a variable. */
typedef struct Reader {
  const GlowNode *n; /* NULL: nothing reads it */
  uint32_t input;
  const GlowType *type; /* that the node sees */
} Reader;

typedef struct Fans {
  double in, out; /* in 0: it is no weight of a contraction */
} Fans;

/* ---- Readers --------------------------------------------------------------------------------- */

/* Whether n gives the elements of its first operand another shape, order or kind. */
static bool only_moves(const GlowNode *n) {
  static const GlowOp ops[] = {GLOW_OP_TRANSPOSE, GLOW_OP_RESHAPE, GLOW_OP_IDENTITY,
                               GLOW_OP_CAST,      GLOW_OP_SQUEEZE, GLOW_OP_UNSQUEEZE};
  for (uint32_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (n->op == ops[i])
      return true;
  return false;
}

static Reader reader_of(const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    if (u == &n->pred || n->op == GLOW_OP_SAVE || GLOW_HAS(glow_node_desc(n), TERMINATOR))
      continue;
    uint32_t input = (uint32_t)(u - n->operands);
    if (input == 0 && only_moves(n)) {
      Reader behind = reader_of(&n->results[0]);
      if (behind.n)
        return behind;
      continue;
    }
    return (Reader){n, input, v->type};
  }
  return (Reader){0};
}

static bool is_cell(const GlowNode *n) {
  return n->op == GLOW_OP_RNN || n->op == GLOW_OP_GRU || n->op == GLOW_OP_LSTM;
}

static double extent(const GlowType *t, int64_t axis) {
  return (double)t->dims[axis < 0 ? axis + t->rank : axis].size;
}

static bool is_matrix(const GlowType *t) { return glow_type_is_static(t) && t->rank >= 2; }

/* The fans of a weight, whose type as the node sees it is a matrix. */
static Fans fans_of(const Reader *r) {
  const GlowType *t = r->type;
  double all = (double)glow_type_elements(t);
  if (r->n && (r->n->op == GLOW_OP_MAT_MUL || r->n->op == GLOW_OP_FULLY_CONNECTED)) {
    bool left = r->input == 0; /* [out, in] */
    return (Fans){extent(t, left ? -1 : -2), extent(t, left ? -2 : -1)};
  }
  if (r->n && (is_cell(r->n) || r->n->op == GLOW_OP_GATHER))
    return (Fans){extent(t, -1), extent(t, -2)};
  bool last = r->n && r->n->op == GLOW_OP_CONVOLUTION &&
              ((const GlowConvolutionMembers *)r->n->members)->layout == GLOW_LAYOUT_NHWC;
  return (Fans){all / extent(t, 0), all / extent(t, last ? -1 : 1)};
}

/* The fan-in that limits a vector that r reads: that of the contraction that it is added to. */
static double fan_beside(const Reader *r) {
  const GlowNode *n = r->n;
  if (!n)
    return 0;
  if (is_cell(n)) {
    const GlowType *recurrent = glow_node_in(n, 2)->type;
    return is_matrix(recurrent) ? extent(recurrent, -1) : 0;
  }
  for (uint32_t i = 0; n->op == GLOW_OP_ADD && i < 2; i++)
    if (i != r->input && glow_node_in(n, i)->kind == GLOW_VALUE_RESULT)
      n = glow_node_in(n, i)->def.node;
  bool contracts = n->op == GLOW_OP_MAT_MUL || n->op == GLOW_OP_FULLY_CONNECTED ||
                   n->op == GLOW_OP_CONVOLUTION || n->op == GLOW_OP_CONV_TRANSPOSE;
  if (!contracts || !is_matrix(glow_node_in(n, 1)->type))
    return 0;
  Reader weight = {n, 1, glow_node_in(n, 1)->type};
  return fans_of(&weight).in;
}

/* ---- Initializers ---------------------------------------------------------------------------- */

static GlowInit splat(double v) { return (GlowInit){.kind = GLOW_INIT_SPLAT, .splat = {.f = v}}; }

static GlowInit within(double limit, uint64_t seed) {
  GlowRandom r = {.kind = GLOW_RANDOM_UNIFORM, .low = -limit, .high = limit, .seed = seed};
  return (GlowInit){.kind = GLOW_INIT_RANDOM, .random = r};
}

static GlowInit normal(double scale, uint64_t seed) {
  GlowRandom r = {.kind = GLOW_RANDOM_NORMAL, .scale = scale, .seed = seed};
  return (GlowInit){.kind = GLOW_INIT_RANDOM, .random = r};
}

static GlowInit init_vector(Kind kind, const Reader *r, uint64_t seed) {
  double fan = kind == TORCH ? fan_beside(r) : 0;
  const GlowOpPort *port = r->n ? glow_op_in_port(glow_node_desc(r->n), r->input) : NULL;
  if (fan > 0)
    return within(1 / __builtin_sqrt(fan), seed);
  bool factor = port && (strcmp(port->name, "Scale") == 0 || r->n->op == GLOW_OP_MUL);
  return splat(factor ? 1 : 0);
}

static GlowInit init_weight(Kind kind, const Reader *r, const GlowType *own, uint64_t seed) {
  Reader alone = {.type = own};
  r = r->n && is_matrix(r->type) ? r : &alone;
  Fans f = fans_of(r);
  if (kind == HE)
    return normal(__builtin_sqrt(2 / f.in), seed);
  if (kind == XAVIER)
    return within(__builtin_sqrt(6 / (f.in + f.out)), seed);
  if (r->n && r->n->op == GLOW_OP_GATHER)
    return normal(1, seed);
  double fan = r->n && is_cell(r->n) ? fan_beside(r) : f.in;
  return within(1 / __builtin_sqrt(fan), seed);
}

/* Biases of cells have an axis for directions, too. */
static bool is_vector(const Reader *r, const GlowType *t) {
  return t->rank == 1 || (r->n && is_cell(r->n) && t->rank == 2);
}

/* ---- The pass -------------------------------------------------------------------------------- */

static bool read_kind(GlowPassRun *run, Kind *kind) {
  const char *text = glow_pass_option(run, "kind");
  for (int i = 0; text && i < 3; i++)
    if (strcmp(text, kinds[i]) == 0) {
      *kind = (Kind)i;
      return true;
    }
  if (text)
    glow_error(run->ctx, GLOW_NOWHERE, "-initialize: kind=%s is none of he, xavier and torch",
               text);
  else
    glow_error(run->ctx, GLOW_NOWHERE, "-initialize needs a kind: kind=he, xavier or torch");
  return false;
}

static bool is_saved(const GlowStorage *s) {
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    if (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE])
      return true;
  return false;
}

static bool can_initialize(const GlowStorage *s) {
  const GlowType *t = s->value.type;
  return s->cls == GLOW_VARIABLE && glow_type_is_tensor(t) && glow_kind_is_float(t->kind) &&
         !t->quantized && t->rank > 0 && glow_type_elements(t) > 0 && !is_saved(s);
}

bool glow_pass_initialize(GlowPassRun *run) {
  Kind kind;
  bool ok = true;
  int64_t seed = glow_pass_option_int(run, "seed", 0, &ok);
  const char *only = glow_pass_option(run, "only");
  GlowGlobs globs = glow_globs_read(run, only);
  GLOW_VEC(const char *) names = {0};
  if (!read_kind(run, &kind) || !ok)
    return false;
  uint64_t next = (uint64_t)seed << 20;
  for (GlowStorage *s = run->module->first_storage; s; s = s->next) {
    if (!can_initialize(s))
      continue;
    glow_vec_push(run->arena, &names, s->value.name);
    if (only && !glow_globs_match(&globs, s->value.name))
      continue;
    Reader r = reader_of(&s->value);
    glow_pass_changed(run, NULL, "@%s has another initializer", s->value.name);
    s->init = is_vector(&r, s->value.type) ? init_vector(kind, &r, next)
                                           : init_weight(kind, &r, s->value.type, next);
    next += s->init.kind == GLOW_INIT_RANDOM;
  }
  if (names.count == 0) {
    glow_error(run->ctx, GLOW_NOWHERE,
               "-initialize: the module has no variable of floating point "
               "and rank 1 or more that no function saves; run -unfreeze first");
    return false;
  }
  return glow_globs_all_matched(&globs, "variable", names.data, names.count);
}
