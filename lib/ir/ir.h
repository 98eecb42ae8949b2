/* The IR: one form in memory for both levels.
 *
 *   GlowModule
 *     storage   placeholder, variable, constant: @name
 *     function  func (graph level), program (instruction level), gradient (a declaration)
 *       block   ordered list of nodes; list order = text order = execution order
 *         node  operands (uses), results (values), regions (blocks), members, a predicate
 *
 * A value knows its uses (intrusive lists), so replacing it is O(uses). Ids grow and order
 * everything that needs an order; hash tables are never iterated. Nodes of a program are called
 * instructions: their first `nouts` operands are buffers they write. Everything lives in the
 * module's arena and goes with the module. */
#ifndef GLOW_IR_IR_H
#define GLOW_IR_IR_H

#include "ops/op.h"
#include "support/diag.h"
#include "support/map.h"
#include "tensor/blob.h"
#include "tensor/tensor.h"

typedef struct GlowModule GlowModule;
typedef struct GlowStorage GlowStorage;
typedef struct GlowFunction GlowFunction;
typedef struct GlowBlock GlowBlock;
typedef struct GlowNode GlowNode;
typedef struct GlowValue GlowValue;
typedef struct GlowUse GlowUse;

#define GLOW_IR_VERSION 1 /* of the language; `version = 1` in texts */

typedef enum GlowLevel { GLOW_LEVEL_GRAPH, GLOW_LEVEL_PROGRAM } GlowLevel;
typedef enum GlowQual { GLOW_QUAL_NONE, GLOW_QUAL_IN, GLOW_QUAL_OUT, GLOW_QUAL_INOUT } GlowQual;

typedef enum GlowValueKind {
  GLOW_VALUE_RESULT, /* of a node; also of alloc and tensorview */
  GLOW_VALUE_PARAM,  /* of a block */
  GLOW_VALUE_STORAGE
} GlowValueKind;

struct GlowValue {
  GlowValueKind kind;
  uint32_t id;
  uint32_t index;       /* which result or parameter */
  const GlowType *type; /* never NULL; the error type after a reported error */
  GlowStr name;  /* without sigil; NULL for an unused result printed as `_` or not yet named */
  GlowUse *uses; /* head of the list of uses */
  union {
    GlowNode *node;
    GlowBlock *block;
    GlowStorage *storage;
  } def;
};

struct GlowUse {
  GlowValue *value; /* NULL: `none` */
  GlowNode *user;
  GlowUse *next, *prev; /* other uses of value */
  GlowQual qual;        /* instructions only */
};

/* What `loc(...)` says: where a node came from before it was text. */
typedef struct GlowOrigin {
  GlowStr file;
  GlowStr name; /* loc("file":"name"); NULL for loc("file":line:col) */
  uint32_t line, col;
} GlowOrigin;

struct GlowNode {
  GlowOp op;
  uint32_t id;
  GlowBlock *block; /* NULL while detached */
  GlowNode *prev, *next;
  uint32_t noperands; /* graph: inputs. instructions: nouts outputs, then inputs, then extras */
  uint32_t nouts;     /* instructions only, else 0 */
  uint32_t nextra;    /* operands after the inputs that the epilogue or stack body consumes */
  uint32_t nresults, nregions;
  uint32_t shards; /* instructions: at most so many pieces for threads; 0: not decided */
  GlowUse *operands;
  GlowUse pred;        /* value NULL: none */
  GlowValue *results;  /* an array; addresses are stable */
  GlowBlock **regions; /* by region port, NULL if absent; an epilogue or scalar body is last */
  void *members;       /* the generated struct of op, or NULL if it has none */
  GlowOrigin *origin;  /* NULL: none */
  GlowLoc src;         /* place of the node's text; line 0 if it was not parsed */
  void *scratch;       /* for the running pass; garbage between passes */
  uint32_t order;      /* position in a pre-order walk; valid after glow_function_number */
};

typedef enum GlowBlockOwner {
  GLOW_BLOCK_FUNCTION,
  GLOW_BLOCK_REGION,
  GLOW_BLOCK_EVAL
} GlowBlockOwner;

