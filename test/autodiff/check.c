/* autodiff-check [--reference FILE] [--planted] [--twice] [--complete] FILE...: derivatives of the
 * cases in the files (see case.h) against differences, and against those in the reference.
 *
 * The differences are central ones of the interpreter's own function, at three steps, extrapolated
 * as Richardson does; operands are double. The function is the sum of its results times random
 * weights. A derivative must agree with them to 1e-8 (1 + |g|), and with the other sign it must
 * not: so a wrong sign in a rule is noticed. With --complete, each operand that has a derivative
 * must be varied in a case whose last node is its operator.
 *
 * With --planted, nothing is compared but with a wrong sign in the rule of the last node, for each
 * operand that is varied in turn, and each of them must be noticed. With --twice, each case counts
 * as one that says so: rules are closed, their nodes have derivatives again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/file.h"
#include "test/autodiff/check.h"
#include "test/autodiff/planted.h"
#include "test/autodiff/reference.h"

static const double STEP = 0x1p-8, TOLERANCE = 1e-8;
static Reference reference;
static bool planted; /* each case runs with wrong rules, which it must notice */
static bool twice;   /* each case asks for second derivatives */
bool quiet;
static unsigned cases, derivatives, referred, lowered, primitive, narrow, failures;
static uint32_t seen[GLOW_OP_COUNT]; /* bit i: operand i is varied in a case */

void complain(const Place *p, const char *format, ...) {
  va_list args;
  failures++;
  if (quiet)
    return;
  printf("%s:%u: ", p->file, p->line);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n  %s\n", p->text);
}

static void print_message(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (!quiet)
    printf("%s\n", d->message);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static uint64_t state;
double draw(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(state >> 11) * 0x1p-53;
}

/* Values between low and high in random order, no two nearer than half of their mean distance. */
static void spread(double *v, int64_t n, double low, double high) {
  for (int64_t i = 0; i < n; i++)
    v[i] = low + (high - low) * ((double)i + 0.25 + 0.5 * draw()) / (double)n;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = (int64_t)(draw() * (double)(i + 1));
    double t = v[i];
    v[i] = v[j];
    v[j] = t;
  }
}

static void bind(GlowContext *ctx, GlowBindings *b, char letter, uint32_t i, const GlowType *type,
                 double low, double high) {
  GlowBinding one = {numbered(ctx, letter, i), glow_tensor_create(ctx, type)};
  spread(one.tensor->data, glow_tensor_elements(one.tensor), low, high);
  glow_vec_push(ctx->arena, b, one);
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* The function that is differentiated: the sum of outputs <letter><i> times inputs <weight><i>. */
typedef struct Function {
  const Derived *d;
  const GlowBindings *inputs;
  GlowBindings outputs;
  char letter, weight;
  uint32_t count;
} Function;

static double value_of(Function *f) {
  GlowContext *ctx = f->d->module->ctx;
  long double sum = 0;
  if (!derived_run(f->d, f->inputs, &f->outputs))
    return NAN;
  for (uint32_t r = 0; r < f->count; r++) {
    const double *y = bindings_get(ctx, &f->outputs, f->letter, r)->data;
    const GlowTensor *w = bindings_get(ctx, f->inputs, f->weight, r);
    for (int64_t i = glow_tensor_elements(w); i-- > 0;)
      sum += (long double)y[i] * (long double)((const double *)w->data)[i];
  }
  return (double)sum;
}

/* The derivative of f by *x. */
static double difference(Function *f, double *x) {
  double at = *x, central[3];
  for (int k = 0; k < 3; k++) {
    double h = ldexp(STEP, -k);
    *x = at + h;
    double above = value_of(f);
    *x = at - h;
    central[k] = (above - value_of(f)) / (2 * h);
  }
  *x = at;
  double once = (4 * central[1] - central[0]) / 3, finer = (4 * central[2] - central[1]) / 3;
  return (16 * finer - once) / 15;
}

typedef enum Size { ANY, ZERO, SEEN } Size; /* SEEN: large enough that its sign is noticed */

/* Compares derivative g, which must be of this size, with the differences of f by x. */
static void compare(const Place *p, Function *f, GlowTensor *x, const GlowTensor *g, Size size,
                    const char *name) {
  double largest = 0;
  int64_t n = glow_tensor_elements(x);
  if (x->type != g->type) {
    complain(p, "%s has another type", name);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double got = ((const double *)g->data)[i], want = difference(f, (double *)x->data + i);
    derivatives++;
    largest = fmax(largest, fabs(want));
    if (!(fabs(got - want) <= TOLERANCE * (1 + fabs(want)))) {
      complain(p, "element %lld of %s is %.15g, but the differences give %.15g", (long long)i, name,
               got, want);
      return;
    }
  }
  if (size == ZERO && largest > TOLERANCE)
    complain(p, "%s is not 0: the largest is %g", name, largest);
  if (size == SEEN && n > 0 && largest < 1e-3)
    complain(p, "%s would pass with the other sign: the largest is %g", name, largest);
}

/* ---- Cases ----------------------------------------------------------------------------------- */

/* Notes which operands of the last node are varied. */
static void note(const GlowNode *n) {
  for (uint32_t i = 0; i < glow_node_nins(n) && i < 32; i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_PLACEHOLDER)
      seen[n->op] |= UINT32_C(1) << i;
  }
}

