/* RotaryEmbedding (ONNX, version 23): with heads as an axis of their own and Cos, Sin at each
 * token's position,
 *
 *   Y = Concat(Cos * A - Sin * B, Sin * A + Cos * B, the elements that stay)
 *
 * for the halves A and B of what is rotated; interleaved, these are its even and odd elements.
 * CausalConvWithState (version 27) is a depthwise Convolution over Concat(Past, X). */
#include "lower/lower.h"
#include "ops/lower.h"

/* ---- RotaryEmbedding ------------------------------------------------------------------------ */

typedef struct Rotary {
  GlowBuilder *b;
  const GlowNode *n;
  const GlowRotaryEmbeddingMembers *m;
  int64_t axis; /* the axis of x along which the elements of a head lie */
} Rotary;

static GlowValue *ints(const Rotary *r, const char *what, const int64_t *v, uint32_t count) {
  return glow_constant_ints(r->b->module, r->n, what, v, count);
}

/* Elements start, start + step, ... below end of each head. */
static GlowValue *part(const Rotary *r, GlowValue *x, int64_t start, int64_t end, int64_t step) {
  GlowValue *ins[] = {x, ints(r, "start", &start, 1), ints(r, "end", &end, 1),
                      ints(r, "axis", &r->axis, 1), ints(r, "step", &step, 1)};
  return glow_then(r->b, GLOW_OP_SLICE, ins, 5, NULL);
}

/* Reshape of x to `shape`, in which 0 stands for the extent of x, known or not. */
static GlowValue *regroup(const Rotary *r, GlowValue *x, const int64_t *shape, uint32_t rank) {
  GlowValue *ins[] = {x, ints(r, "shape", shape, rank)};
  return glow_then(r->b, GLOW_OP_RESHAPE, ins, 2, &(GlowReshapeMembers){.allow_zero = false});
}

/* Cos or Sin for each token, with an axis of extent 1 for the heads. */
static GlowValue *angles(const Rotary *r, uint32_t i, bool heads_first) {
  GlowValue *at = glow_node_in(r->n, GLOW_ROTARY_EMBEDDING_IN_POSITIONS);
  GlowValue *v = glow_node_in(r->n, i);
  if (at)
    v = glow_then(r->b, GLOW_OP_GATHER, (GlowValue *[]){v, at}, 2, &(GlowGatherMembers){.axis = 0});
  return glow_then2(r->b, GLOW_OP_UNSQUEEZE, v,
                    ints(r, "heads", &(int64_t){heads_first ? 1 : 2}, 1));
}

/* Interleaves `even` and `odd`, both [..., count / 2], to [..., count]. */
static GlowValue *woven(const Rotary *r, GlowValue *even, GlowValue *odd, int64_t count) {
  GlowValue *last = ints(r, "last", &(int64_t){r->axis + 1}, 1);
  GlowValue *pair[] = {glow_then2(r->b, GLOW_OP_UNSQUEEZE, even, last),
                       glow_then2(r->b, GLOW_OP_UNSQUEEZE, odd, last)};
  GlowValue *pairs =
      glow_then(r->b, GLOW_OP_CONCAT, pair, 2, &(GlowConcatMembers){.axis = r->axis + 1});
  return regroup(r, pairs, (int64_t[]){0, 0, 0, count}, 4);
}

/* x [.., .., .., size] with its first `count` elements rotated. */
static GlowValue *rotated(const Rotary *r, GlowValue *x, GlowValue *cos, GlowValue *sin,
                          int64_t count, int64_t size) {
  GlowBuilder *b = r->b;
  bool woven_pairs = r->m->interleaved;
  int64_t half = count / 2;
  GlowValue *first = woven_pairs ? part(r, x, 0, count, 2) : part(r, x, 0, half, 1);
  GlowValue *second = woven_pairs ? part(r, x, 1, count, 2) : part(r, x, half, count, 1);
  GlowValue *parts[3];
  uint32_t nparts = 2;
  parts[0] = glow_then2(b, GLOW_OP_SUB, glow_then2(b, GLOW_OP_MUL, cos, first),
                        glow_then2(b, GLOW_OP_MUL, sin, second));
  parts[1] = glow_then2(b, GLOW_OP_ADD, glow_then2(b, GLOW_OP_MUL, sin, first),
                        glow_then2(b, GLOW_OP_MUL, cos, second));
  if (woven_pairs) {
    parts[0] = woven(r, parts[0], parts[1], count);
    nparts = 1;
  }
  if (count < size)
    parts[nparts++] = part(r, x, count, size, 1);
  return nparts == 1
             ? parts[0]
             : glow_then(b, GLOW_OP_CONCAT, parts, nparts, &(GlowConcatMembers){.axis = r->axis});
}

