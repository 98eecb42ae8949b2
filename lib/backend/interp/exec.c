/* Running one operator: the types of its results, memory for them, the kernel, and messages about
 * what can go wrong at run time. */
#include "backend/interp/interp_internal.h"

#include <stdarg.h>
#include <stdlib.h>

#include "backend/interp/node_profile.h"
#include "ir/infer.h"
#include "support/deadline.h"
#include "support/sizes.h"

/* ---- Messages -------------------------------------------------------------------------------- */

/* The value that a message about n names: its first result, or the buffer it writes. */
static GlowStr result_name(const GlowNode *n) {
  for (uint32_t i = 0; i < (n->nouts ? n->nouts : n->nresults); i++) {
    const GlowValue *v = glow_node_out(n, i);
    if (v && v->name)
      return v->name;
  }
  return NULL;
}

bool glow_run_primitive(const GlowNode *n) {
  if (!glow_node_desc(n)->has_lower)
    return true;
  glow_run_error(n, "is no primitive, and only primitives may run");
  return false;
}

void glow_run_error(const GlowNode *n, const char *format, ...) {
  GlowContext *ctx = n->block->module->ctx;
  GlowStr name = result_name(n);
  GlowText t;
  GlowDefer release;
  va_list args;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  va_start(args, format);
  glow_text_vprintf(&t, format, args);
  va_end(args);
  if (name)
    glow_error(ctx, glow_node_loc(n), "%s '%s': %s", glow_profile_operator(n), name,
               glow_text_cstr(&t));
  else
    glow_error(ctx, glow_node_loc(n), "%s: %s", glow_profile_operator(n), glow_text_cstr(&t));
  glow_defer_pop(ctx, &release, true);
}

void glow_run_check_time(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  if (!glow_deadline_over(ctx))
    return;
  GlowStr name = result_name(n);
  const char *op = glow_profile_operator(n);
  glow_deadline_end(ctx, glow_node_loc(n), name ? glow_str_printf(ctx, "%s '%s'", op, name) : op);
}

/* The operand that holds indices or counts: the first of integers after the data, else the first
 * after the data (MaxRoiPool's regions hold theirs among floats). */
static const char *index_operand(const GlowNode *n, const GlowCall *call) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 1; i < call->nin && i < d->nin; i++)
    if (glow_buf_present(&call->in[i]) && glow_kind_is_integer(call->in[i].kind))
      return d->in[i].name;
  return d->nin > 1 ? d->in[1].name : "an operand";
}

void glow_report_run_error(const GlowNode *n, GlowRunError e, const GlowCall *call) {
  const char *operand = index_operand(n, call);
  long long detail = (long long)call->detail;
  switch (e) {
  case GLOW_RUN_INDEX:
    glow_run_error(n, "%s is out of range: %lld", operand, detail);
    return;
  case GLOW_RUN_SHAPE:
    glow_run_error(n, "the result does not fit its shape: extent %lld", detail);
    return;
  case GLOW_RUN_TRIP:
    glow_run_error(n, "%s is %lld, beyond the bound of the buffer", operand, detail);
    return;
  case GLOW_RUN_VALUE:
    glow_run_error(n, "the value of an operand is not allowed");
    return;
  case GLOW_RUN_FAIL:
    glow_run_error(n, "%s", ((const GlowFailMembers *)n->members)->message);
    return;
  case GLOW_RUN_OK:
  case GLOW_RUN_UNSUPPORTED:
    glow_run_error(n, "no kernel for these element kinds");
  }
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* The type of result i as inferred, in the layout of the claim; NULL after a diagnostic. */
static const GlowType *checked(const GlowNode *n, uint32_t i, const GlowType *t) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *claim = n->results[i].type;
  if (!t) {
    glow_run_error(n, "the type of result %u does not follow from its operands", i);
    return NULL;
  }
  if (!glow_type_is_tensor(claim))
    return t;
  if (claim->layout && glow_type_is_tensor(t) && t->rank == claim->rank)
    t = glow_type_with_layout(ctx, t, claim->layout);
  if (glow_type_fit(claim, t) != GLOW_FIT_CONTRADICTS)
    return t;
  glow_run_error(n, "the result is %s, but its type says %s", glow_type_str(ctx, t),
                 glow_type_str(ctx, claim));
  return NULL;
}

