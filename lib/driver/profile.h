/* Tables of profiles: by node and by kernel. */
#ifndef GLOW_DRIVER_PROFILE_H
#define GLOW_DRIVER_PROFILE_H

#include "exec/profile.h"
#include "ir/ir.h"
#include "support/text.h"

/* A line of a table: a node, or all pieces of one kernel. */
typedef struct GlowProfileRow {
  const char *kernel;
  const GlowNode *node; /* NULL: of a kernel */
  double seconds;
  int64_t macs, bytes; /* of all calls; bytes of operands and results */
  uint32_t calls;
} GlowProfileRow;

/* Rows in order of time, most first, in `arena`; `of_kernels`: one for each kernel, else one for
 * each node. */
GlowProfileRow *glow_profile_rows(const GlowProfile *p, GlowArena *arena, bool of_kernels,
                                  uint32_t *count);
/* Appends the table; `peak` in flop/s, 0 where there is none. */
void glow_profile_print(GlowText *out, const GlowProfile *p, bool of_kernels, double peak);
/* Appends a name by which a person knows the node: its operator, and its name in the model or its
 * line. */
void glow_profile_name(GlowText *out, const GlowNode *n);

#endif
