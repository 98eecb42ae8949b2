/* Lists of sizes: what models compute of shapes before they reshape, expand or cut by it. Their
 * elements follow from types, as numbers and symbols, through Shape, lists that are put together
 * and taken apart, and arithmetic. */
#include <string.h>

#include "ir/infer/hooks.h"

enum { MAX_NODES = 256, MAX_DEPTH = 64 }; /* that one list is computed from */

typedef struct Walk {
  uint32_t nodes, depth;
} Walk;

/* Sets the elements of s, whose number is that of result 0 of n; those that are not known stay. */
typedef void ListFn(Walk *w, const GlowNode *n, GlowSizes *s);

static bool read_list(Walk *w, const GlowValue *v, GlowSizes *s);

/* ---- Elements -------------------------------------------------------------------------------- */

static void set(GlowSizes *s, uint32_t i, GlowSize size) {
  s->items[i] = size;
  s->known |= 1u << i;
}

static bool is_known(const GlowSizes *s, uint32_t i) { return s->known >> i & 1u; }

static bool is_number(const GlowSizes *s, uint32_t i) {
  return is_known(s, i) && !s->items[i].extent;
}

/* The extent d as an element, if it is a number or a symbol with a range. */
static void set_dim(GlowSizes *s, uint32_t i, GlowDim d) {
  if (glow_dim_is_known(d))
    set(s, i, glow_size(d));
}

/* The elements of operand i, where all of them are numbers. */
static bool read_numbers(Walk *w, const GlowNode *n, uint32_t operand, GlowSizes *s) {
  const GlowValue *v = glow_node_in(n, operand);
  bool all = v && read_list(w, v, s);
  for (uint32_t i = 0; all && i < s->count; i++)
    all = is_number(s, i);
  return all;
}

