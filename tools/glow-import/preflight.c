/* The pre-flight report: gathered once, written as text or as JSON.
 *
 * Operators come from the importer; parameters and element kinds from the module as far as it could
 * be read; multiply-accumulates and the peak of activations from the module after shape arithmetic
 * is folded and operators are lowered, with buffers in text order and none shared. */
#include "tools/glow-import/preflight.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/cost.h"
#include "driver/passes.h"
#include "support/file.h"
#include "support/json.h"

typedef struct Report {
  GlowContext *ctx;
  GlowModule *m;
  GlowOnnxUses uses;
  size_t nodes;
  size_t kinds[GLOW_KIND_COUNT];        /* values of each element kind */
  GLOW_VEC(GlowStr) symbols;            /* open dimensions of inputs */
  int64_t constants, parameters, bytes; /* bytes as stored */
  int64_t input_bytes, output_bytes;    /* of closed types */
  GlowCost cost;
  bool costed; /* every node could be read */
} Report;

static const char *const support_names[] = {"native", "lowered", "reference kernel",
                                            "graph interpreter", "unsupported"};

/* ---- Gathering ------------------------------------------------------------------------------- */

static void count_kind(Report *r, const GlowType *t) {
  while (t->cls == GLOW_TYPE_SEQ || t->cls == GLOW_TYPE_OPT)
    t = t->elem;
  if (t->cls == GLOW_TYPE_TENSOR)
    r->kinds[t->kind]++;
}

static bool count_results(GlowNode *n, void *arg) {
  for (uint32_t i = 0; i < n->nresults; i++)
    count_kind(arg, n->results[i].type);
  return true;
}

static void collect_symbols(Report *r, const GlowType *t) {
  for (uint32_t i = 0; t->cls == GLOW_TYPE_TENSOR && i < t->rank; i++) {
    bool known = t->dims[i].kind != GLOW_DIM_SYMBOL || t->dims[i].extent;
    for (uint32_t k = 0; k < r->symbols.count && !known; k++)
      known = r->symbols.data[k] == t->dims[i].symbol;
    if (!known)
      glow_vec_push(r->ctx->arena, &r->symbols, t->dims[i].symbol);
  }
}

static bool is_written(const GlowStorage *s) {
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    if (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE])
      return true;
  return false;
}

static int64_t static_bytes(const GlowType *t) {
  return t && glow_type_is_tensor(t) && glow_type_is_static(t) ? glow_type_bytes(t) : 0;
}

static void gather_storage(Report *r, const GlowStorage *s) {
  const GlowType *t = s->value.type;
  count_kind(r, t);
  if (s->cls == GLOW_CONSTANT) {
    r->constants++;
    r->parameters += glow_type_elements(t);
    r->bytes += static_bytes(t);
  } else if (s->cls == GLOW_PLACEHOLDER) {
    collect_symbols(r, t);
  }
}

/* Of types as they are after folding, which closes some. */
static void gather_bytes(Report *r) {
  for (const GlowStorage *s = r->m->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER)
      *(is_written(s) ? &r->output_bytes : &r->input_bytes) += static_bytes(s->value.type);
  for (uint32_t i = 0; i < r->uses.lost.count; i++)
    r->output_bytes += static_bytes(r->uses.lost.data[i].type);
}

/* False after a diagnostic: a pass failed. */
static bool gather_cost(Report *r) {
  GlowPipeline *p = glow_pipeline_parse(
      r->ctx, &glow_passes, r->symbols.count ? "dce" : "constant-fold,lower,constant-fold,dce");
  if (!glow_module_verify(r->m) || glow_pipeline_run(r->m, p, &(GlowRunnerOptions){0}) != GLOW_OK)
    return false;
  r->cost = glow_function_cost(r->m->first_function);
  r->costed = true;
  return true;
}

