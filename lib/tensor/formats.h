/* Tensors in files that users bring: .npy, IDX, and pictures. ONNX's .pb lives in lib/import/onnx. */
#ifndef GLOW_TENSOR_FORMATS_H
#define GLOW_TENSOR_FORMATS_H

#include "tensor/tensor.h"

/* NumPy's format, versions 1 to 3, C order, little-endian (big-endian and Fortran order are
 * refused with a message). `name` is for messages. Returns NULL after a diagnostic. */
GlowTensor *glow_npy_read(GlowContext *ctx, const char *name, const void *data, size_t size);
/* The type of the array in such a file, and where its elements lie, at any alignment. NULL after a
 * diagnostic. */
const GlowType *glow_npy_find(GlowContext *ctx, const char *name, const void *data, size_t size,
                              const void **elements);
bool glow_npy_can_hold(const GlowType *type);
void glow_npy_write(GlowText *out, const GlowTensor *t);

/* Whether bytes begin as a file in IDX format does; and the type of its array, and where the
 * elements lie, which have their most significant bytes first. NULL after a diagnostic. */
bool glow_idx_is(const void *data, size_t size);
const GlowType *glow_idx_find(GlowContext *ctx, const char *name, const void *data, size_t size,
                              const void **elements);

/* How a picture becomes a tensor: crop, resize, channels, then value = (sample - mean[c]) / std[c].
 * Samples of PNG and JPEG are 0..255 (16 bits are reduced to 8, transparency is dropped). Samples
 * of PNM are the numbers in the file, up to 65535, not scaled by maxval. */
typedef struct GlowImageOptions {
  uint32_t width, height; /* 0: as the file is; else resized bilinearly (after the crop) */
  double crop;            /* centre square of this fraction of the short side; 0: none */
  double mean[3], std[3]; /* by channel of the result before bgr swaps them; std 0 means 1 */
  bool nhwc;              /* layout of the result, else NCHW */
  bool bgr;               /* channel order, else RGB */
  int channels;           /* 0: as the file has; 1 grey or 3 */
} GlowImageOptions;

typedef enum GlowImageFormat {
  GLOW_IMAGE_NONE,
  GLOW_IMAGE_PNG,
  GLOW_IMAGE_JPEG,
  GLOW_IMAGE_PNM /* P2, P3, P5, P6 */
} GlowImageFormat;
GlowImageFormat glow_image_format(const void *data, size_t size); /* by content */

/* Decodes a picture into a tensor float<1 x C x H x W> or <1 x H x W x C>. Pictures of more than
 * GLOW_MAX_PIXELS are refused before memory for the pixels is allocated. NULL after a
 * diagnostic. */
GlowTensor *glow_image_read(GlowContext *ctx, const char *name, const void *data, size_t size,
                            const GlowImageOptions *o);

#endif
