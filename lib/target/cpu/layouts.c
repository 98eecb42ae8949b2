/* See layouts.h. */
#include "target/cpu/layouts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of a text: its size, or -1 for any number, and the letter of its axis. */
typedef struct Block {
  int64_t size;
  char axis;
} Block;

/* Reads a block; behind it. */
static const char *read_block(const char *text, const GlowIsa *isa, Block *b) {
  static const char width[] = "<width>";
  bool word = *text == '<';
  b->size = -1;
  if (!strncmp(text, width, sizeof width - 1))
    b->size = (int64_t)isa->vl * isa->tile_vectors;
  else if (!word)
    b->size = strtoll(text, NULL, 10);
  text += word ? strcspn(text, ">") + 1 : strspn(text, "0123456789");
  b->axis = *text;
  return text + 1;
}

static size_t axes_of(const char *text) {
  size_t count = 0;
  while (isupper((unsigned char)text[count]))
    count++;
  return count;
}

/* The sizes of the blocks of a layout that is written as the text says. */
static bool match(const char *text, const GlowIsa *isa, const char *layout, int64_t *blocks) {
  size_t axes = axes_of(text);
  if (axes_of(layout) != axes || strncmp(text, layout, axes))
    return false;
  layout += axes;
  for (text += axes; *text; blocks++) {
    Block want, have = {0};
    text = read_block(text, isa, &want);
    const char *next = *layout ? read_block(layout, isa, &have) : layout;
    bool there = have.axis == want.axis && (want.size < 0 || have.size == want.size);
    if (!there && want.size != 1 && want.size >= 0)
      return false;
    *blocks = there ? have.size : 1; /* a block of 1 is not written */
    layout = there ? next : layout;
  }
  return !*layout;
}

static const GlowKernelLayout *row_of(const GlowKernel *k, const char *operand) {
  for (const GlowKernelLayout *l = k->layouts; l && l->operand; l++)
    if (!strcmp(l->operand, operand))
      return l;
  return NULL;
}

bool glow_kernel_takes(const GlowKernel *k, const char *operand, const GlowIsa *isa,
                       const GlowLayout *layout, int64_t blocks[GLOW_LAYOUT_BLOCKS]) {
  const GlowKernelLayout *row = row_of(k, operand);
  int64_t sizes[GLOW_LAYOUT_BLOCKS] = {0};
  bool takes = !row && !layout;
  for (int i = 0; row && layout && i < GLOW_KERNEL_LAYOUTS && row->texts[i] && !takes; i++)
    takes = match(row->texts[i], isa, layout->text, sizes);
  if (takes && blocks)
    memcpy(blocks, sizes, sizeof sizes);
  return takes;
}

const GlowLayout *glow_kernel_layout(GlowContext *ctx, const GlowKernel *k, const char *operand,
                                     uint32_t which, const GlowIsa *isa, int64_t number) {
  const GlowKernelLayout *row = row_of(k, operand);
  GLOW_CHECK(ctx, row && row->texts[which], "the kernel table has the layout");
  const char *text = row->texts[which];
  size_t axes = axes_of(text), size = axes;
  char made[64];
  memcpy(made, text, axes);
  for (text += axes; *text;) {
    Block b;
    text = read_block(text, isa, &b);
    int64_t block = b.size < 0 ? number : b.size;
    if (block > 1)
      size += (size_t)snprintf(made + size, sizeof made - size, "%lld%c", (long long)block, b.axis);
  }
  made[size] = '\0';
  return glow_layout_named(ctx, made, (uint32_t)axes);
}

const char *glow_kernel_layout_text(const GlowKernel *k, const char *operand) {
  const GlowKernelLayout *row = row_of(k, operand);
  return row ? row->texts[0] : "plain";
}
