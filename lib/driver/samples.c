/* See samples.h: which reader takes a source, and how a number becomes an element. */
#include "driver/samples_internal.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "tensor/blob.h"
#include "tensor/element.h"

static void close_input(void *input) { glow_input_close(input); }

static GlowSamples *make(GlowContext *ctx, const char *name, const GlowType *type,
                         const GlowImageOptions *image) {
  GlowSamples *s = GLOW_NEW(ctx->arena, GlowSamples);
  *s = (GlowSamples){.ctx = ctx, .name = glow_str(ctx, name), .type = type};
  s->image = image ? *image : (GlowImageOptions){.std = {1, 1, 1}};
  return s;
}

static bool begins_as_safetensors(const GlowInput *in) {
  return in->size > 8 && in->data[8] == '{';
}

/* Refuses a selection that a format has no use for. */
static bool has_no_selection(const GlowSamples *s, const char *selection) {
  if (selection)
    glow_error(s->ctx, glow_loc_file(s->ctx, s->name), "there is nothing to choose by ':%s'",
               selection);
  return !selection;
}

static bool choose_reader(GlowSamples *s, const GlowInput *in, const char *selection) {
  if (in->size >= 6 && !memcmp(in->data, "\x93NUMPY", 6))
    return has_no_selection(s, selection) && glow_samples_npy(s, in);
  if (glow_idx_is(in->data, in->size))
    return has_no_selection(s, selection) && glow_samples_idx(s, in);
  if (selection && !strncmp(selection, "window=", 7))
    return glow_samples_text(s, in, selection + 7);
  if (begins_as_safetensors(in) && selection)
    return glow_samples_tensor(s, in, selection);
  if (selection)
    return glow_samples_csv(s, in, selection);
  glow_error(s->ctx, glow_loc_file(s->ctx, s->name),
             "this is neither a picture nor .npy nor IDX; of safetensors say FILE:KEY, of CSV "
             "FILE:COLUMNS, of a "
             "text FILE:window=N");
  return false;
}

GlowSamples *glow_samples_take(GlowContext *ctx, GlowInput *input, const char *selection,
                               const GlowType *type, const GlowImageOptions *image) {
  GlowDefer close;
  glow_defer_push(ctx, &close, close_input, input);
  glow_blob_hold(ctx, input);
  glow_defer_pop(ctx, &close, false);
  GlowSamples *s = make(ctx, input->name, type, image);
  return choose_reader(s, input, selection) ? s : NULL;
}

GlowSamples *glow_samples_open(GlowContext *ctx, const char *source, const GlowType *type,
                               const GlowImageOptions *image) {
  struct stat st;
  bool found = stat(source, &st) == 0;
  if (!found && (*source == '@' || strpbrk(source, "*?["))) {
    GlowSamples *s = make(ctx, source, type, image);
    return (*source == '@' ? glow_samples_listed(s, source + 1) : glow_samples_glob(s, source))
               ? s
               : NULL;
  }
  const char *colon = found ? NULL : strrchr(source, ':');
  const char *path = colon ? glow_str_n(ctx, source, (size_t)(colon - source)) : source;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    GlowSamples *s = make(ctx, path, type, image);
    return has_no_selection(s, colon ? colon + 1 : NULL) && glow_samples_folder(s, path) ? s : NULL;
  }
  GlowInput input;
  if (!glow_input_open(ctx, path, true, GLOW_NOWHERE, &input))
    return NULL;
  if (!colon && glow_image_format(input.data, input.size) != GLOW_IMAGE_NONE) {
    glow_input_close(&input);
    GlowSamples *s = make(ctx, path, type, image);
    return glow_samples_files(s, &path, 1) ? s : NULL;
  }
  return glow_samples_take(ctx, &input, colon ? colon + 1 : NULL, type, image);
}

bool glow_samples_read(const GlowSamples *s, int64_t i, void *data) {
  GlowTensor sample = {.type = s->type, .data = data, .bytes = (size_t)glow_type_bytes(s->type)};
  return s->read(s, i, &sample);
}

/* ---- Elements -------------------------------------------------------------------------------- */

/* Whether a kind other than of floating-point numbers has the value v. */
static bool holds(GlowKind kind, GlowScalar v) {
  const GlowKindInfo *info = &glow_kind_info[kind];
  if (!v.is_int && (v.f != floor(v.f) || fabs(v.f) >= 0x1p63))
    return false;
  double least = info->cls == GLOW_CLASS_SINT ? -ldexp(1, (int)info->bits - 1) : 0;
  double most = info->cls == GLOW_CLASS_BOOL   ? 1
                : info->cls == GLOW_CLASS_SINT ? ldexp(1, (int)info->bits - 1)
                                               : ldexp(1, (int)info->bits);
  bool wide = info->bits == 64;
  return v.f >= least &&
         (info->cls == GLOW_CLASS_BOOL ? v.f <= most
          : wide && v.is_int           ? info->cls == GLOW_CLASS_UINT || !glow_scalar_is_wrapped(v)
                                       : v.f < most);
}

int glow_samples_channel(const GlowSamples *s, int64_t e) {
  const GlowType *t = s->type;
  if (t->rank < 3)
    return 0;
  const GlowDim *d = &t->dims[t->rank - 3];
  if (d[2].size == 3 && d[0].size != 3)
    return (int)(e % 3);
  return d[0].size == 3 ? (int)(e / (d[1].size * d[2].size) % 3) : 0;
}

GlowScalar glow_samples_number(const GlowSamples *s, int64_t e, GlowScalar v) {
  if (s->type->rank != 3 || !glow_kind_is_float(s->type->kind))
    return v;
  int c = glow_samples_channel(s, e);
  return glow_scalar_float((float)((v.f - s->image.mean[c]) / s->image.std[c]));
}

bool glow_samples_put(const GlowSamples *s, int64_t i, GlowLoc at, GlowTensor *sample, int64_t e,
                      GlowScalar v) {
  GlowKind kind = s->type->kind;
  if (kind == GLOW_KIND_FLOAT) {
    ((float *)sample->data)[e] = (float)v.f;
    return true;
  }
  if (!glow_kind_is_float(kind)) {
    if (!holds(kind, v)) {
      glow_error(s->ctx, at, "sample %lld: %.17g is no %s", (long long)i, v.f,
                 glow_kind_info[kind].name);
      return false;
    }
    if (!v.is_int)
      v = glow_scalar_int((int64_t)v.f);
  }
  glow_tensor_set(sample, e, v);
  return true;
}
