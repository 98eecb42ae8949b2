/* Functions of scalar bodies as nodes. A body may call EXPM1(x), which lib/num/math.h says is
 * glow_expm1 or, of float, glow_expm1f; this file reads their definitions from the headers that
 * glow-tblgen is given and writes, for each, a C function that builds nodes:
 *
 *   static inline float glow_expm1f(float x) { return (float)glow_expm1((double)x); }
 *   static GlowValue *build_glow_expm1f(GlowExpand *e, GlowValue *l_x) { ... }
 *
 * The nodes do the same operations in the same order, so they give the same bits. Read are straight
 * functions: declarations, assignments, GLOW_POLY and a return; numbers, selects, casts, arithmetic
 * and calls. One with `if`, a loop, an array or a struct is not, nor is what calls it. Code is
 * written as it is read; both sides of a select are built. */
#include <ctype.h>

#include "tblgen.h"

typedef enum CType { C_BOOL, C_I32, C_U32, C_I64, C_U64, C_FLOAT, C_DOUBLE, C_OTHER } CType;
static const struct {
  const char *name, *kind;
} c_types[] = {{"bool", "BOOL"},    {"int32_t", "I32"}, {"uint32_t", "U32"}, {"int64_t", "I64"},
               {"uint64_t", "U64"}, {"float", "FLOAT"}, {"double", "DOUBLE"}};

static CType find_type(const char *word) {
  for (int i = 0; i < C_OTHER; i++)
    if (strcmp(c_types[i].name, word) == 0)
      return (CType)i;
  return C_OTHER;
}

/* A value while it is read: C text that the compiler evaluates (C_OTHER: a whole number, which has
 * the type of what it meets), or an expression of type GlowValue *. */
typedef struct Val {
  bool is_static;
  CType type;
  const char *text;
} Val;

typedef struct Local {
  const char *name;
  CType type;
  bool out; /* GlowValue **: a parameter that is a pointer */
} Local;

struct MathFunction {
  GlowStr name;
  CType result;
  const char *text; /* from the parameters on */
  enum { UNREAD, READING, READABLE, UNREADABLE } state;
  bool needed;
  GLOW_VEC(Local) locals; /* parameters first */
  uint32_t nparams;
  GLOW_VEC(MathFunction *) calls;
  GlowStr code;
};

typedef struct Reader {
  const OpFile *file;
  MathFunction *fn;
  const char *at;
  char token[64];
  GlowText *out;
  int steps;
  bool failed;
} Reader;

/* ---- Tokens ------------------------------------------------------------------------------------
 */

static const char *skip_blank(const char *s) {
  for (;;)
    if (isspace((unsigned char)*s))
      s++;
    else if (s[0] == '/' && s[1] == '*' && strstr(s, "*/"))
      s = strstr(s, "*/") + 2;
    else
      return s;
}

static bool in_word(const char *s, size_t n) {
  bool exponent = n && (s[n] == '+' || s[n] == '-') && isdigit((unsigned char)*s) &&
                  strchr(s[1] == 'x' ? "p" : "e", s[n - 1]);
  return isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.' || exponent;
}

static void next(Reader *r) {
  static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "+=", "*="};
  r->at = skip_blank(r->at);
  size_t n = 0;
  if (in_word(r->at, 0))
    while (in_word(r->at, n))
      n++;
  else if (*r->at)
    n = 1;
  for (size_t i = 0; n == 1 && i < sizeof pairs / sizeof *pairs; i++)
    if (strncmp(r->at, pairs[i], 2) == 0)
      n = 2;
  r->failed |= n >= sizeof r->token || n == 0;
  n = n < sizeof r->token ? n : 0;
  memcpy(r->token, r->at, n);
  r->token[n] = 0;
  r->at += n;
}

static bool is(const Reader *r, const char *token) { return strcmp(r->token, token) == 0; }

static bool accept(Reader *r, const char *token) {
  if (r->failed || !is(r, token))
    return false;
  next(r);
  return true;
}

static void want(Reader *r, const char *token) {
  if (!accept(r, token))
    r->failed = true;
}

