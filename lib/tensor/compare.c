/* Comparison of a result with its reference, element by element: |got - want| <= atol + rtol *
 * |want| for floating point kinds, exact equality for all others. NaN equals NaN; an infinity
 * equals only itself. Layouts may differ, shapes and kinds may not. */
#include <math.h>
#include <string.h>

#include "tensor/element.h"

typedef struct Comparison {
  GlowCompare *result;
  double rtol, atol, worst_excess;
  int64_t base; /* number of elements in the earlier items of the sequence */
} Comparison;

/* How many values of the kind lie from a to b, which are bits; floats have sign and magnitude. */
static uint64_t step_distance(GlowKind kind, uint64_t a, uint64_t b) {
  uint32_t bits = glow_kind_info[kind].bits;
  GlowKindClass cls = glow_kind_info[kind].cls;
  uint64_t sign = UINT64_C(1) << (bits - 1);
  if (cls == GLOW_CLASS_SINT) {
    a ^= sign;
    b ^= sign;
  } else if (cls == GLOW_CLASS_FLOAT && kind != GLOW_KIND_FLOAT8E8M0) {
    a = a & sign ? sign - (a & ~sign) : sign + a;
    b = b & sign ? sign - (b & ~sign) : sign + b;
  }
  return a > b ? a - b : b - a;
}

static void note_worst(Comparison *c, int64_t i, double excess, double got, double want) {
  if (c->result->worst >= 0 && !(excess > c->worst_excess))
    return;
  c->worst_excess = excess;
  c->result->worst = c->base + i;
  c->result->worst_got = got;
  c->result->worst_want = want;
}

/* One number of a kind of at most 64 bits. Returns whether it is wrong. */
static bool compare_number(Comparison *c, GlowKind kind, uint64_t gbits, uint64_t wbits,
                           int64_t i) {
  GlowCompare *r = c->result;
  double got = glow_element_decode(kind, gbits).f, want = glow_element_decode(kind, wbits).f;
  bool is_float = glow_kind_info[kind].cls == GLOW_CLASS_FLOAT;
  if (isnan(got) || isnan(want)) {
    bool wrong = !isnan(got) || !isnan(want);
    if (isnan(got) && wrong && r->first_nan < 0)
      r->first_nan = c->base + i;
    note_worst(c, i, wrong ? INFINITY : -c->atol, got, want);
    return wrong;
  }
  double allowed = is_float && !isinf(want) ? c->atol + c->rtol * fabs(want) : 0.0;
  if (is_float ? got == want : gbits == wbits) {
    note_worst(c, i, -allowed, got, want);
    return false;
  }
  double error = fabs(got - want), relative = want != 0 ? error / fabs(want) : 0.0;
  if (isnan(relative)) /* infinity against infinity */
    relative = INFINITY;
  uint64_t steps = step_distance(kind, gbits, wbits);
  r->max_abs = error > r->max_abs ? error : r->max_abs;
  r->max_rel = relative > r->max_rel ? relative : r->max_rel;
  r->max_ulp = steps > r->max_ulp ? steps : r->max_ulp;
  note_worst(c, i, error - allowed, got, want);
  return !is_float || !(error <= allowed);
}

static bool compare_element(Comparison *c, const GlowTensor *got, const GlowTensor *want,
                            int64_t i) {
  GlowKind kind = want->type->kind;
  int64_t g = glow_type_physical_index(got->type, i), w = glow_type_physical_index(want->type, i);
  if (kind == GLOW_KIND_STRING) {
    GlowString a = glow_tensor_get_string(got, i), b = glow_tensor_get_string(want, i);
    bool wrong = a.length != b.length || (a.length && memcmp(a.data, b.data, a.length) != 0);
    note_worst(c, i, wrong, 0, 0);
    return wrong;
  }
  if (glow_kind_info[kind].cls == GLOW_CLASS_COMPLEX) {
    GlowKind part = kind == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
    bool wrong = false;
    for (int k = 0; k < 2; k++)
      wrong |= compare_number(c, part, glow_element_bits(part, got->data, 2 * g + k),
                              glow_element_bits(part, want->data, 2 * w + k), i);
    return wrong;
  }
  return compare_number(c, kind, glow_element_bits(kind, got->data, g),
                        glow_element_bits(kind, want->data, w), i);
}

/* Same class, kind and shape; layouts and quantization parameters do not matter. */
static bool comparable(const GlowTensor *got, const GlowTensor *want) {
  const GlowType *g = got->type, *w = want->type;
  if (g->cls != w->cls)
    return false;
  if (g->cls != GLOW_TYPE_TENSOR)
    return got->count == want->count;
  if (g->kind != w->kind || g->rank != w->rank)
    return false;
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->dims[i].size != w->dims[i].size)
      return false;
  return true;
}

static const char *describe_mismatch(GlowContext *ctx, const GlowTensor *got,
                                     const GlowTensor *want) {
  if (got->type->cls == want->type->cls && got->type->cls != GLOW_TYPE_TENSOR)
    return glow_arena_printf(ctx->arena, "got %u items, want %u", (unsigned)got->count,
                             (unsigned)want->count);
  return glow_arena_printf(ctx->arena, "got %s, want %s", glow_type_str(ctx, got->type),
                           glow_type_str(ctx, want->type));
}

/* Compares one tensor or all items of a sequence; elements are numbered across the items. */
static void compare_all(GlowContext *ctx, Comparison *c, const GlowTensor *got,
                        const GlowTensor *want) {
  GlowCompare *r = c->result;
  if (!comparable(got, want)) {
    if (!r->mismatch)
      r->mismatch = describe_mismatch(ctx, got, want);
    return;
  }
  if (want->type->cls != GLOW_TYPE_TENSOR) {
    for (uint32_t i = 0; i < want->count; i++)
      compare_all(ctx, c, got->items[i], want->items[i]);
    return;
  }
  int64_t n = glow_tensor_elements(want);
  c->base = r->elements;
  for (int64_t i = 0; i < n; i++)
    r->wrong += compare_element(c, got, want, i);
  r->elements += n;
}

