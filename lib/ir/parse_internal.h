/* The inside of the parser: tokens, the state that grammar actions share, and the actions.
 *
 * Actions build the IR directly. Before the node of a statement exists, its result names, operands,
 * attribute values and types are collected in growing arrays; creating the node empties them. So
 * nothing is allocated per token. Types are inferred in a second walk (parse_resolve.c), when the
 * signatures of all functions are known. */
#ifndef GLOW_IR_PARSE_INTERNAL_H
#define GLOW_IR_PARSE_INTERNAL_H

#include "ir/ir_internal.h"

typedef struct GlowParser GlowParser;

typedef struct GlowToken {
  uint32_t offset, length;
  uint32_t line, col;
  int32_t braces; /* open '{' up to and with this token */
  bool fresh;     /* the first token on its line */
  bool closed;    /* SHAPE: '>' was found */
} GlowToken;

enum { GLOW_TOK_EOF = 0 };

typedef struct GlowLexer {
  GlowParser *parser;
  size_t cursor;
  uint32_t line, line_start;
  int braces;   /* open '{' so far */
  int previous; /* kind of the last token */
  bool fresh;
} GlowLexer;

void glow_lexer_init(GlowLexer *l, GlowParser *p);
int glow_lexer_next(GlowLexer *l, GlowToken *t);
/* The kind of a word: a keyword, an element kind, an operator (CamelCase) or an identifier. */
int glow_lexer_word(const char *s, size_t length);

/* An attribute value, in a flat array: a LIST is followed by its items up to index `end`. */
typedef enum GlowValueTag {
  GLOW_TAG_KEY,
  GLOW_TAG_INT,
  GLOW_TAG_FLOAT,
  GLOW_TAG_STRING,
  GLOW_TAG_BOOL,
  GLOW_TAG_WORD,
  GLOW_TAG_KIND,
  GLOW_TAG_GLOBAL,
  GLOW_TAG_SYMBOL,
  GLOW_TAG_TYPE,
  GLOW_TAG_LIST
} GlowValueTag;
typedef struct GlowItem {
  uint32_t offset;               /* in the text */
  uint32_t tag : 8, length : 24; /* bytes of the token; TYPE: index into parser->list_types */
  uint32_t end;                  /* LIST: index behind its last item */
} GlowItem;

typedef struct GlowOperandText {
  GlowValue *value; /* NULL: none */
  GlowQual qual;
} GlowOperandText;

typedef struct GlowParamText {
  GlowToken name;
  const GlowType *type;
} GlowParamText;

typedef struct GlowListText {
  GlowToken token;
  uint32_t index;
} GlowListText;

typedef enum GlowOpening {
  GLOW_OPEN_FUNCTION,
  GLOW_OPEN_EVAL,
  GLOW_OPEN_REGION,
  GLOW_OPEN_SCALAR /* ^r(...) = { } */
} GlowOpening;

/* An open block, or a declare section (block NULL). The result names of its statement at hand begin
 * at index `names` of parser->names. `node` is the node whose regions are being read. */
typedef struct GlowScope {
  GlowBlock *block;
  int braces; /* the lexer's count of open '{' within the block */
  uint32_t names;
  GlowNode *node;
  GlowToken open;
} GlowScope;

struct GlowParser {
  GlowContext *ctx;
  GlowArena *arena; /* scratch: goes when parsing ends */
  GlowModule *module;
  void *grammar;
  GlowStr file;
  const char *text;
  size_t size;
  GlowLexer lexer;
  uint32_t error_at; /* offset of the last syntax error, plus 1 */
  GlowToken last;    /* the token before the one at hand, for messages */
  bool panic;        /* after a syntax error: tokens are skipped up to the next statement */
  bool recovered;    /* there was a syntax error: blocks may lack skipped statements */
  bool fatal;        /* parsing stops */
  bool no_memory;    /* lemon's stack could not grow */
  uint32_t list_depth, type_depth;

  GLOW_VEC(GlowScope) scopes; /* innermost last; empty at the top level */
  GLOW_VEC(GlowItem) items;
  GLOW_VEC(const GlowType *) types;
  GLOW_VEC(const GlowType *) list_types; /* types that are attribute values */
  GLOW_VEC(GlowOperandText) operands;
  GLOW_VEC(GlowToken) names;
  GLOW_VEC(GlowStr) rangeless; /* symbols that types name and that have no range so far */
  GLOW_VEC(GlowParamText) params;
  GLOW_VEC(GlowParamText) results; /* of a signature; a token of length 0: no name */
  GLOW_VEC(GlowGradientRef) refs;
  GlowToken anchor;  /* place of the first of the items at hand */
  GlowToken counted; /* place of the last item that glow_item_token was asked for */

  /* The function or region that the next '{' opens. */
  GlowFunction *function;
  GlowToken label;
  /* Parts of the statement at hand. */
  GlowValue *pred;
  GlowOrigin *origin;
  bool has_results;     /* a signature's -> (...) */
  GlowFunction clauses; /* of a gradient declaration */
  GlowInit init;
  GlowToken init_token; /* where the initializer starts */
  int64_t at;
  GlowValue *error_value;            /* takes the place of a value that could not be resolved */
  const GlowType *fragment_type;     /* result of reading a fragment that is a type */
  uint64_t payload_at, payload_size; /* of the bytes behind the text; 0 if there are none */
};

