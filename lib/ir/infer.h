/* Shape inference. An operator has a simple rule or a hook of its own. Inference runs in three
 * situations: when a node is built or verified (extents may be unknown); when an instruction is
 * verified; and at run time, with exact types and known operand values, for the extents of results
 * that depend on data. */
#ifndef GLOW_IR_INFER_H
#define GLOW_IR_INFER_H

#include "ir/ir.h"

typedef struct GlowInfer {
  GlowContext *ctx;
  const GlowOpDesc *desc;
  const void *members;
  GlowLoc loc;
  uint32_t nin, nout;
  const GlowType *const *in;      /* NULL entries: absent operands */
  const GlowTensor *const *known; /* values of operands; NULL entries: unknown; NULL: all unknown */
  const GlowType **out;           /* to fill; an entry left NULL: the claim decides */
  const GlowNode *node;           /* for its regions; may be NULL at run time if op has none */
  const GlowType *const *claims;  /* types that the text or builder gives the results; or NULL */
  bool runtime;                   /* all types exact; a value that is still unknown is an error */
} GlowInfer;

/* Hooks: bool glow_infer_<op>(GlowInfer *in), declared by the generated ops/infer.h. They return
 * false after a diagnostic at in->loc. */

/* Infers by the operator's rule or hook. A quantized result takes scale and offset from its claim,
 * unless the operator only moves or selects elements. At run time every type in `out` that is a tensor is
 * bounded (exact but for DYNAMIC operators), and a claim replaces an entry that the operator leaves
 * NULL. */
bool glow_infer_run(GlowInfer *in);
/* Infers the result types of an existing node: from the types and known values of its operands and
 * from the present types of its results. `types` has room for all results (or outputs). */
bool glow_node_infer(const GlowNode *n, const GlowType **types);
/* Whether the operands, in[0] to in[count - 1] (NULL: absent), have kinds that a `narrow` clause
 * allows, so that the operator computes in i32; and the same of a node. */
bool glow_op_is_narrow(const GlowOpDesc *d, const GlowType *const *in, uint32_t count);
bool glow_node_is_narrow(const GlowNode *n);
/* Whether t is one of the kinds of a `stored` clause, of which a `verify` hook says more. */
bool glow_port_stores(const GlowOpPort *port, const GlowType *t);
/* Whether n is a product whose sums are chains in ascending order, or no MatMul: its strategy is
 * direct. */
bool glow_product_is_direct(const GlowNode *n);
/* Whether the operator's verify hook accepts n (true without a hook). The hook reports errors. */
bool glow_node_check_hook(const GlowNode *n);
/* Reports with the operator's name in front; returns false. */
bool glow_infer_error(const GlowInfer *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The type with the kind of types[0] and the dims of all types, broadcast as NumPy does; NULL
 * entries are skipped. Returns NULL and sets *error if the dims do not broadcast. */
const GlowType *glow_infer_broadcast(GlowInfer *in, const GlowType *const *types, uint32_t count,
                                     const char **error);
/* The values of operand i, of any integer kind, if they are known; else NULL. Sets *count. The
 * array is the tensor's own memory or lives in the context's arena. */
const int64_t *glow_infer_ints(const GlowInfer *in, uint32_t i, uint32_t *count);
enum { GLOW_MAX_SIZES = 16 };
/* The elements of v, a list or scalar of at most GLOW_MAX_SIZES, if they are numbers that follow
 * from types: exact extents, or what holds whatever symbols are, as that `$N + 1` is not 0. */
bool glow_value_numbers(const GlowValue *v, int64_t *numbers);
/* Sets *result to `axis`, counted from the end if negative. Reports and returns false if it is not
 * in [-rank, rank). */
bool glow_infer_axis(const GlowInfer *in, int64_t axis, uint32_t rank, uint32_t *result);

/* Hooks: int64_t glow_macs_<op>(const GlowNode *n), for contractions and the like: the number of
 * multiply-accumulates that one execution of n takes; -1 while extents are unknown. */

/* Whether n is a Convolution that pools the result of its epilogue before it stores it; *pool says
 * how. */
bool glow_node_pool(const GlowNode *n, GlowMaxPoolMembers *pool);
/* The type of the map that n's kernel computes and its epilogue transforms: the type of the first
 * output, or of the input of the pool if n pools. n has been verified. */
const GlowType *glow_node_map(const GlowNode *n);
/* The same if n pools, for these types of its inputs (NULL: an absent one): those of a run, say. */
const GlowType *glow_node_map_of(const GlowNode *n, const GlowType *const *in);

/* Verify hooks: bool glow_verify_<op>(const GlowNode *n): called after inference succeeded; they
 * report at glow_node_loc(n), with the operator's name in front. */
bool glow_verify_error(const GlowNode *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `verify same_kind(A, B)`: true if either value is absent. */
bool glow_verify_same_kind(const GlowNode *n, const GlowValue *a, const GlowValue *b);

#endif
