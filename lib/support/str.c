/* Interned strings, in one uthash table per context, and the search behind "did you mean".
 *
 * A GlowStr points at the text of its entry; the length stands before the text. The memory of the
 * table also comes from the context's arena, which never returns NULL, so the code of uthash for
 * failed allocations never runs (see note [running out of memory]). */
#include "support/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/context.h"

#define uthash_malloc(bytes) glow_arena_alloc(ctx->arena, (bytes))
#define uthash_free(pointer, bytes) ((void)(pointer))
#define uthash_fatal(message) __builtin_unreachable()
#include <uthash.h>

typedef struct GlowStrEntry {
  UT_hash_handle hh;
  size_t length;
  char text[];
} GlowStrEntry;

static GlowStrEntry *entry_of(GlowStr s) {
  return (GlowStrEntry *)(uintptr_t)(s - offsetof(GlowStrEntry, text));
}

GlowStr glow_str_n(GlowContext *ctx, const char *text, size_t length) {
  if (length)
    length = strnlen(text, length);
  else
    text = "";
  GlowStrEntry *e = NULL;
  HASH_FIND(hh, ctx->strings, text, length, e);
  if (e)
    return e->text;
  e = glow_arena_alloc(ctx->arena, sizeof *e + length + 1);
  e->length = length;
  memcpy(e->text, text, length);
  HASH_ADD_KEYPTR(hh, ctx->strings, e->text, length, e);
  return e->text;
}

GlowStr glow_str(GlowContext *ctx, const char *text) { return glow_str_n(ctx, text, strlen(text)); }

GlowStr glow_str_printf(GlowContext *ctx, const char *format, ...) {
  char small[256];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(small, sizeof small, format, args);
  va_end(args);
  GlowStr s;
  if (length >= 0 && (size_t)length < sizeof small) {
    s = glow_str_n(ctx, small, (size_t)length);
  } else {
    char *large = NULL;
    length = vasprintf(&large, format, again);
    if (length < 0) {
      va_end(again);
      glow_throw(ctx, GLOW_NO_MEMORY);
    }
    GlowDefer d;
    glow_defer_push(ctx, &d, free, large);
    s = glow_str_n(ctx, large, (size_t)length);
    glow_defer_pop(ctx, &d, true);
  }
  va_end(again);
  return s;
}

size_t glow_str_length(GlowStr s) { return entry_of(s)->length; }

enum { MAX_WORD = 64 }; /* longer words get no suggestion, which bounds the work */

/* Edit distance with transpositions of neighbours (optimal string alignment). */
static unsigned distance(const char *a, size_t n, const char *b, size_t m) {
  unsigned rows[3][MAX_WORD + 1];
  unsigned *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= m; j++)
    last[j] = (unsigned)j;
  for (size_t i = 1; i <= n; i++) {
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= m; j++) {
      unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < d)
        d = last[j] + 1;
      if (row[j - 1] + 1 < d)
        d = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < d)
        d = before[j - 2] + 1;
      row[j] = d;
    }
    unsigned *recycled = before;
    before = last;
    last = row;
    row = recycled;
  }
  return last[m];
}

const char *glow_nearest(const char *word, const char *const *candidates, size_t count) {
  size_t n = strlen(word);
  if (n == 0 || n > MAX_WORD)
    return NULL;
  unsigned limit = n >= 6 ? (unsigned)(n / 3) : 1;
  const char *best = NULL;
  unsigned best_distance = limit + 1;
  for (size_t i = 0; i < count; i++) {
    size_t m = strlen(candidates[i]);
    if (m > n + limit || n > m + limit || m > MAX_WORD)
      continue;
    unsigned d = distance(word, n, candidates[i], m);
    if (d < best_distance && d < n) {
      best_distance = d;
      best = candidates[i];
    }
  }
  return best;
}