GlowCompare glow_tensor_compare(GlowContext *ctx, const GlowTensor *got, const GlowTensor *want,
                                double rtol, double atol) {
  GlowCompare r = {.worst = -1, .first_nan = -1};
  Comparison c = {.result = &r, .rtol = rtol, .atol = atol};
  compare_all(ctx, &c, got, want);
  r.ok = !r.mismatch && r.wrong == 0;
  return r;
}

/* "[1, 0, 3]", or "3" for items of a sequence. */
static void print_index(GlowText *out, const GlowTensor *want, int64_t index) {
  const GlowType *t = want->type;
  if (t->cls != GLOW_TYPE_TENSOR) {
    glow_text_printf(out, "%lld", (long long)index);
    return;
  }
  int64_t at[GLOW_MAX_RANK] = {0};
  for (uint32_t k = t->rank; k-- > 0; index /= t->dims[k].size)
    at[k] = index % t->dims[k].size;
  glow_text_putc(out, '[');
  for (uint32_t k = 0; k < t->rank; k++)
    glow_text_printf(out, k ? ", %lld" : "%lld", (long long)at[k]);
  glow_text_putc(out, ']');
}

static void print_value(GlowText *out, const GlowTensor *want, double v) {
  char buf[64];
  bool is_float = want->type->cls == GLOW_TYPE_TENSOR && want->type->kind == GLOW_KIND_FLOAT;
  size_t n = is_float ? glow_format_float(buf, (float)v) : glow_format_double(buf, v);
  glow_text_bytes(out, buf, n);
}

static void print_worst(GlowText *out, const GlowTensor *want, const GlowCompare *c) {
  glow_text_puts(out, "\n  worst at ");
  print_index(out, want, c->worst);
  if (want->type->cls == GLOW_TYPE_TENSOR && want->type->kind == GLOW_KIND_STRING) {
    GlowString s = glow_tensor_get_string(want, c->worst);
    glow_text_puts(out, ": want ");
    glow_text_quoted(out, s.data ? s.data : "", s.length);
    return;
  }
  glow_text_puts(out, ": got ");
  print_value(out, want, c->worst_got);
  glow_text_puts(out, ", want ");
  print_value(out, want, c->worst_want);
}

void glow_compare_print(GlowText *out, const char *name, const GlowTensor *want,
                        const GlowCompare *c) {
  if (c->mismatch) {
    glow_text_printf(out, "%s: %s\n", name, c->mismatch);
    return;
  }
  glow_text_printf(out, "%s: %lld of %lld elements differ", name, (long long)c->wrong,
                   (long long)c->elements);
  if (c->worst >= 0 && (c->wrong || c->max_abs > 0))
    print_worst(out, want, c);
  if (c->max_abs > 0) {
    /* Through the text's own formatting: printf's decimal point depends on the locale. */
    glow_text_puts(out, "\n  largest error: absolute ");
    print_value(out, want, (double)(float)c->max_abs);
    glow_text_puts(out, ", relative ");
    print_value(out, want, (double)(float)c->max_rel);
    glow_text_printf(out, ", %llu ULP", (unsigned long long)c->max_ulp);
  }
  if (c->first_nan >= 0) {
    glow_text_puts(out, "\n  first NaN at ");
    print_index(out, want, c->first_nan);
  }
  glow_text_putc(out, '\n');
}

/* ---- Equality of bits ------------------------------------------------------------------------ */

static bool same_number(GlowKind kind, const void *a, int64_t i, const void *b, int64_t k) {
  uint64_t x = glow_element_bits(kind, a, i), y = glow_element_bits(kind, b, k);
  if (x == y)
    return true;
  return glow_kind_info[kind].cls == GLOW_CLASS_FLOAT && isnan(glow_element_decode(kind, x).f) &&
         isnan(glow_element_decode(kind, y).f);
}

static bool same_element(const GlowTensor *a, const GlowTensor *b, int64_t i) {
  GlowKind kind = a->type->kind;
  if (kind == GLOW_KIND_STRING) {
    GlowString x = glow_tensor_get_string(a, i), y = glow_tensor_get_string(b, i);
    return x.length == y.length && (!x.length || !memcmp(x.data, y.data, x.length));
  }
  int64_t p = glow_type_physical_index(a->type, i), q = glow_type_physical_index(b->type, i);
  if (glow_kind_info[kind].cls == GLOW_CLASS_COMPLEX) {
    GlowKind part = kind == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
    return same_number(part, a->data, 2 * p, b->data, 2 * q) &&
           same_number(part, a->data, 2 * p + 1, b->data, 2 * q + 1);
  }
  return same_number(kind, a->data, p, b->data, q);
}

bool glow_tensor_same_bits(const GlowTensor *a, const GlowTensor *b) {
  if (!comparable(a, b))
    return false;
  if (a->type->cls != GLOW_TYPE_TENSOR) {
    for (uint32_t i = 0; i < a->count; i++)
      if (!glow_tensor_same_bits(a->items[i], b->items[i]))
        return false;
    return true;
  }
  int64_t n = glow_tensor_elements(a);
  bool is_string = a->type->kind == GLOW_KIND_STRING;
  if (a->type->layout == b->type->layout && !is_string && a->bytes == b->bytes &&
      (a->bytes == 0 || !memcmp(a->data, b->data, a->bytes)))
    return true;
  for (int64_t i = 0; i < n; i++)
    if (!same_element(a, b, i))
      return false;
  return true;
}
