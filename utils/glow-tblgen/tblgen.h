/* glow-tblgen: what it reads (.ops operator descriptions, the kernel table, onnx.map) as data, and
 * its generators.
 *
 * Reading happens in two steps: the parser builds declarations that hold names with their places;
 * ops_check resolves the names, so that declarations may stand in any order. Generators only run on
 * input without errors and never report any. */
#ifndef GLOW_TBLGEN_H
#define GLOW_TBLGEN_H

#include "ops/desc.h"
#include "support/diag.h"
#include "support/text.h"

/* A word of the input and where it stands. */
typedef struct Name {
  GlowStr text;
  GlowLoc loc;
} Name;
typedef GLOW_VEC(Name) Names;

typedef enum LitKind { LIT_ABSENT, LIT_INT, LIT_FLOAT, LIT_STRING, LIT_NAME, LIT_LIST } LitKind;
typedef struct Lit Lit;
typedef GLOW_VEC(Lit) Lits;
struct Lit {
  LitKind kind;
  Name text; /* as written; of a string: its value */
  Lits items;
};

/* `inplace(Z, X)`, or a lone word. */
typedef struct Call {
  Name name;
  Names args;
} Call;
typedef GLOW_VEC(Call) Calls;

typedef struct KindsDecl {
  Name name;
  Names parts;
  GlowKindSet set; /* after check */
} KindsDecl;

typedef struct EnumDecl {
  Name name;
  Names values;
} EnumDecl;

typedef struct PortDecl {
  Name name, type;
  bool scalar;            /* written kind<> */
  uint8_t flags;          /* GlowPortFlag */
  uint8_t type_kind, var; /* after check: as in GlowOpPort */
  GlowKindSet narrow;     /* after check: of a `narrow` clause; 0 if it does not name the port */
  GlowKindSet stored;     /* the same of a `stored` clause */
} PortDecl;
typedef GLOW_VEC(PortDecl) Ports;

typedef struct VarDecl {
  Name name;
  Names parts;
  GlowKindSet set; /* after check */
} VarDecl;

typedef struct MemberDecl {
  Name name, type;
  bool array, instr_only;
  Lit initial;
  GlowStr doc; /* "" if none */
  /* after check */
  GlowMemberType member_type;
  const EnumDecl *enumeration;
  GlowStr field; /* the name in C */
} MemberDecl;

typedef struct RegionDecl {
  Name name;
  bool optional;
} RegionDecl;

/* An item of a `grad` clause: where derivatives by an operand, or by all, come from. */
typedef enum GradKind {
  GRAD_NONE,     /* there are none */
  GRAD_HOOK,     /* glow_grad_<op> in lib/autodiff */
  GRAD_LOWERING, /* from what the lowering rule builds */
  GRAD_INSIDE,   /* from its regions, or from the function that it calls */
  GRAD_SLOPE,    /* a slope, given in the language of scalar bodies */
  GRAD_DERIVED,  /* a slope that follows from the scalar body: added by the check */
  GRAD_RULE      /* an expression of nodes */
} GradKind;

/* An expression of nodes: `Sub(dY, summed(dY, axis))`. */
typedef struct OpDecl OpDecl;
typedef struct Rule Rule;
typedef GLOW_VEC(Rule *) Rules;
typedef struct Setting {
  Name member;
  Rule *value;
} Setting;
typedef GLOW_VEC(Setting) Settings;
typedef enum RuleKind { RULE_WORD, RULE_NUMBER, RULE_CALL } RuleKind;
struct Rule {
  RuleKind kind;
  Name name; /* a port, dY, a member; a number; an operator or a helper */
  Rules args;
  Settings settings;
  /* after check */
  GlowKindSet kinds; /* that the value may have; 0: it is a member */
  const OpDecl *op;  /* RULE_CALL: the operator; NULL: a helper */
};

/* The derivatives of a function that scalar bodies call, by each of its parameters. */
typedef struct SlopeDecl {
  Name function;
  Names params;
  Name code;
  GlowStr doc; /* what counts at corners; NULL if nothing is said */
} SlopeDecl;

typedef struct GradDecl {
  GradKind kind;
  GlowLoc loc;
  Name port;        /* text NULL: all operands */
  Name doc;         /* GRAD_NONE: why; else what counts at corners, text NULL if nothing is said */
  Name slope;       /* GRAD_SLOPE */
  Rule *rule;       /* GRAD_RULE */
  uint32_t operand; /* after check, if there is a port */
} GradDecl;