bool glow_exec_types(const GlowNode *n, const GlowTensor *const *in, const GlowType **out) {
  GlowContext *ctx = n->block->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  const GlowType **types = GLOW_NEW_ARRAY(arena, const GlowType *, n->noperands + 1);
  const GlowType **claims = GLOW_NEW_ARRAY(arena, const GlowType *, n->nresults + 1);
  for (uint32_t i = 0; i < n->noperands; i++)
    types[i] = in[i] ? in[i]->type : NULL;
  for (uint32_t i = 0; i < n->nresults; i++)
    claims[i] = n->results[i].type;
  GlowInfer infer = {.ctx = ctx,
                     .desc = glow_node_desc(n),
                     .members = n->members,
                     .loc = glow_node_loc(n),
                     .nin = n->noperands,
                     .nout = n->nresults,
                     .in = types,
                     .known = in,
                     .out = out,
                     .node = n,
                     .claims = claims,
                     .runtime = true};
  bool ok = glow_infer_run(&infer);
  for (uint32_t i = 0; ok && i < n->nresults; i++) {
    out[i] = checked(n, i, out[i]);
    ok = out[i] != NULL;
  }
  glow_arena_destroy(arena);
  return ok;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

void glow_scratch_release(void *scratch) {
  GlowScratch *s = scratch;
  free(s->data);
  *s = (GlowScratch){0};
}

void *glow_scratch_get(GlowContext *ctx, GlowScratch *s, size_t bytes) {
  if (bytes > s->size) {
    if (bytes > PTRDIFF_MAX / 2)
      glow_throw(ctx, GLOW_NO_MEMORY);
    glow_scratch_release(s);
    s->data = aligned_alloc(64, glow_align64(bytes));
    if (!s->data)
      glow_throw(ctx, GLOW_NO_MEMORY);
    s->size = bytes;
  }
  return s->data;
}

/* Elements that the memory of b spans. */
static size_t buf_span(const GlowBuf *b) {
  int64_t last = 0;
  for (uint32_t a = 0; a < b->rank; a++)
    last += b->dims[a] > 0 ? (b->dims[a] - 1) * b->strides[a] : 0;
  for (uint32_t i = 0; i < b->nblocks; i++)
    last += (b->block_size[i] - 1) * b->block_stride[i];
  return (size_t)last + 1;
}

/* Where the kernel of n leaves what its epilogue starts from: the output itself, or memory of its
 * own (to free) if the epilogue changes the element kind. */
static void *begin_epilogue(const GlowNode *n, GlowBuf *y) {
  GlowKind kind = glow_node_epilogue(n)->params[0]->type->kind;
  if (kind == y->kind)
    return NULL;
  y->kind = kind;
  y->quantized = false;
  y->data = glow_malloc(n->block->module->ctx, buf_span(y) * (glow_kind_info[kind].bits / 8));
  return y->data;
}

/* The epilogue of n over what its kernel left in acc; its operands follow the inputs. */
static bool run_epilogue(const GlowNode *n, const GlowKernels *k, GlowCall *call, GlowBuf *acc) {
  const GlowBlock *body = glow_node_epilogue(n);
  GlowBuf *y = &call->out[glow_node_desc(n)->epilogue];
  GlowBuf *ins[GLOW_ROW_OPERANDS] = {acc};
  if (n->nextra + 1 > GLOW_ROW_OPERANDS)
    return false;
  for (uint32_t i = 0; i < n->nextra; i++)
    ins[1 + i] = &call->in[call->nin + i];
  return glow_body_run(n->block->module->ctx, k, body, y, 1, ins, n->nextra + 1);
}

static bool run_stack(const GlowNode *n, const GlowKernels *k, GlowCall *call) {
  GlowBuf *ins[GLOW_ROW_OPERANDS];
  uint32_t nins = call->nin + n->nextra;
  if (nins > GLOW_ROW_OPERANDS)
    return false;
  for (uint32_t i = 0; i < nins; i++)
    ins[i] = &call->in[i];
  return glow_body_run(n->block->module->ctx, k, glow_node_epilogue(n), call->out, call->nout, ins,
                       nins);
}

/* Whether every input broadcasts to the result. Inference has checked that, except for operands
 * that may have any shape, such as Clip's limits. */
static bool broadcasts(const GlowNode *n, const GlowCall *call) {
  const GlowBuf *out = &call->out[0];
  for (uint32_t i = 0; i < call->nin; i++) {
    const GlowBuf *b = &call->in[i];
    for (uint32_t a = 0; glow_buf_present(b) && a < b->rank; a++) {
      bool fits = b->dims[a] == 1 ||
                  (a + out->rank >= b->rank && b->dims[a] == out->dims[a + out->rank - b->rank]);
      if (fits)
        continue;
      glow_run_error(n, "extent %lld of %s does not fit the result", (long long)b->dims[a],
                     glow_op_in_port(glow_node_desc(n), i)->name);
      return false;
    }
  }
  return true;
}

/* The kernel, then the epilogue if there is one. */
static GlowRunError run_with_epilogue(const GlowNode *n, const GlowKernels *k, GlowCall *call,
                                      GlowScratch *scratch) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowKernelRow *row = &k->table[n->op];
  bool epilogue = glow_node_epilogue(n);
  GlowBuf *y = epilogue ? &call->out[glow_node_desc(n)->epilogue] : NULL;
  GlowBuf kept = y ? *y : (GlowBuf){0};
  GlowDefer release;
  if (row->scratch)
    call->scratch = glow_scratch_get(ctx, scratch, row->scratch(call));
  glow_defer_push(ctx, &release, free, y ? begin_epilogue(n, y) : NULL);
  GlowRunError e = row->kernel(call);
  if (y) {
    GlowBuf acc = *y;
    bool apart = acc.data != kept.data;
    if (apart)
      *y = kept;
    if (e == GLOW_RUN_OK && !run_epilogue(n, k, call, apart ? &acc : y))
      e = GLOW_RUN_UNSUPPORTED;
  }
  glow_defer_pop(ctx, &release, true);
  return e;
}

