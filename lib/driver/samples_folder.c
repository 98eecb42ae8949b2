/* Samples in a folder: pictures, in one folder for each class. Classes and pictures come in the
 * order of their names' bytes. A picture is decoded when its sample is read. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <stdlib.h>

#include "driver/samples_internal.h"
#include "tensor/element.h"

typedef struct Picture {
  const char *path;
  uint32_t label;
} Picture;

typedef struct Folder {
  GLOW_VEC(Picture) pictures;
} Folder;

typedef GLOW_VEC(const char *) Names;

static void close_folder(void *dir) { closedir(dir); }

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder that do not begin with a dot, sorted. */
static bool list(GlowContext *ctx, const char *path, Names *names) {
  DIR *dir = opendir(path);
  if (!dir) {
    char reason[128];
    glow_error(ctx, glow_loc_file(ctx, path), "cannot open: %s",
               strerror_r(errno, reason, sizeof reason));
    return false;
  }
  GlowDefer close;
  glow_defer_push(ctx, &close, close_folder, dir);
  for (const struct dirent *e; (e = readdir(dir));)
    if (e->d_name[0] != '.')
      glow_vec_push(ctx->arena, names, glow_str(ctx, e->d_name));
  glow_defer_pop(ctx, &close, true);
  if (names->count)
    qsort(names->data, names->count, sizeof *names->data, by_name);
  return true;
}

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_label(const GlowSamples *s, int64_t i, GlowTensor *sample) {
  const Picture *p = &((const Folder *)s->source)->pictures.data[i];
  return glow_samples_put(s, i, glow_loc_file(s->ctx, p->path), sample, 0,
                          glow_scalar_int(p->label));
}

static void close_input(void *input) { glow_input_close(input); }

/* The picture as a tensor with one more extent, 1, in front. NULL after a diagnostic. */
static GlowTensor *decode(const GlowSamples *s, const char *path) {
  GlowInput in;
  if (!glow_input_open(s->ctx, path, true, GLOW_NOWHERE, &in))
    return NULL;
  GlowDefer close;
  glow_defer_push(s->ctx, &close, close_input, &in);
  GlowTensor *t = NULL;
  if (glow_image_format(in.data, in.size) == GLOW_IMAGE_NONE)
    glow_error(s->ctx, glow_loc_file(s->ctx, path), "this is no PNG, JPEG or PNM picture");
  else
    t = glow_image_read(s->ctx, path, in.data, in.size, &s->image);
  glow_defer_pop(s->ctx, &close, true);
  return t;
}

static bool fits(const GlowType *found, const GlowType *wanted) {
  bool same = found->rank == wanted->rank + 1;
  for (uint32_t i = 0; same && i < wanted->rank; i++)
    same = found->dims[i + 1].size == wanted->dims[i].size;
  return same;
}

bool glow_samples_picture(const GlowSamples *s, int64_t i, const char *path, GlowTensor *sample) {
  GlowLoc at = glow_loc_file(s->ctx, path);
  GlowTensor *t = decode(s, path);
  if (!t)
    return false;
  GlowDefer release;
  glow_defer_push(s->ctx, &release, glow_tensor_free_fn, t);
  bool ok = fits(t->type, s->type);
  if (!ok)
    glow_error(s->ctx, at, "sample %lld is %s, but %s is needed", (long long)i,
               glow_type_str(s->ctx, t->type), glow_type_str(s->ctx, s->type));
  for (int64_t e = 0; ok && e < glow_tensor_elements(t); e++)
    ok = glow_samples_put(s, i, at, sample, e, glow_tensor_get(t, e));
  glow_defer_pop(s->ctx, &release, true);
  return ok;
}

static bool read_picture(const GlowSamples *s, int64_t i, GlowTensor *sample) {
  const Folder *f = s->source;
  return glow_samples_picture(s, i, f->pictures.data[i].path, sample);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool add_class(GlowSamples *s, Folder *f, const char *path, uint32_t label) {
  Names names = {0};
  if (!list(s->ctx, path, &names))
    return false;
  for (uint32_t i = 0; i < names.count; i++) {
    Picture p = {glow_path_join(s->ctx, path, names.data[i]), label};
    glow_vec_push(s->ctx->arena, &f->pictures, p);
  }
  return true;
}

bool glow_samples_picture_size(GlowSamples *s) {
  const GlowType *t = s->type;
  GlowImageOptions *o = &s->image;
  if (t->rank != 3 || !glow_kind_is_float(t->kind)) {
    glow_error(s->ctx, glow_loc_file(s->ctx, s->name), "pictures, or their classes, are no %s",
               glow_type_str(s->ctx, t));
    return false;
  }
  int64_t channels = t->dims[o->nhwc ? 2 : 0].size;
  o->channels = (int)(channels == 1 || channels == 3 ? channels : 0);
  if (!o->width && !o->height) {
    o->height = (uint32_t)t->dims[o->nhwc ? 0 : 1].size;
    o->width = (uint32_t)t->dims[o->nhwc ? 1 : 2].size;
  }
  return true;
}

bool glow_samples_folder(GlowSamples *s, const char *path) {
  bool labels = s->type->rank == 0 && glow_kind_is_integer(s->type->kind);
  if (!labels && !glow_samples_picture_size(s))
    return false;
  Names classes = {0};
  if (!list(s->ctx, path, &classes))
    return false;
  Folder *f = GLOW_NEW(s->ctx->arena, Folder);
  uint32_t label = 0;
  for (uint32_t i = 0; i < classes.count; i++) {
    const char *class = glow_path_join(s->ctx, path, classes.data[i]);
    if (is_folder(class) && !add_class(s, f, class, label++))
      return false;
  }
  if (!label) {
    glow_error(s->ctx, glow_loc_file(s->ctx, path),
               "it has no folder with the pictures of a class");
    return false;
  }
  s->count = f->pictures.count;
  s->source = f;
  s->read = labels ? read_label : read_picture;
  return true;
}
