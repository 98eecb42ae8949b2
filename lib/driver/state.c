/* Variables from and to files, so that a stateful function goes on where it was. */
#include <string.h>

#include "analysis/access.h"
#include "backend/interp/interp.h"
#include "driver/session.h"
#include "driver/state.h"
#include "support/file.h"

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

/* The type of a variable whose value has the extents of an entry. */
static const GlowType *entry_type(GlowContext *ctx, const GlowType *t, const GlowBlobEntry *e) {
  bool rows = glow_type_grows(t) && e->rank && glow_type_takes_rows(t, GLOW_EXACT(e->dims[0]));
  return rows ? glow_type_with_rows(ctx, t, GLOW_EXACT(e->dims[0])) : t;
}

static bool add_entry(GlowSession *s, const GlowBlobEntry *e, GlowLoc at) {
  GlowContext *ctx = s->ctx;
  const GlowStorage *variable = glow_session_variable(s, e->key);
  if (!variable) {
    refuse_entry(s, e->key, at);
    return false;
  }
  const GlowType *type = entry_type(ctx, variable->value.type, e);
  const GlowType *plain = glow_type_with_layout(ctx, type, NULL);
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

bool glow_state_take(GlowSession *s, const GlowBlob *blob, GlowLoc at) {
  bool ok = true;
  for (uint32_t i = 0; i < blob->nentries; i++)
    ok = add_entry(s, &blob->entries[i], at) && ok;
  return ok;
}

const GlowBlob *glow_state_open(GlowContext *ctx, const char *path) {
  GlowInput in;
  if (!glow_input_open(ctx, path, true, GLOW_NOWHERE, &in))
    return NULL;
  glow_blob_hold(ctx, &in);
  return glow_blob_from_safetensors(ctx, path, in.data, in.size, glow_loc_file(ctx, path));
}

GlowStatus glow_session_read_state(GlowSession *s, const char *path) {
  const GlowBlob *blob = glow_state_open(s->ctx, path);
  return blob && glow_state_take(s, blob, glow_loc_file(s->ctx, path)) ? GLOW_OK : GLOW_BAD_INPUT;
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

bool glow_state_put(GlowStateFile *f, GlowStr name, const GlowTensor *value) {
  GlowContext *ctx = f->ctx;
  const GlowType *type = value->type;
  if (type->kind == GLOW_KIND_STRING) {
    glow_error(ctx, GLOW_NOWHERE, "variable '%s' is of strings, which a state file cannot hold",
               name);
    return false;
  }
  GlowTensor *t = GLOW_NEW(f->arena, GlowTensor);
  *t = (GlowTensor){.type = file_type(ctx, type), .data = value->data, .bytes = value->bytes};
  if (type->layout) {
    GlowTensor *plain = glow_tensor_plain(ctx, value);
    t->data = glow_arena_copy(f->arena, plain->data, plain->bytes);
    t->bytes = plain->bytes;
    glow_tensor_free(plain);
  }
  glow_vec_push(f->arena, &f->values, ((GlowNamedTensor){name, t}));
  return true;
}

GlowStatus glow_state_write(const GlowStateFile *f, const char *path, const GlowBlobText *metadata,
                            uint32_t nmetadata, bool sync) {
  GlowContext *ctx = f->ctx;
  uint32_t n = f->values.count;
  GlowBytes *parts = GLOW_NEW_ARRAY(f->arena, GlowBytes, n + 1);
  GlowText header;
  GlowDefer defer;
  glow_text_init(&header, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &header);
  glow_safetensors_write_header(&header, f->values.data, n, metadata, nmetadata);
  parts[0] = (GlowBytes){header.data, header.size};
  for (uint32_t i = 0; i < n; i++)
    parts[i + 1] = (GlowBytes){f->values.data[i].tensor->data, f->values.data[i].tensor->bytes};
  bool ok =
      sync ? glow_output_sync(ctx, path, parts, n + 1) : glow_output_write(ctx, path, parts, n + 1);
  glow_defer_pop(ctx, &defer, true);
  return ok ? GLOW_OK : GLOW_IO;
}

static bool collect(GlowSession *s, GlowStateFile *f) {
  const GlowAccess *access = glow_function_accesses(s->entry, f->arena).of;
  GlowValues *values = glow_session_values(s);
  bool ok = true;
  for (GlowStorage *st = s->module->first_storage; st; st = st->next) {
    GlowAccess a = access[st->value.id];
    if (st->cls != GLOW_VARIABLE || !(a.read || a.written || glow_values_held(values, st)))
      continue;
    const GlowTensor *value = glow_values_get(values, st);
    ok = value && glow_state_put(f, st->value.name, value) && ok;
  }
  for (uint32_t i = 0; i < s->variables.count; i++) {
    const GlowBinding *b = &s->variables.data[i];
    ok = (!b->tensor || glow_state_put(f, b->name, b->tensor)) && ok;
  }
  return ok;
}

GlowStatus glow_session_write_state(GlowSession *s, const char *path) {
  GlowStateFile f = {.ctx = s->ctx, .arena = glow_arena_create(s->ctx)};
  GlowStatus status = collect(s, &f) ? glow_state_write(&f, path, NULL, 0, false) : GLOW_BAD_INPUT;
  glow_arena_destroy(f.arena);
  return status;
}
