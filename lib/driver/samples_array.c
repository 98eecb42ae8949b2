/* Samples along the first axis of an array in a file: .npy, safetensors, IDX. */
#include <string.h>

#include "driver/samples_internal.h"
#include "tensor/blob.h"
#include "tensor/element.h"

typedef struct Array {
  const unsigned char *data; /* of the first sample */
  GlowKind kind;
  int64_t elements;   /* of a sample */
  size_t bytes;       /* of a sample */
  bool swapped;       /* the most significant byte comes first */
  float byte[3][256]; /* what a byte becomes, by channel of a picture; valid if `picture` */
  bool picture;
} Array;

/* ---- Reading --------------------------------------------------------------------------------- */

static GlowScalar element(const Array *a, const unsigned char *row, int64_t e) {
  if (!a->swapped)
    return glow_element_get(a->kind, row, e);
  unsigned char bytes[8];
  size_t n = glow_kind_info[a->kind].bits / 8;
  for (size_t b = 0; b < n; b++)
    bytes[b] = row[(size_t)e * n + n - 1 - b];
  return glow_element_get(a->kind, bytes, 0);
}

static bool read_array(const GlowSamples *s, int64_t i, GlowTensor *sample) {
  const Array *a = s->source;
  const unsigned char *row = a->data + (size_t)i * a->bytes;
  if (a->picture && s->type->kind == GLOW_KIND_FLOAT) {
    float *to = sample->data;
    for (int64_t e = 0; e < a->elements; e++)
      to[e] = a->byte[glow_samples_channel(s, e)][row[e]];
    return true;
  }
  if (a->kind == s->type->kind && !a->swapped && !a->picture) {
    if (a->bytes)
      memcpy(sample->data, row, a->bytes);
    return true;
  }
  GlowLoc at = glow_loc_file(s->ctx, s->name);
  for (int64_t e = 0; e < a->elements; e++) {
    GlowScalar v = a->picture
                       ? glow_scalar_float((double)a->byte[glow_samples_channel(s, e)][row[e]])
                       : element(a, row, e);
    if (!glow_samples_put(s, i, at, sample, e, v))
      return false;
  }
  return true;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Whether extents are the same, but for those that are 1. */
static bool extents_agree(const GlowType *found, const GlowType *wanted) {
  uint32_t f = 1, w = 0;
  for (;;) {
    while (f < found->rank && found->dims[f].size == 1)
      f++;
    while (w < wanted->rank && wanted->dims[w].size == 1)
      w++;
    if (f == found->rank || w == wanted->rank)
      return f == found->rank && w == wanted->rank;
    if (found->dims[f++].size != wanted->dims[w++].size)
      return false;
  }
}

static bool is_number(GlowKind kind) {
  GlowKindClass c = glow_kind_info[kind].cls;
  return c != GLOW_CLASS_COMPLEX && c != GLOW_CLASS_STRING;
}

/* Begins with an array of this type, whose elements lie at `data`. */
static bool begin(GlowSamples *s, const GlowType *found, const void *data, bool swapped) {
  GlowContext *ctx = s->ctx;
  GlowKind kind = found->kind;
  bool fits = found->rank && extents_agree(found, s->type) && glow_kind_info[kind].bits >= 8 &&
              (kind == s->type->kind || (is_number(kind) && is_number(s->type->kind)));
  if (!fits) {
    glow_error(ctx, glow_loc_file(ctx, s->name),
               "it has %s, whose parts along the first axis are not %s", glow_type_str(ctx, found),
               glow_type_str(ctx, s->type));
    return false;
  }
  Array *a = GLOW_NEW(ctx->arena, Array);
  *a = (Array){.data = data, .kind = kind, .swapped = swapped && glow_kind_info[kind].bits > 8};
  a->elements = glow_type_elements(s->type);
  a->bytes = (size_t)a->elements * (glow_kind_info[kind].bits / 8);
  a->picture = kind == GLOW_KIND_U8 && glow_kind_is_float(s->type->kind);
  for (int c = 0; a->picture && c < 3; c++)
    for (int v = 0; v < 256; v++)
      a->byte[c][v] = (float)((v - s->image.mean[c]) / s->image.std[c]);
  s->count = found->dims[0].size;
  s->source = a;
  s->read = read_array;
  return true;
}

bool glow_samples_npy(GlowSamples *s, const GlowInput *in) {
  const void *data;
  const GlowType *type = glow_npy_find(s->ctx, in->name, in->data, in->size, &data);
  return type && begin(s, type, data, false);
}

bool glow_samples_tensor(GlowSamples *s, const GlowInput *in, const char *key) {
  GlowContext *ctx = s->ctx;
  GlowLoc at = glow_loc_file(ctx, in->name);
  const GlowBlob *blob = glow_blob_from_safetensors(ctx, in->name, in->data, in->size, at);
  const GlowBlobEntry *e = blob ? glow_blob_find(blob, glow_str(ctx, key)) : NULL;
  if (blob && !e)
    glow_error(ctx, at, "there is no tensor '%s'", key);
  return e && begin(s, glow_type_exact(ctx, e->kind, e->rank, e->dims), e->data, false);
}

bool glow_samples_idx(GlowSamples *s, const GlowInput *in) {
  const void *data;
  const GlowType *type = glow_idx_find(s->ctx, in->name, in->data, in->size, &data);
  return type && begin(s, type, data, true);
}
