/* Giving nodes other layouts: see relayout.h. */
#include "transforms/relayout.h"

#include "analysis/spans.h"

GlowRelayouts glow_relayouts_begin(GlowPassRun *run) {
  GlowRelayouts r = {.run = run};
  r.known = glow_map_create(run->arena);
  return r;
}

/* ---- Constants ------------------------------------------------------------------------------- */

/* A copy in e of the value that an eval constant computes, without a Relayout at its end. */
static GlowValue *copy_eval(GlowEval *e, const GlowStorage *s) {
  const GlowBlock *b = s->init.eval;
  GlowValue *v = glow_block_terminator(b)->operands[0].value;
  GlowNode *relayout = glow_value_def(v, GLOW_OP_RELAYOUT);
  return glow_eval_copy(e, relayout ? glow_node_in(relayout, 0) : v);
}

static bool ends_in_relayout(const GlowStorage *s) {
  return s->init.kind == GLOW_INIT_EVAL &&
         glow_value_def(glow_block_terminator(s->init.eval)->operands[0].value, GLOW_OP_RELAYOUT);
}

/* `NAME.packed` or `NAME.plain`, where NAME is the name up to an earlier `.packed`. */
static GlowStr packed_name(GlowContext *ctx, GlowStr name, const GlowLayout *layout) {
  const char *end = strstr(name, ".packed");
  int length = end ? (int)(end - name) : (int)glow_str_length(name);
  return glow_str_printf(ctx, "%.*s.%s", length, name, layout ? "packed" : "plain");
}

GlowValue *glow_constant_relayout(GlowModule *m, GlowArena *arena, GlowValue *v,
                                  const GlowLayout *layout, const GlowNode *user) {
  const GlowStorage *s = v->def.storage;
  const GlowType *t = glow_type_with_layout(m->ctx, v->type, layout);
  if (v->type == t)
    return v;
  GlowEval e = glow_eval_create(m, arena, user);
  bool copies = ends_in_relayout(s) || (s->init.kind == GLOW_INIT_EVAL && glow_only_user(v));
  GlowValue *x = copies ? copy_eval(&e, s) : v;
  if (x->type == t && x->kind == GLOW_VALUE_STORAGE)
    return x;
  GlowNodeSpec spec = {.op = GLOW_OP_RELAYOUT, .ins = &x, .nins = 1, .types = &t};
  GlowNode *relayout = x->type == t ? NULL : glow_node_create(&e.builder, &spec);
  if (x->type != t && !relayout)
    return NULL;
  GlowValue *y = relayout ? &relayout->results[0] : x;
  return &glow_eval_finish(&e, y, packed_name(m->ctx, v->name, layout))->value;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The value in this layout that has v's elements already: v itself, or a value from which Relayouts
 * lead to v. NULL if there is none. */
static GlowValue *found_in(GlowValue *v, const GlowLayout *layout) {
  for (GlowNode *n;; v = glow_node_in(n, 0)) {
    if (v->type->layout == layout)
      return v;
    n = glow_value_def(v, GLOW_OP_RELAYOUT);
    if (!n)
      return NULL;
  }
}

bool glow_value_comes_in(GlowValue *v, const GlowLayout *layout) {
  return glow_type_is_tensor(v->type) && found_in(v, layout);
}

static bool is_constant(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT;
}

/* A builder at a place where v can be used, and before `user` in v's own block, so that `user` and
 * all that follows can use what is built. */
static GlowBuilder behind(const GlowRelayouts *r, const GlowValue *v, GlowNode *user) {
  bool result = v->kind == GLOW_VALUE_RESULT;
  GlowBlock *home = v->kind == GLOW_VALUE_STORAGE ? r->run->function->body : glow_value_block(v);
  GlowBuilder b = glow_builder_before(result ? v->def.node->next : glow_node_in_block(user, home));
  b.pred = result ? v->def.node->pred.value : NULL;
  b.origin = result ? v->def.node->origin : user->origin;
  return b;
}

static GlowValue *build(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members,
                        const GlowType *t, GlowStr name) {
  GlowNodeSpec spec = {
      .op = op, .ins = &x, .nins = x != NULL, .members = members, .types = &t, .names = &name};
  GlowNode *n = glow_node_create(b, &spec);
  return n ? &n->results[0] : NULL;
}

/* `NAME.blocked`, or `NAME.plain`. */
static GlowStr name_in(GlowContext *ctx, GlowStr name, const GlowLayout *layout) {
  return name ? glow_str_printf(ctx, "%s.%s", name, layout ? "blocked" : "plain") : NULL;
}

static GlowValue *build_in(GlowRelayouts *r, GlowValue *v, const GlowLayout *layout,
                           GlowNode *user) {
  GlowModule *m = r->run->module;
  const GlowType *t = glow_type_with_layout(m->ctx, v->type, layout);
  if (is_constant(v))
    return glow_constant_relayout(m, r->run->arena, v, layout, user);
  GlowNode *splat = glow_value_def(v, GLOW_OP_SPLAT);
  GlowBuilder b = splat ? glow_builder_before(splat) : behind(r, v, user);
  return splat ? build(&b, GLOW_OP_SPLAT, NULL, splat->members, t, NULL)
               : build(&b, GLOW_OP_RELAYOUT, v, NULL, t, name_in(m->ctx, v->name, layout));
}

GlowValue *glow_value_in(GlowRelayouts *r, GlowValue *v, const GlowLayout *layout, GlowNode *user) {
  GlowValue *y = found_in(v, layout);
  for (GlowNode *n; !y && (n = glow_value_def(v, GLOW_OP_RELAYOUT));)
    v = glow_node_in(n, 0);
  y = y ? y : glow_map_get(r->known, v);
  if (y && y->type->layout == layout && y->type->rank == v->type->rank)
    return y;
  y = build_in(r, v, layout, user);
  if (y)
    glow_map_set(r->known, v, y);
  return y;
}

GlowValue *glow_value_with_four_axes(GlowRelayouts *r, GlowValue *v, GlowNode *user) {
  GlowValue *y = v->type->rank == 4 ? v : glow_map_get(r->known, v);
  if (y)
    return y;
  GlowModule *m = r->run->module;
  GlowDim dims[4];
  for (uint32_t i = 0, lead = 4 - v->type->rank; i < 4; i++)
    dims[i] = i < lead ? GLOW_EXACT(1) : v->type->dims[i - lead];
  if (is_constant(v)) {
    GlowEval e = glow_eval_create(m, r->run->arena, user);
    y = glow_build_reshape(&e.builder, user, v, 4, dims);
    y = y ? &glow_eval_finish(&e, y, v->name)->value : NULL;
  } else {
    GlowBuilder b = behind(r, v, user);
    y = glow_build_reshape(&b, user, v, 4, dims);
  }
  if (y)
    glow_map_set(r->known, v, y);
  return y;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool has_already(const GlowNode *n, GlowValue *const *ins, const GlowType *const *types) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value != ins[i])
      return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].type != types[i])
      return false;
  return true;
}

