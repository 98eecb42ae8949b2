/* Properties of the derivatives of a case, whose values differences need not confirm:
 *
 *   linear     g(a u + b v) = a g(u) + b g(v) for seeds u and v; a seed of zeros gives zeros
 *   paired     <J x', w> = <x', J' w>, where J x' is the derivative of <x', g> by the seed w
 *   symmetric  H u . v = H v . u, by the operands
 *   lowered    the rule's derivatives are those of the nodes that the lowering builds
 *   narrow     in other kinds they are those in double, but for roundings */
#include <math.h>

#include "test/autodiff/check.h"

enum { MOST = MAX_VARIED + MAX_RESULTS };

typedef struct Sum {
  double value, size; /* size: of the absolute values */
} Sum;

static Sum dot(const GlowTensor *a, const GlowTensor *b) {
  Sum s = {0};
  for (int64_t i = glow_tensor_elements(a); i-- > 0;) {
    double term = ((const double *)a->data)[i] * ((const double *)b->data)[i];
    s.value += term;
    s.size += fabs(term);
  }
  return s;
}

/* The sum of <letter_a><i> of a times <letter_b><i + from> of b over `count` tensors. */
static Sum dots(GlowContext *ctx, const GlowBindings *a, char letter_a, const GlowBindings *b,
                char letter_b, uint32_t count, uint32_t from) {
  Sum sum = {0};
  for (uint32_t i = 0; i < count; i++) {
    Sum s = dot(bindings_get(ctx, a, letter_a, i), bindings_get(ctx, b, letter_b, i + from));
    sum.value += s.value;
    sum.size += s.size;
  }
  return sum;
}

static bool are_near(Sum a, Sum b, double tolerance) {
  return fabs(a.value - b.value) <= tolerance * (1 + a.size + b.size);
}

