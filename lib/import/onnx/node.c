/* Nodes: from a NodeProto to nodes of the module, by the operator's row; attributes; the building
 * blocks of hooks. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/onnx/importer.h"

enum { MAX_ATTRIBUTES = 256, MAX_OPERANDS = 1 << 20 };

bool glow_onnx_fail(GlowOnnxNode *n, const char *format, ...) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, n->im->ctx);
  glow_defer_push(n->im->ctx, &release, glow_text_release_fn, &t);
  va_list args;
  va_start(args, format);
  glow_text_vprintf(&t, format, args);
  va_end(args);
  glow_error(n->im->ctx, n->loc, "%s: %s", n->op, glow_text_cstr(&t));
  glow_defer_pop(n->im->ctx, &release, true);
  return false;
}

bool glow_onnx_unsupported(GlowOnnxNode *n, const char *format, ...) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, n->im->ctx);
  glow_defer_push(n->im->ctx, &release, glow_text_release_fn, &t);
  va_list args;
  va_start(args, format);
  glow_text_vprintf(&t, format, args);
  va_end(args);
  glow_onnx_gap(n->im, (GlowOnnxGap){.domain = n->domain,
                                     .op = n->op,
                                     .version = n->version,
                                     .why = glow_str(n->im->ctx, glow_text_cstr(&t)),
                                     .first = n->label,
                                     .count = 1});
  glow_defer_pop(n->im->ctx, &release, true);
  return false;
}

bool glow_onnx_check_ins(GlowOnnxNode *n, uint32_t least, uint32_t most) {
  if (n->nins < least || n->nins > most)
    return glow_onnx_fail(n, "%u operands where %u to %u are expected", n->nins, least, most);
  for (uint32_t i = 0; i < least; ++i)
    if (!n->ins[i])
      return glow_onnx_fail(n, "operand %u is missing", i);
  return true;
}

/* ---- Attributes ------------------------------------------------------------------------------- */

static GlowOnnxAttr *find_attr(GlowOnnxNode *n, const char *name) {
  for (uint32_t i = 0; i < n->nattrs; ++i)
    if (strcmp(n->attrs[i].name, name) == 0)
      return &n->attrs[i];
  return NULL;
}

/* The type of an attribute; models before IR version 2 leave it to the field that is set. */
static GlowOnnxAttrType attr_type(const GlowOnnxAttribute *a) {
  if (a->type.v)
    return (GlowOnnxAttrType)a->type.v;
  return a->f.has          ? GLOW_ONNX_ATTR_FLOAT
         : a->i.has        ? GLOW_ONNX_ATTR_INT
         : a->s.at         ? GLOW_ONNX_ATTR_STRING
         : a->t.at         ? GLOW_ONNX_ATTR_TENSOR
         : a->g.at         ? GLOW_ONNX_ATTR_GRAPH
         : a->tp.at        ? GLOW_ONNX_ATTR_TYPE
         : a->ints.count   ? GLOW_ONNX_ATTR_INTS
         : a->floats.count ? GLOW_ONNX_ATTR_FLOATS
         : a->strings.count ? GLOW_ONNX_ATTR_STRINGS
                            : GLOW_ONNX_ATTR_UNDEFINED;
}

bool glow_onnx_attribute(GlowOnnxNode *n, const char *name, GlowOnnxAttrType type,
                         GlowOnnxAttribute *a, GlowOnnxAttr **attr) {
  static const char *const names[] = {
      "nothing",       "a float",    "an integer",        "a string",      "a tensor",
      "a graph",       "floats",     "integers",          "strings",       "tensors",
      "graphs",        "sparse tensor", "sparse tensors", "a type",        "types"};
  *attr = find_attr(n, name);
  if (!*attr)
    return true;
  (*attr)->used = true;
  glow_wire_read(&n->im->file, &glow_onnx_msg_attribute, (*attr)->span, a);
  GlowOnnxAttrType got = attr_type(a);
  bool list = type == GLOW_ONNX_ATTR_INTS || type == GLOW_ONNX_ATTR_FLOATS ||
              type == GLOW_ONNX_ATTR_STRINGS;
  if (got == type || (list && got == GLOW_ONNX_ATTR_UNDEFINED))
    return true;
  return glow_onnx_fail(n, "attribute '%s' must be %s", name, names[type]);
}

