/* Products with zero points become contractions of the integers as they are stored, so that kernels
 * meet no zero point:
 *
 *   ConvInteger(x, w, xz, wz)      -> Convolution(x, w - wz, c) {pad = xz}
 *   MatMulInteger(a, b, az, bz)    -> Add(MatMul(a, b - bz), c)
 *   QLinearConv, QLinearMatMul     -> BitCast(Quantize(Mul(Cast(the same), m)) : u8[ys yz])
 *
 * with c = -xz * ReduceSum(w - wz) plus a bias, and m = xs * ws. w and wz are constants; xz and az
 * may be one number that is known at run time, as in dynamic quantization. Then a node multiplies
 * that number, and a Pad puts it around x where windows reach outside of x. Where weights less
 * their zero points are no i8, a product takes the sums of A's rows besides, and a convolution the
 * sums of x over windows:
 *
 *   MatMulInteger(a, b, az, bz)    -> MatMul(a, b - m) + c + ReduceSum(a) * (m - bz)
 *   ConvInteger(x, w, xz, wz)      -> Convolution(x, w - m, c) + window sums of x * (m - wz)
 *
 * for m = 128, or 0 for weights of i8. Convolutions with groups stay then, as do those with groups
 * of several channels. With the option `all` such weights become i16. Exact: sums wrap in i32, and
 * the rules of the QLinear operators divide and round as Quantize does for usual types.
 */
#include "ops/listed.h"
#include "transforms/match.h"
#include "transforms/quantized.h"
#include "transforms/rules.h"

typedef struct Fold {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowValues *values;
  bool all;
} Fold;

/* A product of integers; absent values are NULL. */
typedef struct Product {
  GlowNode *n;
  GlowValue *x, *w, *xzero, *wzero, *bias;
  const GlowConvolutionMembers *conv; /* NULL: a matrix product */
} Product;

static bool is_bytes(const GlowValue *v) {
  return !v->type->quantized && (v->type->kind == GLOW_KIND_I8 || v->type->kind == GLOW_KIND_U8);
}

static bool is_one(const GlowValue *v) {
  return glow_type_is_static(v->type) && glow_type_elements(v->type) == 1;
}

static GlowConvolutionMembers members_of(const GlowNode *n) {
  GlowConvolutionMembers c =
      *(const GlowConvolutionMembers *)glow_op_desc[GLOW_OP_CONVOLUTION].member_defaults;
  if (n->op == GLOW_OP_CONV_INTEGER) {
    const GlowConvIntegerMembers *m = n->members;
    c.layout = m->layout;
    c.group = m->group;
    c.strides = m->strides;
    c.pads = m->pads;
    c.dilations = m->dilations;
  } else if (n->op == GLOW_OP_QLINEAR_CONV) {
    const GlowQLinearConvMembers *m = n->members;
    c.group = m->group;
    c.strides = m->strides;
    c.pads = m->pads;
    c.dilations = m->dilations;
  }
  return c;
}

/* The number of a zero point: 0 if there is none. False if it is not one known number. */
static bool known_zero(const Fold *f, const GlowValue *zero, double *z) {
  *z = 0;
  return !zero || (is_one(zero) && glow_value_number(f->values, zero, z));
}

/* Whether the convolution by w, the weights without their zero point, is wanted. */
static bool is_wanted(const Fold *f, const Product *p, const GlowValue *w) {
  const GlowType *t = w->type;
  uint32_t channels = p->conv->layout == GLOW_LAYOUT_NHWC ? t->rank - 1 : 1;
  if (f->all || p->conv->group <= 1)
    return true;
  return t->kind == GLOW_KIND_I8 && t->dims[channels].size == 1 &&
         t->dims[0].size == (int64_t)p->conv->group;
}

/* The product of x and w, plus `c` for each filter or column, or NULL. m: NULL for a matrix
 * product. */
