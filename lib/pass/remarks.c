/* Remarks of passes: on stderr for the passes that a regular expression names, and all of those as
 * lines of JSON in a file:
 *
 *   {"pass": "fold-bn", "rewrite": true, "text": "folded 2 steps into %c", "function": "main",
 *    "node": "c", "operator": "Convolution", "file": "m.onnx", "at": "conv1"}
 *
 * "at" is the node of an imported model, or "line" and "column" say the place in a text. */
#include "pass/remarks.h"

#include <stdlib.h>

#include "pass/pass_internal.h"
#include "support/file.h"
#include "support/json.h"

struct GlowRemarks {
  GlowContext *ctx;
  const GlowRunnerOptions *options;
  bool filters;
  regex_t filter;
  bool remarks_before; /* ctx->remarks before the run */
  GlowText json;
};

bool glow_remarks_compile(GlowContext *ctx, const char *value, regex_t *filter) {
  int error = regcomp(filter, value, REG_EXTENDED | REG_NOSUB);
  if (!error)
    return true;
  char message[200];
  regerror(error, filter, message, sizeof message);
  glow_error(ctx, GLOW_NOWHERE, "-remarks=%s: this is no regular expression: %s", value, message);
  return false;
}

bool glow_remarks_wanted(GlowContext *ctx, const char *value, const char *name, bool *wanted) {
  regex_t filter;
  *wanted = true;
  if (!*value)
    return true;
  if (!glow_remarks_compile(ctx, value, &filter))
    return false;
  *wanted = regexec(&filter, name, 0, NULL, 0) == 0;
  regfree(&filter);
  return true;
}

bool glow_remarks_begin(GlowContext *ctx, const GlowRunnerOptions *o, GlowRemarks **remarks) {
  *remarks = NULL;
  if (!o->remarks && !o->remarks_output)
    return true;
  GlowRemarks *r = GLOW_NEW(ctx->arena, GlowRemarks);
  *r = (GlowRemarks){.ctx = ctx, .options = o, .remarks_before = ctx->remarks};
  if (o->remarks && *o->remarks) {
    if (!glow_remarks_compile(ctx, o->remarks, &r->filter))
      return false;
    r->filters = true;
  }
  glow_text_init(&r->json, ctx);
  ctx->remarks = o->remarks != NULL;
  *remarks = r;
  return true;
}

static void put_field(GlowText *out, const char *key, const char *value) {
  if (!value)
    return;
  glow_text_printf(out, ", \"%s\": ", key);
  glow_json_string(out, value, strlen(value));
}

static void put_json(GlowText *out, const GlowPassRun *run, const GlowNode *n, GlowLoc loc,
                     bool rewrite, const char *text) {
  const GlowFunction *f = run->function ? run->function : n ? glow_block_function(n->block) : NULL;
  glow_text_puts(out, "{\"pass\": ");
  glow_json_string(out, run->pass->name, strlen(run->pass->name));
  glow_text_printf(out, ", \"rewrite\": %s", rewrite ? "true" : "false");
  put_field(out, "text", text);
  put_field(out, "function", f ? f->name : NULL);
  if (n) {
    put_field(out, "node", n->nresults ? n->results[0].name : NULL);
    const GlowOpDesc *d = glow_node_desc(n);
    put_field(out, "operator", n->block->level == GLOW_LEVEL_GRAPH ? d->node : d->instr);
  }
  put_field(out, "file", loc.file);
  put_field(out, "at", loc.node);
  if (loc.line)
    glow_text_printf(out, ", \"line\": %u, \"column\": %u", loc.line, loc.col);
  glow_text_puts(out, "}\n");
}

void glow_remarks_take(GlowPassRun *run, const GlowNode *n, GlowLoc loc, bool rewrite,
                       const char *text) {
  GlowRemarks *r = run->remarks;
  if (r->filters && regexec(&r->filter, run->pass->name, 0, NULL, 0) != 0)
    return;
  if (r->options->remarks_output)
    put_json(&r->json, run, n, loc, rewrite, text);
  glow_remark(r->ctx, loc, "%s: %s", run->pass->name, text);
}

bool glow_remarks_end(GlowRemarks *r) {
  if (!r || !r->options->remarks_output)
    return true;
  GlowBytes bytes = {r->json.data, r->json.size};
  return glow_output_write(r->ctx, r->options->remarks_output, &bytes, 1);
}

void glow_remarks_release(void *remarks) {
  GlowRemarks *r = remarks;
  if (!r)
    return;
  r->ctx->remarks = r->remarks_before;
  glow_text_release(&r->json);
  if (r->filters)
    regfree(&r->filter);
}
