/* Strings: casts to and from numbers, StringNormalizer, StringConcat, StringSplit. Case mapping
 * comes from the table below, never from a locale; it covers the Latin, Greek, Cyrillic and
 * Armenian letters of living alphabets whose two cases are single code points. */
#include "backend/interp/interp_internal.h"
#include "ops/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/text.h"

static GlowString string_at(const GlowTensor *t, int64_t i) {
  GlowString s;
  memcpy(&s, (const char *)t->data + (size_t)i * sizeof s, sizeof s);
  return s;
}

/* ---- Casts ----------------------------------------------------------------------------------- */

static size_t format_number(char *buf, const GlowTensor *t, int64_t i) {
  const GlowKindInfo *k = &glow_kind_info[t->type->kind];
  GlowScalar v = glow_tensor_get(t, i);
  if (k->cls == GLOW_CLASS_BOOL)
    return (size_t)snprintf(buf, 48, "%s", v.i ? "True" : "False");
  if (k->cls == GLOW_CLASS_UINT)
    return (size_t)snprintf(buf, 48, "%" PRIu64, (uint64_t)v.i);
  if (k->cls == GLOW_CLASS_SINT)
    return (size_t)snprintf(buf, 48, "%" PRId64, v.i);
  return t->type->kind == GLOW_KIND_DOUBLE ? glow_format_double(buf, v.f)
                                           : glow_format_float(buf, (float)v.f);
}

/* The whole string as a number; integers exactly, where they fit 64 bits. */
static bool parse_number(const char *s, size_t length, GlowScalar *v) {
  char *end;
  char text[64];
  if (length == 0 || length >= sizeof text)
    return false;
  memcpy(text, s, length);
  text[length] = 0;
  v->f = glow_parse_double(text, &end);
  if (end != text + length)
    return false;
  v->is_int = strspn(text, "+-0123456789") == length && v->f > -0x1p63 && v->f < 0x1p63;
  if (v->is_int)
    v->i = strtoll(text, NULL, 10);
  return true;
}

bool glow_cast_strings(const GlowNode *n, const GlowTensor *in, GlowTensor *out) {
  GlowContext *ctx = n->block->module->ctx;
  bool from = in->type->kind == GLOW_KIND_STRING, to = out->type->kind == GLOW_KIND_STRING;
  for (int64_t i = 0; i < glow_tensor_elements(in); i++) {
    char buf[48];
    GlowString s = from ? string_at(in, i) : (GlowString){buf, 0};
    if (!from)
      s.length = format_number(buf, in, i);
    GlowScalar v = {0};
    if (to) {
      glow_tensor_set_string(ctx, out, i, s.data, s.length);
    } else if (parse_number(s.data, s.length, &v)) {
      glow_tensor_set(out, i, v);
    } else {
      glow_run_error(n, "element %lld is no number: \"%.*s\"", (long long)i,
                     (int)(s.length > 40 ? 40 : s.length), s.length ? s.data : "");
      return false;
    }
  }
  return true;
}

/* ---- Case ------------------------------------------------------------------------------------ */

/* Capital letters first..last are at this distance from the small ones; with distance 1 they
 * alternate, capital first. Both have encodings of one length. */
static const struct {
  uint16_t first, last;
  int16_t distance;
} letters[] = {
    {'A', 'Z', 32},     {0xC0, 0xD6, 32},    {0xD8, 0xDE, 32},    {0x100, 0x12E, 1},
    {0x132, 0x136, 1},  {0x139, 0x147, 1},   {0x14A, 0x176, 1},   {0x178, 0x178, -121},
    {0x179, 0x17D, 1},  {0x1A0, 0x1A4, 1},   {0x1AF, 0x1AF, 1},   {0x1CD, 0x1DB, 1},
    {0x1DE, 0x1EE, 1},  {0x1F8, 0x21E, 1},   {0x222, 0x232, 1},   {0x386, 0x386, 38},
    {0x388, 0x38A, 37}, {0x38C, 0x38C, 64},  {0x38E, 0x38F, 63},  {0x391, 0x3A1, 32},
    {0x3A3, 0x3AB, 32}, {0x400, 0x40F, 80},  {0x410, 0x42F, 32},  {0x460, 0x480, 1},
    {0x48A, 0x4BE, 1},  {0x4C0, 0x4C0, 15},  {0x4C1, 0x4CD, 1},   {0x4D0, 0x52E, 1},
    {0x531, 0x556, 48}, {0x1E00, 0x1E94, 1}, {0x1EA0, 0x1EFE, 1},
};