struct GlowBlock {
  GlowBlockOwner owner;
  union {
    GlowFunction *function;
    GlowNode *node;
    GlowStorage *storage;
  } of;
  GlowLevel level;
  bool scalar;            /* ^r(...) = { }: a scalar body in node syntax; captures nothing */
  GlowStr label;          /* region name without ^: "then", "body", "epilogue" */
  GlowNode *first, *last; /* the last one is a terminator, if the block has one */
  uint32_t nparams;
  GlowValue **params;
  struct GlowNames *names; /* name space of the enclosing function, eval block or scalar body */
  GlowModule *module;
};

typedef enum GlowStorageClass { GLOW_PLACEHOLDER, GLOW_VARIABLE, GLOW_CONSTANT } GlowStorageClass;
typedef enum GlowInitKind {
  GLOW_INIT_NONE,
  GLOW_INIT_SPLAT,
  GLOW_INIT_LIST,
  GLOW_INIT_RANDOM,
  GLOW_INIT_RESOURCE,
  GLOW_INIT_EVAL,
  GLOW_INIT_PAYLOAD,
  GLOW_INIT_ELIDED /* printed for reading only; parses, verifies, refuses to run */
} GlowInitKind;

typedef struct GlowInit {
  GlowInitKind kind;
  GlowScalar splat;
  const GlowTensor *tensor; /* LIST, and RESOURCE and PAYLOAD once resolved (borrowed) */
  GlowRandom random;
  GlowStr file, key; /* RESOURCE: the file as written, the key in it; PAYLOAD: the key */
  GlowBlock *eval;
} GlowInit;

struct GlowStorage {
  GlowValue value; /* kind GLOW_VALUE_STORAGE; its name, type and uses */
  GlowStorageClass cls;
  GlowInit init;
  GlowOrigin *origin;
  GlowLoc src;
  GlowStorage *prev, *next;
  GlowModule *module;
};

typedef enum GlowFunctionKind { GLOW_FUNC, GLOW_PROGRAM, GLOW_GRADIENT } GlowFunctionKind;

/* A reference in a gradient declaration: a parameter or storage by name, or a result by index. */
typedef struct GlowGradientRef {
  GlowStr name; /* NULL: by index */
  bool is_storage;
  uint32_t index;
} GlowGradientRef;

struct GlowFunction {
  GlowFunctionKind kind;
  GlowStr name;
  GlowBlock *body;  /* params included; GRADIENT: no nodes */
  bool has_results; /* a signature `-> (...)` was written */
  uint32_t nresults;
  const GlowType **results;
  GlowStr *result_names; /* as written; NULL or an entry NULL: see glow_function_result_names */
  GlowStr device;        /* with {device = "..."}; NULL if absent */
  int64_t arena, align;  /* with {arena = n, align = n}, in bytes; -1 if absent */
  bool inline_always;    /* with {inline = true} */
  /* GRADIENT: the clauses of gradient @g of @primal from ... wrt ... keeping ... seedable, or
   * forward */
  GlowStr primal;
  GlowGradientRef *from, *wrt, *keeping;
  uint32_t nfrom, nwrt, nkeeping;
  bool seedable;
  bool forward; /* derivatives along tangents, which are further parameters */
  GlowLoc src;
  GlowFunction *prev, *next;
  GlowModule *module;
};

typedef GLOW_VEC(const GlowExtent *) GlowExtents;

struct GlowModule {
  GlowContext *ctx;
  GlowArena *arena;
  GlowModule *older, *newer; /* other modules of the context */
  GlowStr name;              /* NULL if there is no module line */
  int64_t version;           /* -1 if absent */
  GlowStr target, base, producer;
  GlowLoc src;         /* of the module line; no line if there is none */
  GlowExtents extents; /* symbols with ranges, in the order of the text; no two with one name */
  GlowStorage *first_storage, *last_storage;
  GlowFunction *first_function, *last_function;
  struct GlowNames *names;     /* storage */
  struct GlowNames *functions; /* functions by name */
  uint32_t next_id;
  GlowStr path_dir; /* relative paths of resources start from this folder */
  bool elided;      /* some initializer is elided */
  bool broken;      /* a call of the public builder failed */
};

