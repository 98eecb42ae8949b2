/* See profile.h. */
#include "driver/profile.h"

#include <stdlib.h>
#include <string.h>

#include "backend/interp/node_profile.h"
#include "ops/infer.h"
#include "support/file.h"

/* ---- Rows ------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b) {
  const GlowProfileRow *x = a, *y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static int64_t bytes_of_type(const GlowType *t) {
  return glow_type_is_tensor(t) && glow_type_is_static(t) ? glow_type_bytes(t) : 0;
}

/* The bytes that operands and results hold: each byte is touched at least once. */
static int64_t bytes_of(const GlowNode *n) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value)
      sum += bytes_of_type(n->operands[i].value->type);
  for (uint32_t i = 0; i < n->nresults; i++)
    sum += bytes_of_type(n->results[i].type);
  return sum;
}

/* Adds a piece; the figures of a node belong to its main piece, once for each call. */
static void add(GlowProfileRow *row, const GlowProfilePiece *p) {
  row->seconds += p->seconds;
  row->calls += p->main || !row->node ? p->calls : 0;
  if (!p->main)
    return;
  int64_t macs = glow_macs_hooks[p->node->op] ? glow_macs_hooks[p->node->op](p->node) : 0;
  row->macs += macs > 0 ? macs * p->calls : 0;
  row->bytes += bytes_of(p->node) * p->calls;
}

GlowProfileRow *glow_profile_rows(const GlowProfile *p, GlowArena *arena, bool of_kernels,
                                  uint32_t *count) {
  GlowProfileRow *rows = GLOW_NEW_ARRAY(arena, GlowProfileRow, p->npieces);
  *count = 0;
  for (uint32_t i = 0; i < p->npieces; i++) {
    const GlowProfilePiece *piece = &p->pieces[i];
    uint32_t k = of_kernels || !*count ? 0 : *count - 1; /* a node's pieces follow each other */
    while (k < *count &&
           (of_kernels ? strcmp(rows[k].kernel, piece->kernel) != 0 : rows[k].node != piece->node))
      k++;
    if (k == *count)
      rows[(*count)++] =
          (GlowProfileRow){.kernel = piece->kernel, .node = of_kernels ? NULL : piece->node};
    if (piece->main && !of_kernels)
      rows[k].kernel = piece->kernel;
    add(&rows[k], piece);
  }
  qsort(rows, *count, sizeof *rows, by_time);
  return rows;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_row(GlowText *out, const GlowProfileRow *r, double total, double peak) {
  double flops = 2.0 * (double)r->macs, seconds = r->seconds > 0 ? r->seconds : 1e-9;
  glow_text_printf(out, "%6.1f %10.3f %6u", total > 0 ? 100 * r->seconds / total : 0,
                   r->seconds * 1e3, r->calls);
  if (r->macs)
    glow_text_printf(out, " %9.2f", flops / seconds * 1e-9);
  else
    glow_text_printf(out, " %9s", "-");
  if (r->macs && peak > 0)
    glow_text_printf(out, " %7.1f", 100 * flops / seconds / peak);
  else
    glow_text_printf(out, " %7s", "-");
  glow_text_printf(out, " %9.3f %7.2f  ", (double)r->bytes / (1 << 20),
                   (double)r->bytes / seconds * 1e-9);
}

void glow_profile_name(GlowText *out, const GlowNode *n) {
  GlowLoc loc = glow_node_loc(n);
  glow_text_puts(out, glow_profile_operator(n));
  if (n->origin && n->origin->name)
    glow_text_printf(out, " %s", n->origin->name);
  else if (loc.line)
    glow_text_printf(out, " %s:%u", glow_path_base(loc.file), loc.line);
}

void glow_profile_print(GlowText *out, const GlowProfile *p, bool of_kernels, double peak) {
  uint32_t count;
  GlowArena *arena = glow_arena_create(out->ctx);
  const GlowProfileRow *rows = glow_profile_rows(p, arena, of_kernels, &count);
  glow_text_printf(out, "%6s %10s %6s %9s %7s %9s %7s  %s\n", "%", "ms", "calls", "GFLOP/s",
                   "% peak", "MiB", "GB/s", of_kernels ? "strategy" : "strategy, instruction");
  GlowProfileRow total = {.kernel = "all"};
  for (uint32_t i = 0; i < count; i++) {
    print_row(out, &rows[i], p->seconds, peak);
    glow_text_puts(out, rows[i].kernel);
    if (!of_kernels) {
      size_t length = strlen(rows[i].kernel);
      glow_text_printf(out, "%*s ", length < 16 ? (int)(16 - length) : 0, "");
      glow_profile_name(out, rows[i].node);
    }
    glow_text_putc(out, '\n');
    total.macs += rows[i].macs;
    total.bytes += rows[i].bytes;
    total.calls += rows[i].calls;
  }
  total.seconds = p->seconds;
  print_row(out, &total, p->seconds, peak);
  glow_text_printf(out, "all\n");
  glow_arena_destroy(arena);
}
