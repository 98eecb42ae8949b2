/* Functions on one register of lanes. vector.inc: element-wise operators, for the kernels that
 * become bitcode (lib/kernels/cpu/lanes_*.c). Each is a loop over the scalar body, which clang
 * turns into vector code when the kernels are built, so that nothing is left to vectorize when a
 * program is compiled. Lanes travel through memory, since only some fit a register of the calling
 * convention; once the calls are inlined the memory goes. casts.inc: numbers of conversions,
 * and the names of functions on several registers, whose steps take turns, so that none waits for
 * the one before: glow_turns_<operator>_<kind>. */
#include "tblgen.h"

/* Whether there is a function on several registers that take turns. */
static bool takes_turns(const OpDecl *op, int k) {
  return op->turns && scalar_kinds[k].kind == GLOW_KIND_FLOAT;
}

/* Whether a member says which of two things the operator is. */
static bool is_choice(const MemberDecl *m) {
  return m->member_type == GLOW_MEMBER_BOOL ||
         (m->member_type == GLOW_MEMBER_ENUM && m->enumeration->values.count == 2);
}

/* The only member that says so; NULL if there is none, or more than one. */
static const MemberDecl *only_choice(const OpDecl *op) {
  const MemberDecl *only = NULL;
  for (uint32_t i = 0; i < op->members.count; i++) {
    if (!is_choice(&op->members.data[i]))
      continue;
    if (only)
      return NULL;
    only = &op->members.data[i];
  }
  return only;
}

/* The same on blocks, for library code. An operand that is absent is zeros, which the body does not
 * look at. */
static void block_function(const OpDecl *op, int k, GlowText *out) {
  const char *kind = kind_names[scalar_kinds[k].kind];
  if (takes_turns(op, k)) {
    glow_text_printf(out,
                     "GLOW_BLOCK_TURNS(%s_%s, BLOCK_ROW(float, 0), glow_lanes_%s_%s(members, "
                     "BLOCK_OUT(float), BLOCK_IN(float, 0)), glow_turns_%s_%s(members, "
                     "BLOCK_OUT(float), BLOCK_IN(float, 0)))\n",
                     op->snake, kind, op->snake, kind, op->snake, kind);
    return;
  }
  const MemberDecl *choice = only_choice(op);
  if (choice)
    glow_text_printf(out, "GLOW_BLOCK_CHOICE(%s_%s, Glow%sMembers, %s, %u,", op->snake, kind,
                     op->camel, choice->field, op->in.count);
  else
    glow_text_printf(out, "GLOW_BLOCK(%s_%s, %u,", op->snake, kind, op->in.count);
  for (uint32_t i = 0; i < op->in.count; i++)
    glow_text_printf(out, " BLOCK_ROW(%s, %u)",
                     scalar_kinds[scalar_port_row(&op->in.data[i], k)].stored, i);
  glow_text_printf(out, ", glow_lanes_%s_%s(members, BLOCK_OUT(%s)", op->snake, kind,
                   scalar_kinds[scalar_port_row(&op->out.data[0], k)].stored);
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    const char *type = scalar_kinds[scalar_port_row(p, k)].stored;
    if (p->flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", BLOCK_IN(%s, %u), in[%u].at != NULL", type, i, i);
    else
      glow_text_printf(out, ", BLOCK_IN(%s, %u)", type, i);
  }
  glow_text_puts(out, "))\n");
}

static bool gives_bools(const OpDecl *op, int k) {
  return scalar_kinds[scalar_port_row(&op->out.data[0], k)].kind == GLOW_KIND_BOOL;
}

/* The loop over a register, or over those of a turn. */
static void lanes_loop(const OpDecl *op, int k, bool turn, const char *members, GlowText *out) {
  glow_text_printf(out,
                   "  %s for (int l = 0; l < %s; l++)\n"
                   "    r[l] = %sglow_scalar_%s_%s(%s",
                   turn ? "GLOW_TURNS" : "GLOW_LANES", turn ? "GLOW_TURN * GLOW_VL" : "GLOW_VL",
                   gives_bools(op, k) ? "!" : "", op->snake, kind_names[scalar_kinds[k].kind],
                   members);
  for (uint32_t i = 0; i < op->in.count; i++) {
    glow_text_printf(out, ", x%u[l]", i);
    if (op->in.data[i].flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", has%u", i);
  }
  glow_text_puts(out, gives_bools(op, k) ? ") ? 0 : yes;\n" : ");\n");
}

