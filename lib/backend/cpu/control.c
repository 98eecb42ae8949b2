/* If and Loop: the work of their regions, and where their conditions stand. */
#include "backend/cpu/select.h"

/* The place of a condition or a count, which has one element. Absent operands have a place, too. */
static bool scalar_place(GlowSelect *s, const GlowValue *v, GlowPlace *place) {
  GlowView view;
  *place = glow_place_absent();
  if (!v)
    return true;
  if (!glow_select_view(s, v, &view))
    return false;
  *place = view.place;
  return true;
}

static GlowWork *push(GlowSelect *s, const GlowNode *n, GlowWorkKind kind, const GlowPlace *places,
                      uint32_t count) {
  GlowWork w = {.kind = kind, .source = glow_select_source(s, n), .nplaces = count};
  w.places = glow_arena_copy(s->arena, places, count * sizeof *places);
  glow_vec_push(s->arena, &s->work, w);
  return &s->work.data[s->work.count - 1];
}

bool glow_select_if(GlowSelect *s, const GlowNode *n) {
  GlowPlace cond;
  if (!scalar_place(s, glow_node_in(n, GLOW_IF_IN_COND), &cond))
    return false;
  GlowWorkList then = glow_select_block(s, glow_node_region(n, "then"));
  GlowWorkList otherwise = glow_select_block(s, glow_node_region(n, "else"));
  GlowWork *w = push(s, n, GLOW_WORK_IF, &cond, 1);
  w->then = then;
  w->otherwise = otherwise;
  return true;
}

bool glow_select_loop(GlowSelect *s, const GlowNode *n) {
  GlowBlock *body = glow_node_region(n, "body");
  GlowPlace places[3];
  if (!scalar_place(s, glow_node_in(n, GLOW_LOOP_IN_TRIP), &places[0]) ||
      !scalar_place(s, glow_node_in(n, GLOW_LOOP_IN_COND), &places[1]))
    return false;
  places[2] = glow_select_extra(s, sizeof(int64_t));
  if (body->nparams)
    glow_select_place(s, body->params[0], &places[2]);
  GlowWorkList work = glow_select_block(s, body);
  push(s, n, GLOW_WORK_LOOP, places, 3)->then = work;
  return true;
}