/* ---- Values ------------------------------------------------------------------------------------
 */

static Val failure(Reader *r) {
  r->failed = true;
  return (Val){true, C_OTHER, "0"};
}

static Val constant(CType type, const char *text) { return (Val){true, type, text}; }

/* One line that makes a value. */
static Val step(Reader *r, CType type, const char *call) {
  glow_text_printf(r->out, "  GlowValue *t%d = %s;\n", r->steps, call);
  return (Val){false, type, glow_arena_printf(r->file->arena, "t%d", r->steps++)};
}

/* The GlowValue * for v as a value of a type. */
static const char *as_value(Reader *r, Val v, CType type) {
  if (!v.is_static) {
    r->failed |= v.type != type;
    return v.text;
  }
  r->failed |= type == C_OTHER || (v.type != type && v.type != C_OTHER);
  if (r->failed)
    return "NULL";
  const char *how = type == C_BOOL ? "bool" : type >= C_FLOAT ? "real" : "whole";
  if (type == C_BOOL)
    return glow_arena_printf(r->file->arena, "glow_expand_bool(e, %s)", v.text);
  return glow_arena_printf(r->file->arena, "glow_expand_%s(e, GLOW_KIND_%s, %s(%s))", how,
                           c_types[type].kind, type >= C_FLOAT ? "" : "(uint64_t)", v.text);
}

/* What two operands have in common; C_OTHER if both are whole numbers. */
static CType common_type(Reader *r, Val a, Val b) {
  CType type = a.type == C_OTHER ? b.type : a.type;
  r->failed |= b.type != C_OTHER && b.type != type;
  return type;
}

static Val apply(Reader *r, CType type, const char *what, const char *op, const char *x,
                 const char *y) {
  GlowArena *arena = r->file->arena;
  const char *args = y ? glow_arena_printf(arena, "%s, %s", x, y) : x;
  return step(r, type,
              op ? glow_arena_printf(arena, "glow_expand_%s(e, GLOW_OP_%s, %s)", what, op, args)
                 : glow_arena_printf(arena, "glow_expand_%s(e, %s)", what, args));
}

static const struct {
  const char *token, *what, *op;
  int level; /* of precedence, 0 binds strongest */
} binaries[] = {
    {"*", "2", "MUL", 0},
    {"/", "2", "DIV", 0},
    {"+", "2", "ADD", 1},
    {"-", "2", "SUB", 1},
    {"<<", "shift_left", NULL, 2},
    {">>", "shift_right", NULL, 2},
    {"<", "2", "LESS", 3},
    {">", "greater", NULL, 3},
    {"<=", "less_or_equal", NULL, 3},
    {">=", "greater_or_equal", NULL, 3},
    {"==", "2", "EQUAL", 4},
    {"!=", "not_equal", NULL, 4},
    {"&", "2", "BITWISE_AND", 5},
    {"^", "bit_xor", NULL, 6},
    {"|", "bit_or", NULL, 7},
    {"&&", "and", NULL, 8},
    {"||", "or", NULL, 9},
};
enum { NBINARIES = sizeof binaries / sizeof *binaries, LEVELS = 10 };

static Val binary(Reader *r, int i, Val a, Val b) {
  int level = binaries[i].level;
  bool truth = level == 3 || level == 4 || level >= 8;
  CType type = level == 2 ? a.type : common_type(r, a, b);
  bool integers = type < C_FLOAT && type != C_BOOL;
  r->failed |= binaries[i].token[0] == '/' && integers;
  if (a.is_static && b.is_static)
    return constant(truth ? C_BOOL : type, glow_arena_printf(r->file->arena, "(%s %s %s)", a.text,
                                                             binaries[i].token, b.text));
  return apply(r, truth ? C_BOOL : type, binaries[i].what, binaries[i].op, as_value(r, a, type),
               as_value(r, b, type));
}

static Val cast(Reader *r, CType type, Val v) {
  if (v.is_static)
    return constant(type,
                    glow_arena_printf(r->file->arena, "((%s)%s)", c_types[type].name, v.text));
  return step(r, type,
              glow_arena_printf(r->file->arena, "glow_expand_cast(e, %s, GLOW_KIND_%s)", v.text,
                                c_types[type].kind));
}