static GlowValue *contracted(GlowBuilder *b, const GlowConvolutionMembers *m, GlowValue *x,
                             GlowValue *w, GlowValue *c) {
  if (m)
    return glow_then(b, GLOW_OP_CONVOLUTION, (GlowValue *[]){x, w, c}, c ? 3 : 2, m);
  GlowValue *sum = glow_then2(b, GLOW_OP_MAT_MUL, x, w);
  return c ? glow_then2(b, GLOW_OP_ADD, sum, c) : sum;
}

/* The sums of v over the windows of a convolution without padding, one axis after the other. */
static GlowValue *window_sums(GlowBuilder *b, const Product *p, const GlowConvolutionMembers *m,
                              GlowValue *v) {
  const GlowType *w = p->w->type;
  bool nhwc = m->layout == GLOW_LAYOUT_NHWC;
  for (uint32_t i = 0; v && i + 2 < w->rank; i++) {
    uint32_t axis = i + (nhwc ? 1 : 2);
    int64_t taps = w->dims[axis].size, stride = glow_listed(m->strides, i, 1);
    int64_t dilation = glow_listed(m->dilations, i, 1);
    GlowValue *sum = NULL;
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t behind = (taps - 1 - tap) * dilation;
      GlowValue *part =
          glow_build_part(b, p->n, v, axis, tap * dilation, behind ? -behind : INT64_MAX, stride);
      sum = sum ? glow_then2(b, GLOW_OP_ADD, sum, part) : part;
    }
    v = sum;
  }
  return v;
}

/* The sums in i32 of x over the windows of the convolution m, or over rows if it is NULL. */
static GlowValue *sums_of_x(GlowBuilder *b, const Product *p, const GlowConvolutionMembers *m,
                            GlowValue *x) {
  int64_t axis = m && m->layout == GLOW_LAYOUT_NCHW ? 1 : -1;
  GlowValue *axes = glow_constant_ints(b->module, p->n, "axis", &axis, 1);
  GlowValue *sums =
      glow_build_reduce(b, GLOW_OP_REDUCE_SUM, glow_then_cast(b, x, GLOW_KIND_I32), axes);
  return m ? window_sums(b, p, m, sums) : sums;
}

/* The product of x and weights as i8, and what their zero points wz leave of it: with m, the middle
 * of the weights' kind, w - wz = (w - m) + (m - wz). */
static GlowValue *centered(GlowBuilder *b, const Product *p, const GlowConvolutionMembers *conv,
                           GlowValue *x, GlowValue *c) {
  double middle = p->w->type->kind == GLOW_KIND_U8 ? 128 : 0;
  uint32_t axis = conv ? 0 : 1, rank = p->x->type->rank;
  GlowValue *m = glow_build_scalar(b, p->w->type->kind, middle);
  GlowValue *w = m ? glow_centered_weights(b, p->n, p->w, m, axis, middle) : NULL;
  GlowValue *sum = w ? contracted(b, conv, x, w, c) : NULL;
  uint32_t along = conv && conv->layout == GLOW_LAYOUT_NCHW ? 1 : rank - 1;
  GlowValue *zero = p->wzero ? glow_build_parameter(b, p->n, p->wzero, rank, along)
                             : glow_build_scalar(b, p->w->type->kind, 0);
  GlowValue *left = glow_then2(b, GLOW_OP_SUB, glow_build_scalar(b, GLOW_KIND_I32, middle),
                               zero ? glow_then_cast(b, zero, GLOW_KIND_I32) : NULL);
  GlowValue *sums = sum ? sums_of_x(b, p, conv, x) : NULL;
  return glow_then2(b, GLOW_OP_ADD, sum, glow_then2(b, GLOW_OP_MUL, sums, left));
}

