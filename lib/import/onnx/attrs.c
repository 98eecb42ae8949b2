/* Attributes of a node, by name and type. An attribute that a rule asks for counts as used; node.c
 * reports the others. */
#include <string.h>
#include <strings.h>

#include "import/onnx/importer.h"

GlowOnnxAttr *glow_onnx_find_attr(GlowOnnxNode *n, const char *name) {
  for (uint32_t i = 0; i < n->nattrs; i++)
    if (strcmp(n->attrs[i].name, name) == 0)
      return &n->attrs[i];
  return NULL;
}

/* The type of an attribute; models before IR version 2 leave it to the field that is set. */
static GlowOnnxAttrType attr_type(const GlowOnnxAttribute *a) {
  if (a->type.v)
    return (GlowOnnxAttrType)a->type.v;
  return a->f.has           ? GLOW_ONNX_ATTR_FLOAT
         : a->i.has         ? GLOW_ONNX_ATTR_INT
         : a->s.at          ? GLOW_ONNX_ATTR_STRING
         : a->t.at          ? GLOW_ONNX_ATTR_TENSOR
         : a->g.at          ? GLOW_ONNX_ATTR_GRAPH
         : a->tp.at         ? GLOW_ONNX_ATTR_TYPE
         : a->ints.count    ? GLOW_ONNX_ATTR_INTS
         : a->floats.count  ? GLOW_ONNX_ATTR_FLOATS
         : a->strings.count ? GLOW_ONNX_ATTR_STRINGS
                            : GLOW_ONNX_ATTR_UNDEFINED;
}

bool glow_onnx_attribute(GlowOnnxNode *n, const char *name, GlowOnnxAttrType type,
                         GlowOnnxAttribute *a, GlowOnnxAttr **attr) {
  static const char *const names[] = {"nothing",        "a float", "an integer", "a string",
                                      "a tensor",       "a graph", "floats",     "integers",
                                      "strings",        "tensors", "graphs",     "sparse tensor",
                                      "sparse tensors", "a type",  "types"};
  *attr = glow_onnx_find_attr(n, name);
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

bool glow_onnx_has(GlowOnnxNode *n, const char *name) {
  return glow_onnx_find_attr(n, name) != NULL;
}

void glow_onnx_ignore(GlowOnnxNode *n, const char *name) {
  GlowOnnxAttr *attr = glow_onnx_find_attr(n, name);
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
  for (uint32_t i = 0; i < e->count; i++)
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
  for (uint32_t i = 0; i < ints.count; i++) {
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
  for (uint32_t i = 0; glow_wire_each_number(&n->im->file, &a.floats, &number); i++)
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
