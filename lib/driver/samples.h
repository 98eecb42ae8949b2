/* Samples: the data that a model is trained on, or judged by, one at a time and in any order.
 *
 * A source is NAME or NAME:SELECTION. The format is recognised by content:
 *
 *   .npy, IDX (MNIST's format)   samples along the first axis
 *   safetensors, :KEY            the same of a tensor
 *   a folder                     pictures, one folder for each class; for integers without extents
 *                                the rank of the class among the sorted names
 *   PNG, JPEG, PNM               one sample
 *   *.png, photo?.npy            the files that the pattern fits, by their names: pictures, or .npy
 *   @LIST                        the files whose paths are the lines of the file LIST
 *   any text, :window=N[,next]   pieces of N bytes; with `next`, one byte further on
 *   CSV, :3 or :0-63 or :NAME    a line each; columns by number from 0, or by name
 *
 * Files are mapped and never read whole. What a source has is converted to the kind that is asked
 * for: floating-point kinds round, an integer must be whole and in range. Bytes of arrays that
 * become floating-point numbers are those of pictures, (byte - mean) / std, and so are numbers of
 * CSV and of text where samples are floating-point numbers of three extents. */
#ifndef GLOW_DRIVER_SAMPLES_H
#define GLOW_DRIVER_SAMPLES_H

#include "support/file.h"
#include "tensor/formats.h"

typedef struct GlowSamples GlowSamples;
struct GlowSamples {
  GlowContext *ctx;
  GlowStr name;         /* the source as it was given */
  int64_t count;        /* how many samples there are */
  const GlowType *type; /* of one sample */
  GlowImageOptions image;
  /* Writes sample i. False after a diagnostic. */
  bool (*read)(const GlowSamples *s, int64_t i, GlowTensor *sample);
  void *source; /* the reader's */
};

/* Opens a source of samples of a static type in the plain layout. NULL after a diagnostic. It lives
 * as long as the context. */
GlowSamples *glow_samples_open(GlowContext *ctx, const char *source, const GlowType *type,
                               const GlowImageOptions *image);
/* The same of a file that is open already, which goes to the context, also after a failure.
 * `selection`: what follows the colon, or NULL. */
GlowSamples *glow_samples_take(GlowContext *ctx, GlowInput *input, const char *selection,
                               const GlowType *type, const GlowImageOptions *image);

/* Writes sample i, 0 <= i < count, to glow_type_bytes(type) bytes. False after a diagnostic, which
 * names the sample. */
bool glow_samples_read(const GlowSamples *s, int64_t i, void *data);

#endif