/* A parser for a text that the context now quotes; its scratch memory is `arena`. */
GlowParser *glow_parser_create(GlowContext *ctx, GlowArena *arena, const char *name,
                               const char *data, size_t size);
/* Gives the generated parser a token. */
void glow_parse_feed(GlowParser *p, int kind, const GlowToken *t);
void glow_parse_free_grammar(void *grammar); /* a GlowDefer release */

/* ---- Messages -------------------------------------------------------------------------------- */
GlowLoc glow_parse_loc(const GlowParser *p, const GlowToken *t);
void glow_parse_error(GlowParser *p, const GlowToken *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Also stops the parse. For exceeded limits: further errors would only be consequences. */
void glow_parse_fatal(GlowParser *p, const GlowToken *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Called by the generated parser. `expected`: the `count` token kinds that would be right here. */
void glow_parse_syntax_error(GlowParser *p, int kind, const GlowToken *t, const int *expected,
                             int count);
/* The end of a message: a guess at what the writer meant, or "" (parse_hints.c). */
const char *glow_parse_hint(GlowParser *p, int kind, const GlowToken *t, const int *expected,
                            int count);
/* The token of an item. Its line and column are counted from the item of the last call on, so calls
 * for all items in order read their text once. */
GlowToken glow_item_token(GlowParser *p, const GlowItem *item);

/* ---- Names, strings, numbers ----------------------------------------------------------------- */
static inline const char *glow_token_text(const GlowParser *p, const GlowToken *t) {
  return p->text + t->offset;
}
/* The name behind a sigil, unquoted; NULL after a message. */
GlowStr glow_parse_name(GlowParser *p, const GlowToken *t);
/* A string literal's bytes in scratch memory; *length may exceed strlen. NULL after a message. */
char *glow_parse_bytes(GlowParser *p, const GlowToken *t, size_t *length);
GlowStr glow_parse_string(GlowParser *p, const GlowToken *t); /* without NUL */
GlowStr glow_parse_word(GlowParser *p, const GlowToken *t);
typedef struct GlowInteger {
  bool negative, overflow;
  uint64_t magnitude;
} GlowInteger;
GlowInteger glow_parse_integer(const GlowParser *p, const GlowToken *t);
/* An INT token in [low, high]; reports `what` and returns false otherwise. */
bool glow_parse_i64(GlowParser *p, const GlowToken *t, int64_t low, int64_t high, const char *what,
                    int64_t *value);

/* ---- Types (parse_type.c) -------------------------------------------------------------------- */
typedef struct GlowQuantText {
  bool present, bad;
  float scale;
  int32_t offset;
  GlowToken at; /* the offset's */
} GlowQuantText;
GlowQuantText glow_parse_quant(GlowParser *p, const GlowToken *s, const GlowToken *scale,
                               const GlowToken *o, const GlowToken *offset);
const GlowType *glow_parse_tensor_type(GlowParser *p, const GlowToken *kind, GlowQuantText quant,
                                       const GlowToken *shape);
void glow_parse_type_open(GlowParser *p, const GlowToken *t);
const GlowType *glow_parse_seq_type(GlowParser *p, const GlowType *elem, const GlowToken *count);
const GlowType *glow_parse_opt_type(GlowParser *p, const GlowType *elem);

/* ---- Attribute values (parse_value.c) -------------------------------------------------------- */
void glow_parse_item(GlowParser *p, GlowValueTag tag, const GlowToken *t);
void glow_parse_type_item(GlowParser *p, const GlowType *type);
uint32_t glow_parse_list_open(GlowParser *p, const GlowToken *t);
void glow_parse_list_close(GlowParser *p, uint32_t open);
/* The attributes that may stand between braces, and where their values are stored. */
typedef struct GlowAttributes {
  const GlowMember *table;
  uint32_t count;
  void *members;
  bool instr;       /* an instruction: imembers are allowed */
  uint32_t *shards; /* where `shards` is stored; NULL: not allowed */
} GlowAttributes;
/* The attributes of a node or instruction of operator `op`. */
GlowAttributes glow_attributes_of(GlowOp op, bool instr, void *members, uint32_t *shards);
/* Stores the collected `key = value` pairs. Reports duplicates, unknown keys and missing required
 * members, at `at` or at the key; `whose` names the owner in messages. */
bool glow_parse_members(GlowParser *p, const char *whose, const GlowToken *at,
                        const GlowAttributes *a);
/* Drops the collected items, when the statement is given up. */
void glow_parse_drop_items(GlowParser *p);
/* Reads a number or boolean; with `single` a decimal is rounded once, to float. Reports. */
bool glow_item_scalar(GlowParser *p, const GlowItem *item, bool single, GlowScalar *value);

/* ---- Storage (parse_init.c) ------------------------------------------------------------------ */
void glow_parse_init_value(GlowParser *p, const GlowToken *t); /* a lone value or list */
void glow_parse_init_splat(GlowParser *p, const GlowToken *t);
void glow_parse_init_random(GlowParser *p, const GlowToken *t);
void glow_parse_init_resource(GlowParser *p, const GlowToken *t, const GlowToken *file,
                              const GlowToken *key);
void glow_parse_init_payload(GlowParser *p, const GlowToken *t, const GlowToken *key);
void glow_parse_init_elided(GlowParser *p, const GlowToken *t);
void glow_parse_init_eval(GlowParser *p, const GlowToken *t, GlowBlock *block);
/* `extent $N : 1..512 step 4`; step may be NULL. */
void glow_parse_extent(GlowParser *p, const GlowToken *name, const GlowToken *range,
                       const GlowToken *step);
/* `extent $M = $N + 1 : 2..513`; range and step may be NULL. */
void glow_parse_definition(GlowParser *p, const GlowToken *definition, const GlowToken *range,
                           const GlowToken *step);
void glow_parse_storage(GlowParser *p, GlowStorageClass cls, const GlowToken *name,
                        const GlowType *type, bool has_init);
/* Reads an item as an element of `type`, which has rank 0. Reports a value that does not fit. */
bool glow_parse_element(GlowParser *p, const GlowItem *item, const GlowType *type, GlowScalar *v);
/* Completes the initializer at hand for a value of this type. */
bool glow_parse_finish_init(GlowParser *p, const GlowType *type);
/* After the last item: gives payload storage its bytes. */
void glow_parse_payload(GlowParser *p);

/* ---- Items, blocks and nodes (parse_build.c) ------------------------------------------------- */
void glow_parse_header(GlowParser *p, const GlowToken *t, const GlowToken *name);
void glow_parse_param(GlowParser *p, const GlowToken *name, const GlowType *type);
void glow_parse_function(GlowParser *p, GlowFunctionKind kind, const GlowToken *name);
/* One type of a signature's -> (...); `name` may be NULL. */
void glow_parse_result(GlowParser *p, const GlowToken *name, const GlowType *type);
void glow_parse_with(GlowParser *p, const GlowToken *t);
void glow_parse_gradient(GlowParser *p, const GlowToken *name, const GlowToken *primal);
void glow_parse_gradient_ref(GlowParser *p, const GlowToken *t, char sigil);
void glow_parse_gradient_clause(GlowParser *p, const GlowToken *t, char clause);
void glow_parse_open_section(GlowParser *p, const GlowToken *t);
void glow_parse_open_block(GlowParser *p, const GlowToken *t, GlowOpening opening);
/* Closes the innermost block or section and returns its block. */
GlowBlock *glow_parse_close(GlowParser *p);
void glow_parse_sync(GlowParser *p); /* after an error: drops what the statement collected */
void glow_parse_result_name(GlowParser *p, const GlowToken *t);
GlowValue *glow_parse_ref(GlowParser *p, const GlowToken *t, char sigil);
void glow_parse_operand(GlowParser *p, const GlowToken *qual, GlowValue *value);
void glow_parse_origin(GlowParser *p, const GlowToken *file, const GlowToken *name,
                       const GlowToken *line, const GlowToken *col);
void glow_parse_node(GlowParser *p, const GlowToken *start, const GlowToken *op, bool instr);
void glow_parse_node_end(GlowParser *p);
void glow_parse_node_abandon(GlowParser *p);
void glow_parse_region(GlowParser *p, const GlowToken *label);
void glow_parse_terminator(GlowParser *p, const GlowToken *t, GlowOp op);
void glow_parse_alloc(GlowParser *p, const GlowToken *name, const GlowType *type);
void glow_parse_view(GlowParser *p, const GlowToken *name, const GlowToken *t, GlowValue *base,
                     const GlowType *type);
void glow_parse_dealloc(GlowParser *p, const GlowToken *t, GlowValue *buffer);

/* ---- Literals as operands (parse_literal.c) -------------------------------------------------- */
/* Makes a Splat for the literal and returns its value; the second walk sets the type. */
GlowValue *glow_parse_literal(GlowParser *p, GlowValueTag tag, const GlowToken *t);
bool glow_parse_is_literal(const GlowNode *n); /* a literal's Splat that has no type yet */
/* Sets type, name and value of the literals among n's operands. Reports. */
void glow_parse_resolve_literals(GlowParser *p, GlowNode *n);

/* ---- Types of nodes (parse_resolve.c) -------------------------------------------------------- */
void glow_parse_resolve(GlowParser *p);

/* ---- The generated parser -------------------------------------------------------------------- */
void *glow_grammarAlloc(void *(*alloc)(size_t), GlowParser *p);
void glow_grammarFree(void *grammar, void (*release)(void *));
void glow_grammar(void *grammar, int kind, GlowToken token);
int glow_grammarFallback(int kind);
/* Makes the parser report errors at once again. (After an error, lemon is silent for three
 * tokens.) */
void glow_grammar_recovered(void *grammar);

#endif