/* ---- Modules --------------------------------------------------------------------------------- */
GlowModule *glow_module_create(GlowContext *ctx, GlowStr name);
void glow_module_destroy(GlowModule *m);
/* A deep copy in the same context: same names, new ids. */
GlowModule *glow_module_clone(const GlowModule *m);
GlowStorage *glow_module_storage(const GlowModule *m, GlowStr name);   /* NULL if none */
GlowFunction *glow_module_function(const GlowModule *m, GlowStr name); /* NULL if none */
/* The range that the module declares for a symbol; NULL: none. */
const GlowExtent *glow_module_extent(const GlowModule *m, GlowStr symbol);
/* Declares the ranges in a type, or of a symbol, that are not declared yet. */
void glow_module_add_extents(GlowModule *m, const GlowType *t);
void glow_module_add_extent(GlowModule *m, const GlowExtent *e);
/* The declared symbols, and those that types have from inference. The list lies in `arena`. */
GlowExtents glow_module_extents(const GlowModule *m, GlowArena *arena);
/* The functions to run, funcs and programs: those that no function calls and that are for no
 * device; if there are none, those for a device; else all. The list lies in `arena`. */
typedef GLOW_VEC(GlowFunction *) GlowFunctions;
GlowFunctions glow_module_entries(const GlowModule *m, GlowArena *arena);
/* The function to run. With `name` (--entry): the function of that name. Without: the only one of
 * glow_module_entries. NULL after a diagnostic. */
GlowFunction *glow_module_entry(const GlowModule *m, const char *name);
bool glow_module_has_level(const GlowModule *m, GlowLevel level);

/* ---- Storage and functions ------------------------------------------------------------------- */
/* Appends. The name is made unique by a numbered suffix if it is taken. */
GlowStorage *glow_storage_create(GlowModule *m, GlowStorageClass cls, GlowStr name,
                                 const GlowType *type, GlowInit init);
/* Moves s to stand before `before` (NULL: last): an eval block may only use earlier storage. */
void glow_storage_move(GlowStorage *s, GlowStorage *before);
void glow_storage_remove(GlowStorage *s); /* must be unused */
/* Makes its initializer a splat of 0: the value is somewhere else. */
void glow_storage_drop_initializer(GlowStorage *s);
GlowFunction *glow_function_create(GlowModule *m, GlowFunctionKind kind, GlowStr name);
void glow_function_remove(GlowFunction *f);
/* Sets *rows to the first extent that a variable that grows has after f, and returns the node that
 * says so, a Save or set_rows. NULL: f leaves the rows as they are. */
const GlowNode *glow_function_rows(const GlowFunction *f, const GlowValue *variable, GlowDim *rows);
/* Puts `new_one` into the module's list in place of `old_one`: a program takes the place of its
 * func. */
void glow_function_replace(GlowFunction *old_one, GlowFunction *new_one);
/* Numbers nodes (order) in pre-order over all regions; returns how many. */
uint32_t glow_function_number(GlowFunction *f);

/* The names by which callers know the results of f, in `arena`. A result has the name in the
 * signature; without one, the name of the returned value; if that is a number, or the name of a
 * parameter, an earlier result, a placeholder or a variable, then the next free number, at least
 * the result's position. */
const GlowStr *glow_function_result_names(const GlowFunction *f, GlowArena *arena);
/* Writes these names into the signature, so that they stay when passes replace the returned
 * values. A gradient declaration stays as it is: what it becomes has values to name results by. */
void glow_function_keep_result_names(GlowFunction *f);
/* Whether a text must show the names in the signature, since they do not follow from the body. */
bool glow_function_shows_result_names(const GlowFunction *f);

/* ---- Blocks and values ----------------------------------------------------------------------- */
/* A new block. The caller attaches it to its node or storage. `names` is the name space of the
 * enclosing function for a region of control flow; NULL gives the block a name space of its own. */
GlowBlock *glow_block_create(GlowModule *m, GlowLevel level, struct GlowNames *names,
                             GlowStr label);
GlowValue *glow_block_add_param(GlowBlock *b, GlowStr name, const GlowType *type);
void glow_block_remove_param(GlowBlock *b, uint32_t i); /* must be unused */
/* The terminator's operands: what the block yields or returns. NULL if it has no terminator. */
GlowNode *glow_block_terminator(const GlowBlock *b);
GlowFunction *glow_block_function(const GlowBlock *b); /* NULL inside an eval initializer */
GlowBlock *glow_block_parent(const GlowBlock *b); /* the enclosing block of a region, or NULL */
/* Calls fn for each node in b and its regions, a node before its regions; fn may remove or replace
 * the node it is given. Stops when fn returns false. */
