/* Ops.md: the reference page of operators; Primitives.md: those that `-lower=all` leaves; keywords:
 * one word per line for editors. */
#include "tblgen.h"

static void kind_list(GlowKindSet set, GlowText *out) {
  bool any = false;
  for (int i = 0; i <= GLOW_KIND_COUNT; i++) {
    bool quantized = i == GLOW_KIND_COUNT;
    if (!(set & (quantized ? GLOW_KINDS_QUANTIZED : GLOW_KIND_BIT(i))))
      continue;
    glow_text_printf(out, "%s%s", any ? ", " : "", quantized ? "quantized" : kind_names[i]);
    any = true;
  }
}

static void port_text(const PortDecl *p, GlowText *out) {
  glow_text_printf(out, "%s : %s%s%s%s%s", p->name.text, p->type.text, p->scalar ? "<>" : "",
                   p->flags & GLOW_PORT_OPTIONAL ? "?" : "",
                   p->flags & GLOW_PORT_VARIADIC ? "*" : "",
                   p->flags & GLOW_PORT_INOUT ? " inout" : "");
}

static void ports_row(const char *title, const Ports *ports, GlowText *out) {
  if (!ports->count)
    return;
  glow_text_printf(out, "- %s: ", title);
  for (uint32_t i = 0; i < ports->count; i++) {
    glow_text_puts(out, i ? ", `" : "`");
    port_text(&ports->data[i], out);
    glow_text_puts(out, "`");
  }
  glow_text_putc(out, '\n');
}

/* - or X of i8, u8, quantized and W of i8, i16; then T is i32 */
static void narrow_row(const OpDecl *op, GlowText *out) {
  const char *sets = "- or ";
  uint8_t var = 0;
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    if (!p->narrow)
      continue;
    glow_text_printf(out, "%s%s of ", sets, p->name.text);
    kind_list(p->narrow, out);
    sets = " and ";
    var = p->var;
  }
  if (op->narrow.count)
    glow_text_printf(out, "; then %s is i32\n", op->vars.data[var].name.text);
}

/* - W may be stored as bfloat16 */
static void stored_row(const OpDecl *op, GlowText *out) {
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    if (!p->stored)
      continue;
    glow_text_printf(out, "- %s may be stored as ", p->name.text);
    kind_list(p->stored, out);
    glow_text_putc(out, '\n');
  }
}

static void lit_text(const Lit *lit, GlowText *out) {
  if (lit->kind == LIT_STRING) {
    glow_text_quoted(out, lit->text.text, strlen(lit->text.text));
  } else if (lit->kind == LIT_LIST) {
    glow_text_putc(out, '[');
    for (uint32_t i = 0; i < lit->items.count; i++) {
      glow_text_puts(out, i ? ", " : "");
      lit_text(&lit->items.data[i], out);
    }
    glow_text_putc(out, ']');
  } else {
    glow_text_puts(out, lit->text.text);
  }
}

static void members_row(const OpDecl *op, GlowText *out) {
  for (uint32_t i = 0; i < op->members.count; i++) {
    const MemberDecl *m = &op->members.data[i];
    glow_text_printf(out, "- member `%s : %s%s", m->name.text, m->type.text, m->array ? "[]" : "");
    if (m->initial.kind != LIT_ABSENT) {
      glow_text_puts(out, " = ");
      lit_text(&m->initial, out);
    }
    glow_text_puts(out, "`");
    if (m->initial.kind == LIT_ABSENT)
      glow_text_puts(out, ", required");
    if (m->instr_only)
      glow_text_puts(out, ", on the instruction only");
    if (m->enumeration)
      for (uint32_t k = 0; k < m->enumeration->values.count; k++)
        glow_text_printf(out, "%s%s", k ? ", " : "; one of ", m->enumeration->values.data[k].text);
    if (*m->doc)
      glow_text_printf(out, ". %s", m->doc);
    glow_text_putc(out, '\n');
  }
}