static uint32_t rank_of(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && !v->type->unranked ? v->type->rank : UINT32_MAX;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static void list_shape(Walk *w, const GlowNode *n, GlowSizes *s) {
  (void)w;
  const GlowShapeMembers *m = n->members;
  const GlowType *t = glow_node_in(n, 0)->type;
  if (!glow_type_is_tensor(t) || t->unranked)
    return;
  int64_t start = m->start < 0 ? m->start + t->rank : m->start;
  start = start < 0 ? 0 : start;
  for (uint32_t i = 0; i < s->count && start + i < t->rank; i++)
    set_dim(s, i, t->dims[start + i]);
}

static void list_size(Walk *w, const GlowNode *n, GlowSizes *s) {
  (void)w;
  const GlowType *t = glow_node_in(n, 0)->type;
  GlowDim all = GLOW_EXACT(1);
  if (!glow_type_is_tensor(t) || t->unranked)
    return;
  for (uint32_t i = 0; i < t->rank; i++)
    all = glow_dim_mul(all, t->dims[i]);
  set_dim(s, 0, all);
}

/* ---- Lists put together and taken apart ------------------------------------------------------ */

/* The elements of the operand in their order. */
static void list_same(Walk *w, const GlowNode *n, GlowSizes *s) {
  GlowSizes x;
  if (read_list(w, glow_node_in(n, 0), &x) && x.count == s->count)
    *s = x;
}

static void list_concat(Walk *w, const GlowNode *n, GlowSizes *s) {
  uint32_t at = 0;
  for (uint32_t k = 0; k < glow_node_nins(n); k++) {
    GlowSizes x;
    if (rank_of(glow_node_in(n, k)) != 1 || !read_list(w, glow_node_in(n, k), &x) ||
        at + x.count > s->count)
      return;
    memcpy(s->items + at, x.items, x.count * sizeof *x.items);
    s->known |= x.known << at;
    at += x.count;
  }
}

static void list_gather(Walk *w, const GlowNode *n, GlowSizes *s) {
  GlowSizes x, indices;
  if (rank_of(glow_node_in(n, GLOW_GATHER_IN_X)) != 1 ||
      !read_list(w, glow_node_in(n, GLOW_GATHER_IN_X), &x) ||
      !read_numbers(w, n, GLOW_GATHER_IN_INDICES, &indices) || indices.count != s->count)
    return;
  for (uint32_t i = 0; i < s->count; i++) {
    int64_t at = indices.items[i].size + (indices.items[i].size < 0 ? x.count : 0);
    if (at >= 0 && at < x.count && is_known(&x, (uint32_t)at))
      set(s, i, x.items[at]);
  }
}

static void list_slice(Walk *w, const GlowNode *n, GlowSizes *s) {
  GlowSizes x, starts, steps;
  const GlowValue *by = glow_node_in(n, GLOW_SLICE_IN_STEPS);
  if (rank_of(glow_node_in(n, GLOW_SLICE_IN_X)) != 1 ||
      !read_list(w, glow_node_in(n, GLOW_SLICE_IN_X), &x) ||
      !read_numbers(w, n, GLOW_SLICE_IN_STARTS, &starts) || starts.count != 1 ||
      (by && (!read_numbers(w, n, GLOW_SLICE_IN_STEPS, &steps) || steps.count != 1)))
    return;
  int64_t step = by ? steps.items[0].size : 1, at = starts.items[0].size;
  if (step <= 0)
    return;
  step = step < x.count ? step : x.count;
  at += at < 0 ? x.count : 0;
  at = at < 0 ? 0 : at;
  for (uint32_t i = 0; i < s->count && at < x.count; i++, at += step)
    if (is_known(&x, (uint32_t)at))
      set(s, i, x.items[at]);
}

/* One element again and again: the operand's, or that of the member `value`. */
static void list_expand(Walk *w, const GlowNode *n, GlowSizes *s) {
  GlowSizes x;
  if (!read_list(w, glow_node_in(n, 0), &x) || x.count != 1 || !is_known(&x, 0))
    return;
  for (uint32_t i = 0; i < s->count; i++)
    set(s, i, x.items[0]);
}

static void list_splat(Walk *w, const GlowNode *n, GlowSizes *s) {
  (void)w;
  const GlowConstantOfShapeMembers *m = n->members;
  for (uint32_t i = 0; m->value.is_int && i < s->count; i++)
    set(s, i, (GlowSize){.size = m->value.i});
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

/* The element that follows from two others; false: it is not known. `real`: they are floats. */
typedef bool ItemFn(GlowSize a, GlowSize b, bool real, GlowSize *result);

static bool take_dim(GlowDim d, GlowSize *result) {
  *result = glow_size(d);
  return glow_dim_is_known(d);
}

static bool are_numbers(GlowSize a, GlowSize b) { return !a.extent && !b.extent; }

static bool item_sub(GlowSize a, GlowSize b, bool real, GlowSize *result);

static bool item_add(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  *result = (GlowSize){0};
  if (are_numbers(a, b))
    return !__builtin_add_overflow(a.size, b.size, &result->size);
  if (a.size == INT64_MIN || b.size == INT64_MIN)
    return false;
  if (a.size < 0 || b.size < 0) {
    GlowSize less = {.size = a.size < 0 ? -a.size : -b.size};
    return less.size > 0 && item_sub(a.size < 0 ? b : a, less, real, result);
  }
  return take_dim(glow_dim_add(glow_size_dim(a), glow_size_dim(b)), result);
}

static bool item_sub(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  *result = (GlowSize){0};
  if (are_numbers(a, b))
    return !__builtin_sub_overflow(a.size, b.size, &result->size);
  if (b.size < 0 && b.size > INT64_MIN)
    return item_add(a, (GlowSize){.size = -b.size}, real, result);
  return a.size >= 0 && b.size >= 0 &&
         take_dim(glow_dim_sub(glow_size_dim(a), glow_size_dim(b)), result);
}

static bool item_mul(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  (void)real;
  *result = (GlowSize){0};
  if (are_numbers(a, b))
    return !__builtin_mul_overflow(a.size, b.size, &result->size);
  return a.size >= 0 && b.size >= 0 &&
         take_dim(glow_dim_mul(glow_size_dim(a), glow_size_dim(b)), result);
}

/* Of integers, a quotient of what is not negative is rounded down. */
static bool item_div(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  int64_t least = b.extent ? b.extent->least : b.size;
  if (real || a.size < 0 || least <= 0)
    return false;
  *result = (GlowSize){.size = a.size / b.size};
  return are_numbers(a, b) || take_dim(glow_dim_div(glow_size_dim(a), glow_size_dim(b)), result);
}

static bool item_min(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  (void)real;
  *result = a.size < b.size ? a : b;
  return are_numbers(a, b) || (a.size >= 0 && b.size >= 0 &&
                               take_dim(glow_dim_min(glow_size_dim(a), glow_size_dim(b)), result));
}

static bool item_max(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  (void)real;
  if (a.size < 0 || b.size < 0) { /* an extent is at least 0 */
    *result = a.size > b.size ? a : b;
    return true;
  }
  *result = a.size > b.size ? a : b;
  return are_numbers(a, b) || take_dim(glow_dim_max(glow_size_dim(a), glow_size_dim(b)), result);
}

static bool item_equal(GlowSize a, GlowSize b, bool real, GlowSize *result) {
  (void)real;
  int64_t low_a = a.extent ? a.extent->least : a.size, low_b = b.extent ? b.extent->least : b.size;
  bool same = glow_dim_is_same(glow_size_dim(a), glow_size_dim(b));
  bool apart = a.size < low_b || b.size < low_a;
  *result = (GlowSize){.size = same};
  return same || apart || are_numbers(a, b);
}

/* The operands' elements one by one; a single one stands for all. */
static void list_binary(Walk *w, const GlowNode *n, GlowSizes *s, ItemFn *fn) {
  const GlowType *t = glow_node_in(n, 0)->type;
  GlowSizes a, b;
  if (!read_list(w, glow_node_in(n, 0), &a))
    return;
  for (uint32_t k = 1; k < glow_node_nins(n); k++) {
    if (!read_list(w, glow_node_in(n, k), &b) || (a.count != 1 && a.count != s->count) ||
        (b.count != 1 && b.count != s->count))
      return;
    GlowSizes both = {.count = s->count};
    for (uint32_t i = 0; i < s->count; i++) {
      uint32_t x = a.count == 1 ? 0 : i, y = b.count == 1 ? 0 : i;
      GlowSize item;
      if (is_known(&a, x) && is_known(&b, y) &&
          fn(a.items[x], b.items[y], glow_kind_is_float(t->kind), &item))
        set(&both, i, item);
    }
    a = both;
  }
  if (a.count == s->count)
    *s = a;
}

static void list_add(Walk *w, const GlowNode *n, GlowSizes *s) { list_binary(w, n, s, item_add); }
static void list_sub(Walk *w, const GlowNode *n, GlowSizes *s) { list_binary(w, n, s, item_sub); }
static void list_mul(Walk *w, const GlowNode *n, GlowSizes *s) { list_binary(w, n, s, item_mul); }
static void list_div(Walk *w, const GlowNode *n, GlowSizes *s) { list_binary(w, n, s, item_div); }
static void list_min(Walk *w, const GlowNode *n, GlowSizes *s) { list_binary(w, n, s, item_min); }
static void list_max(Walk *w, const GlowNode *n, GlowSizes *s) { list_binary(w, n, s, item_max); }
static void list_equal(Walk *w, const GlowNode *n, GlowSizes *s) {
  list_binary(w, n, s, item_equal);
}

static void list_where(Walk *w, const GlowNode *n, GlowSizes *s) {
  GlowSizes cond, x, y;
  if (!read_list(w, glow_node_in(n, GLOW_WHERE_IN_COND), &cond) ||
      !read_list(w, glow_node_in(n, GLOW_WHERE_IN_X), &x) ||
      !read_list(w, glow_node_in(n, GLOW_WHERE_IN_Y), &y))
    return;
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t c = cond.count == 1 ? 0 : i;
    if (c >= cond.count || !is_number(&cond, c))
      continue;
    const GlowSizes *from = cond.items[c].size ? &x : &y;
    uint32_t k = from->count == 1 ? 0 : i;
    if (k < from->count && is_known(from, k))
      set(s, i, from->items[k]);
  }
}

/* The product of a whole list. */
static void list_prod(Walk *w, const GlowNode *n, GlowSizes *s) {
  GlowSizes x;
  GlowSize all = {.size = 1};
  if (s->count != 1 || rank_of(glow_node_in(n, 0)) != 1 || !read_list(w, glow_node_in(n, 0), &x))
    return;
  for (uint32_t i = 0; i < x.count; i++)
    if (!is_known(&x, i) || !item_mul(all, x.items[i], false, &all))
      return;
  set(s, 0, all);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static ListFn *const rules[GLOW_OP_COUNT] = {
    [GLOW_OP_SHAPE] = list_shape,      [GLOW_OP_SIZE] = list_size,
    [GLOW_OP_IDENTITY] = list_same,    [GLOW_OP_CAST] = list_same,
    [GLOW_OP_RESHAPE] = list_same,     [GLOW_OP_FLATTEN] = list_same,
    [GLOW_OP_SQUEEZE] = list_same,     [GLOW_OP_UNSQUEEZE] = list_same,
    [GLOW_OP_CONCAT] = list_concat,    [GLOW_OP_GATHER] = list_gather,
    [GLOW_OP_SLICE] = list_slice,      [GLOW_OP_EXPAND] = list_expand,
    [GLOW_OP_ADD] = list_add,          [GLOW_OP_SUB] = list_sub,
    [GLOW_OP_MUL] = list_mul,          [GLOW_OP_DIV] = list_div,
    [GLOW_OP_MIN] = list_min,          [GLOW_OP_MAX] = list_max,
    [GLOW_OP_EQUAL] = list_equal,      [GLOW_OP_WHERE] = list_where,
    [GLOW_OP_REDUCE_PROD] = list_prod, [GLOW_OP_CONSTANT_OF_SHAPE] = list_splat,
};

/* The largest integer up to which a kind has all; 0: the elements of such lists are no sizes. */
static int64_t largest(GlowKind kind) {
  switch (kind) {
  case GLOW_KIND_I64:
    return INT64_MAX;
  case GLOW_KIND_I32:
    return INT32_MAX;
  case GLOW_KIND_BOOL:
    return 1;
  case GLOW_KIND_FLOAT:
    return INT64_C(1) << 24;
  case GLOW_KIND_DOUBLE:
    return INT64_C(1) << 53;
  default:
    return 0;
  }
}

/* Elements that a kind does not have are not known. */
static void limit(GlowSizes *s, int64_t most) {
  for (uint32_t i = 0; i < s->count; i++)
    if (s->items[i].size > most || s->items[i].size < -most)
      s->known &= ~(1u << i);
}

static void read_constant(const GlowTensor *t, GlowSizes *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    double real = glow_kind_is_float(t->type->kind) ? glow_tensor_get_double(t, i) : 0;
    if (!glow_kind_is_float(t->type->kind))
      set(s, i, (GlowSize){.size = glow_tensor_get_int(t, i)});
    else if (real >= -0x1p53 && real <= 0x1p53 && real == (double)(int64_t)real)
      set(s, i, (GlowSize){.size = (int64_t)real});
  }
}

/* False: v is no list of so few elements. */
static bool read_list(Walk *w, const GlowValue *v, GlowSizes *s) {
  const GlowType *t = v->type;
  int64_t count = glow_type_is_tensor(t) && glow_type_is_static(t) ? glow_type_elements(t) : -1;
  *s = (GlowSizes){0};
  if (count < 0 || count > GLOW_MAX_SIZES || t->quantized || t->layout || !largest(t->kind))
    return false;
  s->count = (uint32_t)count;
  const GlowTensor *known = glow_value_known(v);
  const GlowNode *n = v->kind == GLOW_VALUE_RESULT && v->index == 0 ? v->def.node : NULL;
  if (known)
    read_constant(known, s);
  if (n && rules[n->op] && !glow_node_is_instr(n) && !n->pred.value && w->nodes < MAX_NODES &&
      w->depth < MAX_DEPTH) {
    w->nodes++;
    w->depth++;
    rules[n->op](w, n, s);
    w->depth--;
  }
  limit(s, largest(t->kind));
  return true;
}

bool glow_value_numbers(const GlowValue *v, int64_t *numbers) {
  Walk w = {0};
  GlowSizes s;
  bool all = read_list(&w, v, &s);
  for (uint32_t i = 0; all && i < s.count; i++) {
    all = is_number(&s, i);
    numbers[i] = s.items[i].size;
  }
  return all;
}

bool glow_infer_sizes(const GlowInfer *in, uint32_t i, GlowSizes *s) {
  const GlowValue *v = in->node && !in->runtime && i < in->nin ? glow_node_in(in->node, i) : NULL;
  Walk w = {0};
  return v && read_list(&w, v, s) && s->known == (1u << s->count) - 1u;
}
