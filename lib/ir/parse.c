/* The parser's driver. It feeds tokens to the grammar, reports unexpected tokens, and finds the
 * next statement after an error. Names, strings and numbers are read here too. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ir/grammar.h"
#include "ir/parse_internal.h"
#include "support/file.h"

/* ---- Words ----------------------------------------------------------------------------------- */
typedef struct Word {
  const char *text;
  int kind;
} Word;

/* In the order of strcmp. */
static const Word keywords[] = {{"alloc", GLOW_TOK_ALLOC},
                                {"at", GLOW_TOK_AT},
                                {"constant", GLOW_TOK_CONSTANT},
                                {"dealloc", GLOW_TOK_DEALLOC},
                                {"declare", GLOW_TOK_DECLARE},
                                {"elided", GLOW_TOK_ELIDED},
                                {"eval", GLOW_TOK_EVAL},
                                {"extent", GLOW_TOK_EXTENT},
                                {"false", GLOW_TOK_BOOLEAN},
                                {"forward", GLOW_TOK_FORWARD},
                                {"from", GLOW_TOK_FROM},
                                {"func", GLOW_TOK_FUNC},
                                {"gradient", GLOW_TOK_GRADIENT},
                                {"keeping", GLOW_TOK_KEEPING},
                                {"loc", GLOW_TOK_LOC},
                                {"module", GLOW_TOK_MODULE},
                                {"none", GLOW_TOK_NONE},
                                {"of", GLOW_TOK_OF},
                                {"opt", GLOW_TOK_OPT},
                                {"payload", GLOW_TOK_PAYLOAD},
                                {"placeholder", GLOW_TOK_PLACEHOLDER},
                                {"pred", GLOW_TOK_PRED},
                                {"program", GLOW_TOK_PROGRAM},
                                {"random", GLOW_TOK_RANDOM},
                                {"resource", GLOW_TOK_RESOURCE},
                                {"return", GLOW_TOK_RETURN},
                                {"seedable", GLOW_TOK_SEEDABLE},
                                {"seq", GLOW_TOK_SEQ},
                                {"splat", GLOW_TOK_SPLAT},
                                {"step", GLOW_TOK_STEP},
                                {"tensorview", GLOW_TOK_VIEW},
                                {"true", GLOW_TOK_BOOLEAN},
                                {"variable", GLOW_TOK_VARIABLE},
                                {"with", GLOW_TOK_WITH},
                                {"wrt", GLOW_TOK_WRT},
                                {"yield", GLOW_TOK_YIELD}};
enum { KEYWORDS = sizeof keywords / sizeof *keywords };

int glow_lexer_word(const char *s, size_t length) {
  if (*s >= 'A' && *s <= 'Z')
    return GLOW_TOK_OPNAME;
  size_t low = 0, high = KEYWORDS;
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = strncmp(s, keywords[middle].text, length);
    if (order == 0 && keywords[middle].text[length])
      order = -1;
    if (order == 0)
      return keywords[middle].kind;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return glow_kind_from_name(s, length) != GLOW_KIND_COUNT ? GLOW_TOK_KIND : GLOW_TOK_IDENT;
}

/* ---- Messages -------------------------------------------------------------------------------- */
GlowLoc glow_parse_loc(const GlowParser *p, const GlowToken *t) {
  return (GlowLoc){.file = p->file, .line = t->line, .col = t->col};
}

static void report(GlowParser *p, const GlowToken *t, const char *format, va_list args) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, p->ctx);
  glow_defer_push(p->ctx, &release, glow_text_release_fn, &text);
  glow_text_vprintf(&text, format, args);
  glow_error(p->ctx, glow_parse_loc(p, t), "%s", glow_text_cstr(&text));
  glow_defer_pop(p->ctx, &release, true);
  if (p->ctx->too_many_errors)
    p->fatal = true;
}

void glow_parse_error(GlowParser *p, const GlowToken *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(p, t, format, args);
  va_end(args);
}

void glow_parse_fatal(GlowParser *p, const GlowToken *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(p, t, format, args);
  va_end(args);
  p->fatal = true;
}

