/* Computing in a narrower kind: every pure operator on float that has the kind `to` computes in it.
 *
 *   y = Op(x, w)   becomes   y = Cast(Op(Cast(x), Cast(w))) back to float
 *
 * Casts that meet are left out, so that they remain where float comes in and goes out: at
 * placeholders, variables and results, at operators that lack the kind, and at those that `keep`
 * names by operator, by result or by the model's name for the node. Constants are cast in `eval`
 * initializers. Shapes, integers, doubles, and the accumulators of contractions stay.
 *
 * Requested: each result is rounded to `to`, with its range. */
#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct Convert {
  GlowPassRun *run;
  GlowKind to;
  GlowMap *narrow; /* values of float to the values of `to` that stand for them */
  GlowMap *kept;   /* interned names of `keep` that were found, to themselves */
  const GlowStr *keep;
  uint32_t nkeep;
  GLOW_VEC(GlowNode *) nodes; /* of the function, in order */
  GLOW_VEC(GlowNode *) casts; /* back to float; dead ones go in the end */
} Convert;

static bool is_float(const GlowValue *v) {
  return v && glow_type_is_tensor(v->type) && v->type->kind == GLOW_KIND_FLOAT &&
         !v->type->quantized;
}

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_kind(GlowPassRun *run, GlowKind *to) {
  const char *text = glow_pass_option(run, "to");
  *to = text ? glow_kind_from_name(text, strlen(text)) : GLOW_KIND_FLOAT16;
  if (*to == GLOW_KIND_FLOAT16 || *to == GLOW_KIND_BFLOAT16)
    return true;
  glow_error(run->ctx, (GlowLoc){0}, "-%s: to=%s is neither float16 nor bfloat16", run->pass->name,
             text);
  return false;
}

/* Splits keep=a,b,c. */
static void read_keep(Convert *c) {
  const char *at = glow_pass_option(c->run, "keep");
  GLOW_VEC(GlowStr) names = {0};
  while (at && *at) {
    size_t length = strcspn(at, ",");
    if (length)
      glow_vec_push(c->run->arena, &names, glow_str_printf(c->run->ctx, "%.*s", (int)length, at));
    at += length + (at[length] == ',');
  }
  c->keep = names.data;
  c->nkeep = names.count;
}

static bool keeps(Convert *c, const char *name) {
  for (uint32_t i = 0; name && i < c->nkeep; ++i)
    if (strcmp(c->keep[i], name) == 0) {
      glow_map_set(c->kept, c->keep[i], (void *)(uintptr_t)c->keep[i]);
      return true;
    }
  return false;
}

/* ---- Which nodes ----------------------------------------------------------------------------- */

/* Whether the operand at port i of float can be of the new kind instead. */
static bool converts_port(const Convert *c, const GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  const GlowPort *port = glow_op_in_port(d, i);
  return port && port->type == GLOW_PORT_VAR && (d->vars[port->var].kinds & GLOW_KIND_BIT(c->to));
}

/* Whether n computes on float, and can do so in the new kind. A node without results of float
 * follows its operands. */
static bool is_convertible(Convert *c, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) || GLOW_HAS(d, RANDOM) || n->nregions || !n->nresults ||
      n->op == GLOW_OP_CAST)
    return false;
  bool wanted = false, any = false;
  for (uint32_t i = 0; i < glow_node_nins(n); ++i) {
    GlowValue *v = glow_node_in(n, i);
    if (!is_float(v))
      continue;
    if (!converts_port(c, n, i))
      return false;
    any = true;
    wanted |= glow_map_get(c->narrow, v) != NULL;
  }
  for (uint32_t i = 0; i < n->nresults; ++i) {
    wanted |= is_float(&n->results[i]);
    if (n->results[i].type->quantized || keeps(c, n->results[i].name))
      return false;
  }
  return any && wanted && !keeps(c, d->node) && !(n->origin && keeps(c, n->origin->name));
}

/* ---- Casts ----------------------------------------------------------------------------------- */

static GlowValue *build_cast(GlowBuilder *b, GlowValue *v, GlowKind to) {
  GlowCastMembers members = {.to = to};
  return glow_build1(b, GLOW_OP_CAST, v, &members, NULL);
}

