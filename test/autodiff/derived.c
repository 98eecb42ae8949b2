/* Builds the modules of a case: see derived.h. */
#include "test/autodiff/derived.h"

#include <string.h>

#include "autodiff/autodiff.h"
#include "ops/lower.h"

GlowStr numbered(GlowContext *ctx, char letter, uint32_t i) {
  return glow_str_printf(ctx, "%c%u", letter, i);
}

static GlowStorage *placeholder(GlowModule *m, char letter, uint32_t i, const GlowType *type) {
  return glow_storage_create(m, GLOW_PLACEHOLDER, numbered(m->ctx, letter, i), type,
                             (GlowInit){.kind = GLOW_INIT_NONE});
}

static bool is_real(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && glow_kind_is_float(v->type->kind) && !v->type->quantized;
}

static bool save(GlowBuilder *b, char letter, uint32_t i, GlowValue *v) {
  GlowStorage *s = placeholder(b->module, letter, i, v->type);
  GlowNodeSpec spec = {.op = GLOW_OP_SAVE, .ins = (GlowValue *[]){v, &s->value}, .nins = 2};
  return glow_node_create(b, &spec) != NULL;
}

/* Sets parts[i] to the derivatives of the sum of all weights[r] * ys[r] by xs[i]. */
static bool differentiate(GlowBuilder *b, GlowValue *const *ys, GlowValue *const *weights,
                          uint32_t count, GlowValue *const *xs, uint32_t nxs, GlowValue **parts) {
  GlowDerivatives what = {
      .ys = ys, .seeds = weights, .nys = count, .xs = xs, .nxs = nxs, .results = parts};
  if (!glow_differentiate(b, &what))
    return false;
  for (uint32_t i = 0; i < nxs; i++) {
    parts[i] = parts[i] ? parts[i] : glow_grad_filled(b, xs[i], 0);
    if (!parts[i])
      return false;
  }
  return true;
}

static bool save_all(GlowBuilder *b, char letter, GlowValue *const *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!save(b, letter, i, values[i]))
      return false;
  return true;
}

/* Adds the derivatives of ys, and Saves. */
static bool extend(Derived *d, GlowValue *const *ys, int order) {
  GlowModule *m = d->module;
  GlowBuilder b = glow_builder_at_end(d->entry->body);
  GlowValue *weights[MAX_RESULTS], *xs[MAX_VARIED + MAX_RESULTS];
  GlowValue *first[MAX_VARIED], *second[MAX_VARIED + MAX_RESULTS], *directions[MAX_VARIED];
  for (uint32_t i = 0; i < d->operands; i++)
    xs[i] = &glow_module_storage(m, numbered(m->ctx, 'x', i))->value;
  if (order == 0)
    return save_all(&b, 'y', ys, d->results);
  for (uint32_t r = 0; r < d->results; r++)
    xs[d->operands + r] = weights[r] = &placeholder(m, 'w', r, ys[r]->type)->value;
  if (!differentiate(&b, ys, weights, d->results, xs, d->operands, first))
    return false;
  if (order == 1)
    return save_all(&b, 'y', ys, d->results) && save_all(&b, 'g', first, d->operands);
  for (uint32_t i = 0; i < d->operands; i++)
    directions[i] = &placeholder(m, 'u', i, first[i]->type)->value;
  return differentiate(&b, first, directions, d->operands, xs, d->operands + d->results, second) &&
         save_all(&b, 'h', second, d->operands + d->results);
}

static bool parse(Derived *d, GlowContext *ctx, const Case *c, const GlowText *text) {
  *d = (Derived){.operands = c->nvaried};
  d->module = glow_module_parse(ctx, "case", text->data, text->size);
  if (!d->module || !glow_module_verify(d->module))
    return false;
  d->entry = glow_module_function(d->module, glow_str(ctx, "main"));
  d->last = d->entry->body->last;
  return true;
}

/* Differentiates those of the values that are real. */
static bool finish(Derived *d, GlowValue *const *values, uint32_t count, int order) {
  GlowValue *ys[MAX_RESULTS];
  for (uint32_t i = 0; i < count && d->results < MAX_RESULTS; i++)
    if (is_real(values[i]))
      ys[d->results++] = values[i];
  if (!extend(d, ys, order) || !glow_module_verify(d->module))
    return false;
  d->values = glow_values_create(d->module);
  return true;
}

