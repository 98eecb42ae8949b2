/* Scalar bodies: stacks and epilogues, run node by node over blocks of a row. Every node's result
 * is rounded to its type, as if it stood alone. */
#include "backend/interp/interp_internal.h"

enum { MAX_OPERANDS = 8 };

/* A value of the body: a parameter (the row of an operand) or a result (a row in memory). */
typedef struct BodyValue {
  GlowBuf buf;
  GlowRow row;
} BodyValue;

typedef struct BodyStep {
  const GlowNode *node;
  uint32_t operands[MAX_OPERANDS], noperands, result;
  void *dense[MAX_OPERANDS]; /* copies of operands that are not dense rows; made when needed */
} BodyStep;

typedef struct Body {
  BodyValue *values;
  BodyStep *steps;
  uint32_t nsteps, nparams, nyields;
  uint32_t *yields;
} Body;

static void *value_memory(GlowArena *arena, GlowKind kind) {
  return glow_arena_alloc(arena, GLOW_ROW_BLOCK * (size_t)glow_ref_bits(kind) / 8 + 8);
}

static bool prepare(GlowArena *arena, const GlowBlock *block, Body *body) {
  GlowMap *index = glow_map_create(arena);
  uint32_t count = block->nparams, nodes = 0;
  for (const GlowNode *n = block->first; n; n = n->next, nodes++)
    count += n->nresults;
  body->values = GLOW_NEW_ARRAY(arena, BodyValue, count);
  body->steps = GLOW_NEW_ARRAY(arena, BodyStep, nodes);
  body->nparams = block->nparams;
  uint32_t next = 0;
  for (; next < block->nparams; next++)
    glow_map_set(index, block->params[next], &body->values[next]);
  for (const GlowNode *n = block->first; n; n = n->next) {
    bool last = n == glow_block_terminator(block);
    uint32_t *operands =
        last ? GLOW_NEW_ARRAY(arena, uint32_t, n->noperands) : body->steps[body->nsteps].operands;
    if (!last && n->noperands > MAX_OPERANDS)
      return false;
    for (uint32_t i = 0; i < n->noperands; i++) {
      const BodyValue *v = n->operands[i].value ? glow_map_get(index, n->operands[i].value) : NULL;
      operands[i] = v ? (uint32_t)(v - body->values) : UINT32_MAX;
    }
    if (last) {
      body->yields = operands;
      body->nyields = n->noperands;
      continue;
    }
    BodyStep *step = &body->steps[body->nsteps++];
    step->node = n;
    step->noperands = n->noperands;
    step->result = next;
    BodyValue *v = &body->values[next++];
    v->buf = glow_buf_of(n->results[0].type, value_memory(arena, n->results[0].type->kind));
    v->row = (GlowRow){&v->buf, 0, 1};
    glow_map_set(index, &n->results[0], v);
  }
  return body->yields != NULL;
}

/* A node without a scalar body of its own, over one-dimensional buffers. Splat gives one element.
 */
static bool run_kernel(const GlowKernels *k, const Body *body, BodyStep *s, int64_t n,
                       GlowArena *arena) {
  GlowBuf in[MAX_OPERANDS], out = body->values[s->result].buf;
  GlowRow *result = &body->values[s->result].row;
  bool single = s->noperands == 0;
  out.rank = 1;
  out.dims[0] = single ? 1 : n;
  out.strides[0] = 1;
  result->step = !single;
  for (uint32_t i = 0; i < s->noperands; i++) {
    if (s->operands[i] == UINT32_MAX) {
      in[i] = glow_buf_absent();
      continue;
    }
    const GlowRow *r = &body->values[s->operands[i]].row;
    in[i] = *r->buf;
    in[i].rank = 1;
    in[i].nblocks = 0;
    in[i].dims[0] = n;
    in[i].strides[0] = 1;
    if (r->step == 1 && r->offset == 0)
      continue;
    if (!s->dense[i])
      s->dense[i] = value_memory(arena, r->buf->kind);
    in[i].data = s->dense[i];
    GlowBoxCopy c = {.dst = in[i].data, .src = r->buf->data, .src_offset = r->offset, .rank = 1};
    c.bits = glow_ref_bits(r->buf->kind);
    c.dims[0] = n;
    c.dst_strides[0] = 1;
    c.src_strides[0] = r->step;
    glow_box_copy(&c);
  }
  const GlowKernelRow *row = &k->table[s->node->op];
  GlowCall call = {
      .members = s->node->members, .nin = s->noperands, .nout = 1, .in = in, .out = &out};
  return row->kernel && !row->scratch && row->kernel(&call) == GLOW_RUN_OK;
}

