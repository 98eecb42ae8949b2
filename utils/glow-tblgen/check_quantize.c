/* Resolves `quantize` clauses: what an operator is between quantized values. */
#include "tblgen.h"

static const char *const forms[] = {
#define FORM(e, s, d) s,
    GLOW_QUANT_FORMS(FORM)
#undef FORM
};
enum { NFORMS = sizeof forms / sizeof *forms };

/* An element-wise operator on floats with a result of the same kind works between conversions; with
 * one operand its results can be listed. */
static GlowQuantForm usual_form(const OpDecl *op) {
  if (!op->scalar.text || op->out.count != 1 || op->out.data[0].type_kind != GLOW_PORT_VAR ||
      !may_be_float(op, &op->out.data[0]))
    return GLOW_QUANT_NONE;
  return op->in.count == 1 ? GLOW_QUANT_TABLE : GLOW_QUANT_FLOAT;
}

/* Whether the port takes quantized tensors. */
static bool takes_quantized(const OpDecl *op, const PortDecl *p) {
  return p->type_kind == GLOW_PORT_ANY ||
         (p->type_kind == GLOW_PORT_VAR && (op->vars.data[p->var].set & GLOW_KINDS_QUANTIZED));
}

static void check_ports(const OpFile *file, OpDecl *op) {
  const Names *args = &op->quantize.args;
  if (args->count != 2) {
    glow_error(file->ctx, op->quantize.name.loc, "'%s' takes a result and an operand",
               op->quantize.name.text);
    return;
  }
  int out = ops_find_port(file, op, args->data[0], false, true);
  int in = ops_find_port(file, op, args->data[1], true, false);
  if (out < 0 || in < 0)
    return;
  op->quant_out = (uint8_t)out;
  op->quant_in = (uint8_t)in;
  const PortDecl *y = &op->out.data[out], *x = &op->in.data[in];
  if (!takes_quantized(op, x) || x->type_kind != y->type_kind || x->var != y->var)
    glow_error(file->ctx, op->quantize.name.loc,
               "'%s' needs '%s' and '%s' of one type that may be quantized", op->quantize.name.text,
               y->name.text, x->name.text);
}

static void check_limit(const OpFile *file, const OpDecl *op, QuantLimit *l) {
  for (uint32_t i = 0; i < op->in.count; i++) {
    if (op->in.data[i].name.text != l->what.text)
      continue;
    l->limit = (GlowQuantLimit){.absent = true, .index = (uint8_t)i};
    if (strcmp(l->value.text, "none") || !(op->in.data[i].flags & GLOW_PORT_OPTIONAL))
      glow_error(file->ctx, l->value.loc, "an operand can only be 'none', if it is optional");
    return;
  }
  for (uint32_t i = 0; i < op->members.count; i++) {
    const MemberDecl *m = &op->members.data[i];
    if (m->name.text != l->what.text || !m->enumeration)
      continue;
    for (uint32_t k = 0; k < m->enumeration->values.count; k++)
      if (m->enumeration->values.data[k].text == l->value.text) {
        l->limit = (GlowQuantLimit){.index = (uint8_t)i, .value = (int)k};
        return;
      }
    glow_error(file->ctx, l->value.loc, "'%s' is no %s", l->value.text, m->type.text);
    return;
  }
  glow_error(file->ctx, l->what.loc, "'%s' has no operand or member of an enum '%s'", op->name.text,
             l->what.text);
}

void quantize_check(const OpFile *file, OpDecl *op) {
  const Call *c = &op->quantize;
  if (!c->name.text) {
    op->quant = usual_form(op);
    return;
  }
  int form = 0;
  while (form < NFORMS && strcmp(forms[form], c->name.text))
    form++;
  if (form == NFORMS) {
    glow_error(file->ctx, c->name.loc, "unknown form '%s'%s", c->name.text,
               did_you_mean(file->ctx, c->name.text, forms, NFORMS));
    return;
  }
  op->quant = (GlowQuantForm)form;
  if (op->quant == GLOW_QUANT_SAME || op->quant == GLOW_QUANT_CLAMP)
    check_ports(file, op);
  else if (c->args.count)
    glow_error(file->ctx, c->name.loc, "'%s' takes no ports", c->name.text);
  for (uint32_t i = 0; i < op->quant_limits.count; i++)
    check_limit(file, op, &op->quant_limits.data[i]);
}
