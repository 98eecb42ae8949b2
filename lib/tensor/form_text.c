/* Forms as texts; see form.h. */
#include "tensor/form.h"

#include <string.h>

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct Reader {
  GlowContext *ctx;
  const char *s, *end;
  GlowSymbolFn *find;
  void *arg;
  const char *error; /* the first one */
  const char *at;
  uint32_t depth;
} Reader;

static bool fail(Reader *r, const char *at, const char *error) {
  if (!r->error) {
    r->error = error;
    r->at = at;
  }
  return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* The next character that is no space; 0 at the end. */
static char peek(Reader *r) {
  while (r->s < r->end && (*r->s == ' ' || *r->s == '\t'))
    r->s++;
  return r->s < r->end ? *r->s : 0;
}

static bool expect(Reader *r, char c, const char *error) {
  if (peek(r) != c)
    return fail(r, r->s, error);
  r->s++;
  return true;
}

static bool read_sum(Reader *r, GlowForm *f);

static bool read_number(Reader *r, GlowForm *f) {
  int64_t n = 0;
  const char *start = r->s;
  for (; r->s < r->end && is_digit(*r->s); r->s++) {
    n = n * 10 + (*r->s - '0');
    if (n > GLOW_MAX_ELEMENTS)
      return fail(r, start, "the number is too large");
  }
  *f = glow_form_number(n);
  return true;
}

static bool read_symbol(Reader *r, GlowForm *f) {
  const char *start = r->s++;
  const char *name = r->s;
  while (r->s < r->end && (is_letter(*r->s) || is_digit(*r->s)))
    r->s++;
  if (r->s == name || is_digit(*name))
    return fail(r, start, "expected a name behind '$'");
  if (r->s - name > GLOW_MAX_NAME)
    return fail(r, start, "the name of a symbol is too long");
  GlowStr symbol = glow_str_n(r->ctx, name, (size_t)(r->s - name));
  const GlowExtent *e = r->find(r->arg, symbol);
  if (!e)
    return fail(r, start, glow_str_printf(r->ctx, "'$%s' has no range that is declared", symbol));
  return glow_form_of(r->ctx, glow_dim_ranged(e), f);
}

/* min(a, b), max(a, b) */
static bool read_call(Reader *r, GlowForm *f) {
  const char *start = r->s;
  while (r->s < r->end && is_letter(*r->s))
    r->s++;
  bool is_min = r->s - start == 3 && memcmp(start, "min", 3) == 0;
  bool is_max = r->s - start == 3 && memcmp(start, "max", 3) == 0;
  GlowForm a, b;
  if (!is_min && !is_max)
    return fail(r, start, "expected a symbol such as $N, a number, '(', min or max");
  if (!expect(r, '(', "expected '('") || !read_sum(r, &a) || !expect(r, ',', "expected ','") ||
      !read_sum(r, &b) || !expect(r, ')', "expected ')'"))
    return false;
  return (is_min ? glow_form_min : glow_form_max)(r->ctx, &a, &b, f) ||
         fail(r, start, "the definition is too complex");
}

static bool read_primary(Reader *r, GlowForm *f) {
  char c = peek(r);
  if (is_digit(c))
    return read_number(r, f);
  if (c == '$')
    return read_symbol(r, f);
  if (c != '(' && c != '-')
    return read_call(r, f);
  r->s++;
  if (c == '(')
    return read_sum(r, f) && expect(r, ')', "expected ')'");
  GlowForm none = {0};
  const char *start = r->s;
  return read_primary(r, f) &&
         (glow_form_sub(&none, f, f) || fail(r, start, "the definition is too complex"));
}

/* Applies '*', '/' or '%', which stands at `at`. */
static bool apply(Reader *r, const char *at, GlowForm *f, const GlowForm *b) {
  if (*at == '*')
    return glow_form_mul(f, b, f) || fail(r, at, "the definition is too complex");
  if (*at == '/' ? glow_form_div(r->ctx, f, b, f) : glow_form_mod(r->ctx, f, b, f))
    return true;
  return fail(r, at, "the divisor must be a number above 0, or divide without a rest");
}

static bool read_product(Reader *r, GlowForm *f) {
  GlowForm b;
  if (!read_primary(r, f))
    return false;
  for (char c = peek(r); c == '*' || c == '/' || c == '%'; c = peek(r)) {
    const char *at = r->s++;
    if (!read_primary(r, &b) || !apply(r, at, f, &b))
      return false;
  }
  return true;
}

static bool read_sum(Reader *r, GlowForm *f) {
  enum { MOST_DEPTH = 32 };
  GlowForm b;
  if (++r->depth > MOST_DEPTH)
    return fail(r, r->s, "the definition nests too deeply");
  if (!read_product(r, f))
    return false;
  for (char c = peek(r); c == '+' || c == '-'; c = peek(r)) {
    const char *at = r->s++;
    if (!read_product(r, &b))
      return false;
    if (!(c == '+' ? glow_form_add : glow_form_sub)(f, &b, f))
      return fail(r, at, "the definition is too complex");
  }
  r->depth--;
  return true;
}

bool glow_form_parse(GlowContext *ctx, const char *text, const char *end, GlowSymbolFn *find,
                     void *arg, GlowForm *f, const char **at, const char **error) {
  Reader r = {.ctx = ctx, .s = text, .end = end, .find = find, .arg = arg};
  bool ok = read_sum(&r, f) && (!peek(&r) || fail(&r, r.s, "expected an operator"));
  *at = r.at;
  *error = r.error;
  return ok;
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* What a text says is a quotient of a polynomial by a number, which divides its values. The
 * polynomial is a form whose INDEX atoms stand for symbols, not for their indices, and whose
 * QUOTIENT atoms stand for quotients of such polynomials. */
typedef struct Ratio {
  GlowForm above;
  int64_t below;
} Ratio;

static int64_t common_divisor(const GlowForm *f, int64_t n) {
  int64_t step = glow_form_step(f), numbers[] = {step, f->constant};
  for (int i = 0; i < 2; i++)
    for (int64_t b = numbers[i] < 0 ? -numbers[i] : numbers[i]; b;) {
      int64_t rest = n % b;
      n = b;
      b = rest;
    }
  return n;
}

static bool reduce(Ratio *r) {
  if (r->above.constant == INT64_MIN)
    return false;
  int64_t common = common_divisor(&r->above, r->below);
  r->below /= common;
  r->above.constant /= common;
  for (uint32_t i = 0; i < r->above.count; i++)
    r->above.terms[i].factor /= common;
  return true;
}

static bool scale(GlowForm *f, int64_t n) {
  GlowForm number = glow_form_number(n);
  return glow_form_mul(f, &number, f);
}

static bool add_ratios(Ratio *a, Ratio b) {
  int64_t below;
  if (__builtin_mul_overflow(a->below, b.below, &below) || !scale(&a->above, b.below) ||
      !scale(&b.above, a->below) || !glow_form_add(&a->above, &b.above, &a->above))
    return false;
  a->below = below;
  return reduce(a);
}

static bool to_ratio(const GlowForm *f, Ratio *r);

/* The polynomial and the number whose quotient the atom is. What the number divides in the constant
 * goes into *whole, so that the text has small numbers. */
static bool inside(const GlowAtom *a, Ratio *r, int64_t *whole) {
  if (!to_ratio(a->form, r) || __builtin_mul_overflow(r->below, a->divisor, &r->below))
    return false;
  int64_t c = r->above.constant, rest = c % r->below + (c % r->below < 0 ? r->below : 0);
  r->above.constant = rest;
  return !__builtin_sub_overflow(c, rest, &c) && ((*whole = c / r->below), true);
}

/* An atom as a ratio of symbols and itself. */
static bool atom_ratio(const GlowAtom *a, Ratio *r) {
  Ratio in;
  r->below = a->kind == GLOW_ATOM_INDEX ? a->extent->step : 1;
  r->above = (GlowForm){.count = 1, .terms = {{.factor = 1, .atoms = {a}}}};
  if (a->kind == GLOW_ATOM_INDEX)
    r->above.constant = -a->extent->least;
  return a->kind != GLOW_ATOM_QUOTIENT || inside(a, &in, &r->above.constant);
}

static bool to_ratio(const GlowForm *f, Ratio *r) {
  *r = (Ratio){.above = glow_form_number(f->constant), .below = 1};
  for (uint32_t i = 0; i < f->count; i++) {
    Ratio product = {.above = glow_form_number(f->terms[i].factor), .below = 1}, atom;
    for (uint32_t k = 0; k < GLOW_FORM_ATOMS && f->terms[i].atoms[k]; k++)
      if (!atom_ratio(f->terms[i].atoms[k], &atom) ||
          !glow_form_mul(&product.above, &atom.above, &product.above) ||
          __builtin_mul_overflow(product.below, atom.below, &product.below))
        return false;
    if (!reduce(&product) || !add_ratios(r, product))
      return false;
  }
  return true;
}

static bool print_ratio(const Ratio *r, GlowText *out);

/* `grouped`: an operator stands before the atom. */
static bool print_atom(const GlowAtom *a, bool grouped, GlowText *out) {
  Ratio r;
  int64_t whole;
  if (a->kind == GLOW_ATOM_INDEX) {
    glow_text_printf(out, "$%s", a->extent->symbol);
    return true;
  }
  if (a->kind == GLOW_ATOM_QUOTIENT) {
    glow_text_puts(out, grouped ? "(" : "");
    bool ok = inside(a, &r, &whole) && print_ratio(&r, out);
    glow_text_puts(out, grouped ? ")" : "");
    return ok;
  }
  glow_text_puts(out, "min(");
  bool ok = to_ratio(a->form, &r) && print_ratio(&r, out);
  glow_text_puts(out, ", 0)");
  return ok;
}

static bool print_term(const GlowTerm *t, bool behind_sign, GlowText *out) {
  int64_t factor = t->factor < 0 ? -t->factor : t->factor;
  for (uint32_t k = 0; k < GLOW_FORM_ATOMS && t->atoms[k]; k++) {
    glow_text_puts(out, k ? " * " : "");
    if (!print_atom(t->atoms[k], k || behind_sign, out))
      return false;
  }
  if (factor != 1)
    glow_text_printf(out, " * %lld", (long long)factor);
  return true;
}

static bool print_polynomial(const GlowForm *f, GlowText *out) {
  bool first = f->constant > 0 && f->count && f->terms[0].factor < 0;
  if (first || !f->count)
    glow_text_printf(out, "%lld", (long long)f->constant);
  for (uint32_t i = 0; i < f->count; i++) {
    bool negative = f->terms[i].factor < 0;
    glow_text_puts(out, i || first ? (negative ? " - " : " + ") : negative ? "-" : "");
    if (!print_term(&f->terms[i], !i && !first && negative, out))
      return false;
  }
  if (f->constant && f->count && !first)
    glow_text_printf(out, " %c %lld", f->constant < 0 ? '-' : '+',
                     (long long)(f->constant < 0 ? -f->constant : f->constant));
  return true;
}

static bool print_ratio(const Ratio *r, GlowText *out) {
  bool one = r->above.count + (r->above.constant != 0) <= 1;
  if (r->below == 1)
    return print_polynomial(&r->above, out);
  glow_text_puts(out, one ? "" : "(");
  bool ok = print_polynomial(&r->above, out);
  glow_text_printf(out, "%s / %lld", one ? "" : ")", (long long)r->below);
  return ok;
}

bool glow_form_print(const GlowForm *a, GlowText *out) {
  Ratio r;
  return to_ratio(a, &r) && print_ratio(&r, out);
}
