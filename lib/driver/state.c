/* Variables from and to files, so that a stateful function goes on where it was. */
#include <string.h>

#include "analysis/access.h"
#include "backend/interp/interp.h"
#include "driver/session.h"
#include "support/file.h"
#include "tensor/blob.h"

/* How a file holds a variable: the bytes of its plain layout. */
static const GlowType *file_type(GlowContext *ctx, const GlowType *type) {
  return glow_type_in_file(ctx, glow_type_with_layout(ctx, type, NULL));
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void refuse_entry(GlowSession *s, GlowStr key, GlowLoc at) {
  GlowNameList names = {0};
  for (GlowStorage *st = s->module->first_storage; st; st = st->next)
    if (st->cls == GLOW_VARIABLE)
      glow_vec_push(s->ctx->arena, &names, st->value.name);
  const char *near = glow_nearest(key, (const char *const *)names.data, names.count);
  glow_error(s->ctx, at, "the model has no variable '%s'%s%s%s", key,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool add_entry(GlowSession *s, const GlowBlobEntry *e, GlowLoc at) {
  GlowContext *ctx = s->ctx;
  const GlowStorage *variable = glow_session_variable(s, e->key);
  if (!variable) {
    refuse_entry(s, e->key, at);
    return false;
  }
  const GlowType *type = variable->value.type, *plain = glow_type_with_layout(ctx, type, NULL);
  const GlowType *given = glow_type_exact(ctx, e->kind, e->rank, e->dims);
  if (type->kind == GLOW_KIND_STRING || given != file_type(ctx, type)) {
    glow_error(ctx, at, "'%s' is %s, but variable '%s' is %s", e->key, glow_type_str(ctx, given),
               e->key, glow_type_str(ctx, type));
    return false;
  }
  if (glow_bindings_find(&s->variables, e->key)) {
    glow_error(ctx, at, "variable '%s' is given twice", e->key);
    return false;
  }
  GlowTensor *t = glow_tensor_create(ctx, plain);
  memcpy(t->data, e->data, t->bytes);
  glow_vec_push(ctx->arena, &s->variables, ((GlowBinding){e->key, t}));
  return true;
}

GlowStatus glow_session_read_state(GlowSession *s, const char *path) {
  GlowContext *ctx = s->ctx;
  GlowLoc at = glow_loc_file(ctx, path);
  GlowInput in;
  if (!glow_input_open(ctx, path, true, GLOW_NOWHERE, &in))
    return GLOW_IO;
  glow_blob_hold(ctx, &in);
  const GlowBlob *blob = glow_blob_from_safetensors(ctx, path, in.data, in.size, at);
  bool ok = blob != NULL;
  for (uint32_t i = 0; blob && i < blob->nentries; i++)
    ok = add_entry(s, &blob->entries[i], at) && ok;
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

/* ---- Setting --------------------------------------------------------------------------------- */

/* A variable that passes have left out is skipped; its value stays in the session, for
 * glow_session_write_state. */
GlowValues *glow_session_values(GlowSession *s) {
  if (!s->values)
    s->values = glow_values_create(s->module);
  for (uint32_t i = 0; i < s->variables.count; i++) {
    GlowBinding *b = &s->variables.data[i];
    GlowStorage *st = b->tensor ? glow_session_variable(s, b->name) : NULL;
    if (!st)
      continue;
    glow_values_set(s->values, st,
                    glow_tensor_in_layout(s->ctx, b->tensor, st->value.type->layout));
    glow_tensor_free(b->tensor);
    b->tensor = NULL;
  }
  return s->values;
}

/* ---- Writing --------------------------------------------------------------------------------- */

typedef GLOW_VEC(GlowNamedTensor) NamedTensors;

/* Adds a value in the form that a file has; its bytes lie in `arena`. False after a diagnostic. */
static bool put(GlowContext *ctx, GlowArena *arena, NamedTensors *all, GlowStr name,
                const GlowTensor *value) {
  if (value->type->kind == GLOW_KIND_STRING) {
    glow_error(ctx, GLOW_NOWHERE, "variable '%s' is of strings, which a state file cannot hold",
               name);
    return false;
  }
  GlowTensor *plain = glow_tensor_plain(ctx, value), *t = GLOW_NEW(arena, GlowTensor);
  *t = (GlowTensor){.type = file_type(ctx, value->type),
                    .data = glow_arena_copy(arena, plain->data, plain->bytes),
                    .bytes = plain->bytes};
  glow_tensor_free(plain);
  glow_vec_push(arena, all, ((GlowNamedTensor){name, t}));
  return true;
}

static bool collect(GlowSession *s, GlowArena *arena, NamedTensors *all) {
  const GlowAccess *access = glow_function_accesses(s->entry, arena).of;
  GlowValues *values = glow_session_values(s);
  bool ok = true;
  for (GlowStorage *st = s->module->first_storage; st; st = st->next) {
    GlowAccess a = access[st->value.id];
    if (st->cls != GLOW_VARIABLE || !(a.read || a.written || glow_values_held(values, st)))
      continue;
    const GlowTensor *value = glow_values_get(values, st);
    ok = value && put(s->ctx, arena, all, st->value.name, value) && ok;
  }
  for (uint32_t i = 0; i < s->variables.count; i++) {
    const GlowBinding *b = &s->variables.data[i];
    ok = (!b->tensor || put(s->ctx, arena, all, b->name, b->tensor)) && ok;
  }
  return ok;
}

GlowStatus glow_session_write_state(GlowSession *s, const char *path) {
  GlowContext *ctx = s->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  NamedTensors all = {0};
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  GlowStatus status = collect(s, arena, &all) ? GLOW_OK : GLOW_BAD_INPUT;
  if (status == GLOW_OK) {
    glow_safetensors_write(&text, all.data, all.count);
    if (!glow_output_write(ctx, path, &(GlowBytes){text.data, text.size}, 1))
      status = GLOW_IO;
  }
  glow_defer_pop(ctx, &defer, true);
  glow_arena_destroy(arena);
  return status;
}
