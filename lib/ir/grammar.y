/* One grammar for both levels; docs/LangRef has it as EBNF. The actions are in parse_build.c and
 * the other files parse_*.c.
 *
 * note [parser stack]: lemon's stack is malloc'ed memory, which parse.c releases by a deferred
 * glow_grammarFree. The frames of the parser own nothing else, so a throw may leave them (see
 * note [running out of memory]). When the stack cannot grow, %stack_overflow sets a flag and the
 * driver throws. The depth of nesting is bounded (limits.h), and so is the stack.
 *
 * Recovery: the innermost list of statements has a rule for errors. The driver skips to the next
 * statement and feeds the token SYNC. Destructors close the blocks that are given up. */
%name glow_grammar
%token_prefix GLOW_TOK_
%token_type {GlowToken}
%extra_context {GlowParser *p}
%start_symbol file
%stack_size 0
%include {
#ifndef NDEBUG
#define NDEBUG /* lemon asserts its own invariants only */
#endif
#include <stdlib.h>
#include "ir/parse_internal.h"
}
%code {
void glow_grammar_recovered(void *grammar) { ((yyParser *)grammar)->yyerrcnt = -1; }
}
%syntax_error {
  int expected[YYNTOKEN], count = 0;
  for (int i = 0; i < YYNTOKEN; i++)
    if (yy_find_shift_action((YYCODETYPE)i, yypParser->yytos->stateno) != YY_ERROR_ACTION)
      expected[count++] = i;
  glow_parse_syntax_error(p, yymajor, &yyminor, expected, count);
}
%stack_overflow { p->no_memory = true; }
%fallback IDENT PLACEHOLDER VARIABLE CONSTANT SPLAT RANDOM RESOURCE EVAL PAYLOAD ELIDED OF FROM WRT
          FORWARD
  EXTENT STEP KEEPING SEEDABLE YIELD RETURN NONE PRED LOC WITH AT ALLOC VIEW DEALLOC SEQ OPT BOOLEAN.
%token TAIL BAD FRAGMENT.

file ::= header items.
/* Pieces of text for parse_fragment.c. The lexer never makes the token FRAGMENT. */
file ::= FRAGMENT COLON type(T).              { p->fragment_type = T; }
file ::= FRAGMENT EQ init.
file ::= FRAGMENT LBRACE attrlist RBRACE.
file ::= FRAGMENT extent.

header ::= .
header ::= MODULE(T) modname(N) attrs.        { glow_parse_header(p, &T, N.length ? &N : NULL); }
%type modname {GlowToken}
modname(A) ::= .                              { A = (GlowToken){0}; }
modname(A) ::= STRING(S).                     { A = S; }

items ::= .
items ::= items item.
items ::= items error SYNC.                   { glow_parse_sync(p); }

/* ---- Storage --------------------------------------------------------------------------------- */
item ::= DECLARE section(B) storages RBRACE.  { (void)B; glow_parse_close(p); }
%type section {int}
section(A) ::= LBRACE(T).                     { A = 0; glow_parse_open_section(p, &T); }
%destructor section { (void)$$; glow_parse_close(p); }
storages ::= .
storages ::= storages storage.
storages ::= storages error SYNC.             { glow_parse_sync(p); }
storage ::= PLACEHOLDER GLOBAL(N) COLON type(T) loc. {
  glow_parse_storage(p, GLOW_PLACEHOLDER, &N, T, false);
}
storage ::= PLACEHOLDER GLOBAL(N) COLON type(T) EQ init loc. {
  glow_parse_storage(p, GLOW_PLACEHOLDER, &N, T, true);
}
storage ::= VARIABLE GLOBAL(N) COLON type(T) EQ init loc. {
  glow_parse_storage(p, GLOW_VARIABLE, &N, T, true);
}
storage ::= CONSTANT GLOBAL(N) COLON type(T) EQ init loc. {
  glow_parse_storage(p, GLOW_CONSTANT, &N, T, true);
}
storage ::= extent.
extent ::= EXTENT DEFINITION(D).              { glow_parse_definition(p, &D, NULL, NULL); }
extent ::= EXTENT DEFINITION(D) COLON RANGE(R). {
  glow_parse_definition(p, &D, &R, NULL);
}
extent ::= EXTENT DEFINITION(D) COLON RANGE(R) STEP INT(S). {
  glow_parse_definition(p, &D, &R, &S);
}
extent ::= EXTENT SYMBOL(N) COLON RANGE(R).   { glow_parse_extent(p, &N, &R, NULL); }
extent ::= EXTENT SYMBOL(N) COLON RANGE(R) STEP INT(S). {
  glow_parse_extent(p, &N, &R, &S);
}
init ::= SPLAT(T) LPAREN scalar RPAREN.       { glow_parse_init_splat(p, &T); }
init ::= scalar(T).                           { glow_parse_init_value(p, &T); }
init ::= list(T).                             { glow_parse_init_value(p, &T); }
init ::= RANDOM(T) LBRACE attrlist RBRACE.    { glow_parse_init_random(p, &T); }
init ::= RESOURCE(T) LPAREN STRING(F) COMMA STRING(K) RPAREN. {
  glow_parse_init_resource(p, &T, &F, &K);
}
init ::= PAYLOAD(T) LPAREN STRING(K) RPAREN.  { glow_parse_init_payload(p, &T, &K); }
init ::= ELIDED(T).                           { glow_parse_init_elided(p, &T); }
init ::= EVAL(T) evalopen(B) stmts term RBRACE. {
  (void)B;
  glow_parse_init_eval(p, &T, glow_parse_close(p));
}
%type evalopen {int}
evalopen(A) ::= LBRACE(T). {
  A = 0;
  glow_parse_open_block(p, &T, GLOW_OPEN_EVAL);
}
%destructor evalopen { (void)$$; glow_parse_close(p); }