/* ---- Expressions -------------------------------------------------------------------------------
 */

static Val read_expr(Reader *r);

static Local *find_local(const Reader *r, const char *name) {
  for (uint32_t i = 0; i < r->fn->locals.count; i++)
    if (strcmp(r->fn->locals.data[i].name, name) == 0)
      return &r->fn->locals.data[i];
  return NULL;
}

/* Functions that lib/lower/expand.h has. */
static const struct {
  const char *name, *what, *kind;
  CType arg, result;
} built_in[] = {
    {"glow_fabsf", "abs", "", C_FLOAT, C_FLOAT},
    {"glow_fabs", "abs", "", C_DOUBLE, C_DOUBLE},
    {"glow_copysignf", "copysign", "", C_FLOAT, C_FLOAT},
    {"glow_copysign", "copysign", "", C_DOUBLE, C_DOUBLE},
    {"glow_float_bits", "bits", ", GLOW_KIND_U32", C_FLOAT, C_U32},
    {"glow_float_from_bits", "bits", ", GLOW_KIND_FLOAT", C_U32, C_FLOAT},
    {"glow_double_bits", "bits", ", GLOW_KIND_U64", C_DOUBLE, C_U64},
    {"glow_double_from_bits", "bits", ", GLOW_KIND_DOUBLE", C_U64, C_DOUBLE},
};

/* The operator whose body is a call that math.h gives to this function; `*single`: of float. */
static const OpDecl *atom_of(const OpFile *file, const char *name, uint32_t nargs, bool *single) {
  for (uint32_t i = 0; i < file->macros.count; i++) {
    const MathMacro *m = &file->macros.data[i];
    size_t n = strlen(m->function);
    if (strncmp(name, m->function, n) || strcmp(name + n, name[n] == 'f' ? "f" : ""))
      continue;
    const OpDecl *op = find_call(file, m->name, nargs);
    *single = name[n] == 'f';
    return op && !op->lower.text ? op : NULL;
  }
  return NULL;
}

static Val call_of(Reader *r, const char *name, const Val *args, uint32_t nargs) {
  GlowArena *arena = r->file->arena;
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
    if (strcmp(built_in[i].name, name) == 0 && nargs && nargs <= 2)
      return step(r, built_in[i].result,
                  glow_arena_printf(arena, "glow_expand_%s(e, %s%s%s%s)", built_in[i].what,
                                    as_value(r, args[0], built_in[i].arg), nargs == 2 ? ", " : "",
                                    nargs == 2 ? as_value(r, args[1], built_in[i].arg) : "",
                                    built_in[i].kind));
  bool single = false;
  const OpDecl *op = atom_of(r->file, name, nargs, &single);
  const char *text = op ? glow_arena_printf(arena, "glow_expand_%u(e, GLOW_OP_%s", nargs, op->upper)
                        : glow_arena_printf(arena, "build_%s(e", name);
  MathFunction *f = op ? NULL : math_function(r->file, name);
  if ((!op && !f) || (f && f->nparams != nargs))
    return failure(r);
  for (uint32_t i = 0; i < nargs; i++) {
    CType want_type = op ? (single ? C_FLOAT : C_DOUBLE) : f->locals.data[i].type;
    bool address = args[i].text[0] == '&';
    r->failed |= f ? address != f->locals.data[i].out : address;
    text = glow_arena_printf(arena, "%s, %s", text,
                             address ? args[i].text : as_value(r, args[i], want_type));
  }
  if (f)
    glow_vec_push(arena, &r->fn->calls, f);
  return step(r,
              f        ? f->result
              : single ? C_FLOAT
                       : C_DOUBLE,
              glow_arena_printf(arena, "%s)", text));
}

