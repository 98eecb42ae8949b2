/* Blobs: weight files of a context, each mapped once and indexed by key.
 *
 * Blobs form a list in the context, which closes them when it is destroyed. The `path` of a blob is
 * set when its index is complete, so searches by path never find a file that failed to load. */
#include "tensor/blob.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/uthash.h"

struct GlowBlobIndex {
  GlowStr key;
  uint32_t entry;
  UT_hash_handle hh;
};

static void release_all(GlowContext *ctx) {
  for (GlowBlob *b = ctx->blobs; b; b = b->next) {
    glow_input_close(&b->input);
    free(b->heap);
  }
  ctx->blobs = NULL;
}

static GlowBlob *new_blob(GlowContext *ctx) {
  GlowBlob *b = GLOW_NEW(ctx->arena, GlowBlob);
  b->next = ctx->blobs;
  ctx->blobs = b;
  ctx->release_blobs = release_all;
  return b;
}

void glow_blob_hold(GlowContext *ctx, const GlowInput *in) { new_blob(ctx)->input = *in; }

void glow_blob_set_onnx_reader(GlowContext *ctx, GlowOnnxIndexFn fn) { ctx->onnx_index = fn; }

bool glow_blob_is_mapped(const GlowContext *ctx, const void *data, size_t bytes) {
  uintptr_t at = (uintptr_t)data;
  for (const GlowBlob *b = ctx->blobs; b; b = b->next) {
    uintptr_t begin = (uintptr_t)b->input.map;
    if (begin && at >= begin && at + bytes <= begin + b->input.size)
      return true;
  }
  return false;
}

const GlowBlobEntry *glow_blob_find(const GlowBlob *blob, GlowStr key) {
  struct GlowBlobIndex *found = NULL;
  HASH_FIND_PTR(blob->index, &key, found);
  return found ? &blob->entries[found->entry] : NULL;
}

bool glow_blob_add(GlowContext *ctx, GlowBlob *blob, const GlowBlobEntry *entry) {
  if (glow_blob_find(blob, entry->key))
    return false;
  /* blob->entries is const for others; only this function changes the array. */
  GlowBlobEntry *entries = (GlowBlobEntry *)(uintptr_t)blob->entries;
  if (blob->nentries == blob->capacity) {
    entries = glow_vec_grow(ctx->arena, entries, blob->nentries, &blob->capacity, sizeof *entries);
    blob->entries = entries;
  }
  struct GlowBlobIndex *head = blob->index, *item = GLOW_NEW(ctx->arena, struct GlowBlobIndex);
  item->key = entry->key;
  item->entry = blob->nentries;
  entries[blob->nentries++] = *entry;
  HASH_ADD_PTR(head, key, item);
  blob->index = head;
  return true;
}

/* Whether the bytes begin like safetensors: a length that fits, then a JSON object. */
static bool looks_like_safetensors(const GlowInput *in) {
  uint64_t length = 0;
  if (in->size < 10)
    return false;
  for (int i = 7; i >= 0; i--)
    length = length << 8 | (unsigned char)in->data[i];
  return length <= in->size - 8 && in->data[8] == '{';
}

static bool ends_with(const char *s, const char *suffix) {
  size_t n = strlen(s), m = strlen(suffix);
  return n >= m && !strcmp(s + n - m, suffix);
}

/* The blob that maps the same file under another path, or NULL. */
static GlowBlob *find_same_file(GlowContext *ctx, const GlowInput *in) {
  for (GlowBlob *b = ctx->blobs; b; b = b->next)
    if (b->path && in->inode && b->input.inode == in->inode && b->input.device == in->device)
      return b;
  return NULL;
}

GlowBlob *glow_blob_open(GlowContext *ctx, const char *path, GlowLoc loc) {
  GlowStr absolute = glow_path_absolute(ctx, path);
  for (GlowBlob *b = ctx->blobs; b; b = b->next)
    if (b->path == absolute)
      return b;
  GlowBlob *blob = new_blob(ctx);
  GlowInput input = {0};
  if (!glow_input_open(ctx, path, true, loc, &input))
    return NULL;
  blob->input = input; /* from here on the context closes it */
  GlowBlob *same = find_same_file(ctx, &blob->input);
  bool ok = false;
  if (!same) {
    if (!ctx->onnx_index || looks_like_safetensors(&blob->input) || ends_with(path, ".safetensors"))
      ok = glow_safetensors_index(ctx, blob, path, loc);
    else
      ok = ctx->onnx_index(ctx, blob, loc);
  }
  if (!ok) { /* stays in the list, empty and without a name */
    glow_input_close(&blob->input);
    blob->input = (GlowInput){0};
    return same;
  }
  blob->path = absolute;
  return blob;
}

GlowBlob *glow_blob_from_safetensors(GlowContext *ctx, const char *name, const void *data,
                                     size_t size, GlowLoc loc) {
  GlowBlob *blob = new_blob(ctx);
  blob->input.name = glow_str(ctx, name);
  blob->input.data = data;
  blob->input.size = size;
  return glow_safetensors_index(ctx, blob, name, loc) ? blob : NULL;
}