static bool gather(Report *r) {
  for (uint32_t i = 0; i < r->uses.list.count; i++)
    r->nodes += r->uses.list.data[i]->count;
  for (const GlowStorage *s = r->m->first_storage; s; s = s->next)
    gather_storage(r, s);
  glow_block_walk(r->m->first_function->body, count_results, r);
  if (r->uses.unread == 0 && !gather_cost(r))
    return false;
  gather_bytes(r);
  return true;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_placeholders(GlowText *out, const Report *r, bool written) {
  for (const GlowStorage *s = r->m->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER && is_written(s) == written)
      glow_text_printf(out, "%-17s%s : %s\n", written ? "output" : "input", s->value.name,
                       glow_type_str(r->ctx, s->value.type));
}

static void put_lost_outputs(GlowText *out, const Report *r) {
  for (uint32_t i = 0; i < r->uses.lost.count; i++) {
    const GlowOnnxLostOutput *lost = &r->uses.lost.data[i];
    glow_text_printf(out, "%-17s%s : %s (cannot be computed)\n", "output", lost->name,
                     lost->type ? glow_type_str(r->ctx, lost->type) : "of unknown type");
  }
}

static void put_operators(GlowText *out, const Report *r) {
  glow_text_printf(out, "\n%-32s %7s %7s  %s\n", "operator", "version", "nodes", "support");
  for (uint32_t i = 0; i < r->uses.list.count; i++) {
    const GlowOnnxUse *u = r->uses.list.data[i];
    const char *name =
        *u->domain ? glow_arena_printf(r->ctx->arena, "%s.%s", u->domain, u->op) : u->op;
    const char *version = u->version ? glow_arena_printf(r->ctx->arena, "%u", u->version) : "-";
    glow_text_printf(out, "%-32s %7s %7zu  %s\n", name, version, u->count,
                     support_names[glow_onnx_support(u)]);
    if (u->unread)
      glow_text_printf(out, "    %zu of them, first '%s': %s\n", u->unread, u->first, u->why);
  }
}

static void put_text(GlowText *out, const Report *r) {
  put_placeholders(out, r, false);
  put_placeholders(out, r, true);
  put_lost_outputs(out, r);
  glow_text_printf(out, "%-17s", "open dimensions");
  for (uint32_t i = 0; i < r->symbols.count; i++)
    glow_text_printf(out, "%s$%s", i ? ", " : "", r->symbols.data[i]);
  glow_text_puts(out, r->symbols.count ? " (bind with -bind=NAME=EXTENT)\n" : "none\n");
  glow_text_printf(out, "%-17s", "element types");
  bool first = true;
  for (int k = 0; k < GLOW_KIND_COUNT; k++)
    if (r->kinds[k]) {
      glow_text_printf(out, "%s%s (%zu)", first ? "" : ", ", glow_kind_info[k].name, r->kinds[k]);
      first = false;
    }
  glow_text_printf(out, "\n%-17s%" PRId64 " in %" PRId64 " constants, %" PRId64 " bytes\n",
                   "parameters", r->parameters, r->constants, r->bytes);
  if (r->costed)
    glow_text_printf(out, "%-17s%s%" PRId64 "\n%-17s%s%" PRId64 " bytes\n", "multiply-adds",
                     r->cost.open ? "at least " : "", r->cost.macs, "peak activations",
                     r->cost.open ? "at least " : "", r->cost.peak_bytes);
  else
    glow_text_puts(out, "multiply-adds    not known: some nodes cannot be read\n"
                        "peak activations not known: some nodes cannot be read\n");
  put_operators(out, r);
  glow_text_printf(out, "\n%zu nodes, %zu unsupported\n", r->nodes, r->uses.unread);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_str(GlowText *out, const char *key, const char *value) {
  glow_json_string(out, key, strlen(key));
  glow_text_puts(out, ": ");
  glow_json_string(out, value, strlen(value));
}

static void json_placeholder(GlowText *out, const Report *r, bool first, GlowStr name,
                             const GlowType *type) {
  glow_text_puts(out, first ? "\n    {" : ",\n    {");
  json_str(out, "name", name);
  glow_text_puts(out, ", ");
  if (type)
    json_str(out, "type", glow_type_str(r->ctx, type));
  else
    glow_text_puts(out, "\"type\": null");
  glow_text_putc(out, '}');
}

static void json_placeholders(GlowText *out, const Report *r, const char *key, bool written) {
  bool first = true;
  glow_text_printf(out, "  \"%s\": [", key);
  for (const GlowStorage *s = r->m->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER && is_written(s) == written) {
      json_placeholder(out, r, first, s->value.name, s->value.type);
      first = false;
    }
  for (uint32_t i = 0; i < (written ? r->uses.lost.count : 0); i++) {
    json_placeholder(out, r, first, r->uses.lost.data[i].name, r->uses.lost.data[i].type);
    first = false;
  }
  glow_text_puts(out, first ? "],\n" : "\n  ],\n");
}

static void json_operators(GlowText *out, const Report *r) {
  glow_text_puts(out, "  \"operators\": [");
  for (uint32_t i = 0; i < r->uses.list.count; i++) {
    const GlowOnnxUse *u = r->uses.list.data[i];
    glow_text_puts(out, i ? ",\n    {" : "\n    {");
    json_str(out, "domain", u->domain);
    glow_text_puts(out, ", ");
    json_str(out, "operator", u->op);
    glow_text_printf(out, ", \"version\": %u, \"nodes\": %zu, ", u->version, u->count);
    json_str(out, "support", support_names[glow_onnx_support(u)]);
    if (u->unread) {
      glow_text_printf(out, ", \"unsupported_nodes\": %zu, ", u->unread);
      json_str(out, "first", u->first);
      glow_text_puts(out, ", ");
      json_str(out, "why", u->why);
    }
    glow_text_putc(out, '}');
  }
  glow_text_puts(out, r->uses.list.count ? "\n  ],\n" : "],\n");
}

static void put_json(GlowText *out, const Report *r) {
  glow_text_puts(out, "{\n");
  json_placeholders(out, r, "inputs", false);
  json_placeholders(out, r, "outputs", true);
  glow_text_puts(out, "  \"open_dimensions\": [");
  for (uint32_t i = 0; i < r->symbols.count; i++) {
    glow_text_puts(out, i ? ", " : "");
    glow_json_string(out, r->symbols.data[i], strlen(r->symbols.data[i]));
  }
  glow_text_puts(out, "],\n  \"element_types\": {");
  bool first = true;
  for (int k = 0; k < GLOW_KIND_COUNT; k++)
    if (r->kinds[k]) {
      glow_text_printf(out, "%s\"%s\": %zu", first ? "" : ", ", glow_kind_info[k].name,
                       r->kinds[k]);
      first = false;
    }
  glow_text_printf(out,
                   "},\n  \"constants\": %" PRId64 ",\n  \"parameters\": %" PRId64
                   ",\n  \"parameter_bytes\": %" PRId64 ",\n  \"input_bytes\": %" PRId64
                   ",\n  \"output_bytes\": %" PRId64 ",\n",
                   r->constants, r->parameters, r->bytes, r->input_bytes, r->output_bytes);
  if (r->costed)
    glow_text_printf(out,
                     "  \"multiply_adds\": %" PRId64 ",\n  \"peak_activation_bytes\": %" PRId64
                     ",\n  \"lower_bounds_only\": %s,\n",
                     r->cost.macs, r->cost.peak_bytes, r->cost.open ? "true" : "false");
  else
    glow_text_puts(out, "  \"multiply_adds\": null,\n  \"peak_activation_bytes\": null,\n"
                        "  \"lower_bounds_only\": null,\n");
  json_operators(out, r);
  glow_text_printf(out, "  \"nodes\": %zu,\n  \"unsupported\": %zu\n}\n", r->nodes, r->uses.unread);
}

GlowStatus glow_import_preflight(GlowContext *ctx, const GlowInput *in, const GlowOnnxOptions *o,
                                 const char *path, bool json) {
  Report r = {.ctx = ctx};
  r.m = glow_onnx_preflight(ctx, in, o, &r.uses);
  if (!r.m || !gather(&r))
    return GLOW_BAD_INPUT;
  GlowText out;
  GlowDefer release;
  glow_text_init(&out, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &out);
  (json ? put_json : put_text)(&out, &r);
  GlowBytes bytes = {out.data, out.size};
  bool ok = glow_output_write(ctx, path, &bytes, 1);
  glow_defer_pop(ctx, &release, true);
  return !ok ? GLOW_IO : r.uses.unread ? GLOW_BAD_INPUT : GLOW_OK;
}
