/* See help.h. */
#include "ops/help.h"

#include <string.h>
#include <strings.h>

GlowOp glow_op_from_other_name(const char *name, size_t length) {
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++)
    for (const char *const *also = glow_op_help[op].also; also && *also; also++)
      if (strlen(*also) == length && strncasecmp(*also, name, length) == 0)
        return (GlowOp)op;
  return GLOW_OP_COUNT;
}

void glow_ops_print(GlowText *out) {
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++) {
    const GlowOpDesc *d = &glow_op_desc[op];
    if (!GLOW_HAS(d, SYNTAX))
      glow_text_printf(out, "  %s%s%s\n      %s\n", d->node ? d->node : "",
                       d->node && d->instr ? ", " : "", d->instr ? d->instr : "", d->doc);
  }
}
