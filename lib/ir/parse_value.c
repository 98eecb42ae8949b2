/* Attribute values. They are collected as a flat list of items, then stored into typed members by
 * the members' descriptors. Operators, module headers, `with` and `random` share this. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/parse_internal.h"

enum { MAX_ITEM_LENGTH = (1 << 24) - 1 };

/* ---- Collecting ------------------------------------------------------------------------------ */
static GlowItem *push(GlowParser *p, GlowValueTag tag, const GlowToken *t) {
  if (p->items.count == 0)
    p->anchor = p->counted = *t;
  if (p->items.count >= GLOW_MAX_LIST_ITEMS)
    glow_parse_fatal(p, t, "a list of more than %d values; put them into a resource",
                     GLOW_MAX_LIST_ITEMS);
  else if (t->length > MAX_ITEM_LENGTH)
    glow_parse_fatal(p, t, "a literal of %u bytes is too long", t->length);
  GlowItem item = {.offset = t->offset, .tag = tag, .length = t->length & MAX_ITEM_LENGTH};
  glow_vec_push(p->arena, &p->items, item);
  return &p->items.data[p->items.count - 1];
}

void glow_parse_item(GlowParser *p, GlowValueTag tag, const GlowToken *t) { push(p, tag, t); }

void glow_parse_type_item(GlowParser *p, const GlowType *type) {
  GlowToken at = p->last;
  push(p, GLOW_TAG_TYPE, &at)->length = p->list_types.count & MAX_ITEM_LENGTH;
  glow_vec_push(p->arena, &p->list_types, type);
}

uint32_t glow_parse_list_open(GlowParser *p, const GlowToken *t) {
  if (++p->list_depth > GLOW_MAX_LIST_DEPTH)
    glow_parse_fatal(p, t, "lists nest more than %d deep", GLOW_MAX_LIST_DEPTH);
  push(p, GLOW_TAG_LIST, t);
  return p->items.count - 1;
}

void glow_parse_list_close(GlowParser *p, uint32_t open) {
  p->list_depth--;
  p->items.data[open].end = p->items.count;
}

void glow_parse_drop_items(GlowParser *p) {
  p->items.count = 0;
  p->list_types.count = 0;
  p->list_depth = p->type_depth = 0;
}

GlowToken glow_item_token(GlowParser *p, const GlowItem *item) {
  GlowToken t = item->offset < p->counted.offset ? p->anchor : p->counted;
  for (; t.offset < item->offset; t.offset++) {
    t.col++;
    if (p->text[t.offset] == '\n') {
      t.line++;
      t.col = 1;
    }
  }
  p->counted = t;
  t.length = item->tag == GLOW_TAG_TYPE ? 1 : item->length;
  return t;
}

/* ---- Scalars --------------------------------------------------------------------------------- */
static bool mismatch(GlowParser *p, const GlowItem *item, const char *key, const char *expected) {
  GlowToken t = glow_item_token(p, item);
  if (key)
    glow_parse_error(p, &t, "'%s' expects %s", key, expected);
  else
    glow_parse_error(p, &t, "expected %s", expected);
  return false;
}

static bool integer_scalar(GlowParser *p, const GlowToken *t, GlowScalar *value) {
  GlowInteger v = glow_parse_integer(p, t);
  uint64_t most = v.negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
  if (v.overflow || v.magnitude > most) {
    glow_parse_error(p, t, "the integer is out of range: it must fit i64 or u64");
    return false;
  }
  uint64_t bits = v.negative ? 0 - v.magnitude : v.magnitude;
  value->is_int = true;
  memcpy(&value->i, &bits, sizeof bits);
  value->f = v.negative ? -(double)v.magnitude : (double)v.magnitude;
  return true;
}