bool glow_onnx_has(GlowOnnxNode *n, const char *name) { return find_attr(n, name) != NULL; }

void glow_onnx_ignore(GlowOnnxNode *n, const char *name) {
  GlowOnnxAttr *attr = find_attr(n, name);
  if (attr)
    attr->used = true;
}

bool glow_onnx_int(GlowOnnxNode *n, const char *name, int64_t *value) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_INT, &a, &attr))
    return false;
  if (attr)
    *value = a.i.v;
  return true;
}

bool glow_onnx_bool(GlowOnnxNode *n, const char *name, bool *value) {
  int64_t v = *value;
  if (!glow_onnx_int(n, name, &v))
    return false;
  *value = v != 0;
  return true;
}

bool glow_onnx_float(GlowOnnxNode *n, const char *name, float *value) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_FLOAT, &a, &attr))
    return false;
  if (attr)
    *value = a.f.v;
  return true;
}

/* A string that is a name: checked, since bytes of attributes may be anything. */
static bool text_of(GlowOnnxNode *n, const char *name, GlowWireSpan s, GlowStr *value) {
  size_t bad;
  const char *text = glow_wire_bytes(&n->im->file, s);
  if (memchr(text, 0, s.size) || !glow_utf8_valid(text, s.size, &bad) || s.size > GLOW_MAX_NAME)
    return glow_onnx_fail(n, "attribute '%s' is no valid text", name);
  *value = glow_wire_str(&n->im->file, s);
  return true;
}

bool glow_onnx_string(GlowOnnxNode *n, const char *name, GlowStr *value) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_STRING, &a, &attr))
    return false;
  return !attr || text_of(n, name, a.s, value);
}

/* One enumerator by its spelling. */
bool glow_onnx_enum(GlowOnnxNode *n, const GlowEnumDesc *e, const char *name, int *value) {
  GlowStr text = NULL;
  if (!glow_onnx_string(n, name, &text))
    return false;
  if (!text)
    return true;
  for (uint32_t i = 0; i < e->count; ++i)
    if (strcasecmp(e->values[i], text) == 0) {
      *value = (int)i;
      return true;
    }
  return glow_onnx_unsupported(n, "attribute '%s' = '%s'", name, text);
}

bool glow_onnx_kind(GlowOnnxNode *n, const char *name, GlowKind *value) {
  int64_t v = -1;
  if (!glow_onnx_int(n, name, &v))
    return false;
  if (!glow_onnx_has(n, name))
    return true;
  GlowKind kind = v > 0 && v < 1000 ? glow_kind_from_onnx((int)v) : GLOW_KIND_COUNT;
  if (kind == GLOW_KIND_COUNT)
    return glow_onnx_fail(n, "attribute '%s' is no element type: %lld", name, (long long)v);
  *value = kind;
  return true;
}

bool glow_onnx_ints(GlowOnnxNode *n, const char *name, GlowArray *value) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_INTS, &a, &attr))
    return false;
  if (attr)
    *value = (GlowArray){a.ints.count, glow_wire_ints(&n->im->file, &a.ints, n->im->m->arena)};
  return true;
}

bool glow_onnx_u32s(GlowOnnxNode *n, const char *name, GlowArray *value) {
  GlowArray ints = {0};
  if (!glow_onnx_ints(n, name, &ints))
    return false;
  if (!glow_onnx_has(n, name))
    return true;
  uint32_t *data = GLOW_NEW_ARRAY(n->im->m->arena, uint32_t, ints.count);
  for (uint32_t i = 0; i < ints.count; ++i) {
    int64_t v = glow_array_at(ints, int64_t, i);
    if (v < 0 || v > INT32_MAX)
      return glow_onnx_fail(n, "attribute '%s' holds %lld", name, (long long)v);
    data[i] = (uint32_t)v;
  }
  *value = (GlowArray){ints.count, data};
  return true;
}