/* The type of the map that n pools, for the extents of its operands in this run. */
static const GlowType *map_type(const GlowNode *n, const GlowCall *call, GlowArena *arena) {
  const GlowType **types = GLOW_NEW_ARRAY(arena, const GlowType *, call->nin + 1);
  for (uint32_t i = 0; i < call->nin; i++) {
    const GlowValue *v = glow_node_in(n, i);
    const GlowBuf *b = &call->in[i];
    GlowType exact;
    if (!v)
      continue;
    glow_type_fill(&exact, v->type, b->dims);
    types[i] = glow_type_interned(glow_arena_context(arena), &exact);
  }
  return glow_node_map_of(n, types);
}

/* The same, but the result goes to memory of its own, and is then pooled into the output. */
static GlowRunError run_pooled(const GlowNode *n, const GlowKernels *k, GlowCall *call,
                               GlowScratch *scratch, const GlowMaxPoolMembers *pool) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *type = glow_node_map(n);
  if (!glow_type_is_static(type)) {
    GlowArena *arena = glow_arena_create(ctx);
    type = map_type(n, call, arena);
    glow_arena_destroy(arena);
  }
  GlowTensor *map = glow_tensor_create(ctx, type);
  GlowDefer release;
  glow_defer_push(ctx, &release, glow_tensor_free_fn, map);
  GlowBuf x = glow_buf_of(type, map->data), outs[] = {call->out[0], glow_buf_absent()};
  GlowCall second = {.members = pool, .nin = 1, .nout = 1, .in = &x, .out = outs};
  call->out[0] = x;
  GlowRunError e = run_with_epilogue(n, k, call, scratch);
  call->out[0] = outs[0];
  if (e == GLOW_RUN_OK)
    e = k->table[GLOW_OP_MAX_POOL].kernel(&second);
  glow_defer_pop(ctx, &release, true);
  return e;
}

static GlowRunError run_kernel(const GlowNode *n, const GlowKernels *k, GlowCall *call,
                               GlowScratch *scratch) {
  GlowMaxPoolMembers pool;
  return glow_node_pool(n, &pool) ? run_pooled(n, k, call, scratch, &pool)
                                  : run_with_epilogue(n, k, call, scratch);
}