/* What must hold for the form that a `quantize` clause names: a member of an enum has a value, or
 * an operand is absent (`Roi = none`). */
typedef struct QuantLimit {
  Name what, value;
  GlowQuantLimit limit; /* after check */
} QuantLimit;
typedef GLOW_VEC(QuantLimit) QuantLimits;

struct OpDecl {
  Name name;
  GlowStr doc;
  bool is_instr; /* an `instr` block: there is no node */
  Ports in, out;
  GLOW_VEC(VarDecl) vars;
  GLOW_VEC(MemberDecl) members;
  GLOW_VEC(RegionDecl) regions;
  Calls traits_list, verify, narrow, stored;
  Call infer;
  Name scalar; /* the body without its braces; text NULL if there is none */
  bool turns;  /* written `scalar turns` */
  GLOW_VEC(GradDecl) grads;
  Call quantize; /* name.text NULL if there is no clause */
  QuantLimits quant_limits;
  Names also;                             /* operators elsewhere */
  Name lower, irgen, fold, scratch, macs; /* the word after each; text NULL if absent */
  GlowLoc clause_loc[18];                 /* where each kind of clause stood first, by its number */
  /* after check */
  GlowStr camel, snake, upper; /* MaxPool max_pool MAX_POOL */
  GlowTraits traits;
  GlowInferRule rule;
  uint8_t rule_arg;
  int8_t epilogue;
  bool body, verify_hook;
  bool expanded; /* its scalar body gives a lowering rule */
  GlowQuantForm quant;
  uint8_t quant_out, quant_in; /* ports of `same` and `clamp` */
  GLOW_VEC(GlowInplace) inplace;
  GLOW_VEC(GlowInplace) same_kind; /* verify same_kind(A, B); numbers count outputs, then inputs */
};

/* ---- onnx.map -------------------------------------------------------------------------------- */

typedef struct OnnxDomain {
  Name name, newest;
} OnnxDomain;

typedef struct Attr {
  Name member, attribute;
} Attr;
typedef GLOW_VEC(Attr) Attrs;

typedef struct OnnxRow {
  GlowStr domain;
  Name op;
  Names versions;
  Name node, hook, why; /* exactly one has a text */
  Attrs attrs;
  const OpDecl *target; /* of node, after check */
} OnnxRow;

/* ---- The kernel table ------------------------------------------------------------------------ */

/* An integer with a name. */
typedef struct NumberDecl {
  Name name, value;
  GlowStr doc;
} NumberDecl;

/* Files of kernels that are built at a level of optimization of their own; CMake reads these rows.
 */
typedef struct SourcesDecl {
  Name level;
  Names files; /* without .c */
  GlowStr doc;
} SourcesDecl;

/* Fields of params that are declared together. */
typedef struct ParamsDecl ParamsDecl;
typedef struct FieldsDecl {
  Names names;
  Name type, count;         /* count: how many elements each has; text NULL: it is no array, "": as
                               many as each use has */
  GlowStr doc;              /* NULL if none */
  bool derived;             /* by the setup, from the others */
  const ParamsDecl *params; /* after check: the type; NULL: i64 */
} FieldsDecl;

struct ParamsDecl {
  Name name;
  GlowStr doc;
  GLOW_VEC(FieldsDecl) fields;
  bool derived;  /* after check: whether any field is, of these params or inside of one */
  int64_t words; /* after check: of 64 bits, but for what `table` has */
  GlowStr table; /* after check: the last field, an array of any length; NULL if none */
};

/* A function that code generation makes. A tile calls it on each vector of its results; a `step` is
 * called by a kernel and loads and stores the vector by itself. */
typedef struct CallbackDecl {
  Name name;
  GlowStr doc;
  bool step;
  Names ints; /* where the vector is */
} CallbackDecl;

/* The words that make a row several functions, one for each variant and each kind: reduce_sum_i8.
 */
typedef struct Family {
  Names variants;
  GLOW_VEC(VarDecl) vars; /* at most one */
} Family;

/* A function of a row. */
typedef struct Member {
  Name name;
  GlowStr variant; /* NULL if there are none */
  GlowKind kind;   /* GLOW_KIND_COUNT if there are none */
} Member;
typedef GLOW_VEC(Member) Members;

/* `rows * cols <= tile_pixels`: products of numbers and names. */
typedef struct Comparison {
  Names left, right;
  Name relation;
} Comparison;
typedef GLOW_VEC(Comparison) Comparisons; /* one of them must hold */