bool glow_onnx_floats(GlowOnnxNode *n, const char *name, GlowArray *value) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_FLOATS, &a, &attr))
    return false;
  if (!attr)
    return true;
  float *data = GLOW_NEW_ARRAY(n->im->m->arena, float, a.floats.count);
  GlowWireNumber number = {0};
  for (uint32_t i = 0; glow_wire_each_number(&n->im->file, &a.floats, &number); ++i)
    memcpy(&data[i], &number.value, sizeof *data);
  *value = (GlowArray){a.floats.count, data};
  return true;
}

bool glow_onnx_strings(GlowOnnxNode *n, const char *name, GlowArray *value) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_STRINGS, &a, &attr))
    return false;
  if (!attr)
    return true;
  GlowStr *data = GLOW_NEW_ARRAY(n->im->m->arena, GlowStr, a.strings.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&n->im->file, &a.strings, &i))
    if (!text_of(n, name, i.span, &data[i.index]))
      return false;
  *value = (GlowArray){a.strings.count, data};
  return true;
}

/* ---- Building --------------------------------------------------------------------------------- */

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
  for (int64_t i = 0; i < glow_tensor_elements(known); ++i)
    ((int64_t *)t->data)[i] = glow_tensor_get_int(known, i);
  GlowStr name = v->name ? glow_str_printf(n->im->ctx, "%.4000s.i64", v->name)
                         : glow_onnx_part_name(n, "i64");
  return &glow_storage_create(n->im->m, GLOW_CONSTANT, name, t->type,
                              (GlowInit){.kind = GLOW_INIT_LIST, .tensor = t})->value;
}

/* What the port of an operator wants: i64 for ONNX's int32 indices, rank 0 for scalars that models
 * store as one-element vectors. */
static GlowValue *fit_port(GlowOnnxNode *n, GlowOp op, uint32_t i, GlowValue *v) {
  const GlowPort *port = glow_op_in_port(&glow_op_desc[op], i);
  if (!v || !port || port->type != GLOW_PORT_KIND || !glow_type_is_tensor(v->type))
    return v;
  if (port->var == GLOW_KIND_I64 && v->type->kind == GLOW_KIND_I32)
    v = widened(n, v);
  return port->scalar ? glow_onnx_rank0(n, v) : v;
}

static GlowNode *build(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                       GlowNodeSpec spec) {
  while (nins && !ins[nins - 1])
    --nins;
  GlowValue **fitted = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, nins);
  for (uint32_t i = 0; i < nins; ++i) {
    fitted[i] = fit_port(n, op, i, ins[i]);
    if (ins[i] && !fitted[i])
      return NULL;
  }
  spec.op = op;
  spec.ins = fitted;
  spec.nins = nins;
  return glow_node_create(&n->b, &spec);
}

GlowStr glow_onnx_part_name(const GlowOnnxNode *n, const char *tag) {
  GlowStr base = n->label;
  for (uint32_t i = 0; i < n->nouts; ++i)
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
  GlowNode *node = build(n, op, ins, nins, spec);
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
  for (uint32_t i = 0; i < count && i < n->nouts; ++i)
    names[i] = n->outs[i];
  GlowNode *node = build(n, op, ins, nins,
                         (GlowNodeSpec){.members = members,
                                        .regions = regions,
                                        .nregions = nregions,
                                        .nresults = count,
                                        .names = names,
                                        .discard_unnamed = true});
  for (uint32_t i = 0; node && i < n->nouts; ++i)
    n->results[i] = &node->results[i];
  return node != NULL;
}

bool glow_onnx_result(GlowOnnxNode *n, uint32_t index, GlowOp op, GlowValue *const *ins,
                      uint32_t nins, const void *members) {
  for (uint32_t i = 0; i < nins; ++i)
    if (!ins[i])
      return false;
  GlowStr names[8] = {n->outs[index]};
  GlowNode *node = build(n, op, ins, nins,
                         (GlowNodeSpec){.members = members, .names = names,
                                        .discard_unnamed = true});
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
  GlowStorage *s = glow_storage_create(n->im->m, GLOW_CONSTANT, glow_onnx_part_name(n, tag), t->type,
                                       (GlowInit){.kind = GLOW_INIT_LIST, .tensor = t});
  s->origin = n->b.origin;
  return &s->value;
}

