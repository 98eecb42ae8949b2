/* Operators: the descriptions of desc.h, and what glow-tblgen makes of the .ops files here. This is
 * the header to include. */
#ifndef GLOW_OPS_OP_H
#define GLOW_OPS_OP_H

#include "ops/desc.h"
#include "ops/ops.h" /* generated: enum GlowOp, GLOW_OP_COUNT, member structs, port numbers */

extern const GlowOpDesc glow_op_desc[GLOW_OP_COUNT];

/* The functions on a register of lanes (kernels/cpu/lanes_*.c) by number, those of conversions
 * (ops/casts.inc) included. Number 0 is none. */
extern const char *const glow_lane_names[];
extern const uint32_t glow_lane_count;

/* Finds by node name (CamelCase) or instruction name; GLOW_OP_COUNT if there is none. */
GlowOp glow_op_from_node_name(const char *name, size_t length);
GlowOp glow_op_from_instr_name(const char *name, size_t length);
/* The member called `name`, or NULL. */
const GlowMember *glow_op_member(const GlowOpDesc *desc, const char *name);

/* Whether an instruction of this operator may say `shards`: it does work of its own. */
static inline bool glow_op_has_shards(const GlowOpDesc *d) {
  return d->instr && !GLOW_HAS(d, CONTROL) && !GLOW_HAS(d, SYNTAX);
}

/* The kind that an element-wise operator computes in, which is that of its scalar body, from the
 * kinds of its operands: GLOW_KIND_COUNT for an absent one, float for a quantized one. Operands of
 * two kinds (Pow): see docs/Numerics. GLOW_KIND_COUNT if none of a variable kind is there. */
GlowKind glow_op_compute_kind(const GlowOpDesc *d, const GlowKind *kinds, uint32_t count);

/* The i-th of `count` ports: a variadic port, the last one, continues. NULL beyond. */
static inline const GlowPort *glow_op_port(const GlowPort *ports, uint32_t count, uint32_t i) {
  if (i < count)
    return &ports[i];
  return count && (ports[count - 1].flags & GLOW_PORT_VARIADIC) ? &ports[count - 1] : NULL;
}
static inline const GlowPort *glow_op_in_port(const GlowOpDesc *d, uint32_t i) {
  return glow_op_port(d->in, d->nin, i);
}
static inline const GlowPort *glow_op_out_port(const GlowOpDesc *d, uint32_t i) {
  return glow_op_port(d->out, d->nout, i);
}

#endif
