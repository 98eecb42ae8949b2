/* LookupTable of bytes without gaps, in any layout that X and Y share. */
#include "cpu/work.h"

bool glow_select_lookup_table(GlowSelect *s, const GlowNode *n) {
  GlowView x, y, table;
  GlowLookupParams p = {.n = 1};
  if (!glow_select_view(s, glow_node_in(n, GLOW_LOOKUP_TABLE_IN_X), &x) ||
      !glow_select_view(s, glow_node_out(n, 0), &y) ||
      !glow_select_dense(s, glow_node_in(n, GLOW_LOOKUP_TABLE_IN_TABLE), &table))
    return false;
  if (!glow_view_is_dense(&x) || !glow_view_is_dense(&y))
    return glow_select_fail(s, "its elements do not lie side by side");
  for (uint32_t a = 0; a < y.rank; a++)
    p.n *= y.dims[a];
  if (p.n)
    glow_work_lookup(s, n, &p,
                     &(GlowLookupPlaces){.y = y.place, .x = x.place, .table = table.place},
                     &(GlowWorkSpec){.units = glow_div_up(p.n, GLOW_LOOKUP_PART)});
  return glow_select_zero_padding(s, n, &y);
}
