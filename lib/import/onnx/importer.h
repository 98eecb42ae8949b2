/* The inside of the importer: what its files share, and what hooks use.
 *
 * A graph is read in a scope, which maps the model's value names to values. Subgraphs become
 * regions whose scopes lie in the outer one; model-local functions are inlined, each call in a
 * scope of its own. A node whose operands failed is skipped and its results are failed too, so that
 * one mistake gives one message. */
#ifndef GLOW_IMPORT_ONNX_IMPORTER_H
#define GLOW_IMPORT_ONNX_IMPORTER_H

#include "import/onnx/index.h"
#include "import/onnx/map.h"
#include "import/onnx/onnx.h"
#include "tensor/binds.h"

typedef struct GlowOnnxScope GlowOnnxScope;

/* One kind of thing that is not supported, for the report at the end. */
typedef struct GlowOnnxGap {
  GlowStr domain, op, why, first; /* first: label of the first node */
  unsigned version;               /* 0: not known */
  size_t count;
} GlowOnnxGap;

/* The state of a random node on its way through a region: its variable, `outer` that flows into the
 * region, `in` that the region reads, and `next` that the region hands on. At the top level only
 * `variable` and `next` count. */
typedef struct GlowOnnxState {
  GlowStorage *variable;
  GlowValue *outer, *in, *next;
} GlowOnnxState;

typedef enum GlowOnnxRegionKind {
  GLOW_ONNX_REGION_TOP,
  GLOW_ONNX_REGION_BRANCH, /* of If: reads outer values */
  GLOW_ONNX_REGION_LOOP,   /* gets states as parameters behind its own */
  GLOW_ONNX_REGION_SCAN    /* has no room for states */
} GlowOnnxRegionKind;

/* A region under construction; the function's body is the outermost one. */
typedef struct GlowOnnxRegion {
  struct GlowOnnxRegion *outer;
  GlowOnnxRegionKind kind;
  GlowBlock *block;
  GLOW_VEC(GlowOnnxState) states;
} GlowOnnxRegion;

typedef struct GlowOnnxImporter {
  GlowContext *ctx;
  GlowWireFile file;
  GlowArena *arena; /* released after the import */
  GlowModule *m;
  GlowFunction *func;
  GlowBlob *blob;     /* of the model file; NULL for a model from a pipe */
  const char *folder; /* of external data, if the bytes are no file */
  bool quiet, training;
  bool differs; /* some node is read otherwise for training */
  GlowOnnxModel model;
  GlowMap *functions;         /* "domain:name:overload" -> GlowOnnxFunction */
  GlowMap *visited;           /* functions that the survey has seen, as keys */
  GlowMap *rows;              /* operator name -> index of its first row, plus 1 */
  uint32_t *next_row;         /* the next row of the same name, plus 1 */
  GlowMap *gap_index;         /* key of a gap -> its index, plus 1 */
  GLOW_VEC(GlowOnnxGap) gaps; /* at most GLOW_MAX_GAPS */
  size_t unlisted;            /* nodes found once the list is full */
  GlowBinds binds;            /* dimensions that the model leaves open */
  GlowOnnxRegion top;         /* its states are saved at the end of the function */
  GlowOnnxScope *scope;       /* of the model's graph */
  GlowMap *outputs;           /* names of the graph's outputs, as keys */
  GlowMap *claims;            /* names of the graph's outputs -> declared types, or NULL */
  uint32_t nrandom;
  uint32_t contradictions; /* nodes that inference refused, each with an error */
  size_t inlined_cost;     /* of nodes from function bodies, in bytes */
  bool closed_inputs;      /* no input has an open dimension */
  GlowOnnxUses *uses;      /* of a pre-flight report, or NULL */
  GlowMap *use_index;      /* "domain:op:version" -> GlowOnnxUse */
} GlowOnnxImporter;