/* A call of nothing but constants: the compiler evaluates it. */
static Val static_call(Reader *r, const char *name, const Val *args, uint32_t nargs) {
  const char *text = glow_arena_printf(r->file->arena, "%s(", name);
  for (uint32_t i = 0; i < nargs; i++)
    text = glow_arena_printf(r->file->arena, "%s%s%s", text, i ? ", " : "", args[i].text);
  text = glow_arena_printf(r->file->arena, "%s)", text);
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
    if (strcmp(built_in[i].name, name) == 0)
      return constant(built_in[i].result, text);
  size_t n = strlen(name);
  bool special = strncmp(name, "__builtin_", 10) == 0;
  if (special)
    return constant(name[n - 1] == 'f' && n > 13 ? C_FLOAT : C_DOUBLE, text);
  return strcmp(name, "UINT64_C") == 0 ? constant(C_U64, text) : failure(r);
}

static Val read_call(Reader *r, const char *name) {
  Val args[4];
  uint32_t nargs = 0;
  bool all_static = true;
  while (!r->failed && !is(r, ")")) {
    if (nargs == 4 || (nargs && !accept(r, ",")))
      return failure(r);
    if (accept(r, "&")) {
      const Local *l = find_local(r, r->token);
      args[nargs] =
          (Val){false, l ? l->type : C_OTHER,
                glow_arena_printf(r->file->arena, "%sl_%s", l && l->out ? "" : "&", r->token)};
      r->failed |= !l || l->out;
      next(r);
    } else {
      args[nargs] = *r->token == '"' ? constant(C_OTHER, "\"\"") : read_expr(r);
      while (accept(r, "\""))
        ;
    }
    all_static &= args[nargs++].is_static;
  }
  want(r, ")");
  if (r->failed)
    return failure(r);
  return all_static ? static_call(r, name, args, nargs) : call_of(r, name, args, nargs);
}

/* A number or a macro that stands for one. */
static Val read_number(Reader *r, const char *word) {
  size_t n = strlen(word);
  bool digit = isdigit((unsigned char)*word), hex = word[1] == 'x';
  if (!digit && strncmp(word, "GLOW_", 5))
    return failure(r);
  if (!digit)
    return constant(strcmp(word + n - 2, "_F") ? C_DOUBLE : C_FLOAT, word);
  bool real = strpbrk(word, hex ? ".p" : ".e") != NULL;
  CType type = !real && word[n - 1] == 'u' ? C_U32
               : !real                     ? C_OTHER
               : word[n - 1] == 'f'        ? C_FLOAT
                                           : C_DOUBLE;
  return constant(type, word);
}

static Val read_primary(Reader *r) {
  char word[sizeof r->token];
  if (accept(r, "(")) {
    CType type = find_type(r->token);
    if (type == C_OTHER) {
      Val v = read_expr(r);
      want(r, ")");
      return v;
    }
    next(r);
    want(r, ")");
    return cast(r, type, read_primary(r));
  }
  bool out = accept(r, "*");
  strcpy(word, r->token);
  next(r);
  if (!out && accept(r, "("))
    return read_call(r, glow_arena_printf(r->file->arena, "%s", word));
  const Local *l = find_local(r, word);
  if (l)
    return l->out != out ? failure(r)
                         : (Val){false, l->type,
                                 glow_arena_printf(r->file->arena, "%sl_%s", out ? "*" : "", word)};
  return read_number(r, glow_arena_printf(r->file->arena, "%s", word));
}

static Val read_unary(Reader *r) {
  static const char *const tokens[] = {"-", "!", "~"};
  static const char *const names[] = {"negate", "not", "bit_not"};
  for (int i = 0; i < 3; i++)
    if (accept(r, tokens[i])) {
      Val v = read_unary(r);
      if (v.is_static)
        return constant(v.type, glow_arena_printf(r->file->arena, "(%s%s)", tokens[i], v.text));
      return apply(r, v.type, names[i], NULL, v.text, NULL);
    }
  return read_primary(r);
}

static Val read_binary(Reader *r, int level) {
  if (level < 0)
    return read_unary(r);
  Val v = read_binary(r, level - 1);
  for (int i = 0; i < NBINARIES && !r->failed; i++)
    if (binaries[i].level == level && accept(r, binaries[i].token)) {
      v = binary(r, i, v, read_binary(r, level - 1));
      i = -1;
    }
  return v;
}

