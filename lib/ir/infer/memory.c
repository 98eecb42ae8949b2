/* Verification of instructions that only programs have: views, stacks, run-time checks. */
#include "ir/infer/hooks.h"
#include "tensor/form.h"

/* The physical extents of a tensor type whose extents have sizes. */
static uint32_t physical(const GlowType *t, int64_t *extents) {
  int64_t dims[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].size;
  if (t->layout)
    return glow_layout_physical(t->layout, t->rank, dims, extents);
  memcpy(extents, dims, sizeof dims);
  return t->rank;
}

static int64_t product(const int64_t *extents, uint32_t rank) {
  int64_t n = 1;
  for (uint32_t i = 0; i < rank; i++)
    if (__builtin_mul_overflow(n, extents[i], &n))
      return INT64_MAX;
  return n;
}

/* One past the last element that a view reaches, counted from its offset; -1 on overflow. */
static int64_t view_end(const int64_t *extents, uint32_t rank, GlowArray strides) {
  if (strides.count == 0)
    return product(extents, rank);
  int64_t last = 0;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t far;
    if (extents[i] == 0)
      return 0;
    if (__builtin_mul_overflow(extents[i] - 1, glow_array_at(strides, GlowSize, i).size, &far) ||
        __builtin_add_overflow(last, far, &last))
      return -1;
  }
  return last + 1;
}

/* A view may read the elements of its base as another kind of the same bits, as BitCast does.
 * Strings have no bits, and a byte may be no bool. */
static bool has_elements_of(const GlowType *base, const GlowType *view) {
  const GlowKindInfo *from = &glow_kind_info[base->kind], *to = &glow_kind_info[view->kind];
  return base->kind == view->kind || (from->bits == to->bits && from->cls != GLOW_CLASS_STRING &&
                                      to->cls != GLOW_CLASS_STRING && view->kind != GLOW_KIND_BOOL);
}

static bool names_symbols(const GlowTensorviewMembers *m) {
  bool names = m->offset.extent != NULL;
  for (uint32_t i = 0; i < m->strides.count; i++)
    names |= glow_array_at(m->strides, GlowSize, i).extent != NULL;
  return names;
}

/* Sets *room to the elements of `base` behind the last one of the view. */
static bool find_room(const GlowNode *n, const GlowDim *whole, uint32_t base_rank,
                      const GlowDim *extents, uint32_t rank, GlowForm *room) {
  const GlowTensorviewMembers *m = n->members;
  GlowContext *ctx = n->block->module->ctx;
  GlowForm f, by, one = glow_form_number(1), end;
  *room = one;
  for (uint32_t i = 0; i < base_rank; i++)
    if (!glow_form_of(ctx, whole[i], &f) || !glow_form_mul(room, &f, room))
      return false;
  if (!glow_form_of(ctx, glow_size_dim(m->offset), &end))
    return false;
  for (uint32_t i = 0; i < rank; i++)
    if (!glow_form_of(ctx, extents[i], &f) ||
        !glow_form_of(ctx, glow_size_dim(glow_array_at(m->strides, GlowSize, i)), &by) ||
        !glow_form_sub(&f, &one, &f) || !glow_form_mul(&f, &by, &f) ||
        !glow_form_add(&end, &f, &end))
      return false;
  return glow_form_sub(room, &end, room) && glow_form_sub(room, &one, room);
}

/* Whether `room` is at least 0 for all extents that are allowed: by the ranges of its symbols, or
 * by that of a definition with the same leading term, which each run checks. */
static bool is_never_negative(const GlowModule *m, const GlowForm *room) {
  int64_t least, most;
  if (glow_form_range(room, &least, &most) && least >= 0)
    return true;
  for (uint32_t i = 0; i < m->extents.count && room->count; i++) {
    const GlowExtent *e = m->extents.data[i];
    const GlowTerm *t = e->form && e->form->count ? &e->form->terms[0] : NULL;
    if (!t || memcmp(t->atoms, room->terms[0].atoms, sizeof t->atoms) ||
        room->terms[0].factor % t->factor)
      continue;
    GlowForm by = glow_form_number(room->terms[0].factor / t->factor), part, rest;
    int64_t end = by.constant < 0 ? e->most : e->least, far;
    if (glow_form_mul(e->form, &by, &part) && glow_form_sub(room, &part, &rest) &&
        glow_form_range(&rest, &least, &most) && !__builtin_mul_overflow(by.constant, end, &far) &&
        !__builtin_add_overflow(least, far, &least) && least >= 0)
      return true;
  }
  return false;
}

/* Whether v is a variable that grows. Its memory has room for its most rows. */
static bool has_more_room(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_VARIABLE &&
         glow_type_grows(v->type);
}

