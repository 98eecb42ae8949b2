/* The names and types of an entry's inputs, outputs and variables. */
#include "analysis/access.h"
#include "driver/session.h"

/* Whether a value from outside of the entry is an output (`written`) or an input. */
static bool is_port(const GlowAccesses *accesses, const GlowValue *v, bool written) {
  GlowAccess a = accesses->of[v->id];
  return glow_outer_class(v) == GLOW_PLACEHOLDER &&
         (written ? a.written : a.wanted || !a.written);
}

void glow_session_names(const GlowSession *s, bool written, GlowNameList *names) {
  GlowArena *arena = glow_arena_create(s->ctx), *keep = s->ctx->arena;
  GlowAccesses accesses = glow_function_accesses(s->entry, arena);
  GlowOuterValues outer = glow_function_outer_values(s->entry, arena);
  const GlowStr *results = glow_function_result_names(s->entry, arena);
  for (uint32_t i = 0; i < outer.count; i++)
    if (is_port(&accesses, outer.data[i], written))
      glow_vec_push(keep, names, outer.data[i]->name);
  for (uint32_t i = 0; written && i < s->entry->nresults; i++)
    glow_vec_push(keep, names, results[i]);
  glow_arena_destroy(arena);
}

/* The type of a parameter or placeholder; NULL if there is none of that name and direction. */
static const GlowType *outer_type(const GlowSession *s, GlowStr name, bool written) {
  GlowArena *arena = glow_arena_create(s->ctx);
  GlowAccesses accesses = glow_function_accesses(s->entry, arena);
  GlowOuterValues outer = glow_function_outer_values(s->entry, arena);
  const GlowType *type = NULL;
  for (uint32_t i = 0; i < outer.count; i++)
    if (outer.data[i]->name == name && is_port(&accesses, outer.data[i], written))
      type = outer.data[i]->type;
  glow_arena_destroy(arena);
  return type;
}

const GlowType *glow_session_input_type(const GlowSession *s, GlowStr name) {
  return outer_type(s, name, false);
}

const GlowType *glow_session_output_type(const GlowSession *s, GlowStr name) {
  GlowArena *arena = glow_arena_create(s->ctx);
  const GlowStr *results = glow_function_result_names(s->entry, arena);
  const GlowType *type = NULL;
  for (uint32_t i = 0; i < s->entry->nresults; i++)
    type = results[i] == name ? s->entry->results[i] : type;
  glow_arena_destroy(arena);
  return type ? type : outer_type(s, name, true);
}

GlowStorage *glow_session_variable(const GlowSession *s, GlowStr name) {
  GlowStorage *st = glow_module_storage(s->module, name);
  return st && st->cls == GLOW_VARIABLE ? st : NULL;
}