static Val read_expr(Reader *r) {
  Val v = read_binary(r, LEVELS - 1);
  if (r->failed || !accept(r, "?"))
    return v;
  Val a = read_expr(r);
  want(r, ":");
  Val b = read_expr(r);
  CType type = common_type(r, a, b);
  return step(r, type,
              glow_arena_printf(r->file->arena, "glow_expand_3(e, GLOW_OP_WHERE, %s, %s, %s)",
                                as_value(r, v, C_BOOL), as_value(r, a, type),
                                as_value(r, b, type)));
}

/* ---- Statements --------------------------------------------------------------------------------
 */

static Local *add_local(Reader *r, CType type, bool out) {
  Local l = {glow_arena_printf(r->file->arena, "%s", r->token), type, out};
  r->failed |= find_local(r, r->token) != NULL;
  glow_vec_push(r->file->arena, &r->fn->locals, l);
  next(r);
  return &r->fn->locals.data[r->fn->locals.count - 1];
}

/* name [= expr], ... */
static void declaration(Reader *r, CType type) {
  do {
    const Local l = *add_local(r, type, false);
    if (accept(r, "=")) {
      Val v = read_expr(r);
      glow_text_printf(r->out, "  GlowValue *l_%s = %s;\n", l.name, as_value(r, v, type));
    } else {
      glow_text_printf(r->out, "  GlowValue *l_%s = NULL;\n", l.name);
    }
  } while (accept(r, ","));
  want(r, ";");
}

/* [*] name [+|*]= expr, ... */
static void assignment(Reader *r) {
  do {
    bool out = accept(r, "*");
    const Local *found = find_local(r, r->token);
    if (!found || found->out != out) {
      r->failed = true;
      return;
    }
    const Local l = *found;
    next(r);
    int i = accept(r, "*=") ? 0 : accept(r, "+=") ? 2 : -1;
    if (i < 0)
      want(r, "=");
    Val v = read_expr(r);
    if (i >= 0)
      v = binary(r, i, (Val){false, l.type, glow_arena_printf(r->file->arena, "l_%s", l.name)}, v);
    glow_text_printf(r->out, "  %sl_%s = %s;\n", out ? "*" : "", l.name, as_value(r, v, l.type));
  } while (accept(r, ","));
  want(r, ";");
}

/* GLOW_POLY(p, x, c); is p = fma(p, x, c). */
static void poly(Reader *r) {
  Val args[3];
  want(r, "(");
  const Local *l = find_local(r, r->token);
  const char *name = l ? l->name : "";
  for (int i = 0; i < 3; i++) {
    args[i] = read_expr(r);
    want(r, i < 2 ? "," : ")");
  }
  want(r, ";");
  Val v = r->failed ? failure(r) : call_of(r, "glow_fma", args, 3);
  glow_text_printf(r->out, "  l_%s = %s;\n", name, v.text);
}

static void statements(Reader *r) {
  while (!r->failed && !is(r, "return")) {
    accept(r, "const");
    CType type = find_type(r->token);
    if (type != C_OTHER) {
      next(r);
      declaration(r, type);
    } else if (accept(r, "GLOW_POLY")) {
      poly(r);
    } else {
      assignment(r);
    }
  }
  want(r, "return");
  Val v = read_expr(r);
  want(r, ";");
  r->failed |= !is(r, "}");
  glow_text_printf(r->out, "  return %s;\n}\n", as_value(r, v, r->fn->result));
}

static void parameters(Reader *r) {
  want(r, "(");
  while (!r->failed && !is(r, ")")) {
    CType type = find_type(r->token);
    r->failed |= type == C_OTHER;
    next(r);
    bool out = accept(r, "*");
    const Local *l = add_local(r, type, out);
    glow_text_printf(r->out, ", GlowValue *%sl_%s", out ? "*" : "", l->name);
    r->fn->nparams++;
    if (!accept(r, ","))
      break;
  }
  want(r, ")");
}

