/* Inference of random numbers: every operator takes a state, u64<2>, and gives the next one. */
#include "ir/infer/hooks.h"

/* Checks the state and sets the type of result 1, the next state. */
static bool next_state(GlowInfer *in, const GlowType *state) {
  if (!state->unranked &&
      (state->rank != 1 || (state->dims[0].kind == GLOW_DIM_EXACT && state->dims[0].size != 2)))
    return glow_infer_error(in, "State must have type u64<2>, but has %s",
                            glow_type_str(in->ctx, state));
  int64_t two = 2;
  glow_infer_put(in, 1, glow_type_exact(in->ctx, GLOW_KIND_U64, 1, &two));
  return true;
}

/* Sets result 0, the numbers, to the shape of `like`, and result 1 to the next state. */
static bool random_like(GlowInfer *in, const GlowType *like, const GlowType *state, GlowKind kind) {
  if (!glow_type_is_tensor(like))
    return glow_infer_error(in, "the shape is that of a tensor, not of %s",
                            glow_type_str(in->ctx, like));
  if (!glow_kind_is_float(kind) && kind != GLOW_KIND_BOOL && !glow_kind_is_integer(kind))
    return glow_infer_error(in, "there are no random numbers of kind %s",
                            glow_kind_info[kind].name);
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, like, kind));
  return next_state(in, state);
}

static bool random_floats(GlowInfer *in, const GlowType *like, const GlowType *state,
                          GlowKind kind) {
  if (!glow_kind_is_float(kind))
    return glow_infer_error(in, "kind is %s, which is no floating point kind",
                            glow_kind_info[kind].name);
  return random_like(in, like, state, kind);
}

bool glow_infer_random_uniform(GlowInfer *in) {
  const GlowRandomUniformMembers *m = in->members;
  return random_floats(in, in->in[GLOW_RANDOM_UNIFORM_IN_LIKE],
                       in->in[GLOW_RANDOM_UNIFORM_IN_STATE], m->kind);
}

bool glow_infer_random_normal(GlowInfer *in) {
  const GlowRandomNormalMembers *m = in->members;
  return random_floats(in, in->in[GLOW_RANDOM_NORMAL_IN_LIKE], in->in[GLOW_RANDOM_NORMAL_IN_STATE],
                       m->kind);
}

bool glow_infer_bernoulli(GlowInfer *in) {
  const GlowBernoulliMembers *m = in->members;
  return random_like(in, in->in[GLOW_BERNOULLI_IN_X], in->in[GLOW_BERNOULLI_IN_STATE], m->kind);
}

bool glow_infer_multinomial(GlowInfer *in) {
  const GlowMultinomialMembers *m = in->members;
  const GlowType *x = in->in[GLOW_MULTINOMIAL_IN_X];
  GlowDim dims[2] = {GLOW_UNKNOWN, GLOW_EXACT(m->samples)};
  if (m->kind != GLOW_KIND_I32 && m->kind != GLOW_KIND_I64)
    return glow_infer_error(in, "kind is %s, expected i32 or i64", glow_kind_info[m->kind].name);
  if (!x->unranked && x->rank != 2)
    return glow_infer_error(in, "X must have rank 2, but has type %s", glow_type_str(in->ctx, x));
  if (!x->unranked)
    dims[0] = x->dims[0];
  return glow_infer_set(in, 0, glow_type_scalar(in->ctx, m->kind), 2, dims) &&
         next_state(in, in->in[GLOW_MULTINOMIAL_IN_STATE]);
}
