/* Types of the model: TypeProto, open dimensions as symbols, and what binds them.
 *
 * A dimension without a name, or with one that is no identifier, gets a generated one: $d0, $d1 and
 * so on. Placeholders for "no name" (?, -1, None, the empty string) are different dimensions
 * wherever they stand; any other name is one dimension throughout the model. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/importer.h"

/* A dimension as the model has it. */
static bool read_dim(GlowOnnxImporter *im, GlowWireSpan span, GlowLoc loc, const char *what,
                     GlowDim *dim, GlowStr *name) {
  GlowOnnxDim d;
  glow_wire_read(&im->file, &glow_onnx_msg_dim, span, &d);
  *dim = GLOW_UNKNOWN;
  *name = d.param.at ? glow_wire_str(&im->file, d.param) : NULL;
  if (d.value.has && d.value.v < -1) {
    glow_error(im->ctx, loc, "%s has a dimension of %lld", what, (long long)d.value.v);
    return false;
  }
  if (d.value.has && d.value.v >= 0)
    *dim = GLOW_EXACT(d.value.v);
  else if (d.value.has)
    *name = glow_str(im->ctx, "-1");
  return true;
}

/* Reads a tensor type; names[i] is what the model calls open dimension i, or NULL. For an `element`
 * of a sequence or optional, an empty shape means any shape: models write it as often for that as
 * for rank 0. */
static const GlowType *read_tensor_type(GlowOnnxImporter *im, GlowWireSpan span, GlowLoc loc,
                                        const char *what, GlowStr *names, bool element) {
  GlowOnnxTensorType t;
  glow_wire_read(&im->file, &glow_onnx_msg_tensor_type, span, &t);
  GlowKind kind = t.elem_type.v > 0 && t.elem_type.v < 1000
                      ? glow_kind_from_onnx((int)t.elem_type.v)
                      : GLOW_KIND_COUNT;
  if (kind == GLOW_KIND_COUNT) {
    glow_error(im->ctx, loc, "%s has the unknown element type %lld", what,
               (long long)t.elem_type.v);
    return NULL;
  }
  if (!t.shape.at)
    return glow_type_unranked(im->ctx, kind);
  GlowOnnxShape shape;
  glow_wire_read(&im->file, &glow_onnx_msg_shape, t.shape, &shape);
  if (element && shape.dims.count == 0)
    return glow_type_unranked(im->ctx, kind);
  if (shape.dims.count > GLOW_MAX_RANK) {
    glow_error(im->ctx, loc, "%s has %u dimensions, more than %d", what, shape.dims.count,
               GLOW_MAX_RANK);
    return NULL;
  }
  GlowDim dims[GLOW_MAX_RANK];
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &shape.dims, &i))
    if (!read_dim(im, i.span, loc, what, &dims[i.index], &names[i.index]))
      return NULL;
  const char *bad = glow_type_check_dims(kind, shape.dims.count, dims);
  if (bad) {
    glow_error(im->ctx, loc, "%s: %s", what, bad);
    return NULL;
  }
  return glow_type_tensor(im->ctx, kind, shape.dims.count, dims);
}

