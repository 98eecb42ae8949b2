/* Logical operators on bools that lie alike; all others are stacks. */
#include "backend/cpu/select.h"
#include "cpu/work.h"

#include <string.h>

static int variant_of(GlowOp op) {
  return op == GLOW_OP_AND   ? GLOW_LOGIC_AND
         : op == GLOW_OP_OR  ? GLOW_LOGIC_OR
         : op == GLOW_OP_XOR ? GLOW_LOGIC_XOR
         : op == GLOW_OP_NOT ? GLOW_LOGIC_NOT
                             : -1;
}

bool glow_select_logic(GlowSelect *s, const GlowNode *n) {
  const int variant = variant_of(n->op);
  GlowPlace at[3] = {glow_place_absent(), glow_place_absent(), glow_place_absent()};
  GlowLogicParams p = {.n = 0};
  if (variant < 0 || n->noperands > 3)
    return glow_select_fail(s, "it is no logical operator");
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowType *first = n->operands[0].value->type, *type = n->operands[i].value->type;
    GlowView v;
    if (!glow_select_dense(s, n->operands[i].value, &v))
      return false;
    if (type->rank != first->rank ||
        memcmp(type->dims, first->dims, type->rank * sizeof *type->dims) != 0)
      return glow_select_fail(s, "its operands have other extents");
    p.n = glow_view_extent(&v, 0, v.rank);
    at[i] = v.place;
  }
  if (p.n)
    glow_work_logic(s, n, (uint32_t)variant, &p,
                    &(GlowLogicPlaces){.y = at[0], .a = at[1], .b = at[2]},
                    &(GlowWorkSpec){.units = glow_div_up(p.n, GLOW_LOGIC_PART)});
  return true;
}