/* The name of a kind of token in messages. */
static const char *spelling(int kind) {
  switch (kind) {
  case GLOW_TOK_EOF:
    return "the end of the text";
  case GLOW_TOK_VALUE:
    return "a value such as %x";
  case GLOW_TOK_GLOBAL:
    return "a name such as @x";
  case GLOW_TOK_REGION:
    return "a region such as ^body";
  case GLOW_TOK_SYMBOL:
    return "a symbol such as $N";
  case GLOW_TOK_DEFINITION:
    return "a definition such as $M = $N + 1";
  case GLOW_TOK_RANGE:
    return "a range such as 1..512";
  case GLOW_TOK_IDENT:
    return "a lower-case name";
  case GLOW_TOK_OPNAME:
    return "an operator";
  case GLOW_TOK_KIND:
    return "a type";
  case GLOW_TOK_SHAPE:
    return "a shape such as <2 x 3>";
  case GLOW_TOK_QUAL:
    return "'@in', '@out' or '@inout'";
  case GLOW_TOK_STRING:
    return "a string";
  case GLOW_TOK_INT:
    return "an integer";
  case GLOW_TOK_FLOAT:
    return "a number";
  case GLOW_TOK_BOOLEAN:
    return "'true' or 'false'";
  case GLOW_TOK_UNDERSCORE:
    return "'_'";
  case GLOW_TOK_LBRACE:
    return "'{'";
  case GLOW_TOK_RBRACE:
    return "'}'";
  case GLOW_TOK_LPAREN:
    return "'('";
  case GLOW_TOK_RPAREN:
    return "')'";
  case GLOW_TOK_LBRACK:
    return "'['";
  case GLOW_TOK_RBRACK:
    return "']'";
  case GLOW_TOK_LT:
    return "'<'";
  case GLOW_TOK_GT:
    return "'>'";
  case GLOW_TOK_COMMA:
    return "','";
  case GLOW_TOK_COLON:
    return "':'";
  case GLOW_TOK_EQ:
    return "'='";
  case GLOW_TOK_ARROW:
    return "'->'";
  default:
    return NULL;
  }
}

enum { MAX_QUOTED = 40, MAX_EXPECTED = 5 };

static void put_token(const GlowParser *p, GlowText *out, const GlowToken *t) {
  if (t->offset >= p->size) {
    glow_text_puts(out, "the end of the text");
    return;
  }
  uint32_t n = t->length < MAX_QUOTED ? t->length : MAX_QUOTED;
  glow_text_printf(out, "'%.*s%s'", (int)n, glow_token_text(p, t), n < t->length ? "..." : "");
}

static void put_kind(GlowText *out, int kind) {
  const char *known = spelling(kind);
  if (known) {
    glow_text_puts(out, known);
    return;
  }
  for (size_t i = 0; i < KEYWORDS; i++)
    if (keywords[i].kind == kind) {
      glow_text_printf(out, "'%s'", keywords[i].text);
      return;
    }
}

/* Copies the expected kinds that help the reader of a message, and returns their number. Left out
 * are keywords where any name may stand, internal tokens such as SYNC, the end of the text, and
 * further literals where an operand may be a number. */
static int useful(const int *expected, int count, int *kinds) {
  bool any_name = false, any_value = false, any_number = false;
  for (int i = 0; i < count; i++) {
    any_name |= expected[i] == GLOW_TOK_IDENT;
    any_value |= expected[i] == GLOW_TOK_VALUE;
    any_number |= expected[i] == GLOW_TOK_FLOAT;
  }
  int n = 0;
  for (int i = 0; i < count; i++) {
    int k = expected[i];
    bool stands_for_name = any_name && k != GLOW_TOK_IDENT &&
                           glow_grammarFallback(k) == GLOW_TOK_IDENT && k != GLOW_TOK_DEALLOC;
    bool at_end = k == GLOW_TOK_EOF; /* goes without saying */
    bool operand = any_value && any_number && (k == GLOW_TOK_INT || k == GLOW_TOK_BOOLEAN);
    if (k != GLOW_TOK_SYNC && k != GLOW_TOK_TAIL && k != GLOW_TOK_BAD && !stands_for_name &&
        !at_end && !operand)
      kinds[n++] = k;
  }
  return n;
}

