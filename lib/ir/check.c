/* A node against its operator's description: how many operands, results and regions, and of which
 * types; then shape inference and claims. Builder, parser and verifier all come through here. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir_internal.h"
#include "ops/infer.h"

bool glow_type_is_error(const GlowType *t) { return t->cls == GLOW_TYPE_ERROR; }

void glow_note_value(const GlowNode *n, const GlowValue *v) {
  if (!v->name)
    return;
  const char *sigil = v->kind == GLOW_VALUE_STORAGE ? "@" : "%";
  GlowLoc loc = glow_value_loc(v);
  if (loc.file || loc.node)
    glow_note(n->block->module->ctx, loc, "'%s%s' is defined here", sigil, v->name);
}

/* True if an operand of n has the error type: then n reports nothing more. */
static bool has_error(const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value && glow_type_is_error(n->operands[i].value->type))
      return true;
  return n->pred.value && glow_type_is_error(n->pred.value->type);
}

/* ---- Counts ---------------------------------------------------------------------------------- */
/* The number of ports up to the last required one; the ports behind it may be left out. */
static uint32_t required_count(const GlowOpPort *ports, uint32_t count) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!(ports[i].flags & (GLOW_PORT_OPTIONAL | GLOW_PORT_VARIADIC)))
      n = i + 1;
  return n;
}

static bool check_count(const GlowNode *n, const GlowOpPort *ports, uint32_t nports, uint32_t count,
                        const char *what) {
  uint32_t least = required_count(ports, nports);
  bool open = nports && (ports[nports - 1].flags & GLOW_PORT_VARIADIC);
  if (count >= least && (open || count <= nports))
    return true;
  if (open)
    return glow_verify_error(n, "expected at least %u %s%s, found %u", least, what,
                             least == 1 ? "" : "s", count);
  if (least == nports)
    return glow_verify_error(n, "expected %u %s%s, found %u", least, what, least == 1 ? "" : "s",
                             count);
  return glow_verify_error(n, "expected %u to %u %ss, found %u", least, nports, what, count);
}

static bool check_present(const GlowNode *n, const GlowOpPort *port, const GlowValue *v,
                          const char *what) {
  if (v || (port->flags & GLOW_PORT_OPTIONAL))
    return true;
  return glow_verify_error(n, "%s %s is missing: it is not optional", what, port->name);
}

static bool check_counts(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool instr = glow_node_is_instr(n), syntax = GLOW_HAS(d, SYNTAX);
  if (instr ? !d->instr || GLOW_HAS(d, NODE_ONLY) : !d->node || GLOW_HAS(d, INSTR_ONLY))
    return glow_verify_error(n, "exists in %s only", instr ? "graphs" : "programs");
  uint32_t nouts = instr && !syntax ? n->nouts : n->nresults;
  if (!check_count(n, d->in, d->nin, glow_node_nins(n), "operand") ||
      !check_count(n, d->out, d->nout, nouts, instr && !syntax ? "@out operand" : "result"))
    return false;
  if (instr && !syntax && n->nresults)
    return glow_verify_error(n, "an instruction has no results");
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    if (!check_present(n, glow_op_in_port(d, i), glow_node_in(n, i), "operand"))
      return false;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (!check_present(n, glow_op_out_port(d, i), n->operands[i].value, "@out operand"))
      return false;
  for (uint32_t i = n->noperands - n->nextra; i < n->noperands; i++)
    if (!n->operands[i].value)
      return glow_verify_error(n, "operand %u is none, but a parameter of ^epilogue stands for it",
                               i);
  return true;
}

