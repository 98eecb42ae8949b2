/* See requantize.h. */
#include "target/cpu/requantize.h"

#include <math.h>

#include "ir/infer.h"
#include "tensor/tensor.h"

/* An operand of a node of an epilogue. */
typedef struct Operand {
  bool is_sum;    /* what the nodes before have made of the sum */
  bool is_number; /* or a number, */
  int extra;      /* or an extra operand; -1: none of these */
  bool in_steps;  /* or that, dequantized in steps */
  GlowRequantizeTerm term;
  const GlowType *type; /* of the extra operand */
} Operand;

static bool is_factor(const Operand *o) {
  return !o->is_sum && !o->in_steps && (o->is_number || o->extra >= 0);
}

static GlowRequantizeTerm term_of(const Operand *o) {
  return o->is_number ? (GlowRequantizeTerm){-1, o->term.number}
                      : (GlowRequantizeTerm){o->extra, 0};
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool begin(GlowRequantize *r, const Operand *o) {
  if (r->stage != GLOW_REQUANTIZE_SUM || o->extra < 0 || o->type->kind != GLOW_KIND_I32)
    return false;
  r->stage = GLOW_REQUANTIZE_WHOLE_SUM;
  r->start = o->extra;
  return true;
}

static bool scale(GlowRequantize *r, const Operand *by, const Operand *plus) {
  if (r->stage != GLOW_REQUANTIZE_REAL || !is_factor(by) || (plus && !is_factor(plus)))
    return false;
  r->stage = GLOW_REQUANTIZE_SCALED;
  r->scale = term_of(by);
  if (plus)
    r->bias = term_of(plus);
  return true;
}

static bool add(GlowRequantize *r, const Operand *o, float by) {
  if (r->stage < GLOW_REQUANTIZE_REAL || r->stage > GLOW_REQUANTIZE_SCALED || !o->in_steps)
    return false;
  r->stage = GLOW_REQUANTIZE_ADDED;
  r->add = o->extra;
  r->add_type = o->type;
  r->add_scale = by;
  return true;
}

static bool limit(GlowRequantize *r, float low, float high) {
  if (r->stage < GLOW_REQUANTIZE_REAL || r->stage > GLOW_REQUANTIZE_ADDED || !(low <= high))
    return false;
  r->stage = GLOW_REQUANTIZE_LIMITED;
  r->low = low;
  r->high = high;
  return true;
}

static float clamped(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

static bool quantize(GlowRequantize *r, const GlowNode *n, const GlowType *y) {
  const GlowQuantizeMembers *m = n->members;
  if (r->stage < GLOW_REQUANTIZE_REAL || r->stage > GLOW_REQUANTIZE_LIMITED || !m->steps ||
      glow_kind_info[y->kind].bits != 8)
    return false;
  const float least = (y->kind == GLOW_KIND_I8 ? -128.0f : 0.0f) - (float)y->offset;
  r->stage = GLOW_REQUANTIZE_BYTES;
  r->low = clamped(r->low, least, least + 255);
  r->high = clamped(r->high, least, least + 255);
  r->offset = y->offset;
  return true;
}

/* The factors of a product that the sum is one of, or the product that is added to it. */
static bool mul_add(GlowRequantize *r, const Operand *o) {
  if (o[0].is_sum)
    return scale(r, &o[1], &o[2]);
  if (o[1].is_sum)
    return scale(r, &o[0], &o[2]);
  if (!o[2].is_sum)
    return false;
  return o[0].in_steps ? o[1].is_number && add(r, &o[0], o[1].term.number)
                       : o[0].is_number && add(r, &o[1], o[0].term.number);
}

/* n, of the operands o and with a result of type y, behind what r says so far. */
static bool step(GlowRequantize *r, const GlowNode *n, const Operand *o, uint32_t count,
                 const GlowType *y) {
  bool first = count > 0 && o[0].is_sum, second = count > 1 && o[1].is_sum;
  switch (n->op) {
  case GLOW_OP_CAST:
    if (!first || r->stage > GLOW_REQUANTIZE_WHOLE_SUM || y->kind != GLOW_KIND_FLOAT ||
        y->quantized)
      return false;
    r->stage = GLOW_REQUANTIZE_REAL;
    return true;
  case GLOW_OP_MUL:
    return first != second && scale(r, first ? &o[1] : &o[0], NULL);
  case GLOW_OP_MUL_ADD:
    return count == 3 && mul_add(r, o);
  case GLOW_OP_ADD:
    return first != second && (begin(r, first ? &o[1] : &o[0]) || add(r, first ? &o[1] : &o[0], 1));
  case GLOW_OP_RELU:
    return first && limit(r, 0, INFINITY);
  case GLOW_OP_CLIP:
    return first && (count < 2 || o[1].is_number || !n->operands[1].value) &&
           (count < 3 || o[2].is_number) &&
           limit(r, count > 1 && o[1].is_number ? o[1].term.number : -INFINITY,
                 count > 2 ? o[2].term.number : INFINITY);
  case GLOW_OP_QUANTIZE:
    return first && quantize(r, n, y);
  default:
    return false;
  }
}

/* ---- Epilogues ------------------------------------------------------------------------------- */

/* Whether v is one number that is known. */
static bool number_of(const GlowValue *v, float *number) {
  if (!v || v->type->kind != GLOW_KIND_FLOAT || v->type->quantized)
    return false;
  const GlowNode *splat = glow_value_def(v, GLOW_OP_SPLAT);
  const GlowTensor *known = splat ? NULL : glow_value_known(v);
  if (!splat && (!known || glow_tensor_elements(known) != 1))
    return false;
  *number = (float)(splat ? ((const GlowSplatMembers *)splat->members)->value.f
                          : glow_tensor_get(known, 0).f);
  return true;
}

static bool is_bytes_in_steps(const GlowNode *n) {
  return n->op == GLOW_OP_DEQUANTIZE && ((const GlowDequantizeMembers *)n->members)->steps &&
         ((const GlowDequantizeMembers *)n->members)->to == GLOW_KIND_FLOAT;
}

/* Which parameter of the body v is, without the first; -1 if it is none. */
static int extra_of(const GlowBlock *body, const GlowValue *v) {
  for (uint32_t i = 1; i < body->nparams; i++)
    if (body->params[i] == v)
      return (int)i - 1;
  return -1;
}

static Operand operand(const GlowBlock *body, const GlowValue *v, const GlowValue *sum) {
  Operand o = {.is_sum = v == sum, .extra = -1};
  const GlowNode *bytes = v ? glow_value_def(v, GLOW_OP_DEQUANTIZE) : NULL;
  o.is_number = number_of(v, &o.term.number);
  o.in_steps = bytes && is_bytes_in_steps(bytes);
  if (v)
    o.extra = extra_of(body, o.in_steps ? glow_node_in(bytes, 0) : v);
  o.in_steps = o.in_steps && o.extra >= 0;
  o.type = o.extra >= 0 ? body->params[o.extra + 1]->type : NULL;
  if (o.in_steps && glow_kind_info[o.type->kind].bits != 8)
    o.in_steps = false, o.extra = -1;
  return o;
}

static bool has_bias(const GlowNode *n) { return glow_node_nins(n) > 2 && glow_node_in(n, 2); }

bool glow_requantize_match(const GlowNode *n, GlowRequantize *r) {
  const GlowBlock *body = glow_node_epilogue(n);
  *r = (GlowRequantize){.start = -1,
                        .scale = {-1, 1},
                        .bias = {-1, -0.0f},
                        .add = -1,
                        .low = -INFINITY,
                        .high = INFINITY};
  if (!body)
    return true;
  const GlowNode *end = glow_block_terminator(body);
  const GlowValue *sum = body->params[0];
  for (const GlowNode *k = body->first; k && k != end; k = k->next) {
    Operand o[3];
    if (k->op == GLOW_OP_SPLAT || is_bytes_in_steps(k))
      continue;
    uint32_t count = glow_node_nins(k);
    if (count > 3)
      return false;
    for (uint32_t i = 0; i < count; i++)
      o[i] = operand(body, k->operands[i].value, sum);
    if (!step(r, k, o, count, k->results[0].type))
      return false;
    sum = &k->results[0];
  }
  return end && end->noperands == 1 && end->operands[0].value == sum &&
         (r->start < 0 || !has_bias(n));
}

bool glow_narrow_has_lanes(const GlowNode *n) {
  GlowMaxPoolMembers pool;
  GlowRequantize r;
  if (n->op != GLOW_OP_CONVOLUTION)
    return false;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  return w->rank == 4 && !w->layout && !w->quantized && w->kind == GLOW_KIND_I8 && m->group > 1 &&
         w->dims[0].size == (int64_t)m->group && w->dims[last ? 3 : 1].size == 1 &&
         (last || glow_node_out(n, 0)->type->layout) && !glow_node_pool(n, &pool) &&
         glow_requantize_match(n, &r) && r.add < 0;
}

/* ---- One more -------------------------------------------------------------------------------- */

/* Whether t has one number, or one for each of y's channels. */
static bool is_along_channels(const GlowType *t, const GlowType *y, uint32_t axis) {
  if (!glow_type_is_static(t) || t->rank > y->rank || t->layout)
    return false;
  for (uint32_t i = 0; i < t->rank; i++) {
    uint32_t a = i + y->rank - t->rank;
    if (t->dims[i].size != 1 && (a != axis || t->dims[i].size != y->dims[a].size))
      return false;
  }
  return true;
}

static uint32_t channels_of(const GlowNode *n, const GlowType *y) {
  if (n->op != GLOW_OP_CONVOLUTION)
    return y->rank - 1;
  return ((const GlowConvolutionMembers *)n->members)->layout == GLOW_LAYOUT_NHWC ? y->rank - 1 : 1;
}

/* The instruction that alone writes a buffer; NULL if there are several. */
static const GlowNode *writer_of(const GlowValue *v) {
  const GlowNode *writer = NULL;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    if (u->qual != GLOW_QUAL_OUT && u->qual != GLOW_QUAL_INOUT)
      continue;
    if (writer)
      return NULL;
    writer = u->user;
  }
  return writer;
}

static bool same_shape(const GlowType *a, const GlowType *b) {
  bool same = a->rank == b->rank && a->layout == b->layout;
  for (uint32_t i = 0; same && i < a->rank; i++)
    same = a->dims[i].kind == b->dims[i].kind && a->dims[i].size == b->dims[i].size;
  return same;
}

/* Whether t, which is along channels, has one number for each of `count`. */
static bool has_extent(const GlowType *t, int64_t count) {
  int64_t all = 1;
  for (uint32_t i = 0; i < t->rank; i++)
    all *= t->dims[i].size;
  return all == count;
}

/* A buffer that n reads: `link` is what `into` writes. */
static Operand buffer(const GlowNode *into, const GlowValue *v, const GlowValue *link) {
  Operand o = {.is_sum = v == link, .extra = -1};
  const GlowType *y = link->type;
  if (!v || o.is_sum)
    return o;
  const GlowNode *bytes = writer_of(v);
  if (bytes && bytes->op == GLOW_OP_DEQUANTIZE && is_bytes_in_steps(bytes)) {
    o.type = glow_node_in(bytes, 0)->type;
    o.in_steps = glow_kind_info[o.type->kind].bits == 8 && same_shape(o.type, y);
    o.extra = o.in_steps ? (int)into->nextra : -1;
    return o;
  }
  o.is_number = number_of(v, &o.term.number);
  o.type = v->type;
  const uint32_t axis = channels_of(into, y);
  if (v->type->quantized || !is_along_channels(v->type, y, axis))
    return o;
  if (v->type->kind == GLOW_KIND_FLOAT || (v->type->kind == GLOW_KIND_I32 && !has_bias(into) &&
                                           has_extent(v->type, y->dims[axis].size)))
    o.extra = (int)into->nextra;
  return o;
}

bool glow_requantize_takes(const GlowNode *into, const GlowNode *n, bool adds) {
  GlowRequantize r;
  Operand o[3];
  const GlowValue *link = into->operands[0].value;
  uint32_t count = glow_node_nins(n);
  if (!glow_requantize_match(into, &r) || count > 3)
    return false;
  for (uint32_t i = 0; i < count; i++)
    o[i] = buffer(into, glow_node_in(n, i), link);
  return step(&r, n, o, count, n->operands[0].value->type) && (adds || r.add < 0);
}
