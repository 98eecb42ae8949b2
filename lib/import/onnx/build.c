/* The building blocks of hooks: messages about a node, nodes with operands fitted to their ports,
 * constants. */
#include <stdarg.h>
#include <string.h>

#include "import/onnx/importer.h"

/* ---- Messages ------------------------------------------------------------------------------- */

/* The formatted text, in the context. */
static GlowStr message(const GlowOnnxNode *n, const char *format, va_list args) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, n->im->ctx);
  glow_defer_push(n->im->ctx, &release, glow_text_release_fn, &t);
  glow_text_vprintf(&t, format, args);
  GlowStr s = glow_str(n->im->ctx, glow_text_cstr(&t));
  glow_defer_pop(n->im->ctx, &release, true);
  return s;
}

bool glow_onnx_fail(GlowOnnxNode *n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  GlowStr text = message(n, format, args);
  va_end(args);
  glow_error(n->im->ctx, n->loc, "%s%s%s", n->op, *n->op ? ": " : "", text);
  return false;
}

bool glow_onnx_unsupported(GlowOnnxNode *n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  GlowStr why = message(n, format, args);
  va_end(args);
  glow_onnx_gap(n->im, (GlowOnnxGap){.domain = n->domain,
                                     .op = n->op,
                                     .version = n->version,
                                     .why = why,
                                     .first = n->label,
                                     .count = 1});
  return false;
}

bool glow_onnx_check_ins(GlowOnnxNode *n, uint32_t least, uint32_t most) {
  if (n->nins < least || n->nins > most)
    return glow_onnx_fail(n, "%u operands where %u to %u are expected", n->nins, least, most);
  for (uint32_t i = 0; i < least; i++)
    if (!n->ins[i])
      return glow_onnx_fail(n, "operand %u is missing", i);
  return true;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

GlowValue *glow_onnx_rank0(GlowOnnxNode *n, GlowValue *v) {
  if (!v || !glow_type_is_tensor(v->type) || (!v->type->unranked && v->type->rank == 0))
    return v;
  GlowValue *shape = glow_onnx_make_ints(n, "shape", NULL, 0);
  return glow_onnx_emit2(n, GLOW_OP_RESHAPE, v, shape, NULL);
}

GlowValue *glow_onnx_cast_to(GlowOnnxNode *n, GlowValue *v, GlowKind kind) {
  if (!v || !glow_type_is_tensor(v->type) || v->type->kind == kind)
    return v;
  return glow_onnx_emit1(n, GLOW_OP_CAST, v, &(GlowCastMembers){.to = kind});
}

/* 32-bit integers as 64-bit ones: constants at once, so that inference can read them. */
static GlowValue *widened(GlowOnnxNode *n, GlowValue *v) {
  const GlowTensor *known = glow_value_known(v);
  if (!known)
    return glow_onnx_cast_to(n, v, GLOW_KIND_I64);
  GlowTensor *t = GLOW_NEW(n->im->m->arena, GlowTensor);
  t->type = glow_type_with_kind(n->im->ctx, known->type, GLOW_KIND_I64);
  t->bytes = (size_t)glow_type_bytes(t->type);
  t->data = glow_arena_alloc(n->im->m->arena, t->bytes);
  for (int64_t i = 0; i < glow_tensor_elements(known); i++)
    ((int64_t *)t->data)[i] = glow_tensor_get_int(known, i);
  GlowStr name =
      v->name ? glow_str_printf(n->im->ctx, "%.4000s.i64", v->name) : glow_onnx_part_name(n, "i64");
  return &glow_storage_create(n->im->m, GLOW_CONSTANT, name, t->type,
                              (GlowInit){.kind = GLOW_INIT_LIST, .tensor = t})
              ->value;
}

/* What the port of an operator wants: i64 for ONNX's int32 indices, rank 0 for scalars that models
 * store as one-element vectors. */
static GlowValue *fit_port(GlowOnnxNode *n, GlowOp op, uint32_t i, GlowValue *v) {
  const GlowOpPort *port = glow_op_in_port(&glow_op_desc[op], i);
  if (!v || !port || port->type != GLOW_PORT_KIND || !glow_type_is_tensor(v->type))
    return v;
  if (port->var == GLOW_KIND_I64 && v->type->kind == GLOW_KIND_I32)
    v = widened(n, v);
  return port->scalar ? glow_onnx_rank0(n, v) : v;
}

GlowNode *glow_onnx_build(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                          GlowNodeSpec spec) {
  while (nins && !ins[nins - 1])
    nins--;
  GlowValue **fitted = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, nins);
  for (uint32_t i = 0; i < nins; i++) {
    fitted[i] = fit_port(n, op, i, ins[i]);
    if (ins[i] && !fitted[i])
      return NULL;
  }
  spec.op = op;
  spec.ins = fitted;
  spec.nins = nins;
  GlowNode *made = glow_node_create(&n->b, &spec);
  n->im->contradictions += !made;
  return made;
}

