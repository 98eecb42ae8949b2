/* Arithmetic of forms; see form.h. */
#include "tensor/form.h"

#include <string.h>

struct GlowAtomEntry {
  GlowAtom atom;
  struct GlowAtomEntry *next;
};

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_forms(const GlowForm *a, const GlowForm *b);

static int compare_extents(const GlowExtent *a, const GlowExtent *b) {
  int order = strcmp(a->symbol, b->symbol);
  order = order ? order : compare_numbers(a->least, b->least);
  order = order ? order : compare_numbers(a->most, b->most);
  return order ? order : compare_numbers(a->step, b->step);
}

static int compare_atoms(const GlowAtom *a, const GlowAtom *b) {
  if (a == b)
    return 0;
  if (!a || !b)
    return a ? -1 : 1;
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  if (a->kind == GLOW_ATOM_INDEX)
    return compare_extents(a->extent, b->extent);
  int order = compare_numbers(a->divisor, b->divisor);
  return order ? order : compare_forms(a->form, b->form);
}

static uint32_t degree(const GlowTerm *t) {
  uint32_t n = 0;
  while (n < GLOW_FORM_ATOMS && t->atoms[n])
    n++;
  return n;
}

/* The order of products. It is that of monomials: it stays when both are multiplied by a third. */
static int compare_products(const GlowTerm *a, const GlowTerm *b) {
  int order = compare_numbers(degree(b), degree(a));
  for (uint32_t i = 0; !order && i < GLOW_FORM_ATOMS; i++)
    order = compare_atoms(a->atoms[i], b->atoms[i]);
  return order;
}

static int compare_forms(const GlowForm *a, const GlowForm *b) {
  int order = compare_numbers(a->count, b->count);
  for (uint32_t i = 0; !order && i < a->count; i++) {
    order = compare_products(&a->terms[i], &b->terms[i]);
    order = order ? order : compare_numbers(a->terms[i].factor, b->terms[i].factor);
  }
  return order ? order : compare_numbers(a->constant, b->constant);
}

bool glow_form_equals(const GlowForm *a, const GlowForm *b) { return compare_forms(a, b) == 0; }

/* ---- Sums and products ----------------------------------------------------------------------- */

GlowForm glow_form_number(int64_t n) { return (GlowForm){.constant = n}; }

/* Adds a term, whose factor may be 0. */
static bool add_term(GlowForm *f, const GlowTerm *t) {
  uint32_t i = 0;
  int order = 1;
  if (t->factor == 0)
    return true;
  while (i < f->count && (order = compare_products(&f->terms[i], t)) < 0)
    i++;
  if (i < f->count && order == 0) {
    if (__builtin_add_overflow(f->terms[i].factor, t->factor, &f->terms[i].factor))
      return false;
    if (f->terms[i].factor == 0)
      memmove(&f->terms[i], &f->terms[i + 1], (--f->count - i) * sizeof *t);
    return true;
  }
  if (f->count == GLOW_FORM_TERMS)
    return false;
  memmove(&f->terms[i + 1], &f->terms[i], (f->count++ - i) * sizeof *t);
  f->terms[i] = *t;
  return true;
}

/* f += a * number */
static bool add_scaled(GlowForm *f, const GlowForm *a, int64_t number) {
  int64_t constant;
  if (__builtin_mul_overflow(a->constant, number, &constant) ||
      __builtin_add_overflow(f->constant, constant, &f->constant))
    return false;
  for (uint32_t i = 0; i < a->count; i++) {
    GlowTerm t = a->terms[i];
    if (__builtin_mul_overflow(t.factor, number, &t.factor) || !add_term(f, &t))
      return false;
  }
  return true;
}

bool glow_form_add(const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm sum = *a;
  bool ok = add_scaled(&sum, b, 1);
  *f = sum;
  return ok;
}

bool glow_form_sub(const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm sum = *a;
  bool ok = add_scaled(&sum, b, -1);
  *f = sum;
  return ok;
}

