/* The names of an entry: its inputs, outputs and variables. */
#include "ir/access.h"
#include "runtime/session.h"

static bool is_input(GlowAccess a) { return a.wanted || !a.written; }

void glow_session_names(const GlowSession *s, bool written, GlowNameList *names) {
  GlowArena *arena = glow_arena_create(s->ctx), *keep = s->ctx->arena;
  const GlowAccess *access = glow_function_accesses(s->entry, arena).of;
  for (GlowStorage *st = s->module->first_storage; st; st = st->next) {
    GlowAccess a = access[st->value.id];
    if (st->cls == GLOW_PLACEHOLDER && (written ? a.written : is_input(a)))
      glow_vec_push(keep, names, st->value.name);
  }
  glow_arena_destroy(arena);
  if (written)
    for (uint32_t i = 0; i < s->entry->nresults; i++)
      glow_vec_push(keep, names, glow_str_printf(s->ctx, "%u", i));
  else
    for (uint32_t i = 0; s->entry->body && i < s->entry->body->nparams; i++)
      glow_vec_push(keep, names, s->entry->body->params[i]->name);
}

/* The type of a placeholder that is written, or else of one that is an input. */
static const GlowType *placeholder_type(const GlowSession *s, GlowStr name, bool written) {
  const GlowStorage *st = glow_module_storage(s->module, name);
  if (!st || st->cls != GLOW_PLACEHOLDER)
    return NULL;
  GlowArena *arena = glow_arena_create(s->ctx);
  GlowAccess a = glow_function_accesses(s->entry, arena).of[st->value.id];
  glow_arena_destroy(arena);
  return (written ? a.written : is_input(a)) ? st->value.type : NULL;
}

const GlowType *glow_session_input_type(const GlowSession *s, GlowStr name) {
  for (uint32_t i = 0; s->entry->body && i < s->entry->body->nparams; i++)
    if (s->entry->body->params[i]->name == name)
      return s->entry->body->params[i]->type;
  return placeholder_type(s, name, false);
}

const GlowType *glow_session_output_type(const GlowSession *s, GlowStr name) {
  for (uint32_t i = 0; i < s->entry->nresults; i++)
    if (glow_str_printf(s->ctx, "%u", i) == name)
      return s->entry->results[i];
  return placeholder_type(s, name, true);
}

GlowStorage *glow_session_variable(const GlowSession *s, GlowStr name) {
  GlowStorage *st = glow_module_storage(s->module, name);
  return st && st->cls == GLOW_VARIABLE ? st : NULL;
}
