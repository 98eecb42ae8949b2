/* See recast.h. Constants are cast in `eval` initializers; a single number becomes a Splat, which
 * later passes see through. */
#include "transforms/recast.h"

#include "tensor/tensor.h"
#include "transforms/contraction.h"
#include "transforms/transforms.h"

static bool collect(GlowNode *n, void *arg) {
  GlowRecast *r = arg;
  glow_vec_push(r->run->arena, &r->nodes, n);
  return true;
}

GlowRecast glow_recast_begin(GlowPassRun *run, GlowKindSet from, GlowKind to) {
  GlowRecast r = {.run = run, .from = from, .to = to};
  r.stand_ins = glow_map_create(run->arena);
  glow_block_walk(run->function->body, collect, &r);
  return r;
}

bool glow_recast_takes(const GlowRecast *r, const GlowValue *v) {
  return v && glow_type_is_tensor(v->type) && (r->from & GLOW_KIND_BIT(v->type->kind)) &&
         !v->type->quantized;
}

/* Whether the port's type is a type variable that may be of the new kind. */
static bool fits_port(const GlowRecast *r, const GlowOpDesc *d, const GlowOpPort *port) {
  return port && port->type == GLOW_PORT_VAR && (d->vars[port->var].kinds & GLOW_KIND_BIT(r->to));
}

bool glow_recast_fits(const GlowRecast *r, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) || GLOW_HAS(d, RANDOM) || n->nregions || !n->nresults ||
      n->op == GLOW_OP_CAST || glow_is_bf16(n))
    return false;
  bool any = false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    if (!glow_recast_takes(r, glow_node_in(n, i)))
      continue;
    if (!fits_port(r, d, glow_op_in_port(d, i)))
      return false;
    any = true;
  }
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].type->quantized)
      return false;
  return any;
}

/* ---- Casts ----------------------------------------------------------------------------------- */

static GlowValue *build_cast(GlowBuilder *b, GlowValue *v, GlowKind to) {
  GlowCastMembers members = {.to = to};
  return glow_build1(b, GLOW_OP_CAST, v, &members, NULL);
}

/* A constant as an eval constant of the new kind. */
static GlowValue *cast_constant(GlowRecast *r, GlowValue *v, const GlowNode *user) {
  GlowEval e = glow_eval_create(r->run->module, r->run->arena, user);
  GlowValue *y = build_cast(&e.builder, v, r->to);
  GlowStr name = glow_str_printf(r->run->ctx, "%s.%s", v->name, glow_kind_info[r->to].name);
  return y ? &glow_eval_finish(&e, y, name)->value : NULL;
}

/* A Splat of the new kind with v's one value, rounded as v rounds it. */
static GlowValue *cast_splat(GlowRecast *r, const GlowValue *v, GlowScalar value, GlowBuilder *b) {
  GlowTensor *one = glow_tensor_create(r->run->ctx, glow_type_scalar(r->run->ctx, v->type->kind));
  glow_tensor_set(one, 0, value);
  GlowSplatMembers members = {.value = glow_tensor_get(one, 0)};
  glow_tensor_free(one);
  const GlowType *type = glow_type_with_kind(r->run->ctx, v->type, r->to);
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &type};
  GlowNode *n = glow_node_create(b, &spec);
  return n ? &n->results[0] : NULL;
}

/* A builder right behind the definition of v, where every use can see it. */
static GlowBuilder behind(GlowRecast *r, const GlowValue *v) {
  GlowBlock *block = v->kind == GLOW_VALUE_STORAGE ? r->run->function->body : glow_value_block(v);
  GlowNode *next = v->kind == GLOW_VALUE_RESULT ? v->def.node->next : block->first;
  GlowBuilder b = next ? glow_builder_before(next) : glow_builder_at_end(block);
  b.pred = v->kind == GLOW_VALUE_RESULT ? v->def.node->pred.value : NULL;
  return b;
}

/* The value of the new kind that stands for v. NULL after a diagnostic. */
static GlowValue *stand_in(GlowRecast *r, GlowValue *v, const GlowNode *user) {
  GlowValue *y = glow_map_get(r->stand_ins, v);
  GlowScalar value;
  if (y)
    return y;
  GlowBuilder b = behind(r, v);
  bool is_node = v->kind == GLOW_VALUE_RESULT; /* a Splat, of any extents */
  if ((is_node || (glow_type_is_static(v->type) && glow_type_elements(v->type) == 1)) &&
      glow_value_splat(v, &value))
    y = cast_splat(r, v, value, &b);
  else if (v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT)
    y = cast_constant(r, v, user);
  else
    y = build_cast(&b, v, r->to);
  if (y)
    glow_map_set(r->stand_ins, v, y);
  return y;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

/* Gives the users of n's results those of `fresh`, in their old kinds. */
static bool replace(GlowRecast *r, GlowNode *n, GlowNode *fresh, bool rounds) {
  GlowValue **values = GLOW_NEW_ARRAY(r->run->arena, GlowValue *, n->nresults);
  GlowBuilder b = glow_builder_before(n);
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *y = &fresh->results[i];
    values[i] = y;
    if (y->type->kind == n->results[i].type->kind)
      continue;
    values[i] = build_cast(&b, y, n->results[i].type->kind);
    if (!values[i])
      return false;
    glow_vec_push(r->run->arena, &r->back, values[i]->def.node);
    if (rounds) {
      y = build_cast(&b, values[i], r->to);
      if (!y)
        return false;
      glow_vec_push(r->run->arena, &r->again, y->def.node);
    }
    glow_map_set(r->stand_ins, values[i], y);
  }
  glow_node_replace(n, values, n->nresults);
  return true;
}

bool glow_recast_node(GlowRecast *r, GlowNode *n, bool rounds) {
  const GlowOpDesc *d = glow_node_desc(n);
  uint32_t nins = glow_node_nins(n);
  GlowValue **ins = GLOW_NEW_ARRAY(r->run->arena, GlowValue *, nins);
  const GlowType **types = GLOW_NEW_ARRAY(r->run->arena, const GlowType *, n->nresults);
  for (uint32_t i = 0; i < nins; i++) {
    ins[i] = glow_node_in(n, i);
    if (glow_recast_takes(r, ins[i]) && !(ins[i] = stand_in(r, ins[i], n)))
      return false;
  }
  /* The results keep their extents, which may be narrower than inference says. */
  for (uint32_t i = 0; i < n->nresults; i++)
    if (glow_recast_takes(r, &n->results[i]) && fits_port(r, d, glow_op_out_port(d, i)))
      types[i] = glow_type_with_kind(r->run->ctx, n->results[i].type, r->to);
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = nins,
                       .members = n->members,
                       .nresults = n->nresults,
                       .types = types};
  GlowBuilder b = glow_builder_before(n);
  GlowNode *fresh = glow_node_create(&b, &spec);
  if (!fresh)
    return false;
  glow_pass_changed(r->run, n, "%s computes in %s", d->node, glow_kind_info[r->to].name);
  return replace(r, n, fresh, rounds);
}

void glow_recast_finish(GlowRecast *r) {
  for (uint32_t i = 0; i < r->again.count; i++)
    if (!r->again.data[i]->results[0].uses)
      glow_node_remove(r->again.data[i]);
  for (uint32_t i = 0; i < r->back.count; i++) {
    GlowNode *cast = r->back.data[i];
    GlowStr name = cast->results[0].name;
    GlowValue *y = glow_node_in(cast, 0);
    if (cast->results[0].uses)
      continue;
    glow_node_remove(cast);
    if (name)
      glow_value_set_name(y, name);
  }
}