struct GlowOnnxScope {
  GlowOnnxScope *outer; /* whose values may be used; NULL for the graph and for function bodies */
  GlowMap *values;      /* name -> GlowValue, &glow_onnx_failed or &glow_onnx_absent */
  GlowMap *opsets;      /* domain -> version */
  GlowBlock *block;
  const GlowWireList *nodes; /* of this graph or function body */
  GlowStr path;              /* prefix of the keys of its tensors */
  GlowStr prefix;            /* of value names and locations: the calls that led here, "call/" */
  const GlowOnnxNode *call;  /* the node whose function body this is, or NULL */
  const GlowOnnxFunction *function;
  GlowOnnxRegion *region;  /* the innermost one around */
  unsigned regions, calls; /* nesting */
};
extern GlowValue glow_onnx_failed; /* a value whose node failed */
extern GlowValue glow_onnx_absent; /* an optional input of a function that is not given */

/* An attribute, after references to attributes of the calling node are resolved. */
typedef struct GlowOnnxAttr {
  GlowStr name;
  GlowWireSpan span;    /* of its AttributeProto */
  GlowOnnxScope *scope; /* where names in its graph are looked up */
  GlowStr path;         /* node label and attribute, for keys of tensors in its graph */
  bool used;
} GlowOnnxAttr;

/* A node of the model on its way to nodes of the module. */
struct GlowOnnxNode {
  GlowOnnxImporter *im;
  GlowOnnxScope *scope;
  const GlowOnnxRow *row;
  GlowOnnxNodeProto proto;
  GlowStr op, domain;
  GlowStr label;    /* its name or OP_N, after the calls that led here */
  uint16_t version; /* of the operator's definition in force */
  GlowLoc loc;
  GlowBuilder b;        /* where the node's own nodes are built */
  uint32_t nins, nouts; /* without absent ones at the end */
  GlowValue **ins;      /* NULL: absent */
  GlowStr *outs;        /* names for the module; NULL: not wanted */
  GlowValue **results;  /* to fill by the rule, for every outs that is not NULL */
  uint32_t nattrs;
  GlowOnnxAttr *attrs;
};

/* ---- Types (types.c) ------------------------------------------------------------------------ */
/* A TypeProto as a type; open dimensions are `?`, a shape that is not given means any rank. NULL
 * after a diagnostic that begins with `what`. */
const GlowType *glow_onnx_read_type(GlowOnnxImporter *im, GlowWireSpan span, GlowLoc loc,
                                    const char *what);
/* The types of the model's inputs: open dimensions of tensors become symbols, bound as the options
 * say. `names` and `types` (TypeProtos) have `count` entries; failed ones stay NULL. */
void glow_onnx_input_types(GlowOnnxImporter *im, const GlowOnnxOptions *o, const GlowStr *names,
                           const GlowWireSpan *protos, uint32_t count, const GlowType **types);

/* ---- Graphs and nodes (graph.c, node.c, survey.c) ------------------------------------------- */
/* Reads the whole graph into im->func. */
void glow_onnx_main_graph(GlowOnnxImporter *im, const GlowOnnxOptions *o);
/* Saves the states that random nodes, and running statistics, have at the end of im->func. */
void glow_onnx_save_states(GlowOnnxImporter *im);
/* Reads the model's training information: each step as a func @train (training_info.c). */
void glow_onnx_training_info(GlowOnnxImporter *im, const GlowOnnxOptions *o);
/* Reads the model once more as func @infer, without im->training, after its graph. */
void glow_onnx_inference_form(GlowOnnxImporter *im);
/* Makes the initializers of a graph constants. */
void glow_onnx_initializers(GlowOnnxImporter *im, GlowOnnxScope *scope, const GlowOnnxGraph *graph);
/* Reads the nodes of a list in order. */
void glow_onnx_nodes(GlowOnnxImporter *im, GlowOnnxScope *scope, const GlowWireList *nodes);
GlowOnnxScope *glow_onnx_scope(GlowOnnxImporter *im, GlowOnnxScope *outer);
/* The value called `name` here or further out; NULL if there is none. */
GlowValue *glow_onnx_find(const GlowOnnxScope *scope, GlowStr name);
/* Gives a name to a value; false after a diagnostic if the scope has it already. */
bool glow_onnx_define(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowStr name, GlowValue *v,
                      GlowLoc loc);
/* A constant from a TensorProto; `name` is the storage's, `key` the tensor's name for resources. */
GlowValue *glow_onnx_constant_from(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowWireSpan tensor,
                                   GlowStr name, GlowLoc loc, const char *what);
