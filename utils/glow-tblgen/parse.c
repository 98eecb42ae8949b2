/* Reads one .ops text into declarations: drives the lexer and the grammar, and reports what the
 * grammar refuses. After a syntax error reading goes on at the next declaration, which is known by
 * its keyword in the first column. */
#include "parse.h"

#include <stdlib.h>
#include <string.h>

#include "tblgen/grammar.h"

void *OpsParseAlloc(void *(*alloc)(size_t), Parser *p);
void OpsParseInit(void *parser, Parser *p);
void OpsParse(void *parser, int token, Name value);

static GlowLoc here(const Parser *p) {
  return (GlowLoc){p->source->name, p->lx.line, (uint32_t)(p->lx.token - p->lx.line_start) + 1,
                   NULL};
}

/* The value of a token: its text; of a string what it stands for; of code what is in its braces. */
static Name token_name(Parser *p, int token) {
  GlowContext *ctx = p->file->ctx;
  const char *s = p->lx.token;
  size_t n = (size_t)(p->lx.cursor - s);
  Name name = {NULL, here(p)};
  if (token == T_CODE || token == T_TURNS || token == T_BRACES) {
    const char *open = memchr(s, '{', n);
    name.loc.col += (uint32_t)(open + 1 - s);
    name.text = glow_str_n(ctx, open + 1, (size_t)(p->lx.cursor - 1 - (open + 1)));
    for (const char *c = open; c < p->lx.cursor; c++)
      if (*c == '\n') {
        p->lx.line++;
        p->lx.line_start = c + 1;
      }
    return name;
  }
  if (token != T_STRING) {
    name.text = glow_str_n(ctx, s, n);
    return name;
  }
  char *text = glow_arena_alloc(p->file->arena, n);
  size_t length = 0;
  for (size_t i = 1; i + 1 < n; i++) {
    if (s[i] == '\\')
      i++;
    text[length++] = s[i];
  }
  name.text = glow_str_n(ctx, text, length);
  return name;
}

void parse_syntax_error(Parser *p, int token, Name at) {
  if (p->failed)
    return;
  p->failed = true;
  if (token == 0)
    glow_error(p->file->ctx, here(p), "unexpected end of the text");
  else if (p->op)
    glow_error(p->file->ctx, at.loc, "unexpected '%s' in the description of '%s'", at.text,
               p->op->name.text);
  else if (p->map)
    glow_error(p->file->ctx, at.loc, "unexpected '%s' in a table of imports", at.text);
  else if (p->row)
    glow_error(p->file->ctx, at.loc, "unexpected '%s' in the row of '%s'", at.text, p->row);
  else
    glow_error(p->file->ctx, at.loc,
               "expected 'kinds', 'enum', 'op', 'instr' or 'slope', or of kernels 'number', "
               "'sources', 'params', 'callback', 'step', 'tile' or 'kernel', found '%s'",
               at.text);
}

static bool starts_declaration(const Parser *p, int token) {
  if (p->map && (token == T_DOMAIN || token == T_ID))
    return true;
  return token == T_KINDS || token == T_ENUM || token == T_OP || token == T_INSTR ||
         token == T_NUMBER || token == T_SOURCES || token == T_PARAMS || token == T_CALLBACK ||
         token == T_STEP || token == T_TILE || token == T_KERNEL || token == T_SLOPE;
}

static void bad_character(Parser *p, int token) {
  if (token == LEX_OPEN_CODE)
    glow_error(p->file->ctx, here(p), "the %s has no closing '}'",
               *p->lx.token == '{' ? "slope" : "scalar body");
  else if (*p->lx.token == '"')
    glow_error(p->file->ctx, here(p), "the string does not end on its line");
  else if ((unsigned char)*p->lx.token < 0x20 || (unsigned char)*p->lx.token >= 0x7f)
    glow_error(p->file->ctx, here(p), "unexpected byte 0x%02x", (unsigned char)*p->lx.token);
  else
    glow_error(p->file->ctx, here(p), "unexpected character '%c'", *p->lx.token);
}

/* The next token; bad characters are reported and make the declaration fail. */
static int next_token(Parser *p, Name *name) {
  int token = lexer_next(&p->lx);
  while (token < 0) {
    if (!p->failed)
      bad_character(p, token);
    p->failed = true;
    token = lexer_next(&p->lx);
  }
  *name = token_name(p, token);
  return token;
}

/* The grammar's start depends on the kind of file: a first token says which. */
static void start(void *parser, Parser *p) {
  OpsParseInit(parser, p);
  p->failed = false;
  p->op = NULL;
  p->row = NULL;
  if (p->map)
    OpsParse(parser, T_MAP, (Name){0});
}

