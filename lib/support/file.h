/* Files: whole-file input by mapping or reading, and output that appears only on success.
 * Every failure is one diagnostic that names the path. */
#ifndef GLOW_SUPPORT_FILE_H
#define GLOW_SUPPORT_FILE_H

#include "support/context.h"

/* Bytes of an input. data[size] is readable and NUL. */
typedef struct GlowInput {
  const char *name; /* path, or "<stdin>" for "-" */
  const char *data;
  size_t size;
  void *map; /* mmap'ed region to unmap, or NULL */
  size_t map_size;
  void *heap;             /* malloc'ed copy to free, or NULL */
  uint64_t device, inode; /* of the file that was opened; 0 for pipes */
  int64_t modified;       /* when its contents changed, in nanoseconds since 1970; 0 for pipes */
  int64_t changed;        /* the same of its contents, times or name: nobody can set it back */
} GlowInput;

/* Opens and maps `path`; "-" reads stdin to its end. Folders, and with `regular` also anything
 * that is not a regular file (FIFO, device), are refused. A file that is not mapped is read.
 * An empty stdin is an error. Returns false after a diagnostic at `loc` (GLOW_NOWHERE: the path
 * itself). */
bool glow_input_open(GlowContext *ctx, const char *path, bool regular, GlowLoc loc, GlowInput *in);
void glow_input_close(GlowInput *in);

/* Writes parts to a temporary file beside `path` and renames it; "-" or NULL is stdout. Removes
 * the temporary file and reports on any failure, a full disk included; not that nobody reads stdout
 * any more. */
typedef struct GlowBytes {
  const void *data;
  size_t size;
} GlowBytes;
/* Whether stdout is a pipe that nobody reads any more. */
bool glow_stdout_is_closed(void);
bool glow_output_write(GlowContext *ctx, const char *path, const GlowBytes *parts, size_t nparts);

/* Files that belong together, none of them a device: all are written before the first gets its
 * name. */
typedef struct GlowOutput {
  const char *path;
  GlowBytes part;
} GlowOutput;
bool glow_outputs_write(GlowContext *ctx, const GlowOutput *outputs, size_t count);

/* The same for a file that is or becomes a regular one with these permissions, and without a
 * diagnostic: 0 or an errno. */
int glow_file_replace(const char *path, unsigned permissions, const GlowBytes *parts,
                      size_t nparts);

/* Path helpers by text alone, links are not followed; results live in the context. */
GlowStr glow_path_dir(GlowContext *ctx, const char *path);                  /* "." if none */
GlowStr glow_path_join(GlowContext *ctx, const char *dir, const char *rel); /* rel if absolute */
GlowStr glow_path_absolute(GlowContext *ctx, const char *path);
GlowStr glow_path_relative(GlowContext *ctx, const char *path, const char *dir);
const char *glow_path_base(const char *path);

#endif