/* ---- Regions --------------------------------------------------------------------------------- */
static bool check_regions(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool instr = glow_node_is_instr(n);
  for (uint32_t i = 0; i < d->nregions; i++) {
    const GlowBlock *b = i < n->nregions ? n->regions[i] : NULL;
    if (!b && d->regions[i].optional)
      continue;
    if (!b)
      return glow_verify_error(n, "region ^%s is missing", d->regions[i].name);
    const GlowNode *end = glow_block_terminator(b);
    if (!instr && !glow_node_is(end, GLOW_OP_YIELD))
      return glow_verify_error(n, "region ^%s must end with yield", b->label);
  }
  const GlowBlock *body = glow_node_epilogue(n);
  if (!body)
    return !d->body || glow_verify_error(n, "its scalar body is missing: ^body(...) = { ... }");
  if (!instr || !glow_op_scalar_label(d))
    return glow_verify_error(n, "takes no scalar body");
  if (!glow_node_is(glow_block_terminator(body), GLOW_OP_YIELD))
    return glow_verify_error(n, "^%s must end with yield", body->label);
  if (glow_block_terminator(body)->noperands != n->nouts)
    return glow_verify_error(n, "^%s yields %u value%s for %u @out operand%s", body->label,
                             glow_block_terminator(body)->noperands,
                             glow_block_terminator(body)->noperands == 1 ? "" : "s", n->nouts,
                             n->nouts == 1 ? "" : "s");
  uint32_t bound = d->body ? glow_node_nins(n) : n->nouts + n->nextra;
  if (body->nparams != bound)
    return glow_verify_error(n, "^%s has %u parameter%s, expected %u: %s", body->label,
                             body->nparams, body->nparams == 1 ? "" : "s", bound,
                             d->body
                                 ? "one for each @in operand"
                                 : "one for each @out operand, then one for each extra operand");
  return true;
}

/* ---- Types ----------------------------------------------------------------------------------- */
static bool in_set(GlowKindSet set, const GlowType *t) {
  return t->quantized ? (set & GLOW_KINDS_QUANTIZED) != 0 : (set & GLOW_KIND_BIT(t->kind)) != 0;
}

bool glow_op_is_narrow(const GlowOpDesc *d, const GlowType *const *in, uint32_t count) {
  bool any = false;
  for (uint32_t i = 0; i < d->nin; i++) {
    GlowKindSet set = d->in[i].narrow;
    const GlowType *t = i < count ? in[i] : NULL;
    if (!set)
      continue;
    if (!t || !glow_type_is_tensor(t) || !(set & GLOW_KIND_BIT(t->kind)) ||
        (t->quantized && !(set & GLOW_KINDS_QUANTIZED)))
      return false;
    any = true;
  }
  return any;
}

bool glow_node_is_narrow(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  const GlowType *in[8] = {NULL};
  uint32_t count = glow_node_nins(n);
  count = count < 8 ? count : 8;
  for (uint32_t i = 0; i < count; i++)
    in[i] = glow_node_in(n, i) ? glow_node_in(n, i)->type : NULL;
  return glow_op_is_narrow(d, in, count);
}

bool glow_product_is_direct(const GlowNode *n) {
  return n->op != GLOW_OP_MAT_MUL ||
         ((const GlowMatMulMembers *)n->members)->strategy == GLOW_PRODUCT_STRATEGY_DIRECT;
}

/* Whether a port of an operator takes values of type t. */
static bool port_accepts(const GlowOpDesc *d, const GlowOpPort *port, const GlowType *t) {
  switch ((GlowPortTypeKind)port->type) {
  case GLOW_PORT_ANY:
    return true;
  case GLOW_PORT_VAR:
    return glow_type_is_tensor(t) && in_set(d->vars[port->var].kinds, t);
  case GLOW_PORT_KIND:
    return glow_type_is_tensor(t) && t->kind == (GlowKind)port->var && !t->quantized &&
           (!port->scalar || t->unranked || t->rank == 0);
  case GLOW_PORT_SEQ:
    return t->cls == GLOW_TYPE_SEQ;
  case GLOW_PORT_OPT:
    return t->cls == GLOW_TYPE_OPT;
  }
  return false;
}

static void describe_kinds(GlowText *t, GlowKindSet set) {
  bool first = true;
  for (uint32_t k = 0; k < GLOW_KIND_COUNT; k++) {
    if (!(set & GLOW_KIND_BIT(k)))
      continue;
    glow_text_printf(t, "%s%s", first ? "" : ", ", glow_kind_info[k].name);
    first = false;
  }
  if (set & GLOW_KINDS_QUANTIZED)
    glow_text_printf(t, "%sa quantized kind", first ? "" : ", ");
}

