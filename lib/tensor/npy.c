/* NumPy's .npy files: one array each, a short text header, then the bytes in C order.
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 * The header is a Python dict with exactly the keys descr, fortran_order and shape; this reader
 * accepts that literal and nothing more general. */
#include <string.h>

#include "tensor/formats.h"

typedef struct Npy {
  const char *at, *end; /* the part of the header that is still to be read */
  const char *error;
  GlowKind kind;
  uint32_t rank;
  GlowDim dims[GLOW_MAX_RANK];
} Npy;

static bool fail(Npy *n, const char *error) {
  if (!n->error)
    n->error = error;
  return false;
}

static void skip_space(Npy *n) {
  while (n->at < n->end && (*n->at == ' ' || *n->at == '\t' || *n->at == '\n' || *n->at == '\r'))
    n->at++;
}

/* Takes c if it is next. */
static bool take(Npy *n, char c) {
  skip_space(n);
  if (n->at == n->end || *n->at != c)
    return false;
  n->at++;
  return true;
}

/* A Python string without escapes. */
static bool take_string(Npy *n, const char **s, size_t *length) {
  skip_space(n);
  if (n->at == n->end || (*n->at != '\'' && *n->at != '"'))
    return fail(n, "malformed header");
  const char *close = memchr(n->at + 1, *n->at, (size_t)(n->end - n->at - 1));
  if (!close)
    return fail(n, "malformed header");
  *s = n->at + 1;
  *length = (size_t)(close - *s);
  n->at = close + 1;
  return true;
}

static bool is(const char *s, size_t length, const char *word) {
  return strlen(word) == length && !memcmp(s, word, length);
}

static bool take_descr(Npy *n) {
  const char *s;
  size_t length;
  skip_space(n);
  if (n->at < n->end && *n->at == '[')
    return fail(n, "records (structured dtypes) are not supported");
  if (!take_string(n, &s, &length))
    return false;
  bool byte = length == 3 && s[2] == '1'; /* one byte has no byte order: "<u1" is "|u1" */
  if (length > 0 && (s[0] == '>' || s[0] == '!') && !byte)
    return fail(n, "big-endian data are not supported");
  for (int k = 0; k < GLOW_KIND_COUNT; k++) {
    const char *npy = glow_kind_info[k].npy;
    if (npy && strlen(npy) == length && length > 1 && !memcmp(npy + 1, s + 1, length - 1) &&
        (byte || s[0] == '<' || s[0] == '=')) {
      n->kind = (GlowKind)k;
      return true;
    }
  }
  return fail(n, "an element type that is not supported");
}

static bool take_order(Npy *n, bool *fortran) {
  skip_space(n);
  size_t left = (size_t)(n->end - n->at);
  *fortran = left >= 4 && !memcmp(n->at, "True", 4);
  if (!*fortran && !(left >= 5 && !memcmp(n->at, "False", 5)))
    return fail(n, "malformed header");
  n->at += *fortran ? 4 : 5;
  return true;
}

static bool take_shape(Npy *n) {
  if (!take(n, '('))
    return fail(n, "malformed header");
  while (!take(n, ')')) {
    int64_t size = 0;
    const char *start = n->at;
    for (; n->at < n->end && *n->at >= '0' && *n->at <= '9'; n->at++)
      if (__builtin_mul_overflow(size, 10, &size) ||
          __builtin_add_overflow(size, *n->at - '0', &size))
        return fail(n, "an extent is too large");
    if (n->at == start)
      return fail(n, "malformed header");
    if (n->at < n->end && *n->at == 'L') /* Python 2 wrote 3L for 3 */
      n->at++;
    if (n->rank == GLOW_MAX_RANK)
      return fail(n, "the rank is over 8");
    n->dims[n->rank++] = GLOW_EXACT(size);
    if (!take(n, ',')) {
      if (!take(n, ')'))
        return fail(n, "malformed header");
      break;
    }
  }
  return true;
}