void ops_parse(OpFile *file, const GlowSource *source, bool map) {
  Parser p = {.file = file, .source = source, .map = map};
  p.lx = (Lexer){.cursor = source->text,
                 .limit = source->text + source->size,
                 .token = source->text,
                 .line_start = source->text,
                 .line = 1};
  void *parser = OpsParseAlloc(malloc, &p);
  if (!parser)
    glow_throw(file->ctx, GLOW_NO_MEMORY);
  GlowDefer defer;
  glow_defer_push(file->ctx, &defer, free, parser);
  start(parser, &p);
  Name name;
  int token = next_token(&p, &name);
  for (;;) {
    if (!p.failed)
      OpsParse(parser, token, name);
    if (!p.failed) {
      if (token == 0)
        break;
      token = next_token(&p, &name);
      continue;
    }
    while (token && !(starts_declaration(&p, token) && name.loc.col == 1))
      token = next_token(&p, &name);
    if (token == 0)
      break;
    start(parser, &p);
  }
  glow_defer_pop(file->ctx, &defer, true);
}

/* ---- Actions --------------------------------------------------------------------------------- */

void parse_kinds(Parser *p, Name name, Names parts) {
  KindsDecl *d = GLOW_NEW(p->file->arena, KindsDecl);
  *d = (KindsDecl){name, parts, 0};
  glow_vec_push(p->file->arena, &p->file->kinds, d);
}

void parse_enum(Parser *p, Name name, Names values) {
  EnumDecl *d = GLOW_NEW(p->file->arena, EnumDecl);
  *d = (EnumDecl){name, values};
  glow_vec_push(p->file->arena, &p->file->enums, d);
}

void parse_op_begin(Parser *p, Name name, Name doc, bool is_instr) {
  OpDecl *op = GLOW_NEW(p->file->arena, OpDecl);
  op->name = name;
  op->doc = doc.text;
  op->is_instr = is_instr;
  glow_vec_push(p->file->arena, &p->file->ops, op);
  p->op = op;
}

void parse_clause(Parser *p, Clause clause, Name at) {
  static const char *const words[CLAUSE_COUNT] = {
      "in",   "out",    "region", "member",   "imember", "traits", "infer", "verify", "scratch",
      "macs", "scalar", "grad",   "quantize", "lower",   "irgen",  "fold",  "also",   "narrow",
      "stored"};
  GlowLoc *first = &p->op->clause_loc[clause];
  if (first->line) {
    glow_error(p->file->ctx, at.loc, "'%s' has a second '%s' clause", p->op->name.text,
               words[clause]);
    glow_note(p->file->ctx, *first, "the first one is here");
    return;
  }
  *first = at.loc;
}

void parse_port(Parser *p, Name name, Name type, bool scalar, uint8_t flags) {
  PortDecl port = {.name = name, .type = type, .scalar = scalar, .flags = flags};
  glow_vec_push(p->file->arena, p->ports, port);
}

void parse_member(Parser *p, Name name, Name type, bool array, Lit initial, Name doc) {
  MemberDecl m = {.name = name, .type = type, .array = array, .instr_only = p->instr_only};
  m.initial = initial;
  m.doc = doc.text ? doc.text : "";
  glow_vec_push(p->file->arena, &p->op->members, m);
}

/* ---- Derivatives ----------------------------------------------------------------------------- */

static void add_grad(Parser *p, GradDecl grad) {
  glow_vec_push(p->file->arena, &p->op->grads, grad);
}

void parse_grad_word(Parser *p, Name port, Name word, Name doc) {
  GradDecl grad = {.port = port, .doc = doc, .loc = port.text ? port.loc : word.loc};
  grad.kind = strcmp(word.text, "none") == 0 ? GRAD_NONE : GRAD_HOOK;
  if (grad.kind == GRAD_NONE && !doc.text)
    glow_error(p->file->ctx, word.loc, "'none' needs a reason");
  else if (grad.kind == GRAD_HOOK && (strcmp(word.text, "hook") || !port.text))
    glow_error(p->file->ctx, word.loc,
               port.text ? "expected 'hook' or 'none', found '%s'"
                         : "expected 'none' before a reason, found '%s'",
               word.text);
  else
    add_grad(p, grad);
}

void parse_grad_all(Parser *p, GradKind kind, Name word) {
  add_grad(p, (GradDecl){.kind = kind, .loc = word.loc});
}

void parse_grad_slope(Parser *p, Name port, Name code, Name doc) {
  add_grad(
      p, (GradDecl){.kind = GRAD_SLOPE, .port = port, .slope = code, .doc = doc, .loc = port.loc});
}

void parse_grad_rule(Parser *p, Name port, Rule *rule, Name doc) {
  add_grad(p,
           (GradDecl){.kind = GRAD_RULE, .port = port, .rule = rule, .doc = doc, .loc = port.loc});
}

Rule *parse_rule(Parser *p, RuleKind kind, Name name) {
  Rule *rule = GLOW_NEW(p->file->arena, Rule);
  *rule = (Rule){.kind = kind, .name = name};
  return rule;
}