/* X with the zero point where windows reach outside of X. NULL if there is no such value. */
static GlowValue *surrounded(GlowBuilder *b, const Product *p, GlowValue *zero) {
  uint32_t rank = p->x->type->rank, count = p->conv->pads.count;
  uint32_t first = p->conv->layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  int64_t ends[2 * GLOW_MAX_RANK] = {0};
  bool any = false;
  for (uint32_t i = 0; i < count / 2; i++) {
    ends[first + i] = glow_array_at(p->conv->pads, uint32_t, i);
    ends[rank + first + i] = glow_array_at(p->conv->pads, uint32_t, count / 2 + i);
    any |= ends[first + i] || ends[rank + first + i];
  }
  if (!any)
    return p->x;
  GlowValue *ins[] = {p->x, glow_constant_ints(b->module, p->n, "pads", ends, 2 * rank), zero};
  return glow_then(b, GLOW_OP_PAD, ins, 3, &(GlowPadMembers){.mode = GLOW_PAD_MODE_CONSTANT});
}

/* The sum of products in i32; NULL if there is no such form. */
static GlowValue *sum_of(const Fold *f, GlowBuilder *b, const Product *p) {
  const GlowType *wt = p->w->type;
  bool convolves = p->conv != NULL;
  double xz, wz;
  bool known = known_zero(f, p->xzero, &xz);
  if (!is_bytes(p->x) || !is_bytes(p->w) || !glow_type_is_static(wt) || wt->layout ||
      (convolves ? wt->rank < 3 : wt->rank != 2) || p->x->type->unranked || p->x->type->rank < 2 ||
      !glow_constness_of(f->constness, p->w) || (!known && !is_one(p->xzero)) ||
      (p->wzero && (!glow_constness_of(f->constness, p->wzero) ||
                    !glow_type_is_static(p->wzero->type) || p->wzero->type->rank > 1)))
    return NULL;
  if (!p->wzero || !glow_zero_point(f->values, p->wzero, &wz))
    wz = -1;
  GlowValue *w = glow_centered_weights(b, p->n, p->w, p->wzero, convolves ? 0 : 1, wz);
  if (!w || (convolves && !is_wanted(f, p, w)))
    return NULL;
  GlowValue *c = p->bias, *zero = NULL;
  if (!known || xz != 0) {
    c = glow_weight_sums(b, p->n, w, convolves, known ? -(int64_t)xz : -1);
    if (!known) {
      zero = glow_build_shaped(b, p->n, p->xzero, 0, NULL);
      c = glow_then2(b, GLOW_OP_MUL, c, glow_then_cast(b, zero, GLOW_KIND_I32));
    }
    if (p->bias)
      c = glow_then2(b, GLOW_OP_ADD, c, p->bias);
    if (!c)
      return NULL;
  }
  bool fits = w->type->kind == GLOW_KIND_I8 || f->all;
  GlowConvolutionMembers m = convolves ? *p->conv : (GlowConvolutionMembers){0};
  GlowValue *x = p->x;
  if (convolves && known && fits) {
    m.pad = (int64_t)xz;
  } else if (convolves) {
    x = surrounded(b, p, zero ? zero : glow_build_scalar(b, p->x->type->kind, xz));
    m.pads = (GlowArray){0};
  }
  return fits ? contracted(b, convolves ? &m : NULL, x, w, c)
              : centered(b, p, convolves ? &m : NULL, x, c);
}

/* ---- QLinear operators ----------------------------------------------------------------------- */

/* The type that the scale and the zero point of n's result make; NULL if they are not known. */
static const GlowType *result_type(const Fold *f, const GlowNode *n, const GlowValue *scale,
                                   const GlowValue *zero) {
  double s, z;
  const GlowType *t = n->results[0].type;
  if (!is_bytes(&n->results[0]) || scale->type->kind != GLOW_KIND_FLOAT ||
      !glow_value_number(f->values, scale, &s) || !glow_value_number(f->values, zero, &z))
    return NULL;
  t = glow_type_with_quant(f->run->ctx, t, true, (float)s, (int32_t)z);
  return glow_quantization_is_usual(t) ? t : NULL;
}

