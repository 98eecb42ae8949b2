/* The rule of Call: a Call of the gradient of what it calls, which gets the operands again, and the
 * derivatives by its results as seeds. */
#include "autodiff/sweep.h"

static GlowFunction *callee_of(const GlowNode *n) {
  return glow_module_function(n->block->module, ((const GlowCallMembers *)n->members)->callee);
}

typedef GLOW_VEC(GlowValue *) Values;

/* Appends the active storage that f and what f calls read, in the order of the text. */
static void read_storage(const GlowSweep *s, const GlowFunction *f, GlowMap *seen, Values *found) {
  if (!f || glow_map_get(seen, f))
    return;
  glow_map_set(seen, f, (void *)f);
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n)) {
    for (uint32_t i = 0; i < n->noperands; i++) {
      GlowValue *v = n->operands[i].value;
      if (!v || v->kind != GLOW_VALUE_STORAGE || !glow_sweep_is_active(s, v) ||
          glow_map_get(seen, v))
        continue;
      glow_map_set(seen, v, v);
      glow_vec_push(s->arena, found, v);
    }
    if (n->op == GLOW_OP_CALL)
      read_storage(s, callee_of(n), seen, found);
  }
}

bool glow_sweep_calls_active(const GlowSweep *s, const GlowNode *n) {
  Values found = {0};
  if (n->op == GLOW_OP_CALL)
    read_storage(s, callee_of(n), glow_map_create(s->arena), &found);
  return found.count != 0;
}

bool glow_sweep_visit_call(GlowSweep *s, GlowNode *n, GlowValue *const *dy) {
  const GlowFunction *f = callee_of(n);
  Values xs = {0}, ins = {0}, storage = {0};
  uint32_t most = n->noperands + n->nresults;
  read_storage(s, f, glow_map_create(s->arena), &storage);
  GlowCallGradient call = {.callee = f};
  call.from = GLOW_NEW_ARRAY(s->arena, GlowGradientRef, n->nresults + 1);
  call.wrt = GLOW_NEW_ARRAY(s->arena, GlowGradientRef, most + storage.count + 1);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    glow_vec_push(s->arena, &ins, v);
    if (!glow_sweep_is_active(s, v))
      continue;
    call.wrt[call.nwrt++] = (GlowGradientRef){.name = f->body->params[i]->name};
    glow_vec_push(s->arena, &xs, v);
  }
  for (uint32_t i = 0; i < storage.count; i++) {
    call.wrt[call.nwrt++] = (GlowGradientRef){.name = storage.data[i]->name, .is_storage = true};
    glow_vec_push(s->arena, &xs, storage.data[i]);
  }
  for (uint32_t i = 0; i < n->nresults; i++)
    if (dy[i]) {
      call.from[call.nfrom++] = (GlowGradientRef){.index = i};
      glow_vec_push(s->arena, &ins, dy[i]);
    }
  const GlowFunction *g = s->asked->gradient_of(s->asked->user, &call);
  if (!g)
    return false;
  GlowCallMembers members = {.callee = g->name};
  GlowNode *made = glow_node_create(s->b, &(GlowNodeSpec){.op = GLOW_OP_CALL,
                                                          .ins = ins.data,
                                                          .nins = ins.count,
                                                          .members = &members,
                                                          .nresults = xs.count});
  for (uint32_t i = 0; made && i < xs.count; i++)
    if (!glow_sweep_add(s, n, xs.data[i], &made->results[i]))
      return false;
  return made != NULL;
}
