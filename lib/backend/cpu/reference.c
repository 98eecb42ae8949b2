/* Instructions without a machine kernel: their reference kernel runs inside the program. An
 * epilogue becomes a loop of its own over the result. */
#include <string.h>

#include "backend/cpu/select.h"
#include "backend/interp/interp_internal.h"

/* A view as a reference kernel sees it, without its address. */
static GlowBuf buf_of(const GlowView *v) {
  GlowBuf b = glow_buf_of(v->type, NULL);
  for (uint32_t i = 0; i < v->rank; i++) {
    if (i < b.rank)
      b.strides[i] = v->strides[i];
    else
      b.block_stride[i - b.rank] = v->strides[i];
  }
  return b;
}

/* Describes one operand; absent ones too. */
static bool describe(GlowSelect *s, const GlowValue *v, GlowBuf *buf, GlowPlace *place) {
  GlowView view;
  *buf = glow_buf_absent();
  *place = glow_place_absent();
  if (!v)
    return true;
  if (!glow_select_view(s, v, &view))
    return false;
  *buf = buf_of(&view);
  *place = view.place;
  return true;
}

/* Describes all operands and fills in their places. NULL, with s->why, if that is impossible. */
static GlowCall *describe_all(GlowSelect *s, const GlowNode *n, GlowPlace *places) {
  GlowCall *call = GLOW_NEW(s->arena, GlowCall);
  *call = (GlowCall){.members = n->members, .nin = glow_node_nins(n), .nout = n->nouts};
  const GlowOpDesc *d = glow_node_desc(n);
  /* Kernels may ask for every port of their operator. */
  call->in = GLOW_NEW_ARRAY(s->arena, GlowBuf, call->nin + d->nin);
  call->out = GLOW_NEW_ARRAY(s->arena, GlowBuf, call->nout + d->nout);
  for (uint32_t i = 0; i < call->nin + d->nin; i++)
    call->in[i] = glow_buf_absent();
  for (uint32_t i = 0; i < call->nout + d->nout; i++)
    call->out[i] = glow_buf_absent();
  for (uint32_t i = 0; i < call->nout; i++)
    if (!describe(s, glow_node_out(n, i), &call->out[i], places++))
      return NULL;
  for (uint32_t i = 0; i < call->nin; i++)
    if (!describe(s, glow_node_in(n, i), &call->in[i], places++))
      return NULL;
  return call;
}

const GlowCall *glow_select_call(GlowSelect *s, const GlowNode *n) {
  return describe_all(s, n, GLOW_NEW_ARRAY(s->arena, GlowPlace, n->noperands));
}

bool glow_select_epilogue(GlowSelect *s, const GlowNode *n) {
  const GlowBlock *epilogue = glow_node_epilogue(n);
  const GlowValue *y = glow_node_out(n, glow_node_desc(n)->epilogue);
  if (!epilogue)
    return true;
  if (epilogue->params[0]->type->kind != y->type->kind)
    return glow_select_fail(s, "its epilogue changes the element kind");
  const GlowValue **values = GLOW_NEW_ARRAY(s->arena, const GlowValue *, n->nextra + 2);
  values[0] = values[1] = y;
  for (uint32_t i = 0; i < n->nextra; i++)
    values[i + 2] = n->operands[n->noperands - n->nextra + i].value;
  return glow_select_body(s, n, epilogue, values, n->nextra + 2, 1);
}

/* Bytes of scratch, which may depend on operands that are known. */
static int64_t scratch_bytes(GlowSelect *s, const GlowNode *n, const GlowKernelRow *row,
                             const GlowCall *call) {
  if (!row->scratch)
    return 0;
  GlowCall with = *call;
  uint32_t count = call->nin + glow_node_desc(n)->nin;
  with.in = glow_arena_copy(s->arena, call->in, count * sizeof *call->in);
  for (uint32_t i = 0; i < call->nin; i++) {
    const GlowValue *v = glow_node_in(n, i);
    const GlowTensor *known = v ? glow_value_known(v) : NULL;
    with.in[i].data = known ? known->data : NULL;
  }
  return (int64_t)row->scratch(&with);
}

bool glow_has_reference(const GlowNode *n) {
  return glow_kernels_best()->table[n->op].kernel != NULL;
}

bool glow_select_reference(GlowSelect *s, const GlowNode *n) {
  const GlowKernelRow *row = &glow_kernels_best()->table[n->op];
  GlowPlace *places = GLOW_NEW_ARRAY(s->arena, GlowPlace, glow_node_nins(n) + n->nouts);
  const GlowCall *call = describe_all(s, n, places);
  if (!call)
    return false;
  GlowWork w = {.kind = GLOW_WORK_REFERENCE,
                .source = glow_select_source(s, n),
                .call = call,
                .places = places,
                .nplaces = call->nin + call->nout,
                .nwritten = call->nout,
                .units = 1,
                .shards = 1,
                .faults = true};
  w.scratch = scratch_bytes(s, n, row, call);
  glow_vec_push(s->arena, &s->work, w);
  return glow_select_epilogue(s, n);
}
