/* Memory of a caller, and the ports of a program that it is for. */
#ifndef GLOW_BUFFER_H
#define GLOW_BUFFER_H

#include "glow/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value that a caller gives to a program, or gets: a placeholder, a parameter, a result; or a
 * variable of a state. Arrays and strings belong to whoever filled the struct in. `size` is
 * sizeof(GlowPort) as the caller knows it: the struct may grow at its end. */
typedef struct GlowPort {
  size_t size;
  const char *name; /* UTF-8, without a sigil */
  const char *type; /* as in a text: "float<1 x 3 x 224 x 224>" */
  const char *kind; /* of an element: "float", "i64", "u8"; of a sequence or optional: "" */
  /* Of each axis the least and the largest extent; equal if the extent is known. The largest is
   * INT64_MAX if there is no bound. */
  const int64_t *low, *high;
  uint32_t rank;
  size_t bytes; /* at the largest extents; 0: there is no bound, or elements are no bytes */
  bool written; /* runs write it */
  bool rows;    /* its first axis is the batch's. False: nothing is known of that */
  bool read;    /* runs read it; they may write it too */
} GlowPort;

/* Elements, row-major unless the type names a layout, packed as in a weight file, in this machine's
 * byte order. They must be aligned as a single element is; where they are aligned to 64 bytes no
 * run copies them. The struct never grows. */
typedef struct GlowBuffer {
  void *data;
  size_t bytes; /* of `data`: at least what the extents need; to be written, GlowPort.bytes */
  const int64_t *extents; /* of each axis of an input; NULL: the port's, which are known */
} GlowBuffer;

#ifdef __cplusplus
}
#endif
#endif
