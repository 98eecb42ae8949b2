/* JSON events from yajl, and string literals for writers.
 *
 * yajl does not check whether its allocator returns NULL. So its memory comes from an arena of this
 * call. The arena throws when memory runs out, and the throw leaves yajl's frames, which own
 * nothing else. See note [running out of memory]. */
#include "support/json.h"

#include <string.h>
#include <yajl/yajl_parse.h>

#include "support/context.h"
#include "support/limits.h"

typedef struct Reader {
  bool (*fn)(void *user, const GlowJsonToken *token);
  void *user;
  int depth;
  bool too_deep, stopped;
} Reader;

/* yajl reallocates without saying how large the old block was, so the size stands before it. */
typedef struct Block {
  size_t size;
  _Alignas(16) unsigned char data[];
} Block;

static void *allocate(void *arena, size_t size) {
  if (size > SIZE_MAX / 2)
    size = SIZE_MAX / 2; /* too large for any arena: throws there */
  Block *b = glow_arena_alloc(arena, sizeof *b + size);
  b->size = size;
  return b->data;
}

static void *reallocate(void *arena, void *old, size_t size) {
  void *fresh = allocate(arena, size);
  if (old) {
    size_t had = ((Block *)(void *)((unsigned char *)old - offsetof(Block, data)))->size;
    memcpy(fresh, old, had < size ? had : size);
  }
  return fresh;
}

static void release(void *arena, void *block) {
  (void)arena;
  (void)block;
}

static int pass_on(Reader *r, GlowJsonToken token) {
  if (!r->fn(r->user, &token))
    r->stopped = true;
  return !r->stopped;
}

static int enter(Reader *r, GlowJsonEvent event) {
  if (++r->depth > GLOW_MAX_JSON_DEPTH) {
    r->too_deep = true;
    return 0;
  }
  return pass_on(r, (GlowJsonToken){.event = event});
}

static int leave(Reader *r, GlowJsonEvent event) {
  r->depth--;
  return pass_on(r, (GlowJsonToken){.event = event});
}

static int on_null(void *r) { return pass_on(r, (GlowJsonToken){.event = GLOW_JSON_NULL}); }
static int on_boolean(void *r, int value) {
  return pass_on(r, (GlowJsonToken){.event = GLOW_JSON_BOOL, .integer = value != 0});
}
static int on_integer(void *r, long long value) {
  return pass_on(r, (GlowJsonToken){.event = GLOW_JSON_INTEGER, .integer = value});
}
static int on_double(void *r, double value) {
  return pass_on(r, (GlowJsonToken){.event = GLOW_JSON_DOUBLE, .number = value});
}
static int on_string(void *r, const unsigned char *text, size_t length) {
  return pass_on(r, (GlowJsonToken){GLOW_JSON_STRING, (const char *)text, length, 0, 0});
}
static int on_key(void *r, const unsigned char *text, size_t length) {
  return pass_on(r, (GlowJsonToken){GLOW_JSON_KEY, (const char *)text, length, 0, 0});
}
static int on_object(void *r) { return enter(r, GLOW_JSON_OBJECT); }
static int on_object_end(void *r) { return leave(r, GLOW_JSON_OBJECT_END); }
static int on_array(void *r) { return enter(r, GLOW_JSON_ARRAY); }
static int on_array_end(void *r) { return leave(r, GLOW_JSON_ARRAY_END); }

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_integer = on_integer,
    .yajl_double = on_double,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_object_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* yajl's message without its newline, and the byte offset at which it stopped. */
static const char *explain(GlowContext *ctx, yajl_handle handle, const Reader *r, size_t size) {
  size_t offset = yajl_get_bytes_consumed(handle);
  if (offset > size)
    offset = size;
  if (r->stopped)
    return NULL;
  if (r->too_deep)
    return glow_str_printf(ctx, "nested more than %d deep at byte %zu", GLOW_MAX_JSON_DEPTH,
                           offset);
  const char *text = (const char *)yajl_get_error(handle, 0, NULL, 0);
  return glow_str_printf(ctx, "%.*s at byte %zu", (int)strcspn(text, "\n"), text, offset);
}

static void destroy_arena(void *arena) { glow_arena_destroy(arena); }

bool glow_json_read(GlowContext *ctx, const char *text, size_t size,
                    bool (*fn)(void *user, const GlowJsonToken *token), void *user,
                    const char **error) {
  GlowArena *arena = glow_arena_create(ctx);
  GlowDefer d;
  glow_defer_push(ctx, &d, destroy_arena, arena);

  Reader r = {.fn = fn, .user = user};
  yajl_alloc_funcs functions = {allocate, reallocate, release, arena};
  yajl_handle handle = yajl_alloc(&callbacks, &functions, &r);
  yajl_status status = yajl_parse(handle, (const unsigned char *)text, size);
  if (status == yajl_status_ok)
    status = yajl_complete_parse(handle);
  *error = status == yajl_status_ok ? NULL : explain(ctx, handle, &r, size);

  glow_defer_pop(ctx, &d, true);
  return status == yajl_status_ok;
}

void glow_json_string(GlowText *t, const char *s, size_t length) {
  glow_text_putc(t, '"');
  size_t i = 0;
  while (i < length) {
    size_t n = length - i, bad = n;
    glow_utf8_valid(s + i, n, &bad);
    for (size_t end = i + bad; i < end; i++) {
      if (s[i] == '"' || s[i] == '\\')
        glow_text_printf(t, "\\%c", s[i]);
      else if ((unsigned char)s[i] < 0x20)
        glow_text_printf(t, "\\u%04x", (unsigned)(unsigned char)s[i]);
      else
        glow_text_putc(t, s[i]);
    }
    if (i < length) {
      glow_text_puts(t, "\xef\xbf\xbd");
      i++;
    }
  }
  glow_text_putc(t, '"');
}
