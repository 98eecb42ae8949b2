/* Guesses at what the writer of a text meant: names of other systems, names of the other level, and
 * spellings of the Glow paper. A hint is the end of a message, "; did you mean 'x'?", or empty. */
#include <ctype.h>
#include <string.h>

#include "ir/grammar.h"
#include "ir/parse_internal.h"
#include "ops/help.h"

const char *glow_op_nearest(const char *word, bool instr) {
  const char *names[GLOW_OP_COUNT];
  size_t n = 0;
  GlowOp other = glow_op_from_other_name(word, strlen(word));
  if (other != GLOW_OP_COUNT && (!instr || glow_op_desc[other].instr))
    return instr ? glow_op_desc[other].instr : glow_op_desc[other].node;
  for (uint32_t i = 0; i < GLOW_OP_COUNT; i++) {
    const GlowOpDesc *d = &glow_op_desc[i];
    const char *name = instr ? d->instr : d->node;
    if (name && !GLOW_HAS(d, SYNTAX))
      names[n++] = name;
  }
  return glow_nearest(word, names, n);
}

/* Element kinds as other systems call them. */
static const char *const kinds[][2] = {
    {"index", "i64"},     {"f16", "float16"}, {"half", "float16"},   {"f32", "float"},
    {"float32", "float"}, {"f64", "double"},  {"float64", "double"}, {"bf16", "bfloat16"},
    {"int8", "i8"},       {"int16", "i16"},   {"int32", "i32"},      {"int64", "i64"},
    {"uint8", "u8"},      {"uint16", "u16"},  {"uint32", "u32"},     {"uint64", "u64"},
    {"tensor", "float"},
};

static const char *kind_hint(GlowParser *p, const GlowToken *t) {
  const char *s = glow_token_text(p, t);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strlen(kinds[i][0]) == t->length && memcmp(kinds[i][0], s, t->length) == 0)
      return glow_str_printf(p->ctx, "; did you mean '%s'?", kinds[i][1]);
  return "";
}

static bool is_among(int kind, const int *expected, int count) {
  for (int i = 0; i < count; i++)
    if (expected[i] == kind)
      return true;
  return false;
}

/* A hint at an unexpected token in a func. */
static const char *graph_hint(GlowParser *p, int kind, const GlowToken *t) {
  GlowOp op = glow_op_from_instr_name(glow_token_text(p, t), t->length);
  if (kind == GLOW_TOK_IDENT && op != GLOW_OP_COUNT && glow_op_desc[op].node)
    return glow_str_printf(p->ctx, "; in a func it is written '%s(...)'", glow_op_desc[op].node);
  if (kind == GLOW_TOK_QUAL)
    return "; only the instructions of programs qualify their operands";
  return "";
}

static bool follows(const GlowParser *p, const char *word) {
  return p->last.length == strlen(word) &&
         memcmp(glow_token_text(p, &p->last), word, p->last.length) == 0;
}

/* A hint at an unexpected token in a program. */
static const char *program_hint(GlowParser *p, int kind, const GlowToken *t, const int *expected,
                                int count) {
  bool named = is_among(GLOW_TOK_ALLOC, expected, count) && count <= 2;
  GlowOp op = glow_op_from_node_name(glow_token_text(p, t), t->length);
  if (named && (kind == GLOW_TOK_IDENT || kind == GLOW_TOK_DEALLOC))
    return "; an instruction has no name of its own";
  if (kind == GLOW_TOK_OPNAME && op != GLOW_OP_COUNT && glow_op_desc[op].instr)
    return glow_str_printf(p->ctx, "; in a program it is written '%s @out ..., @in ...'",
                           glow_op_desc[op].instr);
  if (kind == GLOW_TOK_LBRACK && isalpha((unsigned char)*glow_token_text(p, &p->last)))
    return "; members are named: {strides = [1, 1]}";
  if (kind == GLOW_TOK_QUAL && follows(p, "dealloc"))
    return "; dealloc has no '@out'";
  return "";
}

const char *glow_parse_hint(GlowParser *p, int kind, const GlowToken *t, const int *expected,
                            int count) {
  const GlowBlock *b = p->scopes.count ? p->scopes.data[p->scopes.count - 1].block : NULL;
  if (kind == GLOW_TOK_VALUE && is_among(GLOW_TOK_PLACEHOLDER, expected, count))
    return glow_str_printf(p->ctx, "; write 'variable @%.*s : TYPE = VALUE', or a placeholder",
                           (int)t->length - 1, glow_token_text(p, t) + 1);
  if (kind == GLOW_TOK_IDENT && is_among(GLOW_TOK_KIND, expected, count))
    return kind_hint(p, t);
  if (!b)
    return "";
  return b->level == GLOW_LEVEL_GRAPH ? graph_hint(p, kind, t)
                                      : program_hint(p, kind, t, expected, count);
}