static bool has_choice(const OpDecl *op) {
  for (uint32_t i = 0; i < op->members.count; i++)
    if (is_choice(&op->members.data[i]))
      return true;
  return false;
}

/* The loops for members from number `i` on. Lanes do not differ in members: where one says which of
 * two things the operator is, each has a loop, in which the member is a known number. So no lane
 * computes both. */
static void lanes_loops(const OpDecl *op, int k, bool turn, uint32_t i, GlowText *out) {
  while (i < op->members.count && !is_choice(&op->members.data[i]))
    i++;
  if (i == op->members.count) {
    lanes_loop(op, k, turn, has_choice(op) ? "&one" : "m", out);
    return;
  }
  const char *field = op->members.data[i].field;
  glow_text_printf(out, "  if (one.%s) {\n  one.%s = 1;\n", field, field);
  lanes_loops(op, k, turn, i + 1, out);
  glow_text_puts(out, "  } else {\n");
  lanes_loops(op, k, turn, i + 1, out);
  glow_text_puts(out, "  }\n");
}

static void lanes_function(const OpDecl *op, int k, bool turn, GlowText *out) {
  const ScalarKind *row = &scalar_kinds[k];
  glow_text_printf(out, "%sGLOW_LANES_FUNCTION void glow_%s_%s_%s(const void *m, %s *restrict r",
                   has_choice(op) ? "__attribute__((flatten)) " : "", turn ? "turns" : "lanes",
                   op->snake, kind_names[row->kind],
                   scalar_kinds[scalar_port_row(&op->out.data[0], k)].stored);
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    glow_text_printf(out, ", const %s *restrict x%u", scalar_kinds[scalar_port_row(p, k)].stored,
                     i);
    if (p->flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out, ", bool has%u", i);
  }
  glow_text_puts(out, ") {\n");
  if (has_choice(op))
    glow_text_printf(out, "  Glow%sMembers one = *(const Glow%sMembers *)m;\n", op->camel,
                     op->camel);
  if (gives_bools(op, k))
    glow_text_puts(out, "  const uint8_t yes = lane_true();\n");
  lanes_loops(op, k, turn, 0, out);
  glow_text_puts(out, "}\n");
}

static void vector_function(const OpDecl *op, int k, GlowText *out) {
  glow_text_printf(out, "#ifndef GLOW_OWN_%s_%s\n", op->upper, kind_enums[scalar_kinds[k].kind]);
  lanes_function(op, k, false, out);
  glow_text_puts(out, "#endif\n");
  if (takes_turns(op, k))
    lanes_function(op, k, true, out);
  block_function(op, k, out);
}

/* Rows with functions of their own; 16-bit floats are converted and computed as float. */
bool op_has_lanes(const OpDecl *op, int k) {
  return op->scalar.text && scalar_compute_row(k) == k &&
         scalar_kinds[k].kind != GLOW_KIND_STRING &&
         (scalar_row_kinds(op) & GLOW_KIND_BIT(scalar_kinds[k].kind));
}

static GlowStr lanes_name(const OpFile *file, const OpDecl *op, int k) {
  return glow_str_printf(file->ctx, "glow_lanes_%s_%s", op->snake,
                         kind_names[scalar_kinds[k].kind]);
}

