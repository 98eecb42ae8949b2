/* Reading files of ranges: see ranges.h. A line is read into fields by key, then checked as a
 * whole; faults of all lines are reported. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "num/range.h"
#include "quantize/ranges.h"
#include "support/json.h"

enum { MAX_LINE = 1 << 20 };

/* What stands behind a key. */
typedef enum Form {
  TEXT,
  WHOLE,
  NUMBER,
  ENDS,
  BINS
} Form; /* ENDS: a number, or a list of numbers */

#define KEYS(KEY)                                                                                  \
  KEY(glow, TEXT)                                                                                  \
  KEY(version, WHOLE)                                                                              \
  KEY(module, TEXT)                                                                                \
  KEY(function, TEXT)                                                                              \
  KEY(text, TEXT)                                                                                  \
  KEY(samples, WHOLE)                                                                              \
  KEY(value, TEXT)                                                                                 \
  KEY(op, TEXT)                                                                                    \
  KEY(type, TEXT)                                                                                  \
  KEY(nan, WHOLE)                                                                                  \
  KEY(inf, WHOLE)                                                                                  \
  KEY(min, ENDS)                                                                                   \
  KEY(max, ENDS)                                                                                   \
  KEY(exponent, WHOLE)                                                                             \
  KEY(bins, BINS)                                                                                  \
  KEY(channels, WHOLE)                                                                             \
  KEY(mean, ENDS)                                                                                  \
  KEY(keep, TEXT)                                                                                  \
  KEY(why, TEXT)                                                                                   \
  KEY(kind, TEXT)                                                                                  \
  KEY(scale, NUMBER)                                                                               \
  KEY(offset, WHOLE)

typedef enum Key {
#define KEY(name, form) KEY_##name,
  KEYS(KEY)
#undef KEY
      KEY_COUNT
} Key;

static const char *const names[] = {
#define KEY(name, form) #name,
    KEYS(KEY)
#undef KEY
};
static const Form forms[] = {
#define KEY(name, form) form,
    KEYS(KEY)
#undef KEY
};

#define BIT(key) (1u << KEY_##key)

typedef struct Line {
  GlowContext *ctx;
  GlowLoc loc;
  const char *problem; /* NULL: none so far */
  int depth;           /* 1: between the braces; 2: in a list; 3: in a bin */
  Key key;
  uint32_t seen, listed; /* a bit for each key; for those with a list of numbers */
  GlowStr text[KEY_COUNT];
  int64_t whole[KEY_COUNT];
  double number[KEY_COUNT];
  GlowRange range; /* gets bins and channels */
  int64_t pair[2]; /* of the bin that is being read */
  uint32_t npair;
} Line;

/* ---- Fields ---------------------------------------------------------------------------------- */

static bool fail(Line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(Line *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, l->ctx);
  glow_defer_push(l->ctx, &release, glow_text_release_fn, &text);
  glow_text_vprintf(&text, format, args);
  va_end(args);
  l->problem = glow_str_n(l->ctx, text.data, text.size);
  glow_defer_pop(l->ctx, &release, true);
  return false;
}

static bool take_key(Line *l, const GlowJsonToken *t) {
  for (int k = 0; k < KEY_COUNT; k++)
    if (strlen(names[k]) == t->length && !memcmp(names[k], t->text, t->length)) {
      l->key = (Key)k;
      if (l->seen >> k & 1)
        return fail(l, "'%s' is given twice", names[k]);
      l->seen |= 1u << k;
      return true;
    }
  int shown = t->length < 64 ? (int)t->length : 64;
  GlowStr word = glow_str_printf(l->ctx, "%.*s", shown, t->text);
  const char *near = glow_nearest(word, names, KEY_COUNT);
  return near ? fail(l, "unknown key '%s'; did you mean '%s'?", word, near)
              : fail(l, "unknown key '%s'", word);
}

static bool take_scalar(Line *l, const GlowJsonToken *t) {
  static const char *const wanted[] = {"a text", "a whole number", "a number", "a number or a list",
                                       "a list"};
  Form form = forms[l->key];
  bool whole = t->event == GLOW_JSON_INTEGER;
  if (form == TEXT && t->event == GLOW_JSON_STRING) {
    if (!t->length || t->length > GLOW_MAX_NAME || memchr(t->text, 0, t->length))
      return fail(l, "'%s' is empty or longer than %d bytes", names[l->key], GLOW_MAX_NAME);
    l->text[l->key] = glow_str_n(l->ctx, t->text, t->length);
    return true;
  }
  if (form == WHOLE && whole) {
    l->whole[l->key] = t->integer;
    return true;
  }
  if ((form == NUMBER || form == ENDS) && (whole || t->event == GLOW_JSON_DOUBLE)) {
    l->number[l->key] = whole ? (double)t->integer : t->number;
    return true;
  }
  return fail(l, "'%s' wants %s", names[l->key], wanted[form]);
}