bool glow_item_scalar(GlowParser *p, const GlowItem *item, bool single, GlowScalar *value) {
  GlowToken t = glow_item_token(p, item);
  const char *s = p->text + item->offset;
  *value = (GlowScalar){0};
  if (item->tag == GLOW_TAG_INT)
    return integer_scalar(p, &t, value);
  if (item->tag == GLOW_TAG_BOOL) {
    *value = (GlowScalar){true, *s == 't', *s == 't'};
    return true;
  }
  if (item->tag != GLOW_TAG_FLOAT)
    return mismatch(p, item, NULL, "a number");
  char *end;
  value->f = single ? (double)glow_parse_float(s, &end) : glow_parse_double(s, &end);
  if (end != s + item->length) {
    glow_parse_error(p, &t, "bad NaN '%.*s'", (int)item->length, s);
    return false;
  }
  if (isinf(value->f) && !memchr(s, 'i', item->length)) {
    glow_parse_error(p, &t, "the number is out of range");
    return false;
  }
  return true;
}

/* ---- Members --------------------------------------------------------------------------------- */
static bool store_word(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  const GlowEnumDesc *e = m->enumeration;
  const char *s = p->text + item->offset;
  for (uint32_t i = 0; item->tag == GLOW_TAG_WORD && i < e->count; i++)
    if (strlen(e->values[i]) == item->length && !memcmp(e->values[i], s, item->length)) {
      memcpy(to, &(int){(int)i}, sizeof(int));
      return true;
    }
  GlowText list;
  GlowDefer release;
  glow_text_init(&list, p->ctx);
  glow_defer_push(p->ctx, &release, glow_text_release_fn, &list);
  for (uint32_t i = 0; i < e->count; i++)
    glow_text_printf(&list, "%s%s", i == 0 ? "" : i == e->count - 1 ? " or " : ", ", e->values[i]);
  mismatch(p, item, m->name, glow_text_cstr(&list));
  glow_defer_pop(p->ctx, &release, true);
  return false;
}

static bool store_integer(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  bool narrow = m->type == GLOW_MEMBER_U32;
  if (item->tag != GLOW_TAG_INT)
    return mismatch(p, item, m->name, "an integer");
  GlowToken t = glow_item_token(p, item);
  int64_t v;
  if (!glow_parse_i64(p, &t, narrow ? 0 : INT64_MIN, narrow ? UINT32_MAX : INT64_MAX, m->name, &v))
    return false;
  if (narrow)
    memcpy(to, &(uint32_t){(uint32_t)v}, sizeof(uint32_t));
  else
    memcpy(to, &v, sizeof v);
  return true;
}

static bool store_number(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  GlowScalar v;
  bool single = m->type == GLOW_MEMBER_FLOAT;
  bool number = item->tag == GLOW_TAG_INT || item->tag == GLOW_TAG_FLOAT;
  if (!number && !(item->tag == GLOW_TAG_BOOL && !single))
    return mismatch(p, item, m->name, "a number");
  if (!glow_item_scalar(p, item, single, &v))
    return false;
  if (!single) {
    memcpy(to, &v, sizeof v);
    return true;
  }
  float f = (float)v.f;
  if (item->tag == GLOW_TAG_FLOAT)
    f = glow_parse_float(p->text + item->offset, NULL); /* keeps the bits of a NaN */
  memcpy(to, &f, sizeof f);
  return true;
}

static bool store_type(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  const GlowType *t = NULL;
  const char *s = p->text + item->offset;
  if (item->tag == GLOW_TAG_TYPE)
    t = p->list_types.data[item->length];
  else if (item->tag != GLOW_TAG_WORD || item->length != 4 || memcmp(s, "none", 4) != 0)
    return mismatch(p, item, m->name, "a type such as float<2>");
  memcpy(to, &t, sizeof t);
  return true;
}