/* Whether v is a constant float for all, or a list of floats. */
static bool is_scale(const Fold *f, const GlowValue *v, bool list) {
  return v->type->kind == GLOW_KIND_FLOAT && glow_type_is_static(v->type) &&
         (is_one(v) || (list && v->type->rank == 1)) && glow_constness_of(f->constness, v);
}

/* Whether all of a constant list are finite: a product with them is no NaN. */
static bool is_finite(const Fold *f, GlowValue *v) {
  const GlowTensor *t = v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT
                            ? glow_values_get(f->values, v->def.storage)
                            : NULL;
  double one;
  if (!t)
    return glow_value_number(f->values, v, &one) && one - one == 0;
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    one = glow_tensor_get_double(t, i);
    if (one - one != 0)
      return false;
  }
  return true;
}

static GlowValue *quantized(const Fold *f, GlowBuilder *b, const Product *p, GlowValue *xs,
                            GlowValue *ws, const GlowType *t) {
  if (!t || !is_scale(f, xs, false) || !is_scale(f, ws, true) || !is_finite(f, xs) ||
      !is_finite(f, ws))
    return NULL;
  GlowValue *sum = sum_of(f, b, p);
  if (!sum)
    return NULL;
  GlowValue *first = glow_build_parameter(b, p->n, xs, 0, 0);
  GlowValue *second = glow_build_parameter(b, p->n, ws, p->conv ? sum->type->rank - 1 : 1, 0);
  GlowValue *m = glow_then2(b, GLOW_OP_MUL, first, second);
  GlowValue *v = glow_then2(b, GLOW_OP_MUL, glow_then_cast(b, sum, GLOW_KIND_FLOAT), m);
  GlowNodeSpec spec = {.op = GLOW_OP_QUANTIZE, .ins = &v, .nins = 1, .types = &t};
  GlowNode *q = v ? glow_node_create(b, &spec) : NULL;
  return q ? glow_build_bit_cast(b, &q->results[0], p->n->results[0].type) : NULL;
}

static GlowValue *folded(const Fold *f, GlowBuilder *b, GlowNode *n) {
  const GlowConvolutionMembers conv = members_of(n);
  GlowValue *v[9];
  for (uint32_t i = 0; i < 9; i++)
    v[i] = glow_node_in(n, i);
  bool convolves = n->op == GLOW_OP_CONV_INTEGER || n->op == GLOW_OP_QLINEAR_CONV;
  Product p = {.n = n, .x = v[0], .conv = convolves ? &conv : NULL};
  switch (n->op) {
  case GLOW_OP_CONV_INTEGER:
  case GLOW_OP_MAT_MUL_INTEGER:
    p.w = v[1];
    p.xzero = v[2];
    p.wzero = v[3];
    return sum_of(f, b, &p);
  case GLOW_OP_QLINEAR_CONV:
  case GLOW_OP_QLINEAR_MAT_MUL:
    p.w = v[3];
    p.xzero = v[2];
    p.wzero = v[5];
    p.bias = convolves ? v[8] : NULL;
    return quantized(f, b, &p, v[1], v[4], result_type(f, n, v[6], v[7]));
  default:
    return NULL;
  }
}

static bool visit(GlowNode *n, void *arg) {
  const Fold *f = arg;
  uint32_t first_new = f->run->module->next_id;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *by = folded(f, &b, n);
  if (by && by->type == n->results[0].type)
    glow_replace_by(f->run, n, by, "took zero points out of a product");
  else if (f->run->module->next_id != first_new)
    glow_remove_dead_since(n->block, first_new);
  return true;
}

bool glow_pass_fold_zero_points(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  Fold f = {run, glow_constness_create(run->arena), glow_values_create(run->module),
            glow_pass_option(run, "all") != NULL};
  GlowDefer release;
  glow_defer_push(run->ctx, &release, glow_values_destroy_fn, f.values);
  glow_block_walk(run->function->body, visit, &f);
  glow_defer_pop(run->ctx, &release, true);
  return glow_context_error_count(run->ctx) == errors;
}