/* Whether a dense view lies in the room of a variable that grows. */
static bool fits_room(const GlowNode *n, const GlowType *room, const GlowType *view) {
  const GlowTensorviewMembers *m = n->members;
  GlowContext *ctx = n->block->module->ctx;
  GlowForm left = glow_form_number(glow_type_elements(room)), f, size = glow_form_number(1);
  for (uint32_t i = 0; i < view->rank; i++)
    if (!glow_form_of(ctx, view->dims[i], &f) || !glow_form_mul(&size, &f, &size))
      return false;
  return glow_form_of(ctx, glow_size_dim(m->offset), &f) && glow_form_sub(&left, &f, &left) &&
         glow_form_sub(&left, &size, &left) && is_never_negative(n->block->module, &left);
}

/* A view that names symbols has all elements of its base under other extents, or it has strides,
 * and lies inside whatever the symbols are. */
static bool verify_open_view(const GlowNode *n, const GlowType *base, const GlowType *view) {
  const GlowTensorviewMembers *m = n->members;
  GlowContext *ctx = n->block->module->ctx;
  GlowDim whole[GLOW_MAX_RANK + 4], extents[GLOW_MAX_RANK + 4];
  GlowForm room;
  bool divides[2];
  bool grows = has_more_room(glow_node_in(n, 0));
  if (grows)
    base = glow_type_room(ctx, base);
  if (!m->strides.count && grows)
    return (!view->layout && m->offset.size >= 0 && fits_room(n, base, view)) ||
           glow_verify_error(n, "the view may end outside the room of its base, %s",
                             glow_type_str(ctx, base));
  if (!m->strides.count)
    return (glow_type_same_elements(base, view) && !m->offset.extent && !m->offset.size) ||
           glow_verify_error(n,
                             "a view without strides of an open buffer has all its elements: %s is "
                             "no view of %s",
                             glow_type_str(ctx, view), glow_type_str(ctx, base));
  if (!glow_type_is_known(base) || !glow_type_is_known(view))
    return glow_verify_error(n, "a view with strides needs extents that are known: %s of %s",
                             glow_type_str(ctx, view), glow_type_str(ctx, base));
  uint32_t base_rank = glow_type_physical(base, whole, &divides[0]);
  uint32_t rank = glow_type_physical(view, extents, &divides[1]);
  if (divides[0] || divides[1])
    return glow_verify_error(n, "a view with strides has no blocks of a symbol: %s of %s",
                             glow_type_str(ctx, view), glow_type_str(ctx, base));
  if (m->strides.count != rank)
    return glow_verify_error(n, "%u strides for %u physical axes", m->strides.count, rank);
  for (uint32_t i = 0; i < rank; i++)
    if (glow_array_at(m->strides, GlowSize, i).size < 0)
      return glow_verify_error(n, "stride %u is negative", i);
  if (m->offset.size < 0 || !find_room(n, whole, base_rank, extents, rank, &room) ||
      !is_never_negative(n->block->module, &room))
    return glow_verify_error(n, "the view may end outside its base of type %s",
                             glow_type_str(ctx, base));
  return true;
}

bool glow_verify_tensorview(const GlowNode *n) {
  const GlowTensorviewMembers *m = n->members;
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *base = glow_node_in(n, 0)->type, *view = n->results[0].type;
  int64_t extents[GLOW_MAX_RANK + 4], whole[GLOW_MAX_RANK + 4], end;
  if (!glow_type_is_tensor(base) || !glow_type_is_tensor(view) || !has_elements_of(base, view))
    return glow_verify_error(n, "%s cannot be viewed as %s", glow_type_str(ctx, base),
                             glow_type_str(ctx, view));
  if (glow_type_has_symbols(base) || glow_type_has_symbols(view) || names_symbols(m))
    return verify_open_view(n, base, view);
  if (!glow_type_is_bounded(base) || !glow_type_is_bounded(view))
    return true;
  uint32_t rank = physical(view, extents), base_rank = physical(base, whole);
  if (m->strides.count && m->strides.count != rank)
    return glow_verify_error(n, "%u strides for %u physical axes", m->strides.count, rank);
  for (uint32_t i = 0; i < m->strides.count; i++)
    if (glow_array_at(m->strides, GlowSize, i).size < 0)
      return glow_verify_error(n, "stride %u is negative", i);
  end = view_end(extents, rank, m->strides);
  if (m->offset.size < 0 || end < 0 || __builtin_add_overflow(end, m->offset.size, &end) ||
      end > product(whole, base_rank))
    return glow_verify_error(n, "the view ends outside its base of type %s",
                             glow_type_str(ctx, base));
  return true;
}

