/* Members of nodes through their descriptors: size, default, copy, equality, hash. */
#include <string.h>

#include "ir/ir_internal.h"

static const size_t element_sizes[] = {
    [GLOW_MEMBER_BOOL] = sizeof(bool),         [GLOW_MEMBER_U32] = sizeof(uint32_t),
    [GLOW_MEMBER_I64] = sizeof(int64_t),       [GLOW_MEMBER_FLOAT] = sizeof(float),
    [GLOW_MEMBER_STR] = sizeof(GlowStr),       [GLOW_MEMBER_KIND] = sizeof(GlowKind),
    [GLOW_MEMBER_TYPE] = sizeof(GlowType *),   [GLOW_MEMBER_SYMBOL] = sizeof(GlowStr),
    [GLOW_MEMBER_SCALAR] = sizeof(GlowScalar), [GLOW_MEMBER_SIZE] = sizeof(GlowSize),
    [GLOW_MEMBER_ENUM] = sizeof(int)};

size_t glow_member_size(const GlowMember *m) { return element_sizes[m->type]; }

bool glow_member_is_text(const GlowMember *m) {
  return m->type == GLOW_MEMBER_STR || m->type == GLOW_MEMBER_SYMBOL;
}

/* Scalars are compared part by part: the struct has padding. */
static bool same_item(const GlowMember *m, const void *a, const void *b) {
  if (m->type != GLOW_MEMBER_SCALAR)
    return memcmp(a, b, glow_member_size(m)) == 0;
  const GlowScalar *x = a, *y = b;
  return x->is_int == y->is_int && (x->is_int ? x->i == y->i && (x->f < 0) == (y->f < 0)
                                              : memcmp(&x->f, &y->f, sizeof x->f) == 0);
}

static bool same_value(const GlowMember *m, const void *a, const void *b) {
  if (m->type == GLOW_MEMBER_STR && !m->array) { /* a default is plain text, not interned */
    GlowStr x = *(const GlowStr *)a, y = *(const GlowStr *)b;
    return x == y || (x && y && !strcmp(x, y));
  }
  if (!m->array)
    return same_item(m, a, b);
  const GlowArray *x = a, *y = b;
  size_t size = glow_member_size(m);
  for (uint32_t i = 0; x->count == y->count && i < x->count; i++)
    if (!same_item(m, (const char *)x->data + i * size, (const char *)y->data + i * size))
      return false;
  return x->count == y->count;
}

bool glow_member_is_default(const GlowMember *m, const void *members) {
  return !m->required && same_value(m, (const char *)members + m->offset, m->initial);
}

bool glow_members_equal(const GlowOpDesc *d, const void *a, const void *b) {
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    if (!same_value(m, (const char *)a + m->offset, (const char *)b + m->offset))
      return false;
  }
  return true;
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *data, size_t size) {
  const unsigned char *p = data;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t mix_item(uint64_t hash, const GlowMember *m, const void *item) {
  if (m->type == GLOW_MEMBER_SCALAR)
    return mix(hash, &((const GlowScalar *)item)->f, sizeof(double));
  if (m->type == GLOW_MEMBER_TYPE) {
    const GlowType *t = *(const GlowType *const *)item;
    return mix(hash, &(uint32_t){t ? t->id : UINT32_MAX}, sizeof(uint32_t));
  }
  if (m->type == GLOW_MEMBER_SIZE) {
    const GlowSize *size = item;
    hash = mix(hash, &size->size, sizeof size->size);
    return mix(hash, &(uint32_t){size->extent ? size->extent->id : 0}, sizeof(uint32_t));
  }
  if (m->type == GLOW_MEMBER_STR || m->type == GLOW_MEMBER_SYMBOL) {
    GlowStr s = *(const GlowStr *)item;
    return s ? mix(hash, s, strlen(s)) : hash;
  }
  return mix(hash, item, glow_member_size(m));
}

uint64_t glow_members_hash(const GlowOpDesc *d, const void *members) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    const void *field = (const char *)members + m->offset;
    const GlowArray *array = field;
    if (!m->array)
      hash = mix_item(hash, m, field);
    for (uint32_t k = 0; m->array && k < array->count; k++)
      hash = mix_item(hash, m, (const char *)array->data + k * glow_member_size(m));
  }
  return hash;
}

void glow_node_sizes(const GlowNode *n, void (*fn)(void *arg, GlowSize *size), void *arg) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    char *field = (char *)n->members + m->offset;
    if (m->type != GLOW_MEMBER_SIZE)
      continue;
    if (!m->array)
      fn(arg, (GlowSize *)(void *)field);
    const GlowArray *array = (const GlowArray *)(const void *)field;
    for (uint32_t k = 0; m->array && k < array->count; k++)
      fn(arg, (GlowSize *)(uintptr_t)array->data + k);
  }
}

static void copy_member(GlowArena *arena, const GlowMember *m, void *to, const void *from) {
  void *target = (char *)to + m->offset;
  const void *source = (const char *)from + m->offset;
  if (!m->array) {
    memcpy(target, source, glow_member_size(m));
    return;
  }
  GlowArray array = *(const GlowArray *)source;
  if (array.count)
    array.data = glow_arena_copy(arena, array.data, array.count * glow_member_size(m));
  memcpy(target, &array, sizeof array);
}

void glow_members_copy(GlowArena *arena, const GlowOpDesc *d, void *to, const void *from) {
  for (uint32_t i = 0; i < d->nmembers; i++)
    copy_member(arena, &d->members[i], to, from);
}
