// The grammar of operator descriptions, of the kernel table, and of onnx.map at its end. A declaration names other things by word only; check.c
// resolves them. Every keyword is an ordinary word where no keyword can stand.
%name OpsParse
%token_prefix T_
%token_type { Name }
%extra_context { Parser *p }
%start_symbol root
%stack_size 64
%include {
#include "parse.h"
#include "tblgen/grammar.h"
}
%syntax_error { parse_syntax_error(p, yymajor, TOKEN); }
%stack_overflow { p->failed = true; }

%fallback ID KINDS ENUM OP INSTR IN OUT INOUT REGION TYPES MEMBER IMEMBER TRAITS INFER VERIFY
             SCRATCH MACS GRAD QUANTIZE LOWER IRGEN FOLD ALSO DOMAIN NEWEST HOOK UNSUPPORTED
             NUMBER PARAMS CALLBACK TILE TILES KERNEL AS TEMP INTS WHERE STEP STEPS VARIANTS SOURCES DERIVED LAYOUTS SHARE
             FIXED SLOPE LOWERING INSIDE NARROW STORED.

%type ids { Names }
%type flags { uint8_t }
%type array { bool }
%type initial { Lit }
%type lit { Lit }
%type lits { Lits }
%type doc { Name }
%type call { Call }
%type calls { Calls }
%type rule { Rule * }
%type rules { Rules }
%type quant_limits { QuantLimits }
%type quant_list { QuantLimits }
%type quant_limit { QuantLimit }
%type setting { Setting }
%type settings { Settings }
%type opt { bool }
%type derived { bool }
%type versions { Names }
%type target { OnnxRow }
%type attrs { Attrs }
%type attr_list { Attrs }
%type attr { Attr }
%type count { Name }
%type relation { Name }
%type factor { Name }
%type product { Names }
%type variants { Names }
%type comparison { Comparison }
%type comparisons { Comparisons }
%type limit { Limit }
%type limits { Limits }

root ::= file.
root ::= MAP map.
file ::= .
file ::= file decl.

decl ::= KINDS ID(N) EQ ids(L).                { parse_kinds(p, N, L); }
decl ::= ENUM ID(N) LB ids(L) RB.              { parse_enum(p, N, L); }
decl ::= head LB clauses RB.                   { p->op = NULL; }
head ::= OP ID(N) STRING(D).                   { parse_op_begin(p, N, D, false); }
head ::= INSTR ID(N) STRING(D).                { parse_op_begin(p, N, D, true); }

decl ::= SLOPE ID(F) LP ids(L) RP BRACES(C) doc(D). { parse_slope(p, F, L, C, D); }

decl ::= NUMBER ID(N) EQ INT(V) STRING(D).     { parse_number(p, N, V, D); }
decl ::= SOURCES ID(L) EQ ids(N) STRING(D).    { parse_sources(p, L, N, D); }
decl ::= params LB fields RB.                  { p->row = NULL; }
decl ::= CALLBACK ID(N) LP ids(L) RP STRING(D). { parse_callback(p, N, L, D, false); }
decl ::= STEP ID(N) LP ids(L) RP STRING(D).    { parse_callback(p, N, L, D, true); }
decl ::= tile LB tile_clauses RB.              { p->row = NULL; }
decl ::= kernel LB kernel_clauses RB.          { p->row = NULL; }

clauses ::= .
clauses ::= clauses clause.
clause ::= in ports.
clause ::= out ports.
clause ::= REGION(K) regions.                  { parse_clause(p, CLAUSE_REGION, K); }
clause ::= TYPES ID(N) LP ids(L) RP.           {
  VarDecl v = {N, L, 0};
  glow_vec_push(p->file->arena, &p->op->vars, v);
}
clause ::= member members.
clause ::= imember members.
clause ::= TRAITS(K) calls(L).                 { parse_clause(p, CLAUSE_TRAITS, K); p->op->traits_list = L; }
clause ::= NARROW(K) calls(L).                 { parse_clause(p, CLAUSE_NARROW, K); p->op->narrow = L; }
clause ::= STORED(K) calls(L).                 { parse_clause(p, CLAUSE_STORED, K); p->op->stored = L; }
clause ::= INFER(K) call(C).                   { parse_clause(p, CLAUSE_INFER, K); p->op->infer = C; }
clause ::= VERIFY(K) calls(L).                 { parse_clause(p, CLAUSE_VERIFY, K); p->op->verify = L; }
clause ::= SCRATCH(K) ID(N).                   { parse_clause(p, CLAUSE_SCRATCH, K); p->op->scratch = N; }
clause ::= MACS(K) ID(N).                      { parse_clause(p, CLAUSE_MACS, K); p->op->macs = N; }
clause ::= CODE(C).                            { parse_clause(p, CLAUSE_SCALAR, C); p->op->scalar = C; }
clause ::= TURNS(C).                           { parse_clause(p, CLAUSE_SCALAR, C); p->op->scalar = C; p->op->turns = true; }
clause ::= GRAD(K) grads.                      { parse_clause(p, CLAUSE_GRAD, K); }
clause ::= QUANTIZE(K) call(C) quant_limits(L). {
  parse_clause(p, CLAUSE_QUANTIZE, K);
  p->op->quantize = C;
  p->op->quant_limits = L;
}
clause ::= LOWER(K) ID(N).                     { parse_clause(p, CLAUSE_LOWER, K); p->op->lower = N; }
clause ::= IRGEN(K) ID(N).                     { parse_clause(p, CLAUSE_IRGEN, K); p->op->irgen = N; }
clause ::= FOLD(K) ID(N).                      { parse_clause(p, CLAUSE_FOLD, K); p->op->fold = N; }
clause ::= ALSO(K) ids(L).                     { parse_clause(p, CLAUSE_ALSO, K); p->op->also = L; }

