/* Moves a module from one machine to another: operands that are packed get the layout of the target
 * `to`, tiles and shards are removed, to be chosen again. Without `to`, the module is for no
 * machine, and these operands become plain.
 *
 * Works on funcs and programs. If a buffer changes its size, the memory plan of its program is
 * dropped. Strategies stay, so no bit of a result changes. */
#include "target/target.h"
#include "transforms/relayout.h"

typedef struct Retarget {
  GlowPassRun *run;
  const GlowTarget *from, *to; /* `to` is NULL: no machine */
  bool unplanned;              /* a buffer of the program at hand changed its size */
} Retarget;

/* Whether kernels of target t read an operand of n packed; sets its port and its layout. */
static bool is_packed_on(const GlowTarget *t, const GlowNode *n, uint32_t *port,
                         const GlowLayout **layout) {
  GlowChoice choices[GLOW_CHOICES];
  const char *why = NULL;
  if (!t || !glow_target_choices(t, n, choices, &why) || !choices[0].packed)
    return false;
  *port = 0;
  while (!(choices[0].packed >> *port & 1))
    ++*port;
  *layout = choices[0].in[*port];
  return true;
}

/* Whether an operand of n is packed on either target; sets its port, and its layout on the new
 * one. */
static bool is_packed(const Retarget *r, const GlowNode *n, uint32_t *port,
                      const GlowLayout **layout) {
  if (is_packed_on(r->to, n, port, layout))
    return true;
  bool was = is_packed_on(r->from, n, port, layout);
  *layout = NULL;
  return was;
}

/* The Relayout that packs a value when the function runs, built again. */
static GlowValue *repack_node(const GlowValue *v, const GlowType *t) {
  GlowNode *n = glow_value_def(v, GLOW_OP_RELAYOUT);
  if (!n)
    return NULL;
  GlowValue *x = glow_node_in(n, 0);
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = GLOW_OP_RELAYOUT, .ins = &x, .nins = 1, .types = &t};
  GlowNode *fresh = glow_node_create(&b, &spec);
  return fresh ? &fresh->results[0] : NULL;
}

/* Whether nothing but Relayouts, n and others that read it packed, and the end of its life touches
 * a buffer. */
static bool holds_packed(const Retarget *r, const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    uint32_t port;
    const GlowLayout *layout;
    bool packed = is_packed(r, u->user, &port, &layout) && glow_node_in(u->user, port) == v;
    if (!packed && u->user->op != GLOW_OP_RELAYOUT && u->user->op != GLOW_OP_DEALLOC)
      return false;
  }
  return glow_value_def(v, GLOW_OP_ALLOC) != NULL;
}

static void remove_unused(Retarget *r, GlowStorage *s) {
  if (!s->value.uses && s->init.kind == GLOW_INIT_EVAL &&
      !glow_gradient_names(r->run->module, s->value.name))
    glow_storage_remove(s);
}

/* Gives a packed operand of n the layout `want`. */
static bool repack(Retarget *r, GlowNode *n, uint32_t port, const GlowLayout *want) {
  GlowPassRun *run = r->run;
  GlowUse *use = &n->operands[n->nouts + port];
  GlowValue *v = use->value;
  if (!v->type->layout || v->type->layout == want)
    return true;
  const char *to = want ? want->text : "the plain layout";
  const GlowType *t = glow_type_with_layout(run->ctx, v->type, want);
  GlowStorage *s = v->kind == GLOW_VALUE_STORAGE ? v->def.storage : NULL;
  if (!s && glow_node_is_instr(n) && holds_packed(r, v)) {
    r->unplanned |= glow_type_bytes(t) != glow_type_bytes(v->type);
    glow_pass_changed(run, n, "an operand in %s", to);
    v->type = t;
    return true;
  }
  bool constant = s && s->cls == GLOW_CONSTANT;
  GlowValue *y =
      constant ? glow_constant_relayout(run->module, run->arena, v, want, n) : repack_node(v, t);
  if (!y) {
    glow_pass_remark(run, glow_node_loc(n), "what is packed stays as it is: it is no constant");
    return !constant;
  }
  glow_pass_changed(run, n, "an operand in %s", to);
  glow_use_set(use, y);
  if (s)
    remove_unused(r, s);
  else
    glow_remove_dead(v->def.node);
  return true;
}

/* Removes the tile and the shards of an instruction. */
static void reset_cuts(Retarget *r, GlowNode *n) {
  const GlowMember *tile = glow_op_member(glow_node_desc(n), "tile");
  bool tiled = tile && tile->instr_only && !glow_member_is_default(tile, n->members);
  if (!tiled && !n->shards)
    return;
  glow_pass_changed(r->run, n, "how %s is cut is open", glow_node_desc(n)->instr);
  n->shards = 0;
  if (tiled)
    memcpy((char *)n->members + tile->offset, tile->initial, sizeof(GlowArray));
}

static bool visit(GlowNode *n, void *arg) {
  Retarget *r = arg;
  if (glow_node_is_instr(n))
    reset_cuts(r, n);
  uint32_t port;
  const GlowLayout *layout;
  return !is_packed(r, n, &port, &layout) || repack(r, n, port, layout);
}

static bool drop_place(GlowNode *n, void *arg) {
  (void)arg;
  if (n->op == GLOW_OP_ALLOC)
    ((GlowAllocMembers *)n->members)->at = -1;
  return true;
}

static bool retarget_function(Retarget *r, GlowFunction *f) {
  r->unplanned = false;
  if (!glow_block_walk(f->body, visit, r))
    return false;
  if (r->unplanned) {
    glow_block_walk(f->body, drop_place, NULL);
    f->arena = -1;
  }
  return true;
}

bool glow_pass_retarget(GlowPassRun *run) {
  Retarget r = {.run = run, .from = glow_target_asked(run->module)};
  const char *to = glow_pass_option(run, "to");
  if (to && !(r.to = glow_target_named(run->ctx, GLOW_NOWHERE, to)))
    return false;
  GlowStr target = to ? glow_str(run->ctx, to) : NULL;
  glow_pass_begin_batch(run); /* operands fit the target that the module names */
  if (run->module->target != target)
    glow_pass_changed(run, NULL, "for target %s", to ? to : "none");
  run->module->target = target;
  bool ok = true;
  for (GlowFunction *f = run->module->first_function; f && ok; f = f->next)
    ok = f->kind == GLOW_GRADIENT || retarget_function(&r, f);
  glow_pass_end_batch(run);
  return ok;
}