/* What a field of params has where a tile has it as a constant: `kh = 3`, `left <= 1`, or
 * `oc % 16 = 0`. */
typedef struct Limit {
  Name field, relation, value;
  Name zero; /* text NULL if there is no `%` */
  /* after check */
  int64_t word; /* which word of the params it is */
  GlowStr path; /* g.kh */
  bool width;   /* the value is the word `width` */
} Limit;
typedef GLOW_VEC(Limit) Limits;

/* The tiles of a row once more in library code, for params within limits. */
typedef struct FixedDecl {
  Name name;
  Limits limits;
} FixedDecl;

typedef struct TileDecl TileDecl;
struct TileDecl {
  Name name;
  GlowStr doc;
  Names sizes; /* either these make several tiles of the row, or the family does */
  Family family;
  Name as, params, callback; /* the word after each; text NULL if absent */
  Ports out, in, temp;
  Names ints;
  GLOW_VEC(Comparisons) where;
  GLOW_VEC(FixedDecl) fixed; /* the best first */
  /* after check; `as` has taken over the other tile's */
  const ParamsDecl *params_decl;     /* NULL: any */
  const CallbackDecl *callback_decl; /* NULL if none */
  GlowStr camel, upper;              /* ConvTile CONV_TILE */
};

/* Parameters of a kernel for tiles, each of one of several kinds. */
typedef struct RolesDecl {
  Names names, kinds;
  GLOW_VEC(const TileDecl *) tiles; /* after check: the kinds */
} RolesDecl;

/* The layouts that a kernel takes an operand in, best first. */
typedef struct LayoutDecl {
  Name operand;
  Names texts; /* as in lib/target/cpu/layouts.h */
} LayoutDecl;

typedef struct KernelDecl {
  Name name;
  GlowStr doc;
  Name params;
  Name share; /* percent; text NULL: GLOW_USUAL_SHARE */
  Family family;
  Ports out, in;
  GLOW_VEC(RolesDecl) roles;
  GLOW_VEC(LayoutDecl) layouts;
  Names steps; /* parameters for functions of type `step`; text NULL if there are none */
  Name step;
  /* after check */
  const ParamsDecl *params_decl;
  const CallbackDecl *step_decl;
  GlowStr camel, upper;
} KernelDecl;

/* A function of lib/num/math*.h, and a macro there that is one of double and one of float. */
typedef struct MathFunction MathFunction;
typedef struct MathMacro {
  GlowStr name, function; /* EXP, glow_exp */
} MathMacro;

typedef struct OpFile {
  GlowContext *ctx;
  GlowArena *arena;
  GLOW_VEC(KindsDecl *) kinds;
  GLOW_VEC(EnumDecl *) enums;
  GLOW_VEC(OpDecl *) ops;
  GLOW_VEC(SlopeDecl *) slopes;
  GLOW_VEC(OnnxDomain) domains;
  GLOW_VEC(OnnxRow *) rows;
  GLOW_VEC(NumberDecl *) numbers;
  GLOW_VEC(SourcesDecl *) sources;
  GLOW_VEC(ParamsDecl *) params;
  GLOW_VEC(CallbackDecl *) callbacks;
  GLOW_VEC(TileDecl *) tiles;
  GLOW_VEC(KernelDecl *) kernels;
  GLOW_VEC(MathFunction *) functions;
  GLOW_VEC(MathMacro) macros;
} OpFile;

/* Kinds whose values have derivatives. */
#define FLOATS                                                                                     \
  (GLOW_KIND_BIT(GLOW_KIND_FLOAT) | GLOW_KIND_BIT(GLOW_KIND_DOUBLE) |                              \
   GLOW_KIND_BIT(GLOW_KIND_FLOAT16) | GLOW_KIND_BIT(GLOW_KIND_BFLOAT16))

#define HAS(op, TRAIT) (((op)->traits >> GLOW_TRAIT_BIT_##TRAIT) & 1u)

/* Clauses that an operator may have once. */
typedef enum Clause {
  CLAUSE_IN,
  CLAUSE_OUT,
  CLAUSE_REGION,
  CLAUSE_MEMBER,
  CLAUSE_IMEMBER,
  CLAUSE_TRAITS,
  CLAUSE_INFER,
  CLAUSE_VERIFY,
  CLAUSE_SCRATCH,
  CLAUSE_MACS,
  CLAUSE_SCALAR,
  CLAUSE_GRAD,
  CLAUSE_QUANTIZE,
  CLAUSE_LOWER,
  CLAUSE_IRGEN,
  CLAUSE_FOLD,
  CLAUSE_ALSO,
  CLAUSE_NARROW,
  CLAUSE_STORED,
  CLAUSE_COUNT
} Clause;