in ::= IN(K).                                  { parse_clause(p, CLAUSE_IN, K); p->ports = &p->op->in; }
out ::= OUT(K).                                { parse_clause(p, CLAUSE_OUT, K); p->ports = &p->op->out; }
ports ::= port.
ports ::= ports COMMA port.
port ::= ID(N) COLON ID(T) flags(F).           { parse_port(p, N, T, false, F); }
port ::= ID(N) COLON ID(T) SHAPE flags(F).     { parse_port(p, N, T, true, F); }
flags(F) ::= .                                 { F = 0; }
flags(F) ::= QMARK.                            { F = GLOW_PORT_OPTIONAL; }
flags(F) ::= STAR.                             { F = GLOW_PORT_VARIADIC; }
flags(F) ::= INOUT.                            { F = GLOW_PORT_INOUT; }

regions ::= region.
regions ::= regions COMMA region.
region ::= ID(N) opt(O).                       {
  RegionDecl r = {N, O};
  glow_vec_push(p->file->arena, &p->op->regions, r);
}
opt(O) ::= .                                   { O = false; }
opt(O) ::= QMARK.                              { O = true; }

member ::= MEMBER(K).                          { parse_clause(p, CLAUSE_MEMBER, K); p->instr_only = false; }
imember ::= IMEMBER(K).                        { parse_clause(p, CLAUSE_IMEMBER, K); p->instr_only = true; }
members ::= one_member.
members ::= members COMMA one_member.
one_member ::= ID(N) COLON ID(T) array(A) initial(I) doc(D). { parse_member(p, N, T, A, I, D); }
array(A) ::= .                                 { A = false; }
array(A) ::= LS RS.                            { A = true; }
initial(I) ::= .                               { I = (Lit){0}; }
initial(I) ::= EQ lit(L).                      { I = L; }
initial(I) ::= EQ LS(B) RS.                    { I = parse_lit(LIT_LIST, B); }
initial(I) ::= EQ LS(B) lits(L) RS.            { I = parse_lit(LIT_LIST, B); I.items = L; }
doc(D) ::= .                                   { D = (Name){0}; }
doc(D) ::= STRING(S).                          { D = S; }
lit(L) ::= INT(T).                             { L = parse_lit(LIT_INT, T); }
lit(L) ::= FLOAT(T).                           { L = parse_lit(LIT_FLOAT, T); }
lit(L) ::= STRING(T).                          { L = parse_lit(LIT_STRING, T); }
lit(L) ::= ID(T).                              { L = parse_lit(LIT_NAME, T); }
lits(L) ::= lit(I).                            { L = (Lits){0}; glow_vec_push(p->file->arena, &L, I); }
lits(L) ::= lits(M) COMMA lit(I).              { L = M; glow_vec_push(p->file->arena, &L, I); }

grads ::= grad.
grads ::= grads COMMA grad.
grad ::= ID(K) STRING(S).                      { parse_grad_word(p, (Name){0}, K, S); }
grad ::= ID(N) ID(K) doc(D).                   { parse_grad_word(p, N, K, D); }
grad ::= ID(N) BRACES(C) doc(D).               { parse_grad_slope(p, N, C, D); }
grad ::= ID(N) EQ rule(R) doc(D).              { parse_grad_rule(p, N, R, D); }
grad ::= LOWERING(K).                          { parse_grad_all(p, GRAD_LOWERING, K); }
grad ::= INSIDE(K).                            { parse_grad_all(p, GRAD_INSIDE, K); }

