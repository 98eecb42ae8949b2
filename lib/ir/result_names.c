/* The names by which callers of a run know the results. See glow_function_result_names. */
#include <ctype.h>

#include "ir/ir_internal.h"

static bool is_number(GlowStr name) {
  while (isdigit((unsigned char)*name))
    name++;
  return !*name;
}

/* The name of the value that becomes result i, if it may serve as the result's name; else NULL. */
static GlowStr name_of_value(const GlowNode *end, uint32_t i, const GlowMap *taken) {
  const GlowValue *v = end && i < end->noperands ? end->operands[i].value : NULL;
  bool fits = v && v->kind != GLOW_VALUE_STORAGE && v->name && !is_number(v->name) &&
              !glow_map_get(taken, v->name);
  return fits ? v->name : NULL;
}

static GlowStr *derive(const GlowFunction *f, const GlowStr *given, GlowArena *arena) {
  GlowStr *names = GLOW_NEW_ARRAY(arena, GlowStr, f->nresults);
  GlowMap *taken = glow_map_create(arena);
  const GlowNode *end = glow_block_terminator(f->body);
  uint32_t number = 0;
  for (uint32_t i = 0; i < f->body->nparams; i++)
    glow_map_set(taken, f->body->params[i]->name, names);
  for (const GlowStorage *s = f->module->first_storage; s; s = s->next)
    if (s->cls != GLOW_CONSTANT)
      glow_map_set(taken, s->value.name, names);
  for (uint32_t i = 0; given && i < f->nresults; i++)
    if (given[i])
      glow_map_set(taken, given[i], names);
  for (uint32_t i = 0; i < f->nresults; i++) {
    names[i] = given && given[i] ? given[i] : name_of_value(end, i, taken);
    number = i > number ? i : number;
    while (!names[i]) {
      GlowStr next = glow_str_printf(f->module->ctx, "%u", number++);
      names[i] = glow_map_get(taken, next) ? NULL : next;
    }
    glow_map_set(taken, names[i], names);
  }
  return names;
}

const GlowStr *glow_function_result_names(const GlowFunction *f, GlowArena *arena) {
  return derive(f, f->result_names, arena);
}

void glow_function_keep_result_names(GlowFunction *f) {
  if (f->nresults && f->kind != GLOW_GRADIENT)
    f->result_names = derive(f, f->result_names, f->module->arena);
}

bool glow_function_shows_result_names(const GlowFunction *f) {
  if (!f->result_names)
    return false;
  GlowArena *arena = glow_arena_create(f->module->ctx);
  const GlowStr *names = derive(f, f->result_names, arena), *plain = derive(f, NULL, arena);
  bool differ = false;
  for (uint32_t i = 0; i < f->nresults; i++)
    differ |= names[i] != plain[i];
  glow_arena_destroy(arena);
  return differ;
}