/* Sets the elements to the numbers of a list, its brackets aside. */
static void set_listed(const GlowTensor *t, const char *list) {
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    char *end;
    ((double *)t->data)[i] = glow_parse_double(list + strspn(list, " [],"), &end);
    list = end;
  }
}

/* Gives the operands values; false if one is of another kind. */
static bool bind_operands(GlowContext *ctx, const Case *c, const Derived *d, GlowBindings *inputs) {
  for (uint32_t i = 0; i < c->nvaried; i++) {
    const GlowType *type = glow_module_storage(d->module, numbered(ctx, 'x', i))->value.type;
    if (!glow_type_is_static(type) || type->kind != GLOW_KIND_DOUBLE)
      return false;
    if (c->varied[i].at) {
      GlowBinding one = {numbered(ctx, 'x', i), glow_tensor_create(ctx, type)};
      set_listed(one.tensor, c->varied[i].at);
      glow_vec_push(ctx->arena, inputs, one);
    } else {
      bind(ctx, inputs, 'x', i, type, c->varied[i].low, c->varied[i].high);
    }
  }
  return true;
}

/* Compares what `by` saves as <letter><i> with the differences of f. */
static void compare_all(const Place *p, const Case *c, const Derived *by, Function *f, char letter,
                        GlowBindings *inputs) {
  GlowContext *ctx = by->module->ctx;
  GlowBindings outputs = {0};
  if (!derived_run(by, inputs, &outputs)) {
    complain(p, "the derivatives do not run");
    return;
  }
  uint32_t all = letter == 'g' ? c->nvaried : c->nvaried + by->results;
  for (uint32_t i = 0; i < all; i++) {
    char from = i < c->nvaried ? 'x' : 'w';
    uint32_t at = i < c->nvaried ? i : i - c->nvaried;
    char name[40];
    snprintf(name, sizeof name, "the %s derivative by %c%u", letter == 'g' ? "first" : "second",
             from, at);
    const GlowTensor *got = bindings_get(ctx, &outputs, letter, i);
    Size size = letter == 'h' ? ANY : c->varied[i].flat ? ZERO : SEEN;
    compare(p, f, bindings_get(ctx, inputs, from, at), got, size, name);
  }
  bindings_release(&outputs);
}

/* Compares first derivatives with those that another program computed. */
static void compare_reference(const Place *p, const Case *c, const Derived *by,
                              GlowBindings *inputs) {
  const char *at = reference_find(&reference, p->text);
  GlowBindings outputs = {0};
  if (!at || !derived_run(by, inputs, &outputs))
    return;
  referred++;
  for (uint32_t i = 0; i < c->nvaried; i++) {
    int64_t wrong = reference_compare(&at, bindings_get(by->module->ctx, &outputs, 'g', i));
    if (wrong >= 0) {
      complain(p, "element %lld of the derivative by x%u is not the reference's", (long long)wrong,
               i);
      break;
    }
  }
  bindings_release(&outputs);
}