GlowValue *glow_onnx_shape_of(GlowOnnxNode *n, GlowValue *v) {
  if (!glow_type_is_static(v->type))
    return glow_onnx_emit1(n, GLOW_OP_SHAPE, v, NULL);
  int64_t dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < v->type->rank; ++i)
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
  size_t limit = glow_kind_is_integer(t->type->kind) ? GLOW_MAX_FOLDED_BYTES
                                                     : GLOW_MAX_INLINE_BYTES;
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

/* ---- Direct rules ----------------------------------------------------------------------------- */

static bool set_u32(GlowOnnxNode *n, const char *attr, uint32_t *value) {
  int64_t v = *value;
  if (!glow_onnx_int(n, attr, &v))
    return false;
  if (v < 0 || v > INT32_MAX)
    return glow_onnx_fail(n, "attribute '%s' is %lld", attr, (long long)v);
  *value = (uint32_t)v;
  return true;
}

/* Sets a member from an attribute; an absent one leaves the operator's default. */
static bool set_member(GlowOnnxNode *n, const GlowMember *m, const char *attr, void *at) {
  if (m->required && !glow_onnx_has(n, attr))
    return glow_onnx_fail(n, "attribute '%s' is missing", attr);
  switch ((GlowMemberType)m->type) {
  case GLOW_MEMBER_BOOL: return glow_onnx_bool(n, attr, at);
  case GLOW_MEMBER_U32: return m->array ? glow_onnx_u32s(n, attr, at) : set_u32(n, attr, at);
  case GLOW_MEMBER_I64:
    return m->array ? glow_onnx_ints(n, attr, at) : glow_onnx_int(n, attr, at);
  case GLOW_MEMBER_FLOAT: return glow_onnx_float(n, attr, at);
  case GLOW_MEMBER_STR:
    return m->array ? glow_onnx_strings(n, attr, at) : glow_onnx_string(n, attr, at);
  case GLOW_MEMBER_KIND: return glow_onnx_kind(n, attr, at);
  case GLOW_MEMBER_ENUM: return glow_onnx_enum(n, m->enumeration, attr, at);
  default: glow_internal_error(n->im->ctx, __FILE__, __LINE__, "a member that no attribute sets");
  }
}

static bool run_direct(GlowOnnxNode *n) {
  const GlowOpDesc *d = &glow_op_desc[n->row->node];
  char *members = glow_arena_alloc(n->im->arena, d->member_size);
  if (d->member_size)
    memcpy(members, d->member_defaults, d->member_size);
  for (uint32_t i = 0; i < n->row->nattrs; ++i) {
    const GlowMember *m = glow_op_member(d, n->row->attrs[i].member);
    if (!set_member(n, m, n->row->attrs[i].attr, members + m->offset))
      return false;
  }
  return glow_onnx_finish(n, n->row->node, n->ins, n->nins, d->member_size ? members : NULL, NULL,
                          0);
}

/* ---- Calls of model-local functions --------------------------------------------------------------- */

/* Functions that call others twice double with each level. What an inlined node takes in memory is
 * about NODE_COST and some copies of its path; the sum may be BASE_COST and four times the file. */
enum { MAX_CALLS = 32, NODE_COST = 1024, BASE_COST = 32 << 20 };

static bool calls_itself(const GlowOnnxNode *n, const GlowOnnxFunction *function) {
  for (const GlowOnnxScope *s = n->scope; s; s = s->call ? s->call->scope : s->outer)
    if (s->function == function)
      return true;
  return false;
}

/* Binds the parameters of the function to the operands of the call. */
static bool bind_parameters(GlowOnnxNode *n, const GlowOnnxFunction *function,
                            GlowOnnxScope *scope) {
  if (n->nins > function->inputs.count)
    return glow_onnx_fail(n, "%u operands where the function has %u", n->nins,
                          function->inputs.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&n->im->file, &function->inputs, &i)) {
    GlowValue *v = i.index < n->nins && n->ins[i.index] ? n->ins[i.index] : &glow_onnx_absent;
    if (!glow_onnx_define(n->im, scope, glow_wire_str(&n->im->file, i.span), v, n->loc))
      return false;
  }
  return true;
}