bool glow_exec_kernel(const GlowNode *n, const GlowKernels *k, GlowCall *call,
                      GlowScratch *scratch) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool ok;
  call->members = n->members;
  if (d->body) {
    ok = run_stack(n, k, call);
  } else if (d->has_scalar) {
    if (!broadcasts(n, call))
      return false;
    ok = glow_elementwise(k, n->op, n->members, &call->out[0], call->in, call->nin);
  } else if (k->table[n->op].kernel) {
    GlowRunError e = run_kernel(n, k, call, scratch);
    if (e != GLOW_RUN_OK)
      glow_report_run_error(n, e, call);
    return e == GLOW_RUN_OK;
  } else {
    ok = false;
  }
  if (!ok)
    glow_report_run_error(n, GLOW_RUN_UNSUPPORTED, call);
  return ok;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

const GlowTensor *glow_tensor_aligned(GlowContext *ctx, const GlowTensor *t, GlowTensor **copy) {
  *copy = NULL;
  if (!glow_type_is_tensor(t->type))
    return t;
  uint32_t bytes = glow_kind_info[t->type->kind].bits / 8;
  uint32_t alignment = bytes > 8 ? 8 : bytes ? bytes : 1;
  if ((uintptr_t)t->data % alignment == 0)
    return t;
  *copy = glow_tensor_copy(ctx, t);
  return *copy;
}

void glow_tensor_own_strings(GlowContext *ctx, GlowTensor *t) {
  int64_t n = glow_tensor_elements(t);
  GlowString *s = t->data;
  GlowString *borrowed = glow_malloc(ctx, (size_t)(n + 1) * sizeof *borrowed);
  GlowDefer release;
  memcpy(borrowed, s, (size_t)n * sizeof *s);
  memset(s, 0, (size_t)n * sizeof *s);
  glow_defer_push(ctx, &release, free, borrowed);
  for (int64_t i = 0; i < n; i++)
    glow_tensor_set_string(ctx, t, i, borrowed[i].data, borrowed[i].length);
  glow_defer_pop(ctx, &release, true);
}

/* A result whose extents its kernel lowered: the same memory under its exact type. */
static bool shrink(const GlowNode *n, uint32_t i, GlowTensor *t, const GlowBuf *b) {
  GlowContext *ctx = n->block->module->ctx;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < b->rank; a++)
    dims[a] = GLOW_EXACT(b->dims[a]);
  const GlowType *type = checked(n, i, glow_type_with_dims(ctx, t->type, b->rank, dims));
  if (!type)
    return false;
  t->type = type;
  t->bytes = (size_t)glow_type_bytes(type);
  return true;
}

static bool has_strings(const GlowType *t) {
  return glow_type_is_tensor(t) && t->kind == GLOW_KIND_STRING;
}

/* Whether the results may still be made: see GlowRunOptions.max_memory. */
static bool has_room(const GlowNode *n, const GlowType *const *types) {
  GlowContext *ctx = n->block->module->ctx;
  int64_t bytes = 0;
  if (!ctx->tensor_limit)
    return true;
  for (uint32_t i = 0; i < n->nresults; i++)
    bytes += glow_type_bytes(glow_type_room(ctx, types[i]));
  if (bytes <= ctx->tensor_limit - ctx->tensor_bytes)
    return true;
  glow_run_error(n, "needs %s for its results beside %s in use: more than the limit of memory",
                 glow_bytes_str(ctx->arena, bytes), glow_bytes_str(ctx->arena, ctx->tensor_bytes));
  return false;
}

/* Whether t, an operand of element-wise n, can become its result: elements of whole bytes, which
 * are read before they are written. */
static bool can_become(const GlowTensor *t, const GlowType *result) {
  return t && t->type == result && glow_type_is_tensor(result) && glow_type_is_static(result) &&
         result->kind != GLOW_KIND_STRING && glow_kind_info[result->kind].bits >= 8;
}

