/* Executables in files. A file has the text of a module with programs, the constants and first
 * values of variables that these read, and the images of code (exec/code.h) that was made for them.
 *
 * A program's steps are not in the file: they follow from its text at once, in the build of Glow
 * that wrote the file, and no other build takes the file. Files have a checksum, against damage.
 * One that somebody wants to do harm is not noticed: it has machine code. */
#ifndef GLOW_EXEC_WRITTEN_H
#define GLOW_EXEC_WRITTEN_H

#include "support/file.h"

typedef struct GlowWrittenValue {
  const char *name; /* of the storage */
  GlowBytes bytes;  /* in the layout of its type; aligned to 64 when it was read */
} GlowWrittenValue;

typedef struct GlowWrittenImage {
  const char *entry; /* the program's name */
  uint64_t program;  /* a checksum of its steps and pieces, which the image must fit */
  GlowBytes image;
} GlowWrittenImage;

typedef struct GlowWritten {
  GlowBytes text; /* .gir, in which the storage that follows is splats of 0 */
  const GlowWrittenValue *values;
  const GlowWrittenImage *images;
  uint32_t nvalues, nimages;
} GlowWritten;

/* Whether these bytes begin as such a file does. */
bool glow_written_is(GlowBytes file);
/* What a file has. It points into `file`, and otherwise into the context. NULL after a diagnostic
 * at loc: the file is of another build or format, cut off, or damaged. */
const GlowWritten *glow_written_read(GlowContext *ctx, GlowBytes file, GlowLoc loc);
/* Writes a file, as glow_output_write does. False after a diagnostic. */
bool glow_written_write(GlowContext *ctx, const char *path, const GlowWritten *w);

#endif