void gen_vector(const OpFile *file, GlowText *out) {
  gen_head(out, "Element-wise operators on a register of lanes.");
  glow_text_puts(out, "/* glow_lanes_<instruction>_<kind>(members, results, operands...); after an "
                      "optional operand\n * stands whether it is there. "
                      "GLOW_LANES_<KIND> must be defined for a kind, GLOW_OWN_<INSTRUCTION>_<KIND> "
                      "where the\n * file has a function of its own. */\n");
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
/* From a rounded quotient. */
static bool can_offset(int to, int from) { return is_quantized(to) && from == GLOW_KIND_FLOAT; }
/* With a scale and a zero point as operands. */
static bool can_scale(int to, int from) { return can_offset(to, from) || can_offset(from, to); }
/* With a scale, its reciprocal and a zero point as operands: kinds of up to 16 bits. */
static bool can_divide(int to, int from) {
  return can_offset(to, from) && to != GLOW_KIND_I32 && to != GLOW_KIND_U32;
}

static const struct {
  const char *name;
  bool (*can)(int to, int from);
} conversions[] = {{"cast", can_cast},
                   {"quantize", can_quantize},
                   {"dequantize", can_dequantize},
                   {"offset", can_offset},
                   {"linear", can_scale},
                   {"divide", can_divide}};
enum { NCONVERSIONS = sizeof conversions / sizeof *conversions };

static GlowStr conversion_name(const OpFile *file, int c, int to, int from) {
  return glow_str_printf(file->ctx, "glow_lanes_%s_%s_%s", conversions[c].name, kind_names[to],
                         kind_names[from]);
}

/* The functions on several registers, by the numbers of those on one. */
static void table_turns(const OpFile *file, const LaneNames *all, GlowText *out) {
  glow_text_printf(out, "static const char *const lanes_turns[%u] = {\n", all->count);
  for (uint32_t i = 0; i < file->ops.count; i++)
    for (int k = 0; k < NSCALAR_KINDS; k++)
      if (takes_turns(file->ops.data[i], k) && op_has_lanes(file->ops.data[i], k))
        glow_text_printf(out, "    [%u] = \"glow_turns_%s_%s\",\n",
                         lane_number(all, lanes_name(file, file->ops.data[i], k)),
                         file->ops.data[i]->snake, kind_names[scalar_kinds[k].kind]);
  glow_text_puts(out, "};\n");
}

void gen_casts(const OpFile *file, GlowText *out) {
  const LaneNames all = lane_names(file);
  gen_head(out, "Numbers of the functions of lib/kernels/cpu/lanes_cast.c: [to][from], 0 if there "
                "is none; and names of those that take turns.");
  for (int c = 0; c < NCONVERSIONS; c++) {
    glow_text_printf(out, "static const uint16_t lanes_%s[GLOW_KIND_COUNT][GLOW_KIND_COUNT] = {\n",
                     conversions[c].name);
    for (int to = 0; to < GLOW_KIND_COUNT; to++)
      for (int from = 0; from < GLOW_KIND_COUNT; from++)
        if (conversions[c].can(to, from))
          glow_text_printf(out, "    [GLOW_KIND_%s][GLOW_KIND_%s] = %u,\n", kind_enums[to],
                           kind_enums[from], lane_number(&all, conversion_name(file, c, to, from)));
    glow_text_puts(out, "};\n");
  }
  table_turns(file, &all, out);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

LaneNames lane_names(const OpFile *file) {
  LaneNames all = {0};
  glow_vec_push(file->arena, &all, NULL);
  for (uint32_t i = 0; i < file->ops.count; i++)
    for (int k = 0; k < NSCALAR_KINDS; k++)
      if (op_has_lanes(file->ops.data[i], k))
        glow_vec_push(file->arena, &all, lanes_name(file, file->ops.data[i], k));
  for (int c = 0; c < NCONVERSIONS; c++)
    for (int to = 0; to < GLOW_KIND_COUNT; to++)
      for (int from = 0; from < GLOW_KIND_COUNT; from++)
        if (conversions[c].can(to, from))
          glow_vec_push(file->arena, &all, conversion_name(file, c, to, from));
  return all;
}

uint32_t lane_number(const LaneNames *all, GlowStr name) {
  for (uint32_t i = 0; i < all->count; i++)
    if (all->data[i] == name)
      return i;
  return 0;
}

/* The numbers of an operator's functions by kind. */
void table_lanes(const OpFile *file, const OpDecl *op, const LaneNames *all, GlowText *out) {
  if (!op->scalar.text)
    return;
  glow_text_printf(out, "static const uint16_t lanes_%s[GLOW_KIND_COUNT] = {\n", op->snake);
  for (int k = 0; k < NSCALAR_KINDS; k++)
    if (op_has_lanes(op, k))
      glow_text_printf(out, "    [GLOW_KIND_%s] = %u,\n", kind_enums[scalar_kinds[k].kind],
                       lane_number(all, lanes_name(file, op, k)));
  glow_text_puts(out, "};\n");
}

void table_lane_names(const LaneNames *all, GlowText *out) {
  glow_text_puts(out, "const char *const glow_lane_names[] = {\n    NULL,\n");
  for (uint32_t i = 1; i < all->count; i++)
    glow_text_printf(out, "    \"%s\",\n", all->data[i]);
  glow_text_printf(out, "};\nconst uint32_t glow_lane_count = %u;\n", all->count);
}
