/* Scales and offsets of quantized types from ranges. */
#ifndef GLOW_QUANTIZE_PARAMETERS_H
#define GLOW_QUANTIZE_PARAMETERS_H

#include "quantize/ranges.h"

/* How a scale and an offset follow from a range that holds 0, for stored integers from `low` to
 * `high`. Offsets are limited to the kind.
 *
 *   asymmetric        S = (max - min) / (high - low), O = rne(low - min / S)
 *   symmetric         S = max(-min, max) / 127, O = 0 for i8, 128 for u8
 *   symmetric-uint8   S = max / 255 with O = low where min is 0, else symmetric
 *   power2            asymmetric with S rounded up to a power of two */
typedef enum GlowQuantScheme {
  GLOW_SCHEME_ASYMMETRIC,
  GLOW_SCHEME_SYMMETRIC,
  GLOW_SCHEME_SYMMETRIC_UINT8,
  GLOW_SCHEME_POWER2
} GlowQuantScheme;

/* Which part of what was seen is the range.
 *
 *   minmax       all of it
 *   percentile   without a share of the elements, half of it at each end
 *   entropy      the part on which 256 steps say most about the histogram: the smallest divergence
 *                (Kullback and Leibler) of what they say from it
 *   mse          the part with the smallest mean square error */
typedef enum GlowCalibration {
  GLOW_CALIBRATE_MINMAX,
  GLOW_CALIBRATE_PERCENTILE,
  GLOW_CALIBRATE_ENTROPY,
  GLOW_CALIBRATE_MSE
} GlowCalibration;

extern const char *const glow_quant_schemes[];
extern const char *const glow_calibrations[];
enum { GLOW_QUANT_SCHEMES = 4, GLOW_CALIBRATIONS = 4 };

typedef struct GlowQuantParameters {
  GlowKind kind; /* u8 or i8 */
  float scale;
  int32_t offset;
} GlowQuantParameters;

/* The smallest scale: such that no product of two is denormal. */
#define GLOW_LEAST_SCALE 0x1p-60F

/* The parameters for a range, which is made to hold 0. A range of 0 alone gets the scale 1. */
GlowQuantParameters glow_quant_parameters(GlowQuantScheme scheme, GlowKind kind, double min,
                                          double max);
/* The part of a bounded range that counts. `percent` of the elements are in it, for percentile. */
void glow_calibrate(GlowCalibration how, double percent, const GlowRange *r, double *min,
                    double *max);

#endif
