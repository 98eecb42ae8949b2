/* Types in texts. A shape is a single token. It is taken apart here, so that a message can point at
 * the wrong part. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/parse_internal.h"

/* The text inside `<...>`, and its place. */
typedef struct Shape {
  GlowParser *p;
  const GlowToken *token;
  const char *s, *end;
} Shape;

__attribute__((format(printf, 2, 3))) static bool bad(const Shape *h, const char *format, ...) {
  char message[160];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  GlowToken at = *h->token;
  at.col += (uint32_t)(h->s - glow_token_text(h->p, h->token));
  glow_parse_error(h->p, &at, "bad shape: %s", message);
  return false;
}

static void skip_space(Shape *h) {
  while (h->s < h->end && (*h->s == ' ' || *h->s == '\t'))
    h->s++;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool read_extent(Shape *h, int64_t *size) {
  const char *start = h->s;
  int64_t n = 0;
  for (; h->s < h->end && is_digit(*h->s); h->s++) {
    if (n > (GLOW_MAX_ELEMENTS - (*h->s - '0')) / 10) {
      h->s = start;
      return bad(h, "the extent is too large; a tensor has at most %lld elements",
                 (long long)GLOW_MAX_ELEMENTS);
    }
    n = n * 10 + (*h->s - '0');
  }
  *size = n;
  return true;
}

/* The dim of a symbol, with its range if that is declared. */
static GlowDim symbol_dim(GlowParser *p, GlowStr name) {
  const GlowExtent *e = glow_module_extent(p->module, name);
  if (e)
    return glow_dim_ranged(e);
  for (uint32_t i = 0; i < p->rangeless.count; i++)
    if (p->rangeless.data[i] == name)
      return GLOW_SYMBOL(name);
  glow_vec_push(p->arena, &p->rangeless, name);
  return GLOW_SYMBOL(name);
}

static bool read_dim(Shape *h, GlowDim *dim) {
  if (h->s < h->end && is_digit(*h->s)) {
    *dim = GLOW_EXACT(0);
    return read_extent(h, &dim->size);
  }
  if (h->end - h->s > 2 && h->s[0] == '.' && h->s[1] == '.' && is_digit(h->s[2])) {
    h->s += 2;
    *dim = GLOW_BOUND(0);
    return read_extent(h, &dim->size);
  }
  if (h->s < h->end && *h->s == '?') {
    h->s++;
    *dim = GLOW_UNKNOWN;
    return true;
  }
  if (h->end - h->s > 1 && *h->s == '$' && is_letter(h->s[1])) {
    const char *start = ++h->s;
    while (h->s < h->end && (is_letter(*h->s) || is_digit(*h->s)))
      h->s++;
    if (h->s - start > GLOW_MAX_NAME)
      return bad(h, "the name of a symbol is too long");
    *dim = symbol_dim(h->p, glow_str_n(h->p->ctx, start, (size_t)(h->s - start)));
    return true;
  }
  if (h->s < h->end && *h->s == '-')
    return bad(h, "an extent is not negative");
  return bad(h, "expected an extent such as 8, ..8, $N or ?");
}

/* `d0 x d1 x ...`, up to '|' or the end. */
static bool read_dims(Shape *h, GlowDim *dims, uint32_t *rank) {
  *rank = 0;
  skip_space(h);
  if (h->s == h->end || *h->s == '|')
    return true;
  for (;;) {
    if (*rank == GLOW_MAX_RANK)
      return bad(h, "the rank is above %d", GLOW_MAX_RANK);
    if (!read_dim(h, &dims[(*rank)++]))
      return false;
    skip_space(h);
    if (h->s == h->end || *h->s == '|')
      return true;
    if (*h->s != 'x')
      return bad(h, "expected 'x', '|' or '>'");
    h->s++;
    skip_space(h);
  }
}

static const GlowType *with_layout(Shape *h, const GlowType *t) {
  h->s++;
  skip_space(h);
  const char *end = h->end;
  while (end > h->s && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  const char *error = NULL;
  const GlowLayout *layout =
      glow_layout_parse(h->p->ctx, h->s, (size_t)(end - h->s), t->rank, &error);
  if (layout)
    return glow_type_with_layout(h->p->ctx, t, layout);
  bad(h, "%s", error ? error : "bad layout");
  return NULL;
}

static const GlowType *read_shape(Shape *h, GlowKind kind) {
  GlowContext *ctx = h->p->ctx;
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  skip_space(h);
  if (h->s < h->end && *h->s == '*') {
    h->s++;
    skip_space(h);
    if (h->s == h->end)
      return glow_type_unranked(ctx, kind);
    bad(h, "expected '>' after '*'");
    return NULL;
  }
  if (!read_dims(h, dims, &rank))
    return NULL;
  const char *error = glow_type_check_dims(kind, rank, dims);
  if (error) {
    h->s = glow_token_text(h->p, h->token);
    bad(h, "%s", error);
    return NULL;
  }
  const GlowType *t = glow_type_tensor(ctx, kind, rank, dims);
  return h->s < h->end ? with_layout(h, t) : t;
}

const GlowType *glow_parse_tensor_type(GlowParser *p, const GlowToken *kind, GlowQuantText quant,
                                       const GlowToken *shape) {
  const char *s = glow_token_text(p, shape);
  Shape h = {p, shape, s + 1, s + shape->length - (shape->closed ? 1 : 0)};
  if (!shape->closed) {
    h.s = h.end;
    bad(&h, "expected '>'");
    return glow_type_error(p->ctx);
  }
  GlowKind k = glow_kind_from_name(glow_token_text(p, kind), kind->length);
  const GlowType *t = read_shape(&h, k);
  if (!t || quant.bad)
    return glow_type_error(p->ctx);
  if (!quant.present)
    return t;
  if (!glow_kind_is_integer(k)) {
    glow_parse_error(p, kind, "only integer kinds are quantized, not %s", glow_kind_info[k].name);
    return glow_type_error(p->ctx);
  }
  if (!glow_kind_holds(k, quant.offset)) {
    glow_parse_error(p, &quant.at, "the offset %d is no %s", quant.offset, glow_kind_info[k].name);
    return glow_type_error(p->ctx);
  }
  return glow_type_with_quant(p->ctx, t, true, quant.scale, quant.offset);
}

static bool is_letter_token(const GlowParser *p, const GlowToken *t, char c) {
  return t->length == 1 && *glow_token_text(p, t) == c;
}

GlowQuantText glow_parse_quant(GlowParser *p, const GlowToken *s, const GlowToken *scale,
                               const GlowToken *o, const GlowToken *offset) {
  GlowQuantText q = {.present = true, .at = *offset};
  int64_t n = 0;
  q.scale = glow_parse_float(glow_token_text(p, scale), NULL);
  if (!is_letter_token(p, s, 'S') || !is_letter_token(p, o, 'O')) {
    glow_parse_error(p, s, "quantization is written [S:scale O:offset]");
    q.bad = true;
  } else if (!(q.scale >= FLT_MIN) || isinf(q.scale)) {
    glow_parse_error(p, scale, "the scale must be a positive, normal float");
    q.bad = true;
  } else if (memchr(glow_token_text(p, offset), '.', offset->length) ||
             memchr(glow_token_text(p, offset), 'n', offset->length)) {
    glow_parse_error(p, offset, "the offset must be an integer");
    q.bad = true;
  } else {
    q.bad = !glow_parse_i64(p, offset, INT32_MIN, INT32_MAX, "the offset", &n);
  }
  q.offset = (int32_t)n;
  return q;
}

void glow_parse_type_open(GlowParser *p, const GlowToken *t) {
  if (++p->type_depth > GLOW_MAX_TYPE_DEPTH)
    glow_parse_fatal(p, t, "types nest more than %d deep", GLOW_MAX_TYPE_DEPTH);
}

const GlowType *glow_parse_seq_type(GlowParser *p, const GlowType *elem, const GlowToken *count) {
  int64_t most = -1;
  p->type_depth--;
  if (count && !glow_parse_i64(p, count, 0, GLOW_MAX_ELEMENTS, "the largest length", &most))
    return glow_type_error(p->ctx);
  return glow_type_is_error(elem) ? elem : glow_type_seq(p->ctx, elem, most);
}

const GlowType *glow_parse_opt_type(GlowParser *p, const GlowType *elem) {
  p->type_depth--;
  return glow_type_is_error(elem) ? elem : glow_type_opt(p->ctx, elem);
}