/* What a port accepts, for messages: "float, double or a quantized kind". */
static void describe_port(GlowText *t, const GlowOpDesc *d, const GlowOpPort *port) {
  static const char *const plain[] = {"any type", "", "", "a sequence", "an optional"};
  if (port->type == GLOW_PORT_KIND) {
    glow_text_printf(t, "%s%s", glow_kind_info[port->var].name, port->scalar ? "<>" : "");
    return;
  }
  if (port->type != GLOW_PORT_VAR) {
    glow_text_puts(t, plain[port->type]);
    return;
  }
  describe_kinds(t, d->vars[port->var].kinds);
  for (uint32_t i = 0; port->narrow && i < d->nin; i++) {
    if (!d->in[i].narrow || &d->in[i] == port)
      continue;
    glow_text_puts(t, "; or ");
    describe_kinds(t, port->narrow);
    glow_text_printf(t, " if %s is ", d->in[i].name);
    describe_kinds(t, d->in[i].narrow);
  }
}

/* The first operand or result seen for each type variable. */
typedef struct Binding {
  const GlowType *type;
  const char *port;
  const GlowValue *value;
} Binding;

static bool report_port(const GlowNode *n, const GlowOpPort *port, const GlowValue *v) {
  GlowContext *ctx = n->block->module->ctx;
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  describe_port(&t, glow_node_desc(n), port);
  glow_verify_error(n, "%s has type %s, expected %s", port->name, glow_type_str(ctx, v->type),
                    glow_text_cstr(&t));
  glow_defer_pop(ctx, &release, true);
  glow_note_value(n, v);
  return false;
}

/* Whether stored elements of a and b, of one kind, stand for the same numbers. */
static bool same_parameters(const GlowType *a, const GlowType *b) {
  return a->quantized == b->quantized &&
         (!a->quantized || (a->scale == b->scale && a->offset == b->offset));
}

bool glow_port_stores(const GlowOpPort *port, const GlowType *t) {
  return glow_type_is_tensor(t) && !t->quantized && (port->stored & GLOW_KIND_BIT(t->kind)) != 0;
}

static bool check_type(const GlowNode *n, const GlowOpPort *port, const GlowValue *v, bool narrow,
                       Binding *bindings) {
  const GlowOpDesc *d = glow_node_desc(n);
  if ((port->narrow && narrow) || glow_port_stores(port, v->type))
    return true;
  if (!port_accepts(d, port, v->type))
    return report_port(n, port, v);
  if (port->type != GLOW_PORT_VAR)
    return true;
  if (narrow && (v->type->kind != GLOW_KIND_I32 || v->type->quantized)) {
    glow_verify_error(n, "%s has type %s, expected i32: the operands are narrow integers",
                      port->name, glow_type_str(n->block->module->ctx, v->type));
    glow_note_value(n, v);
    return false;
  }
  Binding *b = &bindings[port->var];
  if (!b->type) {
    *b = (Binding){v->type, port->name, v};
    return true;
  }
  bool same = b->type->kind == v->type->kind &&
              (!GLOW_HAS(d, ELEMENTWISE) || b->type->quantized == v->type->quantized);
  bool tied = d->quant != GLOW_QUANT_SAME || same_parameters(b->type, v->type);
  if (same && tied)
    return true;
  GlowContext *ctx = n->block->module->ctx;
  glow_verify_error(n, "%s has type %s, but %s has %s: they must have the same %s", port->name,
                    glow_type_str(ctx, v->type), b->port, glow_type_str(ctx, b->type),
                    same ? "scale and offset" : "element kind");
  glow_note_value(n, v);
  if (b->value != v)
    glow_note_value(n, b->value);
  return false;
}

enum { MAX_VARS = 8 };

static bool check_types(const GlowNode *n, bool results) {
  const GlowOpDesc *d = glow_node_desc(n);
  Binding bindings[MAX_VARS] = {{0}};
  GLOW_CHECK(n->block->module->ctx, d->nvars <= MAX_VARS,
             "an operator has too many type variables");
  bool narrow = glow_node_is_narrow(n);
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && !check_type(n, glow_op_in_port(d, i), v, narrow, bindings))
      return false;
  }
  for (uint32_t i = 0; i < n->nouts; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && !((int)i == d->epilogue && glow_node_epilogue(n)) &&
        !check_type(n, glow_op_out_port(d, i), v, narrow, bindings))
      return false;
  }
  for (uint32_t i = 0; results && i < n->nresults; i++)
    if (!check_type(n, glow_op_out_port(d, i), &n->results[i], narrow, bindings))
      return false;
  return true;
}