void glow_parse_syntax_error(GlowParser *p, int kind, const GlowToken *t, const int *expected,
                             int count) {
  p->panic = p->recovered = true;
  if (kind == GLOW_TOK_BAD || (p->error_at && p->error_at == t->offset + 1))
    return; /* reported already: by the lexer, or when the token was tried before recovery */
  p->error_at = t->offset + 1;
  int kinds[64];
  int n = useful(expected, count < 64 ? count : 64, kinds);
  if (kind == GLOW_TOK_QUAL && n == 1 && kinds[0] == GLOW_TOK_GLOBAL) {
    glow_parse_error(p, t, "'%.*s' is reserved; as a name it is written @\"%.*s\"", (int)t->length,
                     glow_token_text(p, t), (int)t->length - 1, glow_token_text(p, t) + 1);
    return;
  }
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, p->ctx);
  glow_defer_push(p->ctx, &release, glow_text_release_fn, &text);
  if (n > 0 && n <= MAX_EXPECTED) {
    glow_text_puts(&text, "expected ");
    for (int i = 0; i < n; i++) {
      glow_text_puts(&text, i == 0 ? "" : i == n - 1 ? " or " : ", ");
      put_kind(&text, kinds[i]);
    }
    if (p->last.length) {
      glow_text_puts(&text, " after ");
      put_token(p, &text, &p->last);
    }
    glow_text_puts(&text, ", found ");
    put_token(p, &text, t);
  } else {
    glow_text_puts(&text, "unexpected ");
    put_token(p, &text, t);
    if (p->last.length) {
      glow_text_puts(&text, " after ");
      put_token(p, &text, &p->last);
    }
  }
  glow_text_puts(&text, glow_parse_hint(p, kind, t, expected, count));
  glow_parse_error(p, t, "%s", glow_text_cstr(&text));
  glow_defer_pop(p->ctx, &release, true);
  if (kind == GLOW_TOK_EOF && p->scopes.count)
    glow_note(p->ctx, glow_parse_loc(p, &p->scopes.data[p->scopes.count - 1].open),
              "this '{' is open");
}

/* ---- Names, strings, numbers ----------------------------------------------------------------- */
static int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the literal text s[0..n) (no quotes) into out; returns the length, or -1 with *bad set.
 */
static ptrdiff_t unescape(const char *s, size_t n, char *out, size_t *bad) {
  size_t length = 0;
  for (size_t i = 0; i < n; i++) {
    if (s[i] != '\\') {
      out[length++] = s[i];
      continue;
    }
    *bad = i;
    char c = s[++i]; /* the lexer never ends a literal behind a backslash */
    if (c == 'x') {
      int high = i + 2 < n + 1 ? hex_digit(s[i + 1]) : -1;
      int low = high >= 0 && i + 2 < n ? hex_digit(s[i + 2]) : -1;
      if (low < 0)
        return -1;
      out[length++] = (char)(high << 4 | low);
      i += 2;
      continue;
    }
    static const char from[] = "\"\\ntr", to[] = "\"\\\n\t\r";
    const char *at = memchr(from, c, sizeof from - 1);
    if (!at)
      return -1;
    out[length++] = to[at - from];
  }
  return (ptrdiff_t)length;
}

/* The bytes of the literal that starts `skip` bytes behind t's start. */
static char *decode(GlowParser *p, const GlowToken *t, uint32_t skip, size_t *length) {
  const char *s = glow_token_text(p, t) + skip + 1;
  size_t n = t->length - skip - 2, bad = 0;
  char *out = glow_arena_alloc(p->arena, n + 1);
  ptrdiff_t got = unescape(s, n, out, &bad);
  if (got < 0) {
    GlowToken at = *t;
    at.col += skip + 1 + (uint32_t)bad;
    glow_parse_error(p, &at, "bad escape '\\%c'; there are \\\" \\\\ \\n \\t \\r and \\xHH",
                     s[bad + 1]);
    return NULL;
  }
  *length = (size_t)got;
  return out;
}

char *glow_parse_bytes(GlowParser *p, const GlowToken *t, size_t *length) {
  return decode(p, t, 0, length);
}

static GlowStr intern(GlowParser *p, const GlowToken *t, const char *s, size_t length) {
  if (length > GLOW_MAX_NAME)
    glow_parse_error(p, t, "a name of %zu bytes is too long; at most %d", length, GLOW_MAX_NAME);
  else if (memchr(s, 0, length))
    glow_parse_error(p, t, "a name must not hold a NUL");
  else
    return glow_str_n(p->ctx, s, length);
  return NULL;
}

GlowStr glow_parse_string(GlowParser *p, const GlowToken *t) {
  size_t length;
  const char *s = decode(p, t, 0, &length);
  return s ? intern(p, t, s, length) : NULL;
}

