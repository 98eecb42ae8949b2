/* What a command line says about pictures as inputs. */
#ifndef GLOW_DRIVER_PICTURES_H
#define GLOW_DRIVER_PICTURES_H

#include "support/cmdline.h"
#include "tensor/formats.h"

typedef struct GlowImageFlags {
  const char *size, *mean, *std, *layout, *channel_order;
  double crop;
} GlowImageFlags;

/* clang-format off */
/* Rows for the table of options. */
#define GLOW_IMAGE_OPTIONS(flags)                                                                  \
  {.name = "image-size", .value = "WxH",                                                           \
   .help = "resize pictures (default: as the input's type says)", .kind = GLOW_OPT_STRING,         \
   .target = &(flags).size, .two_dashes = true},                                                   \
  {.name = "crop", .value = "F",                                                                   \
   .help = "first take the centre square of F times the short side", .kind = GLOW_OPT_DOUBLE,      \
   .target = &(flags).crop, .two_dashes = true},                                                   \
  {.name = "mean", .value = "M[,M,M]",                                                             \
   .help = "subtract from each channel, in units of 0 to 255 (0)", .kind = GLOW_OPT_STRING,        \
   .target = &(flags).mean, .two_dashes = true},                                                   \
  {.name = "std", .value = "S[,S,S]", .help = "then divide each channel by this (1)",              \
   .kind = GLOW_OPT_STRING, .target = &(flags).std, .two_dashes = true},                           \
  {.name = "image-layout", .value = "nchw|nhwc",                                                   \
   .help = "order of channels in the input (nchw)", .kind = GLOW_OPT_STRING,                       \
   .target = &(flags).layout, .two_dashes = true},                                                 \
  {.name = "channel-order", .value = "rgb|bgr", .help = "order of colours (rgb)",                  \
   .kind = GLOW_OPT_STRING, .target = &(flags).channel_order, .two_dashes = true}
/* clang-format on */

/* What the flags choose. False after a diagnostic. */
bool glow_image_flags_read(GlowContext *ctx, const GlowImageFlags *flags, GlowImageOptions *image);

#endif