static uint32_t change_case(uint32_t code, int action) {
  int32_t c = (int32_t)code;
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
    int32_t first = letters[i].first, last = letters[i].last, d = letters[i].distance;
    bool pairs = d == 1;
    if (action == GLOW_CASE_ACTION_LOWER && c >= first && c <= last &&
        (!pairs || (c - first) % 2 == 0))
      return (uint32_t)(c + d);
    if (action == GLOW_CASE_ACTION_UPPER && c >= first + d && c <= last + d &&
        (!pairs || (c - first) % 2 == 1))
      return (uint32_t)(c - d);
  }
  return code;
}

/* Maps s into out, which has room for as many bytes. */
static void map_case(const GlowString *s, int action, char *out) {
  for (size_t i = 0; i < s->length;) {
    const unsigned char *p = (const unsigned char *)s->data + i;
    size_t left = s->length - i, n = 1;
    uint32_t c = p[0];
    if (c >= 0xC0 && c < 0xE0 && left >= 2) {
      c = (c & 0x1F) << 6 | (p[1] & 0x3F);
      n = 2;
    } else if (c >= 0xE0 && c < 0xF0 && left >= 3) {
      c = (c & 0xF) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
      n = 3;
    } else if (c >= 0x80) {
      out[i++] = (char)c;
      continue;
    }
    c = change_case(c, action);
    if (n == 1) {
      out[i] = (char)c;
    } else if (n == 2) {
      out[i] = (char)(0xC0 | c >> 6);
      out[i + 1] = (char)(0x80 | (c & 0x3F));
    } else {
      out[i] = (char)(0xE0 | c >> 12);
      out[i + 1] = (char)(0x80 | (c >> 6 & 0x3F));
      out[i + 2] = (char)(0x80 | (c & 0x3F));
    }
    i += n;
  }
}

/* ---- StringNormalizer ------------------------------------------------------------------------ */

/* Whether s is a stop word; without case, both sides are compared in lower case. */
static bool is_stopword(const GlowStringNormalizerMembers *m, const GlowString *s, char *a,
                        char *b) {
  for (uint32_t i = 0; i < m->stopwords.count; i++) {
    GlowStr word = glow_array_at(m->stopwords, GlowStr, i);
    GlowString other = {(char *)(uintptr_t)word, glow_str_length(word)};
    if (other.length != s->length)
      continue;
    int action = m->case_sensitive ? GLOW_CASE_ACTION_NONE : GLOW_CASE_ACTION_LOWER;
    map_case(s, action, a);
    map_case(&other, action, b);
    if (memcmp(a, b, s->length) == 0)
      return true;
  }
  return false;
}

static size_t longest(const GlowTensor *x) {
  size_t most = 0;
  for (int64_t i = 0; i < glow_tensor_elements(x); i++) {
    GlowString s = string_at(x, i);
    most = s.length > most ? s.length : most;
  }
  return most;
}

GlowStatus glow_value_string_normalizer(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                        GlowTensor **out) {
  const GlowStringNormalizerMembers *m = n->members;
  const GlowTensor *x = in[0];
  int64_t total = glow_tensor_elements(x), kept = 0;
  GlowArena *arena = glow_arena_create(w->ctx);
  size_t room = longest(x) + 1;
  char *a = glow_arena_alloc(arena, room), *b = glow_arena_alloc(arena, room);
  bool *keep = GLOW_NEW_ARRAY(arena, bool, (size_t)total + 1);
  for (int64_t i = 0; i < total; i++) {
    GlowString s = string_at(x, i);
    keep[i] = !is_stopword(m, &s, a, b);
    kept += keep[i];
  }
  GlowDim dims[2] = {GLOW_EXACT(1), GLOW_EXACT(1)};
  dims[x->type->rank - 1] = GLOW_EXACT(kept ? kept : 1);
  out[0] = glow_tensor_create(w->ctx, glow_type_with_dims(w->ctx, x->type, x->type->rank, dims));
  if (kept == 0)
    glow_tensor_set_string(w->ctx, out[0], 0, "", 0);
  for (int64_t i = 0, k = 0; i < total; i++) {
    GlowString s = string_at(x, i);
    if (!keep[i])
      continue;
    map_case(&s, m->action, a);
    glow_tensor_set_string(w->ctx, out[0], k++, a, s.length);
  }
  glow_arena_destroy(arena);
  return GLOW_OK;
}

/* ---- StringConcat, StringSplit --------------------------------------------------------------- */

/* The offset in t, which broadcasts to `rank` axes, of an element of the result. */
static int64_t broadcast_offset(const GlowTensor *t, uint32_t rank, const int64_t *index) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < t->type->rank; i++) {
    int64_t extent = t->type->dims[i].size;
    offset = offset * extent + (extent == 1 ? 0 : index[rank - t->type->rank + i]);
  }
  return offset;
}

