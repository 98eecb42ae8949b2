/* Storage declarations and their initializers. Values must fit the declared type exactly: nothing
 * is rounded to an integer, wrapped or saturated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/parse_internal.h"
#include "support/file.h"

/* ---- Forms of initializers: kept until the type is known ------------------------------------- */
static void start(GlowParser *p, const GlowToken *t, GlowInitKind kind) {
  p->init.kind = kind;
  p->init_token = *t;
}

void glow_parse_init_value(GlowParser *p, const GlowToken *t) { start(p, t, GLOW_INIT_LIST); }
void glow_parse_init_splat(GlowParser *p, const GlowToken *t) { start(p, t, GLOW_INIT_SPLAT); }

void glow_parse_init_elided(GlowParser *p, const GlowToken *t) {
  start(p, t, GLOW_INIT_ELIDED);
  p->module->elided = true;
}

void glow_parse_init_eval(GlowParser *p, const GlowToken *t, GlowBlock *block) {
  start(p, t, GLOW_INIT_EVAL);
  p->init.eval = block;
}

void glow_parse_init_resource(GlowParser *p, const GlowToken *t, const GlowToken *file,
                              const GlowToken *key) {
  start(p, t, GLOW_INIT_RESOURCE);
  p->init.file = glow_parse_string(p, file);
  p->init.key = glow_parse_string(p, key);
  p->items.count = 0;
}

void glow_parse_init_payload(GlowParser *p, const GlowToken *t, const GlowToken *key) {
  start(p, t, GLOW_INIT_PAYLOAD);
  p->init.key = glow_parse_string(p, key);
}

/* The members of `random { }`. All are scalars, which hold a seed of 64 bits as well as a
 * double. */
typedef struct RandomText {
  int kind;
  GlowScalar fan, low, high, mean, scale, seed;
} RandomText;