static bool finish_last(Derived *d, int order) {
  GlowValue *results[MAX_RESULTS];
  uint32_t count = d->last->nresults < MAX_RESULTS ? d->last->nresults : MAX_RESULTS;
  for (uint32_t i = 0; i < count; i++)
    results[i] = &d->last->results[i];
  return finish(d, results, count, order);
}

bool derived_begin(Derived *d, GlowContext *ctx, const Case *c, int order) {
  return parse(d, ctx, c, &c->module) && finish_last(d, order);
}

bool derived_begin_kind(Derived *d, GlowContext *ctx, const Case *c, const char *kind) {
  GlowText text, *kept = glow_arena_alloc(ctx->arena, sizeof text);
  const char *from = c->module.data, *next;
  glow_text_init(&text, ctx);
  for (; (next = strstr(from, "double")); from = next + strlen("double")) {
    glow_text_bytes(&text, from, (size_t)(next - from));
    glow_text_puts(&text, kind);
  }
  glow_text_puts(&text, from);
  /* What is parsed must outlive the context's diagnostics. */
  char *copy = glow_arena_alloc(ctx->arena, text.size + 1);
  memcpy(copy, glow_text_cstr(&text), text.size + 1);
  *kept = (GlowText){.ctx = ctx, .data = copy, .size = text.size};
  glow_text_release(&text);
  return parse(d, ctx, c, kept) && finish_last(d, 1);
}

bool derived_begin_lowered(Derived *d, GlowContext *ctx, const Case *c) {
  GlowValue *results[MAX_RESULTS] = {NULL};
  if (!parse(d, ctx, c, &c->module) || !glow_lower_hooks[d->last->op] ||
      d->last->nresults > MAX_RESULTS || glow_node_desc(d->last)->has_scalar)
    return false;
  GlowBuilder b = glow_builder_at_end(d->entry->body);
  return glow_lower_hooks[d->last->op](&b, d->last, results) &&
         finish(d, results, d->last->nresults, 1);
}

/* Replaces the nodes of a block by primitives, as -lower=all does. */
static bool lower_block(GlowContext *ctx, GlowBlock *block) {
  for (GlowNode *n = block->last, *before; n; n = before) {
    GlowBuilder b = glow_builder_before(n);
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !lower_block(ctx, n->regions[i]))
        return false;
    before = n->prev;
    if (!glow_lower_hooks[n->op])
      continue;
    GlowValue **results = GLOW_NEW_ARRAY(ctx->arena, GlowValue *, n->nresults + 1);
    if (!glow_lower_hooks[n->op](&b, n, results))
      return false;
    before = n->prev;
    glow_node_replace(n, results, n->nresults);
  }
  return true;
}

bool derived_begin_primitive(Derived *d, GlowContext *ctx, const Case *c) {
  GlowValue *results[MAX_RESULTS] = {NULL};
  if (!parse(d, ctx, c, &c->module) || d->last->nresults > MAX_RESULTS)
    return false;
  uint32_t count = d->last->nresults;
  for (uint32_t i = 0; i < count; i++)
    results[i] = &d->last->results[i];
  GlowNode *end = glow_build_terminator(d->entry->body, GLOW_OP_RETURN, results, count);
  if (!lower_block(ctx, d->entry->body))
    return false;
  for (uint32_t i = 0; i < count; i++)
    results[i] = end->operands[i].value;
  glow_node_remove(end);
  return finish(d, results, count, 1);
}

bool derived_run(const Derived *d, const GlowBindings *inputs, GlowBindings *outputs) {
  bindings_release(outputs);
  return glow_interp_run(d->entry, inputs, outputs, &(GlowRunOptions){.values = d->values}) ==
         GLOW_OK;
}

void derived_end(Derived *d) {
  glow_values_destroy(d->values);
  if (d->module)
    glow_module_destroy(d->module);
}

void bindings_release(GlowBindings *b) {
  for (uint32_t i = 0; i < b->count; i++)
    glow_tensor_free(b->data[i].tensor);
  b->count = 0;
}

GlowTensor *bindings_get(GlowContext *ctx, const GlowBindings *b, char letter, uint32_t i) {
  return glow_bindings_find(b, numbered(ctx, letter, i));
}
