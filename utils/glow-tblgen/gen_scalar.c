/* Element-wise operators: scalar functions from their bodies (scalar.h, shared by the interpreter
 * and the kernels that become bitcode), and loops over rows for the interpreter (elementwise.inc).
 *
 * A body computes in the compute type of its kind: float for the 16-bit floats, else the kind's
 * own C type. It is written once per kind; the macros of num/math.h are generic. */
#include <ctype.h>

#include "tblgen.h"

const ScalarKind scalar_kinds[NSCALAR_KINDS] = {
    {GLOW_KIND_FLOAT, "float", "float", "", "", true},
    {GLOW_KIND_DOUBLE, "double", "double", "", "", false},
    {GLOW_KIND_FLOAT16, "float", "uint16_t", "glow_half_to_float", "glow_half_from_float", true},
    {GLOW_KIND_BFLOAT16, "float", "uint16_t", "glow_bfloat_to_float", "glow_bfloat_from_float",
     false},
    {GLOW_KIND_I8, "int8_t", "int8_t", "", "", false},
    {GLOW_KIND_I16, "int16_t", "int16_t", "", "", false},
    {GLOW_KIND_I32, "int32_t", "int32_t", "", "", false},
    {GLOW_KIND_I64, "int64_t", "int64_t", "", "", false},
    {GLOW_KIND_U8, "uint8_t", "uint8_t", "", "", false},
    {GLOW_KIND_U16, "uint16_t", "uint16_t", "", "", false},
    {GLOW_KIND_U32, "uint32_t", "uint32_t", "", "", false},
    {GLOW_KIND_U64, "uint64_t", "uint64_t", "", "", false},
    {GLOW_KIND_BOOL, "bool", "uint8_t", "", "", false},
    {GLOW_KIND_STRING, "GlowString", "GlowString", "", "", false},
};

int scalar_compute_row(int k) {
  return scalar_kinds[k].kind == GLOW_KIND_FLOAT16 || scalar_kinds[k].kind == GLOW_KIND_BFLOAT16
             ? 0
             : k;
}

GlowKindSet scalar_row_kinds(const OpDecl *op) {
  if (op->vars.count) {
    GlowKindSet set = op->vars.data[0].set;
    return set & GLOW_KINDS_QUANTIZED ? set | GLOW_KIND_BIT(GLOW_KIND_FLOAT) : set;
  }
  return GLOW_KIND_BIT(op->in.data[0].var);
}

int scalar_port_row(const PortDecl *p, int k) {
  if (p->type_kind != GLOW_PORT_KIND)
    return k;
  for (int i = 0; i < NSCALAR_KINDS; i++)
    if (scalar_kinds[i].kind == (GlowKind)p->var)
      return i;
  return k;
}

static bool has_word(const char *body, const char *word) {
  size_t n = strlen(word);
  for (const char *s = strstr(body, word); s; s = strstr(s + 1, word)) {
    bool starts = s == body || !(isalnum((unsigned char)s[-1]) || s[-1] == '_');
    if (starts && !(isalnum((unsigned char)s[n]) || s[n] == '_'))
      return true;
  }
  return false;
}

static const char *lower_case(const OpFile *file, const char *name) {
  size_t n = strlen(name);
  char *s = glow_arena_copy(file->arena, name, n + 1);
  for (size_t i = 0; i < n; i++)
    s[i] = (char)tolower((unsigned char)s[i]);
  return s;
}

static const char *members_type(const OpFile *file, const OpDecl *op) {
  return op->members.count ? glow_arena_printf(file->arena, "Glow%sMembers", op->camel) : "void";
}

static const char *trim(const OpFile *file, const char *s) {
  while (isspace((unsigned char)*s))
    s++;
  size_t n = strlen(s);
  while (n && isspace((unsigned char)s[n - 1]))
    n--;
  return glow_arena_printf(file->arena, "%.*s", (int)n, s);
}

static void scalar_function(const OpFile *file, const OpDecl *op, int k, GlowText *out) {
  const char *body = trim(file, op->scalar.text);
  const PortDecl *result = &op->out.data[0];
  const char *type = scalar_kinds[scalar_port_row(result, k)].compute;
  glow_text_printf(out, "static inline %s glow_scalar_%s_%s(const %s *m", type, op->snake,
                   kind_names[scalar_kinds[k].kind], members_type(file, op));
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    const char *name = lower_case(file, p->name.text);
    glow_text_printf(out, ", %s %s", scalar_kinds[scalar_port_row(p, k)].compute, name);
    if (p->flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", bool has_%s", name);
  }
  glow_text_puts(out, ") {\n  (void)m;\n");
  for (uint32_t i = 0; i < op->members.count; i++) {
    const MemberDecl *m = &op->members.data[i];
    if (has_word(body, m->name.text))
      glow_text_printf(out, "  const %s %s = m->%s;\n", member_c_type(m->member_type), m->name.text,
                       m->field);
  }
  const char *name = lower_case(file, result->name.text);
  glow_text_printf(out, "  %s %s;\n  %s\n  return %s;\n}\n", type, name, body, name);
}

