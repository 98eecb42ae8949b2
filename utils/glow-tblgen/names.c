/* Spellings: a node is CamelCase, its instruction snake_case, its enumerator SCREAMING_SNAKE. */
#include <ctype.h>

#include "tblgen.h"

/* A word begins at a capital after a small letter or digit, and at the last capital of three or
 * more before a small letter, so that a lone first letter stays (PRelu is prelu). NaN is a word. */
GlowStr name_snake(GlowContext *ctx, const char *camel) {
  GlowText t;
  glow_text_init(&t, ctx);
  for (const char *s = camel; *s; s++) {
    if (isupper((unsigned char)*s) && s > camel) {
      bool after_small = !isupper((unsigned char)s[-1]);
      bool run_ends = s - camel >= 2 && isupper((unsigned char)s[-1]) &&
                      isupper((unsigned char)s[-2]) && islower((unsigned char)s[1]);
      if (after_small || run_ends)
        glow_text_putc(&t, '_');
    }
    if (strncmp(s, "NaN", 3) == 0) {
      glow_text_puts(&t, "nan");
      s += 2;
      continue;
    }
    glow_text_putc(&t, (char)tolower((unsigned char)*s));
  }
  GlowStr r = glow_str_n(ctx, t.data, t.size);
  glow_text_release(&t);
  return r;
}

GlowStr name_upper(GlowContext *ctx, const char *snake) {
  size_t n = strlen(snake);
  char *s = glow_arena_copy(ctx->arena, snake, n + 1);
  for (size_t i = 0; i < n; i++)
    s[i] = (char)toupper((unsigned char)s[i]);
  return glow_str_n(ctx, s, n);
}

GlowStr name_camel(GlowContext *ctx, const char *snake) {
  size_t n = strlen(snake), length = 0;
  char *s = glow_arena_alloc(ctx->arena, n + 1);
  bool start = true;
  for (size_t i = 0; i < n; i++) {
    if (snake[i] == '_') {
      start = true;
      continue;
    }
    s[length++] = start ? (char)toupper((unsigned char)snake[i]) : snake[i];
    start = false;
  }
  return glow_str_n(ctx, s, length);
}

GlowStr name_field(GlowContext *ctx, const char *name) {
  static const char *const reserved[] = {
      "auto",     "break",  "case",   "char",     "const",    "continue", "default",  "do",
      "double",   "else",   "enum",   "extern",   "float",    "for",      "goto",     "if",
      "inline",   "int",    "long",   "register", "restrict", "return",   "short",    "signed",
      "sizeof",   "static", "struct", "switch",   "typedef",  "union",    "unsigned", "void",
      "volatile", "while",  "bool",   "true",     "false"};
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (strcmp(name, reserved[i]) == 0)
      return glow_str_printf(ctx, "%s_", name);
  return name;
}

const char *did_you_mean(GlowContext *ctx, const char *word, const char *const *all, size_t count) {
  const char *near = glow_nearest(word, all, count);
  return near ? glow_arena_printf(ctx->arena, "; did you mean '%s'?", near) : "";
}

const char *const kind_names[GLOW_KIND_COUNT] = {
#define KIND(e, name, bits, cls, onnx, npy, st) name,
#include "ops/kinds.def"
#undef KIND
};
const char *const kind_enums[GLOW_KIND_COUNT] = {
#define KIND(e, name, bits, cls, onnx, npy, st) #e,
#include "ops/kinds.def"
#undef KIND
};

GlowKind kind_find(const char *name) {
  for (int i = 0; i < GLOW_KIND_COUNT; i++)
    if (strcmp(kind_names[i], name) == 0)
      return (GlowKind)i;
  return GLOW_KIND_COUNT;
}