GlowStr glow_onnx_part_name(const GlowOnnxNode *n, const char *tag) {
  GlowStr base = n->label;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->outs[i]) {
      base = n->outs[i];
      break;
    }
  size_t room = GLOW_MAX_NAME - strlen(tag) - 16; /* numbered suffixes come on top */
  return glow_str_printf(n->im->ctx, "%.*s.%s", (int)room, base, tag);
}

GlowValue *glow_onnx_emit(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                          const void *members) {
  const GlowOpDesc *d = &glow_op_desc[op];
  GlowStr names[8] = {glow_onnx_part_name(n, d->instr ? d->instr : "part")};
  GlowNodeSpec spec = {.members = members, .names = names, .discard_unnamed = true};
  if (d->nout && (d->out[d->nout - 1].flags & GLOW_PORT_VARIADIC))
    spec.nresults = 1;
  GlowNode *node = glow_onnx_build(n, op, ins, nins, spec);
  return node ? &node->results[0] : NULL;
}

GlowValue *glow_onnx_emit1(GlowOnnxNode *n, GlowOp op, GlowValue *x, const void *members) {
  return x ? glow_onnx_emit(n, op, &x, 1, members) : NULL;
}

GlowValue *glow_onnx_emit2(GlowOnnxNode *n, GlowOp op, GlowValue *x, GlowValue *y,
                           const void *members) {
  return x && y ? glow_onnx_emit(n, op, (GlowValue *[]){x, y}, 2, members) : NULL;
}

/* How many results of the operator a node with n->nouts named ones needs. */
static bool count_results(GlowOnnxNode *n, const GlowOpDesc *d, uint32_t *count) {
  bool variadic = d->nout && (d->out[d->nout - 1].flags & GLOW_PORT_VARIADIC);
  if (variadic) {
    *count = n->proto.outputs.count;
    return true;
  }
  if (n->nouts > d->nout)
    return glow_onnx_fail(n, "%u results where there are at most %u", n->nouts, d->nout);
  *count = d->nout;
  while (*count > n->nouts && (d->out[*count - 1].flags & GLOW_PORT_OPTIONAL))
    --*count;
  return true;
}

bool glow_onnx_finish(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                      const void *members, GlowBlock *const *regions, uint32_t nregions) {
  uint32_t count = 0;
  if (!count_results(n, &glow_op_desc[op], &count))
    return false;
  GlowStr *names = GLOW_NEW_ARRAY(n->im->arena, GlowStr, count);
  for (uint32_t i = 0; i < count && i < n->nouts; i++)
    names[i] = n->outs[i];
  GlowNode *node = glow_onnx_build(n, op, ins, nins,
                                   (GlowNodeSpec){.members = members,
                                                  .regions = regions,
                                                  .nregions = nregions,
                                                  .nresults = count,
                                                  .names = names,
                                                  .discard_unnamed = true});
  for (uint32_t i = 0; node && i < n->nouts; i++)
    n->results[i] = &node->results[i];
  return node != NULL;
}