bool glow_block_walk(GlowBlock *b, bool (*fn)(GlowNode *node, void *arg), void *arg);

void glow_value_replace_uses(GlowValue *old_one, GlowValue *new_one); /* names stay */
/* Gives the value the name `wanted`. If that is taken, a suffix .N is added, in place of an earlier
 * suffix. NULL picks the next free number. */
void glow_value_set_name(GlowValue *v, GlowStr wanted);
uint32_t glow_value_use_count(const GlowValue *v);
GlowBlock *glow_value_block(const GlowValue *v); /* where it is defined; NULL for storage */
GlowLoc glow_value_loc(const GlowValue *v);
void glow_use_set(GlowUse *use, GlowValue *value); /* moves the use to another value or none */
/* Makes `value` input i of a graph node; optional inputs before i stay as they are, or absent. The
 * uses of the node's operands may get other addresses. */
void glow_node_set_in(GlowNode *n, uint32_t i, GlowValue *value);

/* The value of a constant of at most GLOW_MAX_FOLDED_BYTES, for inference: that of a splat or list,
 * or of a resource or payload of integers or booleans; never that of eval. Else NULL. The tensor
 * lives as long as the context. */
const GlowTensor *glow_value_known(const GlowValue *v);

/* ---- Nodes ----------------------------------------------------------------------------------- */
typedef struct GlowBuilder {
  GlowModule *module;
  GlowBlock *block;
  GlowNode *before; /* insert before this node; NULL: at the end (before a terminator) */
  GlowLoc src;      /* given to new nodes */
  GlowOrigin *origin;
  GlowValue *pred;
} GlowBuilder;

/* A builder that inserts before n. New nodes have the location and the origin of n, and the
 * predicate of n if that is a bool<>. */
GlowBuilder glow_builder_before(GlowNode *n);
GlowBuilder glow_builder_at_end(GlowBlock *b);

typedef struct GlowNodeSpec {
  GlowOp op;
  GlowValue *const *ins; /* NULL entries: none */
  uint32_t nins;
  GlowValue *const *outs; /* instructions: buffers written; NULL entries: none */
  uint32_t nouts;
  GlowValue *const *extras;
  uint32_t nextra;
  const void *members; /* NULL: the defaults; copied; arrays inside must live in the module's arena
                          (glow_array_*) */
  uint32_t shards;     /* instructions; 0: open */
  GlowBlock *const *regions;
  uint32_t nregions;
  uint32_t nresults; /* results wanted; 0: those that are neither optional nor variadic */
  const GlowType *const *types; /* claims, NULL or NULL entries: inferred */
  const GlowStr *names; /* of the results; NULL: numbered. An entry NULL: `_` if `discard` */
  bool discard_unnamed;
} GlowNodeSpec;

/* Creates and inserts a node: checks counts, infers and checks result types. Returns NULL after a
 * diagnostic at builder->src (or origin) if the operands, members or claims do not fit. */
GlowNode *glow_node_create(GlowBuilder *b, const GlowNodeSpec *spec);
/* Shorthands: inputs from an array, members (may be NULL), result 0 named `name` (may be NULL). */
GlowNode *glow_build(GlowBuilder *b, GlowOp op, GlowValue *const *ins, uint32_t nins,
                     const void *members, GlowStr name);
GlowValue *glow_build1(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members, GlowStr name);
GlowValue *glow_build2(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y, const void *members,
                       GlowStr name);
/* Instruction with nouts outputs, nins inputs, no regions. */
GlowNode *glow_build_instr(GlowBuilder *b, GlowOp op, GlowValue *const *outs, uint32_t nouts,
                           GlowValue *const *ins, uint32_t nins, const void *members);
GlowNode *glow_build_terminator(GlowBlock *b, GlowOp op, GlowValue *const *values, uint32_t count);

/* A value of type `type` that is never computed: the run ends with the error `message` (Fail). */
GlowValue *glow_build_fail(GlowBuilder *b, GlowStr message, const GlowType *type);