static bool take_results(GlowOnnxNode *n, const GlowOnnxFunction *function,
                         const GlowOnnxScope *scope, uint32_t first_id) {
  if (n->nouts > function->outputs.count)
    return glow_onnx_fail(n, "%u results where the function has %u", n->nouts,
                          function->outputs.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&n->im->file, &function->outputs, &i)) {
    if (i.index >= n->nouts || !n->outs[i.index])
      continue;
    GlowStr name = glow_wire_str(&n->im->file, i.span);
    GlowValue *v = glow_onnx_find(scope, name);
    if (!v || v == &glow_onnx_absent)
      return glow_onnx_fail(n, "the function does not compute its result '%s'", name);
    n->results[i.index] = v;
    if (v != &glow_onnx_failed && v->kind == GLOW_VALUE_RESULT && v->id >= first_id)
      glow_value_set_name(v, n->outs[i.index]); /* a value that the body made */
  }
  return true;
}

/* Reads the function's body in place of the call. */
static bool run_call(GlowOnnxNode *n, const GlowOnnxFunction *function) {
  GlowOnnxImporter *im = n->im;
  if (calls_itself(n, function))
    return glow_onnx_fail(n, "the function calls itself");
  if (n->scope->calls == MAX_CALLS)
    return glow_onnx_fail(n, "functions are nested more than %d deep", MAX_CALLS);
  size_t cost = NODE_COST + 4 * glow_str_length(n->label);
  im->inlined_cost += cost * function->nodes.count;
  if (im->inlined_cost > BASE_COST + 4 * im->file.size)
    return glow_onnx_fail(n, "the model's functions are too large when they are inlined");
  GlowOnnxScope *scope = glow_onnx_scope(im, NULL);
  scope->block = n->scope->block;
  scope->region = n->scope->region;
  scope->regions = n->scope->regions;
  scope->calls = n->scope->calls + 1;
  scope->call = n;
  scope->function = function;
  scope->prefix = glow_str_printf(im->ctx, "%s/", n->label);
  scope->path = glow_onnx_function_path(im->ctx, glow_wire_str(&im->file, function->domain),
                                        glow_wire_str(&im->file, function->name));
  scope->opsets = glow_onnx_opsets(im, &function->opset_import, n->loc);
  if (!scope->opsets || !bind_parameters(n, function, scope))
    return false;
  uint32_t first_id = im->m->next_id;
  glow_onnx_nodes(im, scope, &function->nodes);
  for (uint32_t i = 0; i < n->nattrs; ++i)
    n->attrs[i].used = true;
  return take_results(n, function, scope, first_id);
}

/* ---- Reading a node --------------------------------------------------------------------------- */

/* An attribute that refers to one of the function's own: what the call gives, or the default. */
static bool resolve_reference(const GlowOnnxImporter *im, const GlowOnnxScope *scope,
                              GlowStr ref, GlowOnnxAttr *attr) {
  while (scope->outer)
    scope = scope->outer;
  if (!scope->call)
    return false;
  for (uint32_t i = 0; i < scope->call->nattrs; ++i) {
    const GlowOnnxAttr *given = &scope->call->attrs[i];
    if (strcmp(given->name, ref) == 0) {
      attr->span = given->span;
      attr->scope = given->scope;
      attr->path = given->path;
      return true;
    }
  }
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &scope->function->attribute_defaults, &i)) {
    GlowOnnxAttribute a;
    glow_wire_read(&im->file, &glow_onnx_msg_attribute, i.span, &a);
    if (glow_wire_is(&im->file, a.name, ref)) {
      attr->span = i.span;
      return true;
    }
  }
  return false;
}

