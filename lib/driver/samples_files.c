/* Samples in several files, one file after the other: pictures, of which each is a sample, and .npy
 * with samples along the first axis. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "driver/samples_internal.h"
#include "tensor/blob.h"

typedef struct File {
  const char *path;
  const GlowSamples *array; /* NULL: a picture */
  int64_t first;            /* the number of its first sample */
} File;

typedef struct Files {
  GLOW_VEC(File) list;
} Files;

static const File *file_of(const Files *f, int64_t i) {
  uint32_t low = 0, high = f->list.count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    *(f->list.data[middle].first <= i ? &low : &high) = middle;
  }
  return &f->list.data[low];
}

static bool read_file(const GlowSamples *s, int64_t i, GlowTensor *sample) {
  const File *file = file_of(s->source, i);
  return file->array ? file->array->read(file->array, i - file->first, sample)
                     : glow_samples_picture(s, i, file->path, sample);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool add_file(GlowSamples *s, Files *f, const char *path) {
  GlowInput in;
  if (!glow_input_open(s->ctx, path, true, GLOW_NOWHERE, &in))
    return false;
  File file = {.path = glow_str(s->ctx, path), .first = s->count};
  bool picture = glow_image_format(in.data, in.size) != GLOW_IMAGE_NONE;
  if (picture) {
    glow_input_close(&in);
    if (!f->list.count && !glow_samples_picture_size(s))
      return false;
  } else if (!(file.array = glow_samples_take(s->ctx, &in, NULL, s->type, &s->image))) {
    return false;
  }
  s->count += picture ? 1 : file.array->count;
  if (picture || file.array->count)
    glow_vec_push(s->ctx->arena, &f->list, file);
  return true;
}

bool glow_samples_files(GlowSamples *s, const char *const *paths, uint32_t count) {
  Files *f = GLOW_NEW(s->ctx->arena, Files);
  s->source = f;
  s->read = read_file;
  for (uint32_t i = 0; i < count; i++)
    if (!add_file(s, f, paths[i]))
      return false;
  return true;
}

static void close_glob(void *found) { globfree(found); }

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool glow_samples_glob(GlowSamples *s, const char *pattern) {
  glob_t found;
  int status = glob(pattern, GLOB_NOSORT, NULL, &found);
  if (status) {
    glow_error(s->ctx, glow_loc_file(s->ctx, s->name),
               status == GLOB_NOMATCH ? "there are no such files" : "the folder cannot be read");
    return false;
  }
  GlowDefer close;
  glow_defer_push(s->ctx, &close, close_glob, &found);
  qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_name);
  bool ok = glow_samples_files(s, (const char *const *)found.gl_pathv, (uint32_t)found.gl_pathc);
  glow_defer_pop(s->ctx, &close, true);
  return ok;
}

static void close_input(void *input) { glow_input_close(input); }

bool glow_samples_listed(GlowSamples *s, const char *path) {
  GlowContext *ctx = s->ctx;
  GlowInput in;
  if (!glow_input_open(ctx, path, false, GLOW_NOWHERE, &in))
    return false;
  GlowDefer close;
  glow_defer_push(ctx, &close, close_input, &in);
  GLOW_VEC(const char *) paths = {0};
  for (const char *at = in.data, *end = at + in.size; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((stop ? stop : end) - at), used = length;
    while (used && (at[used - 1] == '\r' || at[used - 1] == ' '))
      used--;
    if (used)
      glow_vec_push(ctx->arena, &paths, glow_str_n(ctx, at, used));
    at += length + 1;
  }
  bool ok = glow_samples_files(s, paths.data, paths.count);
  glow_defer_pop(ctx, &close, true);
  return ok;
}
