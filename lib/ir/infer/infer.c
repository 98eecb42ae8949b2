/* Running inference: the simple rules, the calls of hooks, and functions for hooks. */
#include <stdarg.h>
#include <stdlib.h>

#include "ir/infer/hooks.h"
#include "support/deadline.h"

/* ---- Messages -------------------------------------------------------------------------------- */

static void report(GlowContext *ctx, GlowLoc loc, const char *op, const char *format,
                   va_list args) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  glow_text_vprintf(&t, format, args);
  glow_error(ctx, loc, "%s: %s", op, glow_text_cstr(&t));
  glow_defer_pop(ctx, &release, true);
}

static const char *op_name(const GlowOpDesc *d, const GlowNode *n) {
  bool instr = n && glow_node_is_instr(n) && d->instr;
  return instr || !d->node ? d->instr : d->node;
}

static const char *text_of(GlowContext *ctx, const GlowExtent *e) {
  return e->form ? glow_arena_printf(ctx->arena, "$%s = %s", e->symbol, e->text)
                 : glow_arena_printf(ctx->arena, "$%s : %s", e->symbol, glow_extent_str(ctx, e));
}

/* Says which symbols would have to be equal, and the option that makes them so. */
static void note_symbols(GlowContext *ctx, GlowLoc loc, const GlowExtent *a, const GlowExtent *b) {
  if (a->form || b->form)
    glow_note(ctx, loc, "'%s' and '%s' may differ", text_of(ctx, a), text_of(ctx, b));
  else
    glow_note(ctx, loc, "'%s' and '%s' may differ; -bind='%s=%s' makes them one", text_of(ctx, a),
              text_of(ctx, b), b->symbol, a->symbol);
}

bool glow_infer_error(const GlowInfer *in, const char *format, ...) {
  const GlowExtent *const *apart = in->ctx->apart;
  va_list args;
  va_start(args, format);
  report(in->ctx, in->loc, op_name(in->desc, in->node), format, args);
  va_end(args);
  if (apart[0])
    note_symbols(in->ctx, in->loc, apart[0], apart[1]);
  return false;
}

bool glow_verify_error(const GlowNode *n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(n->block->module->ctx, glow_node_loc(n), op_name(glow_node_desc(n), n), format, args);
  va_end(args);
  return false;
}

bool glow_verify_same_kind(const GlowNode *n, const GlowValue *a, const GlowValue *b) {
  if (!a || !b || !glow_type_is_tensor(a->type) || !glow_type_is_tensor(b->type) ||
      a->type->kind == b->type->kind)
    return true;
  GlowContext *ctx = n->block->module->ctx;
  return glow_verify_error(n, "%s and %s must have the same element kind",
                           glow_type_str(ctx, a->type), glow_type_str(ctx, b->type));
}

/* ---- Operands -------------------------------------------------------------------------------- */

const int64_t *glow_infer_ints(const GlowInfer *in, uint32_t i, uint32_t *count) {
  const GlowTensor *t = glow_infer_known(in, i);
  *count = 0;
  if (!t || !glow_type_is_tensor(t->type) || t->type->rank > 1 ||
      !glow_kind_is_integer(t->type->kind))
    return NULL;
  int64_t n = glow_tensor_elements(t);
  if (n < 0 || n > UINT32_MAX)
    return NULL;
  *count = (uint32_t)n;
  if (t->type->kind == GLOW_KIND_I64 && n && (uintptr_t)t->data % _Alignof(int64_t) == 0)
    return t->data;
  int64_t *values = glow_arena_array(in->ctx->arena, (size_t)n + 1, sizeof *values);
  for (int64_t k = 0; k < n; k++)
    values[k] = glow_tensor_get_int(t, k);
  return values;
}