GlowStr glow_parse_name(GlowParser *p, const GlowToken *t) {
  const char *s = glow_token_text(p, t) + 1;
  if (*s != '"')
    return intern(p, t, s, t->length - 1);
  size_t length;
  s = decode(p, t, 1, &length);
  if (s && length == 0) {
    glow_parse_error(p, t, "a name must not be empty");
    return NULL;
  }
  return s ? intern(p, t, s, length) : NULL;
}

GlowStr glow_parse_word(GlowParser *p, const GlowToken *t) {
  return intern(p, t, glow_token_text(p, t), t->length);
}

GlowInteger glow_parse_integer(const GlowParser *p, const GlowToken *t) {
  GlowInteger v = {0};
  const char *s = glow_token_text(p, t), *end = s + t->length;
  if (*s == '-') {
    v.negative = true;
    s++;
  }
  for (; s < end; s++) {
    uint64_t digit = (uint64_t)(*s - '0');
    if (v.magnitude > (UINT64_MAX - digit) / 10) {
      v.overflow = true;
      return v;
    }
    v.magnitude = v.magnitude * 10 + digit;
  }
  return v;
}

bool glow_parse_i64(GlowParser *p, const GlowToken *t, int64_t low, int64_t high, const char *what,
                    int64_t *value) {
  GlowInteger v = glow_parse_integer(p, t);
  uint64_t most = (uint64_t)INT64_MAX + (v.negative ? 1 : 0);
  bool fits = !v.overflow && v.magnitude <= most;
  int64_t n = !fits ? 0 : v.negative ? (int64_t)(0 - v.magnitude) : (int64_t)v.magnitude;
  if (fits && n >= low && n <= high) {
    *value = n;
    return true;
  }
  glow_parse_error(p, t, "%s is out of range: expected an integer from %lld to %lld", what,
                   (long long)low, (long long)high);
  return false;
}

/* ---- The driver ------------------------------------------------------------------------------ */
static int inner_braces(const GlowParser *p) {
  return p->scopes.count ? p->scopes.data[p->scopes.count - 1].braces : 0;
}

static bool starts_item(int kind) {
  return kind == GLOW_TOK_FUNC || kind == GLOW_TOK_PROGRAM || kind == GLOW_TOK_GRADIENT ||
         kind == GLOW_TOK_DECLARE || kind == GLOW_TOK_MODULE;
}

static bool starts_statement(int kind) {
  return kind == GLOW_TOK_VALUE || kind == GLOW_TOK_UNDERSCORE || kind == GLOW_TOK_OPNAME ||
         kind == GLOW_TOK_IDENT || glow_grammarFallback(kind) == GLOW_TOK_IDENT;
}

/* Whether parsing can go on at this token after an error: it starts a statement or item, or ends
 * the innermost block or the text. */
static bool is_sync(GlowParser *p, int kind, const GlowToken *t) {
  int inside = inner_braces(p);
  if (starts_item(kind) && t->fresh && (p->scopes.count == 0 || t->col == 1)) {
    p->lexer.braces = 0;
    return true;
  }
  if (kind == GLOW_TOK_EOF)
    return true;
  if (p->scopes.count == 0)
    return false;
  return (kind == GLOW_TOK_RBRACE && p->lexer.braces == inside - 1) ||
         (t->fresh && p->lexer.braces == inside && starts_statement(kind));
}

void glow_parse_feed(GlowParser *p, int kind, const GlowToken *t) {
  glow_grammar(p->grammar, kind, *t);
  if (p->no_memory)
    glow_throw(p->ctx, GLOW_NO_MEMORY);
}

/* Ends the panic: drops the collected parts of the statement. If `kind` starts an item, closes the
 * blocks whose '}' is missing. */
static void resume(GlowParser *p, int kind, const GlowToken *t) {
  p->panic = false;
  glow_parse_feed(p, GLOW_TOK_SYNC, t);
  glow_grammar_recovered(p->grammar);
  if (starts_item(kind))
    for (uint32_t open = p->scopes.count; open > 0 && !p->panic; open--)
      glow_parse_feed(p, GLOW_TOK_RBRACE, t);
}

static void feed_or_skip(GlowParser *p, int kind, const GlowToken *t) {
  bool resumed = false;
  if (p->panic) {
    if (!is_sync(p, kind, t) || kind == GLOW_TOK_EOF)
      return;
    resume(p, kind, t);
    resumed = true;
  }
  glow_parse_feed(p, kind, t);
  /* The unexpected token may itself start the next statement. */
  if (p->panic && !resumed && kind != GLOW_TOK_EOF && is_sync(p, kind, t)) {
    resume(p, kind, t);
    if (!p->panic)
      glow_parse_feed(p, kind, t);
  }
}