/* Member arrays for a spec. */
GlowArray glow_array_u32(GlowModule *m, const uint32_t *data, uint32_t count);
GlowArray glow_array_i64(GlowModule *m, const int64_t *data, uint32_t count);
GlowArray glow_array_sizes(GlowModule *m, const GlowSize *data, uint32_t count);
/* A member of type `size`, and the extent that it is. */
static inline GlowSize glow_size(GlowDim d) { return (GlowSize){d.size, d.extent}; }
static inline GlowDim glow_size_dim(GlowSize s) {
  return s.extent ? glow_dim_ranged(s.extent) : GLOW_EXACT(s.size);
}

/* Copies n with its regions to the builder's place. An operand with an entry in `map` becomes the
 * value of the entry; other operands stay. The results of n get entries. */
GlowNode *glow_node_clone(GlowBuilder *b, const GlowNode *n, GlowMap *map);
/* For copies into another block: results whose names are only numbers are numbered anew. */
void glow_node_renumber(GlowNode *n);
/* Whether a name was given by counting: 7, or 7.1. */
bool glow_name_is_number(GlowStr name);

/* Members of an operator, compared and hashed field by field (arrays by content). The hash depends
 * on no address. */
bool glow_members_equal(const GlowOpDesc *d, const void *a, const void *b);
uint64_t glow_members_hash(const GlowOpDesc *d, const void *members);
/* Copies members field by field; the items of arrays are copied into the arena. */
void glow_members_copy(GlowArena *arena, const GlowOpDesc *d, void *to, const void *from);
/* Calls fn for every item of the members of type `size`. fn may change the item. */
void glow_node_sizes(const GlowNode *n, void (*fn)(void *arg, GlowSize *size), void *arg);
/* For one member: the bytes of one item; whether items are text; whether the member in `members`
 * has its default (never, if it is required). */
size_t glow_member_size(const GlowMember *m);
bool glow_member_is_text(const GlowMember *m);
bool glow_member_is_default(const GlowMember *m, const void *members);

/* Computes the signature of a gradient declaration from its clauses, or checks the one it has. The
 * clauses (primal, from, wrt, ...) must be set; the primal may be declared later in the module.
 * False after a diagnostic. */
bool glow_gradient_signature(GlowFunction *g);

/* Removes a node whose results have no uses. */
void glow_node_remove(GlowNode *n);
void glow_block_clear(GlowBlock *b); /* removes all nodes, which nothing outside uses */
/* Replaces every result of n by values[i] (NULL for an unused result) and removes n. A new value
 * takes the old name if its own is only a number; its node takes origin and src of n if it has
 * none. */
void glow_node_replace(GlowNode *n, GlowValue *const *values, uint32_t count);
void glow_node_move_before(GlowNode *n, GlowNode *before);
GlowNode *glow_next_in_walk(GlowNode *n);

static inline const GlowOpDesc *glow_node_desc(const GlowNode *n) { return &glow_op_desc[n->op]; }
/* What n is between quantized values, by the description of its operator and n's own members and
 * operands. */
GlowQuantForm glow_node_quant_form(const GlowNode *n);
/* The number of inputs, at either level: operands without outputs and extras. */
static inline uint32_t glow_node_nins(const GlowNode *n) {
  return n->noperands - n->nouts - n->nextra;
}
/* The value at input i, at either level; NULL if there is none. */
static inline GlowValue *glow_node_in(const GlowNode *n, uint32_t i) {
  return i < glow_node_nins(n) ? n->operands[n->nouts + i].value : NULL;
}
static inline bool glow_node_is_instr(const GlowNode *n) {
  return n->block && n->block->level == GLOW_LEVEL_PROGRAM;
}
/* Result i of a node, or the buffer that output i of an instruction writes; NULL if none. */
static inline GlowValue *glow_node_out(const GlowNode *n, uint32_t i) {
  return n->nouts ? (i < n->nouts ? n->operands[i].value : NULL)
                  : (i < n->nresults ? (GlowValue *)&n->results[i] : NULL);
}
GlowBlock *glow_node_region(const GlowNode *n, const char *label); /* NULL if absent */
GlowBlock *glow_node_epilogue(const GlowNode *n);                  /* ^epilogue or scalar ^body */
/* The place for messages about n: its text, else its origin. */
GlowLoc glow_node_loc(const GlowNode *n);
bool glow_node_is(const GlowNode *n, GlowOp op);
/* The node that defines v, if its operator is `op`; else NULL. */
GlowNode *glow_value_def(const GlowValue *v, GlowOp op);

