/* Inputs from files and outputs to files: formats are recognised by content, never by suffix. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/session.h"
#include "import/onnx/onnx.h"
#include "support/file.h"
#include "tensor/binds.h"
#include "tensor/element.h"

static bool ends_with(const char *s, const char *suffix) {
  size_t n = strlen(s), m = strlen(suffix);
  return n >= m && !strcmp(s + n - m, suffix);
}

static GlowTensor *read_raw(GlowContext *ctx, const GlowInput *in, const GlowType *declared) {
  GlowLoc at = glow_loc_file(ctx, in->name);
  if (!declared || !glow_type_is_static(declared) || declared->kind == GLOW_KIND_STRING) {
    glow_error(ctx, at,
               "not a .npy, .pb, PNG, JPEG or PNM file, and raw bytes need an input of "
               "static shape%s%s",
               declared ? ", not " : "", declared ? glow_type_str(ctx, declared) : "");
    return NULL;
  }
  int64_t want = glow_type_bytes(declared);
  if ((uint64_t)want != in->size) {
    glow_error(ctx, at, "raw input has %zu bytes, but %s needs %lld", in->size,
               glow_type_str(ctx, declared), (long long)want);
    return NULL;
  }
  GlowTensor *t = glow_tensor_create(ctx, declared);
  memcpy(t->data, in->data, in->size);
  return t;
}

/* An image has the rank and channels that the input asks for: grey for one channel. */
static GlowTensor *read_image(GlowContext *ctx, const GlowInput *in, const GlowType *declared,
                              const GlowImageOptions *image) {
  GlowImageOptions o = image ? *image : (GlowImageOptions){.std = {1, 1, 1}};
  if (declared && declared->cls == GLOW_TYPE_TENSOR && declared->rank == 4) {
    const GlowDim *c = &declared->dims[o.nhwc ? 3 : 1];
    const GlowDim *h = &declared->dims[o.nhwc ? 1 : 2], *w = &declared->dims[o.nhwc ? 2 : 3];
    if (!o.channels && c->kind == GLOW_DIM_EXACT)
      o.channels = (int)(c->size == 1 || c->size == 3 ? c->size : 0);
    if (!o.height && !o.width && h->kind == GLOW_DIM_EXACT && w->kind == GLOW_DIM_EXACT) {
      o.height = (uint32_t)h->size;
      o.width = (uint32_t)w->size;
    }
  }
  return glow_image_read(ctx, in->name, in->data, in->size, &o);
}

static GlowTensor *decode(GlowContext *ctx, const GlowInput *in, const char *path,
                          const GlowType *declared, const GlowImageOptions *image) {
  if (in->size >= 6 && !memcmp(in->data, "\x93NUMPY", 6))
    return glow_npy_read(ctx, in->name, in->data, in->size);
  if (glow_image_format(in->data, in->size) != GLOW_IMAGE_NONE)
    return read_image(ctx, in, declared, image);
  if (ends_with(path, ".pb"))
    return glow_pb_read(ctx, in->name, in->data, in->size, declared);
  if (ends_with(path, ".npy")) /* an empty or damaged one: let its reader say so */
    return glow_npy_read(ctx, in->name, in->data, in->size);
  return read_raw(ctx, in, declared);
}

GlowTensor *glow_session_read(GlowSession *s, const char *path, const GlowType *declared,
                              const GlowImageOptions *image) {
  GlowInput in;
  if (!glow_input_open(s->ctx, path, false, GLOW_NOWHERE, &in))
    return NULL;
  GlowTensor *t = decode(s->ctx, &in, path, declared, image);
  GlowTensor *own = t && !t->owned ? glow_tensor_copy(s->ctx, t) : t;
  if (own != t)
    glow_tensor_free(t);
  glow_input_close(&in);
  return own;
}