/* Every input of a stack broadcasts to the outputs, which have one shape. */
bool glow_verify_stack(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *y = n->nouts ? glow_node_out(n, 0)->type : NULL;
  if (!y)
    return glow_verify_error(n, "it writes nothing");
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowType *t = n->operands[i].value ? n->operands[i].value->type : NULL;
    if (!t || !glow_type_is_tensor(t))
      return glow_verify_error(n, "operand %u must be a tensor", i);
    bool fits =
        y->unranked || t->unranked || (i < n->nouts ? t->rank == y->rank : t->rank <= y->rank);
    for (uint32_t k = 0; fits && !y->unranked && k < t->rank; k++) {
      GlowDim d = t->dims[k], to = y->dims[k + y->rank - t->rank], both;
      fits = glow_dim_meet(d, to, &both) || (i >= n->nouts && glow_dim_is_exact(d, 1));
    }
    if (!fits)
      return glow_verify_error(n, "operand %u has type %s, which does not fit %s", i,
                               glow_type_str(ctx, t), glow_type_str(ctx, y));
  }
  return true;
}

/* The padded axes are not blocked, and something is there to be repeated. */
bool glow_verify_halo(const GlowNode *n) {
  const GlowHaloMembers *m = n->members;
  const GlowType *y = glow_node_out(n, 0)->type;
  const GlowValue *value = glow_node_in(n, GLOW_HALO_IN_VALUE);
  if (!glow_type_is_tensor(y) || !glow_type_is_static(y) || glow_kind_info[y->kind].bits < 8)
    return glow_verify_error(n, "Y must have exact extents and elements of whole bytes");
  if (value && glow_type_is_static(value->type) && glow_type_elements(value->type) != 1)
    return glow_verify_error(n, "Value has to be one element");
  if (m->pads.count != 2 * y->rank)
    return glow_verify_error(n, "%u pads for %u axes; two for each are needed", m->pads.count,
                             y->rank);
  for (uint32_t i = 0; i < y->rank; i++) {
    int64_t pads = (int64_t)glow_array_at(m->pads, uint32_t, i) +
                   glow_array_at(m->pads, uint32_t, y->rank + i);
    bool blocked = false;
    for (uint32_t k = 0; y->layout && k < y->layout->nblocks; k++)
      blocked |= y->layout->blocks[k].axis == i;
    if (pads > y->dims[i].size - (m->mode != GLOW_PAD_MODE_CONSTANT) || (blocked && pads))
      return glow_verify_error(n, "the padding of axis %u does not fit %s", i,
                               glow_type_str(n->block->module->ctx, y));
  }
  return true;
}

bool glow_verify_expect_shape(const GlowNode *n) {
  const GlowExpectShapeMembers *m = n->members;
  const GlowType *x = glow_node_in(n, 0)->type;
  if (glow_type_is_tensor(x) && !x->unranked && m->dims.count != x->rank)
    return glow_verify_error(n, "dims has %u values, X has %u axes", m->dims.count, x->rank);
  for (uint32_t i = 0; i < m->dims.count; i++)
    if (glow_array_at(m->dims, int64_t, i) < -1)
      return glow_verify_error(n, "extent %u is %lld", i,
                               (long long)glow_array_at(m->dims, int64_t, i));
  return true;
}

bool glow_verify_append(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *x = glow_node_in(n, GLOW_APPEND_IN_X)->type, *y = glow_node_out(n, 0)->type;
  if (x->unranked || y->unranked)
    return true;
  bool fits = y->rank == x->rank + 1;
  for (uint32_t i = 0; fits && i < x->rank; i++) {
    GlowDim both;
    fits = glow_dim_meet(x->dims[i], y->dims[i + 1], &both);
  }
  if (fits)
    return true;
  return glow_verify_error(n, "a slice of type %s does not fit %s", glow_type_str(ctx, x),
                           glow_type_str(ctx, y));
}

/* The variable grows, there is room for so many rows, and no other set_rows is about it. */
bool glow_verify_set_rows(const GlowNode *n) {
  const GlowSetRowsMembers *m = n->members;
  const GlowValue *v = glow_node_in(n, 0);
  if (!has_more_room(v))
    return glow_verify_error(n, "Variable is no variable whose first extent alone is a symbol");
  if (!glow_type_takes_rows(v->type, glow_size_dim(m->rows)))
    return glow_verify_error(n, "'@%s' cannot have %s rows: its type is %s", v->name,
                             glow_dim_str(n->block->module->ctx, glow_size_dim(m->rows)),
                             glow_type_str(n->block->module->ctx, v->type));
  if (n->block->owner != GLOW_BLOCK_FUNCTION)
    return glow_verify_error(n, "stands inside a region; it belongs to the top level of a program");
  for (const GlowNode *other = n->prev; other; other = other->prev)
    if (other->op == GLOW_OP_SET_ROWS && glow_node_in(other, 0) == v)
      return glow_verify_error(n, "a second set_rows of '@%s'", v->name);
  return true;
}