/* Gives the users of n's results those of `fresh`, in the layout that they know. */
static bool replace(GlowRelayouts *r, GlowNode *n, GlowNode *fresh) {
  GlowValue **values = GLOW_NEW_ARRAY(r->run->arena, GlowValue *, n->nresults);
  GlowBuilder b = glow_builder_before(n);
  for (uint32_t i = 0; i < n->nresults; i++) {
    values[i] = &fresh->results[i];
    if (values[i]->type == n->results[i].type)
      continue;
    values[i] = build(&b, GLOW_OP_RELAYOUT, values[i], NULL, n->results[i].type, NULL);
    if (!values[i])
      return false;
    glow_vec_push(r->run->arena, &r->exits, values[i]->def.node);
  }
  glow_node_replace(n, values, n->nresults);
  return true;
}

bool glow_node_rebuild(GlowRelayouts *r, GlowNode *n, GlowValue *const *ins,
                       const GlowType *const *types, const char *what, bool *changed) {
  *changed = !has_already(n, ins, types);
  if (!*changed)
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = n->noperands,
                       .members = n->members,
                       .nresults = n->nresults,
                       .types = types};
  GlowNode *fresh = glow_node_create(&b, &spec);
  if (!fresh)
    return false;
  glow_pass_changed(r->run, n, "%s", what);
  return replace(r, n, fresh);
}

void glow_relayout_shorten(GlowRelayouts *r, GlowNode *n) {
  GlowValue *x = glow_node_in(n, 0), *y = found_in(x, n->results[0].type->layout);
  GlowNode *inner = glow_value_def(x, GLOW_OP_RELAYOUT);
  if (y) {
    glow_pass_changed(r->run, n, "two Relayouts cancel out");
    glow_node_replace(n, &y, 1);
  } else if (inner) {
    glow_pass_changed(r->run, n, "one Relayout for two");
    while ((inner = glow_value_def(x, GLOW_OP_RELAYOUT)))
      x = glow_node_in(inner, 0);
    glow_use_set(&n->operands[0], x);
  }
}

/* A name that means something: not one that was only counted. */
static bool is_given(GlowStr name) {
  return name && strspn(name, "0123456789.") != glow_str_length(name);
}

void glow_relayouts_end(GlowRelayouts *r) {
  GlowContext *ctx = r->run->ctx;
  for (uint32_t i = 0; i < r->exits.count; i++) {
    GlowNode *exit = r->exits.data[i];
    GlowValue *from = glow_node_in(exit, 0), *y = &exit->results[0];
    GlowStr name = y->name;
    if (!y->uses)
      glow_node_remove(exit);
    else if (is_given(name))
      glow_value_set_name(y, name_in(ctx, name, y->type->layout));
    else
      continue;
    if (name)
      glow_value_set_name(from, name);
  }
}