static const char *const random_kinds[] = {"xavier", "uniform", "normal"};
static const GlowEnumDesc random_enum = {"RandomKind", random_kinds, 3};
static const GlowScalar absent = {0};
#define FIELD(n)                                                                                   \
  { .name = #n, .type = GLOW_MEMBER_SCALAR, .offset = offsetof(RandomText, n), .initial = &absent }
static const GlowMember random_members[] = {{.name = "kind",
                                             .type = GLOW_MEMBER_ENUM,
                                             .required = true,
                                             .offset = offsetof(RandomText, kind),
                                             .enumeration = &random_enum},
                                            FIELD(fan),
                                            FIELD(low),
                                            FIELD(high),
                                            FIELD(mean),
                                            FIELD(scale),
                                            FIELD(seed)};
#undef FIELD

/* Whether the text gives the member: absent ones are NaN. */
static bool given(const GlowScalar *v) { return v->is_int || !isnan(v->f); }

static bool pick(GlowParser *p, const GlowToken *t, const char *name, const GlowScalar *v,
                 double *to) {
  if (!given(v)) {
    glow_parse_error(p, t, "random needs '%s' for this kind", name);
    return false;
  }
  if (!isfinite(v->f)) {
    glow_parse_error(p, t, "random: '%s' must be finite", name);
    return false;
  }
  *to = v->f;
  return true;
}

static bool read_random(GlowParser *p, const GlowToken *t, const RandomText *r, GlowRandom *out) {
  const GlowScalar *all[] = {&r->fan, &r->low, &r->high, &r->mean, &r->scale};
  static const unsigned uses[] = {1, 6, 24}; /* bits of `all` by kind */
  for (unsigned i = 0; i < 5; i++)
    if (given(all[i]) && !(uses[r->kind] >> i & 1)) {
      glow_parse_error(p, t, "random: '%s' has no '%s'", random_kinds[r->kind],
                       random_members[1 + i].name);
      return false;
    }
  out->kind = (GlowRandomKind)r->kind;
  if (given(&r->seed) && !r->seed.is_int) {
    glow_parse_error(p, t, "random: the seed must be an integer");
    return false;
  }
  memcpy(&out->seed, &r->seed.i, sizeof out->seed);
  switch (out->kind) {
  case GLOW_RANDOM_XAVIER:
    if (!pick(p, t, "fan", &r->fan, &out->fan))
      return false;
    if (out->fan > 0)
      return true;
    glow_parse_error(p, t, "random: 'fan' must be positive");
    return false;
  case GLOW_RANDOM_UNIFORM:
    return pick(p, t, "low", &r->low, &out->low) && pick(p, t, "high", &r->high, &out->high);
  case GLOW_RANDOM_NORMAL:
    return pick(p, t, "mean", &r->mean, &out->mean) && pick(p, t, "scale", &r->scale, &out->scale);
  }
  return false;
}

void glow_parse_init_random(GlowParser *p, const GlowToken *t) {
  const GlowScalar none = {.f = NAN};
  RandomText r = {0, none, none, none, none, none, none};
  start(p, t, GLOW_INIT_RANDOM);
  bool ok =
      glow_parse_members(p, "random", t, &(GlowAttributes){random_members, 7, &r, false, NULL});
  if (!ok || !read_random(p, t, &r, &p->init.random))
    p->init.kind = GLOW_INIT_NONE;
}

/* ---- Values ---------------------------------------------------------------------------------- */
typedef struct Filler {
  GlowParser *p;
  const GlowType *type;
  GlowTensor *tensor;
  int64_t next; /* logical index of the element to fill next */
} Filler;

/* Whether v is a value of kind k, in the tensor's own range. */
static bool fits_kind(GlowKind k, const GlowItem *item, GlowScalar v) {
  const GlowKindInfo *info = &glow_kind_info[k];
  bool boolean = item->tag == GLOW_TAG_BOOL;
  switch (info->cls) {
  case GLOW_CLASS_BOOL:
    return boolean || (v.is_int && (v.f == 0 || v.f == 1));
  case GLOW_CLASS_UINT:
    return !boolean && v.is_int && v.f >= 0 &&
           (info->bits == 64 || (uint64_t)v.i >> info->bits == 0);
  case GLOW_CLASS_SINT: {
    bool wrapped = v.is_int && v.i < 0 && v.f > 0;
    int64_t most = (int64_t)(UINT64_MAX >> (65 - info->bits));
    return !boolean && v.is_int && !wrapped && v.i <= most && v.i >= -most - 1;
  }
  default:
    return !boolean;
  }
}

static bool fail(GlowParser *p, const GlowItem *item, const char *message, const char *what) {
  GlowToken t = glow_item_token(p, item);
  glow_parse_error(p, &t, "%s %s", message, what);
  return false;
}

/* Whether the item is a NaN for a kind other than double: then its bits are those of a float. */
static bool is_nan_of_float(const GlowParser *p, GlowKind k, const GlowItem *item) {
  return k != GLOW_KIND_DOUBLE && item->tag == GLOW_TAG_FLOAT && p->text[item->offset] == 'n';
}

/* Reads an item as a value of kind k and checks that it fits. */
static bool read_scalar(GlowParser *p, const GlowItem *item, GlowKind k, GlowScalar *v) {
  if (item->tag == GLOW_TAG_LIST)
    return fail(p, item, "the list is deeper than the shape; expected a value of kind",
                glow_kind_info[k].name);
  if (item->tag == GLOW_TAG_STRING || item->tag > GLOW_TAG_BOOL)
    return fail(p, item, "expected a value of kind", glow_kind_info[k].name);
  if (!glow_item_scalar(p, item, k == GLOW_KIND_FLOAT || is_nan_of_float(p, k, item), v))
    return false;
  return fits_kind(k, item, *v) || fail(p, item, "the value does not fit", glow_kind_info[k].name);
}

static bool fill_string(Filler *f, const GlowItem *item) {
  if (item->tag != GLOW_TAG_STRING)
    return fail(f->p, item, "expected a string", "");
  GlowToken t = glow_item_token(f->p, item);
  size_t length;
  char *s = glow_parse_bytes(f->p, &t, &length);
  if (!s)
    return false;
  GlowString string = {glow_arena_copy(f->p->ctx->arena, s, length), length};
  memcpy((char *)f->tensor->data + (size_t)f->next * sizeof string, &string, sizeof string);
  f->next++;
  return true;
}

/* Reads a complex number: [re, im]. */
static bool fill_complex(Filler *f, const GlowItem *item) {
  GlowKind part = f->type->kind == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
  if (item->tag != GLOW_TAG_LIST || f->p->items.data + item->end - item != 3)
    return fail(f->p, item, "expected a complex number [re, im] of kind",
                glow_kind_info[f->type->kind].name);
  size_t size = glow_kind_info[part].bits / 8;
  for (uint32_t i = 0; i < 2; i++) {
    GlowScalar v;
    if (!read_scalar(f->p, &item[1 + i], part, &v))
      return false;
    char *to = (char *)f->tensor->data + ((size_t)f->next * 2 + i) * size;
    if (part == GLOW_KIND_FLOAT)
      memcpy(to, &(float){(float)v.f}, size);
    else
      memcpy(to, &v.f, size);
  }
  f->next++;
  return true;
}

static bool fill_element(Filler *f, const GlowItem *item) {
  GlowKind k = f->type->kind;
  if (k == GLOW_KIND_STRING)
    return fill_string(f, item);
  if (glow_kind_info[k].cls == GLOW_CLASS_COMPLEX)
    return fill_complex(f, item);
  GlowScalar v;
  if (!read_scalar(f->p, item, k, &v))
    return false;
  if (k == GLOW_KIND_FLOAT && !f->type->layout && item->tag == GLOW_TAG_FLOAT) {
    float exact = glow_parse_float(f->p->text + item->offset, NULL); /* keeps the bits of a NaN */
    memcpy((char *)f->tensor->data + (size_t)f->next * sizeof exact, &exact, sizeof exact);
  } else {
    glow_tensor_set(f->tensor, f->next, v);
    if (glow_kind_is_float(k) && isfinite(v.f) &&
        !isfinite(glow_tensor_get_double(f->tensor, f->next)))
      return fail(f->p, item, "the value is out of the range of", glow_kind_info[k].name);
  }
  f->next++;
  return true;
}

bool glow_parse_element(GlowParser *p, const GlowItem *item, const GlowType *type, GlowScalar *v) {
  char bytes[16] = {0}; /* of the largest element */
  Filler f = {p, type, glow_tensor_in_context(p->ctx, type, bytes, sizeof bytes), 0};
  return fill_element(&f, item) &&
         glow_item_scalar(p, item, is_nan_of_float(p, type->kind, item), v);
}

static bool fill_axis(Filler *f, const GlowItem *item, uint32_t axis) {
  if (axis == f->type->rank)
    return fill_element(f, item);
  if (item->tag != GLOW_TAG_LIST)
    return fail(f->p, item, "the list is flatter than the shape", "");
  const GlowItem *end = f->p->items.data + item->end;
  int64_t extent = f->type->dims[axis].size, count = 0;
  for (const GlowItem *i = item + 1; i < end;
       i = i->tag == GLOW_TAG_LIST ? f->p->items.data + i->end : i + 1) {
    if (++count > extent)
      break;
    if (!fill_axis(f, i, axis + 1))
      return false;
  }
  if (count == extent)
    return true;
  GlowToken t = glow_item_token(f->p, item);
  glow_parse_error(f->p, &t, "expected %lld value%s along axis %u, found %s", (long long)extent,
                   extent == 1 ? "" : "s", axis, count > extent ? "more" : "fewer");
  return false;
}

static bool fill_list(GlowParser *p, const GlowType *type) {
  GlowContext *ctx = p->ctx;
  const GlowItem *item = &p->items.data[0];
  int64_t elements = glow_type_elements(type);
  /* A type with more elements than the text has values must not cause a large allocation. */
  if (elements > (int64_t)p->items.count)
    return fail(p, item, "the list has too few values for", glow_type_str(ctx, type));
  size_t bytes = (size_t)glow_type_bytes(type);
  if (type->layout && bytes > (size_t)elements * 4096)
    return fail(p, item, "most of the elements would be padding in", glow_type_str(ctx, type));
  Filler f = {p, type,
              glow_tensor_in_context(ctx, type, glow_arena_alloc(ctx->arena, bytes), bytes), 0};
  bool empty = item->tag == GLOW_TAG_LIST && item->end == 1;
  if (!(elements == 0 && empty) && !fill_axis(&f, item, 0))
    return false;
  p->init.tensor = f.tensor;
  return true;
}

static bool fill_splat(GlowParser *p, const GlowType *type) {
  if (type->kind == GLOW_KIND_STRING)
    return fail(p, &p->items.data[0], "strings are listed, not splat", "");
  GlowKind k = type->kind;
  if (k == GLOW_KIND_COMPLEX64 || k == GLOW_KIND_COMPLEX128)
    k = k == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
  return read_scalar(p, &p->items.data[0], k, &p->init.splat);
}

/* ---- Weights outside the text ---------------------------------------------------------------- */
static bool has_type(const GlowBlobEntry *e, const GlowType *t) {
  if (e->kind != t->kind || e->rank != t->rank)
    return false;
  for (uint32_t i = 0; i < e->rank; i++)
    if (e->dims[i] != t->dims[i].size)
      return false;
  return true;
}

/* The bytes of an entry of a weight file, if it has the declared kind and shape. */
static bool bind_entry(GlowParser *p, const GlowType *type, const GlowBlobEntry *e,
                       const char *where) {
  if (!(has_type(e, type) && !type->layout) && !has_type(e, glow_type_in_file(p->ctx, type))) {
    const char *found = glow_type_str(p->ctx, glow_type_exact(p->ctx, e->kind, e->rank, e->dims));
    glow_parse_error(p, &p->init_token, "'%s' in %s is %s, but %s is declared", p->init.key, where,
                     found, glow_type_str(p->ctx, type));
    return false;
  }
  int64_t bytes = glow_type_bytes(type);
  if (bytes < 0 || e->bytes != (uint64_t)bytes) {
    glow_parse_error(p, &p->init_token, "'%s' in %s has %zu bytes, but %s needs %lld", p->init.key,
                     where, e->bytes, glow_type_str(p->ctx, type), (long long)bytes);
    return false;
  }
  p->init.tensor = glow_tensor_in_context(p->ctx, type, e->data, e->bytes);
  return true;
}

static bool bind_blob(GlowParser *p, const GlowType *type, const GlowBlob *blob,
                      const char *where) {
  const GlowBlobEntry *e = glow_blob_find(blob, p->init.key);
  if (e)
    return bind_entry(p, type, e, where);
  glow_parse_error(p, &p->init_token, "there is no '%s' in %s", p->init.key, where);
  return false;
}

static bool open_resource(GlowParser *p, const GlowType *type) {
  if (!p->init.file || !p->init.key)
    return false;
  GlowStr path = glow_path_join(p->ctx, p->module->path_dir, p->init.file);
  const GlowBlob *blob = glow_blob_open(p->ctx, path, glow_parse_loc(p, &p->init_token));
  return blob && bind_blob(p, type, blob, path);
}

void glow_parse_payload(GlowParser *p) {
  const GlowBlob *blob = NULL;
  GlowToken last = p->last;
  if (p->payload_at) {
    blob = glow_blob_from_safetensors(p->ctx, p->file, p->text + p->payload_at, p->payload_size,
                                      glow_parse_loc(p, &last));
    if (!blob)
      return;
  }
  for (GlowStorage *s = p->module->first_storage; s; s = s->next) {
    if (s->init.kind != GLOW_INIT_PAYLOAD)
      continue;
    p->init = s->init;
    p->init_token = (GlowToken){.line = s->src.line, .col = s->src.col};
    if (!blob)
      glow_parse_error(p, &p->init_token, "there is no payload behind the text");
    else if (p->init.key && bind_blob(p, s->value.type, blob, "the payload"))
      s->init.tensor = p->init.tensor;
  }
}

/* ---- Declarations ---------------------------------------------------------------------------- */
static bool check_init_type(GlowParser *p, const GlowType *type) {
  bool grows = glow_type_grows(type) && p->init.kind == GLOW_INIT_SPLAT;
  if (!glow_type_is_static(type) && !grows) {
    glow_parse_error(p, &p->init_token,
                     "an initializer needs a tensor type with exact extents, not %s",
                     glow_type_str(p->ctx, type));
    return false;
  }
  GlowInitKind k = p->init.kind;
  bool outside = k == GLOW_INIT_RESOURCE || k == GLOW_INIT_PAYLOAD;
  if (outside && type->kind == GLOW_KIND_STRING) {
    glow_parse_error(p, &p->init_token, "weight files hold numbers, not %s",
                     glow_type_str(p->ctx, type));
    return false;
  }
  if (k == GLOW_INIT_RANDOM && (!glow_kind_is_float(type->kind) || type->quantized)) {
    glow_parse_error(p, &p->init_token, "random values are floating-point, not %s",
                     glow_type_str(p->ctx, type));
    return false;
  }
  return true;
}

bool glow_parse_finish_init(GlowParser *p, const GlowType *type) {
  if (p->init.kind == GLOW_INIT_NONE || glow_type_is_error(type))
    return false;
  if (!check_init_type(p, type))
    return false;
  switch (p->init.kind) {
  case GLOW_INIT_SPLAT:
    return fill_splat(p, type);
  case GLOW_INIT_LIST:
    return fill_list(p, type);
  case GLOW_INIT_RESOURCE:
    return open_resource(p, type);
  default:
    return true;
  }
}

void glow_parse_storage(GlowParser *p, GlowStorageClass cls, const GlowToken *name,
                        const GlowType *type, bool has_init) {
  GlowStr wanted = glow_parse_name(p, name);
  GlowStorage *old = wanted ? glow_module_storage(p->module, wanted) : NULL;
  if (has_init && cls == GLOW_PLACEHOLDER)
    glow_parse_error(p, &p->init_token, "a placeholder has no initializer: the caller binds it");
  else if (has_init && !glow_parse_finish_init(p, type) && p->init.kind != GLOW_INIT_PAYLOAD)
    p->init.kind = GLOW_INIT_NONE;
  if (old) {
    glow_parse_error(p, name, "'@%s' is declared twice", wanted);
    glow_note(p->ctx, old->src, "it is declared here");
  } else if (wanted) {
    GlowStorage *s = glow_storage_create(p->module, cls, wanted, type, p->init);
    s->src = glow_parse_loc(p, name);
    s->origin = p->origin;
  }
  p->init = (GlowInit){0};
  p->origin = NULL;
  glow_parse_drop_items(p);
}