/* ---- Functions ------------------------------------------------------------------------------- */
item ::= funchead funcopen(B) stmts term RBRACE. { (void)B; glow_parse_close(p); }
funchead ::= funcsig with.
funcsig ::= FUNC GLOBAL(N) sig.               { glow_parse_function(p, GLOW_FUNC, &N); }
item ::= proghead funcopen(B) istmts RBRACE.     { (void)B; glow_parse_close(p); }
proghead ::= progsig with.
progsig ::= PROGRAM GLOBAL(N) sig.            { glow_parse_function(p, GLOW_PROGRAM, &N); }
%type funcopen {int}
funcopen(A) ::= LBRACE(T). {
  A = 0;
  glow_parse_open_block(p, &T, GLOW_OPEN_FUNCTION);
}
%destructor funcopen { (void)$$; glow_parse_close(p); }
item ::= GRADIENT GLOBAL(N) gsig OF GLOBAL(P) clauses. { glow_parse_gradient(p, &N, &P); }

with ::= .
with ::= WITH(T) LBRACE attrlist RBRACE.      { glow_parse_with(p, &T); }
sig ::= .
sig ::= LPAREN params RPAREN.
sig ::= LPAREN params RPAREN results_type.
gsig ::= sig.
gsig ::= results_type.
results_type ::= ARROW LPAREN returned RPAREN. { p->has_results = true; }
returned ::= .
returned ::= returned1.
returned1 ::= rtype.
returned1 ::= returned1 COMMA rtype.
rtype ::= type(T).                            { glow_parse_result(p, NULL, T); }
rtype ::= VALUE(N) COLON type(T).             { glow_parse_result(p, &N, T); }
params ::= .
params ::= params1.
params1 ::= param.
params1 ::= params1 COMMA param.
param ::= VALUE(N) COLON type(T).             { glow_parse_param(p, &N, T); }
clauses ::= .
clauses ::= clauses FROM(T) refs.             { glow_parse_gradient_clause(p, &T, 'f'); }
clauses ::= clauses WRT(T) refs.              { glow_parse_gradient_clause(p, &T, 'w'); }
clauses ::= clauses KEEPING(T) refs.          { glow_parse_gradient_clause(p, &T, 'k'); }
clauses ::= clauses SEEDABLE(T).              { glow_parse_gradient_clause(p, &T, 's'); }
clauses ::= clauses FORWARD(T).               { glow_parse_gradient_clause(p, &T, 't'); }
refs ::= gref.
refs ::= refs COMMA gref.
gref ::= INT(T).                              { glow_parse_gradient_ref(p, &T, '#'); }
gref ::= VALUE(T).                            { glow_parse_gradient_ref(p, &T, '%'); }
gref ::= GLOBAL(T).                           { glow_parse_gradient_ref(p, &T, '@'); }