/* The product of two terms; a term without atoms is a number. */
static bool mul_terms(const GlowTerm *a, const GlowTerm *b, GlowTerm *t) {
  uint32_t na = degree(a), nb = degree(b), i = 0, k = 0;
  *t = (GlowTerm){0};
  if (na + nb > GLOW_FORM_ATOMS || __builtin_mul_overflow(a->factor, b->factor, &t->factor))
    return false;
  while (i + k < na + nb) {
    bool first = k == nb || (i < na && compare_atoms(a->atoms[i], b->atoms[k]) <= 0);
    uint32_t n = i + k;
    t->atoms[n] = first ? a->atoms[i++] : b->atoms[k++];
  }
  return true;
}

/* f += a * t */
static bool add_product(GlowForm *f, const GlowForm *a, const GlowTerm *t) {
  GlowTerm product = *t;
  if (__builtin_mul_overflow(a->constant, t->factor, &product.factor) || !add_term(f, &product))
    return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!mul_terms(&a->terms[i], t, &product) || !add_term(f, &product))
      return false;
  return true;
}

bool glow_form_mul(const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm product = {0};
  bool ok = add_scaled(&product, a, b->constant);
  for (uint32_t i = 0; ok && i < b->count; i++)
    ok = add_product(&product, a, &b->terms[i]);
  *f = product;
  return ok;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* Values of forms and terms stay within this. */
static const __int128 limit = (__int128)1 << 62;

static bool term_range(const GlowTerm *t, __int128 *least, __int128 *most) {
  *least = *most = t->factor;
  for (uint32_t i = 0; i < GLOW_FORM_ATOMS && t->atoms[i]; i++) {
    __int128 a = *least * t->atoms[i]->least, b = *least * t->atoms[i]->most;
    __int128 c = *most * t->atoms[i]->least, d = *most * t->atoms[i]->most;
    __int128 low = a < b ? a : b, low2 = c < d ? c : d, high = a > b ? a : b, high2 = c > d ? c : d;
    *least = low < low2 ? low : low2;
    *most = high > high2 ? high : high2;
    if (*least < -limit || *most > limit)
      return false;
  }
  return true;
}

bool glow_form_range(const GlowForm *a, int64_t *least, int64_t *most) {
  __int128 low = a->constant, high = a->constant, l, h;
  for (uint32_t i = 0; i < a->count; i++) {
    if (!term_range(&a->terms[i], &l, &h))
      return false;
    low += l;
    high += h;
  }
  *least = (int64_t)low;
  *most = (int64_t)high;
  return low >= -limit && high <= limit;
}

static int64_t gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t r = x % y;
    x = y;
    y = r;
  }
  return x > INT64_MAX ? 1 : (int64_t)x;
}

