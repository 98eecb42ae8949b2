/* See dims.h. */
#include "ir/dims.h"

#include "tensor/form.h"

GlowDim glow_dim_part(GlowDim d) {
  if (glow_dim_is_exact(d, 0))
    return d;
  return glow_dim_has_size(d) ? GLOW_BOUND(d.size) : GLOW_UNKNOWN;
}

/* The form of d if it is exact or a symbol with a range. */
static bool form_of(GlowContext *ctx, GlowDim d, GlowForm *f) {
  return glow_dim_is_known(d) && glow_form_of(ctx, d, f);
}

/* The context of symbols; NULL: neither is a symbol with a range. */
static GlowContext *context_of(GlowDim a, GlowDim b) {
  return a.extent ? a.extent->ctx : b.extent ? b.extent->ctx : NULL;
}

static int64_t least_of(GlowDim d) {
  return d.kind == GLOW_DIM_EXACT ? d.size : d.extent ? d.extent->least : 0;
}

/* What follows from a and b by the operation on forms, which gives values in least..most. False:
 * neither is a symbol, or no form says it. */
typedef bool FormFn(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f);
static bool define(GlowDim a, GlowDim b, FormFn *fn, int64_t least, int64_t most, GlowDim *result) {
  GlowForm x, y, f;
  GlowContext *ctx = context_of(a, b);
  if (!ctx || !form_of(ctx, a, &x) || !form_of(ctx, b, &y) || !fn(ctx, &x, &y, &f))
    return false;
  *result = glow_form_dim(ctx, &f, least, most);
  return true;
}

static bool add_forms(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  (void)ctx;
  return glow_form_add(a, b, f);
}
static bool sub_forms(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  (void)ctx;
  return glow_form_sub(a, b, f);
}
static bool mul_forms(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f) {
  (void)ctx;
  return glow_form_mul(a, b, f);
}

static GlowDim sized(GlowDim a, GlowDim b, int64_t size) {
  if (a.kind == GLOW_DIM_EXACT && b.kind == GLOW_DIM_EXACT)
    return GLOW_EXACT(size);
  return GLOW_BOUND(size);
}

GlowDim glow_dim_add(GlowDim a, GlowDim b) {
  int64_t size;
  GlowDim d;
  if (glow_dim_is_exact(a, 0))
    return b;
  if (glow_dim_is_exact(b, 0))
    return a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b) ||
      __builtin_add_overflow(a.size, b.size, &size))
    return GLOW_UNKNOWN;
  return define(a, b, add_forms, least_of(a) + least_of(b), size, &d) ? d : sized(a, b, size);
}

GlowDim glow_dim_sub(GlowDim a, GlowDim b) {
  GlowDim d;
  if (glow_dim_is_exact(b, 0))
    return a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b))
    return GLOW_UNKNOWN;
  int64_t most = a.size - least_of(b);
  if (define(a, b, sub_forms, least_of(a) - b.size, most, &d))
    return d;
  return sized(a, b, most < 0 ? 0 : most);
}

GlowDim glow_dim_mul(GlowDim a, GlowDim b) {
  int64_t size;
  GlowDim d;
  if (glow_dim_is_exact(a, 1) || glow_dim_is_exact(b, 0))
    return b;
  if (glow_dim_is_exact(b, 1) || glow_dim_is_exact(a, 0))
    return a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b) ||
      __builtin_mul_overflow(a.size, b.size, &size))
    return GLOW_UNKNOWN;
  return define(a, b, mul_forms, least_of(a) * least_of(b), size, &d) ? d : sized(a, b, size);
}

GlowDim glow_dim_div(GlowDim a, GlowDim b) {
  GlowDim d;
  int64_t low = least_of(b);
  if (glow_dim_is_exact(b, 1))
    return a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b) || low <= 0)
    return GLOW_UNKNOWN;
  if (define(a, b, glow_form_div, least_of(a) / b.size, a.size / low, &d))
    return d;
  return sized(a, b, a.size / low);
}

