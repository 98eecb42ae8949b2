/* Tensors: making and freeing them, and access by logical index. element.c handles the bits of an
 * element, layout.c its place in a blocked layout. */
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "support/pages.h"
#include "tensor/element.h"

/* Tensors of at least PAGED bytes have pages of their own: freeing one gives its memory back.
 * Smaller ones lie side by side in large pages that they share; each in pages of its own, the
 * weights of ResNet50 made a run 4 % slower. */
enum { ALIGNMENT = 64, PAGED = 32 << 20 };

static bool is_string(const GlowTensor *t) {
  return glow_type_is_tensor(t->type) && t->type->kind == GLOW_KIND_STRING;
}

/* ---- Lifetime -------------------------------------------------------------------------------- */

/* Strings lie where tools that look for leaks see the pointers in them. */
static bool is_paged(const GlowType *type, size_t room) {
  return room >= PAGED && type->kind != GLOW_KIND_STRING;
}

static GlowTensor *create(GlowContext *ctx, const GlowType *type, bool unset) {
  int64_t bytes = 0;
  if (glow_type_is_tensor(type)) {
    GLOW_CHECK(ctx, glow_type_is_static(type), "a tensor of a type that is not static");
    bytes = glow_type_bytes(type);
    GLOW_CHECK(ctx, bytes >= 0, "a tensor of an impossible size");
  }
  GlowTensor *t = calloc(1, sizeof *t);
  size_t rounded = ((size_t)bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* never 0 */
  bool paged = is_paged(type, rounded);
  void *data = !t ? NULL : paged ? glow_pages_alloc(rounded) : aligned_alloc(ALIGNMENT, rounded);
  if (!data) {
    free(t);
    glow_throw(ctx, GLOW_NO_MEMORY);
  }
  glow_prefer_large_pages(data, rounded);
  size_t kept = unset ? (size_t)bytes : 0; /* what lies behind the elements is zero anyway */
  if (!paged)
    memset((char *)data + kept, 0, rounded - kept);
  t->type = type;
  t->data = data;
  t->bytes = (size_t)bytes;
  t->owned = true;
  t->ctx = ctx;
  t->room = rounded;
  ctx->tensor_bytes += (int64_t)rounded;
  return t;
}

GlowTensor *glow_tensor_create(GlowContext *ctx, const GlowType *type) {
  return create(ctx, type, false);
}

GlowTensor *glow_tensor_create_unset(GlowContext *ctx, const GlowType *type) {
  bool bytes = glow_type_is_tensor(type) && type->kind != GLOW_KIND_STRING &&
               glow_kind_info[type->kind].bits >= 8;
  return create(ctx, type, bytes);
}

GlowTensor *glow_tensor_borrow(GlowContext *ctx, const GlowType *type, const void *data,
                               size_t bytes) {
  GLOW_CHECK(ctx, glow_type_is_static(type), "a borrowed tensor of a type that is not static");
  int64_t needed = glow_type_bytes(type);
  GLOW_CHECK(ctx, needed >= 0 && (uint64_t)needed <= bytes, "a borrowed tensor of too few bytes");
  GlowTensor *t = glow_malloc(ctx, sizeof *t);
  t->type = type;
  t->data = (void *)(uintptr_t)data; /* never written: owned is false */
  t->bytes = (size_t)needed;
  return t;
}

static GlowString load_string(const void *data, int64_t i) {
  GlowString s;
  memcpy(&s, (const char *)data + (size_t)i * sizeof s, sizeof s);
  return s;
}

GlowTensor *glow_tensor_copy(GlowContext *ctx, const GlowTensor *t) {
  GlowTensor *copy = glow_tensor_create_unset(ctx, glow_type_interned(ctx, t->type));
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_tensor_free_fn, copy);
  for (uint32_t i = 0; i < t->count; i++)
    glow_tensor_append(ctx, copy, glow_tensor_copy(ctx, t->items[i]));
  if (is_string(t)) {
    for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
      GlowString s = glow_tensor_get_string(t, i);
      glow_tensor_set_string(ctx, copy, i, s.data, s.length);
    }
  } else if (t->bytes) {
    memcpy(copy->data, t->data, t->bytes);
  }
  glow_defer_pop(ctx, &defer, false);
  return copy;
}

GlowTensor *glow_tensor_in_arena(GlowArena *arena, const GlowTensor *t) {
  GlowTensor *copy = glow_arena_copy(arena, t, sizeof *t);
  copy->owned = false;
  copy->data = glow_arena_copy(arena, t->data, t->bytes);
  for (int64_t i = 0; is_string(t) && i < glow_tensor_elements(t); i++) {
    GlowString *s = (GlowString *)copy->data + i;
    s->data = glow_arena_copy(arena, s->data, s->length);
  }
  return copy;
}