void gen_scalar(const OpFile *file, GlowText *out) {
  gen_head(out, "Scalar bodies of element-wise operators, freestanding.");
  glow_text_puts(
      out,
      "/* glow_scalar_<instruction>_<kind>(members, operands...); after an optional operand "
      "stands\n"
      " * whether it is there. 16-bit floats and quantized elements use the float function. "
      "Compile\n"
      " * with -fwrapv and -ffp-contract=off. */\n"
      "#ifndef GLOW_OPS_SCALAR_H\n#define GLOW_OPS_SCALAR_H\n\n"
      "#include \"num/math.h\"\n#include \"ops/ops.h\"\n\n"
      "#pragma GCC diagnostic push\n"
      "#pragma GCC diagnostic ignored \"-Wtype-limits\" /* x < 0 for unsigned kinds */\n"
      "#pragma GCC diagnostic ignored \"-Wsign-compare\"\n"
      "#pragma GCC diagnostic ignored \"-Wshadow\" /* members called like functions of C */\n\n");
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!op->scalar.text)
      continue;
    for (int k = 0; k < NSCALAR_KINDS; k++)
      if (scalar_compute_row(k) == k &&
          (scalar_row_kinds(op) & GLOW_KIND_BIT(scalar_kinds[k].kind)))
        scalar_function(file, op, k, out);
  }
  glow_text_puts(out, "\n#pragma GCC diagnostic pop\n\n#endif\n");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* One element of input i: from the local that holds a constant, or from memory with its stride. */
static void row_operand(const OpFile *file, const OpDecl *op, uint32_t i, int k, GlowText *out) {
  const PortDecl *p = &op->in.data[i];
  int row = scalar_port_row(p, k);
  const char *name = lower_case(file, p->name.text);
  bool optional = p->flags & GLOW_PORT_OPTIONAL;
  glow_text_printf(out, ",\n        GLOW_IS_ZERO(s%u) ? %s0 : ", i + 1, name);
  if (optional)
    glow_text_printf(out, "!has_%s ? %s0 : ", name, name);
  glow_text_printf(out, "%s(%s[i * s%u])", scalar_kinds[row].load, name, i + 1);
  if (optional)
    glow_text_printf(out, ", has_%s", name);
}

/* The loop with strides as parameters; inlined with constants into the fast paths. An absent
 * operand has stride 0. */
static void row_loop(const OpFile *file, const OpDecl *op, int k, GlowText *out) {
  const char *kind = kind_names[scalar_kinds[k].kind];
  const PortDecl *result = &op->out.data[0];
  int result_row = scalar_port_row(result, k);
  glow_text_printf(out, "GLOW_INLINE void loop_%s_%s(void *const *p, int64_t n, const void *m, ",
                   op->snake, kind);
  glow_text_puts(out, "uint32_t present, int64_t s0");
  for (uint32_t i = 0; i < op->in.count; i++)
    glow_text_printf(out, ", int64_t s%u", i + 1);
  glow_text_printf(out, ") {\n  (void)m, (void)present;\n");
  const char *pointer = "NULL";
  if (op->members.count) {
    glow_text_printf(out, "  const %s members = *(const %s *)m;\n", members_type(file, op),
                     members_type(file, op));
    pointer = "&members";
  }
  glow_text_printf(out, "  %s *const z_ = p[0];\n", scalar_kinds[result_row].stored);
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    int row = scalar_port_row(p, k);
    const char *name = lower_case(file, p->name.text), *has = "";
    glow_text_printf(out, "  const %s *const %s = p[%u];\n", scalar_kinds[row].stored, name, i + 1);
    if (p->flags & GLOW_PORT_OPTIONAL) {
      glow_text_printf(out, "  const bool has_%s = present >> %u & 1u;\n", name, i);
      has = glow_arena_printf(file->arena, "!has_%s || ", name);
    }
    glow_text_printf(out, "  const %s %s0 = %s!GLOW_IS_ZERO(s%u) ? (%s){0} : %s(%s[0]);\n",
                     scalar_kinds[row].compute, name, has, i + 1, scalar_kinds[row].compute,
                     scalar_kinds[row].load, name);
  }
  glow_text_printf(out,
                   "  GLOW_IVDEP\n  for (int64_t i = 0; i < n; i++)\n"
                   "    z_[i * s0] = %s(glow_scalar_%s_%s(%s",
                   scalar_kinds[result_row].store, op->snake,
                   kind_names[scalar_kinds[scalar_compute_row(k)].kind], pointer);
  for (uint32_t i = 0; i < op->in.count; i++)
    row_operand(file, op, i, k, out);
  glow_text_puts(out, "));\n}\n");
}