/* Compares the derivatives at a corner with those of the line. */
static void compare_corner(const Place *p, const Case *c, const Derived *by, GlowBindings *inputs) {
  GlowContext *ctx = by->module->ctx;
  GlowBindings outputs = {0};
  const char *at = c->corner;
  if (!derived_run(by, inputs, &outputs)) {
    complain(p, "the derivatives do not run");
    return;
  }
  for (uint32_t i = 0; i < c->nvaried; i++) {
    const GlowTensor *g = bindings_get(ctx, &outputs, 'g', i);
    for (int64_t k = 0; k < glow_tensor_elements(g); k++, derivatives++) {
      char *end;
      double got = ((const double *)g->data)[k];
      double want = glow_parse_double(at + strspn(at, " "), &end);
      at = end;
      if (!(got == want || (isnan(got) && isnan(want))))
        complain(p, "element %lld of the derivative by x%u is %.15g", (long long)k, i, got);
    }
  }
  bindings_release(&outputs);
}

/* The weights of results are 1 at a corner. */
static void bind_weights(GlowContext *ctx, const Case *c, const Derived *d,
                         const GlowBindings *outputs, GlowBindings *inputs) {
  double low = c->corner ? 1 : 0.5, high = c->corner ? 1 : 1.5;
  for (uint32_t r = 0; r < d->results; r++)
    bind(ctx, inputs, 'w', r, bindings_get(ctx, outputs, 'y', r)->type, low, high);
  for (uint32_t i = 0; i < c->nvaried; i++)
    bind(ctx, inputs, 'u', i, bindings_get(ctx, inputs, 'x', i)->type, 0.5, 1.5);
}

/* What could not be built has no module. */
static void drop_unless(Derived *d, bool built) {
  if (built)
    return;
  derived_end(d);
  *d = (Derived){0};
}

/* Builds all that a case wants; false after a message. */
static bool begin_orders(GlowContext *ctx, const Case *c, Orders *o) {
  *o = (Orders){0};
  for (int i = 0; i < 2 + c->twice; i++)
    if (!derived_begin(&o->d[i], ctx, c, i))
      return false;
  static const char *const kinds[KINDS] = {"float", "float16", "bfloat16"};
  bool was_quiet = quiet;
  quiet = true;
  drop_unless(&o->through, derived_begin_lowered(&o->through, ctx, c));
  if (!c->corner)
    drop_unless(&o->primitive, derived_begin_primitive(&o->primitive, ctx, c));
  for (int i = 0; i < KINDS && !c->corner; i++)
    drop_unless(&o->narrow[i], derived_begin_kind(&o->narrow[i], ctx, c, kinds[i]));
  quiet = was_quiet;
  return true;
}

static void compare_case(const Place *p, const Case *c, const Orders *o, Function *value,
                         Function *slope, GlowBindings *inputs) {
  value->count = o->d[0].results;
  slope->count = c->nvaried;
  bind_weights(o->d[0].module->ctx, c, &o->d[0], &value->outputs, inputs);
  if (c->corner) {
    compare_corner(p, c, &o->d[1], inputs);
    return;
  }
  compare_all(p, c, &o->d[1], value, 'g', inputs);
  compare_reference(p, c, &o->d[1], inputs);
  if (c->twice)
    compare_all(p, c, &o->d[2], slope, 'h', inputs);
  lowered += o->through.module != NULL;
  primitive += o->primitive.module != NULL;
  for (int i = 0; i < KINDS; i++)
    narrow += o->narrow[i].module != NULL;
  check_properties(p, c, o, inputs);
}

static void run_case(GlowContext *ctx, const Place *p, const Case *c) {
  Orders o;
  GlowBindings inputs = {0};
  Function value = {.d = &o.d[0], .inputs = &inputs, .letter = 'y', .weight = 'w'};
  Function slope = {.d = &o.d[1], .inputs = &inputs, .letter = 'g', .weight = 'u'};
  if (!begin_orders(ctx, c, &o)) {
    complain(p, "the function or its derivative is refused");
  } else if (!bind_operands(ctx, c, &o.d[0], &inputs)) {
    complain(p, "operands must be double tensors, or constants");
  } else if (!derived_run(&o.d[0], &inputs, &value.outputs)) {
    complain(p, "the function does not run");
  } else {
    note(o.d[0].last);
    compare_case(p, c, &o, &value, &slope, &inputs);
  }
  bindings_release(&inputs);
  bindings_release(&value.outputs);
  bindings_release(&slope.outputs);
  for (int i = 0; i < 3; i++)
    derived_end(&o.d[i]);
  derived_end(&o.through);
  derived_end(&o.primitive);
  for (int i = 0; i < KINDS; i++)
    derived_end(&o.narrow[i]);
}

