/* Operators: the types of desc.h and the code that glow-tblgen generates from the .ops files in
 * this folder. Users of operators include this header. */
#ifndef GLOW_OPS_OP_H
#define GLOW_OPS_OP_H

#include "ops/desc.h"
#include "ops/ops.h" /* generated: enum GlowOp, GLOW_OP_COUNT, member structs, port numbers */

extern const GlowOpDesc glow_op_desc[GLOW_OP_COUNT];

/* The names of the functions on a register of lanes (kernels/cpu/lanes_*.c), including those of
 * conversions (ops/casts.inc), by their numbers. Number 0 means no function. */
extern const char *const glow_lane_names[];
extern const uint32_t glow_lane_count;

/* Finds by node name (CamelCase) or instruction name; GLOW_OP_COUNT if there is none. */
GlowOp glow_op_from_node_name(const char *name, size_t length);
GlowOp glow_op_from_instr_name(const char *name, size_t length);
/* The member called `name`, or NULL. */
const GlowMember *glow_op_member(const GlowOpDesc *desc, const char *name);

/* Whether an instruction of this operator may have `shards`: it does work of its own. */
static inline bool glow_op_has_shards(const GlowOpDesc *d) {
  return d->instr && !GLOW_HAS(d, CONTROL) && !GLOW_HAS(d, SYNTAX);
}

/* The kind in which an element-wise operator, that is its scalar body, computes. kinds[i] is the
 * kind of operand i: GLOW_KIND_COUNT if absent, float if quantized. For operands of two kinds (Pow)
 * see docs/Numerics. Returns GLOW_KIND_COUNT if no operand with a type variable is present. */
GlowKind glow_op_compute_kind(const GlowOpDesc *d, const GlowKind *kinds, uint32_t count);

/* Port i of `count` ports; a variadic last port stands for all further indices. NULL if none. */
static inline const GlowOpPort *glow_op_port(const GlowOpPort *ports, uint32_t count, uint32_t i) {
  if (i < count)
    return &ports[i];
  return count && (ports[count - 1].flags & GLOW_PORT_VARIADIC) ? &ports[count - 1] : NULL;
}
static inline const GlowOpPort *glow_op_in_port(const GlowOpDesc *d, uint32_t i) {
  return glow_op_port(d->in, d->nin, i);
}
static inline const GlowOpPort *glow_op_out_port(const GlowOpDesc *d, uint32_t i) {
  return glow_op_port(d->out, d->nout, i);
}

/* Whether operand i has a gradient rule of its own; a variadic last port stands for all further
 * operands. */
static inline bool glow_op_has_grad(const GlowOpDesc *d, uint32_t i) {
  const GlowOpPort *port = glow_op_in_port(d, i);
  return port && (d->grad >> (port - d->in) & 1) != 0;
}

#endif
