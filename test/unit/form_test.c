/* Tests of lib/tensor/form: random expressions are evaluated directly and by their normal forms,
 * and expressions that are equal for all extents have equal forms. */
#include <string.h>

#include "tensor/form.h"
#include "test/unit/unit.h"

enum { SYMBOLS = 3, POINTS = 8, EXPRESSIONS = 10000, GROUP = 40 };

typedef struct World {
  GlowContext *ctx;
  const GlowExtent *symbols[SYMBOLS];
  int64_t values[POINTS][SYMBOLS];
  uint64_t state;
} World;

static uint32_t draw(World *w, uint32_t below) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(w->state >> 33) % below;
}

/* Symbols with random ranges, and values of them. The first point has the least ones, the second
 * the largest. */
static void make_symbols(World *w) {
  static const char *const names[SYMBOLS] = {"A", "Batch", "c_3"};
  for (int i = 0; i < SYMBOLS; i++) {
    int64_t least = draw(w, 40), step = 1 + draw(w, 8), count = draw(w, 20);
    w->symbols[i] =
        glow_extent(w->ctx, glow_str(w->ctx, names[i]), least, least + step * count, step);
    for (uint32_t p = 0; p < POINTS; p++) {
      int64_t index = p == 0 ? 0 : p == 1 ? count : draw(w, (uint32_t)count + 1);
      w->values[p][i] = least + step * index;
    }
  }
}

/* An expression's form and its values, by the definition of each operator. */
typedef struct Value {
  GlowForm form;
  int64_t at[POINTS];
} Value;

static int64_t floor_of(int64_t a, int64_t b) {
  int64_t q = a / b;
  while (q * b > a)
    q--;
  return q;
}

static int64_t apply(int op, int64_t a, int64_t b) {
  switch (op) {
  case 0:
    return a + b;
  case 1:
    return a - b;
  case 2:
    return a * b;
  case 3:
    return floor_of(a, b);
  case 4:
    return a - b * floor_of(a, b);
  case 5:
    return a < b ? a : b;
  default:
    return a > b ? a : b;
  }
}

/* False if the form is refused. */
static bool combine(World *w, int op, const Value *a, const Value *b, Value *v) {
  bool ok = false;
  GlowContext *ctx = w->ctx;
  switch (op) {
  case 0:
    ok = glow_form_add(&a->form, &b->form, &v->form);
    break;
  case 1:
    ok = glow_form_sub(&a->form, &b->form, &v->form);
    break;
  case 2:
    ok = glow_form_mul(&a->form, &b->form, &v->form);
    break;
  case 3:
    ok = glow_form_div(ctx, &a->form, &b->form, &v->form);
    break;
  case 4:
    ok = glow_form_mod(ctx, &a->form, &b->form, &v->form);
    break;
  case 5:
    ok = glow_form_min(ctx, &a->form, &b->form, &v->form);
    break;
  default:
    ok = glow_form_max(ctx, &a->form, &b->form, &v->form);
    break;
  }
  for (int p = 0; ok && p < POINTS; p++)
    v->at[p] = apply(op, a->at[p], b->at[p]);
  return ok;
}

static Value leaf(World *w, bool number) {
  Value v;
  uint32_t i = draw(w, SYMBOLS);
  int64_t n = 1 + draw(w, 12);
  v.form = glow_form_number(n);
  if (!number)
    CHECK(glow_form_of(w->ctx, glow_dim_ranged(w->symbols[i]), &v.form));
  for (int p = 0; p < POINTS; p++)
    v.at[p] = number ? n : w->values[p][i];
  return v;
}

static Value random_value(World *w, uint32_t depth) {
  if (depth == 0 || draw(w, 6) == 0)
    return leaf(w, draw(w, 3) == 0);
  int op = (int)draw(w, 7);
  Value a = random_value(w, depth - 1), v;
  Value b = op == 3 || op == 4 ? leaf(w, true) : random_value(w, depth - 1);
  return combine(w, op, &a, &b, &v) ? v : a;
}

typedef struct Point {
  const World *w;
  uint32_t p;
} Point;

static bool value_at(void *arg, const GlowExtent *symbol, GlowForm *f) {
  const Point *at = arg;
  for (int i = 0; i < SYMBOLS; i++)
    if (at->w->symbols[i] == symbol)
      *f = glow_form_number(at->w->values[at->p][i]);
  return true;
}

static const GlowExtent *symbol_named(void *world, GlowStr name) {
  const World *w = world;
  for (int i = 0; i < SYMBOLS; i++)
    if (w->symbols[i]->symbol == name)
      return w->symbols[i];
  return NULL;
}

/* The number of texts that are too long, or read as another form. */
static unsigned texts_lost;

static void check_text(World *w, const GlowForm *form) {
  GlowText text;
  GlowForm read;
  const char *at, *error = "";
  glow_text_init(&text, w->ctx);
  if (!glow_form_print(form, &text)) {
    texts_lost++;
  } else {
    const char *s = glow_text_cstr(&text);
    if (glow_form_parse(w->ctx, s, s + strlen(s), symbol_named, w, &read, &at, &error))
      EXPECT(glow_form_equals(&read, form), "%s reads as another form", s);
    else
      texts_lost++;
  }
  glow_text_release(&text);
}

static void check_value(World *w, const Value *v) {
  int64_t least, most, step = glow_form_step(&v->form);
  bool ranged = glow_form_range(&v->form, &least, &most);
  for (uint32_t p = 0; p < POINTS; p++) {
    GlowForm number;
    Point at = {w, p};
    if (!glow_form_replace(w->ctx, &v->form, value_at, &at, &number))
      continue;
    EXPECT(number.count == 0 && number.constant == v->at[p], "%lld, not %lld",
           (long long)number.constant, (long long)v->at[p]);
    CHECK(!ranged || (least <= v->at[p] && v->at[p] <= most));
    CHECK(step ? (v->at[p] - v->form.constant) % step == 0 : v->at[p] == v->form.constant);
  }
  check_text(w, &v->form);
}