/* ---- Places in memory ------------------------------------------------------------------------ */
/* The elements that a buffer or view can reach: physical elements [low, high) of `root`, the alloc,
 * storage or parameter behind it. */
typedef struct GlowSpan {
  const GlowValue *root;
  int64_t low, high;
  bool open; /* they begin where symbols say, somewhere in [low, high) */
} GlowSpan;
GlowSpan glow_value_span(const GlowValue *v);
bool glow_spans_overlap(GlowSpan a, GlowSpan b);
/* Whether v is a view whose elements are not contiguous and in order. */
bool glow_value_is_strided(const GlowValue *v);
/* Whether the buffer of output `out` may be that of input `in`: the instruction works in place. */
bool glow_instr_may_share(const GlowNode *n, uint32_t out, uint32_t in);

/* ---- Text ------------------------------------------------------------------------------------ */
/* Parses a text: `data[size]` must be NUL; data must outlive the context (payload borrows it).
 * Resolves resources relative to the module's base or `name`'s folder. Reports errors and goes on;
 * returns NULL if there was any. Does not verify. */
GlowModule *glow_module_parse(GlowContext *ctx, const char *name, const char *data, size_t size);
/* True if the bytes look like one of our texts rather than a binary format. */
bool glow_text_is_module(const char *data, size_t size);

/* The operator, or instruction, whose name is near `word`; NULL if none is. */
const char *glow_op_nearest(const char *word, bool instr);

/* Parsers for pieces of text, for callers that build modules by hand. `what` is the name of the
 * text in diagnostics. The text is copied. This one reads a type; NULL after a diagnostic. */
const GlowType *glow_type_parse(GlowModule *m, const char *what, const char *text);
/* Declares a symbol as the text does: '$N : 1..512', '$M = $N * 2'. False after a diagnostic. */
bool glow_extent_declare(GlowModule *m, const char *what, const char *text);
/* Reads the part after `=` in the declaration of a variable or constant of this type; eval and
 * payload are not allowed. */
bool glow_init_parse(GlowModule *m, const char *what, const char *text, const GlowType *type,
                     GlowInit *init);
/* Reads the part between the braces of a node or instruction. `members` and *shards hold the
 * defaults and are changed where the text says so. Arrays live in the module's arena. */
bool glow_members_parse(GlowModule *m, const char *what, GlowOp op, bool instr, const char *text,
                        void *members, uint32_t *shards);

typedef struct GlowPrintOptions {
  /* The folder that paths of resources are made relative to; NULL: absolute, with base. */
  const char *relative_to;
  bool elide_constants;
  bool no_payload; /* print a comment in place of the payload bytes: for dumps on stderr */
  /* Whether to print a function. NULL: print all functions, the header and the storage. */
  bool (*shows)(const GlowFunction *f, const void *user);
  const void *user;
} GlowPrintOptions;
void glow_module_print(const GlowModule *m, GlowText *out, const GlowPrintOptions *options);
/* Printers of pieces: `%name` or `@name`, quoted where the lexer needs it; one statement without
 * regions and location; the part of a function before its body. */
void glow_print_name(GlowText *out, char sigil, GlowStr name);
void glow_node_print(GlowText *out, const GlowNode *n);
void glow_function_print_head(GlowText *out, const GlowFunction *f);
/* ` {strides = [2, 2]}`: the members that differ from their defaults; nothing if none does. */
void glow_node_print_members(GlowText *out, const GlowNode *n);
/* True if printing will append payload bytes. */
bool glow_module_has_payload(const GlowModule *m);

/* ---- Verifier -------------------------------------------------------------------------------- */
/* Checks every rule of LangRef; reports all violations. Returns true if there was none. */
bool glow_module_verify(GlowModule *m);
/* parse(print(m)) == m: prints, parses, prints again, compares; reports the first difference. */
bool glow_module_verify_roundtrip(GlowModule *m);
/* Structural equality used by it and by tests: same text, same bits of constants. */
bool glow_module_equal(const GlowModule *a, const GlowModule *b);

#endif
