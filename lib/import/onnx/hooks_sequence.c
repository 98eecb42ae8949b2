/* Sequences, optionals and strings. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/subgraph.h"

bool glow_onnx_sequence_empty(GlowOnnxNode *n) {
  GlowKind kind = GLOW_KIND_FLOAT;
  if (!glow_onnx_kind(n, "dtype", &kind))
    return false;
  GlowSequenceEmptyMembers m = {.elem = glow_type_unranked(n->im->ctx, kind)};
  return glow_onnx_finish(n, GLOW_OP_SEQUENCE_EMPTY, NULL, 0, &m, NULL, 0);
}

bool glow_onnx_optional(GlowOnnxNode *n) {
  GlowOptionalMembers m = {0};
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, "type", GLOW_ONNX_ATTR_TYPE, &a, &attr))
    return false;
  if (attr) {
    m.elem = glow_onnx_read_type(n->im, a.tp, n->loc, "attribute 'type'");
    if (!m.elem)
      return false;
  }
  if (!attr && n->nins == 0)
    return glow_onnx_fail(n, "neither an operand nor a type");
  return glow_onnx_finish(n, GLOW_OP_OPTIONAL, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_optional_has_element(GlowOnnxNode *n) {
  if (n->nins)
    return glow_onnx_finish(n, GLOW_OP_OPTIONAL_HAS_ELEMENT, n->ins, n->nins, NULL, NULL, 0);
  if (n->nouts != 1)
    return glow_onnx_fail(n, "%u results where there is 1", n->nouts);
  n->results[0] = glow_onnx_make_scalar(n, "absent", GLOW_KIND_BOOL, 0);
  return true;
}

bool glow_onnx_string_normalizer(GlowOnnxNode *n) {
  GlowStringNormalizerMembers m = {.action = GLOW_CASE_ACTION_NONE};
  GlowStr locale = NULL;
  if (!glow_onnx_check_ins(n, 1, 1) ||
      !glow_onnx_enum(n, &glow_enum_case_action, "case_change_action", &m.action) ||
      !glow_onnx_bool(n, "is_case_sensitive", &m.case_sensitive) ||
      !glow_onnx_strings(n, "stopwords", &m.stopwords) || !glow_onnx_string(n, "locale", &locale))
    return false;
  if (locale && *locale && strncmp(locale, "en_US", 5) != 0 && strcmp(locale, "C") != 0)
    return glow_onnx_unsupported(n, "locale '%s'", locale);
  return glow_onnx_finish1(n, GLOW_OP_STRING_NORMALIZER, n->ins[0], &m);
}

/* ---- SequenceMap ---------------------------------------------------------------------------- */

/* The inputs of the subgraph in iteration i: elements of sequences, other operands as they are. */
static bool bind_elements(GlowOnnxNode *n, GlowOnnxSubgraph *r, GlowValue *i) {
  if (r->graph.inputs.count != n->nins)
    return glow_onnx_fail(n, "the subgraph has %u inputs, expected %u", r->graph.inputs.count,
                          n->nins);
  GlowWireIter at = {0};
  while (glow_wire_each(&n->im->file, &r->graph.inputs, &at)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&n->im->file, &glow_onnx_msg_value_info, at.span, &info);
    GlowValue *v = n->ins[at.index];
    if (v->type->cls == GLOW_TYPE_SEQ)
      v = glow_onnx_emit2(n, GLOW_OP_SEQUENCE_AT, v, i, NULL);
    if (!v || !glow_onnx_define(n->im, r->scope, glow_wire_str(&n->im->file, info.name), v, n->loc))
      return false;
  }
  return true;
}

/* The body of the loop. It carries a sequence for each output of the subgraph, and appends the
 * output to it. The types of the sequences are known only once the subgraph is read. */
static bool map_body(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t count) {
  GlowContext *ctx = n->im->ctx;
  GlowBlock *block = r->r->block;
  GlowValue *i = glow_block_add_param(block, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  GlowValue *more = glow_block_add_param(block, NULL, glow_type_scalar(ctx, GLOW_KIND_BOOL));
  const GlowType *any = glow_type_seq(ctx, glow_type_unranked(ctx, GLOW_KIND_FLOAT), -1);
  GlowValue **yields = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, count + 1);
  for (uint32_t k = 0; k < count; k++)
    glow_block_add_param(block, NULL, any);
  GlowBuilder inside = n->b;
  if (!bind_elements(n, r, i) || !glow_onnx_close_region(n, r, count, false))
    return false;
  n->b = inside;
  yields[0] = more;
  for (uint32_t k = 0; k < count; k++) {
    GlowValue *s = block->params[2 + k];
    s->type = glow_type_seq(ctx, r->yields[k]->type, -1);
    yields[1 + k] = glow_onnx_emit2(n, GLOW_OP_SEQUENCE_INSERT, s, r->yields[k], NULL);
    if (!yields[1 + k])
      return false;
  }
  n->b = r->saved;
  r->yields = yields;
  r->nyields = count + 1;
  return true;
}

/* A loop over the elements of the first operand, as the function in ONNX's definition has it. */
bool glow_onnx_sequence_map(GlowOnnxNode *n) {
  uint32_t count = n->proto.outputs.count;
  if (n->nins == 0 || !glow_onnx_check_ins(n, n->nins, n->nins))
    return n->nins > 0 ? false : glow_onnx_fail(n, "there are no operands");
  if (n->ins[0]->type->cls != GLOW_TYPE_SEQ)
    return glow_onnx_fail(n, "operand 0 is %s, expected a sequence",
                          glow_type_str(n->im->ctx, n->ins[0]->type));
  GlowOnnxSubgraph r;
  if (!glow_onnx_open_region(n, "body", "body", GLOW_ONNX_REGION_LOOP, 0, &r))
    return false;
  if (!map_body(n, &r, count))
    return glow_onnx_leave_region(n, &r);
  glow_onnx_end_region(n, &r, count + 1);
  uint32_t nstates = r.r->states.count;
  GlowValue **ins = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, 2 + count + nstates);
  ins[0] = glow_onnx_emit1(n, GLOW_OP_SEQUENCE_LENGTH, n->ins[0], NULL);
  for (uint32_t k = 0; k < count; k++) {
    GlowSequenceEmptyMembers m = {.elem = r.r->block->params[2 + k]->type->elem};
    ins[2 + k] = glow_onnx_emit(n, GLOW_OP_SEQUENCE_EMPTY, NULL, 0, &m);
    if (!ins[2 + k])
      return false;
  }
  for (uint32_t k = 0; k < nstates; k++)
    ins[2 + count + k] = r.r->states.data[k].outer;
  return ins[0] && glow_onnx_finish_regions(n, GLOW_OP_LOOP, ins, 2 + count + nstates, NULL,
                                            &r.r->block, 1, count, r.r);
}
