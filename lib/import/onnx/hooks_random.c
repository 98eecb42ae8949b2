/* Random numbers and where their states go.
 *
 * Each random node has a variable of its own for its state. At the top level the node reads the
 * variable, and the next state is saved when the function ends. Inside regions the state is
 * carried: a branch reads the state around it and yields the next one as a further result of its
 * If; a loop takes it as a further carried value. This goes on outwards, until the state is saved
 * at the top level. */
#include <math.h>
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* ---- States --------------------------------------------------------------------------------- */

GlowStorage *glow_onnx_random_state(GlowOnnxNode *n, bool seeded, uint64_t seed) {
  uint64_t state[2] = {seeded ? seed : n->im->nrandom, 0};
  n->im->nrandom++;
  GlowTensor *t = GLOW_NEW(n->im->m->arena, GlowTensor);
  t->type = glow_type_exact(n->im->ctx, GLOW_KIND_U64, 1, &(int64_t){2});
  t->bytes = sizeof state;
  t->data = glow_arena_copy(n->im->m->arena, state, sizeof state);
  GlowStorage *s = glow_storage_create(n->im->m, GLOW_VARIABLE, glow_onnx_part_name(n, "state"),
                                       t->type, (GlowInit){.kind = GLOW_INIT_LIST, .tensor = t});
  s->origin = n->b.origin;
  return s;
}

GlowOnnxState *glow_onnx_region_state(const GlowOnnxRegion *r, const GlowStorage *variable) {
  for (uint32_t i = 0; i < r->states.count; i++)
    if (r->states.data[i].variable == variable)
      return &r->states.data[i];
  return NULL;
}

/* The state of `variable` inside r, carried through all regions around it. */
static GlowValue *carry_in(GlowOnnxNode *n, GlowOnnxRegion *r, GlowStorage *variable) {
  GlowOnnxState *known = glow_onnx_region_state(r, variable);
  if (known)
    return known->in;
  GlowOnnxState s = {.variable = variable, .in = &variable->value};
  if (r->outer) {
    s.outer = s.in = carry_in(n, r->outer, variable);
    if (!s.in)
      return NULL;
    if (r->kind == GLOW_ONNX_REGION_SCAN) {
      glow_onnx_unsupported(n, "random numbers inside a Scan");
      return NULL;
    }
    if (r->kind == GLOW_ONNX_REGION_LOOP)
      s.in = glow_block_add_param(r->block, variable->value.name, variable->value.type);
    s.next = s.in;
  }
  glow_vec_push(n->im->arena, &r->states, s);
  return s.in;
}

GlowValue *glow_onnx_random_read(GlowOnnxNode *n, GlowStorage *variable) {
  return carry_in(n, n->scope->region, variable);
}

void glow_onnx_random_write(GlowOnnxNode *n, GlowStorage *variable, GlowValue *next) {
  glow_onnx_region_state(n->scope->region, variable)->next = next;
}

/* The names of n's results with those of the states among them. */
static GlowStr *names_with_states(const GlowOnnxNode *n, uint32_t count, uint32_t at,
                                  uint32_t nstates) {
  GlowStr *names = GLOW_NEW_ARRAY(n->im->arena, GlowStr, count + nstates);
  for (uint32_t i = 0; i < count && i < n->nouts; i++)
    names[i < at ? i : i + nstates] = n->outs[i];
  for (uint32_t i = 0; i < nstates; i++)
    names[at + i] = glow_onnx_part_name(n, "next");
  return names;
}

bool glow_onnx_finish_regions(GlowOnnxNode *n, GlowOp op, GlowValue *const *ins, uint32_t nins,
                              const void *members, GlowBlock *const *regions, uint32_t nregions,
                              uint32_t at, const GlowOnnxRegion *r) {
  uint32_t nstates = r->states.count, count = n->proto.outputs.count;
  if (!nstates)
    return glow_onnx_finish(n, op, ins, nins, members, regions, nregions);
  GlowNode *node = glow_onnx_build(n, op, ins, nins,
                                   (GlowNodeSpec){.members = members,
                                                  .regions = regions,
                                                  .nregions = nregions,
                                                  .nresults = count + nstates,
                                                  .names = names_with_states(n, count, at, nstates),
                                                  .discard_unnamed = true});
  for (uint32_t i = 0; node && i < n->nouts; i++)
    n->results[i] = &node->results[i < at ? i : i + nstates];
  for (uint32_t i = 0; node && i < nstates; i++)
    glow_onnx_random_write(n, r->states.data[i].variable, &node->results[at + i]);
  return node != NULL;
}

/* ---- Operators ------------------------------------------------------------------------------ */

/* A key from a seed, which ONNX stores as a float: its value if that is an integer, else its
 * bits. */
