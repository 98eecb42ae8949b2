/* What machine code looks like where it spends its time: the innermost loops with FMAs in assembly
 * text for the rows that have them: x86-64, AArch64, RISC-V. */
#ifndef GLOW_TEST_HOT_LOOPS_H
#define GLOW_TEST_HOT_LOOPS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"

/* What the innermost loops with FMAs look like, all together and the one with the most of them. */
typedef struct HotLoops {
  unsigned loops, fmas, full_width, stack;
  unsigned most_fmas, most_full_width, most_stack;
} HotLoops;

typedef struct Line {
  const char *text;
  size_t length;
} Line;

static inline bool has(const Line *l, const char *what) {
  return memmem(l->text, l->length, what, strlen(what)) != NULL;
}

static inline size_t split_lines(const char *text, Line *lines) {
  size_t n = 0;
  while (*text) {
    size_t length = strcspn(text, "\n");
    if (lines)
      lines[n] = (Line){text, length};
    n++;
    text += length + (text[length] == '\n');
  }
  return n;
}

/* The line before `end` that defines the label which the jump at `end` goes to, or `end`. */
static inline size_t loop_start(const Line *lines, size_t end) {
  const Line *jump = &lines[end];
  const char *label = memmem(jump->text, jump->length, ".LBB", 4);
  if (!label || jump->text[0] != '\t' || !strchr("jbct", jump->text[1])) /* jne, b.ne, cbnz, tbz */
    return end;
  size_t length = strcspn(label, " \t\n#/");
  for (size_t i = end; i > 0; i--) {
    const Line *l = &lines[i - 1];
    if (l->length > length && !memcmp(l->text, label, length) && l->text[length] == ':')
      return i - 1;
  }
  return end;
}

/* What an instruction on a whole vector of the row has in its text; NULL: the row has no FMAs on
 * vectors. */
static inline const char *full_vector(const GlowIsa *isa) {
  if (strcmp(isa->arch, "x86_64") == 0)
    return isa->vl == 16 ? "%zmm" : isa->vl == 8 ? "%ymm" : NULL;
  return strcmp(isa->name, "aarch64") == 0   ? ".4s"
         : strcmp(isa->name, "rv64gcv") == 0 ? "vf"
                                             : NULL;
}

static inline bool is_fma(const Line *l) {
  return has(l, "vfmadd") || has(l, "fmla") || has(l, "vfmacc");
}

static inline bool touches_stack(const Line *l) {
  return has(l, "%rsp") || has(l, "[sp") || has(l, "(sp)") || has(l, "Spill") || has(l, "Reload");
}

/* Loops without a loop inside. Stack references are what a spill needs: the stack pointer, or
 * LLVM's own comments on spills. */
static inline HotLoops find_hot_loops(const char *assembly, const char *vector) {
  size_t n = split_lines(assembly, NULL), last_start = 0;
  Line *lines = malloc(n * sizeof *lines);
  split_lines(assembly, lines);
  HotLoops hot = {0};
  for (size_t end = 0; end < n; end++) {
    size_t start = loop_start(lines, end);
    if (start == end || start < last_start)
      continue; /* no loop, or one around the last one */
    last_start = start;
    unsigned fmas = 0, wide = 0, stack = 0;
    for (size_t i = start; i <= end; i++) {
      bool fma = is_fma(&lines[i]);
      fmas += fma;
      wide += fma && has(&lines[i], vector);
      stack += touches_stack(&lines[i]);
    }
    if (fmas) {
      hot.loops++;
      hot.fmas += fmas;
      hot.full_width += wide;
      hot.stack += stack;
    }
    if (fmas > hot.most_fmas) {
      hot.most_fmas = fmas;
      hot.most_full_width = wide;
      hot.most_stack = stack;
    }
  }
  free(lines);
  return hot;
}

/* FMAs of the largest tile that the work calls, in one step: the product of its sizes. */
static inline unsigned tile_fmas(const GlowWork *w) {
  unsigned most = 0;
  for (uint32_t i = 0; i < w->tiles.count; i++) {
    const GlowTile *tile = w->tiles.all[i];
    unsigned fmas = tile != NULL;
    for (int k = 0; tile && k < GLOW_TILE_SIZES; k++)
      fmas *= tile->sizes[k] ? (unsigned)tile->sizes[k] : 1;
    most = fmas > most ? fmas : most;
  }
  return most;
}

#endif