int64_t glow_infer_list_length(const GlowInfer *in, uint32_t i) {
  const GlowType *t = glow_infer_in(in, i);
  if (!t || !glow_type_is_ranked(t) || t->rank > 1)
    return -1;
  if (t->rank == 0)
    return 1;
  return t->dims[0].kind == GLOW_DIM_EXACT ? t->dims[0].size : -1;
}

bool glow_infer_one_element(const GlowInfer *in, uint32_t i) {
  const GlowType *t = glow_infer_in(in, i);
  for (uint32_t k = 0; t && k < t->rank; k++)
    if (t->dims[k].kind == GLOW_DIM_EXACT && t->dims[k].size != 1)
      return glow_infer_error(in, "operand %s must have one element, but has type %s",
                              in->desc->in[i].name, glow_type_str(in->ctx, t));
  return true;
}

bool glow_infer_axis(const GlowInfer *in, int64_t axis, uint32_t rank, uint32_t *result) {
  *result = 0;
  if (axis < -(int64_t)rank || axis >= (int64_t)rank)
    return glow_infer_error(in, "axis %lld is out of range for rank %u", (long long)axis, rank);
  *result = (uint32_t)(axis < 0 ? axis + rank : axis);
  return true;
}

bool glow_infer_axes(const GlowInfer *in, const int64_t *axes, uint32_t count, uint32_t rank,
                     uint32_t *set) {
  *set = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t axis;
    if (!glow_infer_axis(in, axes[i], rank, &axis))
      return false;
    if (*set >> axis & 1u)
      return glow_infer_error(in, "axis %u is named twice", axis);
    *set |= 1u << axis;
  }
  return true;
}

/* ---- Results --------------------------------------------------------------------------------- */

static const GlowType *without_rank(GlowContext *ctx, const GlowType *t) {
  const GlowType *r = glow_type_unranked(ctx, t->kind);
  return glow_type_with_quant(ctx, r, t->quantized, t->scale, t->offset);
}

bool glow_infer_set(GlowInfer *in, uint32_t i, const GlowType *base, uint32_t rank,
                    const GlowDim *dims) {
  GlowDim open[GLOW_MAX_RANK];
  const char *error = glow_type_check_dims(base->kind, rank, dims);
  if (error && rank <= GLOW_MAX_RANK) {
    bool opened = false;
    for (uint32_t k = 0; k < rank; k++) {
      bool bound = dims[k].kind == GLOW_DIM_BOUND || (dims[k].extent && dims[k].extent->form);
      open[k] = bound ? GLOW_UNKNOWN : dims[k];
      opened |= bound;
    }
    if (opened) {
      dims = open;
      error = glow_type_check_dims(base->kind, rank, dims);
    }
  }
  if (error)
    return glow_infer_error(in, "in its result %s", error);
  glow_infer_put(in, i, glow_type_with_dims(in->ctx, base, rank, dims));
  return true;
}

bool glow_infer_set_unknown(GlowInfer *in, uint32_t i, const GlowType *base, int64_t rank) {
  GlowDim dims[GLOW_MAX_RANK];
  if (rank > GLOW_MAX_RANK)
    return glow_infer_error(in, "in its result the rank is over %d", GLOW_MAX_RANK);
  if (rank < 0) {
    glow_infer_put(in, i, without_rank(in->ctx, base));
    return true;
  }
  for (int64_t k = 0; k < rank; k++)
    dims[k] = GLOW_UNKNOWN;
  return glow_infer_set(in, i, base, (uint32_t)rank, dims);
}

/* ---- Broadcast ------------------------------------------------------------------------------- */

/* The layout that all types of full rank share, or NULL. Types with one element do not count. */
static const GlowLayout *common_layout(const GlowType *const *types, uint32_t count,
                                       uint32_t rank) {
  const GlowLayout *layout = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const GlowType *t = types[i];
    if (!t || t->rank != rank || glow_type_elements(t) == 1)
      continue;
    if (layout && t->layout != layout)
      return NULL;
    layout = t->layout;
    if (!layout)
      return NULL;
  }
  return layout;
}

