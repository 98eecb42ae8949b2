/* Parses pieces of text for callers that build modules by hand: a type, an initializer, members.
 * The lexer and the grammar are those of modules; a FRAGMENT token in front and the token after it
 * choose the kind of piece. */
#include <stdlib.h>
#include <string.h>

#include "ir/grammar.h" /* generated: token kinds */
#include "ir/parse_internal.h"

/* Feeds the tokens FRAGMENT and `open`, the text, and the token `close` (0: none). False after a
 * diagnostic. */
static bool read_fragment(GlowParser *p, int open, int close) {
  unsigned before = p->ctx->errors;
  GlowDefer release;
  p->grammar = glow_grammarAlloc(malloc, p);
  if (!p->grammar)
    glow_throw(p->ctx, GLOW_NO_MEMORY);
  glow_defer_push(p->ctx, &release, glow_parse_free_grammar, p->grammar);
  GlowToken t = {.line = 1, .col = 1};
  glow_parse_feed(p, GLOW_TOK_FRAGMENT, &t);
  glow_parse_feed(p, open, &t);
  int kind;
  while ((kind = glow_lexer_next(&p->lexer, &t)) != GLOW_TOK_EOF && !p->fatal && !p->panic)
    glow_parse_feed(p, kind, &t);
  if (!p->fatal && !p->panic && close)
    glow_parse_feed(p, close, &t);
  if (!p->fatal && !p->panic)
    glow_parse_feed(p, GLOW_TOK_EOF, &t);
  glow_defer_pop(p->ctx, &release, true);
  return p->ctx->errors == before;
}

/* A parser for a copy of `text`. Diagnostics quote the copy under the name `what`. */
static GlowParser *begin(GlowModule *m, const char *what, const char *text) {
  size_t size = strlen(text);
  GlowArena *arena = glow_arena_create(m->ctx);
  const char *copy = glow_arena_copy(m->ctx->arena, text, size + 1);
  GlowParser *p = glow_parser_create(m->ctx, arena, what, copy, size);
  p->module = m;
  return p;
}

static void release(void *arena) { glow_arena_destroy(arena); }

const GlowType *glow_type_parse(GlowModule *m, const char *what, const char *text) {
  GlowParser *p = begin(m, what, text);
  GlowDefer defer;
  glow_defer_push(m->ctx, &defer, release, p->arena);
  const GlowType *t = read_fragment(p, GLOW_TOK_COLON, 0) ? p->fragment_type : NULL;
  glow_defer_pop(m->ctx, &defer, true);
  return t && !glow_type_is_error(t) ? t : NULL;
}

bool glow_extent_declare(GlowModule *m, const char *what, const char *text) {
  GlowParser *p = begin(m, what, text);
  GlowDefer defer;
  glow_defer_push(m->ctx, &defer, release, p->arena);
  bool ok = read_fragment(p, GLOW_TOK_EXTENT, 0);
  glow_defer_pop(m->ctx, &defer, true);
  return ok;
}

bool glow_init_parse(GlowModule *m, const char *what, const char *text, const GlowType *type,
                     GlowInit *init) {
  GlowParser *p = begin(m, what, text);
  GlowDefer defer;
  glow_defer_push(m->ctx, &defer, release, p->arena);
  bool ok = read_fragment(p, GLOW_TOK_EQ, 0);
  if (ok && (p->init.kind == GLOW_INIT_EVAL || p->init.kind == GLOW_INIT_PAYLOAD)) {
    glow_error(m->ctx, glow_loc_file(m->ctx, what), "'%s' cannot stand here",
               p->init.kind == GLOW_INIT_EVAL ? "eval" : "payload");
    ok = false;
  }
  ok = ok && glow_parse_finish_init(p, type);
  *init = p->init;
  glow_defer_pop(m->ctx, &defer, true);
  return ok;
}

bool glow_members_parse(GlowModule *m, const char *what, GlowOp op, bool instr, const char *text,
                        void *members, uint32_t *shards) {
  GlowParser *p = begin(m, what, text);
  GlowDefer defer;
  glow_defer_push(m->ctx, &defer, release, p->arena);
  bool ok = !*text || read_fragment(p, GLOW_TOK_LBRACE, GLOW_TOK_RBRACE);
  GlowToken at = {.line = 1, .col = 1};
  GlowAttributes a = glow_attributes_of(op, instr, members, shards);
  ok = ok && glow_parse_members(p, what, &at, &a);
  glow_defer_pop(m->ctx, &defer, true);
  return ok;
}