/* Reads one node. */
void glow_onnx_node(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowWireSpan span, uint32_t index);

/* The row for an operator under the opsets of a scope, and the version of its definition. NULL if
 * it has none; then *why says why. */
const GlowOnnxRow *glow_onnx_row(GlowOnnxImporter *im, const GlowMap *opsets, GlowStr domain,
                                 GlowStr op, uint16_t *version, GlowStr *why);
void glow_onnx_index_functions(GlowOnnxImporter *im);
const GlowOnnxFunction *glow_onnx_local_function(GlowOnnxImporter *im, GlowStr domain, GlowStr name,
                                                 GlowStr overload);
GlowMap *glow_onnx_opsets(GlowOnnxImporter *im, const GlowWireList *imports, GlowLoc loc);
GlowStr glow_onnx_domain(GlowOnnxImporter *im, GlowWireSpan domain); /* "" for ai.onnx */
void glow_onnx_gap(GlowOnnxImporter *im, GlowOnnxGap gap);
/* For a pre-flight report. glow_onnx_count_use counts a node of the model; glow_onnx_note_built
 * notes how the nodes that were built behind `last` in n's block will run. */
void glow_onnx_count_use(GlowOnnxImporter *im, GlowStr domain, GlowStr op, unsigned version);
void glow_onnx_note_built(GlowOnnxNode *n, const GlowNode *last);
/* Moves the gaps from the list to the pre-flight report. */
void glow_onnx_note_gaps(GlowOnnxImporter *im);
void glow_onnx_report_gaps(GlowOnnxImporter *im);
/* Finds every operator that the table does not support, subgraphs and functions included. */
void glow_onnx_survey(GlowOnnxImporter *im, const GlowMap *opsets, const GlowWireList *nodes,
                      GlowStr prefix);

