/* Literals as operands: Add(@x, 1.0).
 *
 * A literal becomes a Splat of rank 0 before the node. The second walk sets the kind of the Splat,
 * when the types of the node's other operands are known. Until then the Splat's `scratch` points at
 * the literal, and its name is the empty string, which no text can write. */
#include "ir/parse_internal.h"

typedef struct Literal {
  GlowToken token;
  GlowItem item;
} Literal;

GlowValue *glow_parse_literal(GlowParser *p, GlowValueTag tag, const GlowToken *t) {
  Literal *literal = GLOW_NEW(p->arena, Literal);
  glow_parse_item(p, tag, t); /* the only item, since attributes come after operands */
  *literal = (Literal){*t, p->items.data[p->items.count - 1]};
  glow_parse_drop_items(p);
  GlowNode *n = glow_node_new(p->module, GLOW_OP_SPLAT, (GlowNodeShape){.nresults = 1});
  n->src = glow_parse_loc(p, t);
  n->scratch = literal;
  n->results[0].name = glow_str(p->ctx, ""); /* a number later, when the text's names are known */
  glow_node_insert(n, p->scopes.data[p->scopes.count - 1].block, NULL);
  return &n->results[0];
}

bool glow_parse_is_literal(const GlowNode *n) { return n->op == GLOW_OP_SPLAT && n->scratch; }

static GlowNode *literal_of(const GlowUse *use) {
  const GlowValue *v = use->value;
  return v && v->kind == GLOW_VALUE_RESULT && glow_parse_is_literal(v->def.node) ? v->def.node
                                                                                 : NULL;
}

/* The type of an operand that is not a literal and whose port has a type variable. With `same`, the
 * variable is that of `port`; else the variable of `port` must allow the operand's kind. NULL if
 * there is none. */
static const GlowType *variable_operand(const GlowNode *n, const GlowOpPort *port, bool same) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowOpPort *other = glow_op_in_port(d, i);
    const GlowValue *v = n->operands[i].value;
    if (!v || literal_of(&n->operands[i]) || !other || other->type != GLOW_PORT_VAR)
      continue;
    bool fits = same ? other->var == port->var
                     : glow_type_is_tensor(v->type) &&
                           (d->vars[port->var].kinds & GLOW_KIND_BIT(v->type->kind));
    if (fits || glow_type_is_error(v->type))
      return v->type;
  }
  return NULL;
}

static const GlowType *variable_claim(const GlowNode *n, const GlowOpPort *port) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowOpPort *out = glow_op_out_port(d, i);
    if (out && out->type == GLOW_PORT_VAR && out->var == port->var &&
        glow_type_is_tensor(n->results[i].type))
      return n->results[i].type;
  }
  return NULL;
}

/* A type with the kind that the literal at operand i must have, or NULL if nothing tells. */
static const GlowType *kind_of(const GlowNode *n, uint32_t i) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowOpPort *port = glow_op_in_port(glow_node_desc(n), i);
  if (port && port->type == GLOW_PORT_KIND)
    return glow_type_scalar(ctx, (GlowKind)port->var);
  if (!port || port->type != GLOW_PORT_VAR)
    return NULL;
  if (!port->narrow && glow_node_is_narrow(n))
    return glow_type_scalar(ctx, GLOW_KIND_I32);
  const GlowType *t = variable_operand(n, port, true);
  t = t ? t : variable_claim(n, port);
  return t ? t : variable_operand(n, port, false);
}

/* Sets type and value of the literal `splat`, operand i of n. After an error its type stays the
 * error type, so n reports nothing more. */
static void resolve_literal(GlowParser *p, GlowNode *n, uint32_t i, GlowNode *splat) {
  const Literal *literal = splat->scratch;
  const GlowToken *t = &literal->token;
  const GlowType *like = GLOW_HAS(glow_node_desc(n), TERMINATOR) ? NULL : kind_of(n, i);
  GlowSplatMembers *m = splat->members;
  splat->scratch = NULL;
  bool surplus = !GLOW_HAS(glow_node_desc(n), TERMINATOR) && !glow_op_in_port(glow_node_desc(n), i);
  if (surplus || (like && glow_type_is_error(like)))
    return; /* n has too many operands or a wrong one, which is reported elsewhere */
  if (!like || !glow_type_is_tensor(like) || like->quantized) {
    glow_parse_error(p, t, "%s; a Splat with a type can stand for '%.*s'",
                     like ? "a literal has no quantized type, sequence or optional"
                          : "nothing here says of which kind this literal is",
                     (int)t->length, glow_token_text(p, t));
    return;
  }
  const GlowType *type = glow_type_scalar(p->ctx, like->kind);
  p->anchor = p->counted = *t;
  if (!glow_parse_element(p, &literal->item, type, &m->value))
    return;
  splat->origin = n->origin;
  splat->results[0].type = type;
  glow_value_set_name(&splat->results[0], NULL);
}

void glow_parse_resolve_literals(GlowParser *p, GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands && !p->fatal; i++) {
    GlowNode *splat = literal_of(&n->operands[i]);
    if (splat)
      resolve_literal(p, n, i, splat);
  }
}