static void fill_random(GlowContext *ctx, GlowTensor *t, uint64_t seed) {
  bool floats = glow_kind_is_float(t->type->kind);
  GlowTensor *f =
      floats ? t : glow_tensor_create(ctx, glow_type_with_kind(ctx, t->type, GLOW_KIND_DOUBLE));
  glow_tensor_fill_random(
      f,
      &(GlowRandom){.kind = GLOW_RANDOM_UNIFORM, .low = 0, .high = floats ? 1 : 10, .seed = seed});
  for (int64_t i = 0; !floats && i < glow_tensor_elements(t); i++)
    glow_tensor_set(t, i, glow_scalar_int((int64_t)glow_tensor_get_double(f, i)));
  if (f != t)
    glow_tensor_free(f);
}

/* A whole number: decimal digits are exact, other spellings (1e3, 8.0) go through double. */
static bool read_whole(const char *text, bool *negative, uint64_t *magnitude) {
  const char *digits = text + (*text == '-' || *text == '+');
  char *end;
  *negative = *text == '-';
  if (isdigit((unsigned char)*digits)) {
    errno = 0;
    *magnitude = strtoull(digits, &end, 10);
    if (!*end)
      return errno == 0;
  }
  double v = fabs(glow_parse_double(text, &end));
  bool whole = v == floor(v) && v < 0x1p64;
  *magnitude = whole ? (uint64_t)v : 0;
  return whole;
}

/* Reads a number that every element can hold: any for floats, whole ones in range for the rest. */
static bool read_fitting(const char *text, const GlowType *type, GlowScalar *value) {
  const GlowKindInfo *info = &glow_kind_info[type->kind];
  bool bit = info->cls == GLOW_CLASS_BOOL, negative;
  uint64_t magnitude;
  if (!bit && !glow_kind_is_integer(type->kind)) {
    char *end;
    *value = glow_scalar_float(glow_parse_double(text, &end));
    return true;
  }
  if (!read_whole(text, &negative, &magnitude))
    return false;
  uint64_t most = UINT64_MAX >> (64 - (bit ? 1 : info->bits));
  if (info->cls == GLOW_CLASS_SINT)
    most = most / 2 + negative;
  else if (negative)
    most = 0;
  *value = negative ? glow_scalar_int((int64_t)(0 - magnitude)) : glow_scalar_uint(magnitude);
  return magnitude <= most;
}

/* The type of an input that is made: its own, with the shape that the text says, or with the
 * largest extents of symbols that have ranges. NULL after a diagnostic. */
static const GlowType *made_type(GlowContext *ctx, const char *spec, const char *shape,
                                 GlowStr name, const GlowType *type) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  if (type->cls != GLOW_TYPE_TENSOR || type->kind == GLOW_KIND_STRING)
    return type;
  if (!shape)
    return !type->unranked && glow_type_is_known(type) ? glow_type_room(ctx, type) : type;
  bool fits = glow_bind_parse_shape(shape, dims, &rank) && (type->unranked || rank == type->rank);
  for (uint32_t i = 0; fits && i < rank; i++)
    fits = dims[i].kind == GLOW_DIM_EXACT &&
           (type->unranked || glow_dim_allows(type->dims[i], dims[i].size));
  if (fits && !glow_type_check_dims(type->kind, rank, dims))
    return glow_type_with_dims(ctx, type, rank, dims);
  glow_error(ctx, GLOW_NOWHERE, "input '%s' is %s, which the shape of '%s' does not fit", name,
             glow_type_str(ctx, type), spec);
  return NULL;
}