/* Copies the element at logical index i from t to `to`. Any kind but string. */
static void copy_element(GlowTensor *to, const GlowTensor *t, int64_t i) {
  GlowKind kind = t->type->kind;
  int64_t from_at = glow_type_physical_index(t->type, i);
  int64_t to_at = glow_type_physical_index(to->type, i);
  size_t bytes = glow_kind_info[kind].bits / 8;
  if (bytes)
    memcpy((char *)to->data + (size_t)to_at * bytes, (char *)t->data + (size_t)from_at * bytes,
           bytes);
  else
    glow_element_set_bits(kind, to->data, to_at, glow_element_bits(kind, t->data, from_at));
}

GlowTensor *glow_tensor_in_layout(GlowContext *ctx, const GlowTensor *t, const GlowLayout *layout) {
  if (!glow_type_is_tensor(t->type) || t->type->layout == layout)
    return glow_tensor_copy(ctx, t);
  GlowTensor *result = glow_tensor_create(ctx, glow_type_with_layout(ctx, t->type, layout));
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_tensor_free_fn, result);
  int64_t n = glow_tensor_elements(t);
  for (int64_t i = 0; i < n; i++) {
    if (is_string(t)) {
      GlowString s = glow_tensor_get_string(t, i);
      glow_tensor_set_string(ctx, result, i, s.data, s.length);
    } else {
      copy_element(result, t, i);
    }
  }
  glow_defer_pop(ctx, &defer, false);
  return result;
}

GlowTensor *glow_tensor_plain(GlowContext *ctx, const GlowTensor *t) {
  return glow_tensor_in_layout(ctx, t, NULL);
}

void glow_tensor_free(GlowTensor *t) {
  if (!t)
    return;
  for (uint32_t i = 0; i < t->count; i++)
    glow_tensor_free(t->items[i]);
  free(t->items);
  if (t->owned) {
    if (is_string(t))
      for (size_t i = 0; i < t->bytes / sizeof(GlowString); i++)
        free(load_string(t->data, (int64_t)i).data);
    if (is_paged(t->type, t->room))
      glow_pages_free(t->data, t->room);
    else
      free(t->data);
    if (t->ctx)
      t->ctx->tensor_bytes -= (int64_t)t->room;
  }
  free(t);
}

void glow_tensor_free_fn(void *t) { glow_tensor_free(t); }

void glow_tensor_append(GlowContext *ctx, GlowTensor *seq, GlowTensor *item) {
  /* Capacities are powers of two: the array is full when `count` is one. */
  if ((seq->count & (seq->count - 1)) == 0) {
    size_t capacity = seq->count ? (size_t)seq->count * 2 : 1;
    GlowTensor **items = NULL;
    if (seq->count < UINT32_MAX / 2)
      items = realloc(seq->items, capacity * sizeof(GlowTensor *));
    if (!items) {
      glow_tensor_free(item);
      glow_throw(ctx, GLOW_NO_MEMORY);
    }
    seq->items = items;
  }
  seq->items[seq->count++] = item;
}

void glow_tensor_set_string(GlowContext *ctx, GlowTensor *t, int64_t index, const char *s,
                            size_t n) {
  char *copy = glow_malloc(ctx, n + 1); /* a NUL behind it, for debuggers */
  if (n)
    memcpy(copy, s, n);
  int64_t at = glow_type_physical_index(t->type, index);
  free(load_string(t->data, at).data);
  GlowString string = {copy, n};
  memcpy((char *)t->data + (size_t)at * sizeof string, &string, sizeof string);
}

/* ---- Elements -------------------------------------------------------------------------------- */

int64_t glow_tensor_elements(const GlowTensor *t) {
  return glow_type_is_tensor(t->type) ? glow_type_elements(t->type) : t->count;
}

GlowString glow_tensor_get_string(const GlowTensor *t, int64_t i) {
  return load_string(t->data, glow_type_physical_index(t->type, i));
}

GlowScalar glow_tensor_get(const GlowTensor *t, int64_t i) {
  return glow_element_get(t->type->kind, t->data, glow_type_physical_index(t->type, i));
}

double glow_tensor_get_double(const GlowTensor *t, int64_t i) { return glow_tensor_get(t, i).f; }

int64_t glow_tensor_get_int(const GlowTensor *t, int64_t i) {
  GlowScalar v = glow_tensor_get(t, i);
  return v.is_int ? v.i : (int64_t)glow_element_encode(GLOW_KIND_I64, v);
}

void glow_tensor_set(GlowTensor *t, int64_t i, GlowScalar v) {
  glow_element_set(t->type->kind, t->data, glow_type_physical_index(t->type, i), v);
}

void glow_tensor_fill(GlowTensor *t, GlowScalar v) {
  int64_t n = glow_tensor_elements(t);
  size_t size = glow_kind_info[t->type->kind].bits / 8;
  if (n == 0 || is_string(t))
    return;
  if (t->type->layout || size == 0) { /* element by element, so that padding stays zero */
    for (int64_t i = 0; i < n; i++)
      glow_tensor_set(t, i, v);
    return;
  }
  glow_tensor_set(t, 0, v);
  for (size_t done = size; done < t->bytes;) { /* each round doubles the filled part */
    size_t step = done < t->bytes - done ? done : t->bytes - done;
    memcpy((char *)t->data + done, t->data, step);
    done += step;
  }
}
