/* The lexer of .ops and onnx.map: a token each time it is called. `scalar {` and a slope's
 * brace swallow C code up to the matching brace. Nothing is copied; positions count bytes from 1. */
#include "parse.h"

#include "tblgen/grammar.h"

static int code_token(Lexer *lx, int token) {
  /* The cursor stands behind the opening brace. Strings and comments are not special: bodies are
   * one line of arithmetic. */
  int depth = 1;
  while (lx->cursor < lx->limit) {
    char c = *lx->cursor++;
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth == 0)
      return token;
  }
  return LEX_OPEN_CODE;
}

/* Whether a brace opens code: in `slope EXP(x) {`, `grad X {` and `, Y {`. */
static bool opens_code(const Lexer *lx) {
  return lx->slope || (lx->last == T_ID && (lx->before == T_GRAD || lx->before == T_COMMA));
}

static int scan(Lexer *lx) {
  const char *marker;
  for (;;) {
    lx->token = lx->cursor;
    /*!re2c
      re2c:define:YYCTYPE = "unsigned char";
      re2c:define:YYCURSOR = lx->cursor;
      re2c:define:YYLIMIT = lx->limit;
      re2c:define:YYMARKER = marker;
      re2c:yyfill:enable = 0;
      re2c:eof = 0;

      id = [A-Za-z_][A-Za-z0-9_]*;
      int = "-"? [0-9]+;
      float = "-"? [0-9]+ ("." [0-9]+ ([eE] [+-]? [0-9]+)? | [eE] [+-]? [0-9]+);
      space = [ \t\r];

      space+        { continue; }
      "\n"          { lexer_newline(lx); continue; }
      ";" [^\n\x00]* { continue; }
      "scalar" space* "{" { return code_token(lx, T_CODE); }
      "scalar" space+ "turns" space* "{" { return code_token(lx, T_TURNS); }
      "kinds"       { return T_KINDS; }
      "enum"        { return T_ENUM; }
      "op"          { return T_OP; }
      "instr"       { return T_INSTR; }
      "in"          { return T_IN; }
      "out"         { return T_OUT; }
      "inout"       { return T_INOUT; }
      "region"      { return T_REGION; }
      "types"       { return T_TYPES; }
      "member"      { return T_MEMBER; }
      "imember"     { return T_IMEMBER; }
      "traits"      { return T_TRAITS; }
      "narrow"      { return T_NARROW; }
      "stored"      { return T_STORED; }
      "infer"       { return T_INFER; }
      "verify"      { return T_VERIFY; }
      "scratch"     { return T_SCRATCH; }
      "macs"        { return T_MACS; }
      "grad"        { return T_GRAD; }
      "quantize"    { return T_QUANTIZE; }
      "lower"       { return T_LOWER; }
      "irgen"       { return T_IRGEN; }
      "fold"        { return T_FOLD; }
      "also"        { return T_ALSO; }
      "domain"      { return T_DOMAIN; }
      "newest"      { return T_NEWEST; }
      "hook"        { return T_HOOK; }
      "unsupported" { return T_UNSUPPORTED; }
      "number"      { return T_NUMBER; }
      "params"      { return T_PARAMS; }
      "callback"    { return T_CALLBACK; }
      "step"        { return T_STEP; }
      "steps"       { return T_STEPS; }
      "derived"     { return T_DERIVED; }
      "layouts"     { return T_LAYOUTS; }
      "share"       { return T_SHARE; }
      "variants"    { return T_VARIANTS; }
      "sources"     { return T_SOURCES; }
      "tile"        { return T_TILE; }
      "tiles"       { return T_TILES; }
      "kernel"      { return T_KERNEL; }
      "as"          { return T_AS; }
      "ints"        { return T_INTS; }
      "temp"        { return T_TEMP; }
      "where"       { return T_WHERE; }
      "fixed"       { return T_FIXED; }
      "slope"       { return T_SLOPE; }
      "lowering"    { return T_LOWERING; }
      "inside"      { return T_INSIDE; }
      id            { return T_ID; }
      int           { return T_INT; }
      float         { return T_FLOAT; }
      ["] ([^"\\\n\x00] | "\\" [^\n\x00])* ["] { return T_STRING; }
      "{"           { return opens_code(lx) ? code_token(lx, T_BRACES) : T_LB; }
      "}"           { return T_RB; }
      "("           { return T_LP; }
      ")"           { return T_RP; }
      "["           { return T_LS; }
      "]"           { return T_RS; }
      "<>"          { return T_SHAPE; }
      ":"           { return T_COLON; }
      ","           { return T_COMMA; }
      "="           { return T_EQ; }
      "?"           { return T_QMARK; }
      "*"           { return T_STAR; }
      "|"           { return T_BAR; }
      "%"           { return T_PERCENT; }
      "<=" | ">=" | ">" { return T_RELATION; }
      $             { return 0; }
      *             { return LEX_BAD; }
    */
  }
}

int lexer_next(Lexer *lx) {
  int token = scan(lx);
  lx->slope = token == T_SLOPE || (lx->slope && token != T_BRACES);
  lx->before = lx->last;
  lx->last = token;
  return token;
}