/* splat:VALUE and random:SEED, and a shape behind another `:`. */
static GlowTensor *generate(GlowSession *s, const char *spec, GlowStr name, const GlowType *type) {
  GlowContext *ctx = s->ctx;
  bool random = !strncmp(spec, "random:", 7);
  const char *text = spec + (random ? 7 : 6), *problem = NULL;
  const char *shape = strchr(text, ':');
  char *end = NULL; /* of the number */
  errno = 0;
  uint64_t seed = random && isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
  GlowScalar value;
  if (!random)
    glow_parse_double(text, &end);
  bool whole = end && end != text && (!*end || end == shape);
  if (!whole || (random && errno)) {
    glow_error(ctx, GLOW_NOWHERE, "input '%s': '%s' is not a %s", name, text,
               random ? "seed: a number from 0 to 2^64 - 1" : "number");
    return NULL;
  }
  type = made_type(ctx, spec, shape ? shape + 1 : NULL, name, type);
  if (!type)
    return NULL;
  if (type->cls != GLOW_TYPE_TENSOR || type->kind == GLOW_KIND_STRING)
    problem = "makes tensors of numbers";
  else if (!glow_type_is_static(type))
    problem = "needs a static shape; -bind='NAME=EXTENT' closes open dimensions, or one behind it "
              "such as :1x3x32x32";
  else if (!random && !read_fitting(text, type, &value))
    problem = "does not fit";
  if (problem) {
    glow_error(ctx, GLOW_NOWHERE, "input '%s' is %s: %s %s", name, glow_type_str(ctx, type), spec,
               problem);
    return NULL;
  }
  GlowTensor *t = glow_tensor_create(ctx, type);
  if (random)
    fill_random(ctx, t, seed);
  else
    glow_tensor_fill(t, value);
  return t;
}

static bool can_be_set(const GlowSession *s, GlowStr name) {
  return glow_session_input_type(s, name) || glow_session_variable(s, name);
}

/* What `name` is, if it names something that cannot be given a value. */
static const char *what_else(const GlowSession *s, GlowStr name) {
  const GlowStorage *st = glow_module_storage(s->module, name);
  if (st && st->cls == GLOW_CONSTANT)
    return "a constant";
  return glow_session_output_type(s, name) ? "an output" : NULL;
}

/* Refuses `name` (NULL: there is none before `spec`), and says what could be meant. */
static void refuse_name(GlowSession *s, GlowStr name, const char *spec) {
  GlowContext *ctx = s->ctx;
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  uint32_t inputs = names.count;
  for (GlowStorage *st = s->module->first_storage; st; st = st->next)
    if (st->cls == GLOW_VARIABLE)
      glow_vec_push(ctx->arena, &names, st->value.name);
  const char *near = name ? glow_nearest(name, (const char *const *)names.data, names.count) : NULL;
  const char *hint = near ? glow_str_printf(ctx, "; did you mean '%s'?", near) : "";
  const char *other = name ? what_else(s, name) : NULL;
  if (other)
    glow_error(ctx, GLOW_NOWHERE, "'%s' is %s of the model, not an input%s", name, other, hint);
  else if (name)
    glow_error(ctx, GLOW_NOWHERE, "the model has no input '%s'%s", name, hint);
  else
    glow_error(ctx, GLOW_NOWHERE,
               inputs ? "the model has %u inputs; say which: --input NAME=%s"
                      : "the model has %u inputs, so there is no place for '%s'",
               inputs, spec);
  for (uint32_t i = 0; i < names.count && i < 16; i++) {
    const GlowStorage *variable = i < inputs ? NULL : glow_session_variable(s, names.data[i]);
    glow_note(ctx, GLOW_NOWHERE, "%s '%s' is %s", variable ? "variable" : "input", names.data[i],
              glow_type_str(ctx, variable ? variable->value.type
                                          : glow_session_input_type(s, names.data[i])));
  }
}

const char *glow_session_split(GlowSession *s, const char *spec, GlowStr *name) {
  for (const char *eq = strchr(spec, '='); eq; eq = strchr(eq + 1, '=')) {
    GlowStr candidate = glow_str_n(s->ctx, spec, (size_t)(eq - spec));
    if (can_be_set(s, candidate)) {
      *name = candidate;
      return eq + 1;
    }
  }
  const char *eq = strchr(spec, '=');
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  if (names.count == 1 && !eq) {
    *name = names.data[0];
    return spec;
  }
  refuse_name(s, eq ? glow_str_n(s->ctx, spec, (size_t)(eq - spec)) : NULL, spec);
  return NULL;
}