/* An operator with limits of its quantized form takes quantized operands within these alone. */
static bool check_quantized(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  const GlowValue *x = d->nquant_limits ? glow_node_in(n, d->quant_in) : NULL;
  if (!x || !glow_type_is_tensor(x->type) || !x->type->quantized ||
      glow_node_quant_form(n) != GLOW_QUANT_NONE)
    return true;
  GlowContext *ctx = n->block->module->ctx;
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  for (uint32_t i = 0; i < d->nquant_limits; i++) {
    const GlowQuantLimit *l = &d->quant_limits[i];
    const GlowMember *m = &d->members[l->index];
    glow_text_printf(&t, "%s%s = %s", i ? " and " : "", l->absent ? d->in[l->index].name : m->name,
                     l->absent ? "none" : m->enumeration->values[l->value]);
  }
  glow_verify_error(n, "%s is quantized, which needs %s", d->in[d->quant_in].name,
                    glow_text_cstr(&t));
  glow_defer_pop(ctx, &release, true);
  return false;
}

bool glow_node_check(const GlowNode *n) {
  return check_counts(n) && check_regions(n) && !has_error(n) && check_types(n, false) &&
         check_quantized(n);
}

/* ---- Inference ------------------------------------------------------------------------------- */
/* Room for the arrays of one inference: on the stack for all but very wide nodes. */
typedef struct InferRoom {
  const GlowType *small_types[3 * 16];
  const GlowTensor *small_known[16];
  void *heap;
} InferRoom;

static bool run_infer(const GlowNode *n, const GlowType **in, const GlowType **claims,
                      const GlowTensor **known, const GlowType **types) {
  GlowContext *ctx = n->block->module->ctx;
  bool instr = glow_node_is_instr(n) && n->nouts;
  uint32_t nin = glow_node_nins(n), nout = instr ? n->nouts : n->nresults;
  for (uint32_t i = 0; i < nin; i++) {
    const GlowValue *v = glow_node_in(n, i);
    in[i] = v ? v->type : NULL;
    known[i] = v ? glow_value_known(v) : NULL;
  }
  for (uint32_t i = 0; i < nout; i++) {
    const GlowValue *v = instr ? n->operands[i].value : &n->results[i];
    claims[i] = v && !glow_type_is_error(v->type) ? v->type : NULL;
    types[i] = NULL;
  }
  GlowInfer infer = {.ctx = ctx,
                     .desc = glow_node_desc(n),
                     .members = n->members,
                     .loc = glow_node_loc(n),
                     .nin = nin,
                     .nout = nout,
                     .in = in,
                     .known = known,
                     .out = types,
                     .node = n,
                     .claims = claims};
  return glow_infer_run(&infer);
}

bool glow_node_infer(const GlowNode *n, const GlowType **types) {
  GlowContext *ctx = n->block->module->ctx;
  uint32_t nin = glow_node_nins(n), nout = n->nouts > n->nresults ? n->nouts : n->nresults;
  InferRoom room;
  if (nin <= 16 && nout <= 16)
    return run_infer(n, room.small_types, room.small_types + 16, room.small_known, types);
  size_t count = (size_t)nin * 2 + nout + 1;
  const void **heap = glow_malloc(ctx, count * sizeof *heap);
  GlowDefer release;
  glow_defer_push(ctx, &release, free, heap);
  bool ok = run_infer(n, (const GlowType **)heap, (const GlowType **)heap + nin,
                      (const GlowTensor **)heap + nin + nout, types);
  glow_defer_pop(ctx, &release, true);
  return ok;
}

/* Sets the type of result i to `proved`; a claim stays, unless it contradicts `proved`. */
static bool settle(GlowNode *n, uint32_t i, bool claimed, const GlowType *proved) {
  GlowContext *ctx = n->block->module->ctx;
  GlowValue *v = &n->results[i];
  const char *port = glow_op_out_port(glow_node_desc(n), i)->name;
  if (!claimed) {
    if (!proved)
      return glow_verify_error(
          n, "the type of result %s must be written: it does not follow from the operands", port);
    v->type = proved;
    return true;
  }
  if (!proved || glow_type_fit(v->type, proved) != GLOW_FIT_CONTRADICTS)
    return true;
  glow_verify_error(n, "result %s is written as %s, but inference gives %s", port,
                    glow_type_str(ctx, v->type), glow_type_str(ctx, proved));
  for (uint32_t k = 0; k < n->noperands; k++)
    if (n->operands[k].value) {
      glow_note_value(n, n->operands[k].value);
      break;
    }
  return false;
}