static bool take_bin(Line *l) {
  GlowRange *r = &l->range;
  int64_t place = l->pair[0], count = l->pair[1];
  int64_t last = r->bins.count ? (int64_t)r->bins.data[r->bins.count - 1].place : -1;
  if (l->npair != 2 || place <= last || place >= GLOW_RANGE_BINS + GLOW_OFF_BY_ONE || count < 1)
    return fail(l, "a bin is a number from 0 to %d, larger than the one before, and a count",
                GLOW_RANGE_BINS - 1);
  glow_vec_push(l->ctx->arena, &r->bins, ((GlowRangeBin){(uint32_t)place, count}));
  return true;
}

static bool in_bins(Line *l, const GlowJsonToken *t) {
  if (l->depth == 2 && t->event == GLOW_JSON_ARRAY) {
    l->depth = 3;
    l->npair = 0;
    return true;
  }
  if (t->event == GLOW_JSON_ARRAY_END) {
    l->depth--;
    return l->depth == 1 || take_bin(l);
  }
  if (l->depth == 2 || t->event != GLOW_JSON_INTEGER || l->npair == 2)
    return fail(l, "'bins' has pairs of whole numbers");
  l->pair[l->npair++] = t->integer;
  return true;
}

/* A number of a list of ends, or its end. */
static bool in_ends(Line *l, const GlowJsonToken *t) {
  bool whole = t->event == GLOW_JSON_INTEGER;
  if (t->event == GLOW_JSON_ARRAY_END)
    return l->depth = 1, true;
  double v = whole ? (double)t->integer : t->event == GLOW_JSON_DOUBLE ? t->number : NAN;
  if (!(fabs(v) <= FLT_MAX) || (l->key == KEY_min && v > 0) || (l->key == KEY_max && v < 0))
    return fail(l, "'%s' of channels has finite floats%s", names[l->key],
                l->key == KEY_min   ? " up to 0"
                : l->key == KEY_max ? " from 0"
                                    : "");
  GlowArena *arena = l->ctx->arena;
  if (l->key == KEY_min)
    glow_vec_push(arena, &l->range.low, (float)v);
  else if (l->key == KEY_max)
    glow_vec_push(arena, &l->range.high, (float)v);
  else
    glow_vec_push(arena, &l->range.mean, (float)v);
  return true;
}