static void traits_row(const OpDecl *op, GlowText *out) {
  glow_text_puts(out, "- traits: ");
  for (uint32_t i = 0; i < op->traits_list.count; i++) {
    const Call *c = &op->traits_list.data[i];
    glow_text_printf(out, "%s%s", i ? ", " : "", c->name.text);
    for (uint32_t k = 0; k < c->args.count; k++)
      glow_text_printf(out, "%s%s", k ? ", " : "(", c->args.data[k].text);
    if (c->args.count)
      glow_text_putc(out, ')');
  }
  glow_text_putc(out, '\n');
}

/* How the instruction is written, with operand names in place of values. */
static void instr_form(const OpDecl *op, GlowText *out) {
  glow_text_printf(out, "- instruction: `%s", op->snake);
  const char *comma = " ";
  for (int side = 0; side < 2; side++) {
    const Ports *ports = side ? &op->in : &op->out;
    for (uint32_t i = 0; i < ports->count; i++) {
      bool inout = ports->data[i].flags & GLOW_PORT_INOUT;
      glow_text_printf(out, "%s@%s %s%s", comma,
                       inout  ? "inout"
                       : side ? "in"
                              : "out",
                       ports->data[i].name.text,
                       ports->data[i].flags & GLOW_PORT_VARIADIC ? "..." : "");
      comma = ", ";
    }
  }
  for (uint32_t i = 0; i < op->regions.count; i++)
    glow_text_printf(out, " ^%s {...}", op->regions.data[i].name.text);
  glow_text_puts(out, "`\n");
}

static void quant_row(const OpDecl *op, GlowText *out) {
  static const char *const forms[] = {
#define FORM(e, s, d) s,
      GLOW_QUANT_FORMS(FORM)
#undef FORM
  };
  if (op->quant == GLOW_QUANT_NONE)
    return;
  glow_text_printf(out, "- quantized: %s", forms[op->quant]);
  if (op->quantize.args.count == 2)
    glow_text_printf(out, "(%s, %s)", op->quantize.args.data[0].text,
                     op->quantize.args.data[1].text);
  for (uint32_t i = 0; i < op->quant_limits.count; i++)
    glow_text_printf(out, "%s `%s = %s`", i ? " and" : " where", op->quant_limits.data[i].what.text,
                     op->quant_limits.data[i].value.text);
  glow_text_putc(out, '\n');
}

void docs_op(const OpDecl *op, GlowText *out) {
  glow_text_printf(out, "## %s\n\n%s\n\n", op->name.text, op->doc);
  ports_row("operands", &op->in, out);
  ports_row(op->is_instr ? "writes" : "results", &op->out, out);
  for (uint32_t i = 0; i < op->vars.count; i++) {
    glow_text_printf(out, "- %s is one of ", op->vars.data[i].name.text);
    kind_list(op->vars.data[i].set, out);
    glow_text_putc(out, '\n');
  }
  narrow_row(op, out);
  stored_row(op, out);
  members_row(op, out);
  for (uint32_t i = 0; i < op->regions.count; i++)
    glow_text_printf(out, "- region `^%s`%s\n", op->regions.data[i].name.text,
                     op->regions.data[i].optional ? ", optional" : "");
  traits_row(op, out);
  quant_row(op, out);
  if (!HAS(op, NODE_ONLY) && !HAS(op, SYNTAX))
    instr_form(op, out);
  for (uint32_t i = 0; i < op->also.count; i++)
    glow_text_printf(out, "%s%s%s", i ? ", " : "- does the work of ", op->also.data[i].text,
                     i + 1 == op->also.count ? "\n" : "");
  if (op->scalar.text)
    glow_text_printf(out, "- computes `%s`\n", op->scalar.text + strspn(op->scalar.text, " \n"));
}

void gen_docs(const OpFile *file, GlowText *out) {
  glow_text_puts(out,
                 "# Operators\n\nMade from the operator descriptions. Node names are written in "
                 "CamelCase, instructions in\nsnake_case. `?` marks what may be absent, `*` "
                 "zero or more.\n\n| trait | meaning |\n|---|---|\n");
#define TRAIT(e, s, d) glow_text_printf(out, "| %s | %s |\n", s, d);
  GLOW_TRAITS(TRAIT)
#undef TRAIT
  glow_text_puts(out, "| inplace(Y, X) | Y may share the buffer of X. |\n"
                      "| strided(X) | The instruction takes a tensorview with strides as X. |\n"
                      "| epilogue(Y) | Takes an `^epilogue` body that transforms Y. |\n"
                      "| body | Takes a scalar `^body`. |\n\n"
                      "| quantized | meaning |\n|---|---|\n");
#define FORM(e, s, d) glow_text_printf(out, "| %s | %s |\n", s, d);
  GLOW_QUANT_FORMS(FORM)
#undef FORM
  for (uint32_t i = 0; i < file->ops.count; i++) {
    glow_text_putc(out, '\n');
    docs_op(file->ops.data[i], out);
  }
}