/* parse.c: adds the declarations of one text, .ops or (`map`) onnx.map; errors are reported. */
void ops_parse(OpFile *file, const GlowSource *source, bool map);
/* check.c: resolves everything; reports errors. */
void ops_check(OpFile *file);
/* The index of a port of one side or of either; reports an unknown name. */
int ops_find_port(const OpFile *file, const OpDecl *op, Name n, bool in, bool out);
/* The union of kinds and declared sets of kinds; reports other words. */
GlowKindSet kinds_union(const OpFile *file, const Names *parts);
/* onnx.c: the same for the rows of onnx.map, after ops_check. */
void onnx_check(OpFile *file);
/* check_kernels.c: the same for the kernel table. */
void kernels_check(OpFile *file);

/* check_kernels.c, for what was checked. The value of a number or of the name of one. */
int64_t number_value(const OpFile *file, Name n);
/* The machines of isa.def, as far as tiles depend on them. */
typedef struct Machine {
  const char *id, *base, *name; /* X86_64_V3, X86_64_V3, x86-64-v3 */
  int64_t vl, tile_pixels, tile_vectors;
} Machine;
extern const Machine machines[];
extern const size_t nmachines;
/* The tiles of a kind that a machine has, in order: `sizes` are those of one after the other. */
typedef GLOW_VEC(int64_t) Sizes;
Sizes tile_instances(const OpFile *file, const TileDecl *tile, const Machine *m);
/* The functions of a row, by variants, then kinds: gather_i32, gather_i64. One that is called as
 * the row if the family has neither. */
Members family_members(const OpFile *file, Name row, const Family *family);
/* What the tiles of a kernel call back; NULL: nothing. */
const CallbackDecl *kernel_callback(const KernelDecl *k);
/* The type in C of a port's elements. */
const char *port_c_type(const PortDecl *port);

/* names.c */
GlowStr name_snake(GlowContext *ctx, const char *camel); /* MaxPool -> max_pool */
GlowStr name_upper(GlowContext *ctx, const char *snake);
GlowStr name_camel(GlowContext *ctx, const char *snake); /* expect_shape -> ExpectShape */
GlowStr name_field(GlowContext *ctx, const char *name);  /* `_` added to what C reserves */
/* "; did you mean 'x'?" or "". */
const char *did_you_mean(GlowContext *ctx, const char *word, const char *const *all, size_t count);

/* Kinds that the descriptions may name. */
extern const char *const kind_names[GLOW_KIND_COUNT];
extern const char *const kind_enums[GLOW_KIND_COUNT];
GlowKind kind_find(const char *name);

/* Generators: each writes one file. */
typedef void Generator(const OpFile *file, GlowText *out);
Generator gen_header, gen_table, gen_infer, gen_infer_header, gen_lower, gen_lower_header;
Generator gen_irgen, gen_irgen_header, gen_fold, gen_fold_header, gen_kernels, gen_kernels_header;
Generator gen_values_header, gen_scalar, gen_elementwise, gen_vector, gen_casts, gen_blocks,
    gen_docs, gen_keywords, gen_vim;
Generator gen_grad, gen_grad_header, gen_gradients, gen_primitives, gen_onnx, gen_onnx_header,
    gen_onnx_docs;
Generator gen_params, gen_prototypes, gen_rows_header, gen_rows, gen_setups_header, gen_work_header,
    gen_work, gen_library;

/* gen_setups.c: whether a kernel has a setup, which fills in derived fields; and for rows.c. */
bool has_setup(const KernelDecl *k);
void write_setups(const OpFile *file, GlowText *out);

/* gen_kernels.c: a hash of all that kernels see of the table. */
uint64_t table_hash(const OpFile *file);

/* check_grads.c: resolves a `grad` clause; reports errors. */
void grads_check(const OpFile *file, OpDecl *op);

/* check_quantize.c: resolves a `quantize` clause, or finds the form without one; reports errors. */
void quantize_check(const OpFile *file, OpDecl *op);

/* Whether floating-point values may go from an operand, or into a region, to a result: then the
 * operator must say where derivatives come from. */
