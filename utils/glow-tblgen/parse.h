/* Between the lexer, the grammar and parse.c. */
#ifndef GLOW_TBLGEN_PARSE_H
#define GLOW_TBLGEN_PARSE_H

#include "tblgen.h"

typedef struct Lexer {
  const char *cursor, *limit, *token, *line_start;
  uint32_t line;
  int before, last; /* the two tokens that were read last */
  bool slope;       /* the next brace opens the code of a `slope` */
} Lexer;

/* What lexer_next returns besides tokens (0 is the end). */
enum { LEX_BAD = -1, LEX_OPEN_CODE = -2 };
int lexer_next(Lexer *lx);
static inline void lexer_newline(Lexer *lx) {
  lx->line++;
  lx->line_start = lx->cursor;
}

typedef struct Parser {
  OpFile *file;
  const GlowSource *source;
  Lexer lx;
  OpDecl *op;      /* the block being read */
  const char *row; /* the row of the kernel table being read, and its parts */
  ParamsDecl *params;
  TileDecl *tile;
  KernelDecl *kernel;
  RolesDecl *roles;
  LayoutDecl *layout;
  Ports *row_out, *row_in;
  Family *family;
  Ports *ports;    /* of the clause being read */
  bool instr_only; /* members of the clause being read */
  bool map;        /* the text is onnx.map, not .ops */
  bool failed;     /* a syntax error: skip to the next declaration */
} Parser;

/* Actions of the grammar. */
void parse_kinds(Parser *p, Name name, Names parts);
void parse_enum(Parser *p, Name name, Names values);
void parse_op_begin(Parser *p, Name name, Name doc, bool is_instr);
void parse_clause(Parser *p, Clause clause, Name at);
void parse_port(Parser *p, Name name, Name type, bool scalar, uint8_t flags);
void parse_member(Parser *p, Name name, Name type, bool array, Lit initial, Name doc);
void parse_domain(Parser *p, Name name, Name newest);
void parse_row(Parser *p, Name op, Names versions, OnnxRow target);
/* Items of a `grad` clause; doc.text NULL: none was given. */
void parse_grad_word(Parser *p, Name port, Name word, Name doc); /* port.text NULL: of all */
void parse_grad_all(Parser *p, GradKind kind, Name word);
void parse_grad_slope(Parser *p, Name port, Name code, Name doc);
void parse_grad_rule(Parser *p, Name port, Rule *rule, Name doc);
Rule *parse_rule(Parser *p, RuleKind kind, Name name);
void parse_slope(Parser *p, Name function, Names params, Name code, Name doc);
Lit parse_lit(LitKind kind, Name text);
void parse_number(Parser *p, Name name, Name value, Name doc);
void parse_sources(Parser *p, Name level, Names files, Name doc);
void parse_params(Parser *p, Name name, Name doc);
void parse_fields(Parser *p, bool derived, Names names, Name type, Name count, Name doc);
void parse_callback(Parser *p, Name name, Names ints, Name doc, bool step);
void parse_tile(Parser *p, Name name, Names sizes, Name doc);
void parse_kernel(Parser *p, Name name, Name doc);
void parse_roles(Parser *p, Name kind);
void parse_layout(Parser *p, Name text);
void parse_variants(Parser *p, Name keyword, Names variants);
/* A clause that a row may have once: a keyword and a word. */
void parse_share(Parser *p, Name keyword, Name percent);
void parse_word(Parser *p, Name *word, Name keyword, Name value);
void parse_syntax_error(Parser *p, int token, Name at);

#endif