int64_t glow_form_step(const GlowForm *a) {
  int64_t step = 0;
  for (uint32_t i = 0; i < a->count; i++)
    step = gcd(step, a->terms[i].factor);
  return step;
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

/* f = the interned atom `like`, or its value if it has but one. `like` may borrow its form. */
static bool atom_form(GlowContext *ctx, const GlowAtom *like, GlowForm *f) {
  if (like->least == like->most) {
    *f = glow_form_number(like->least);
    return true;
  }
  struct GlowAtomEntry *e = ctx->atoms;
  while (e && compare_atoms(&e->atom, like) != 0)
    e = e->next;
  if (!e) {
    e = GLOW_NEW(ctx->arena, struct GlowAtomEntry);
    e->atom = *like;
    if (like->form)
      e->atom.form = glow_arena_copy(ctx->arena, like->form, sizeof *like->form);
    e->next = ctx->atoms;
    ctx->atoms = e;
  }
  *f = (GlowForm){.count = 1, .terms = {{.factor = 1, .atoms = {&e->atom}}}};
  return true;
}

bool glow_form_of(GlowContext *ctx, GlowDim d, GlowForm *f) {
  const GlowExtent *e = d.extent;
  if (d.kind == GLOW_DIM_EXACT)
    *f = glow_form_number(d.size);
  if (!e || e->form) {
    if (e)
      *f = *e->form;
    return e || d.kind == GLOW_DIM_EXACT;
  }
  GlowAtom index = {GLOW_ATOM_INDEX, 0, (e->most - e->least) / e->step, e, NULL, 0};
  GlowForm i;
  *f = glow_form_number(e->least);
  return atom_form(ctx, &index, &i) && add_scaled(f, &i, e->step);
}

/* ---- Quotients ------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Takes a quotient apart: a = number * whole + rest, where the factors of `rest` lie between 0 and
 * number. */
static bool split(const GlowForm *a, int64_t number, GlowForm *whole, GlowForm *rest) {
  if (a->constant < -limit || number > limit)
    return false;
  *whole = glow_form_number(floor_div(a->constant, number));
  *rest = glow_form_number(a->constant - whole->constant * number);
  for (uint32_t i = 0; i < a->count; i++) {
    GlowTerm t = a->terms[i], r = t;
    if (t.factor < -limit)
      return false;
    t.factor = floor_div(t.factor, number);
    r.factor -= t.factor * number;
    if (!add_term(whole, &t) || !add_term(rest, &r))
      return false;
  }
  return true;
}

/* The first term that is a quotient alone, times 1; or NULL. */
static const GlowTerm *inner_quotient(const GlowForm *a) {
  for (uint32_t i = 0; i < a->count; i++) {
    const GlowTerm *t = &a->terms[i];
    if (t->factor == 1 && degree(t) == 1 && t->atoms[0]->kind == GLOW_ATOM_QUOTIENT)
      return t;
  }
  return NULL;
}

static bool div_number(GlowContext *ctx, const GlowForm *a, int64_t number, GlowForm *f) {
  GlowForm whole, rest, part;
  int64_t least, most;
  if (number <= 0 || !split(a, number, &whole, &rest))
    return false;
  int64_t common = gcd(number, glow_form_step(&rest));
  rest.constant = floor_div(rest.constant, common);
  for (uint32_t i = 0; i < rest.count; i++)
    rest.terms[i].factor /= common;
  number /= common;
  if (number == 1)
    return glow_form_add(&whole, &rest, f);
  if (!glow_form_range(&rest, &least, &most))
    return false;
  const GlowTerm *t = inner_quotient(&rest);
  if (t) { /* (x / m + rest) / n = (x + m * rest) / (m * n) */
    const GlowAtom *inner = t->atoms[0];
    GlowTerm taken = *t;
    taken.factor = -1;
    part = *inner->form;
    if (!add_term(&rest, &taken) || !add_scaled(&part, &rest, inner->divisor) ||
        __builtin_mul_overflow(number, inner->divisor, &number) ||
        !div_number(ctx, &part, number, &part))
      return false;
  } else {
    GlowAtom quotient = {
        GLOW_ATOM_QUOTIENT, floor_div(least, number), floor_div(most, number), NULL, &rest, number};
    if (!atom_form(ctx, &quotient, &part))
      return false;
  }
  return glow_form_add(&whole, &part, f);
}

/* Divides term a by term b. */
static bool div_terms(const GlowTerm *a, const GlowTerm *b, GlowTerm *t) {
  uint32_t k = 0, n = 0;
  *t = (GlowTerm){.factor = a->factor / b->factor};
  for (uint32_t i = 0; i < degree(a); i++)
    if (k < degree(b) && a->atoms[i] == b->atoms[k])
      k++;
    else
      t->atoms[n++] = a->atoms[i];
  return k == degree(b) && a->factor % b->factor == 0;
}

/* Divides polynomials; false unless that leaves nothing. */
static bool div_exactly(const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm quotient = {0}, rest = *a, product;
  while (rest.count || rest.constant) {
    GlowTerm number = {.factor = rest.constant}, t;
    if (!div_terms(rest.count ? &rest.terms[0] : &number, &b->terms[0], &t))
      return false;
    GlowForm factor = glow_form_number(degree(&t) ? 0 : t.factor);
    if (degree(&t) && !add_term(&factor, &t))
      return false;
    if (!glow_form_add(&quotient, &factor, &quotient) || !glow_form_mul(b, &factor, &product) ||
        !glow_form_sub(&rest, &product, &rest))
      return false;
  }
  *f = quotient;
  return true;
}

bool glow_form_div(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  int64_t least, most;
  if (!b->count)
    return div_number(ctx, a, b->constant, f);
  return glow_form_range(b, &least, &most) && least > 0 && div_exactly(a, b, f);
}

bool glow_form_mod(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm quotient;
  return glow_form_div(ctx, a, b, &quotient) && glow_form_mul(&quotient, b, &quotient) &&
         glow_form_sub(a, &quotient, f);
}

/* ---- Minimum --------------------------------------------------------------------------------- */

/* f = min(d, 0). The first factor of the form in an atom is positive. */
static bool negative_part(GlowContext *ctx, const GlowForm *d, GlowForm *f) {
  GlowForm form = {0}, part, none = {0};
  int64_t least, most, common = gcd(glow_form_step(d), d->constant);
  if (!glow_form_range(d, &least, &most))
    return false;
  if (least >= 0 || most <= 0) {
    *f = least >= 0 ? none : *d;
    return true;
  }
  bool turned = d->terms[0].factor < 0;
  if (!add_scaled(&form, d, turned ? -1 : 1))
    return false;
  form.constant /= common;
  for (uint32_t i = 0; i < form.count; i++)
    form.terms[i].factor /= common;
  int64_t low = (turned ? -most : least) / common;
  GlowAtom atom = {GLOW_ATOM_NEGATIVE, low, 0, NULL, &form, 0};
  if (!atom_form(ctx, &atom, &part))
    return false;
  GlowForm sum = turned ? *d : none; /* min(d, 0) = d + min(-d, 0) */
  bool ok = add_scaled(&sum, &part, common);
  *f = sum;
  return ok;
}

bool glow_form_min(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm part;
  return glow_form_sub(a, b, &part) && negative_part(ctx, &part, &part) &&
         glow_form_add(b, &part, f);
}

bool glow_form_max(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  GlowForm part;
  return glow_form_sub(a, b, &part) && negative_part(ctx, &part, &part) &&
         glow_form_sub(a, &part, f);
}

/* ---- Symbols --------------------------------------------------------------------------------- */

static bool replace_atom(GlowContext *ctx, const GlowAtom *a, GlowFormFn *fn, void *arg,
                         GlowForm *f) {
  if (a->kind != GLOW_ATOM_INDEX)
    return glow_form_replace(ctx, a->form, fn, arg, f) &&
           (a->kind == GLOW_ATOM_QUOTIENT ? div_number(ctx, f, a->divisor, f)
                                          : negative_part(ctx, f, f));
  GlowForm least = glow_form_number(a->extent->least);
  return fn(arg, a->extent, f) && glow_form_sub(f, &least, f) &&
         div_number(ctx, f, a->extent->step, f);
}

bool glow_form_replace(GlowContext *ctx, const GlowForm *a, GlowFormFn *fn, void *arg,
                       GlowForm *f) {
  GlowForm sum = glow_form_number(a->constant), factor;
  for (uint32_t i = 0; i < a->count; i++) {
    GlowForm product = glow_form_number(a->terms[i].factor);
    for (uint32_t k = 0; k < degree(&a->terms[i]); k++)
      if (!replace_atom(ctx, a->terms[i].atoms[k], fn, arg, &factor) ||
          !glow_form_mul(&product, &factor, &product))
        return false;
    if (!glow_form_add(&sum, &product, &sum))
      return false;
  }
  *f = sum;
  return true;
}

bool glow_extent_number(const GlowExtent *e, GlowFormFn *fn, void *arg, int64_t *number) {
  GlowForm f;
  bool found = e->form ? glow_form_replace(e->ctx, e->form, fn, arg, &f) : fn(arg, e, &f);
  if (!found || f.count)
    return false;
  *number = f.constant;
  return true;
}

void glow_form_symbols(const GlowForm *a, void (*fn)(void *arg, const GlowExtent *symbol),
                       void *arg) {
  for (uint32_t i = 0; i < a->count; i++)
    for (uint32_t k = 0; k < degree(&a->terms[i]); k++) {
      const GlowAtom *atom = a->terms[i].atoms[k];
      if (atom->form)
        glow_form_symbols(atom->form, fn, arg);
      else
        fn(arg, atom->extent);
    }
}
