/* What the readers of samples share: a file for each format. */
#ifndef GLOW_DRIVER_SAMPLES_INTERNAL_H
#define GLOW_DRIVER_SAMPLES_INTERNAL_H

#include "driver/samples.h"

/* Readers set count, read and source. They return false after a diagnostic. */
bool glow_samples_npy(GlowSamples *s, const GlowInput *in);
bool glow_samples_idx(GlowSamples *s, const GlowInput *in);
bool glow_samples_tensor(GlowSamples *s, const GlowInput *in, const char *key);
bool glow_samples_csv(GlowSamples *s, const GlowInput *in, const char *columns);
bool glow_samples_text(GlowSamples *s, const GlowInput *in, const char *options);
bool glow_samples_folder(GlowSamples *s, const char *path);
bool glow_samples_files(GlowSamples *s, const char *const *paths, uint32_t count);
/* The files that a pattern of the shell fits, in the order of their names' bytes; and those whose
 * paths are the lines of a file. */
bool glow_samples_glob(GlowSamples *s, const char *pattern);
bool glow_samples_listed(GlowSamples *s, const char *path);

/* Pictures get the size and channels that the type asks for. False after a diagnostic: no picture
 * is of this type. */
bool glow_samples_picture_size(GlowSamples *s);
/* Writes the picture in a file as sample i. False after a diagnostic. */
bool glow_samples_picture(const GlowSamples *s, int64_t i, const char *path, GlowTensor *sample);

/* The channel of element e of a picture: the extent of 3 before the last two, or else the last. */
int glow_samples_channel(const GlowSamples *s, int64_t e);
/* What the number `v` of a text becomes as element e: (v - mean) / std of its channel, in float, if
 * samples are pictures, which are floating-point numbers of three extents. */
GlowScalar glow_samples_number(const GlowSamples *s, int64_t e, GlowScalar v);

/* Writes a number to element e of a sample; s->type must hold it. False after a diagnostic at `at`
 * that names sample i. */
bool glow_samples_put(const GlowSamples *s, int64_t i, GlowLoc at, GlowTensor *sample, int64_t e,
                      GlowScalar v);

#endif
