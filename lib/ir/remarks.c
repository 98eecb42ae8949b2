/* Remarks. Those of the wanted speakers go to stderr, and to a file as lines of JSON:
 *
 *   {"pass": "fold-bn", "rewrite": true, "text": "folded 2 steps into %c", "function": "main",
 *    "node": "c", "operator": "Convolution", "file": "m.onnx", "at": "conv1"}
 *
 * "at" is the name of the node in an imported model. For a text, "line" and "column" give the place
 * instead. */
#include "ir/remarks.h"

#include <regex.h>
#include <stdarg.h>

#include "support/diag.h"
#include "support/file.h"
#include "support/json.h"

struct GlowRemarks {
  GlowContext *ctx;
  const GlowRemarkFlags *flags;
  bool filters;
  regex_t filter;
  bool shown_before; /* ctx->remarks, to be restored */
  GlowText json;
  GlowDefer release;
};

static void release_remarks(void *remarks) {
  struct GlowRemarks *r = remarks;
  r->ctx->remarks = r->shown_before;
  r->ctx->listener = NULL;
  glow_text_release(&r->json);
  if (r->filters)
    regfree(&r->filter);
}

static bool compile(GlowContext *ctx, const char *value, regex_t *filter) {
  int error = regcomp(filter, value, REG_EXTENDED | REG_NOSUB);
  if (!error)
    return true;
  char message[200];
  regerror(error, filter, message, sizeof message);
  glow_error(ctx, GLOW_NOWHERE, "-remarks=%s: this is no regular expression: %s", value, message);
  return false;
}

bool glow_remarks_begin(GlowContext *ctx, const GlowRemarkFlags *flags) {
  if (!flags->speakers && !flags->output)
    return true;
  struct GlowRemarks *r = GLOW_NEW(ctx->arena, struct GlowRemarks);
  *r = (struct GlowRemarks){.ctx = ctx, .flags = flags, .shown_before = ctx->remarks};
  if (flags->speakers && *flags->speakers && !compile(ctx, flags->speakers, &r->filter))
    return false;
  r->filters = flags->speakers && *flags->speakers;
  glow_text_init(&r->json, ctx);
  ctx->remarks = flags->speakers != NULL;
  ctx->listener = r;
  glow_defer_push(ctx, &r->release, release_remarks, r);
  return true;
}

GlowStatus glow_remarks_end(GlowContext *ctx, GlowStatus status) {
  struct GlowRemarks *r = ctx->listener;
  if (!r)
    return status;
  GlowBytes bytes = {r->json.data, r->json.size};
  bool ok = !r->flags->output || glow_output_write(ctx, r->flags->output, &bytes, 1);
  glow_defer_pop(ctx, &r->release, true);
  return status == GLOW_OK && !ok ? GLOW_IO : status;
}

static void put_field(GlowText *out, const char *key, const char *value) {
  if (!value)
    return;
  glow_text_printf(out, ", \"%s\": ", key);
  glow_json_string(out, value, strlen(value));
}

static void put_json(GlowText *out, const GlowRemark *r) {
  const GlowNode *n = r->node;
  const GlowFunction *f = r->function ? r->function : n ? glow_block_function(n->block) : NULL;
  glow_text_puts(out, "{\"pass\": ");
  glow_json_string(out, r->speaker, strlen(r->speaker));
  glow_text_printf(out, ", \"rewrite\": %s", r->rewrite ? "true" : "false");
  put_field(out, "text", r->text);
  put_field(out, "function", f ? f->name : NULL);
  if (n) {
    put_field(out, "node", n->nresults ? n->results[0].name : NULL);
    const GlowOpDesc *d = glow_node_desc(n);
    put_field(out, "operator", n->block->level == GLOW_LEVEL_GRAPH ? d->node : d->instr);
  }
  put_field(out, "file", r->loc.file);
  put_field(out, "at", r->loc.node);
  if (r->loc.line)
    glow_text_printf(out, ", \"line\": %u, \"column\": %u", r->loc.line, r->loc.col);
  glow_text_puts(out, "}\n");
}

bool glow_remarks_heard(const GlowContext *ctx) { return ctx->remarks || ctx->listener; }

void glow_remarks_take(GlowContext *ctx, const GlowRemark *r) {
  struct GlowRemarks *listener = ctx->listener;
  if (listener && listener->filters && regexec(&listener->filter, r->speaker, 0, NULL, 0) != 0)
    return;
  if (listener && listener->flags->output)
    put_json(&listener->json, r);
  glow_remark(ctx, r->loc, "%s: %s", r->speaker, r->text);
}

void glow_codegen_remark(const GlowNode *n, const char *format, ...) {
  const GlowFunction *f = glow_block_function(n->block);
  GlowContext *ctx = f->module->ctx;
  if (!glow_remarks_heard(ctx))
    return;
  GlowText t;
  GlowDefer release;
  va_list args;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  va_start(args, format);
  glow_text_vprintf(&t, format, args);
  va_end(args);
  glow_remarks_take(ctx, &(GlowRemark){.speaker = "codegen",
                                       .node = n,
                                       .loc = glow_node_loc(n),
                                       .text = glow_text_cstr(&t)});
  glow_defer_pop(ctx, &release, true);
}