/* Runs the case with a wrong sign in the rule of its last node, for one operand after the other. */
static void run_planted(GlowContext *ctx, const Place *p, const Case *c) {
  Derived d;
  if (derived_begin(&d, ctx, c, 0) && has_rule(d.last->op)) {
    for (uint32_t i = 0; i < glow_node_nins(d.last); i++) {
      const GlowValue *v = glow_node_in(d.last, i);
      bool is_varied = v && v->kind == GLOW_VALUE_STORAGE && v->name[0] == 'x';
      if (!is_varied || c->corner || c->varied[atoi(v->name + 1)].flat ||
          !glow_type_elements(v->type))
        continue;
      unsigned before = failures;
      state = 17;
      quiet = true;
      plant(d.last->op, i);
      run_case(ctx, p, c);
      plant(GLOW_OP_COUNT, 0);
      quiet = false;
      bool noticed = failures > before;
      failures = before;
      if (!noticed)
        complain(p, "a wrong sign of the derivative by operand %u is not noticed", i);
    }
  }
  derived_end(&d);
}

static void check_line(Place *p) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, print_message, NULL);
  Case c = case_read(ctx, p->text);
  c.twice |= twice && !c.corner;
  state = 17; /* a case does not depend on those before */
  cases++;
  if (c.error)
    complain(p, "%s", c.error);
  else if (planted)
    run_planted(ctx, p, &c);
  else
    run_case(ctx, p, &c);
  glow_text_release(&c.module);
  glow_context_destroy(ctx);
}

static void check_file(const char *path) {
  FILE *in = fopen(path, "r");
  char line[1000];
  Place p = {.file = path, .text = line};
  if (!in) {
    printf("%s: cannot be read\n", path);
    failures++;
    return;
  }
  while (fgets(line, sizeof line, in)) {
    p.line++;
    line[strcspn(line, "\n")] = 0;
    if (line[0] && line[0] != ';')
      check_line(&p);
  }
  fclose(in);
}

/* Whether operand i can be a double tensor that has a derivative. That of Regression is a
 * definition: no differences agree with it. */
static bool has_derivative(const GlowOpDesc *d, uint32_t i) {
  if (d == &glow_op_desc[GLOW_OP_REGRESSION])
    return false;
  const GlowOpPort *p = &d->in[i];
  bool var = p->type == GLOW_PORT_VAR;
  bool is_double = var && (d->vars[p->var].kinds >> GLOW_KIND_DOUBLE & 1);
  return (glow_op_has_grad(d, i) && (is_double || !var)) || (d->grad_lowering && is_double);
}

static void check_complete(void) {
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++) {
    const GlowOpDesc *d = &glow_op_desc[op];
    for (uint32_t i = 0; i < d->nin; i++)
      if (has_derivative(d, i) && !(seen[op] >> i & 1)) {
        printf("%s has a derivative by %s, but no case\n", d->node, d->in[i].name);
        failures++;
      }
  }
}

int main(int argc, char **argv) {
  int first = 1;
  if (argc > 2 && strcmp(argv[first], "--reference") == 0) {
    if (!reference_read(&reference, argv[2])) {
      printf("%s: cannot be read\n", argv[2]);
      failures++;
    }
    first = 3;
  }
  for (; argc > first; first++) {
    if (strcmp(argv[first], "--planted") == 0)
      planted = true;
    else if (strcmp(argv[first], "--twice") == 0)
      twice = true;
    else
      break;
  }
  bool complete = argc > first && strcmp(argv[first], "--complete") == 0;
  for (int i = first + complete; i < argc; i++)
    check_file(argv[i]);
  if (complete)
    check_complete();
  free(reference.text);
  printf("%u cases, %u derivatives, %u cases with a reference, %u lowered, %u as primitives, %u in "
         "other kinds, %u failures\n",
         cases, derivatives, referred, lowered, primitive, narrow, failures);
  return failures != 0 || cases == 0;
}
