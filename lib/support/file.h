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
  int64_t modified;       /* st_mtim in nanoseconds: the last change of the contents; 0 for pipes */
  int64_t changed;        /* st_ctim, the same: also of times or names; no program can set it */
} GlowInput;

/* Opens and maps `path`; "-" reads stdin to its end. Folders are refused; with `regular`, so are
 * FIFOs and devices. An input that cannot be mapped is read into memory. An empty stdin is an
 * error. Returns false after a diagnostic at `loc`, or at the path itself if `loc` is
 * GLOW_NOWHERE. */
bool glow_input_open(GlowContext *ctx, const char *path, bool regular, GlowLoc loc, GlowInput *in);
void glow_input_close(GlowInput *in);

typedef struct GlowBytes {
  const void *data;
  size_t size;
} GlowBytes;
/* Whether stdout is a pipe that nobody reads any more. */
bool glow_stdout_is_closed(void);
/* Writes the parts in order to a temporary file beside `path`, then renames it; "-" or NULL is
 * stdout. On failure (a full disk, for example) the temporary file is removed and the error is
 * reported; if nobody reads stdout any more, nothing is reported. Returns whether everything is
 * written. */
bool glow_output_write(GlowContext *ctx, const char *path, const GlowBytes *parts, size_t nparts);

/* The same; a regular file also survives a loss of power: it is on the disk before it is renamed. */
bool glow_output_sync(GlowContext *ctx, const char *path, const GlowBytes *parts, size_t nparts);

/* Removes temporary files that a process which was killed has left beside `path`. */
void glow_output_clean(const char *path);

/* Files that belong together; none may be a device. glow_outputs_write writes all of them under
 * temporary names before it renames the first. */
typedef struct GlowOutput {
  const char *path;
  GlowBytes part;
} GlowOutput;
bool glow_outputs_write(GlowContext *ctx, const GlowOutput *outputs, size_t count);

/* Writes a regular file in the same way, with these permissions. Reports nothing; returns 0 or an
 * errno. */
int glow_file_replace(const char *path, unsigned permissions, const GlowBytes *parts,
                      size_t nparts);

/* Path helpers by text alone, links are not followed; results live in the context. */
GlowStr glow_path_dir(GlowContext *ctx, const char *path);                  /* "." if none */
GlowStr glow_path_join(GlowContext *ctx, const char *dir, const char *rel); /* rel if absolute */
GlowStr glow_path_absolute(GlowContext *ctx, const char *path);
GlowStr glow_path_relative(GlowContext *ctx, const char *path, const char *dir);
const char *glow_path_base(const char *path);

#endif
