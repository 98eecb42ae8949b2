/* Operators: the descriptions of desc.h, and what glow-tblgen makes of the .ops files here. This is
 * the header to include. */
#ifndef GLOW_OPS_OP_H
#define GLOW_OPS_OP_H

#include "ops/desc.h"
#include "ops/ops.h" /* generated: enum GlowOp, GLOW_OP_COUNT, member structs, port numbers */

extern const GlowOpDesc glow_op_desc[GLOW_OP_COUNT];

/* Finds by node name (CamelCase) or instruction name; GLOW_OP_COUNT if there is none. */
GlowOp glow_op_from_node_name(const char *name, size_t length);
GlowOp glow_op_from_instr_name(const char *name, size_t length);
/* The member called `name`, or NULL. */
const GlowMember *glow_op_member(const GlowOpDesc *desc, const char *name);

/* The port of the i-th input or output: a variadic port, the last one, continues. NULL beyond. */
static inline const GlowPort *glow_op_in_port(const GlowOpDesc *d, uint32_t i) {
  return i < d->nin ? &d->in[i] : (d->nin && (d->in[d->nin - 1].flags & GLOW_PORT_VARIADIC))
                                      ? &d->in[d->nin - 1]
                                      : NULL;
}
static inline const GlowPort *glow_op_out_port(const GlowOpDesc *d, uint32_t i) {
  return i < d->nout ? &d->out[i] : (d->nout && (d->out[d->nout - 1].flags & GLOW_PORT_VARIADIC))
                                        ? &d->out[d->nout - 1]
                                        : NULL;
}

#endif
