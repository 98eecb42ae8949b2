/* See costs.h. */
#include "driver/costs.h"

void glow_costs_print(GlowText *out, const GlowExecutable *e) {
  const GlowExecutableCosts *c = &e->costs;
  if (!e->entries->program)
    return;
  glow_text_printf(out, "%-10s select %.3f, ", "compile", c->select);
  if (e->code)
    glow_text_printf(out,
                     "cache %.3f%s, emit %.3f, link %.3f, LLVM passes %.3f, machine code %.3f, "
                     "load %.3f, ",
                     c->cache, c->cached ? " (found)" : "", c->emit, c->link, c->optimize,
                     c->generate, c->load);
  glow_text_printf(out, "constants %.3f\n", c->constants);
}