/* A call of the loop for one pattern of strides: bit i set if stride i is 1, clear if it is 0. */
static void row_path(const OpDecl *op, int k, uint32_t pattern, GlowText *out) {
  uint32_t n = op->in.count + 1;
  glow_text_puts(out, "  if (GLOW_PATHS");
  for (uint32_t i = 0; i < n; i++)
    glow_text_printf(out, " && s[%u] == %u", i, pattern >> i & 1u);
  glow_text_printf(out, ") {\n    loop_%s_%s(p, n, m, present", op->snake,
                   kind_names[scalar_kinds[k].kind]);
  for (uint32_t i = 0; i < n; i++)
    glow_text_printf(out, ", %u", pattern >> i & 1u);
  glow_text_puts(out, ");\n    return;\n  }\n");
}

static void row_function(const OpFile *file, const OpDecl *op, int k, GlowText *out) {
  row_loop(file, op, k, out);
  uint32_t n = op->in.count, all = (2u << n) - 1u;
  glow_text_printf(out,
                   "GLOW_ROW void glow_row_%s_%s(void *const *p, const int64_t *s, int64_t n, "
                   "const void *m,\n                uint32_t present) {\n",
                   op->snake, kind_names[scalar_kinds[k].kind]);
  glow_text_puts(out, "  if (n <= 0)\n    return;\n");
  row_path(op, k, all, out);
  if (scalar_kinds[k].broadcast_paths && n > 1) {
    for (uint32_t i = 1; i <= n; i++)
      row_path(op, k, all & ~(1u << i), out);
    if (n > 2)
      row_path(op, k, 3u, out);
  }
  glow_text_printf(out, "  loop_%s_%s(p, n, m, present", op->snake,
                   kind_names[scalar_kinds[k].kind]);
  for (uint32_t i = 0; i <= n; i++)
    glow_text_printf(out, ", s[%u]", i);
  glow_text_puts(out, ");\n}\n");
}

void gen_elementwise(const OpFile *file, GlowText *out) {
  gen_head(out, "Loops over rows for element-wise operators.");
  glow_text_puts(
      out,
      "/* glow_row_<instruction>_<kind>(p, s, n, members, present): p[0] is the result, p[1..] "
      "the\n"
      " * inputs, s their strides in elements (0: one value for the whole row; an absent input "
      "has\n"
      " * stride 0), bit i of present says whether input i is there. A result may stand where an\n"
      " * input does, element on element. The table is keyed by the kind of the first type "
      "variable;\n"
      " * inputs of another variable (Pow's exponent) are given in that kind's compute type and\n"
      " * storage. */\n"
      "#include \"num/half.h\"\n#include \"ops/scalar.h\"\n\n"
      "#define GLOW_INLINE static inline __attribute__((always_inline))\n"
      "/* A stride that is known to be 0 where the loop is inlined. */\n"
      "#define GLOW_IS_ZERO(s) (__builtin_constant_p(s) && (s) == 0)\n"
      "#ifdef __clang__\n"
      "#pragma clang diagnostic ignored \"-Wpass-failed\" /* not every body can be vectorized */\n"
      "#define GLOW_IVDEP _Pragma(\"clang loop vectorize(assume_safety)\")\n"
      "#else\n#define GLOW_IVDEP _Pragma(\"GCC ivdep\")\n#endif\n"
      "/* As bitcode, rows are called by name with constant strides. */\n"
      "#ifdef GLOW_BITCODE\n#define GLOW_ROW\n#define GLOW_PATHS 0\n"
      "#else\n#define GLOW_ROW static\n#define GLOW_PATHS 1\n#endif\n\n");
  for (uint32_t i = 0; i < file->ops.count; i++)
    for (int k = 0; k < NSCALAR_KINDS; k++)
      if (file->ops.data[i]->scalar.text &&
          (scalar_row_kinds(file->ops.data[i]) & GLOW_KIND_BIT(scalar_kinds[k].kind)))
        row_function(file, file->ops.data[i], k, out);
  glow_text_puts(out, "\n#ifndef GLOW_BITCODE\nconst GlowRowFn "
                      "glow_elementwise_rows[GLOW_OP_COUNT][GLOW_KIND_COUNT] = {\n");
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!op->scalar.text)
      continue;
    glow_text_printf(out, "    [GLOW_OP_%s] = {\n", op->upper);
    for (int k = 0; k < NSCALAR_KINDS; k++)
      if (scalar_row_kinds(op) & GLOW_KIND_BIT(scalar_kinds[k].kind))
        glow_text_printf(out, "        [GLOW_KIND_%s] = glow_row_%s_%s,\n",
                         kind_enums[scalar_kinds[k].kind], op->snake,
                         kind_names[scalar_kinds[k].kind]);
    glow_text_puts(out, "    },\n");
  }
  glow_text_puts(out, "};\n#endif\n");
}
