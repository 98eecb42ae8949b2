/* Tests of lib/support/diff: hunks, applied by a reader that knows nothing of how they were found,
 * turn the first text into the second; and they are no longer than they need to be where that is
 * known. */
#include <stdlib.h>
#include <string.h>

#include "support/context.h"
#include "support/diff.h"
#include "test/unit/unit.h"

enum { LINES = 60, TRIALS = 2000 };

static uint32_t random_below(uint32_t n) {
  static uint64_t state = 42;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* Lines of a few words: some are equal, most are not. */
static void random_line(GlowText *t) {
  if (random_below(4) == 0)
    glow_text_puts(t, "}\n");
  else
    glow_text_printf(t, "  %%%u = Add\n", random_below(80));
}

/* Copies a with random lines dropped, added and moved to the front. */
static void random_edit(const GlowText *a, GlowText *b) {
  uint32_t rate = 2 + random_below(30);
  const char *end = a->data + a->size;
  for (const char *s = a->data; s < end;) {
    const char *next = (const char *)memchr(s, '\n', (size_t)(end - s)) + 1;
    if (random_below(rate) == 0)
      random_line(b);
    if (random_below(rate) != 0)
      glow_text_bytes(b, s, (size_t)(next - s));
    s = next;
  }
}

/* Copies lines of *a until `count` have been copied in all. */
static void copy_lines(const char **a, uint32_t *line, uint32_t count, GlowText *out) {
  for (; *line < count; ++*line) {
    const char *next = strchr(*a, '\n') + 1;
    glow_text_bytes(out, *a, (size_t)(next - *a));
    *a = next;
  }
}

/* What the hunks make of a; false if a line that they keep or remove is not the one of a. */
static bool apply(const char *a, const char *hunks, GlowText *out) {
  uint32_t line = 0, total = 0;
  for (const char *s = a; (s = strchr(s, '\n')); s++)
    total++;
  for (const char *h = hunks; *h;) {
    const char *next = strchr(h, '\n') + 1;
    if (*h == '@') {
      uint32_t first = (uint32_t)strtoul(strchr(h, '-') + 1, NULL, 10);
      uint32_t count = (uint32_t)strtoul(strchr(h, ',') + 1, NULL, 10);
      copy_lines(&a, &line, count ? first - 1 : first, out);
    } else if (*h == '+') {
      glow_text_bytes(out, h + 1, (size_t)(next - h - 1));
    } else {
      if (strncmp(a, h + 1, (size_t)(next - h - 1)) != 0)
        return false;
      if (*h == ' ')
        glow_text_bytes(out, h + 1, (size_t)(next - h - 1));
      a += next - h - 1;
      line++;
    }
    h = next;
  }
  copy_lines(&a, &line, total, out);
  return true;
}

static bool turns_into(GlowContext *ctx, const GlowText *a, const GlowText *b, uint32_t context) {
  GlowText hunks, result;
  glow_text_init(&hunks, ctx);
  glow_text_init(&result, ctx);
  GlowArena *scratch = glow_arena_create(ctx);
  bool differ = glow_diff(&hunks, scratch, (GlowBytes){a->data, a->size},
                          (GlowBytes){b->data, b->size}, context, false);
  bool ok = differ == (a->size != b->size || memcmp(a->data, b->data, a->size) != 0) &&
            apply(a->data, glow_text_cstr(&hunks), &result) && result.size == b->size &&
            (b->size == 0 || memcmp(result.data, b->data, b->size) == 0);
  glow_arena_destroy(scratch);
  glow_text_release(&hunks);
  glow_text_release(&result);
  return ok;
}

static void test_random(GlowContext *ctx, void *arg) {
  (void)arg;
  uint32_t good = 0;
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    GlowText a, b;
    glow_text_init(&a, ctx);
    glow_text_init(&b, ctx);
    for (uint32_t n = random_below(LINES); n-- > 0;)
      random_line(&a);
    glow_text_cstr(&a);
    random_edit(&a, &b);
    glow_text_cstr(&b);
    good += turns_into(ctx, &a, &b, random_below(4));
    glow_text_release(&a);
    glow_text_release(&b);
  }
  EXPECT(good == TRIALS, "%u of %u random texts turn into the other", good, (unsigned)TRIALS);
}

static void test_shortest(GlowContext *ctx, void *arg) {
  (void)arg;
  static const char a[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n", b[] = "1\n2\n4\n5\n6\n7\n8\nx\n9\n";
  GlowText hunks;
  glow_text_init(&hunks, ctx);
  GlowArena *scratch = glow_arena_create(ctx);
  GlowBytes from = {a, sizeof a - 1}, to = {b, sizeof b - 1};
  CHECK(glow_diff(&hunks, scratch, from, to, 1, false));
  CHECK(strcmp(glow_text_cstr(&hunks),
               "@@ -2,3 +2,2 @@\n 2\n-3\n 4\n@@ -8,2 +7,3 @@\n 8\n+x\n 9\n") == 0);
  hunks.size = 0;
  CHECK(!glow_diff(&hunks, scratch, from, from, 3, false) && hunks.size == 0);
  CHECK(glow_diff(&hunks, scratch, (GlowBytes){a, 0}, (GlowBytes){a, 4}, 3, true));
  CHECK(strcmp(glow_text_cstr(&hunks), "\033[36m@@ -0,0 +1,2 @@\033[0m\n\033[32m+1\033[0m\n"
                                       "\033[32m+2\033[0m\n") == 0);
  glow_arena_destroy(scratch);
  glow_text_release(&hunks);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  CHECK(glow_protect(ctx, test_random, NULL) == GLOW_OK);
  CHECK(glow_protect(ctx, test_shortest, NULL) == GLOW_OK);
  glow_context_destroy(ctx);
  return unit_finish();
}
