/* vector.inc: element-wise operators on one register of lanes, for the kernels that become bitcode
 * (lib/kernels/cpu/lanes_*.c). Each is a loop over the scalar body, which clang turns into vector
 * code when the kernels are built, so that nothing is left to vectorize when a program is compiled.
 * Lanes travel through memory, since only some fit a register of the calling convention; once the
 * calls are inlined the memory goes. */
#include "tblgen.h"

static void vector_function(const OpDecl *op, int k, GlowText *out) {
  const ScalarKind *row = &scalar_kinds[k];
  glow_text_printf(out, "void glow_lanes_%s_%s(const void *m, %s *restrict r", op->snake,
                   kind_names[row->kind],
                   scalar_kinds[scalar_port_row(&op->out.data[0], k)].stored);
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    glow_text_printf(out, ", const %s *restrict x%u", scalar_kinds[scalar_port_row(p, k)].stored,
                     i);
    if (p->flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", bool has%u", i);
  }
  glow_text_printf(out,
                   ") {\n  GLOW_LANES for (int l = 0; l < GLOW_VL; l++)\n"
                   "    r[l] = glow_scalar_%s_%s(m",
                   op->snake, kind_names[row->kind]);
  for (uint32_t i = 0; i < op->in.count; i++) {
    glow_text_printf(out, ", x%u[l]", i);
    if (op->in.data[i].flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", has%u", i);
  }
  glow_text_puts(out, ");\n}\n");
}

/* Rows with functions of their own; 16-bit floats are converted and computed as float. */
static bool has_vector(const OpDecl *op, int k) {
  return op->scalar.text && scalar_compute_row(k) == k &&
         scalar_kinds[k].kind != GLOW_KIND_STRING &&
         (scalar_row_kinds(op) & GLOW_KIND_BIT(scalar_kinds[k].kind));
}

void gen_vector(const OpFile *file, GlowText *out) {
  gen_head(out, "Element-wise operators on a register of lanes.");
  glow_text_puts(out, "/* glow_lanes_<instruction>_<kind>(members, results, operands...); after an "
                      "optional operand\n * stands whether it is there. "
                      "GLOW_LANES_<KIND> must be defined for a kind. */\n");
  for (int k = 0; k < NSCALAR_KINDS; k++) {
    glow_text_printf(out, "#ifdef GLOW_LANES_%s\n", kind_enums[scalar_kinds[k].kind]);
    for (uint32_t i = 0; i < file->ops.count; i++)
      if (has_vector(file->ops.data[i], k))
        vector_function(file->ops.data[i], k, out);
    glow_text_puts(out, "#endif\n");
  }
}