/* Laws that hold for all extents: both sides have one form, where both have one. */
static void check_laws(World *w) {
  Value a = random_value(w, 2), b = random_value(w, 2), c = random_value(w, 1);
  Value x, y, n = leaf(w, true);
  for (int op = 0; op < 7; op++)
    if (op != 1 && op != 3 && op != 4 && combine(w, op, &a, &b, &x) && combine(w, op, &b, &a, &y))
      CHECK(glow_form_equals(&x.form, &y.form));
  Value ab, bc, ac;
  if (combine(w, 0, &a, &b, &ab) && combine(w, 2, &ab, &c, &x) && combine(w, 2, &a, &c, &ac) &&
      combine(w, 2, &b, &c, &bc) && combine(w, 0, &ac, &bc, &y))
    CHECK(glow_form_equals(&x.form, &y.form));
  if (combine(w, 2, &a, &n, &x) && combine(w, 0, &x, &b, &x) && combine(w, 3, &x, &n, &x) &&
      combine(w, 3, &b, &n, &y) && combine(w, 0, &y, &a, &y)) /* (a * n + b) / n = a + b / n */
    CHECK(glow_form_equals(&x.form, &y.form));
}

static void test_random(void) {
  World w = {.state = 7};
  for (int i = 0; i < EXPRESSIONS / GROUP; i++) {
    w.ctx = glow_context_create();
    make_symbols(&w);
    for (int k = 0; k < GROUP; k++) {
      Value v = random_value(&w, 1 + draw(&w, 4));
      check_value(&w, &v);
      check_laws(&w);
    }
    glow_context_destroy(w.ctx);
  }
  EXPECT(texts_lost < EXPRESSIONS / 100, "%u texts are lost", texts_lost);
}

/* ---- Examples -------------------------------------------------------------------------------- */

typedef struct Example {
  const char *text, *printed; /* printed NULL: an error is expected */
  const char *range;
} Example;

static const GlowExtent *find_in(void *ctx, GlowStr name) {
  static const struct {
    const char *name;
    int64_t least, most, step;
  } of[] = {{"H", 32, 640, 32}, {"N", 1, 512, 1}, {"T", 0, 512, 1}, {"K", 3, 15, 2}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    if (strcmp(of[i].name, name) == 0)
      return glow_extent(ctx, name, of[i].least, of[i].most, of[i].step);
  return NULL;
}

static void test_examples(GlowContext *ctx) {
  static const Example examples[] = {
      {"$T + $N", "$N + $T", "1..1024"},
      {"$H / 2 * 2", "$H", "32..640 step 32"},
      {"($H - 1) / 2 + 1", "$H / 2", "16..320 step 16"},
      {"($N - 1) / 2 + 1", "($N + 1) / 2", "1..256"},
      {"$N / 2 * 2", "$N / 2 * 2", "0..512 step 2"},
      {"$H * $N / 32", "$H * $N / 32", "1..10240"},
      {"($H * $N) / $N", "$H", "32..640 step 32"},
      {"$K * 3 / 2", "($K * 3 - 1) / 2", "4..22 step 3"},
      {"$N % 4", "$N - $N / 4 * 4", "0..512"},
      {"$N / 3 / 5", "$N / 15", "0..34"},
      {"$N * 5 / 4 / 10", "$N / 8", "0..64"},
      {"max($T, 1)", "$T - min($T - 1, 0)", "0..513"},
      {"min($H, 1000)", "$H", "32..640 step 32"},
      {"5 - $K", "5 - $K", "0..2 step 2"},
      {"7 / 2", "3", "3"},
      {"$M + 1", NULL, "'$M' has no range that is declared"},
      {"$N + ", NULL, "expected a symbol such as $N, a number, '(', min or max"},
      {"$N / 0", NULL, "the divisor must be a number above 0, or divide without a rest"},
      {"$N / $T", NULL, "the divisor must be a number above 0, or divide without a rest"},
      {"min($N)", NULL, "expected ','"},
      {"($N + 1", NULL, "expected ')'"},
      {"$N 3", NULL, "expected an operator"},
      {"$N * $N * $N * $N * $N", NULL, "the definition is too complex"},
  };
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const Example *x = &examples[i];
    GlowForm f;
    GlowText text;
    const char *at, *error;
    bool ok =
        glow_form_parse(ctx, x->text, x->text + strlen(x->text), find_in, ctx, &f, &at, &error);
    EXPECT(ok == (x->printed != NULL), "%s", x->text);
    if (!ok) {
      EXPECT(x->printed || !strcmp(error, x->range), "%s: %s", x->text, error);
      continue;
    }
    glow_text_init(&text, ctx);
    CHECK(glow_form_print(&f, &text));
    EXPECT(!strcmp(glow_text_cstr(&text), x->printed), "%s prints %s", x->text, text.data);
    glow_text_release(&text);
    GlowDim d = glow_form_dim(ctx, &f, 0, GLOW_MAX_ELEMENTS);
    EXPECT(!strcmp(glow_dim_range_str(ctx, d), x->range), "%s is %s", x->text,
           glow_dim_range_str(ctx, d));
    GlowDim again = glow_form_dim(ctx, &f, 0, GLOW_MAX_ELEMENTS);
    CHECK(glow_dim_equals(d, again));
  }
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  test_examples(ctx);
  glow_context_destroy(ctx);
  test_random();
  return unit_finish();
}