static bool run_step(const GlowKernels *k, const Body *body, BodyStep *s, int64_t n,
                     GlowArena *arena) {
  GlowBuf absent = glow_buf_absent();
  GlowRow rows[1 + MAX_OPERANDS];
  if (!glow_node_desc(s->node)->has_scalar)
    return run_kernel(k, body, s, n, arena);
  rows[0] = body->values[s->result].row;
  for (uint32_t i = 0; i < s->noperands; i++)
    rows[1 + i] =
        s->operands[i] == UINT32_MAX ? (GlowRow){&absent, 0, 0} : body->values[s->operands[i]].row;
  return glow_elementwise_row(k, s->node->op, s->node->members, rows, s->noperands, n);
}

/* The rows that are yielded, to the outputs. A parameter may stand in a buffer that another output
 * overwrites, so parameters are copied first. */
static void store_yields(const Body *body, const GlowRowLoop *l, GlowBuf *const *outs) {
  for (int params = 1; params >= 0; params--)
    for (uint32_t i = 0; i < body->nyields; i++) {
      uint32_t v = body->yields[i];
      const GlowRow *r = &body->values[v].row;
      if (v == UINT32_MAX || (v < body->nparams) != (params == 1))
        continue;
      GlowBoxCopy c = {.dst = outs[i]->data, .src = r->buf->data, .rank = 1};
      c.bits = glow_ref_bits(outs[i]->kind);
      c.dst_offset = l->offset[i];
      c.src_offset = r->offset;
      c.dims[0] = l->n;
      c.dst_strides[0] = l->step[i];
      c.src_strides[0] = r->step;
      glow_box_copy(&c);
    }
}

static bool run_blocks(GlowArena *arena, const GlowKernels *k, Body *body, GlowBuf **bufs,
                       uint32_t nouts, uint32_t nins) {
  GlowRowLoop l;
  if (!glow_row_loop_init(&l, bufs, nouts + nins))
    return true;
  while (glow_row_loop_next(&l)) {
    for (uint32_t i = 0; i < body->nparams; i++)
      body->values[i].row = (GlowRow){bufs[nouts + i], l.offset[nouts + i], l.step[nouts + i]};
    for (uint32_t i = 0; i < body->nsteps; i++)
      if (!run_step(k, body, &body->steps[i], l.n, arena))
        return false;
    store_yields(body, &l, bufs);
  }
  return true;
}

bool glow_body_run(GlowContext *ctx, const GlowKernels *k, const GlowBlock *block, GlowBuf *outs,
                   uint32_t nouts, GlowBuf *const *ins, uint32_t nins) {
  Body body = {0};
  GlowBuf *bufs[GLOW_ROW_OPERANDS];
  if (nouts == 0 || nouts + nins > GLOW_ROW_OPERANDS || nins < block->nparams)
    return false;
  GlowArena *arena = glow_arena_create(ctx);
  for (uint32_t i = 0; i < nouts; i++)
    bufs[i] = &outs[i];
  for (uint32_t i = 0; i < nins; i++)
    bufs[nouts + i] = ins[i];
  bool ok = prepare(arena, block, &body) && body.nyields == nouts &&
            run_blocks(arena, k, &body, bufs, nouts, nins);
  for (uint32_t i = 0; i < nouts; i++)
    glow_ref_clear_padding(&outs[i]);
  glow_arena_destroy(arena);
  return ok;
}
