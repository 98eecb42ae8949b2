/* Name spaces: which names are taken, and by whom. Each is a uthash table keyed by the interned
 * pointer. Only the search for suggestions iterates it; uthash iterates in the order of insertion,
 * so the suggestions do not depend on addresses. An entry stays when its name becomes free, so
 * suffixes only grow. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir_internal.h"

#define uthash_malloc(bytes) glow_arena_alloc(names->arena, (bytes))
#define uthash_free(pointer, bytes) ((void)(pointer))
#define uthash_fatal(message) __builtin_unreachable()
#include <uthash.h>

typedef struct NameEntry {
  GlowStr name;
  void *owner;   /* NULL: free again */
  uint32_t next; /* suffix to try next for clones of this name */
  UT_hash_handle hh;
} NameEntry;

struct GlowNames {
  GlowArena *arena;
  NameEntry *table;
  uint32_t next_number;
};

enum { MAX_SUGGESTED = 4096 }; /* larger name spaces get no suggestions, which bounds the work */

GlowNames *glow_names_create(GlowArena *arena) {
  GlowNames *names = GLOW_NEW(arena, GlowNames);
  names->arena = arena;
  return names;
}

static NameEntry *find(const GlowNames *names, GlowStr name) {
  NameEntry *e = NULL;
  HASH_FIND_PTR(names->table, &name, e);
  return e;
}

static NameEntry *find_or_add(GlowNames *names, GlowStr name) {
  NameEntry *e = find(names, name);
  if (e)
    return e;
  e = GLOW_NEW(names->arena, NameEntry);
  e->name = name;
  e->next = 1;
  NameEntry *table = names->table; /* a copy: a throw must not leave a half-made head behind */
  HASH_ADD_PTR(table, name, e);
  names->table = table;
  return e;
}

void *glow_names_find(const GlowNames *names, GlowStr name) {
  NameEntry *e = find(names, name);
  return e ? e->owner : NULL;
}

bool glow_names_add(GlowNames *names, GlowStr name, void *owner) {
  NameEntry *e = find_or_add(names, name);
  if (e->owner)
    return false;
  e->owner = owner;
  return true;
}

bool glow_name_is_number(GlowStr name) {
  return strspn(name, "0123456789.") == glow_str_length(name);
}

/* Length of `name` without a suffix ".digits", or all of it. */
static size_t stem_length(GlowStr name) {
  size_t length = glow_str_length(name), i = length;
  while (i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9')
    i--;
  return i > 1 && i < length && name[i - 1] == '.' ? i - 1 : length;
}

static GlowStr next_number(GlowNames *names, void *owner) {
  GlowContext *ctx = glow_arena_context(names->arena);
  for (;;) {
    GlowStr name = glow_str_printf(ctx, "%u", names->next_number++);
    if (glow_names_add(names, name, owner))
      return name;
  }
}

GlowStr glow_names_add_unique(GlowNames *names, GlowStr wanted, void *owner) {
  if (!wanted)
    return next_number(names, owner);
  if (glow_names_add(names, wanted, owner))
    return wanted;
  GlowContext *ctx = glow_arena_context(names->arena);
  size_t length = stem_length(wanted);
  NameEntry *stem = find_or_add(names, glow_str_n(ctx, wanted, length));
  for (;;) {
    GlowStr name = glow_str_printf(ctx, "%s.%u", stem->name, stem->next++);
    if (glow_names_add(names, name, owner))
      return name;
  }
}

void glow_names_remove(GlowNames *names, GlowStr name, const void *owner) {
  NameEntry *e = name ? find(names, name) : NULL;
  if (e && e->owner == owner)
    e->owner = NULL;
}

GlowStr glow_names_nearest(const GlowNames *names, const char *word) {
  unsigned count = HASH_COUNT(names->table);
  if (count == 0 || count > MAX_SUGGESTED)
    return NULL;
  GlowContext *ctx = glow_arena_context(names->arena);
  const char **all = glow_malloc(ctx, count * sizeof *all);
  size_t n = 0;
  for (const NameEntry *e = names->table; e; e = e->hh.next)
    if (e->owner)
      all[n++] = e->name;
  const char *nearest = glow_nearest(word, all, n);
  free(all);
  return nearest;
}