/* `payload <bytes>`: the text ends here. */
static void find_payload(GlowParser *p, GlowToken *t) {
  GlowToken number = *t;
  const char *s = glow_token_text(p, t);
  uint32_t skip = (uint32_t)strcspn(s, "0123456789");
  number.offset += skip;
  number.col += skip;
  number.length = (uint32_t)strspn(s + skip, "0123456789");
  GlowInteger size = glow_parse_integer(p, &number);
  uint64_t left = p->size - (t->offset + (uint64_t)t->length);
  if (size.overflow || size.magnitude != left) {
    glow_parse_fatal(p, &number, "the payload has %llu bytes, but the text says %.*s",
                     (unsigned long long)left, (int)number.length, glow_token_text(p, &number));
    return;
  }
  p->payload_at = t->offset + (uint64_t)t->length;
  p->payload_size = left;
}

static void drive(GlowParser *p) {
  GlowToken t = {0};
  for (bool first = true; !p->fatal; first = false) {
    int kind = glow_lexer_next(&p->lexer, &t);
    if (p->fatal)
      return;
    if (kind == GLOW_TOK_EOF && first) {
      glow_parse_error(p, &t, "the text is empty: expected a module");
      return;
    }
    if (kind == GLOW_TOK_TAIL && p->lexer.braces == 0) {
      find_payload(p, &t);
      kind = GLOW_TOK_EOF;
    } else if (kind == GLOW_TOK_TAIL) {
      glow_parse_fatal(p, &t, "the payload stands behind the last item; a '}' is missing");
      return;
    }
    feed_or_skip(p, kind, &t);
    if (kind == GLOW_TOK_EOF)
      return;
    p->last = t;
  }
}

void glow_parse_free_grammar(void *grammar) { glow_grammarFree(grammar, free); }

static void parse(GlowParser *p) {
  GlowDefer release;
  p->grammar = glow_grammarAlloc(malloc, p);
  if (!p->grammar)
    glow_throw(p->ctx, GLOW_NO_MEMORY);
  glow_defer_push(p->ctx, &release, glow_parse_free_grammar, p->grammar);
  drive(p);
  glow_defer_pop(p->ctx, &release, true);
}

static void make_error_value(GlowParser *p) {
  GlowBlock *nowhere = glow_block_create(p->module, GLOW_LEVEL_GRAPH, NULL, NULL);
  p->error_value =
      glow_block_add_param(nowhere, glow_str(p->ctx, "error"), glow_type_error(p->ctx));
}

GlowParser *glow_parser_create(GlowContext *ctx, GlowArena *arena, const char *name,
                               const char *data, size_t size) {
  GlowParser *p = GLOW_NEW(arena, GlowParser);
  p->ctx = ctx;
  p->arena = arena;
  p->text = data;
  p->size = size;
  p->file = glow_str(ctx, name);
  p->at = -1;
  glow_source_add(ctx, name, data, size);
  glow_lexer_init(&p->lexer, p);
  return p;
}

GlowModule *glow_module_parse(GlowContext *ctx, const char *name, const char *data, size_t size) {
  unsigned before = ctx->errors;
  GlowArena *arena = glow_arena_create(ctx);
  GlowParser *p = glow_parser_create(ctx, arena, name, data, size);
  p->module = glow_module_create(ctx, NULL);
  p->module->path_dir = glow_path_dir(ctx, name);
  make_error_value(p);
  parse(p);
  if (!p->fatal) {
    glow_parse_payload(p);
    glow_parse_resolve(p);
  }
  GlowModule *m = p->module;
  glow_arena_destroy(arena);
  if (ctx->errors == before && !ctx->too_many_errors)
    return m;
  glow_module_destroy(m);
  return NULL;
}

bool glow_text_is_module(const char *data, size_t size) {
  if (size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)) {
    data += 3;
    size -= 3;
  }
  if (size > 8)
    size = 8; /* the first bytes of binary formats are not text */
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)data[i];
    if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f)
      return false;
    if (c >= 0x80)
      return i > 0; /* UTF-8 in a comment or name; at the very start: a binary format */
  }
  return size > 0;
}