static bool store_size(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  GlowSize size = {0};
  GlowToken t = glow_item_token(p, item);
  if (item->tag == GLOW_TAG_SYMBOL) {
    GlowStr name = glow_str_n(p->ctx, glow_token_text(p, &t) + 1, t.length - 1);
    size.extent = glow_module_extent(p->module, name);
    if (!size.extent) {
      glow_parse_error(p, &t, "'$%s' has no declared range", name);
      return false;
    }
    size.size = size.extent->most;
  } else if (item->tag != GLOW_TAG_INT) {
    return mismatch(p, item, m->name, "an integer or the extent of a symbol such as $N");
  } else if (!glow_parse_i64(p, &t, INT64_MIN, INT64_MAX, m->name, &size.size)) {
    return false;
  }
  memcpy(to, &size, sizeof size);
  return true;
}

static bool store_string(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  GlowToken t = glow_item_token(p, item);
  bool symbol = m->type == GLOW_MEMBER_SYMBOL;
  if (item->tag != (symbol ? GLOW_TAG_GLOBAL : GLOW_TAG_STRING))
    return mismatch(p, item, m->name, symbol ? "a function such as @f" : "a string");
  GlowStr s = symbol ? glow_parse_name(p, &t) : glow_parse_string(p, &t);
  memcpy(to, &s, sizeof s);
  return s != NULL;
}

static bool store(GlowParser *p, const GlowMember *m, const GlowItem *item, void *to) {
  switch ((GlowMemberType)m->type) {
  case GLOW_MEMBER_BOOL:
    if (item->tag != GLOW_TAG_BOOL)
      return mismatch(p, item, m->name, "true or false");
    memcpy(to, &(bool){p->text[item->offset] == 't'}, sizeof(bool));
    return true;
  case GLOW_MEMBER_U32:
  case GLOW_MEMBER_I64:
    return store_integer(p, m, item, to);
  case GLOW_MEMBER_FLOAT:
  case GLOW_MEMBER_SCALAR:
    return store_number(p, m, item, to);
  case GLOW_MEMBER_STR:
  case GLOW_MEMBER_SYMBOL:
    return store_string(p, m, item, to);
  case GLOW_MEMBER_KIND: {
    if (item->tag != GLOW_TAG_KIND)
      return mismatch(p, item, m->name, "an element kind such as float");
    GlowKind k = glow_kind_from_name(p->text + item->offset, item->length);
    memcpy(to, &k, sizeof k);
    return true;
  }
  case GLOW_MEMBER_TYPE:
    return store_type(p, m, item, to);
  case GLOW_MEMBER_SIZE:
    return store_size(p, m, item, to);
  case GLOW_MEMBER_ENUM:
    return store_word(p, m, item, to);
  }
  return false;
}

static bool store_array(GlowParser *p, const GlowMember *m, const GlowItem *list, void *to) {
  if (list->tag != GLOW_TAG_LIST)
    return mismatch(p, list, m->name, "a list such as [1, 2]");
  uint32_t count = (uint32_t)(p->items.data + list->end - list) - 1;
  size_t size = glow_member_size(m);
  char *data = glow_arena_array(p->module->arena, count, size);
  for (uint32_t i = 0; i < count; i++) {
    if (list[1 + i].tag == GLOW_TAG_LIST)
      return mismatch(p, &list[1 + i], m->name, "a flat list");
    if (!store(p, m, &list[1 + i], data + i * size))
      return false;
  }
  GlowArray array = {count, count ? data : NULL};
  memcpy(to, &array, sizeof array);
  return true;
}

static bool store_member(GlowParser *p, const GlowMember *m, const GlowItem *value, void *to) {
  return m->array ? store_array(p, m, value, to) : store(p, m, value, to);
}

/* `shards` is no member of an operator: every instruction that does work may have it. */
static const GlowMember shards_row = {
    .name = "shards", .type = GLOW_MEMBER_U32, .instr_only = true};

GlowAttributes glow_attributes_of(GlowOp op, bool instr, void *members, uint32_t *shards) {
  const GlowOpDesc *d = &glow_op_desc[op];
  return (GlowAttributes){d->members, d->nmembers, members, instr,
                          glow_op_has_shards(d) ? shards : NULL};
}