bool needs_grads(const OpDecl *op);
bool may_be_float(const OpDecl *op, const PortDecl *p);
/* The item for an operand; NULL if there is none. */
const GradDecl *find_grad(const OpDecl *op, uint32_t operand);
/* Reports operands that need an item and have none; after slopes_check. */
void statuses_check(const OpFile *file);

/* gen_slope.c: adds GRAD_DERIVED items for what follows from scalar bodies, and checks all slopes.
 */
void slopes_check(const OpFile *file);
/* Whether glow-tblgen writes op's derivatives, or a part of them. */
bool has_slopes(const OpDecl *op);
/* Writes statements that set them: a part of a GlowGradFn. */
void slopes_write(const OpFile *file, const OpDecl *op, GlowText *out);

/* The slope of an item as text; what the item, or the row of the function that the body is, says of
 * corners is added to `corners`. */
void slope_text(const OpFile *file, const OpDecl *op, const GradDecl *g, GlowText *out,
                GlowText *corners);

/* gen_rule.c: resolves the rules of all operators, after slopes_check; reports errors. */
void rules_check(const OpFile *file);
bool has_rules(const OpDecl *op);
/* Writes statements that set the derivatives: a part of a GlowGradFn. */
void rule_text(const Rule *r, GlowText *out);
void rules_write(const OpFile *file, const OpDecl *op, GlowText *out);

/* gen_hooks.c: whether it has a reference kernel. */
bool op_has_kernel(const OpDecl *op);

/* gen_docs.c: the section of one operator, as the page of operators has it. */
void docs_op(const OpDecl *op, GlowText *out);

/* gen_scalar.c: the kinds that have scalar bodies, and how a body reads and writes their elements.
 */
typedef struct ScalarKind {
  GlowKind kind;
  const char *compute, *stored;
  const char *load, *store; /* conversions of elements, "" if none */
  bool broadcast_paths;     /* also loops with a constant operand: the kinds that networks use */
} ScalarKind;
enum { NSCALAR_KINDS = 14 };
extern const ScalarKind scalar_kinds[NSCALAR_KINDS];
/* The row whose scalar function computes row k: float's for the 16-bit floats. */
int scalar_compute_row(int k);
/* The kinds an operator's rows are keyed by: its first type variable's, with float for quantized
 * ones, or its fixed kind. */
GlowKindSet scalar_row_kinds(const OpDecl *op);
/* gen_vector.c: whether there is a function on lanes for row k. */
bool op_has_lanes(const OpDecl *op, int k);
/* The names of all functions on lanes by their numbers, from 1 on. */
typedef GLOW_VEC(GlowStr) LaneNames;
LaneNames lane_names(const OpFile *file);
uint32_t lane_number(const LaneNames *all, GlowStr name);
/* Parts of ops.c: the numbers of an operator's functions by kind; all names. */
void table_lanes(const OpFile *file, const OpDecl *op, const LaneNames *all, GlowText *out);
void table_lane_names(const LaneNames *all, GlowText *out);
/* The kind row of a port when the operator is keyed by row k. Every type variable is taken as
 * the first: the caller converts (Pow's exponent). */
int scalar_port_row(const PortDecl *p, int k);

/* gen_expand.c: writes the rule that op's scalar body gives, static bool expand_<op>, if `out` is
 * not NULL. False if it gives none: op is a primitive, or needs functions that are no operators. */
bool expand_rule(const OpFile *file, const OpDecl *op, GlowText *out);

/* The first operand of the type variable that the body is keyed by. */
uint32_t expand_key(const OpDecl *op);

/* The operator whose body is this call of its operands in order; NULL if there is none. */
const OpDecl *find_call(const OpFile *file, const char *name, uint32_t nargs);

/* functions.c: adds the functions and macros of a header. */
void functions_add(OpFile *file, const char *text);
/* The function if it can be made into nodes, else NULL. */
MathFunction *math_function(const OpFile *file, const char *name);
/* The name glow_f if the macro stands for glow_f and glow_ff, and both can be; else NULL. */
const char *math_call(const OpFile *file, const char *macro);
void math_need(MathFunction *f);
/* Writes those that are needed, static GlowValue *build_<function>, in an order that compiles. */
void functions_write(const OpFile *file, GlowText *out);

/* GLOW_<ENUM>_<VALUE>. */
GlowStr enum_value(const OpFile *file, const EnumDecl *e, GlowStr value);
/* One line that says that the file is generated. */
void gen_head(GlowText *out, const char *what);
/* The C type of a member's element. */
const char *member_c_type(GlowMemberType type);

#endif
