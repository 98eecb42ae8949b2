/* safetensors: every entry that the index has must lie inside the bytes. */
#include "tensor/blob.h"
#include "test/fuzz/fuzz.h"

static volatile unsigned char sink;

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowBlob *blob = glow_blob_from_safetensors(ctx, "fuzz", in->data, in->size, GLOW_NOWHERE);
  for (uint32_t i = 0; blob && i < blob->nentries; i++) {
    const GlowBlobEntry *e = &blob->entries[i];
    if (glow_blob_find(blob, e->key) != e)
      __builtin_trap();
    for (size_t b = 0; b < e->bytes; b++)
      sink = ((const unsigned char *)e->data)[b];
  }
}

GLOW_FUZZ_TARGET(false, body)
