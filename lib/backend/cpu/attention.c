/* Tiled attention: reading the instruction into GlowAttentionParams. */
#include "backend/cpu/select.h"
#include "cpu/work.h"

#include <string.h>

typedef struct Attention {
  GlowView q, k, v, mask, y;
  bool masked;
} Attention;

static bool read_operands(GlowSelect *s, const GlowNode *n, Attention *a) {
  const GlowValue *mask = glow_node_in(n, GLOW_TILED_ATTENTION_IN_MASK);
  a->masked = mask != NULL;
  if (!glow_select_view(s, glow_node_out(n, 0), &a->y) ||
      !glow_select_view(s, glow_node_in(n, GLOW_TILED_ATTENTION_IN_Q), &a->q) ||
      !glow_select_view(s, glow_node_in(n, GLOW_TILED_ATTENTION_IN_K), &a->k) ||
      !glow_select_view(s, glow_node_in(n, GLOW_TILED_ATTENTION_IN_V), &a->v) ||
      (mask && !glow_select_view(s, mask, &a->mask)))
    return false;
  if (a->q.rank != 4 || a->k.rank != 4 || a->v.rank != 4 || a->y.rank != 4 ||
      (mask && a->mask.type->layout))
    return glow_select_fail(s, "an operand has a blocked layout");
  if (a->k.dims[2] == 0 || a->v.dims[3] == 0)
    return glow_select_fail(s, "it has no keys or values");
  if (a->y.strides[3] != 1 && a->y.dims[3] != 1)
    return glow_select_fail(s, "the elements of its result are not contiguous");
  return true;
}

/* Strides of the mask along the axes of the scores; the last axis is contiguous, or repeated. */
static bool read_mask(GlowSelect *s, const Attention *a, GlowAttentionParams *p) {
  p->mask = a->masked;
  for (uint32_t i = 0; i < a->mask.rank && a->masked; i++) {
    uint32_t axis = i + 4 - a->mask.rank;
    p->m[axis] = a->mask.dims[i] == 1 ? 0 : a->mask.strides[i];
  }
  return p->m[3] <= 1 || glow_select_fail(s, "the columns of its mask are not contiguous");
}

bool glow_select_tiled_attention(GlowSelect *s, const GlowNode *n) {
  const GlowTiledAttentionMembers *m = n->members;
  Attention a = {0};
  if (!read_operands(s, n, &a))
    return false;
  uint32_t scale;
  memcpy(&scale, &m->scale, sizeof scale);
  GlowAttentionParams p = {.batch = a.q.dims[0],
                           .heads = a.q.dims[1],
                           .queries = a.q.dims[2],
                           .keys = a.k.dims[2],
                           .size = a.q.dims[3],
                           .v_size = a.v.dims[3],
                           .scale = scale,
                           .kv_tile = m->kv_tile};
  if (p.batch * p.heads * p.queries == 0)
    return true; /* no elements */
  p.shared = p.heads / a.k.dims[1];
  memcpy(p.q, a.q.strides, sizeof p.q);
  memcpy(p.k, a.k.strides, sizeof p.k);
  memcpy(p.v, a.v.strides, sizeof p.v);
  memcpy(p.y, a.y.strides, sizeof p.y);
  if (!read_mask(s, &a, &p))
    return false;
  p.kv_tile = p.kv_tile > p.keys ? glow_div_up(p.keys, 16) * 16 : p.kv_tile;
  GlowAttentionPlaces at = {.y = a.y.place,
                            .q = a.q.place,
                            .k = a.k.place,
                            .v = a.v.place,
                            .mask = a.masked ? a.mask.place : glow_place_absent()};
  GlowSetup setup = {0};
  glow_setup_attention(&s->cpu, &p, &setup);
  glow_work_attention(s, n, &p, &setup, &at);
  return true;
}
