/* Reads a case and writes it as a module: see case.h. */
#include "test/autodiff/case.h"

#include <stdio.h>
#include <string.h>

typedef struct Reader {
  const char *at;
  Case *c;
  GlowText declare, body;
  uint32_t constants, nodes;
} Reader;

static void skip_blanks(Reader *r) { r->at += strspn(r->at, " "); }

static bool take(Reader *r, const char *word) {
  skip_blanks(r);
  size_t n = strlen(word);
  if (strncmp(r->at, word, n) != 0)
    return false;
  r->at += n;
  return true;
}

static void expect(Reader *r, const char *word, const char *error) {
  if (!take(r, word) && !r->c->error)
    r->c->error = error;
}

/* The length of the text up to one of `ends` that stands in no bracket. */
static size_t length_to(const char *s, const char *ends) {
  size_t n = 0;
  for (int depth = 0; s[n] && (depth || !strchr(ends, s[n])); n++) {
    depth += strchr("<[({", s[n]) != NULL;
    depth -= strchr(">])}", s[n]) != NULL;
  }
  return n;
}

static void copy_to(Reader *r, GlowText *out, const char *ends) {
  size_t n = length_to(r->at, ends);
  glow_text_bytes(out, r->at, n);
  r->at += n;
}

static size_t word_length(const char *s) {
  return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
}

static void read_varied(Reader *r, const char *type, size_t length, GlowText *out) {
  Case *c = r->c;
  if (c->nvaried == MAX_VARIED) {
    c->error = "too many varied operands";
    return;
  }
  Varied v = {.low = -1.6, .high = 1.7};
  char *end = NULL;
  if (take(r, "in ")) {
    v.low = glow_parse_double(r->at + strspn(r->at, " "), &end);
    v.high = glow_parse_double(end + strspn(end, " "), &end);
    r->at = end;
  }
  if (take(r, "at ")) {
    v.at = r->at;
    r->at += length_to(r->at, ",)");
  }
  v.flat = take(r, "flat");
  glow_text_printf(&r->declare, "  placeholder @x%u : %.*s\n", c->nvaried, (int)length, type);
  glow_text_printf(out, "@x%u", c->nvaried);
  c->varied[c->nvaried++] = v;
}

/* A type, and what it is the type of. */
static void read_typed(Reader *r, GlowText *out) {
  const char *type = r->at;
  size_t length = word_length(type);
  length += length_to(type + length + 1, ">") + 2;
  r->at += length;
  if (!take(r, "=")) {
    read_varied(r, type, length, out);
    return;
  }
  glow_text_printf(&r->declare, "  constant @c%u : %.*s =", r->constants, (int)length, type);
  glow_text_printf(out, "@c%u", r->constants++);
  copy_to(r, &r->declare, ",)");
  glow_text_putc(&r->declare, '\n');
}

static void read_node(Reader *r, const char *results, size_t length, bool last);

static void read_operand(Reader *r, GlowText *out) {
  skip_blanks(r);
  char after = r->at[word_length(r->at)];
  if (after == '<') {
    read_typed(r, out);
  } else if (after == '(') {
    char name[16];
    int n = snprintf(name, sizeof name, "%%n%u", r->nodes++);
    read_node(r, name, (size_t)n, false);
    glow_text_puts(out, name);
  } else {
    copy_to(r, out, ",)");
  }
}

/* Writes a node behind those of its operands. */
static void read_node(Reader *r, const char *results, size_t length, bool last) {
  GlowText line;
  glow_text_init(&line, r->body.ctx);
  glow_text_printf(&line, "  %.*s = ", (int)length, results);
  copy_to(r, &line, "(");
  expect(r, "(", "no operands");
  glow_text_putc(&line, '(');
  for (skip_blanks(r); *r->at && *r->at != ')' && !r->c->error; skip_blanks(r)) {
    read_operand(r, &line);
    if (!take(r, ","))
      break;
    glow_text_puts(&line, ", ");
  }
  expect(r, ")", "no ) behind operands");
  glow_text_puts(&line, ") ");
  skip_blanks(r);
  if (*r->at == '{' || last)
    copy_to(r, &line, last ? "|" : ",)");
  glow_text_printf(&r->body, "%s\n", glow_text_cstr(&line));
  glow_text_release(&line);
}

Case case_read(GlowContext *ctx, const char *line) {
  Case c = {0};
  Reader r = {.at = line, .c = &c};
  glow_text_init(&c.module, ctx);
  glow_text_init(&r.declare, ctx);
  glow_text_init(&r.body, ctx);
  c.twice = take(&r, "twice:");
  bool corner = take(&r, "corner:");
  skip_blanks(&r);
  const char *results = *r.at == '%' ? r.at : "%y", *equals = strchr(r.at, '=');
  size_t length = results == r.at && equals ? (size_t)(equals - results) : strlen("%y");
  if (results == r.at)
    r.at = equals ? equals + 1 : r.at + strlen(r.at);
  skip_blanks(&r);
  read_node(&r, results, length, true);
  if (corner) {
    expect(&r, "|", "no derivatives behind the corner");
    c.corner = r.at;
  }
  glow_text_printf(&c.module, "declare {\n%s}\n", glow_text_cstr(&r.declare));
  glow_text_printf(&c.module, "func @main {\n%s}\n", glow_text_cstr(&r.body));
  glow_text_release(&r.declare);
  glow_text_release(&r.body);
  return c;
}