/* ---- Graph level ----------------------------------------------------------------------------- */
stmts ::= .
stmts ::= stmts stmt.
stmts ::= stmts error SYNC.                   { glow_parse_sync(p); }
stmt ::= nodehead(H) regions.                 { (void)H; glow_parse_node_end(p); }
%type nodehead {int}
%destructor nodehead { (void)$$; glow_parse_node_abandon(p); }
nodehead(A) ::= results(R) EQ OPNAME(T) LPAREN operands0 RPAREN attrs rtypes pred loc. {
  glow_parse_node(p, &R, &T, false);
  A = 0;
}
nodehead(A) ::= OPNAME(T) LPAREN operands0 RPAREN attrs rtypes pred loc. {
  glow_parse_node(p, &T, &T, false);
  A = 0;
}
%type results {GlowToken}
results(A) ::= result(R).                     { A = R; }
results(A) ::= results(L) COMMA result.       { A = L; }
%type result {GlowToken}
result(A) ::= VALUE(T).                       { A = T; glow_parse_result_name(p, &T); }
result(A) ::= UNDERSCORE(T).                  { A = T; glow_parse_result_name(p, &T); }
rtypes ::= .
rtypes ::= COLON types.
types ::= typeitem.
types ::= types COMMA typeitem.
typeitem ::= type(T).                         { glow_vec_push(p->arena, &p->types, T); }
operands0 ::= .
operands0 ::= operands.
operands ::= operand.
operands ::= operands COMMA operand.
operand ::= ref(V).                           { glow_parse_operand(p, NULL, V); }
operand ::= NONE.                             { glow_parse_operand(p, NULL, NULL); }
operand ::= INT(T).     { glow_parse_operand(p, NULL, glow_parse_literal(p, GLOW_TAG_INT, &T)); }
operand ::= FLOAT(T).   { glow_parse_operand(p, NULL, glow_parse_literal(p, GLOW_TAG_FLOAT, &T)); }
operand ::= BOOLEAN(T). { glow_parse_operand(p, NULL, glow_parse_literal(p, GLOW_TAG_BOOL, &T)); }
%type ref {GlowValue *}
ref(A) ::= VALUE(T).                          { A = glow_parse_ref(p, &T, '%'); }
ref(A) ::= GLOBAL(T).                         { A = glow_parse_ref(p, &T, '@'); }
pred ::= .
pred ::= PRED ref(V).                         { p->pred = V; }
loc ::= .
loc ::= LOC LPAREN STRING(F) COLON STRING(N) RPAREN. {
  glow_parse_origin(p, &F, &N, NULL, NULL);
}
loc ::= LOC LPAREN STRING(F) COLON INT(L) COLON INT(C) RPAREN. {
  glow_parse_origin(p, &F, NULL, &L, &C);
}
term ::= .
term ::= YIELD(T) operands0 loc.              { glow_parse_terminator(p, &T, GLOW_OP_YIELD); }
term ::= RETURN(T) operands0 loc.             { glow_parse_terminator(p, &T, GLOW_OP_RETURN); }
regions ::= .
regions ::= regions region.
region ::= regionhead regionopen(B) stmts term RBRACE. { (void)B; glow_parse_close(p); }
regionhead ::= REGION(T) regsig.              { glow_parse_region(p, &T); }
regsig ::= .
regsig ::= LPAREN params RPAREN.
%type regionopen {int}
regionopen(A) ::= LBRACE(T). {
  A = 0;
  glow_parse_open_block(p, &T, GLOW_OPEN_REGION);
}
%destructor regionopen { (void)$$; glow_parse_close(p); }

