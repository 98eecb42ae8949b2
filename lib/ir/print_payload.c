/* The data in a text: which initializers are elided in a text for reading, and the payload, a block
 * of raw bytes after the text that holds tensors. */
#include "ir/print_internal.h"

#include <stdlib.h>

bool glow_init_is_elided(const GlowInit *init) {
  return init->kind == GLOW_INIT_LIST || init->kind == GLOW_INIT_PAYLOAD ||
         init->kind == GLOW_INIT_ELIDED;
}

bool glow_module_elides(const GlowModule *m) {
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    if (glow_init_is_elided(&s->init))
      return true;
  return false;
}

bool glow_module_has_payload(const GlowModule *m) {
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    if (s->init.kind == GLOW_INIT_PAYLOAD && s->init.tensor)
      return true;
  return false;
}

void glow_print_payload(GlowText *out, const GlowModule *m, bool omit) {
  GlowContext *ctx = m->ctx;
  uint32_t count = 0;
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    count += s->init.kind == GLOW_INIT_PAYLOAD && s->init.tensor;
  if (omit) {
    glow_text_printf(out, "; The payload of %u tensor%s is left out.\n", count,
                     count == 1 ? "" : "s");
    return;
  }
  GlowArena *scratch = glow_arena_create(ctx);
  GlowNamedTensor *tensors = GLOW_NEW_ARRAY(scratch, GlowNamedTensor, count);
  GlowMap *seen = glow_map_create(scratch); /* two storages may share one entry */
  count = 0;
  for (const GlowStorage *s = m->first_storage; s; s = s->next) {
    const GlowTensor *t = s->init.tensor;
    if (s->init.kind != GLOW_INIT_PAYLOAD || !t || glow_map_get(seen, s->init.key))
      continue;
    GlowTensor *plain = GLOW_NEW(scratch, GlowTensor);
    *plain =
        (GlowTensor){.type = glow_type_in_file(ctx, t->type), .data = t->data, .bytes = t->bytes};
    tensors[count++] = (GlowNamedTensor){s->init.key, plain};
    glow_map_set(seen, s->init.key, plain);
  }
  GlowText bytes;
  GlowDefer release;
  glow_text_init(&bytes, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &bytes);
  glow_safetensors_write(&bytes, tensors, count);
  glow_text_printf(out, "payload %zu\n", bytes.size);
  glow_text_bytes(out, bytes.data, bytes.size);
  glow_defer_pop(ctx, &release, true);
  glow_arena_destroy(scratch);
}