static bool on_token(void *user, const GlowJsonToken *t) {
  Line *l = user;
  if (l->depth >= 2)
    return forms[l->key] == ENDS ? in_ends(l, t) : in_bins(l, t);
  if (l->depth == 0)
    return t->event == GLOW_JSON_OBJECT ? (l->depth = 1, true) : fail(l, "a line is an object");
  if (t->event == GLOW_JSON_OBJECT_END)
    return l->depth = 0, true;
  if (t->event == GLOW_JSON_KEY)
    return take_key(l, t);
  if (t->event == GLOW_JSON_ARRAY && (forms[l->key] == BINS || forms[l->key] == ENDS)) {
    l->listed |= 1u << l->key;
    return l->depth = 2, true;
  }
  return take_scalar(l, t);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool has(const Line *l, uint32_t keys) { return (l->seen & keys) == keys; }

/* Whether all of these keys are there, or none; *there says which. */
static bool all_or_none(Line *l, uint32_t keys, const char *list, bool *there) {
  *there = has(l, keys);
  return *there || !(l->seen & keys) || fail(l, "%s belong together", list);
}

static bool take_head(Line *l, GlowRanges *r) {
  const uint32_t keys =
      BIT(glow) | BIT(version) | BIT(module) | BIT(function) | BIT(text) | BIT(samples);
  if (l->seen & ~keys || strcmp(l->text[KEY_glow], "ranges") != 0)
    return fail(l, "this is no file of ranges");
  if (!has(l, BIT(version)) || l->whole[KEY_version] != 1)
    return fail(l, "its version is not 1");
  if (has(l, BIT(samples)) && l->whole[KEY_samples] < 1)
    return fail(l, "it is of %" PRId64 " samples", l->whole[KEY_samples]);
  GlowStr text = l->text[KEY_text];
  if (text && (strspn(text, "0123456789abcdef") != 16 || glow_str_length(text) != 16))
    return fail(l, "'text' is no checksum: 16 hexadecimal digits");
  r->module = l->text[KEY_module];
  r->function = l->text[KEY_function];
  r->samples = l->whole[KEY_samples];
  for (const char *c = text; c && *c; c++)
    r->text = r->text << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
  return true;
}

static bool take_bounds(Line *l, GlowRange *r) {
  double min = l->number[KEY_min], max = l->number[KEY_max];
  int64_t e = l->whole[KEY_exponent];
  if (!(fabs(min) <= FLT_MAX && fabs(max) <= FLT_MAX))
    return fail(l, "'min' and 'max' are finite floats");
  if (min > max)
    return fail(l, "'min' is %.9g, larger than 'max', %.9g", min, max);
  if (e < GLOW_RANGE_LEAST_EXPONENT || e > GLOW_RANGE_MOST_EXPONENT)
    return fail(l, "'exponent' is not from %d to %d", GLOW_RANGE_LEAST_EXPONENT,
                GLOW_RANGE_MOST_EXPONENT);
  r->min = (float)min;
  r->max = (float)max;
  r->exponent = (int)e;
  return true;
}

static bool take_parameters(Line *l, GlowRange *r) {
  GlowStr kind = l->text[KEY_kind];
  bool u8 = !strcmp(kind, "u8");
  int64_t offset = l->whole[KEY_offset];
  double scale = l->number[KEY_scale];
  if (!u8 && strcmp(kind, "i8") != 0)
    return fail(l, "'kind' is '%s', which is neither u8 nor i8", kind);
  if (!((float)scale >= FLT_MIN && scale <= FLT_MAX))
    return fail(l, "'scale' is %.9g, which is no positive, normal float", scale);
  if (offset < (u8 ? 0 : -128) || offset > (u8 ? 255 : 127))
    return fail(l, "'offset' is %" PRId64 ", which %s cannot hold", offset, kind);
  r->kind = u8 ? GLOW_KIND_U8 : GLOW_KIND_I8;
  r->scale = (float)scale;
  r->offset = (int32_t)offset;
  return true;
}

/* A line about channels says nothing else. */
static bool take_channels(Line *l, GlowRange *r) {
  const uint32_t ends = BIT(min) | BIT(max), lists = ends | BIT(mean),
                 keys = BIT(value) | BIT(channels);
  bool bounded = l->seen & ends;
  if (l->seen & ~(keys | lists) || !(l->seen & lists) || l->listed != (l->seen & lists) ||
      (bounded && !has(l, ends)))
    return fail(l, "'channels' belongs together with lists 'mean', 'min' and 'max' alone");
  r->axis = l->whole[KEY_channels];
  if (r->axis < 0 || r->axis >= GLOW_MAX_RANK)
    return fail(l, "'channels' is %" PRId64 ", which is no axis", r->axis);
  if (r->low.count != r->high.count)
    return fail(l, "'min' has %u entries, and 'max' %u", r->low.count, r->high.count);
  return !bounded || !has(l, BIT(mean)) || r->low.count == r->mean.count ||
         fail(l, "'mean' has %u entries, and 'min' %u", r->mean.count, r->low.count);
}

/* Fills the range of a line about a value. */
static bool take_value(Line *l, GlowRange *r) {
  if (l->seen & (BIT(glow) | BIT(version) | BIT(module) | BIT(function) | BIT(text) | BIT(samples)))
    return fail(l, "this belongs into the first line");
  r->axis = -1;
  if (has(l, BIT(channels)))
    return take_channels(l, r);
  if (l->listed & ~BIT(bins) || has(l, BIT(mean)))
    return fail(l, "lists 'mean', 'min' and 'max' need 'channels'");
  if (!all_or_none(l, BIT(op) | BIT(type) | BIT(nan) | BIT(inf), "'op', 'type', 'nan' and 'inf'",
                   &r->observed) ||
      !all_or_none(l, BIT(min) | BIT(max) | BIT(exponent) | BIT(bins),
                   "'min', 'max', 'exponent' and 'bins'", &r->bounded) ||
      !all_or_none(l, BIT(kind) | BIT(scale) | BIT(offset), "'kind', 'scale' and 'offset'",
                   &r->fixed))
    return false;
  r->keep = has(l, BIT(keep));
  if (r->bounded && !r->observed)
    return fail(l, "'min' and 'max' need 'op', 'type', 'nan' and 'inf'");
  if (!r->observed && !r->keep && !r->fixed)
    return fail(l, "it says nothing about the value");
  if (r->keep && strcmp(l->text[KEY_keep], "float") != 0)
    return fail(l, "'keep' is '%s', which is not float", l->text[KEY_keep]);
  if (l->whole[KEY_nan] < 0 || l->whole[KEY_inf] < 0)
    return fail(l, "'nan' and 'inf' are counts");
  r->op = l->text[KEY_op];
  r->type = l->text[KEY_type];
  r->nan = l->whole[KEY_nan];
  r->inf = l->whole[KEY_inf];
  r->why = l->text[KEY_why];
  return (!r->bounded || take_bounds(l, r)) && (!r->fixed || take_parameters(l, r));
}

/* Adds what a line says to what others have said of the value. */
static bool merge(Line *l, GlowRanges *r, const GlowRange *from) {
  GlowContext *ctx = l->ctx;
  uintptr_t at = (uintptr_t)glow_map_get(r->by_value, from->value);
  if (!at) {
    glow_vec_push(ctx->arena, &r->list, *from);
    glow_map_set(r->by_value, from->value, (void *)(uintptr_t)r->list.count);
    return true;
  }
  GlowRange *to = &r->list.data[at - 1], old = *to;
  if ((old.observed && from->observed) || (old.keep && from->keep) || (old.fixed && from->fixed) ||
      (old.axis >= 0 && from->axis >= 0))
    return fail(l, "'%s' stands in line %u already", from->value, old.loc.line);
  if (from->observed) {
    *to = *from;
    to->loc = old.loc;
  }
  if (old.axis >= 0 || from->axis >= 0) {
    const GlowRange *c = old.axis >= 0 ? &old : from;
    to->axis = c->axis;
    to->mean.data = c->mean.data;
    to->mean.count = c->mean.count;
    to->low.data = c->low.data;
    to->low.count = c->low.count;
    to->high.data = c->high.data;
    to->high.count = c->high.count;
  }
  if (old.keep || from->keep) {
    to->keep = true;
    to->why = old.keep ? old.why : from->why;
  }
  if (old.fixed || from->fixed) {
    const GlowRange *f = old.fixed ? &old : from;
    to->fixed = true;
    to->kind = f->kind;
    to->scale = f->scale;
    to->offset = f->offset;
  }
  return true;
}

static bool read_line(Line *l, GlowRanges *r, const char *data, size_t size) {
  const char *error;
  if (size > MAX_LINE)
    return fail(l, "the line is longer than %d bytes", MAX_LINE);
  if (!glow_json_read(l->ctx, data, size, on_token, l, &error))
    return l->problem ? false : fail(l, "%s", error);
  if (l->loc.line == 1)
    return has(l, BIT(glow)) ? take_head(l, r) : fail(l, "this is no file of ranges");
  if (!has(l, BIT(value)))
    return fail(l, "there is no 'value'");
  l->range.value = l->text[KEY_value];
  l->range.loc = l->loc;
  return take_value(l, &l->range) && merge(l, r, &l->range);
}

GlowRanges *glow_ranges_parse(GlowContext *ctx, const char *name, const char *data, size_t size) {
  GlowRanges *r = GLOW_NEW(ctx->arena, GlowRanges);
  r->by_value = glow_map_create(ctx->arena);
  GlowLoc loc = glow_loc_file(ctx, name);
  bool ok = true;
  for (size_t at = 0; at < size || !loc.line;) {
    const char *line = data + at, *end = at < size ? memchr(line, '\n', size - at) : NULL;
    size_t length = end ? (size_t)(end - line) : size - at;
    loc.line++;
    Line l = {.ctx = ctx, .loc = loc};
    if ((length || loc.line == 1) && !read_line(&l, r, line, length)) {
      glow_error(ctx, loc, "%s", l.problem);
      ok = false;
      if (loc.line == 1) /* of another file, all lines are wrong */
        break;
    }
    at += length + 1;
  }
  return ok ? r : NULL;
}

static void close_input(void *in) { glow_input_close(in); }

GlowRanges *glow_ranges_read(GlowContext *ctx, const char *path) {
  GlowInput in;
  GlowDefer close;
  if (!glow_input_open(ctx, path, false, GLOW_NOWHERE, &in))
    return NULL;
  glow_defer_push(ctx, &close, close_input, &in);
  GlowRanges *r = glow_ranges_parse(ctx, path, in.data, in.size);
  glow_defer_pop(ctx, &close, true);
  return r;
}

const GlowRange *glow_ranges_find(const GlowRanges *r, GlowStr value) {
  uintptr_t at = (uintptr_t)glow_map_get(r->by_value, value);
  return at ? &r->list.data[at - 1] : NULL;
}