quant_limits(L) ::= .                          { L = (QuantLimits){0}; }
quant_limits(L) ::= WHERE quant_list(M).       { L = M; }
quant_list(L) ::= quant_limit(I).              { L = (QuantLimits){0}; glow_vec_push(p->file->arena, &L, I); }
quant_list(L) ::= quant_list(M) COMMA quant_limit(I). { L = M; glow_vec_push(p->file->arena, &L, I); }
quant_limit(I) ::= ID(N) EQ ID(V).             { I = (QuantLimit){.what = N, .value = V}; }

rule(R) ::= ID(N).                             { R = parse_rule(p, RULE_WORD, N); }
rule(R) ::= INT(N).                            { R = parse_rule(p, RULE_NUMBER, N); }
rule(R) ::= FLOAT(N).                          { R = parse_rule(p, RULE_NUMBER, N); }
rule(R) ::= ID(N) LP rules(A) RP.              { R = parse_rule(p, RULE_CALL, N); R->args = A; }
rule(R) ::= ID(N) LP rules(A) RP LB settings(M) RB. {
  R = parse_rule(p, RULE_CALL, N);
  R->args = A;
  R->settings = M;
}
rules(L) ::= rule(R).                          { L = (Rules){0}; glow_vec_push(p->file->arena, &L, R); }
rules(L) ::= rules(M) COMMA rule(R).           { L = M; glow_vec_push(p->file->arena, &L, R); }
settings(L) ::= setting(S).                    { L = (Settings){0}; glow_vec_push(p->file->arena, &L, S); }
settings(L) ::= settings(M) COMMA setting(S).  { L = M; glow_vec_push(p->file->arena, &L, S); }
setting(S) ::= ID(N) EQ rule(R).               { S = (Setting){N, R}; }

calls(L) ::= call(C).                          { L = (Calls){0}; glow_vec_push(p->file->arena, &L, C); }
calls(L) ::= calls(M) COMMA call(C).           { L = M; glow_vec_push(p->file->arena, &L, C); }
call(C) ::= ID(N).                             { C = (Call){N, {0}}; }
call(C) ::= ID(N) LP ids(L) RP.                { C = (Call){N, L}; }
ids(L) ::= ID(N).                              { L = (Names){0}; glow_vec_push(p->file->arena, &L, N); }
ids(L) ::= ids(M) COMMA ID(N).                 { L = M; glow_vec_push(p->file->arena, &L, N); }

// The kernel table.
params ::= PARAMS ID(N) STRING(D).             { parse_params(p, N, D); }
fields ::= .
fields ::= fields derived(Q) ids(L) COLON ID(T) count(C) doc(D). { parse_fields(p, Q, L, T, C, D); }
derived(Q) ::= .                               { Q = false; }
derived(Q) ::= DERIVED.                        { Q = true; }
count(C) ::= .                                 { C = (Name){0}; }
count(C) ::= LS factor(F) RS.                  { C = F; }
count(C) ::= LS(B) RS.                         { C = (Name){"", B.loc}; }
factor(F) ::= ID(N).                           { F = N; }
factor(F) ::= INT(N).                          { F = N; }

tile ::= TILE ID(N) LP ids(S) RP STRING(D).    { parse_tile(p, N, S, D); }
tile ::= TILE ID(N) STRING(D).                 { parse_tile(p, N, (Names){0}, D); }
tile_clauses ::= .
tile_clauses ::= tile_clauses tile_clause.
tile_clause ::= row_ports.
tile_clause ::= family.
tile_clause ::= PARAMS(K) ID(N).               { parse_word(p, &p->tile->params, K, N); }
tile_clause ::= AS(K) ID(N).                   { parse_word(p, &p->tile->as, K, N); }
tile_clause ::= CALLBACK(K) ID(N).             { parse_word(p, &p->tile->callback, K, N); }
tile_clause ::= temp ports.
temp ::= TEMP.                                 { p->ports = &p->tile->temp; }
tile_clause ::= INTS ids(L).                   { p->tile->ints = L; }
tile_clause ::= WHERE conditions.
conditions ::= comparisons(C).                 { glow_vec_push(p->file->arena, &p->tile->where, C); }
conditions ::= conditions COMMA comparisons(C). { glow_vec_push(p->file->arena, &p->tile->where, C); }
comparisons(L) ::= comparison(C).              { L = (Comparisons){0}; glow_vec_push(p->file->arena, &L, C); }
comparisons(L) ::= comparisons(M) BAR comparison(C). { L = M; glow_vec_push(p->file->arena, &L, C); }
comparison(C) ::= product(A) relation(R) product(B). { C = (Comparison){A, B, R}; }
relation(R) ::= EQ(T).                         { R = T; }
relation(R) ::= RELATION(T).                   { R = T; }
product(L) ::= factor(F).                      { L = (Names){0}; glow_vec_push(p->file->arena, &L, F); }
product(L) ::= product(M) STAR factor(F).      { L = M; glow_vec_push(p->file->arena, &L, F); }