bool glow_lower_rotary_embedding(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  Rotary r = {.b = b, .n = n, .m = n->members, .axis = 3};
  GlowValue *x = glow_node_in(n, GLOW_ROTARY_EMBEDDING_IN_X);
  const GlowType *t = x->type;
  if (t->unranked || t->dims[t->rank - 1].kind != GLOW_DIM_EXACT)
    return false;
  bool flat = t->rank == 3;
  int64_t heads = r.m->num_heads, all = t->dims[t->rank - 1].size, size = flat ? all / heads : all;
  int64_t count = r.m->rotary_embedding_dim ? r.m->rotary_embedding_dim : size;
  if (flat)
    x = regroup(&r, x, (int64_t[]){0, 0, heads, size}, 4);
  GlowValue *cos = angles(&r, GLOW_ROTARY_EMBEDDING_IN_COS, !flat);
  GlowValue *sin = angles(&r, GLOW_ROTARY_EMBEDDING_IN_SIN, !flat);
  x = rotated(&r, x, cos, sin, count, size);
  results[0] = flat ? regroup(&r, x, (int64_t[]){0, 0, all}, 3) : x;
  return results[0] != NULL;
}

/* ---- CausalConvWithState -------------------------------------------------------------------- */

/* X behind Past, or behind zeros. */
static GlowValue *with_past(GlowBuilder *b, const GlowNode *n, int64_t before) {
  GlowValue *x = glow_node_in(n, GLOW_CAUSAL_CONV_WITH_STATE_IN_X);
  GlowValue *past = glow_node_in(n, GLOW_CAUSAL_CONV_WITH_STATE_IN_PAST);
  if (past)
    return glow_then(b, GLOW_OP_CONCAT, (GlowValue *[]){past, x}, 2,
                     &(GlowConcatMembers){.axis = 2});
  const int64_t pads[] = {0, 0, before, 0, 0, 0};
  return glow_then2(b, GLOW_OP_PAD, x, glow_constant_ints(b->module, n, "pads", pads, 6));
}

bool glow_lower_causal_conv_with_state(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowCausalConvWithStateMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_CAUSAL_CONV_WITH_STATE_IN_X);
  GlowValue *w = glow_node_in(n, GLOW_CAUSAL_CONV_WITH_STATE_IN_W);
  GlowValue *bias = glow_node_in(n, GLOW_CAUSAL_CONV_WITH_STATE_IN_B);
  const GlowDim *dims = x->type->dims;
  if (x->type->unranked || w->type->unranked || dims[1].kind != GLOW_DIM_EXACT ||
      dims[1].size > UINT32_MAX || dims[2].kind != GLOW_DIM_EXACT ||
      w->type->dims[2].kind != GLOW_DIM_EXACT)
    return false;
  GlowValue *all = with_past(b, n, w->type->dims[2].size - 1);
  GlowConvolutionMembers conv =
      *(const GlowConvolutionMembers *)glow_op_desc[GLOW_OP_CONVOLUTION].member_defaults;
  conv.group = (uint32_t)dims[1].size;
  bool none = dims[1].size == 0 || dims[2].size == 0; /* no result: no window has to fit */
  GlowValue *y =
      none ? glow_then1(b, GLOW_OP_IDENTITY, x, NULL)
           : glow_then(b, GLOW_OP_CONVOLUTION, (GlowValue *[]){all, w, bias}, bias ? 3 : 2, &conv);
  if (m->activation != GLOW_CAUSAL_ACTIVATION_NONE)
    y = glow_then1(b, GLOW_OP_SWISH, y, &(GlowSwishMembers){.alpha = 1});
  GlowValue *last[] = {all, glow_constant_ints(b->module, n, "start", &dims[2].size, 1),
                       glow_constant_ints(b->module, n, "end", &(int64_t){INT64_MAX}, 1),
                       glow_constant_ints(b->module, n, "axis", &(int64_t){2}, 1)};
  results[0] = y;
  if (n->nresults > 1)
    results[1] = glow_then(b, GLOW_OP_SLICE, last, 4, NULL);
  return results[0] && results[n->nresults - 1];
}