/* ---- For hooks (build.c, attrs.c) ----------------------------------------------------------- */
/* What n needs is not supported: it joins the report at the end of the import. Returns false. */
bool glow_onnx_unsupported(GlowOnnxNode *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports an error at n and returns false. */
bool glow_onnx_fail(GlowOnnxNode *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether n has at least `least` operands, none of these absent, and at most `most`. */
bool glow_onnx_check_ins(GlowOnnxNode *n, uint32_t least, uint32_t most);

/* Attributes. Each marks the attribute as used; what no rule uses is an error in the end. False
 * after a diagnostic if it has another type; an attribute that is absent leaves *value as it is. */
GlowOnnxAttr *glow_onnx_find_attr(GlowOnnxNode *n, const char *name); /* NULL if absent; not used */
bool glow_onnx_has(GlowOnnxNode *n, const char *name);
bool glow_onnx_int(GlowOnnxNode *n, const char *name, int64_t *value);
bool glow_onnx_bool(GlowOnnxNode *n, const char *name, bool *value);
bool glow_onnx_float(GlowOnnxNode *n, const char *name, float *value);
bool glow_onnx_string(GlowOnnxNode *n, const char *name, GlowStr *value);
bool glow_onnx_enum(GlowOnnxNode *n, const GlowEnumDesc *e, const char *name, int *value);
bool glow_onnx_kind(GlowOnnxNode *n, const char *name, GlowKind *value);
/* Arrays live in the module's arena. */
bool glow_onnx_ints(GlowOnnxNode *n, const char *name, GlowArray *value);    /* int64_t */
bool glow_onnx_u32s(GlowOnnxNode *n, const char *name, GlowArray *value);    /* uint32_t */
bool glow_onnx_strings(GlowOnnxNode *n, const char *name, GlowArray *value); /* GlowStr */
bool glow_onnx_floats(GlowOnnxNode *n, const char *name, GlowArray *value);  /* float */
/* Reads an attribute that is a graph, tensor or type into *a, and for graphs *attr; both are NULL
 * or 0 if the attribute is absent. */
bool glow_onnx_attribute(GlowOnnxNode *n, const char *name, GlowOnnxAttrType type,
                         GlowOnnxAttribute *a, GlowOnnxAttr **attr);
void glow_onnx_ignore(GlowOnnxNode *n, const char *name); /* known, and of no consequence here */

/* Nodes. An operand may be NULL, for none; trailing ones are dropped, i32 operands of i64 ports are
 * cast and those of scalar ports reshaped. NULL or false after a diagnostic. */
/* Any node: op, operands and the rest as in `spec`. */
GlowNode *glow_onnx_build(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                          GlowNodeSpec spec);
/* An intermediate node; result 0. */
GlowValue *glow_onnx_emit(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                          const void *members);
GlowValue *glow_onnx_emit1(GlowOnnxNode *n, GlowOp op, GlowValue *x, const void *members);
GlowValue *glow_onnx_emit2(GlowOnnxNode *n, GlowOp op, GlowValue *x, GlowValue *y,
                           const void *members);
/* The node that gives n's results their names. `regions` as its operator has them, or NULL. */
bool glow_onnx_finish(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                      const void *members, GlowBlock *const *regions, uint32_t nregions);
/* A node whose result 0 is n's result `index`. */
bool glow_onnx_result(GlowOnnxNode *n, uint32_t index, GlowOp op, GlowValue *const *ins,
                      uint32_t nins, const void *members);
bool glow_onnx_finish1(GlowOnnxNode *n, GlowOp op, GlowValue *x, const void *members);
bool glow_onnx_finish2(GlowOnnxNode *n, GlowOp op, GlowValue *x, GlowValue *y, const void *members);

/* Constants, named after n's first result and `tag`. */
GlowValue *glow_onnx_make_ints(GlowOnnxNode *n, const char *tag, const int64_t *values,
                               uint32_t count);
GlowValue *glow_onnx_make_scalar(GlowOnnxNode *n, const char *tag, GlowKind kind, double value);
GlowValue *glow_onnx_make_splat(GlowOnnxNode *n, const char *tag, const GlowType *type,
                                GlowScalar value);
/* A constant with the data of `t`, which lives in the module's arena, as n's only result. */
bool glow_onnx_constant_result(GlowOnnxNode *n, const GlowTensor *t);
/* The extents of v: a constant where they are known. */
GlowValue *glow_onnx_shape_of(GlowOnnxNode *n, GlowValue *v);
/* The name of something that belongs to n: "result.tag". */
GlowStr glow_onnx_part_name(const GlowOnnxNode *n, const char *tag);
/* v as rank 0, by a Reshape if need be. */
GlowValue *glow_onnx_rank0(GlowOnnxNode *n, GlowValue *v);
/* Warns where operand i is a constant with a number that is no usual scale. Numbers that only
 * multiply (`divides` is false) are usual unless they are NaN or infinite: weights have scales of 0
 * and negative ones. What is divided by a scale needs a positive, normal number. */
void glow_onnx_check_scale(GlowOnnxNode *n, uint32_t i, bool divides);
/* v as element kind `kind`, by a Cast if need be. */
GlowValue *glow_onnx_cast_to(GlowOnnxNode *n, GlowValue *v, GlowKind kind);

/* ---- Random numbers (hooks_random.c) -------------------------------------------------------- */
/* A new variable u64<2> for the state of a random node. The key comes from the seed, or from the
 * number of the node among its kind. */
GlowStorage *glow_onnx_random_state(GlowOnnxNode *n, bool seeded, uint64_t seed);
/* The state as n reads it: the variable, or the value that carries the state into n's region. NULL
 * after a diagnostic. */
GlowValue *glow_onnx_random_read(GlowOnnxNode *n, GlowStorage *variable);
/* Hands on `next`, the state after n: it is carried out of the regions around n and saved at the
 * end. */
void glow_onnx_random_write(GlowOnnxNode *n, GlowStorage *variable, GlowValue *next);
/* glow_onnx_finish for a node with regions: the states that they carry become results number `at`
 * and following, and go on from there. */
bool glow_onnx_finish_regions(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                              const void *members, GlowBlock *const *regions, uint32_t nregions,
                              uint32_t at, const GlowOnnxRegion *r);
/* The state of `variable` in a region, or NULL. */
GlowOnnxState *glow_onnx_region_state(const GlowOnnxRegion *r, const GlowStorage *variable);

#endif
