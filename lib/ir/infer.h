/* Shape inference: one hook per operator that has no simple rule, used three times: when a node is
 * built or verified (types may be open), when an instruction is verified, and at run time with
 * exact types and known operand values to size the results of data-dependent operators. */
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
  const GlowTensor *const *known; /* values known now, NULL entries if not; may itself be NULL */
  const GlowType **out;           /* to fill; an entry left NULL: free, the annotation decides */
  const GlowNode *node;           /* for regions; NULL at run time of operators without regions */
  const GlowType *const *claims;  /* annotations, or NULL */
  bool runtime;                   /* all types exact; a value that is still unknown is an error */
} GlowInfer;

/* Hooks: bool glow_infer_<op>(GlowInfer *in), declared by the generated ops/infer.h. They return
 * false after a diagnostic at in->loc. */

/* Infers by the operator's rule or hook. A quantized result of an operator that computes takes
 * scale and offset from its claim. At run time out entries are bounded tensor types (exact but for
 * DYNAMIC operators); the claim stands in where the operator leaves its result free. */
bool glow_infer_run(GlowInfer *in);
/* The same for an existing node, from its operands' types and known values and its results' claims;
 * types has room for all results. */
bool glow_node_infer(const GlowNode *n, const GlowType **types);
/* Whether the operator's own verify hook accepts n; reports if not. */
bool glow_node_check_hook(const GlowNode *n);
/* Reports with the operator's name in front; returns false. */
bool glow_infer_error(const GlowInfer *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The type of types[0]'s kind over the dims of all types (NULL entries are skipped), as NumPy
 * broadcasts. Returns NULL and sets *error if that is impossible. */
const GlowType *glow_infer_broadcast(GlowInfer *in, const GlowType *const *types, uint32_t count,
                                     const char **error);
/* The i-th operand's known integer values (any integer kind), or NULL; *count is set. They are the
 * tensor's own memory, or live in the context's arena. */
const int64_t *glow_infer_ints(const GlowInfer *in, uint32_t i, uint32_t *count);
/* axis in [-rank, rank) made non-negative; reports and returns false otherwise. */
bool glow_infer_axis(const GlowInfer *in, int64_t axis, uint32_t rank, uint32_t *result);

/* Hooks: int64_t glow_macs_<op>(const GlowNode *n): how many multiply-accumulates one execution of
 * n takes, for operators whose cost is that of a contraction; -1 while extents are open. */

/* Whether n pools what its epilogue gives before it stores it, and how. */
bool glow_node_pool(const GlowNode *n, GlowMaxPoolMembers *pool);
/* The type of what n's kernel computes and its epilogue transforms: that of its first output, or of
 * the map that it pools. n has been verified. */
const GlowType *glow_node_map(const GlowNode *n);

/* Verify hooks: bool glow_verify_<op>(const GlowNode *n): called after inference succeeded; they
 * report at glow_node_loc(n), with the operator's name in front. */
bool glow_verify_error(const GlowNode *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `verify same_kind(A, B)`: true if either value is absent. */
bool glow_verify_same_kind(const GlowNode *n, const GlowValue *a, const GlowValue *b);

#endif