void gen_keywords(const OpFile *file, GlowText *out) {
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!op->is_instr)
      glow_text_printf(out, "%s\n", op->camel);
    if (!HAS(op, NODE_ONLY))
      glow_text_printf(out, "%s\n", op->snake);
  }
  for (int i = 0; i < GLOW_KIND_COUNT; i++)
    glow_text_printf(out, "%s\n", kind_names[i]);
}

/* The words of Vim's syntax that the descriptions know: utils/vim/syntax/glow.vim reads them. */
void gen_vim(const OpFile *file, GlowText *out) {
  glow_text_puts(out, "\" Made by glow-tblgen -gen=vim from lib/ops.\n");
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!op->is_instr)
      glow_text_printf(out, "syntax keyword glowOperator %s\n", op->camel);
    if (!HAS(op, NODE_ONLY) && !HAS(op, SYNTAX))
      glow_text_printf(out, "syntax keyword glowInstruction %s\n", op->snake);
  }
  for (int i = 0; i < GLOW_KIND_COUNT; i++)
    glow_text_printf(out, "syntax keyword glowKind %s\n", kind_names[i]);
}

/* An instruction that no rule replaces. Those with syntax of their own are not counted. */
static bool stays(const OpDecl *op) {
  return !op->lower.text && !op->expanded && !HAS(op, NODE_ONLY) && !HAS(op, SYNTAX);
}

/* One that programs have before optimizations. */
static bool is_primitive(const OpDecl *op) { return stays(op) && !HAS(op, OPTIMIZING); }

static bool is_optimizing(const OpDecl *op) { return stays(op) && HAS(op, OPTIMIZING); }

/* Operators without an instruction that no rule replaces: on sequences, optionals, strings. */
static bool is_value_operator(const OpDecl *op) {
  return !op->lower.text && !op->expanded && HAS(op, NODE_ONLY) && HAS(op, HEAP);
}

static void primitive_rows(const OpFile *file, bool (*filter)(const OpDecl *), GlowText *out) {
  glow_text_puts(out, "| operator | instruction | what |\n|---|---|---|\n");
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (filter(op))
      glow_text_printf(out, "| %s | %s | %s |\n", op->is_instr ? "" : op->camel,
                       HAS(op, NODE_ONLY) ? "" : op->snake, op->doc);
  }
}

void gen_primitives(const OpFile *file, GlowText *out) {
  uint32_t primitives = 0, values = 0, operators = 0;
  for (uint32_t i = 0; i < file->ops.count; i++) {
    primitives += is_primitive(file->ops.data[i]);
    values += is_value_operator(file->ops.data[i]);
    operators += !file->ops.data[i]->is_instr;
  }
  glow_text_printf(out,
                   "# Primitives\n\nMade from the operator descriptions. With `-lower=all` the %u "
                   "operators come down to %u instructions, on which\na backend can start "
                   "(HowTo-add-a-backend), besides alloc, dealloc, tensorview and the ends of "
                   "regions.\n\n",
                   operators, primitives);
  primitive_rows(file, is_primitive, out);
  glow_text_puts(out,
                 "\nOptimizations alone make these: a program that went through -lower=all and "
                 "-irgen has them only if\nits text did, so that a backend is asked for them "
                 "only by the passes that it runs itself.\n\n");
  primitive_rows(file, is_optimizing, out);
  glow_text_printf(out,
                   "\nSequences, optionals and strings are values of the graph interpreter alone, "
                   "with %u operators that are no instructions:\n\n",
                   values);
  primitive_rows(file, is_value_operator, out);
}