static bool read_attributes(GlowOnnxNode *n, GlowStr local_label) {
  GlowOnnxImporter *im = n->im;
  if (n->proto.attributes.count > MAX_ATTRIBUTES)
    return glow_onnx_fail(n, "%u attributes", n->proto.attributes.count);
  n->attrs = GLOW_NEW_ARRAY(im->arena, GlowOnnxAttr, n->proto.attributes.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &n->proto.attributes, &i)) {
    GlowOnnxAttribute a;
    glow_wire_read(&im->file, &glow_onnx_msg_attribute, i.span, &a);
    GlowOnnxAttr attr = {.name = glow_wire_str(&im->file, a.name), .span = i.span};
    if (!*attr.name)
      return glow_onnx_fail(n, "an attribute has no name");
    if (find_attr(n, attr.name))
      return glow_onnx_fail(n, "two attributes are called '%s'", attr.name);
    attr.scope = n->scope;
    if (a.g.at)
      attr.path = glow_onnx_subgraph_path(im->ctx, n->scope->path, local_label, attr.name);
    if (a.ref_name.at && a.ref_name.size &&
        !resolve_reference(im, n->scope, glow_wire_str(&im->file, a.ref_name), &attr))
      continue; /* neither given nor with a default: absent */
    n->attrs[n->nattrs++] = attr;
  }
  return true;
}

/* The node of the scope or an outer one that computes `name`, for a message; NULL if none does. */
static GlowStr producer_of(const GlowOnnxNode *n, GlowStr name) {
  const GlowWireFile *f = &n->im->file;
  for (const GlowOnnxScope *s = n->scope; s; s = s->outer) {
    GlowWireIter i = {0};
    while (s->nodes && glow_wire_each(f, s->nodes, &i)) {
      GlowOnnxNodeProto node;
      glow_wire_read(f, &glow_onnx_msg_node, i.span, &node);
      GlowWireIter out = {0};
      while (glow_wire_each(f, &node.outputs, &out))
        if (glow_wire_is(f, out.span, name))
          return glow_onnx_node_label(f, &node, i.index);
    }
  }
  return NULL;
}

static void report_undefined(GlowOnnxNode *n, uint32_t index, GlowStr name) {
  GlowStr producer = producer_of(n, name);
  if (producer)
    glow_onnx_fail(n, "operand %u, '%s', is computed only later, by node '%s': nodes must be sorted, "
                      "without cycles", index, name, producer);
  else
    glow_onnx_fail(n, "operand %u, '%s', is not defined", index, name);
}

/* Looks up the operands. Returns false if one of them failed or is not defined. */
static bool read_operands(GlowOnnxNode *n) {
  const GlowWireFile *f = &n->im->file;
  n->ins = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, n->proto.inputs.count);
  bool ok = true;
  GlowWireIter i = {0};
  while (glow_wire_each(f, &n->proto.inputs, &i)) {
    if (i.span.size == 0)
      continue;
    GlowStr name = glow_wire_str(f, i.span);
    GlowValue *v = glow_onnx_find(n->scope, name);
    if (!v)
      report_undefined(n, i.index, name);
    ok &= v && v != &glow_onnx_failed;
    if (v == &glow_onnx_absent)
      continue;
    n->ins[i.index] = v;
    n->nins = i.index + 1;
  }
  return ok;
}

static bool read_results(GlowOnnxNode *n) {
  const GlowWireFile *f = &n->im->file;
  n->outs = GLOW_NEW_ARRAY(n->im->arena, GlowStr, n->proto.outputs.count);
  n->results = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, n->proto.outputs.count);
  GlowWireIter i = {0};
  while (glow_wire_each(f, &n->proto.outputs, &i)) {
    if (i.span.size == 0)
      continue;
    GlowStr name = glow_wire_str(f, i.span);
    n->outs[i.index] = *n->scope->prefix
                           ? glow_str_printf(n->im->ctx, "%s%s", n->scope->prefix, name)
                           : name;
    if (glow_str_length(n->outs[i.index]) > GLOW_MAX_NAME)
      return glow_onnx_fail(n, "the path of result %u is too long", i.index);
    n->nouts = i.index + 1;
  }
  return true;
}

/* A result that the model declares more exactly than inference does: see glow_onnx_main_graph. */
static void apply_claim(GlowOnnxNode *n, GlowStr name, GlowValue *v) {
  const GlowType *claim = n->im->claims && !n->scope->outer && !n->scope->call
                              ? glow_map_get(n->im->claims, name)
                              : NULL;
  if (!claim || v->kind != GLOW_VALUE_RESULT)
    return;
  GlowFit fit = glow_type_fit(claim, v->type);
  if (fit == GLOW_FIT_NARROWER)
    v->type = claim;
  else if (fit == GLOW_FIT_CONTRADICTS)
    glow_warning(n->im->ctx, n->loc, "result '%s' is declared as %s, but it is %s", name,
                 glow_type_str(n->im->ctx, claim), glow_type_str(n->im->ctx, v->type));
}