GlowDim glow_dim_min(GlowDim a, GlowDim b) {
  GlowDim d;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b))
    return GLOW_UNKNOWN;
  int64_t most = a.size < b.size ? a.size : b.size;
  return define(a, b, glow_form_min, 0, most, &d) ? d : sized(a, b, most);
}

GlowDim glow_dim_max(GlowDim a, GlowDim b) {
  GlowDim d;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b))
    return GLOW_UNKNOWN;
  int64_t low = least_of(a) > least_of(b) ? least_of(a) : least_of(b);
  int64_t most = a.size > b.size ? a.size : b.size;
  return define(a, b, glow_form_max, low, most, &d) ? d : sized(a, b, most);
}

GlowDim glow_dim_affine(GlowDim d, int64_t mul, int64_t add, int64_t div, int64_t least,
                        int64_t size) {
  if (d.kind == GLOW_DIM_EXACT)
    return GLOW_EXACT(size);
  if (!d.extent)
    return GLOW_BOUND(size);
  GlowContext *ctx = d.extent->ctx;
  GlowForm f, factor = glow_form_number(mul), more = glow_form_number(add);
  GlowForm divisor = glow_form_number(div);
  if (!glow_form_of(ctx, d, &f) || !glow_form_mul(&f, &factor, &f) ||
      !glow_form_add(&f, &more, &f) || !glow_form_div(ctx, &f, &divisor, &f))
    return GLOW_BOUND(size);
  return glow_form_dim(ctx, &f, least, size);
}

/* How much a dim says: unknown, symbol, bound, symbol with a range, exact. */
static int precision(GlowDim d) {
  static const int of[] = {
      [GLOW_DIM_EXACT] = 4, [GLOW_DIM_BOUND] = 2, [GLOW_DIM_SYMBOL] = 1, [GLOW_DIM_UNKNOWN] = 0};
  return d.extent ? 3 : of[d.kind];
}

bool glow_dim_agrees(GlowDim a, GlowDim b) {
  GlowForm x, y;
  if (glow_dim_is_same(a, b))
    return true;
  GlowContext *ctx = a.extent && b.extent ? a.extent->ctx : NULL;
  return ctx && form_of(ctx, a, &x) && form_of(ctx, b, &y) && glow_form_equals(&x, &y);
}

/* The same of two symbols. If they differ, the context remembers them for the message. */
static bool is_same(GlowDim a, GlowDim b) {
  if (glow_dim_agrees(a, b))
    return true;
  a.extent->ctx->apart[0] = a.extent;
  a.extent->ctx->apart[1] = b.extent;
  return false;
}

bool glow_dim_meet(GlowDim a, GlowDim b, GlowDim *result) {
  if (precision(a) < precision(b)) {
    GlowDim swap = a;
    a = b;
    b = swap;
  }
  *result = a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b))
    return true;
  if (a.kind == GLOW_DIM_EXACT)
    return glow_dim_allows(b, a.size);
  if (a.extent && b.extent)
    return is_same(a, b);
  if (a.extent)
    return a.extent->least <= b.size;
  result->size = a.size < b.size ? a.size : b.size;
  return true;
}

/* Broadcasts two extents. With an exact 1, the result is the other one. Any other exact extent is
 * the result, since an unknown one must then be equal to it or 1. */
bool glow_dim_broadcast(GlowDim a, GlowDim b, GlowDim *result) {
  *result = GLOW_UNKNOWN;
  if (glow_dim_is_exact(a, 1) || glow_dim_is_exact(b, 1)) {
    *result = glow_dim_is_exact(a, 1) ? b : a;
  } else if (a.kind == GLOW_DIM_EXACT && b.kind == GLOW_DIM_EXACT) {
    *result = a;
    return a.size == b.size;
  } else if (a.kind == GLOW_DIM_EXACT || b.kind == GLOW_DIM_EXACT) {
    *result = a.kind == GLOW_DIM_EXACT ? a : b;
  } else if (glow_dim_is_same(a, b)) {
    *result = a;
  } else if (a.extent && b.extent) {
    *result = a;
    return is_same(a, b);
  } else if (glow_dim_has_size(a) && glow_dim_has_size(b)) {
    *result = GLOW_BOUND(a.size > b.size ? a.size : b.size);
  }
  return true;
}