const GlowType *glow_infer_broadcast(GlowInfer *in, const GlowType *const *types, uint32_t count,
                                     const char **error) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = 0;
  const GlowType *base = NULL;
  bool unranked = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!types[i])
      continue;
    base = base ? base : types[i];
    unranked |= types[i]->unranked;
    rank = !types[i]->unranked && types[i]->rank > rank ? types[i]->rank : rank;
  }
  for (uint32_t k = 0; k < rank; k++) {
    dims[k] = GLOW_EXACT(1);
    for (uint32_t i = 0; i < count; i++) {
      const GlowType *t = types[i];
      if (!t || t->unranked || k + t->rank < rank)
        continue;
      GlowDim d = t->dims[k + t->rank - rank], before = dims[k];
      if (glow_dim_broadcast(before, d, &dims[k]))
        continue;
      *error = glow_arena_printf(
          in->ctx->arena, "shapes do not broadcast: extents %s and %s of axis %d",
          glow_dim_str(in->ctx, before), glow_dim_str(in->ctx, d), (int)k - (int)rank);
      return NULL;
    }
  }
  *error = base ? glow_type_check_dims(base->kind, rank, dims) : "no operands";
  if (*error)
    return NULL;
  if (unranked)
    return without_rank(in->ctx, base);
  const GlowType *t = glow_type_with_dims(in->ctx, base, rank, dims);
  return glow_type_with_layout(in->ctx, t, common_layout(types, count, rank));
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool broadcast_rule(GlowInfer *in) {
  const char *error = NULL;
  const GlowType *t = glow_infer_broadcast(in, in->in, in->nin, &error);
  if (!t)
    return glow_infer_error(in, "%s", error);
  glow_infer_put(in, 0, t);
  return true;
}

static bool infer(GlowInfer *in) {
  switch ((GlowInferRule)in->desc->infer) {
  case GLOW_INFER_SAME:
    for (uint32_t i = 0; i < in->nout; i++)
      in->out[i] = glow_infer_in(in, in->desc->infer_arg);
    return true;
  case GLOW_INFER_BROADCAST:
    return broadcast_rule(in);
  case GLOW_INFER_FREE:
  case GLOW_INFER_NONE:
    return true;
  case GLOW_INFER_HOOK:
    return glow_infer_hooks[in->desc - glow_op_desc](in);
  }
  return false;
}

/* Scale and offset of a computed result do not follow from the operands: they come from the
 * claim. */
static void adopt_quantization(GlowInfer *in, uint32_t i, const GlowType *claim) {
  const GlowType *t = in->out[i];
  if (in->desc->quant == GLOW_QUANT_SAME || GLOW_HAS(in->desc, MOVEMENT) || !t ||
      !glow_type_is_tensor(t) || !t->quantized || !glow_type_is_tensor(claim) ||
      !claim->quantized || claim->kind != t->kind)
    return;
  in->out[i] = glow_type_with_quant(in->ctx, t, true, claim->scale, claim->offset);
}

bool glow_infer_run(GlowInfer *in) {
  if (!in->runtime)
    glow_deadline_check(in->ctx, in->loc);
  in->ctx->apart[0] = NULL;
  for (uint32_t i = 0; i < in->nout; i++)
    in->out[i] = NULL;
  if (!infer(in))
    return false;
  for (uint32_t i = 0; i < in->nout; i++) {
    const GlowType *claim = in->claims ? in->claims[i] : NULL;
    if (claim)
      adopt_quantization(in, i, claim);
    if (!in->runtime)
      continue;
    if (!in->out[i])
      in->out[i] = claim;
    if (in->out[i] && glow_type_is_tensor(in->out[i]) && !glow_type_is_bounded(in->out[i]))
      return glow_infer_error(in, "the shape of result %u does not follow from its operands: %s", i,
                              glow_type_str(in->ctx, in->out[i]));
  }
  return true;
}