static void read_function(const OpFile *file, MathFunction *f) {
  GlowText out;
  GlowDefer release;
  glow_text_init(&out, file->ctx);
  glow_defer_push(file->ctx, &release, glow_text_release_fn, &out);
  Reader r = {.file = file, .fn = f, .at = f->text, .out = &out};
  f->state = READING;
  glow_text_printf(&out, "\nstatic GlowValue *build_%s(GlowExpand *e", f->name);
  next(&r);
  parameters(&r);
  glow_text_puts(&out, ") {\n");
  want(&r, "{");
  statements(&r);
  f->state = r.failed ? UNREADABLE : READABLE;
  f->code = glow_str(file->ctx, glow_text_cstr(&out));
  glow_defer_pop(file->ctx, &release, true);
}

/* ---- Headers -----------------------------------------------------------------------------------
 */

static const char *word_at(const OpFile *file, const char **at) {
  const char *s = skip_blank(*at), *end = s;
  while (isalnum((unsigned char)*end) || *end == '_')
    end++;
  *at = end;
  return glow_str_n(file->ctx, s, (size_t)(end - s));
}

static void add_function(OpFile *file, CType result, const char *name, const char *text) {
  MathFunction *f = GLOW_NEW(file->arena, MathFunction);
  *f = (MathFunction){.name = name, .result = result, .text = text};
  glow_vec_push(file->arena, &file->functions, f);
}

void functions_add(OpFile *file, const char *text) {
  static const char inlines[] = "\nstatic inline ", real[] = "GLOW_MATH_REAL(x, ",
                    shorter[] = "\nGLOW_MATH_FROM_DOUBLE(";
  for (const char *s = text; (s = strstr(s, inlines)) != NULL;) {
    s += sizeof inlines - 1;
    CType result = find_type(word_at(file, &s));
    const char *name = word_at(file, &s);
    if (result != C_OTHER && *s == '(')
      add_function(file, result, name, s);
  }
  for (const char *s = text; (s = strstr(s, shorter)) != NULL;) {
    s += sizeof shorter - 1;
    const char *name = word_at(file, &s);
    add_function(
        file, C_FLOAT, glow_str_printf(file->ctx, "glow_%sf", name),
        glow_arena_printf(file->arena, "(float x) { return (float)glow_%s((double)x); }", name));
  }
  for (const char *s = text; (s = strstr(s, "\n#define ")) != NULL;) {
    s += strlen("\n#define ");
    const char *end = strchr(s, '\n'), *body = strstr(s, real);
    MathMacro m = {.name = word_at(file, &s)};
    if (!end || !body || body > end)
      continue;
    body += sizeof real - 1;
    m.function = word_at(file, &body);
    glow_vec_push(file->arena, &file->macros, m);
  }
}

MathFunction *math_function(const OpFile *file, const char *name) {
  for (uint32_t i = 0; i < file->functions.count; i++) {
    MathFunction *f = file->functions.data[i];
    if (strcmp(f->name, name))
      continue;
    if (f->state == UNREAD)
      read_function(file, f);
    return f->state == READABLE ? f : NULL;
  }
  return NULL;
}

const char *math_call(const OpFile *file, const char *macro) {
  for (uint32_t i = 0; i < file->macros.count; i++)
    if (strcmp(file->macros.data[i].name, macro) == 0) {
      const char *name = file->macros.data[i].function;
      const char *single = glow_arena_printf(file->arena, "%sf", name);
      return math_function(file, name) && math_function(file, single) ? name : NULL;
    }
  return NULL;
}

void math_need(MathFunction *f) {
  if (f->needed)
    return;
  f->needed = true;
  for (uint32_t i = 0; i < f->calls.count; i++)
    math_need(f->calls.data[i]);
}

static void write_function(MathFunction *f, GlowText *out) {
  if (!f->needed)
    return;
  f->needed = false;
  for (uint32_t i = 0; i < f->calls.count; i++)
    write_function(f->calls.data[i], out);
  glow_text_puts(out, f->code);
}

void functions_write(const OpFile *file, GlowText *out) {
  for (uint32_t i = 0; i < file->functions.count; i++)
    write_function(file->functions.data[i], out);
}
