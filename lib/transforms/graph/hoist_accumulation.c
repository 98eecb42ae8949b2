/* A product that a Loop adds up over its iterations becomes one product behind the loop:
 *
 *   sum of MatMul(A_i, B_i) over i  ->  MatMul([A_0 A_1 ...], [B_0; B_1; ...])
 *
 * The loop stacks A_i and B_i instead of carrying the sum. That is how the derivative by the
 * weights of a recurrent cell adds up. The number of iterations and extents must be known, and the
 * slices not larger than two sums, which would be read and written in each iteration.
 *
 * Bounded: one chain of sums for another; each stays within u times the number of products. */
#include "ir/loop.h"
#include "transforms/rules.h"

typedef struct Sum {
  GlowNode *loop, *add, *product;
  uint32_t slot;    /* the carried value */
  GlowValue *a, *b; /* what is stacked */
  bool swapped;     /* a is A transposed */
  int64_t trips, m, k, n;
} Sum;

static GlowNode *end_of(const GlowNode *loop) { return glow_block_terminator(loop->regions[0]); }

/* The other operand of n, if one is v and n has two; else NULL. */
static GlowValue *partner(const GlowNode *n, const GlowValue *v) {
  GlowValue *x = glow_node_in(n, 0), *y = glow_node_in(n, 1);
  return x == v && y != v ? y : y == v && x != v ? x : NULL;
}

static bool is_matrix(const GlowType *t) {
  return glow_type_is_static(t) && t->rank == 2 && !t->layout && !t->quantized;
}

/* Whether v is computed in the body of the loop, not in an inner region. */
static bool is_in_body(const Sum *s, const GlowValue *v) {
  return glow_value_block(v) == s->loop->regions[0];
}

/* Whether slot `k` of the loop is a sum of products that can be taken out. */
static bool find_sum(GlowNode *loop, uint32_t k, Sum *s) {
  GlowBlock *body = loop->regions[0];
  GlowValue *param = body->params[k + 2], *next = end_of(loop)->operands[k + 1].value;
  *s = (Sum){.loop = loop, .slot = k, .trips = glow_loop_trips(loop)};
  s->add = glow_value_def(next, GLOW_OP_ADD);
  if (s->trips < 2 || !s->add || s->add->block != body || s->add->pred.value ||
      !glow_value_has_one_use(param) || !glow_value_has_one_use(next))
    return false;
  GlowValue *term = partner(s->add, param);
  s->product = glow_value_def(term, GLOW_OP_MAT_MUL);
  if (!s->product || s->product->block != body || s->product->pred.value ||
      !glow_product_is_direct(s->product) ||
      !glow_value_has_one_use(term) || param->type != term->type)
    return false;
  s->a = glow_node_in(s->product, 0);
  s->b = glow_node_in(s->product, 1);
  if (!is_matrix(s->a->type) || !is_matrix(s->b->type))
    return false;
  s->m = s->a->type->dims[0].size;
  s->k = s->a->type->dims[1].size;
  s->n = s->b->type->dims[1].size;
  const GlowNode *turned = glow_value_def(s->a, GLOW_OP_TRANSPOSE);
  if (turned && turned->block == body && !turned->pred.value) {
    s->a = glow_node_in(turned, 0);
    s->swapped = true;
  }
  return is_in_body(s, s->a) && is_in_body(s, s->b) && s->k * (s->m + s->n) <= 2 * s->m * s->n;
}

/* The loop with a and b stacked as its last results in place of the sum; the other results of the
 * old one go to it. NULL after a diagnostic. */