static bool take_dict(Npy *n) {
  unsigned seen = 0;
  bool fortran = false;
  if (!take(n, '{'))
    return fail(n, "malformed header");
  while (!take(n, '}')) {
    const char *key;
    size_t length;
    if (!take_string(n, &key, &length))
      return false;
    unsigned bit = is(key, length, "descr")           ? 1
                   : is(key, length, "fortran_order") ? 2
                   : is(key, length, "shape")         ? 4
                                                      : 0;
    if (!bit || (seen & bit) || !take(n, ':'))
      return fail(n, "malformed header");
    seen |= bit;
    if (!(bit == 1 ? take_descr(n) : bit == 2 ? take_order(n, &fortran) : take_shape(n)))
      return false;
    if (!take(n, ',') && !(n->at < n->end && *n->at == '}'))
      return fail(n, "malformed header");
  }
  skip_space(n);
  if (seen != 7 || n->at != n->end)
    return fail(n, "malformed header");
  if (fortran && n->rank > 1)
    return fail(n, "Fortran order is not supported");
  return true;
}

/* Finds the header and returns the offset of the data, or 0 with n->error set. */
static size_t find_header(Npy *n, const unsigned char *bytes, size_t size) {
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
    n->error = "not an .npy file";
    return 0;
  }
  unsigned version = bytes[6];
  if (version < 1 || version > 3) {
    n->error = "an unknown version of the format";
    return 0;
  }
  size_t start = version == 1 ? 10 : 12, length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1 && size >= start)
    length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (size < start || length > size - start) {
    n->error = "the file ends inside its header";
    return 0;
  }
  n->at = (const char *)bytes + start;
  n->end = n->at + length;
  return start + length;
}

const GlowType *glow_npy_find(GlowContext *ctx, const char *name, const void *data, size_t size,
                              const void **elements) {
  Npy n = {0};
  GlowLoc at = glow_loc_file(ctx, name);
  size_t start = find_header(&n, data, size);
  if (start && take_dict(&n))
    n.error = glow_type_check_dims(n.kind, n.rank, n.dims);
  if (n.error) {
    glow_error(ctx, at, "%s", n.error);
    return NULL;
  }
  const GlowType *type = glow_type_tensor(ctx, n.kind, n.rank, n.dims);
  *elements = (const char *)data + start;
  return glow_type_check_size(ctx, at, type, size - start) ? type : NULL;
}

GlowTensor *glow_npy_read(GlowContext *ctx, const char *name, const void *data, size_t size) {
  const void *elements;
  const GlowType *type = glow_npy_find(ctx, name, data, size, &elements);
  if (!type)
    return NULL;
  GlowTensor *t = glow_tensor_create(ctx, type);
  if (t->bytes)
    memcpy(t->data, elements, t->bytes);
  return t;
}

bool glow_npy_can_hold(const GlowType *type) {
  return glow_type_is_static(type) && glow_kind_info[type->kind].npy != NULL;
}

void glow_npy_write(GlowText *out, const GlowTensor *t) {
  GlowContext *ctx = out->ctx;
  GLOW_CHECK(ctx, glow_npy_can_hold(t->type), "a type that .npy cannot hold");
  GlowText dict;
  GlowDefer defer, plain_defer;
  glow_text_init(&dict, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &dict);
  glow_text_printf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                   glow_kind_info[t->type->kind].npy);
  for (uint32_t i = 0; i < t->type->rank; i++)
    glow_text_printf(&dict,
                     t->type->rank == 1 ? "%lld,"
                     : i                ? ", %lld"
                                        : "%lld",
                     (long long)t->type->dims[i].size);
  glow_text_puts(&dict, "), }");
  while ((10 + dict.size + 1) % 64)
    glow_text_putc(&dict, ' ');
  glow_text_putc(&dict, '\n');

  GlowTensor *plain = t->type->layout ? glow_tensor_plain(ctx, t) : NULL;
  glow_defer_push(ctx, &plain_defer, glow_tensor_free_fn, plain);
  const unsigned char head[10] = {0x93,
                                  'N',
                                  'U',
                                  'M',
                                  'P',
                                  'Y',
                                  1,
                                  0,
                                  (unsigned char)dict.size,
                                  (unsigned char)(dict.size >> 8)};
  glow_text_bytes(out, head, sizeof head);
  glow_text_bytes(out, dict.data, dict.size);
  glow_text_bytes(out, plain ? plain->data : t->data, plain ? plain->bytes : t->bytes);
  glow_defer_pop(ctx, &plain_defer, true);
  glow_defer_pop(ctx, &defer, true);
}