/* ---- Instruction level ----------------------------------------------------------------------- */
istmts ::= .
istmts ::= istmts istmt.
istmts ::= istmts error SYNC.                 { glow_parse_sync(p); }
istmt ::= VALUE(N) EQ ALLOC type(T) at loc.   { glow_parse_alloc(p, &N, T); }
istmt ::= VALUE(N) EQ VIEW(K) ref(B) attrs COLON type(T) loc. { glow_parse_view(p, &N, &K, B, T); }
istmt ::= DEALLOC(T) ref(B) loc.              { glow_parse_dealloc(p, &T, B); }
istmt ::= instrhead(H) iregions.              { (void)H; glow_parse_node_end(p); }
%type instrhead {int}
%destructor instrhead { (void)$$; glow_parse_node_abandon(p); }
instrhead(A) ::= IDENT(T) ioperands attrs pred loc. { glow_parse_node(p, &T, &T, true); A = 0; }
instrhead(A) ::= IDENT(T) attrs pred loc.     { glow_parse_node(p, &T, &T, true); A = 0; }
ioperands ::= ioperand.
ioperands ::= ioperands COMMA ioperand.
ioperand ::= QUAL(Q) ref(V).                  { glow_parse_operand(p, &Q, V); }
ioperand ::= QUAL(Q) NONE.                    { glow_parse_operand(p, &Q, NULL); }
at ::= .
at ::= AT INT(T). {
  glow_parse_i64(p, &T, 0, INT64_MAX, "offset", &p->at);
}
iregions ::= .
iregions ::= iregions iregion.
iregion ::= regionhead regionopen(B) istmts RBRACE. { (void)B; glow_parse_close(p); }
iregion ::= regionhead EQ scalaropen(B) stmts term RBRACE. { (void)B; glow_parse_close(p); }
%type scalaropen {int}
scalaropen(A) ::= LBRACE(T). {
  A = 0;
  glow_parse_open_block(p, &T, GLOW_OPEN_SCALAR);
}
%destructor scalaropen { (void)$$; glow_parse_close(p); }

/* ---- Types and attributes -------------------------------------------------------------------- */
%type type {const GlowType *}
type(A) ::= KIND(K) quant(Q) SHAPE(S).        { A = glow_parse_tensor_type(p, &K, Q, &S); }
type(A) ::= seqopen type(T) GT.               { A = glow_parse_seq_type(p, T, NULL); }
type(A) ::= seqopen type(T) COMMA INT(N) GT.  { A = glow_parse_seq_type(p, T, &N); }
type(A) ::= optopen type(T) GT.               { A = glow_parse_opt_type(p, T); }
seqopen ::= SEQ(T) LT.                        { glow_parse_type_open(p, &T); }
optopen ::= OPT(T) LT.                        { glow_parse_type_open(p, &T); }
%type quant {GlowQuantText}
quant(A) ::= .                                { A = (GlowQuantText){0}; }
quant(A) ::= LBRACK OPNAME(S) COLON number(X) OPNAME(O) COLON number(Y) RBRACK. {
  A = glow_parse_quant(p, &S, &X, &O, &Y);
}
attrs ::= .
attrs ::= LBRACE attrlist RBRACE.
attrlist ::= attr.
attrlist ::= attrlist COMMA attr.
attr ::= key value.
key ::= IDENT(T) EQ.                          { glow_parse_item(p, GLOW_TAG_KEY, &T); }
value ::= scalar.
value ::= IDENT(T).                           { glow_parse_item(p, GLOW_TAG_WORD, &T); }
value ::= OPNAME(T).                          { glow_parse_item(p, GLOW_TAG_WORD, &T); }
value ::= SYMBOL(T).                          { glow_parse_item(p, GLOW_TAG_SYMBOL, &T); }
value ::= GLOBAL(T).                          { glow_parse_item(p, GLOW_TAG_GLOBAL, &T); }
value ::= KIND(T).                            { glow_parse_item(p, GLOW_TAG_KIND, &T); }
value ::= type(T).                            { glow_parse_type_item(p, T); }
value ::= list.
%type list {GlowToken}
list(A) ::= listopen(L) RBRACK.               { A = L.token; glow_parse_list_close(p, L.index); }
list(A) ::= listopen(L) values RBRACK.        { A = L.token; glow_parse_list_close(p, L.index); }
%type listopen {GlowListText}
listopen(A) ::= LBRACK(T). {
  A.token = T;
  A.index = glow_parse_list_open(p, &T);
}
values ::= value.
values ::= values COMMA value.
%type scalar {GlowToken}
scalar(A) ::= INT(T).                         { A = T; glow_parse_item(p, GLOW_TAG_INT, &T); }
scalar(A) ::= FLOAT(T).                       { A = T; glow_parse_item(p, GLOW_TAG_FLOAT, &T); }
scalar(A) ::= STRING(T).                      { A = T; glow_parse_item(p, GLOW_TAG_STRING, &T); }
scalar(A) ::= BOOLEAN(T).                     { A = T; glow_parse_item(p, GLOW_TAG_BOOL, &T); }
%type number {GlowToken}
number(A) ::= INT(T).                         { A = T; }
number(A) ::= FLOAT(T).                       { A = T; }
