/* vector.inc: element-wise operators of float on one register of lanes, for the kernels that become
 * bitcode (lib/kernels/cpu/vector_ops.c). Each is a loop over the scalar body, which clang turns
 * into vector code when the kernels are built, so that nothing is left to vectorize when a program
 * is compiled. Operators with an operand or result of another kind have none. */
#include "tblgen.h"

static bool is_float(const Ports *ports) {
  for (uint32_t i = 0; i < ports->count; i++) {
    const PortDecl *p = &ports->data[i];
    if (p->type_kind != GLOW_PORT_VAR &&
        (p->type_kind != GLOW_PORT_KIND || p->var != GLOW_KIND_FLOAT))
      return false;
  }
  return true;
}

static bool has_vector(const OpDecl *op) {
  return op->scalar.text && op->vars.count &&
         (op->vars.data[0].set & GLOW_KIND_BIT(GLOW_KIND_FLOAT)) && is_float(&op->in) &&
         is_float(&op->out);
}

static void parameters(const OpDecl *op, GlowText *out) {
  glow_text_printf(out, "GlowVec glow_vector_%s(const void *m", op->snake);
  for (uint32_t i = 0; i < op->in.count; i++) {
    glow_text_printf(out, ", GlowVec v%u", i);
    if (op->in.data[i].flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", bool has%u", i);
  }
  glow_text_putc(out, ')');
}

static void vector_function(const OpDecl *op, GlowText *out) {
  parameters(op, out);
  glow_text_puts(out, " {\n  float r[GLOW_VL]");
  for (uint32_t i = 0; i < op->in.count; i++)
    glow_text_printf(out, ", x%u[GLOW_VL]", i);
  glow_text_puts(out, ";\n");
  for (uint32_t i = 0; i < op->in.count; i++)
    glow_text_printf(out, "  __builtin_memcpy(x%u, &v%u, sizeof x%u);\n", i, i, i);
  glow_text_printf(out,
                   "  GLOW_LANES for (int l = 0; l < GLOW_VL; l++)\n"
                   "    r[l] = glow_scalar_%s_float(m",
                   op->snake);
  for (uint32_t i = 0; i < op->in.count; i++) {
    glow_text_printf(out, ", x%u[l]", i);
    if (op->in.data[i].flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", has%u", i);
  }
  glow_text_puts(out, ");\n  GlowVec v;\n  __builtin_memcpy(&v, r, sizeof v);\n  return v;\n}\n");
}

void gen_vector(const OpFile *file, GlowText *out) {
  gen_head(out, "Element-wise operators of float on a register of lanes.");
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (has_vector(file->ops.data[i]))
      vector_function(file->ops.data[i], out);
}
