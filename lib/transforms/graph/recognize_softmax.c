/* Softmax and LogSoftmax, spelled out.
 *
 *   Exp(x - max) / ReduceSum(Exp(x - max))              -> Softmax(x)
 *   (x - max) - Log(ReduceSum(Exp(x - max)))            -> LogSoftmax(x)
 *
 * with max = ReduceMax(x) over the same axis, which must be a single one. Exact: lowering defines
 * both operators so.
 *
 * -recognize-logsumexp finds x - (max + Log(ReduceSum(Exp(x - max)))) too. Bounded: two
 * subtractions and one addition round elsewhere, c = 4 for S = |x| + |max| + Log(sum).
 *
 * -recognize-unshifted-softmax finds Exp(x) / ReduceSum(Exp(x)). Unsafe: it is inf / inf where x is
 * above 88, and 0 / 0 far below 0, where Softmax gives numbers. */
#include "transforms/match.h"

/* The axis that both nodes reduce; -1 if there is none. */
static int64_t common_axis(const GlowNode *a, const GlowNode *b) {
  uint32_t p, q;
  return glow_reduced_axes(a, &p) && glow_reduced_axes(b, &q) && p == q ? glow_single_axis(p) : -1;
}

static GlowValue *build_along(GlowBuilder *b, GlowOp op, GlowValue *x, int64_t axis) {
  if (axis < 0)
    return NULL;
  GlowSoftmaxMembers members = {.axis = axis == (int64_t)x->type->rank - 1 ? -1 : axis};
  return glow_build1(b, op, x, &members, NULL);
}

static GlowValue *build_softmax(GlowBuilder *b, const GlowMatch *m) {
  return build_along(b, GLOW_OP_SOFTMAX, glow_match_value(m, 'x'),
                     common_axis(glow_match_def(m, 'm'), glow_match_def(m, 's')));
}

static GlowValue *build_log_softmax(GlowBuilder *b, const GlowMatch *m) {
  return build_along(b, GLOW_OP_LOG_SOFTMAX, glow_match_value(m, 'x'),
                     common_axis(glow_match_def(m, 'm'), glow_match_def(m, 's')));
}

static GlowValue *build_unshifted(GlowBuilder *b, const GlowMatch *m) {
  const GlowNode *sum = glow_match_def(m, 's');
  return build_along(b, GLOW_OP_SOFTMAX, glow_match_value(m, 'x'), common_axis(sum, sum));
}

bool glow_pass_recognize_softmax(GlowPassRun *run) {
  static const GlowFormula softmax[] = {
      {"Div(e=Exp(Sub(x, m=ReduceMax(x, _))), s=ReduceSum(e, _))", build_softmax}};
  static const GlowFormula log_softmax[] = {
      {"Sub(d=Sub(x, m=ReduceMax(x, _)), Log(s=ReduceSum(Exp(d), _)))", build_log_softmax}};
  return glow_recognize(run, "Softmax", softmax, 1) &&
         glow_recognize(run, "LogSoftmax", log_softmax, 1);
}

bool glow_pass_recognize_logsumexp(GlowPassRun *run) {
  static const GlowFormula formulas[] = {
      {"Sub(x, Add(m, Log(s=ReduceSum(Exp(Sub(x, m=ReduceMax(x, _))), _))))", build_log_softmax}};
  return glow_recognize(run, "LogSoftmax", formulas, 1);
}

bool glow_pass_recognize_unshifted_softmax(GlowPassRun *run) {
  static const GlowFormula formulas[] = {{"Div(e=Exp(x), s=ReduceSum(e, _))", build_unshifted}};
  return glow_recognize(run, "Softmax", formulas, 1);
}