static GlowNode *restack(GlowPassRun *run, const Sum *s) {
  GlowNode *loop = s->loop, *end = end_of(loop);
  GlowBlock *body = loop->regions[0];
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, loop->noperands);
  GlowValue **yields = GLOW_NEW_ARRAY(run->arena, GlowValue *, end->noperands + 2);
  const GlowType **types = GLOW_NEW_ARRAY(run->arena, const GlowType *, loop->nresults + 2);
  GlowStr *names = GLOW_NEW_ARRAY(run->arena, GlowStr, loop->nresults + 2);
  uint32_t nins = 0, nyields = 0, nresults = 0;
  for (uint32_t i = 0; i < loop->noperands; i++)
    if (i != s->slot + 2)
      ins[nins++] = glow_node_in(loop, i);
  for (uint32_t i = 0; i < end->noperands; i++)
    if (i != s->slot + 1)
      yields[nyields++] = end->operands[i].value;
  yields[nyields++] = s->a;
  yields[nyields++] = s->b;
  for (uint32_t i = 0; i < loop->nresults; i++)
    if (i != s->slot) {
      types[nresults] = loop->results[i].type;
      names[nresults++] = loop->results[i].name;
      glow_value_set_name(&loop->results[i], NULL);
    }
  GlowLoc src = end->src;
  glow_node_remove(end);
  glow_build_terminator(body, GLOW_OP_YIELD, yields, nyields)->src = src;
  glow_node_remove(s->add);
  glow_remove_dead(s->product);
  glow_block_remove_param(body, s->slot + 2);
  loop->nregions = 0;
  GlowBuilder b = glow_builder_before(loop);
  GlowNode *made = glow_node_create(&b, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                                        .ins = ins,
                                                        .nins = nins,
                                                        .regions = &body,
                                                        .nregions = 1,
                                                        .nresults = nresults + 2,
                                                        .types = types,
                                                        .names = names,
                                                        .discard_unnamed = true});
  for (uint32_t i = 0, k = 0; made && i < loop->nresults; i++)
    if (i != s->slot)
      glow_value_replace_uses(&loop->results[i], &made->results[k++]);
  return made;
}

/* The sum, behind the loop: one product of what the last results have stacked. */
static GlowValue *build_product(const Sum *s, GlowNode *made, GlowValue *init) {
  GlowBuilder b = glow_builder_before(s->loop);
  GlowValue *a = &made->results[made->nresults - 2], *c = &made->results[made->nresults - 1];
  static const uint32_t apart[] = {1, 0, 2}, swap[] = {1, 0};
  int64_t wide[] = {s->m, s->trips * s->k}, tall[] = {s->trips * s->k, s->m};
  if (s->swapped)
    a = glow_build_permuted(&b, glow_build_shaped(&b, made, a, 2, tall), swap, 2);
  else
    a = glow_build_shaped(&b, made, glow_build_permuted(&b, a, apart, 3), 2, wide);
  c = glow_build_shaped(&b, made, c, 2, (int64_t[]){s->trips * s->k, s->n});
  GlowValue *product = glow_then2(&b, GLOW_OP_MAT_MUL, a, c);
  return glow_value_is_all(init, 0.0) ? product : glow_then2(&b, GLOW_OP_ADD, init, product);
}

/* Takes one sum out of the loop; *loop becomes the loop without it. False after a diagnostic. */
static bool hoist(GlowPassRun *run, GlowNode **loop, const Sum *s) {
  GlowValue *init = glow_node_in(s->loop, s->slot + 2);
  glow_pass_changed(run, s->product, "one product behind the Loop for %lld that it adds up",
                    (long long)s->trips);
  GlowNode *made = restack(run, s);
  GlowValue *sum = made ? build_product(s, made, init) : NULL;
  if (!sum)
    return false;
  GlowValue *old = &s->loop->results[s->slot];
  GlowStr name = old->name;
  glow_value_replace_uses(old, sum);
  glow_value_set_name(old, NULL);
  if (name && !glow_name_is_number(name) && glow_name_is_number(sum->name))
    glow_value_set_name(sum, name);
  glow_node_remove(s->loop);
  *loop = made;
  return true;
}

static bool visit_block(GlowPassRun *run, GlowBlock *b) {
  for (GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t r = 0; r < n->nregions; r++)
      if (n->regions[r] && !n->regions[r]->scalar && !visit_block(run, n->regions[r]))
        return false;
    for (uint32_t k = 0;
         n->op == GLOW_OP_LOOP && !n->pred.value && k + 2 < n->regions[0]->nparams;) {
      Sum s;
      if (!find_sum(n, k, &s))
        k++;
      else if (!hoist(run, &n, &s))
        return false;
    }
  }
  return true;
}

bool glow_pass_hoist_accumulation(GlowPassRun *run) {
  return visit_block(run, run->function->body);
}
