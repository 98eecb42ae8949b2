/* casts.inc: names of conversions. vector.inc: element-wise operators on one register of lanes, for
 * the kernels that become bitcode (lib/kernels/cpu/lanes_*.c). Each is a loop over the scalar body,
 * which clang turns into vector code when the kernels are built, so that nothing is left to
 * vectorize when a program is compiled. Lanes travel through memory, since only some fit a register
 * of the calling convention; once the calls are inlined the memory goes. */
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
bool op_has_lanes(const OpDecl *op, int k) {
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
      if (op_has_lanes(file->ops.data[i], k))
        vector_function(file->ops.data[i], k, out);
    glow_text_puts(out, "#endif\n");
  }
}

/* ---- Conversions ----------------------------------------------------------------------------- */

static bool is_number(int k) { return k <= GLOW_KIND_BOOL; }
static bool is_small(int k) { return k >= GLOW_KIND_FLOAT8E4M3FN && k <= GLOW_KIND_FLOAT8E8M0; }
static bool is_wide(int k) { return k == GLOW_KIND_FLOAT || k == GLOW_KIND_DOUBLE; }
/* Stands for real numbers where a type has a scale and an offset. */
static bool is_quantized(int k) {
  return (k >= GLOW_KIND_I8 && k <= GLOW_KIND_I32) || (k >= GLOW_KIND_U8 && k <= GLOW_KIND_U32);
}

/* Small floats are reached from float and double, and lead to float. */
static bool can_cast(int to, int from) {
  return to != from && ((is_number(to) && is_number(from)) || (is_small(to) && is_wide(from)) ||
                        (to == GLOW_KIND_FLOAT && is_small(from)));
}
static bool can_quantize(int to, int from) { return is_quantized(to) && is_wide(from); }
static bool can_dequantize(int to, int from) { return is_wide(to) && is_quantized(from); }

static void write_conversions(GlowText *out, const char *what, bool (*can)(int to, int from)) {
  glow_text_printf(out, "static const char *const lanes_%s[GLOW_KIND_COUNT][GLOW_KIND_COUNT] = {\n",
                   what);
  for (int to = 0; to < GLOW_KIND_COUNT; to++)
    for (int from = 0; from < GLOW_KIND_COUNT; from++)
      if (can(to, from))
        glow_text_printf(out, "    [GLOW_KIND_%s][GLOW_KIND_%s] = \"glow_lanes_%s_%s_%s\",\n",
                         kind_enums[to], kind_enums[from], what, kind_names[to], kind_names[from]);
  glow_text_puts(out, "};\n");
}

void gen_casts(const OpFile *file, GlowText *out) {
  (void)file;
  gen_head(out,
           "The functions of lib/kernels/cpu/lanes_cast.c: [to][from], NULL if there is none.");
  write_conversions(out, "cast", can_cast);
  write_conversions(out, "quantize", can_quantize);
  write_conversions(out, "dequantize", can_dequantize);
  glow_text_puts(out, "static const char *const lanes_offset[GLOW_KIND_COUNT] = {\n");
  for (int to = 0; to < GLOW_KIND_COUNT; to++)
    if (is_quantized(to))
      glow_text_printf(out, "    [GLOW_KIND_%s] = \"glow_lanes_offset_%s\",\n", kind_enums[to],
                       kind_names[to]);
  glow_text_puts(out, "};\n");
}