/* Makes the results, or the only one of the operand at *over. False after a diagnostic. */
static bool make_results(const GlowNode *n, const GlowType *const *types, GlowTensor **over,
                         GlowTensor **out) {
  GlowContext *ctx = n->block->module->ctx;
  if (over && can_become(*over, types[0])) {
    out[0] = *over;
    *over = NULL;
    return true;
  }
  if (!has_room(n, types))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++) {
    /* Kernels write all of a result that has its extents; programs give them used memory, too. */
    out[i] = glow_type_is_static(types[i]) ? glow_tensor_create_unset(ctx, types[i])
                                           : glow_tensor_create(ctx, glow_type_room(ctx, types[i]));
  }
  return true;
}

/* The kernel on tensors; out[i] are made. */
static bool run_on_tensors(const GlowNode *n, const GlowKernels *k, const GlowTensor *const *in,
                           const GlowType *const *types, GlowTensor **over, GlowTensor **out,
                           GlowScratch *scratch, GlowArena *arena) {
  GlowContext *ctx = n->block->module->ctx;
  GlowCall call = {.nin = n->noperands, .nout = n->nresults};
  /* Kernels may ask for every port of their operator. */
  const GlowOpDesc *d = glow_node_desc(n);
  GlowBuf *ins = GLOW_NEW_ARRAY(arena, GlowBuf, n->noperands + d->nin + 1);
  GlowBuf *outs = GLOW_NEW_ARRAY(arena, GlowBuf, n->nresults + d->nout + 1);
  for (uint32_t i = 0; i < n->noperands + d->nin; i++)
    ins[i] = i < n->noperands && in[i] ? glow_buf_of(in[i]->type, in[i]->data) : glow_buf_absent();
  for (uint32_t i = 0; i < n->nresults + d->nout; i++)
    outs[i] = glow_buf_absent();
  call.in = ins;
  call.out = outs;
  if (!make_results(n, types, over, out))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    outs[i] = glow_buf_of(out[i]->type, out[i]->data);
  bool strings = n->nresults > 0 && has_strings(types[0]);
  if (n->op == GLOW_OP_CAST && (strings || has_strings(in[0]->type)))
    return glow_cast_strings(n, in[0], out[0]);
  bool ok = glow_exec_kernel(n, k, &call, scratch);
  for (uint32_t i = 0; ok && i < n->nresults; i++)
    ok = glow_type_is_static(types[i]) || shrink(n, i, out[i], &outs[i]);
  for (uint32_t i = 0; i < n->nresults; i++) {
    if (!has_strings(out[i]->type))
      continue;
    if (ok)
      glow_tensor_own_strings(ctx, out[i]);
    else /* borrowed ones must not be freed */
      memset(out[i]->data, 0, out[i]->bytes);
  }
  return ok;
}

bool glow_exec_node(const GlowNode *n, const GlowKernels *k, const GlowTensor *const *in,
                    GlowTensor **over, GlowTensor **out, GlowScratch *scratch) {
  GlowContext *ctx = n->block->module->ctx;
  /* Operators that only move values move sequences and optionals as well. */
  if (GLOW_HAS(glow_node_desc(n), MOVEMENT) && n->noperands && in[0] &&
      !glow_type_is_tensor(in[0]->type)) {
    out[0] = glow_tensor_copy(ctx, in[0]);
    return true;
  }
  GlowArena *arena = glow_arena_create(ctx);
  const GlowTensor **aligned = GLOW_NEW_ARRAY(arena, const GlowTensor *, n->noperands + 1);
  GlowTensor **copies = GLOW_NEW_ARRAY(arena, GlowTensor *, n->noperands + 1);
  GlowDefer *releases = GLOW_NEW_ARRAY(arena, GlowDefer, n->noperands + 1);
  for (uint32_t i = 0; i < n->noperands; i++) {
    aligned[i] = in[i] ? glow_tensor_aligned(ctx, in[i], &copies[i]) : NULL;
    glow_defer_push(ctx, &releases[i], glow_tensor_free_fn, copies[i]);
  }
  const GlowType **types = GLOW_NEW_ARRAY(arena, const GlowType *, n->nresults + 1);
  bool ok = glow_exec_types(n, aligned, types) &&
            run_on_tensors(n, k, aligned, types, over, out, scratch, arena);
  for (uint32_t i = n->noperands; i-- > 0;)
    glow_defer_pop(ctx, &releases[i], true);
  glow_arena_destroy(arena);
  return ok;
}
