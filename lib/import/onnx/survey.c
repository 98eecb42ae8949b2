/* Which row of onnx.map reads an operator, and the survey of a model for those that none reads.
 * Everything that is not supported is collected, whether the survey or a hook finds it, and
 * reported together at the end of the import. */
#include <string.h>

#include "import/onnx/importer.h"

/* ---- Operator sets -------------------------------------------------------------------------- */

GlowStr glow_onnx_domain(GlowOnnxImporter *im, GlowWireSpan domain) {
  return glow_wire_is(&im->file, domain, "ai.onnx") ? glow_str(im->ctx, "")
                                                    : glow_wire_str(&im->file, domain);
}

static const GlowOnnxDomain *known_domain(GlowStr name) {
  for (uint32_t i = 0; i < glow_onnx_ndomains; i++)
    if (strcmp(glow_onnx_domains[i].name, name) == 0)
      return &glow_onnx_domains[i];
  return NULL;
}

GlowMap *glow_onnx_opsets(GlowOnnxImporter *im, const GlowWireList *imports, GlowLoc loc) {
  GlowMap *opsets = glow_map_create(im->arena);
  GlowWireIter i = {0};
  bool ok = true;
  while (!im->ctx->too_many_errors && glow_wire_each(&im->file, imports, &i)) {
    GlowOnnxOpset set;
    glow_wire_read(&im->file, &glow_onnx_msg_opset, i.span, &set);
    GlowStr name = glow_onnx_domain(im, set.domain);
    const GlowOnnxDomain *domain = known_domain(name);
    if (set.version.v < 1 || set.version.v > INT32_MAX) {
      glow_error(im->ctx, loc, "at byte %zu: operator set %lld of domain '%s'", i.span.at,
                 (long long)set.version.v, *name ? name : "ai.onnx");
      ok = false;
    } else if (domain && set.version.v > domain->newest) {
      glow_error(im->ctx, loc,
                 "unsupported: operator set %lld of domain '%s'; the newest one known is %u",
                 (long long)set.version.v, *name ? name : "ai.onnx", domain->newest);
      ok = false;
    } else {
      glow_map_set(opsets, name, (void *)(uintptr_t)set.version.v);
    }
  }
  GlowStr standard = glow_str(im->ctx, "");
  if (!imports->count && im->model.ir_version.v < 3) /* imports came with IR version 3 */
    glow_map_set(opsets, standard, (void *)(uintptr_t)1);
  return ok ? opsets : NULL;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static void index_rows(GlowOnnxImporter *im) {
  im->rows = glow_map_create(im->arena);
  im->next_row = GLOW_NEW_ARRAY(im->arena, uint32_t, glow_onnx_nrows);
  for (uint32_t i = glow_onnx_nrows; i-- > 0;) {
    GlowStr op = glow_str(im->ctx, glow_onnx_rows[i].op);
    im->next_row[i] = (uint32_t)(uintptr_t)glow_map_get(im->rows, op);
    glow_map_set(im->rows, op, (void *)(uintptr_t)(i + 1));
  }
}

const GlowOnnxRow *glow_onnx_row(GlowOnnxImporter *im, const GlowMap *opsets, GlowStr domain,
                                 GlowStr op, uint16_t *version, GlowStr *why) {
  if (!im->rows)
    index_rows(im);
  uintptr_t opset = (uintptr_t)glow_map_get(opsets, domain);
  const GlowOnnxRow *best = NULL;
  *version = 0;
  *why = glow_str(im->ctx, "no operator of this name is known");
  for (uint32_t i = (uint32_t)(uintptr_t)glow_map_get(im->rows, op); i; i = im->next_row[i - 1]) {
    const GlowOnnxRow *row = &glow_onnx_rows[i - 1];
    if (strcmp(row->domain, domain) != 0)
      continue;
    *why = glow_str_printf(im->ctx, "it is not defined in operator set %u", (unsigned)opset);
    for (uint32_t v = 0; v < row->nversions; v++)
      if (row->versions[v] <= opset && row->versions[v] > *version) {
        *version = row->versions[v];
        best = row;
      }
  }
  if (!opset)
    *why = glow_str(im->ctx, "the model does not say which operator set of this domain it uses");
  if (best && best->rule == GLOW_ONNX_UNSUPPORTED)
    *why = glow_str(im->ctx, best->why);
  return best;
}

static GlowStr function_key(GlowOnnxImporter *im, GlowStr domain, GlowStr name, GlowStr overload) {
  return glow_str_printf(im->ctx, "%s:%s:%s", domain, name, overload);
}

void glow_onnx_index_functions(GlowOnnxImporter *im) {
  im->functions = glow_map_create(im->arena);
  im->visited = glow_map_create(im->arena);
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  GlowWireIter i = {0};
  while (!im->ctx->too_many_errors && glow_wire_each(&im->file, &im->model.functions, &i)) {
    GlowOnnxFunction *function = GLOW_NEW(im->arena, GlowOnnxFunction);
    glow_wire_read(&im->file, &glow_onnx_msg_function, i.span, function);
    GlowStr name = glow_wire_str(&im->file, function->name);
    GlowStr key = function_key(im, glow_onnx_domain(im, function->domain), name,
                               glow_wire_str(&im->file, function->overload));
    if (!*name)
      glow_error(im->ctx, loc, "at byte %zu: a function has no name", i.span.at);
    else if (glow_map_get(im->functions, key))
      glow_error(im->ctx, loc, "at byte %zu: two functions are called '%s'", i.span.at, name);
    else
      glow_map_set(im->functions, key, function);
  }
}

const GlowOnnxFunction *glow_onnx_local_function(GlowOnnxImporter *im, GlowStr domain, GlowStr name,
                                                 GlowStr overload) {
  return im->model.functions.count
             ? glow_map_get(im->functions, function_key(im, domain, name, overload))
             : NULL;
}

/* ---- What is not supported ------------------------------------------------------------------ */

void glow_onnx_gap(GlowOnnxImporter *im, GlowOnnxGap gap) {
  if (im->gaps.count == GLOW_MAX_GAPS) {
    im->unlisted += gap.count;
    return;
  }
  GlowStr key = glow_str_printf(im->ctx, "%s:%s:%u:%s", gap.domain, gap.op, gap.version, gap.why);
  uintptr_t index = (uintptr_t)glow_map_get(im->gap_index, key);
  if (index) {
    im->gaps.data[index - 1].count += gap.count;
    return;
  }
  glow_vec_push(im->arena, &im->gaps, gap);
  glow_map_set(im->gap_index, key, (void *)(uintptr_t)im->gaps.count);
}

void glow_onnx_report_gaps(GlowOnnxImporter *im) {
  size_t nodes = im->unlisted;
  for (uint32_t i = 0; i < im->gaps.count; i++)
    nodes += im->gaps.data[i].count;
  if (!nodes)
    return;
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  glow_error(im->ctx, loc, "unsupported: %zu node%s of this model cannot be read", nodes,
             nodes == 1 ? "" : "s");
  for (uint32_t i = 0; i < im->gaps.count; i++) {
    const GlowOnnxGap *g = &im->gaps.data[i];
    GlowStr version = g->version ? glow_str_printf(im->ctx, "-%u", g->version) : "";
    glow_note(im->ctx, loc, "unsupported: %s%s%s%s, %zu node%s, %s '%s': %s", g->domain,
              *g->domain ? "." : "", g->op, version, g->count, g->count == 1 ? "" : "s",
              g->count == 1 ? "called" : "the first", g->first, g->why);
  }
  if (im->unlisted)
    glow_note(im->ctx, loc, "unsupported: %zu more node%s", im->unlisted,
              im->unlisted == 1 ? "" : "s");
}

static void survey_attributes(GlowOnnxImporter *im, const GlowMap *opsets,
                              const GlowOnnxNodeProto *node, GlowStr prefix) {
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &node->attributes, &i)) {
    GlowOnnxAttribute a;
    glow_wire_read(&im->file, &glow_onnx_msg_attribute, i.span, &a);
    if (!a.g.at)
      continue;
    GlowOnnxGraph graph;
    glow_wire_read(&im->file, &glow_onnx_msg_graph, a.g, &graph);
    glow_onnx_survey(im, opsets, &graph.nodes, prefix);
  }
}