static const GlowType *read_type(GlowOnnxImporter *im, GlowWireSpan span, GlowLoc loc,
                                 const char *what, GlowStr *names, unsigned depth) {
  GlowOnnxType t;
  glow_wire_read(&im->file, &glow_onnx_msg_type, span, &t);
  if (t.tensor.at)
    return read_tensor_type(im, t.tensor, loc, what, names, depth > 1);
  bool is_seq = t.sequence.at != 0;
  if (is_seq || t.optional.at) {
    GlowStr inner[GLOW_MAX_RANK];
    GlowOnnxElemType e;
    glow_wire_read(&im->file, &glow_onnx_msg_elem_type, is_seq ? t.sequence : t.optional, &e);
    if (!e.elem.at || depth == GLOW_MAX_TYPE_DEPTH) {
      glow_error(im->ctx, loc,
                 e.elem.at ? "%s: the type is nested too deeply"
                           : "%s: the type of the elements is missing",
                 what);
      return NULL;
    }
    const GlowType *elem = read_type(im, e.elem, loc, what, inner, depth + 1);
    return !elem ? NULL : is_seq ? glow_type_seq(im->ctx, elem, -1) : glow_type_opt(im->ctx, elem);
  }
  if (t.map.at || t.sparse_tensor.at || t.opaque.at)
    glow_error(im->ctx, loc, "unsupported: %s is a %s", what,
               t.map.at             ? "map"
               : t.sparse_tensor.at ? "sparse tensor"
                                    : "opaque type");
  else
    glow_error(im->ctx, loc, "%s has no type", what);
  return NULL;
}

const GlowType *glow_onnx_read_type(GlowOnnxImporter *im, GlowWireSpan span, GlowLoc loc,
                                    const char *what) {
  GlowStr names[GLOW_MAX_RANK];
  return read_type(im, span, loc, what, names, 1);
}

/* ---- Symbols -------------------------------------------------------------------------------- */

static bool is_identifier(const char *s) {
  if (!isalpha((unsigned char)*s) && *s != '_')
    return false;
  for (; *s; s++)
    if ((*s & 0x80) || (!isalnum((unsigned char)*s) && *s != '_'))
      return false;
  return true;
}

static bool is_anonymous(const char *s) {
  static const char *const placeholders[] = {"", "?", "-1", "None"};
  for (size_t i = 0; i < sizeof placeholders / sizeof *placeholders; i++)
    if (strcmp(s, placeholders[i]) == 0)
      return true;
  return false;
}

static GlowStr generate_name(GlowOnnxImporter *im, uint32_t *next) {
  for (;;) {
    GlowStr name = glow_str_printf(im->ctx, "d%u", (*next)++);
    if (!glow_binds_find(&im->binds, name))
      return name;
  }
}

/* The symbol for a dimension that the model calls `name`, or NULL. */
static GlowStr symbol_for(GlowOnnxImporter *im, GlowStr name, uint32_t *next) {
  if (name && !is_anonymous(name))
    for (uint32_t i = 0; i < im->binds.symbols.count; i++)
      if (im->binds.symbols.data[i].model == name)
        return im->binds.symbols.data[i].name;
  GlowStr symbol =
      name && is_identifier(name) && !is_anonymous(name) ? name : generate_name(im, next);
  glow_binds_add(&im->binds, GLOW_SYMBOL(symbol), name);
  return symbol;
}

/* The type of one input, and what the model calls its open dimensions. */
typedef struct Open {
  const GlowType *type; /* with symbols */
  GlowStr names[GLOW_MAX_RANK];
} Open;

static const GlowType *with_symbols(GlowOnnxImporter *im, Open *open, uint32_t *next) {
  const GlowType *t = open->type;
  if (!t || !glow_type_is_tensor(t) || t->unranked)
    return t;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].kind == GLOW_DIM_EXACT ? t->dims[i]
                                                : GLOW_SYMBOL(symbol_for(im, open->names[i], next));
  return glow_type_with_dims(im->ctx, t, t->rank, dims);
}

/* ---- Binding -------------------------------------------------------------------------------- */

/* NAME of NAME=VALUE, which ends at `end`. VALUE has no '='. Returns where VALUE begins, or NULL.
 */
static const char *value_of(const char *text, const char *end) {
  const char *s = end;
  while (s > text && s[-1] != '=')
    s--;
  return s > text + 1 ? s : NULL;
}

/* The end of the binding that starts at `text`: a ';' or the end of the text. */
static const char *end_of_bind(const char *text) { return text + strcspn(text, ";"); }

