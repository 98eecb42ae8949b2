/* IDX, the format of MNIST (http://yann.lecun.com/exdb/mnist): two zeros, a byte for the kind, a
 * byte for the rank, the extents as 32-bit numbers, then the elements. The most significant byte of
 * each number comes first. */
#include "tensor/formats.h"

static GlowKind kind_of(unsigned char code) {
  switch (code) {
  case 0x08:
    return GLOW_KIND_U8;
  case 0x09:
    return GLOW_KIND_I8;
  case 0x0b:
    return GLOW_KIND_I16;
  case 0x0c:
    return GLOW_KIND_I32;
  case 0x0d:
    return GLOW_KIND_FLOAT;
  case 0x0e:
    return GLOW_KIND_DOUBLE;
  default:
    return GLOW_KIND_COUNT;
  }
}

bool glow_idx_is(const void *data, size_t size) {
  const unsigned char *p = data;
  return size >= 4 && !p[0] && !p[1] && kind_of(p[2]) != GLOW_KIND_COUNT && p[3] >= 1 &&
         p[3] <= GLOW_MAX_RANK;
}

const GlowType *glow_idx_find(GlowContext *ctx, const char *name, const void *data, size_t size,
                              const void **elements) {
  const unsigned char *p = data;
  GlowLoc at = glow_loc_file(ctx, name);
  GlowKind kind = kind_of(p[2]);
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = p[3];
  size_t start = 4 + 4 * (size_t)rank;
  if (size < start) {
    glow_error(ctx, at, "the file ends inside its header");
    return NULL;
  }
  for (uint32_t i = 0; i < rank; i++, p += 4)
    dims[i] = GLOW_EXACT((int64_t)p[4] << 24 | p[5] << 16 | p[6] << 8 | p[7]);
  const char *error = glow_type_check_dims(kind, rank, dims);
  if (error) {
    glow_error(ctx, at, "%s", error);
    return NULL;
  }
  *elements = (const char *)data + start;
  const GlowType *type = glow_type_tensor(ctx, kind, rank, dims);
  return glow_type_check_size(ctx, at, type, size - start) ? type : NULL;
}
