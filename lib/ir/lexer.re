/* The lexer of both levels. A token is a place in the text; nothing is copied. The text ends with a
 * NUL; a NUL before its end is an error. Lines are counted when newlines are read. A run of bad
 * bytes is reported once and skipped. */
#include <string.h>

#include "ir/grammar.h"
#include "ir/parse_internal.h"

/* Bytes of strings, comments and quoted names must be UTF-8; elsewhere only ASCII is a token. */
static void check_utf8(GlowParser *p, const GlowToken *t) {
  size_t bad;
  if (!glow_utf8_valid(p->text + t->offset, t->length, &bad)) {
    GlowToken at = *t;
    at.col += (uint32_t)bad;
    glow_parse_error(p, &at, "bad UTF-8: byte 0x%02x", (unsigned char)p->text[t->offset + bad]);
  }
}

void glow_lexer_init(GlowLexer *l, GlowParser *p) {
  *l = (GlowLexer){.parser = p, .line = 1, .fresh = true};
  if (p->size >= 3 && !memcmp(p->text, "\xef\xbb\xbf", 3))
    l->cursor = l->line_start = 3;
}

static void start_token(const GlowLexer *l, GlowToken *t, const char *start) {
  t->offset = (uint32_t)(start - l->parser->text);
  t->line = l->line;
  t->col = t->offset - l->line_start + 1;
  t->fresh = l->fresh;
}

static void newline(GlowLexer *l, const char *next) {
  l->line++;
  l->line_start = (uint32_t)(next - l->parser->text);
  l->fresh = true;
}

/* Reports the character at a byte that no rule accepts. */
static void report_stray(GlowParser *p, const GlowToken *t) {
  unsigned char c = (unsigned char)p->text[t->offset];
  if (c == 0)
    glow_parse_error(p, t, "NUL byte in the text");
  else if (c < 0x20 || c >= 0x7f)
    glow_parse_error(p, t, "stray byte 0x%02x", c);
  else if (c == '%' || c == '@' || c == '^' || c == '$')
    glow_parse_error(p, t, "expected a name after '%c'", c);
  else
    glow_parse_error(p, t, "stray character '%c'", c);
}

int glow_lexer_next(GlowLexer *l, GlowToken *t) {
  GlowParser *p = l->parser;
  const char *const end = p->text + p->size;
  const unsigned char *YYCURSOR = (const unsigned char *)p->text + l->cursor;
  const unsigned char *YYMARKER;
  int kind, previous = l->previous;
  if (l->cursor > GLOW_MAX_TEXT && !p->fatal) {
    start_token(l, t, (const char *)YYCURSOR);
    glow_parse_fatal(p, t, "the text is too long: at most 4 GB before the payload");
  }
  if (p->fatal)
    return GLOW_TOK_EOF;
  for (;;) {
    const unsigned char *start = YYCURSOR;
    start_token(l, t, (const char *)start);
#define TOKEN(k) do { kind = GLOW_TOK_##k; goto done; } while (0)
    /*!re2c
      re2c:define:YYCTYPE = "unsigned char";
      re2c:yyfill:enable = 0;

      word  = [A-Za-z0-9_.$/-]+;
      open  = "\"" ([^"\\\n\x00] | "\\" [^\n\x00])*;
      quoted = open "\"";
      digits = [0-9]+;
      exponent = [eE] [+-]? digits;
      nan   = "nan" ("(0x" [0-9a-fA-F]+ ")")?;

      "\x00" {
        if ((const char *)start >= end + GLOW_OFF_BY_ONE) {
          YYCURSOR = start;
          TOKEN(EOF);
        }
        goto stray;
      }
      "\n"       { newline(l, (const char *)YYCURSOR); continue; }
      [ \t\r]+   { continue; }
      ";" [^\n\x00]* {
        t->length = (uint32_t)(YYCURSOR - start);
        check_utf8(p, t);
        continue;
      }
      "payload" [ \t]+ digits [ \t]* "\r"? "\n" { TOKEN(TAIL); }

      "@" ("in" | "out" | "inout") { TOKEN(QUAL); }
      "@" (word | quoted) { TOKEN(GLOBAL); }
      "%" (word | quoted) { TOKEN(VALUE); }
      "^" word  { TOKEN(REGION); }
      "$" [A-Za-z_][A-Za-z0-9_]* { TOKEN(SYMBOL); }
      "$" [A-Za-z_][A-Za-z0-9_]* [ \t]* "=" [^:;{}"\n\x00]* { TOKEN(DEFINITION); }
      digits ".." digits { TOKEN(RANGE); }
      [@%]? open { goto unterminated; }
      quoted    { TOKEN(STRING); }
      "-"? digits { TOKEN(INT); }
      "-"? (digits "." digits? exponent? | digits exponent | "inf") | nan { TOKEN(FLOAT); }
      "_" { TOKEN(UNDERSCORE); }
      "{" { ++l->braces; TOKEN(LBRACE); }
      "}" { --l->braces; TOKEN(RBRACE); }
      "(" { TOKEN(LPAREN); }
      ")" { TOKEN(RPAREN); }
      "[" { TOKEN(LBRACK); }
      "]" { TOKEN(RBRACK); }
      "," { TOKEN(COMMA); }
      ":" { TOKEN(COLON); }
      "=" { TOKEN(EQ); }
      "->" { TOKEN(ARROW); }
      ">" { TOKEN(GT); }
      "<" {
        if (previous == GLOW_TOK_SEQ || previous == GLOW_TOK_OPT)
          TOKEN(LT);
        while (*YYCURSOR && !strchr("<>\n;\"{}()[]@%=", *YYCURSOR))
          YYCURSOR++;
        t->closed = *YYCURSOR == '>';
        YYCURSOR += t->closed;
        TOKEN(SHAPE);
      }
      [A-Za-z][A-Za-z0-9_]* {
        kind = glow_lexer_word((const char *)start, (size_t)(YYCURSOR - start));
        goto done;
      }
      * { goto stray; }
    */
  stray:
    t->length = 1;
    report_stray(p, t);
    while (*YYCURSOR >= 0x80 || (*YYCURSOR == 0 && (const char *)YYCURSOR < end))
      YYCURSOR++; /* one report for a run of them */
    continue;
  unterminated:
    t->length = (uint32_t)(YYCURSOR - start);
    glow_parse_error(p, t, "no closing '\"' on this line");
    TOKEN(BAD);
  }
done:
  l->cursor = (uint32_t)((const char *)YYCURSOR - p->text);
  t->length = l->cursor - t->offset;
  t->braces = l->braces;
  l->fresh = false;
  l->previous = kind;
  bool may_hold_any = kind == GLOW_TOK_STRING || kind == GLOW_TOK_GLOBAL ||
                      kind == GLOW_TOK_VALUE;
  if (may_hold_any)
    check_utf8(p, t);
  if (kind == GLOW_TOK_TAIL)
    newline(l, p->text + l->cursor);
  return kind;
}