/* The body of a local function, once. */
static void survey_function(GlowOnnxImporter *im, const GlowOnnxFunction *function, GlowStr label) {
  if (glow_map_get(im->visited, function))
    return;
  glow_map_set(im->visited, function, im);
  const GlowMap *opsets =
      glow_onnx_opsets(im, &function->opset_import, glow_loc_file(im->ctx, im->file.name));
  if (opsets)
    glow_onnx_survey(im, opsets, &function->nodes, glow_str_printf(im->ctx, "%s/", label));
}

void glow_onnx_survey(GlowOnnxImporter *im, const GlowMap *opsets, const GlowWireList *nodes,
                      GlowStr prefix) {
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, nodes, &i)) {
    GlowOnnxNodeProto node;
    glow_wire_read(&im->file, &glow_onnx_msg_node, i.span, &node);
    GlowStr op = glow_wire_str(&im->file, node.op_type), why;
    GlowStr domain = glow_onnx_domain(im, node.domain);
    if (!*op)
      continue; /* an error when the node is read */
    const GlowOnnxFunction *function =
        glow_onnx_local_function(im, domain, op, glow_wire_str(&im->file, node.overload));
    uint16_t version;
    const GlowOnnxRow *row =
        function ? NULL : glow_onnx_row(im, opsets, domain, op, &version, &why);
    glow_onnx_count_use(im, domain, op, function ? 0 : version);
    if (!row || row->rule == GLOW_ONNX_UNSUPPORTED) {
      GlowStr label =
          glow_str_printf(im->ctx, "%s%s", prefix, glow_onnx_node_label(&im->file, &node, i.index));
      if (function)
        survey_function(im, function, label);
      else
        glow_onnx_gap(im, (GlowOnnxGap){domain, op, why, label, version, 1});
    }
    survey_attributes(im, opsets, &node, prefix);
  }
}