static uint64_t key_of(float seed) {
  if (isfinite(seed) && fabsf(seed) < 9e18f && seed == truncf(seed))
    return (uint64_t)(int64_t)seed;
  uint32_t bits;
  memcpy(&bits, &seed, sizeof bits);
  return bits;
}

/* The node with its state; result 1 is the next state. */
static bool random_node(GlowOnnxNode *n, GlowOp op, GlowValue *x, const void *members) {
  float seed = 0;
  bool seeded = glow_onnx_has(n, "seed");
  if (!x || !glow_onnx_float(n, "seed", &seed))
    return false;
  if (n->nouts != 1)
    return glow_onnx_fail(n, "%u results where there is 1", n->nouts);
  GlowStorage *variable = glow_onnx_random_state(n, seeded, key_of(seed));
  GlowValue *state = glow_onnx_random_read(n, variable);
  if (!state)
    return false;
  GlowStr names[] = {n->outs[0], glow_onnx_part_name(n, "next")};
  GlowNode *node = glow_node_create(&n->b, &(GlowNodeSpec){.op = op,
                                                           .ins = (GlowValue *[]){x, state},
                                                           .nins = 2,
                                                           .members = members,
                                                           .nresults = 2,
                                                           .names = names});
  if (!node)
    return false;
  n->results[0] = &node->results[0];
  glow_onnx_random_write(n, variable, &node->results[1]);
  return true;
}

/* The operand whose shape the numbers get: n's own, or zeros of the shape in an attribute; and the
 * kind of the numbers, which defaults to the operand's or to float. */
static GlowValue *shape_source(GlowOnnxNode *n, bool like, GlowKind *kind) {
  GlowArray shape = {0};
  *kind = GLOW_KIND_FLOAT;
  if (!glow_onnx_check_ins(n, like, like))
    return NULL;
  if (like && glow_type_is_tensor(n->ins[0]->type))
    *kind = n->ins[0]->type->kind;
  if (!glow_onnx_kind(n, "dtype", kind) || !glow_onnx_ints(n, "shape", &shape))
    return NULL;
  if (!glow_kind_is_float(*kind)) {
    glow_onnx_fail(n, "random numbers of %s", glow_kind_info[*kind].name);
    return NULL;
  }
  if (like)
    return n->ins[0];
  if (!glow_onnx_has(n, "shape")) {
    glow_onnx_fail(n, "attribute 'shape' is missing");
    return NULL;
  }
  GlowConstantOfShapeMembers zeros = {.value = {0}, .kind = GLOW_KIND_FLOAT};
  GlowValue *extents = glow_onnx_make_ints(n, "shape", shape.data, shape.count);
  return glow_onnx_emit1(n, GLOW_OP_CONSTANT_OF_SHAPE, extents, &zeros);
}

/* RandomUniform, whose shape is an attribute, and RandomUniformLike. */
bool glow_onnx_random_uniform(GlowOnnxNode *n) {
  GlowRandomUniformMembers m = {.low = 0, .high = 1};
  GlowValue *like = shape_source(n, strcmp(n->op, "RandomUniformLike") == 0, &m.kind);
  return like && glow_onnx_float(n, "low", &m.low) && glow_onnx_float(n, "high", &m.high) &&
         random_node(n, GLOW_OP_RANDOM_UNIFORM, like, &m);
}

/* RandomNormal and RandomNormalLike. */
bool glow_onnx_random_normal(GlowOnnxNode *n) {
  GlowRandomNormalMembers m = {.mean = 0, .scale = 1};
  GlowValue *like = shape_source(n, strcmp(n->op, "RandomNormalLike") == 0, &m.kind);
  return like && glow_onnx_float(n, "mean", &m.mean) && glow_onnx_float(n, "scale", &m.scale) &&
         random_node(n, GLOW_OP_RANDOM_NORMAL, like, &m);
}

bool glow_onnx_multinomial(GlowOnnxNode *n) {
  GlowMultinomialMembers m = {.kind = GLOW_KIND_I32};
  int64_t samples = 1;
  if (!glow_onnx_check_ins(n, 1, 1) || !glow_onnx_kind(n, "dtype", &m.kind) ||
      !glow_onnx_int(n, "sample_size", &samples))
    return false;
  if (samples < 0 || samples > INT32_MAX)
    return glow_onnx_fail(n, "attribute 'sample_size' is %lld", (long long)samples);
  m.samples = (uint32_t)samples;
  return random_node(n, GLOW_OP_MULTINOMIAL, n->ins[0], &m);
}

bool glow_onnx_bernoulli(GlowOnnxNode *n) {
  GlowBernoulliMembers m = {.kind = GLOW_KIND_FLOAT};
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  if (glow_type_is_tensor(n->ins[0]->type))
    m.kind = n->ins[0]->type->kind;
  return glow_onnx_kind(n, "dtype", &m.kind) && random_node(n, GLOW_OP_BERNOULLI, n->ins[0], &m);
}