static bool settle_all(GlowNode *n, const bool *claimed, const GlowType **types) {
  if (!glow_node_check(n) || !glow_node_infer(n, types))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!settle(n, i, claimed && claimed[i], types[i]))
      return false;
  return check_types(n, true);
}

bool glow_node_resolve(GlowNode *n, const bool *claimed) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *small[16], **types = small;
  uint32_t count = n->nouts > n->nresults ? n->nouts : n->nresults;
  GlowDefer release;
  if (count > 16) {
    types = glow_malloc(ctx, count * sizeof *types);
    glow_defer_push(ctx, &release, free, types);
  }
  bool ok = settle_all(n, claimed, types);
  if (types != small)
    glow_defer_pop(ctx, &release, true);
  for (uint32_t i = 0; !ok && i < n->nresults; i++)
    if (!claimed || !claimed[i])
      n->results[i].type = glow_type_error(ctx);
  return ok;
}

/* ---- Instructions ---------------------------------------------------------------------------- */
static const GlowType *without_layout(GlowContext *ctx, const GlowType *t) {
  return glow_type_is_tensor(t) && t->layout ? glow_type_with_layout(ctx, t, NULL) : t;
}

/* The parameter of an epilogue that stands for output i has the kind that the operator computes. */
static bool check_computed(const GlowNode *n, uint32_t i, const GlowType *proved) {
  const GlowBlock *body = glow_node_epilogue(n);
  const GlowType *t = i < body->nparams ? body->params[i]->type : proved;
  if (!glow_type_is_tensor(t) || (t->kind == proved->kind && t->quantized == proved->quantized))
    return true;
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *element = glow_type_with_dims(ctx, proved, 0, NULL);
  return glow_verify_error(n, "%%%s of ^%s has type %s, but what is computed has %s",
                           body->params[i]->name, body->label, glow_type_str(ctx, t),
                           glow_type_str(ctx, element));
}

/* Compares the type of output i's buffer with the type `proved` by inference: they must be the same
 * up to layout and bounds. */
static bool check_output(const GlowNode *n, uint32_t i, const GlowType *proved) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowValue *v = n->operands[i].value;
  if (!v || !proved)
    return true;
  const GlowType *have = without_layout(ctx, v->type), *want = without_layout(ctx, proved);
  bool free_kind = (int)i == glow_node_desc(n)->epilogue && glow_node_epilogue(n);
  if (free_kind && glow_type_is_tensor(want) && !check_computed(n, i, want))
    return false;
  if (free_kind && glow_type_is_tensor(want) && glow_type_is_tensor(have))
    want = glow_type_with_quant(ctx, glow_type_with_kind(ctx, want, have->kind), have->quantized,
                                have->scale, have->offset);
  if (glow_type_fit(have, want) != GLOW_FIT_CONTRADICTS)
    return true;
  glow_verify_error(n, "@out %s has type %s, but inference gives %s",
                    glow_op_out_port(glow_node_desc(n), i)->name, glow_type_str(ctx, v->type),
                    glow_type_str(ctx, proved));
  glow_note_value(n, v);
  return false;
}

static bool check_outputs(const GlowNode *n, const GlowType **types) {
  if (!glow_node_infer(n, types))
    return false;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (!check_output(n, i, types[i]))
      return false;
  return true;
}

bool glow_instr_check_outputs(const GlowNode *n) {
  if (GLOW_HAS(glow_node_desc(n), CONTROL) && n->nouts == 0)
    return true; /* structured control flow writes through its regions */
  const GlowType *small[16];
  if (n->nouts <= 16)
    return check_outputs(n, small);
  GlowContext *ctx = n->block->module->ctx;
  const GlowType **types = glow_malloc(ctx, n->nouts * sizeof *types);
  GlowDefer release;
  glow_defer_push(ctx, &release, free, types);
  bool ok = check_outputs(n, types);
  glow_defer_pop(ctx, &release, true);
  return ok;
}

bool glow_node_check_hook(const GlowNode *n) {
  return !glow_verify_hooks[n->op] || glow_verify_hooks[n->op](n);
}