bool glow_onnx_bind_valid(GlowContext *ctx, const char *text) {
  GlowDim dim;
  const char *error;
  for (;; text++) {
    const char *end = end_of_bind(text), *value = value_of(text, end);
    if (!value || !glow_bind_parse(ctx, glow_str(ctx, ""), value, end, &dim, &error))
      return false;
    text = end;
    if (!*text)
      return true;
  }
}

bool glow_onnx_bind_input_valid(const char *text) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  const char *value = value_of(text, text + strlen(text));
  return value && glow_bind_parse_shape(value, dims, &rank);
}

/* 'N=8' up to `end`; N is the model's name or ours, with or without $. */
static void apply_bind(GlowOnnxImporter *im, const char *text, const char *end) {
  const char *value = value_of(text, end);
  if (!value) {
    glow_error(im->ctx, GLOW_NOWHERE, "-bind='%.*s': expected NAME=VALUE", (int)(end - text), text);
    return;
  }
  if (*text == '$')
    text++;
  GlowStr name = glow_str_n(im->ctx, text, (size_t)(value - 1 - text));
  GlowBinds *b = &im->binds;
  GlowBind *s = glow_binds_find(b, name);
  for (uint32_t i = 0; !s && i < b->symbols.count; i++)
    if (b->symbols.data[i].model == name && !is_anonymous(name))
      s = &b->symbols.data[i];
  if (s) {
    glow_binds_read(b, s, value, end);
    return;
  }
  const char **all = GLOW_NEW_ARRAY(im->arena, const char *, b->symbols.count);
  for (uint32_t i = 0; i < b->symbols.count; i++)
    all[i] = b->symbols.data[i].name;
  const char *near = glow_nearest(name, all, b->symbols.count);
  glow_error(im->ctx, GLOW_NOWHERE, "-bind: the model has no open dimension '%s'%s%s%s", name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* The shape of one input: open dimensions are bound, others must agree. */
static void bind_shape(GlowOnnxImporter *im, Open *open, GlowStr name, const GlowDim *dims,
                       uint32_t rank) {
  const GlowType *t = open->type;
  if (!t)
    return;
  if (glow_type_is_tensor(t) && t->unranked) {
    const char *bad = glow_type_check_dims(t->kind, rank, dims);
    if (bad)
      glow_error(im->ctx, GLOW_NOWHERE, "-bind-input: %s: %s", name, bad);
    else
      open->type = glow_type_tensor(im->ctx, t->kind, rank, dims);
    return;
  }
  bool ok = glow_type_is_tensor(t) && t->rank == rank;
  for (uint32_t i = 0; ok && i < rank; i++) {
    if (dims[i].kind == GLOW_DIM_UNKNOWN)
      continue;
    if (t->dims[i].kind == GLOW_DIM_SYMBOL)
      ok =
          glow_binds_set(&im->binds, glow_binds_find(&im->binds, t->dims[i].symbol), dims[i], name);
    else
      ok = glow_dim_equals(t->dims[i], dims[i]);
  }
  if (!ok)
    glow_error(im->ctx, GLOW_NOWHERE, "-bind-input: the shape does not fit '%s', which is %s", name,
               glow_type_str(im->ctx, t));
}

static void apply_bind_input(GlowOnnxImporter *im, const char *text, const GlowStr *names,
                             Open *opens, uint32_t count) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  const char *value = value_of(text, text + strlen(text));
  if (!value || !glow_bind_parse_shape(value, dims, &rank)) {
    glow_error(im->ctx, GLOW_NOWHERE, "-bind-input='%s': expected NAME=1x3x224x224", text);
    return;
  }
  GlowStr name = glow_str_n(im->ctx, text, (size_t)(value - 1 - text));
  for (uint32_t i = 0; i < count; i++)
    if (names[i] == name) {
      bind_shape(im, &opens[i], name, dims, rank);
      return;
    }
  const char *near = glow_nearest(name, names, count);
  glow_error(im->ctx, GLOW_NOWHERE, "-bind-input: the model has no input '%s'%s%s%s", name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* The type with every symbol that is bound replaced. */
static const GlowType *substitute(GlowOnnxImporter *im, const GlowType *t, GlowStr name) {
  if (!t || !glow_type_is_tensor(t) || t->unranked)
    return t;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++) {
    dims[i] = t->dims[i];
    if (dims[i].kind == GLOW_DIM_SYMBOL)
      dims[i] = glow_binds_find(&im->binds, dims[i].symbol)->dim;
  }
  const char *bad = glow_type_check_dims(t->kind, t->rank, dims);
  if (!bad)
    return glow_type_with_dims(im->ctx, t, t->rank, dims);
  glow_error(im->ctx, glow_loc_file(im->ctx, im->file.name), "input '%s': %s", name, bad);
  return NULL;
}

/* Tells what stays open in one input, under both names, and which option closes it. */
static void note_open(GlowOnnxImporter *im, GlowStr name, const Open *open, const GlowType *t) {
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  if (glow_type_is_tensor(t) && t->unranked) {
    glow_note(im->ctx, loc, "input '%s' has no shape; -bind-input='%s=...' gives it one", name,
              name);
    return;
  }
  GlowStr list = NULL;
  for (uint32_t i = 0; glow_type_is_tensor(t) && i < t->rank; i++) {
    if (t->dims[i].kind != GLOW_DIM_SYMBOL || t->dims[i].extent)
      continue;
    GlowStr symbol = t->dims[i].symbol, model = open->names[i];
    GlowStr item = model == symbol ? glow_str_printf(im->ctx, "$%s", symbol)
                   : model ? glow_str_printf(im->ctx, "$%s ('%s' in the model)", symbol, model)
                           : glow_str_printf(im->ctx, "$%s (no name in the model)", symbol);
    list = list ? glow_str_printf(im->ctx, "%s, %s", list, item) : item;
  }
  if (list)
    glow_note(im->ctx, loc,
              "input '%s' has open dimensions: %s; -bind='NAME=EXTENT' or -bind-input='%s=...' "
              "closes them",
              name, list, name);
}

void glow_onnx_input_types(GlowOnnxImporter *im, const GlowOnnxOptions *o, const GlowStr *names,
                           const GlowWireSpan *protos, uint32_t count, const GlowType **types) {
  Open *opens = GLOW_NEW_ARRAY(im->arena, Open, count);
  im->binds = (GlowBinds){.ctx = im->ctx, .arena = im->arena};
  uint32_t next = 0;
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  for (uint32_t i = 0; i < count && !im->ctx->too_many_errors; i++) {
    const char *what = glow_str_printf(im->ctx, "input '%s'", names[i]);
    if (protos[i].at)
      opens[i].type = read_type(im, protos[i], loc, what, opens[i].names, 1);
    else
      glow_error(im->ctx, loc, "%s has no type", what);
  }
  for (uint32_t i = 0; i < count; i++)
    opens[i].type = with_symbols(im, &opens[i], &next);
  im->binds.option = "-bind";
  for (uint32_t i = 0; o && i < o->nbinds; i++)
    for (const char *s = o->binds[i];; s++) {
      const char *end = end_of_bind(s);
      apply_bind(im, s, end);
      s = end;
      if (!*s)
        break;
    }
  im->binds.option = "-bind-input";
  for (uint32_t i = 0; o && i < o->nbind_inputs; i++)
    apply_bind_input(im, o->bind_inputs[i], names, opens, count);
  im->binds.option = "-bind";
  glow_binds_take_names(&im->binds);
  glow_binds_resolve(&im->binds);
  for (uint32_t i = 0; i < count; i++) {
    types[i] = substitute(im, opens[i].type, names[i]);
    if (types[i])
      glow_module_add_extents(im->m, types[i]);
    if (types[i] && !im->quiet)
      note_open(im, names[i], &opens[i], types[i]);
  }
}