bool glow_onnx_result(GlowOnnxNode *n, uint32_t index, GlowOp op, GlowValue *const *ins,
                      uint32_t nins, const void *members) {
  for (uint32_t i = 0; i < nins; i++)
    if (!ins[i])
      return false;
  GlowStr names[8] = {n->outs[index]};
  GlowNode *node =
      glow_onnx_build(n, op, ins, nins,
                      (GlowNodeSpec){.members = members, .names = names, .discard_unnamed = true});
  n->results[index] = node ? &node->results[0] : NULL;
  return node != NULL;
}

bool glow_onnx_finish1(GlowOnnxNode *n, GlowOp op, GlowValue *x, const void *members) {
  return x && glow_onnx_finish(n, op, &x, 1, members, NULL, 0);
}

bool glow_onnx_finish2(GlowOnnxNode *n, GlowOp op, GlowValue *x, GlowValue *y,
                       const void *members) {
  return x && y && glow_onnx_finish(n, op, (GlowValue *[]){x, y}, 2, members, NULL, 0);
}

GlowValue *glow_onnx_make_ints(GlowOnnxNode *n, const char *tag, const int64_t *values,
                               uint32_t count) {
  GlowTensor *t = GLOW_NEW(n->im->m->arena, GlowTensor);
  t->type = glow_type_exact(n->im->ctx, GLOW_KIND_I64, 1, &(int64_t){count});
  t->bytes = count * sizeof *values;
  t->data = glow_arena_alloc(n->im->m->arena, t->bytes);
  if (count)
    memcpy(t->data, values, t->bytes);
  GlowStorage *s = glow_storage_create(n->im->m, GLOW_CONSTANT, glow_onnx_part_name(n, tag),
                                       t->type, (GlowInit){.kind = GLOW_INIT_LIST, .tensor = t});
  s->origin = n->b.origin;
  return &s->value;
}

GlowValue *glow_onnx_shape_of(GlowOnnxNode *n, GlowValue *v) {
  if (!glow_type_is_static(v->type))
    return glow_onnx_emit1(n, GLOW_OP_SHAPE, v, NULL);
  int64_t dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < v->type->rank; i++)
    dims[i] = v->type->dims[i].size;
  return glow_onnx_make_ints(n, "shape", dims, v->type->rank);
}

GlowValue *glow_onnx_make_splat(GlowOnnxNode *n, const char *tag, const GlowType *type,
                                GlowScalar value) {
  GlowStorage *s = glow_storage_create(n->im->m, GLOW_CONSTANT, glow_onnx_part_name(n, tag), type,
                                       (GlowInit){.kind = GLOW_INIT_SPLAT, .splat = value});
  s->origin = n->b.origin;
  return &s->value;
}

GlowValue *glow_onnx_make_scalar(GlowOnnxNode *n, const char *tag, GlowKind kind, double value) {
  bool is_int = !glow_kind_is_float(kind);
  GlowScalar v = {.is_int = is_int, .i = is_int ? (int64_t)value : 0, .f = value};
  return glow_onnx_make_splat(n, tag, glow_type_scalar(n->im->ctx, kind), v);
}

bool glow_onnx_constant_result(GlowOnnxNode *n, const GlowTensor *t) {
  GlowInit init = {.kind = GLOW_INIT_LIST, .tensor = t};
  size_t limit =
      glow_kind_is_integer(t->type->kind) ? GLOW_MAX_FOLDED_BYTES : GLOW_MAX_INLINE_BYTES;
  if (t->bytes > limit && t->type->kind != GLOW_KIND_STRING)
    init.kind = GLOW_INIT_PAYLOAD;
  GlowStr name = n->outs[0];
  if (glow_map_get(n->im->outputs, name))
    name = glow_onnx_part_name(n, "value");
  GlowStorage *s = glow_storage_create(n->im->m, GLOW_CONSTANT, name, t->type, init);
  if (init.kind == GLOW_INIT_PAYLOAD)
    s->init.key = s->value.name;
  s->origin = n->b.origin;
  n->results[0] = &s->value;
  return true;
}