/* w = a * w + b * v, or new numbers where v is NULL. */
static void change(GlowTensor *w, double a, double b, const GlowTensor *v) {
  double *to = w->data;
  for (int64_t i = glow_tensor_elements(w); i-- > 0;)
    to[i] = a * to[i] + b * (v ? ((const double *)v->data)[i] : draw() - 0.5);
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

typedef struct Seeds {
  const Derived *d;
  GlowBindings *inputs;
  GlowTensor *first[MAX_RESULTS]; /* copies of the seeds of the first run */
  GlowBindings u, v, both, none;  /* outputs */
} Seeds;

static void set_seeds(Seeds *s, double a, double b, bool drawn) {
  GlowContext *ctx = s->d->module->ctx;
  for (uint32_t r = 0; r < s->d->results; r++)
    change(bindings_get(ctx, s->inputs, 'w', r), a, b, drawn ? NULL : s->first[r]);
}

static bool is_linear(const GlowTensor *u, const GlowTensor *v, const GlowTensor *both) {
  double most = 1;
  for (int64_t i = glow_tensor_elements(u); i-- > 0;)
    most = fmax(most, fabs(((double *)u->data)[i]) + fabs(((double *)v->data)[i]));
  for (int64_t i = glow_tensor_elements(u); i-- > 0;) {
    double want = 0.75 * ((double *)u->data)[i] - 1.25 * ((double *)v->data)[i];
    if (!(fabs(((double *)both->data)[i] - want) <= 1e-13 * most))
      return false;
  }
  return true;
}

static bool is_zero(const GlowTensor *t) {
  for (int64_t i = glow_tensor_elements(t); i-- > 0;)
    if (((const double *)t->data)[i] != 0)
      return false;
  return true;
}

static void check_seeds(const Place *p, const Case *c, const Derived *d, GlowBindings *inputs) {
  GlowContext *ctx = d->module->ctx;
  Seeds s = {.d = d, .inputs = inputs};
  for (uint32_t r = 0; r < d->results; r++)
    s.first[r] = glow_tensor_copy(ctx, bindings_get(ctx, inputs, 'w', r));
  bool ok = derived_run(d, inputs, &s.u);
  set_seeds(&s, 0, 1, true);
  ok = ok && derived_run(d, inputs, &s.v);
  set_seeds(&s, -1.25, 0.75, false);
  ok = ok && derived_run(d, inputs, &s.both);
  set_seeds(&s, 0, 0, false);
  ok = ok && derived_run(d, inputs, &s.none);
  set_seeds(&s, 0, 1, false);
  for (uint32_t i = 0; ok && i < c->nvaried; i++) {
    if (!is_linear(bindings_get(ctx, &s.u, 'g', i), bindings_get(ctx, &s.v, 'g', i),
                   bindings_get(ctx, &s.both, 'g', i)))
      complain(p, "the derivative by x%u is not linear in the seed", i);
    if (!is_zero(bindings_get(ctx, &s.none, 'g', i)))
      complain(p, "the derivative by x%u is not 0 for a seed of zeros", i);
  }
  if (!ok)
    complain(p, "the derivatives do not run");
  for (uint32_t r = 0; r < d->results; r++)
    glow_tensor_free(s.first[r]);
  bindings_release(&s.u);
  bindings_release(&s.v);
  bindings_release(&s.both);
  bindings_release(&s.none);
}

/* ---- Second derivatives, lowering ------------------------------------------------------------ */

static void check_second(const Place *p, const Case *c, const Orders *o, GlowBindings *inputs) {
  GlowContext *ctx = o->d[2].module->ctx;
  GlowBindings first = {0}, second = {0}, other = {0}, old = {0};
  bool ok = derived_run(&o->d[1], inputs, &first) && derived_run(&o->d[2], inputs, &second);
  for (uint32_t i = 0; i < c->nvaried; i++) {
    GlowTensor *u = bindings_get(ctx, inputs, 'u', i);
    GlowBinding kept = {numbered(ctx, 'u', i), glow_tensor_copy(ctx, u)};
    glow_vec_push(ctx->arena, &old, kept);
  }
  if (ok && !are_near(dots(ctx, inputs, 'w', &second, 'h', o->d[1].results, c->nvaried),
                      dots(ctx, inputs, 'u', &first, 'g', c->nvaried, 0), 1e-12))
    complain(p, "<J u, w> is not <u, J' w>");
  for (uint32_t i = 0; i < c->nvaried; i++)
    change(bindings_get(ctx, inputs, 'u', i), 0, 1, NULL);
  ok = ok && derived_run(&o->d[2], inputs, &other);
  if (ok && !are_near(dots(ctx, inputs, 'u', &second, 'h', c->nvaried, 0),
                      dots(ctx, &old, 'u', &other, 'h', c->nvaried, 0), 1e-12))
    complain(p, "second derivatives are not symmetric");
  if (!ok)
    complain(p, "the derivatives do not run");
  bindings_release(&first);
  bindings_release(&second);
  bindings_release(&other);
  bindings_release(&old);
}

static void check_lowered(const Place *p, const Case *c, const Orders *o, const Derived *other,
                          const GlowBindings *inputs, double tolerance) {
  GlowContext *ctx = o->d[1].module->ctx;
  GlowBindings rule = {0}, lowered = {0};
  bool ok = derived_run(&o->d[1], inputs, &rule) && derived_run(other, inputs, &lowered);
  if (!ok)
    complain(p, "the derivatives of the lowering do not run");
  for (uint32_t i = 0; ok && i < c->nvaried; i++) {
    GlowTensor *a = bindings_get(ctx, &rule, 'g', i), *b = bindings_get(ctx, &lowered, 'g', i);
    double most = 1;
    int64_t wrong = -1;
    for (int64_t k = glow_tensor_elements(a); k-- > 0;)
      most = fmax(most, fabs(((double *)a->data)[k]));
    for (int64_t k = glow_tensor_elements(a); k-- > 0;)
      if (!(fabs(((double *)a->data)[k] - ((double *)b->data)[k]) <= tolerance * most))
        wrong = k;
    if (wrong >= 0)
      complain(p, "element %lld of the derivative by x%u is %g, but %g of %s", (long long)wrong, i,
               ((double *)a->data)[wrong], ((double *)b->data)[wrong],
               other == &o->through ? "the lowering" : "primitives");
  }
  bindings_release(&rule);
  bindings_release(&lowered);
}

/* ---- Other kinds ----------------------------------------------------------------------------- */

/* Copies the inputs into d's kind, and rounds the originals to it. */
static void narrow_inputs(const Derived *d, GlowBindings *inputs, GlowBindings *copies) {
  GlowContext *ctx = d->module->ctx;
  for (uint32_t i = 0; i < inputs->count; i++) {
    const GlowStorage *s = glow_module_storage(d->module, inputs->data[i].name);
    if (!s)
      continue;
    GlowTensor *from = inputs->data[i].tensor;
    const GlowType *type =
        glow_type_with_dims(ctx, s->value.type, from->type->rank, from->type->dims);
    GlowBinding copy = {inputs->data[i].name, glow_tensor_create(ctx, type)};
    for (int64_t k = glow_tensor_elements(from); k-- > 0;) {
      glow_tensor_set(copy.tensor, k, glow_tensor_get(from, k));
      ((double *)from->data)[k] = glow_tensor_get_double(copy.tensor, k);
    }
    glow_vec_push(ctx->arena, copies, copy);
  }
}

static void check_narrow(const Place *p, const Case *c, const Derived *wide, const Derived *d,
                         GlowBindings *inputs, double tolerance) {
  GlowContext *ctx = d->module->ctx;
  GlowBindings copies = {0}, got = {0}, want = {0};
  narrow_inputs(d, inputs, &copies);
  bool ok = derived_run(wide, inputs, &want) && derived_run(d, &copies, &got);
  if (!ok)
    complain(p, "the derivatives do not run in another kind");
  for (uint32_t i = 0; ok && i < c->nvaried; i++) {
    GlowTensor *a = bindings_get(ctx, &want, 'g', i), *b = bindings_get(ctx, &got, 'g', i);
    double most = 1;
    for (int64_t k = glow_tensor_elements(a); k-- > 0;)
      most = fmax(most, fabs(glow_tensor_get_double(a, k)));
    for (int64_t k = glow_tensor_elements(a); k-- > 0;)
      if (!(fabs(glow_tensor_get_double(a, k) - glow_tensor_get_double(b, k)) <=
            tolerance * most)) {
        complain(p, "element %lld of the derivative by x%u is %g in %s, but %g in double",
                 (long long)k, i, glow_tensor_get_double(b, k), glow_kind_info[b->type->kind].name,
                 glow_tensor_get_double(a, k));
        break;
      }
  }
  bindings_release(&copies);
  bindings_release(&got);
  bindings_release(&want);
}

void check_properties(const Place *p, const Case *c, const Orders *o, GlowBindings *inputs) {
  check_seeds(p, c, &o->d[1], inputs);
  if (o->through.module)
    check_lowered(p, c, o, &o->through, inputs, 1e-12);
  if (o->primitive.module)
    check_lowered(p, c, o, &o->primitive, inputs, 1e-12);
  if (c->twice)
    check_second(p, c, o, inputs);
  static const double tolerances[KINDS] = {1e-5, 0.01, 0.08};
  for (int i = 0; i < KINDS; i++)
    if (o->narrow[i].module)
      check_narrow(p, c, &o->d[1], &o->narrow[i], inputs, tolerances[i]);
}
