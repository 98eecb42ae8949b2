/* Physical layouts: parsing their text, and the place of an element in memory.
 *
 * The text has a capital letter for each logical axis, then blocks such as `16c`: a size, and the
 * letter of the axis in lower case. Any distinct letters will do. Limits: rank 8 and 4 blocks; and
 * the product of the block sizes, so that padded sizes of any legal shape fit into 64 bits. */
#include <string.h>

#include "tensor/type.h"
#include "tensor/uthash.h"

struct GlowLayoutEntry {
  GlowLayout layout;
  UT_hash_handle hh; /* key: layout.text; the text determines the rank */
};

/* Reads the letters and returns their number, or 0 with *error set. */
static uint32_t parse_axes(const char *text, size_t length, uint32_t rank, const char **error) {
  uint32_t n = 0;
  while (n < length && text[n] >= 'A' && text[n] <= 'Z') {
    if (memchr(text, text[n], n)) {
      *error = "a layout names an axis twice";
      return 0;
    }
    if (++n > GLOW_MAX_RANK)
      break;
  }
  if (n == 0)
    *error = "a layout begins with one capital letter per axis, as in NCHW16c";
  else if (n != rank)
    *error = "the layout does not have one letter for each dimension";
  return n == rank ? n : 0;
}

/* Reads one block at text[*at]; false with *error set. */
static bool parse_block(const char *text, size_t length, size_t *at, GlowLayout *l,
                        uint64_t *product, const char **error) {
  uint64_t size = 0;
  size_t start = *at;
  while (*at < length && text[*at] >= '0' && text[*at] <= '9' && size <= GLOW_MAX_BLOCK)
    size = size * 10 + (uint64_t)(text[(*at)++] - '0');
  if (*at == start || *at == length || text[start] == '0') {
    *error = "a layout's blocks are a size and the small letter of an axis, as in 16c";
    return false;
  }
  *product *= size ? size : 1;
  if (size < 2 || size > GLOW_MAX_BLOCK || *product > GLOW_MAX_BLOCK) {
    *error = "a layout's block sizes are at least 2, and their product at most 4194304";
    return false;
  }
  const char *axis = memchr(text, text[*at] - 'a' + 'A', l->rank);
  if (text[*at] < 'a' || text[*at] > 'z' || !axis) {
    *error = "a layout's block names no axis of the layout";
    return false;
  }
  ++*at;
  if (l->nblocks == sizeof l->blocks / sizeof l->blocks[0]) {
    *error = "a layout has at most 4 blocks";
    return false;
  }
  l->blocks[l->nblocks].axis = (uint8_t)(axis - text);
  l->blocks[l->nblocks++].size = (uint32_t)size;
  return true;
}

const GlowLayout *glow_layout_parse(GlowContext *ctx, const char *text, size_t length,
                                    uint32_t rank, const char **error) {
  GlowLayout l = {0};
  uint64_t product = 1;
  l.rank = (uint8_t)parse_axes(text, length, rank, error);
  if (!l.rank)
    return NULL;
  for (size_t at = l.rank; at < length;)
    if (!parse_block(text, length, &at, &l, &product, error))
      return NULL;
  l.text = glow_str_n(ctx, text, length);
  struct GlowLayoutEntry *head = ctx->layouts, *entry = NULL;
  HASH_FIND(hh, head, l.text, length, entry);
  if (!entry) {
    entry = GLOW_NEW(ctx->arena, struct GlowLayoutEntry);
    entry->layout = l;
    HASH_ADD_KEYPTR(hh, head, entry->layout.text, length, entry);
    ctx->layouts = head;
  }
  return &entry->layout;
}

const GlowLayout *glow_layout_named(GlowContext *ctx, const char *text, uint32_t rank) {
  const char *error = NULL;
  const GlowLayout *l = glow_layout_parse(ctx, text, strlen(text), rank, &error);
  GLOW_CHECK(ctx, l, error);
  return l;
}

uint32_t glow_layout_physical(const GlowLayout *layout, uint32_t rank, const int64_t *dims,
                              int64_t *physical) {
  for (uint32_t i = 0; i < rank; i++)
    physical[i] = dims[i];
  if (!layout)
    return rank;
  for (uint32_t b = 0; b < layout->nblocks; b++) {
    int64_t size = layout->blocks[b].size, *d = &physical[layout->blocks[b].axis];
    *d = *d / size + (*d % size != 0);
    physical[rank + b] = size;
  }
  return rank + layout->nblocks;
}

uint32_t glow_type_physical(const GlowType *t, GlowDim *physical, bool *divides) {
  int64_t dims[GLOW_MAX_RANK] = {0}, sizes[GLOW_MAX_RANK + 4];
  *divides = false;
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].size;
  uint32_t rank = glow_layout_physical(t->layout, t->rank, dims, sizes);
  for (uint32_t b = 0; b < rank - t->rank; b++)
    *divides |= t->dims[t->layout->blocks[b].axis].extent != NULL;
  for (uint32_t i = 0; i < rank; i++)
    physical[i] = i < t->rank && t->dims[i].extent ? t->dims[i] : GLOW_EXACT(sizes[i]);
  return *divides ? 0 : rank;
}

int64_t glow_type_physical_index(const GlowType *t, int64_t i) {
  const GlowLayout *l = t->layout;
  if (!l || l->nblocks == 0)
    return i;
  int64_t dims[GLOW_MAX_RANK] = {0}, extents[GLOW_MAX_RANK + 4], at[GLOW_MAX_RANK + 4];
  for (uint32_t k = 0; k < t->rank; k++)
    dims[k] = t->dims[k].size;
  uint32_t n = glow_layout_physical(l, t->rank, dims, extents);
  for (uint32_t k = t->rank; k-- > 0; i /= dims[k])
    at[k] = i % dims[k];
  /* Blocks of one axis nest, the leftmost outermost: peel them off from the right. */
  for (uint32_t b = l->nblocks; b-- > 0;) {
    int64_t *coordinate = &at[l->blocks[b].axis];
    at[t->rank + b] = *coordinate % l->blocks[b].size;
    *coordinate /= l->blocks[b].size;
  }
  int64_t index = 0;
  for (uint32_t k = 0; k < n; k++)
    index = index * extents[k] + at[k];
  return index;
}