/* Enters the results into the scope; those that the rule did not make are failed. */
static void define_results(GlowOnnxNode *n) {
  const GlowWireFile *f = &n->im->file;
  GlowWireIter i = {0};
  while (glow_wire_each(f, &n->proto.outputs, &i)) {
    if (i.span.size == 0)
      continue;
    GlowStr name = glow_wire_str(f, i.span);
    GlowValue *v = n->results[i.index] ? n->results[i.index] : &glow_onnx_failed;
    if (v != &glow_onnx_failed)
      apply_claim(n, name, v);
    glow_onnx_define(n->im, n->scope, name, v, n->loc);
  }
}

/* What the rule left over: results and attributes that it does not know. */
static bool check_leftovers(GlowOnnxNode *n) {
  glow_onnx_ignore(n, "consumed_inputs"); /* a hint of operator set 1 */
  for (uint32_t i = 0; i < n->nattrs; ++i)
    if (!n->attrs[i].used)
      return glow_onnx_unsupported(n, "attribute '%s'", n->attrs[i].name);
  for (uint32_t i = 0; i < n->nouts; ++i)
    if (n->outs[i] && !n->results[i])
      return glow_onnx_unsupported(n, "result number %u", i);
  return true;
}

static bool run_rule(GlowOnnxNode *n, GlowStr local_label) {
  GlowStr overload = glow_wire_str(&n->im->file, n->proto.overload), why;
  const GlowOnnxFunction *function =
      glow_onnx_local_function(n->im, n->domain, n->op, overload);
  if (!function) {
    n->row = glow_onnx_row(n->im, n->scope->opsets, n->domain, n->op, &n->version, &why);
    if (!n->row || n->row->rule == GLOW_ONNX_UNSUPPORTED)
      return false; /* the survey has it */
  }
  if (!read_attributes(n, local_label))
    return false;
  if (function)
    return run_call(n, function);
  return (n->row->rule == GLOW_ONNX_HOOK ? n->row->hook(n) : run_direct(n)) && check_leftovers(n);
}

void glow_onnx_node(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowWireSpan span,
                    uint32_t index) {
  GlowOnnxNode *n = GLOW_NEW(im->arena, GlowOnnxNode);
  n->im = im;
  n->scope = scope;
  glow_wire_read(&im->file, &glow_onnx_msg_node, span, &n->proto);
  n->op = glow_wire_str(&im->file, n->proto.op_type);
  n->domain = glow_onnx_domain(im, n->proto.domain);
  GlowStr local_label = glow_onnx_node_label(&im->file, &n->proto, index);
  n->label = glow_str_printf(im->ctx, "%s%s", scope->prefix, local_label);
  n->loc = (GlowLoc){.file = im->file.name, .node = n->label};
  n->b = glow_builder_at_end(scope->block);
  n->b.src = n->loc;
  n->b.origin = GLOW_NEW(im->m->arena, GlowOrigin);
  n->b.origin->file = glow_str(im->ctx, glow_path_base(im->file.name));
  n->b.origin->name = n->label;
  if (glow_str_length(n->label) > GLOW_MAX_NAME) {
    glow_error(im->ctx, glow_loc_file(im->ctx, im->file.name), "the path of a node is too long");
    return;
  }
  if (n->proto.inputs.count > MAX_OPERANDS || n->proto.outputs.count > MAX_OPERANDS) {
    glow_onnx_fail(n, "more than %d operands or results", MAX_OPERANDS);
    return;
  }
  bool ok = read_operands(n);
  ok &= read_results(n);
  if (!*n->op)
    ok = glow_onnx_fail(n, "node %u has no operator", index);
  if (ok && !run_rule(n, local_label))
    memset(n->results, 0, n->proto.outputs.count * sizeof *n->results);
  define_results(n);
}