GlowStatus glow_value_string_concat(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                    GlowTensor **out) {
  const GlowType *type;
  int64_t dims[GLOW_MAX_RANK], index[GLOW_MAX_RANK] = {0};
  if (!glow_exec_types(n, (const GlowTensor *const *)in, &type))
    return GLOW_BAD_INPUT;
  out[0] = glow_tensor_create(w->ctx, type);
  for (uint32_t i = 0; i < type->rank; i++)
    dims[i] = type->dims[i].size;
  int64_t total = glow_tensor_elements(out[0]);
  for (int64_t i = 0; i < total; i++) {
    GlowString x = string_at(in[0], broadcast_offset(in[0], type->rank, index));
    GlowString y = string_at(in[1], broadcast_offset(in[1], type->rank, index));
    GlowText t;
    GlowDefer release;
    glow_text_init(&t, w->ctx);
    glow_defer_push(w->ctx, &release, glow_text_release_fn, &t);
    glow_text_bytes(&t, x.data, x.length);
    glow_text_bytes(&t, y.data, y.length);
    glow_tensor_set_string(w->ctx, out[0], i, glow_text_cstr(&t), x.length + y.length);
    glow_defer_pop(w->ctx, &release, true);
    glow_next_index(type->rank, dims, index);
  }
  return GLOW_OK;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Cuts the next part off *s: up to the delimiter, or up to white space if the delimiter is empty.
 * False if no part is left. `last`: all that is left is one part. *ended: it was the last one. */
static bool next_part(GlowString *s, bool *ended, const GlowString *delimiter, bool last,
                      GlowString *part) {
  size_t length = 0, skip;
  bool spaces = delimiter->length == 0;
  while (spaces && s->length && is_space(*s->data)) {
    s->data++;
    s->length--;
  }
  if (*ended || (spaces && s->length == 0))
    return false;
  if (last) {
    length = s->length;
  } else if (spaces) {
    while (length < s->length && !is_space(s->data[length]))
      length++;
  } else {
    while (length < s->length && (s->length - length < delimiter->length ||
                                  memcmp(s->data + length, delimiter->data, delimiter->length)))
      length++;
  }
  *part = (GlowString){s->data, length};
  *ended = length == s->length;
  skip = *ended || spaces ? length : length + delimiter->length;
  s->data += skip;
  s->length -= skip;
  return true;
}

/* Splits s; returns how many parts it has. If y is not NULL, stores them in y from `at` on. */
static int64_t split_element(GlowContext *ctx, const GlowStringSplitMembers *m, GlowString s,
                             GlowTensor *y, int64_t at) {
  /* A default is no interned string. */
  GlowString delimiter = {(char *)(uintptr_t)m->delimiter, strlen(m->delimiter)}, part;
  bool ended = false;
  int64_t count = 0;
  while (next_part(&s, &ended, &delimiter, m->maxsplit >= 0 && count == m->maxsplit, &part)) {
    if (y)
      glow_tensor_set_string(ctx, y, at + count, part.data, part.length);
    count++;
  }
  return count;
}

GlowStatus glow_value_string_split(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                   GlowTensor **out) {
  const GlowStringSplitMembers *m = n->members;
  const GlowTensor *x = in[0];
  const GlowType *t = x->type;
  int64_t total = glow_tensor_elements(x), most = 0;
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, t->dims, sizeof *dims * t->rank);
  out[1] = glow_tensor_create(w->ctx, glow_type_with_kind(w->ctx, t, GLOW_KIND_I64));
  for (int64_t i = 0; i < total; i++) {
    int64_t count = split_element(w->ctx, m, string_at(x, i), NULL, 0);
    glow_tensor_set(out[1], i, (GlowScalar){.is_int = true, .i = count});
    most = count > most ? count : most;
  }
  dims[t->rank] = GLOW_EXACT(most);
  const char *error = glow_type_check_dims(GLOW_KIND_STRING, t->rank + 1, dims);
  if (error) {
    glow_run_error(n, "in its result %s", error);
    return GLOW_BAD_INPUT;
  }
  out[0] = glow_tensor_create(w->ctx, glow_type_with_dims(w->ctx, t, t->rank + 1, dims));
  for (int64_t i = 0; i < total; i++) {
    int64_t count = split_element(w->ctx, m, string_at(x, i), out[0], i * most);
    for (; count < most; count++)
      glow_tensor_set_string(w->ctx, out[0], i * most + count, "", 0);
  }
  return GLOW_OK;
}