GlowStatus glow_session_add_input(GlowSession *s, const char *spec, const GlowImageOptions *image) {
  GlowStr name = NULL;
  const char *source = glow_session_split(s, spec, &name);
  if (!source)
    return GLOW_BAD_INPUT;
  const GlowStorage *variable = glow_session_variable(s, name);
  const char *what = variable ? "variable" : "input";
  GlowBindings *bindings = variable ? &s->variables : &s->inputs;
  if (glow_bindings_find(bindings, name)) {
    glow_error(s->ctx, GLOW_NOWHERE, "%s '%s' is given twice", what, name);
    return GLOW_BAD_INPUT;
  }
  const GlowType *type = variable ? variable->value.type : glow_session_input_type(s, name);
  bool generated = !strncmp(source, "splat:", 6) || !strncmp(source, "random:", 7);
  GlowTensor *t =
      generated ? generate(s, source, name, type) : glow_session_read(s, source, type, image);
  if (!t)
    return GLOW_BAD_INPUT;
  glow_vec_push(s->ctx->arena, bindings, ((GlowBinding){name, t}));
  if (!variable || glow_type_fit(type, t->type) != GLOW_FIT_CONTRADICTS)
    return GLOW_OK;
  glow_error(s->ctx, variable->src, "variable '%s' is %s, but it is given %s", name,
             glow_type_str(s->ctx, type), glow_type_str(s->ctx, t->type));
  return GLOW_BAD_INPUT;
}

static char *output_path(GlowContext *ctx, const char *dir, GlowStr name, const char *suffix) {
  char *safe = glow_arena_copy(ctx->arena, name, strlen(name) + 1);
  for (char *c = safe; *c; c++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", *c))
      *c = '_';
  return glow_arena_printf(ctx->arena, "%s/%s%s", dir, safe, suffix);
}

static char *binding_path(GlowContext *ctx, const char *dir, const GlowBinding *b) {
  return output_path(ctx, dir, b->name, glow_npy_can_hold(b->tensor->type) ? ".npy" : ".pb");
}

/* No output replaces the file of another whose name differs only in characters that become '_'. */
static bool paths_differ(GlowSession *s, const char *dir) {
  const GlowBinding *b = s->outputs.data;
  GlowStr *paths = GLOW_NEW_ARRAY(s->ctx->arena, GlowStr, s->outputs.count);
  for (uint32_t i = 0; i < s->outputs.count; i++) {
    paths[i] = glow_str(s->ctx, binding_path(s->ctx, dir, &b[i]));
    for (uint32_t j = 0; j < i; j++)
      if (paths[i] == paths[j]) {
        glow_error(s->ctx, GLOW_NOWHERE, "outputs '%s' and '%s' would both be written to '%s'",
                   b[j].name, b[i].name, paths[i]);
        return false;
      }
  }
  return true;
}

GlowStatus glow_session_write_outputs(GlowSession *s, const char *dir) {
  if (!paths_differ(s, dir))
    return GLOW_BAD_INPUT;
  mkdir(dir, 0777); /* a failure shows when the first file is written */
  for (uint32_t i = 0; i < s->outputs.count; i++) {
    const GlowBinding *b = &s->outputs.data[i];
    bool npy = glow_npy_can_hold(b->tensor->type);
    GlowText text;
    GlowDefer defer;
    glow_text_init(&text, s->ctx);
    glow_defer_push(s->ctx, &defer, glow_text_release_fn, &text);
    if (npy)
      glow_npy_write(&text, b->tensor);
    else
      glow_pb_write(&text, b->tensor, b->name);
    bool ok = glow_output_write(s->ctx, binding_path(s->ctx, dir, b),
                                &(GlowBytes){text.data, text.size}, 1);
    glow_defer_pop(s->ctx, &defer, true);
    if (!ok)
      return GLOW_IO;
  }
  return GLOW_OK;
}