void parse_slope(Parser *p, Name function, Names params, Name code, Name doc) {
  SlopeDecl *d = GLOW_NEW(p->file->arena, SlopeDecl);
  *d = (SlopeDecl){.function = function, .params = params, .code = code, .doc = doc.text};
  glow_vec_push(p->file->arena, &p->file->slopes, d);
}

/* ---- Actions of onnx.map --------------------------------------------------------------------- */

void parse_domain(Parser *p, Name name, Name newest) {
  OnnxDomain d = {name, newest};
  glow_vec_push(p->file->arena, &p->file->domains, d);
}

void parse_row(Parser *p, Name op, Names versions, OnnxRow target) {
  OnnxRow *row = GLOW_NEW(p->file->arena, OnnxRow);
  *row = target;
  row->op = op;
  row->versions = versions;
  if (p->file->domains.count == 0)
    glow_error(p->file->ctx, op.loc, "a row stands before the first 'domain'");
  else
    row->domain = p->file->domains.data[p->file->domains.count - 1].name.text;
  glow_vec_push(p->file->arena, &p->file->rows, row);
}

/* ---- Actions of the kernel table ------------------------------------------------------------- */

void parse_number(Parser *p, Name name, Name value, Name doc) {
  NumberDecl *d = GLOW_NEW(p->file->arena, NumberDecl);
  *d = (NumberDecl){name, value, doc.text};
  glow_vec_push(p->file->arena, &p->file->numbers, d);
}

void parse_sources(Parser *p, Name level, Names files, Name doc) {
  SourcesDecl *d = GLOW_NEW(p->file->arena, SourcesDecl);
  *d = (SourcesDecl){level, files, doc.text};
  glow_vec_push(p->file->arena, &p->file->sources, d);
}

void parse_params(Parser *p, Name name, Name doc) {
  p->params = GLOW_NEW(p->file->arena, ParamsDecl);
  p->params->name = name;
  p->params->doc = doc.text;
  p->row = name.text;
  glow_vec_push(p->file->arena, &p->file->params, p->params);
}

void parse_fields(Parser *p, bool derived, Names names, Name type, Name count, Name doc) {
  FieldsDecl d = {
      .names = names, .type = type, .count = count, .doc = doc.text, .derived = derived};
  glow_vec_push(p->file->arena, &p->params->fields, d);
}

void parse_callback(Parser *p, Name name, Names ints, Name doc, bool step) {
  CallbackDecl *d = GLOW_NEW(p->file->arena, CallbackDecl);
  *d = (CallbackDecl){name, doc.text, step, ints};
  glow_vec_push(p->file->arena, &p->file->callbacks, d);
}

static void begin_row(Parser *p, Name name, Ports *out, Ports *in, Family *family) {
  p->row = name.text;
  p->family = family;
  p->row_out = out;
  p->row_in = in;
}

void parse_tile(Parser *p, Name name, Names sizes, Name doc) {
  TileDecl *d = GLOW_NEW(p->file->arena, TileDecl);
  *d = (TileDecl){.name = name, .doc = doc.text, .sizes = sizes};
  p->tile = d;
  begin_row(p, name, &d->out, &d->in, &d->family);
  glow_vec_push(p->file->arena, &p->file->tiles, d);
}

void parse_kernel(Parser *p, Name name, Name doc) {
  KernelDecl *d = GLOW_NEW(p->file->arena, KernelDecl);
  *d = (KernelDecl){.name = name, .doc = doc.text};
  p->kernel = d;
  begin_row(p, name, &d->out, &d->in, &d->family);
  glow_vec_push(p->file->arena, &p->file->kernels, d);
}

void parse_roles(Parser *p, Name kind) {
  RolesDecl d = {0};
  glow_vec_push(p->file->arena, &d.kinds, kind);
  glow_vec_push(p->file->arena, &p->kernel->roles, d);
  p->roles = &p->kernel->roles.data[p->kernel->roles.count - 1];
}

void parse_layout(Parser *p, Name text) {
  LayoutDecl d = {0};
  glow_vec_push(p->file->arena, &d.texts, text);
  glow_vec_push(p->file->arena, &p->kernel->layouts, d);
  p->layout = &p->kernel->layouts.data[p->kernel->layouts.count - 1];
}

void parse_variants(Parser *p, Name keyword, Names variants) {
  if (p->family->variants.count)
    glow_error(p->file->ctx, keyword.loc, "'%s' has a second 'variants' clause", p->row);
  p->family->variants = variants;
}

void parse_share(Parser *p, Name keyword, Name percent) {
  parse_word(p, &p->kernel->share, keyword, percent);
  if (strlen(percent.text) > 2 || percent.text[0] == '0')
    glow_error(p->file->ctx, percent.loc, "a share is 1 to 99 percent");
}

void parse_word(Parser *p, Name *word, Name keyword, Name value) {
  if (word->text)
    glow_error(p->file->ctx, keyword.loc, "'%s' has a second '%s' clause", p->row, keyword.text);
  *word = value;
}

Lit parse_lit(LitKind kind, Name text) { return (Lit){kind, text, {0}}; }
