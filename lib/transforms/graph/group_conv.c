/* Convolutions side by side become one with groups:
 *
 *   Concat(Convolution(x[0:c], W0, B0), Convolution(x[c:2c], W1, B1), ...)
 *     -> Convolution(x, Concat(W0, W1, ...), Concat(B0, B1, ...)) {group = ...}
 *
 * where Split or Slice cuts x along its channels, and the Concat has all pieces in order. The
 * convolutions have the same members and shapes, constant weights, and no other uses. Exporters
 * without a grouped convolution spell it so. Exact: every output keeps its chain over the channels
 * of its group. */
#include "transforms/contraction.h"
#include "transforms/pieces.h"
#include "transforms/rules.h"

typedef struct Parts {
  GlowNode *concat;
  GlowConstness *constness;
  GlowPassRun *run;
  const GlowNode *first;
  GlowValue *x; /* what the pieces are of */
} Parts;

/* Whether operand i of the Concat is a convolution like the first, of the next piece of x. */
static bool accept(Parts *p, uint32_t i) {
  GlowValue *y = glow_node_in(p->concat, i);
  GlowNode *n = glow_match(y, GLOW_OP_CONVOLUTION, p->concat);
  GlowContraction c;
  GlowPiece piece;
  if (!n || glow_only_user(y) != p->concat || n->block != p->concat->block ||
      !glow_contraction_describe(n, &c) || !glow_contraction_is_constant(&c, p->constness) ||
      !glow_piece_of(glow_node_in(n, 0), n, &piece))
    return false;
  if (i == 0) {
    p->first = n;
    p->x = piece.source;
  }
  bool alike = piece.source == p->x && n->pred.value == p->first->pred.value &&
               glow_node_in(n, 0)->type == glow_node_in(p->first, 0)->type &&
               glow_node_in(n, 1)->type == glow_node_in(p->first, 1)->type &&
               !glow_node_in(n, 2) == !glow_node_in(p->first, 2) &&
               glow_members_equal(glow_node_desc(n), n->members, p->first->members);
  for (uint32_t k = 0; alike && k < piece.rank; k++) {
    int64_t start = k == c.x_axis ? i * c.in : 0;
    alike = piece.step[k] == 1 && piece.start[k] == start;
    if (k != c.x_axis)
      alike &= piece.size[k] == piece.source->type->dims[k].size;
  }
  return alike;
}

/* The Concat of one operand of all convolutions, along axis 0, as a constant. */
static GlowValue *concat(const Parts *p, uint32_t port, const char *name) {
  uint32_t count = glow_node_nins(p->concat);
  GlowEval e = glow_eval_create(p->run->module, p->run->arena, p->concat);
  GlowValue **parts = GLOW_NEW_ARRAY(p->run->arena, GlowValue *, count);
  for (uint32_t i = 0; i < count; i++)
    parts[i] = glow_eval_copy(&e, glow_node_in(glow_node_in(p->concat, i)->def.node, port));
  GlowConcatMembers members = {.axis = 0};
  GlowNode *n = glow_build(&e.builder, GLOW_OP_CONCAT, parts, count, &members, NULL);
  const char *base = p->concat->results[0].name ? p->concat->results[0].name : "groups";
  GlowStr full = glow_str_printf(p->run->ctx, "%s.%s", base, name);
  return n ? &glow_eval_finish(&e, &n->results[0], full)->value : NULL;
}

static GlowValue *merge(GlowPassRun *run, GlowNode *n) {
  Parts p = {.concat = n, .run = run, .constness = glow_constness_create(run->arena)};
  uint32_t count = glow_node_nins(n), rank = n->results[0].type->rank;
  int64_t axis = ((const GlowConcatMembers *)n->members)->axis;
  GlowContraction c;
  for (uint32_t i = 0; i < count; i++)
    if (!accept(&p, i))
      return NULL;
  glow_contraction_describe((GlowNode *)(uintptr_t)p.first, &c);
  if (count < 2 || (axis < 0 ? axis + rank : axis) != c.y_axis ||
      p.x->type->dims[c.x_axis].size != count * c.in)
    return NULL;
  GlowValue *ins[] = {p.x, concat(&p, 1, "weights"), NULL};
  if (glow_node_in(p.first, 2))
    ins[2] = concat(&p, 2, "biases");
  if (!ins[1] || (glow_node_in(p.first, 2) && !ins[2]))
    return NULL;
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)p.first->members;
  members.group *= count;
  GlowBuilder b = glow_builder_before(n);
  GlowNode *fresh = glow_build(&b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL);
  return fresh ? &fresh->results[0] : NULL;
}

bool glow_pass_group_conv(GlowPassRun *run) {
  static const GlowRule rules[] = {
      {GLOW_OP_CONCAT, merge, "convolutions side by side become one with groups"}};
  return glow_rules_run(run, rules, 1);
}