/* A constant as an eval constant of the new kind. */
static GlowValue *cast_constant(Convert *c, GlowValue *v, const GlowNode *user) {
  GlowEval e = glow_eval_create(c->run->module, c->run->arena, user);
  GlowValue *y = build_cast(&e.builder, v, c->to);
  GlowStr name = glow_str_printf(c->run->ctx, "%s.%s", v->name, glow_kind_info[c->to].name);
  return y ? &glow_eval_finish(&e, y, name)->value : NULL;
}

/* A builder right behind the definition of v, where every use can see it. */
static GlowBuilder behind(Convert *c, const GlowValue *v) {
  GlowBlock *block = v->kind == GLOW_VALUE_STORAGE ? c->run->function->body : glow_value_block(v);
  GlowNode *next = v->kind == GLOW_VALUE_RESULT ? v->def.node->next : block->first;
  GlowBuilder b = next ? glow_builder_before(next) : glow_builder_at_end(block);
  b.pred = v->kind == GLOW_VALUE_RESULT ? v->def.node->pred.value : NULL;
  return b;
}

/* The value of the new kind that stands for v. NULL after a diagnostic. */
static GlowValue *narrow(Convert *c, GlowValue *v, const GlowNode *user) {
  GlowValue *y = glow_map_get(c->narrow, v);
  if (y)
    return y;
  if (v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT) {
    y = cast_constant(c, v, user);
  } else {
    GlowBuilder b = behind(c, v);
    y = build_cast(&b, v, c->to);
  }
  if (y)
    glow_map_set(c->narrow, v, y);
  return y;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

/* Gives the users of n's results those of `fresh`, as float. */
static bool replace(Convert *c, GlowNode *n, GlowNode *fresh) {
  GlowValue **values = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, n->nresults);
  GlowBuilder b = glow_builder_before(n);
  for (uint32_t i = 0; i < n->nresults; ++i) {
    GlowValue *y = &fresh->results[i];
    values[i] = y;
    if (y->type->kind == n->results[i].type->kind)
      continue;
    values[i] = build_cast(&b, y, n->results[i].type->kind);
    if (!values[i])
      return false;
    glow_map_set(c->narrow, values[i], y);
    glow_vec_push(c->run->arena, &c->casts, values[i]->def.node);
  }
  glow_node_replace(n, values, n->nresults);
  return true;
}

static bool convert(Convert *c, GlowNode *n) {
  uint32_t nins = glow_node_nins(n);
  GlowValue **ins = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, nins);
  for (uint32_t i = 0; i < nins; ++i) {
    ins[i] = glow_node_in(n, i);
    if (is_float(ins[i]) && !(ins[i] = narrow(c, ins[i], n)))
      return false;
  }
  GlowNodeSpec spec = {
      .op = n->op, .ins = ins, .nins = nins, .members = n->members, .nresults = n->nresults};
  GlowBuilder b = glow_builder_before(n);
  GlowNode *fresh = glow_node_create(&b, &spec);
  if (!fresh)
    return false;
  glow_pass_changed(c->run, n, "%s computes in %s", glow_node_desc(n)->node,
                    glow_kind_info[c->to].name);
  return replace(c, n, fresh);
}

/* Drops Casts back to float that nobody needs; the others get the names of what they stand for. */
static void finish(Convert *c) {
  for (uint32_t i = 0; i < c->casts.count; ++i) {
    GlowNode *cast = c->casts.data[i];
    GlowStr name = cast->results[0].name;
    GlowValue *y = glow_node_in(cast, 0);
    if (cast->results[0].uses)
      continue;
    glow_node_remove(cast);
    if (name)
      glow_value_set_name(y, name);
  }
}

static bool collect(GlowNode *n, void *arg) {
  Convert *c = arg;
  glow_vec_push(c->run->arena, &c->nodes, n);
  return true;
}

bool glow_pass_convert_precision(GlowPassRun *run) {
  Convert c = {.run = run, .narrow = glow_map_create(run->arena)};
  c.kept = glow_map_create(run->arena);
  if (!read_kind(run, &c.to))
    return false;
  read_keep(&c);
  glow_block_walk(run->function->body, collect, &c);
  for (uint32_t i = 0; i < c.nodes.count; ++i)
    if (is_convertible(&c, c.nodes.data[i]) && !convert(&c, c.nodes.data[i]))
      return false;
  finish(&c);
  for (uint32_t i = 0; i < c.nkeep; ++i)
    if (!glow_map_get(c.kept, c.keep[i]))
      glow_pass_remark(run, (GlowLoc){0}, "keep=%s: no such operator or name in @%s", c.keep[i],
                       run->function->name);
  return true;
}