/* Row i: those of the table come first, then that of shards. */
static const GlowMember *attribute_row(const GlowAttributes *a, uint32_t i) {
  return i < a->count ? &a->table[i] : &shards_row;
}

/* The end of a message: "; there are a, b and c". */
static const char *list_names(GlowContext *ctx, const char *const *names, uint32_t count) {
  if (count == 0)
    return "; it has no members";
  const char *list = glow_str_printf(ctx, "; there %s %s", count == 1 ? "is" : "are", names[0]);
  for (uint32_t i = 1; i < count; i++)
    list = glow_str_printf(ctx, "%s%s%s", list, i + 1 < count ? ", " : " and ", names[i]);
  return list;
}

/* The index of the row with this name; -1 after a diagnostic. */
static int find_attribute(GlowParser *p, const char *whose, const GlowToken *key,
                          const GlowAttributes *a) {
  const char *s = glow_token_text(p, key), *names[UINT8_MAX];
  uint32_t n = 0;
  for (uint32_t i = 0; i < a->count + (a->shards != NULL); i++) {
    const GlowMember *m = attribute_row(a, i);
    if (strlen(m->name) == key->length && !memcmp(m->name, s, key->length)) {
      if (a->instr || !m->instr_only)
        return (int)i;
      glow_parse_error(p, key, "%s: only instructions have '%s'", whose, m->name);
      return -1;
    }
    if (n < UINT8_MAX && (a->instr || !m->instr_only))
      names[n++] = m->name;
  }
  GlowStr word = glow_parse_word(p, key);
  const char *near = word ? glow_nearest(word, names, n) : NULL;
  if (near)
    glow_parse_error(p, key, "%s has no '%s'; did you mean '%s'?", whose, word, near);
  else if (word)
    glow_parse_error(p, key, "%s has no '%s'%s", whose, word, list_names(p->ctx, names, n));
  return -1;
}

static bool store_shards(GlowParser *p, const GlowItem *value, uint32_t *to) {
  GlowToken t = glow_item_token(p, value);
  int64_t v = 0;
  if (value->tag != GLOW_TAG_INT)
    return mismatch(p, value, shards_row.name, "an integer");
  if (!glow_parse_i64(p, &t, 1, UINT32_MAX, shards_row.name, &v))
    return false;
  *to = (uint32_t)v;
  return true;
}

static uint32_t item_end(const GlowParser *p, uint32_t i) {
  return p->items.data[i].tag == GLOW_TAG_LIST ? p->items.data[i].end : i + 1;
}

bool glow_parse_members(GlowParser *p, const char *whose, const GlowToken *at,
                        const GlowAttributes *a) {
  bool given[UINT8_MAX + 1] = {false}, ok = true;
  for (uint32_t i = 0, end; i < p->items.count; i = end) {
    end = item_end(p, i + 1);
    GlowToken key = glow_item_token(p, &p->items.data[i]);
    int row = find_attribute(p, whose, &key, a);
    if (row < 0) {
      ok = false;
      continue;
    }
    const GlowMember *m = attribute_row(a, (uint32_t)row);
    if (given[row]) {
      glow_parse_error(p, &key, "%s: '%s' is given twice", whose, m->name);
      ok = false;
      continue;
    }
    given[row] = true;
    const GlowItem *value = &p->items.data[i + 1];
    ok &= m == &shards_row ? store_shards(p, value, a->shards)
                           : store_member(p, m, value, (char *)a->members + m->offset);
  }
  for (uint32_t i = 0; i < a->count; i++)
    if (a->table[i].required && !given[i] && (a->instr || !a->table[i].instr_only)) {
      glow_parse_error(p, at, "%s needs '%s'", whose, a->table[i].name);
      ok = false;
    }
  glow_parse_drop_items(p);
  return ok;
}