tile_clause ::= FIXED fixed_tiles.
fixed_tiles ::= fixed_tile.
fixed_tiles ::= fixed_tiles COMMA fixed_tile.
fixed_tile ::= ID(N) LP limits(L) RP.          {
  FixedDecl d = {N, L};
  glow_vec_push(p->file->arena, &p->tile->fixed, d);
}
limits(L) ::= limit(I).                        { L = (Limits){0}; glow_vec_push(p->file->arena, &L, I); }
limits(L) ::= limits(M) COMMA limit(I).        { L = M; glow_vec_push(p->file->arena, &L, I); }
limit(L) ::= ID(F) relation(R) factor(V).      { L = (Limit){.field = F, .relation = R, .value = V}; }
limit(L) ::= ID(F) PERCENT factor(V) EQ(E) INT(Z). {
  L = (Limit){.field = F, .relation = E, .value = V, .zero = Z};
}

kernel ::= KERNEL ID(N) STRING(D).             { parse_kernel(p, N, D); }
kernel_clauses ::= .
kernel_clauses ::= kernel_clauses kernel_clause.
kernel_clause ::= row_ports.
kernel_clause ::= PARAMS(K) ID(N).             { parse_word(p, &p->kernel->params, K, N); }
kernel_clause ::= family.
kernel_clause ::= STEPS(K) ids(L) COLON ID(N). { parse_word(p, &p->kernel->step, K, N); p->kernel->steps = L; }
kernel_clause ::= TILES ids(L) COLON kinds.    { p->roles->names = L; }
kernel_clause ::= LAYOUTS layouts.
kernel_clause ::= SHARE(K) INT(N).             { parse_share(p, K, N); }
layouts ::= ID(N) layout.                      { p->layout->operand = N; }
layouts ::= layouts COMMA ID(N) layout.        { p->layout->operand = N; }
layout ::= STRING(S).                          { parse_layout(p, S); }
layout ::= layout BAR STRING(S).               { glow_vec_push(p->file->arena, &p->layout->texts, S); }
kinds ::= ID(N).                               { parse_roles(p, N); }
kinds ::= kinds BAR ID(N).                     { glow_vec_push(p->file->arena, &p->roles->kinds, N); }

family ::= VARIANTS(K) variants(L).            { parse_variants(p, K, L); }
variants(L) ::= factor(F).                     { L = (Names){0}; glow_vec_push(p->file->arena, &L, F); }
variants(L) ::= variants(M) COMMA factor(F).   { L = M; glow_vec_push(p->file->arena, &L, F); }
family ::= TYPES ID(N) LP ids(L) RP.           {
  VarDecl v = {N, L, 0};
  glow_vec_push(p->file->arena, &p->family->vars, v);
}

row_ports ::= row_out ports.
row_ports ::= row_in ports.
row_out ::= OUT.                               { p->ports = p->row_out; }
row_in ::= IN.                                 { p->ports = p->row_in; }

// onnx.map, after a token that the lexer never gives: see lib/import/onnx/map.h.
map ::= .
map ::= map row.
row ::= DOMAIN STRING(D) NEWEST INT(V).        { parse_domain(p, D, V); }
row ::= ID(N) versions(V) EQ target(T).        { parse_row(p, N, V, T); }
versions(L) ::= INT(N).                        { L = (Names){0}; glow_vec_push(p->file->arena, &L, N); }
versions(L) ::= versions(M) COMMA INT(N).      { L = M; glow_vec_push(p->file->arena, &L, N); }
target(T) ::= ID(N) attrs(A).                  { T = (OnnxRow){.node = N, .attrs = A}; }
target(T) ::= HOOK ID(N).                      { T = (OnnxRow){.hook = N}; }
target(T) ::= UNSUPPORTED STRING(S).           { T = (OnnxRow){.why = S}; }
attrs(L) ::= .                                 { L = (Attrs){0}; }
attrs(L) ::= LB attr_list(A) RB.               { L = A; }
attr_list(L) ::= attr(A).                      { L = (Attrs){0}; glow_vec_push(p->file->arena, &L, A); }
attr_list(L) ::= attr_list(M) COMMA attr(A).   { L = M; glow_vec_push(p->file->arena, &L, A); }
attr(A) ::= ID(N).                             { A = (Attr){N, N}; }
attr(A) ::= ID(N) EQ ID(O).                    { A = (Attr){N, O}; }
