/* See written.h. */
#include "driver/written.h"

/* The value of storage lies in the file, as that of a weight file would. False: there is no such
 * storage, or its type takes other bytes. */
static bool attach(GlowModule *m, const GlowWrittenValue *value) {
  GlowStorage *s = glow_module_storage(m, glow_str(m->ctx, value->name));
  const GlowType *type = s ? s->value.type : NULL;
  if (!s || s->cls == GLOW_PLACEHOLDER || s->init.kind != GLOW_INIT_SPLAT ||
      !glow_type_is_tensor(type) || !glow_type_is_static(type) ||
      (size_t)glow_type_bytes(type) != value->bytes.size)
    return false;
  GlowTensor *t = GLOW_NEW(m->ctx->arena, GlowTensor);
  *t = (GlowTensor){
      .type = type, .data = (void *)(uintptr_t)value->bytes.data, .bytes = value->bytes.size};
  s->init = (GlowInit){.kind = GLOW_INIT_PAYLOAD, .tensor = t, .key = s->value.name};
  return true;
}

GlowModule *glow_written_module(GlowContext *ctx, const char *name, GlowBytes file,
                                const GlowWritten **written) {
  GlowLoc loc = glow_loc_file(ctx, name);
  const GlowWritten *w = *written = glow_written_read(ctx, file, loc);
  GlowModule *m = w ? glow_module_parse(ctx, name, w->text.data, w->text.size) : NULL;
  for (uint32_t i = 0; m && i < w->nvalues; i++)
    if (!attach(m, &w->values[i])) {
      glow_error(ctx, loc, "this executable cannot be used: its text has no place for '@%s'",
                 w->values[i].name);
      return NULL;
    }
  return m;
}
