/* Planned memory as a chart: time to the right, one step for each instruction, and the arena
 * upwards. A box is a buffer: from the instruction that first uses it to the last, at its offset.
 * Above the boxes a line shows how many bytes are alive at each step; the step with the most is
 * marked. */
#include "analysis/buffers.h"
#include "support/sizes.h"
#include "view/view_internal.h"

enum { LEFT = 74, TOP = 76, PLOT_HEIGHT = 520, BOTTOM = 250, RIGHT = 30, LEAST_WIDTH = 900 };
enum { STEP = 34, MOST_WIDTH = 8000, LINE = 12, TICKS = 6, LABEL = 44 };

typedef struct ChartBuffer {
  const GlowValue *value;
  int64_t offset, bytes;
  uint32_t start, end; /* steps, [start, end) */
} ChartBuffer;

typedef struct Chart {
  GlowArena *arena;
  GlowText *out;
  GlowFunction *function;
  GLOW_VEC(ChartBuffer) buffers;
  GLOW_VEC(GlowNode *) steps; /* the instructions */
  GlowMap *started;           /* alloc -> its number in buffers, plus 1 */
  int64_t *live;              /* bytes alive at each step */
  uint32_t peak;
  double step; /* width in pixels */
  int top;     /* where this chart begins */
} Chart;

bool glow_view_is_planned(const GlowFunction *f) {
  return f->kind == GLOW_PROGRAM && f->arena >= 0;
}

static bool collect(GlowNode *n, void *arg) {
  Chart *c = arg;
  if (n->block->scalar || GLOW_HAS(glow_node_desc(n), TERMINATOR) || n->op == GLOW_OP_TENSORVIEW)
    return true;
  if (n->op == GLOW_OP_ALLOC) {
    const GlowAllocMembers *m = n->members;
    ChartBuffer b = {&n->results[0], m->at, glow_buffer_bytes(n->results[0].type), c->steps.count,
                     UINT32_MAX};
    glow_vec_push(c->arena, &c->buffers, b);
    glow_map_set(c->started, &n->results[0], (void *)(uintptr_t)c->buffers.count);
  } else if (n->op == GLOW_OP_DEALLOC) {
    uintptr_t i = (uintptr_t)glow_map_get(c->started, glow_node_in(n, 0));
    if (i)
      c->buffers.data[i - 1].end = c->steps.count;
  } else {
    glow_vec_push(c->arena, &c->steps, n);
  }
  return true;
}

static void measure(Chart *c) {
  c->started = glow_map_create(c->arena);
  glow_block_walk(c->function->body, collect, c);
  c->live = GLOW_NEW_ARRAY(c->arena, int64_t, c->steps.count + 1);
  for (uint32_t i = 0; i < c->buffers.count; i++) {
    ChartBuffer *b = &c->buffers.data[i];
    b->end = b->end > c->steps.count ? c->steps.count : b->end;
    for (uint32_t t = b->start; t < b->end; t++)
      c->live[t] += b->bytes;
  }
  for (uint32_t t = 0; t < c->steps.count; t++)
    c->peak = c->live[t] > c->live[c->peak] ? t : c->peak;
  double width = (double)c->steps.count * STEP;
  width = width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
  c->step = width / (c->steps.count ? c->steps.count : 1);
}

static double x_of(const Chart *c, uint32_t t) { return LEFT + t * c->step; }
static double y_of(const Chart *c, int64_t bytes) {
  double whole = c->function->arena ? (double)c->function->arena : 1;
  return c->top + TOP + PLOT_HEIGHT * (1 - (double)bytes / whole);
}
static double bottom(const Chart *c) { return c->top + TOP + PLOT_HEIGHT; }

/* A name without a separator in front: `conv1/Conv` for `/conv1/Conv`. */
static const char *plain(const char *name) {
  return name && *name == '/' ? name + 1 : name ? name : "";
}

static void print_text(Chart *c, double x, double y, const char *more, const char *s,
                       size_t limit) {
  glow_text_printf(c->out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
  glow_view_escape(c->out, s, limit);
  glow_text_puts(c->out, "</text>\n");
}

static void print_axis(Chart *c) {
  double right = x_of(c, c->steps.count);
  for (int i = 0; i <= TICKS; i++) {
    int64_t bytes = c->function->arena / TICKS * i;
    glow_text_printf(c->out,
                     "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n",
                     LEFT, y_of(c, bytes), right, y_of(c, bytes));
    print_text(c, LEFT - 6, y_of(c, bytes) + 3, " text-anchor=\"end\"",
               glow_bytes_str(c->arena, bytes), SIZE_MAX);
  }
  uint32_t every = c->step < LINE ? (uint32_t)(LINE / c->step) + 1 : 1;
  for (uint32_t t = 0; t < c->steps.count; t += every) {
    const GlowNode *n = c->steps.data[t];
    double x = x_of(c, t) + c->step / 2 + 3;
    const char *label = glow_arena_printf(c->arena, "%u %s %s", t, glow_node_desc(n)->instr,
                                          plain(glow_view_name(n)));
    print_text(c, x, bottom(c) + 8,
               glow_arena_printf(c->arena,
                                 " class=\"t\" text-anchor=\"end\" "
                                 "transform=\"rotate(-90 %.1f %.1f)\"",
                                 x, bottom(c) + 8),
               label, LABEL);
  }
}

/* The name of a buffer, upright or lying, as much of it as the box can hold. */
static void print_name(Chart *c, const ChartBuffer *b, double w, double h) {
  double x = x_of(c, b->start), y = y_of(c, b->offset + b->bytes);
  bool upright = h > w;
  double along = upright ? h : w, across = upright ? w : h;
  size_t fits = (size_t)((along - 6) / 5.4);
  if (across < LINE || fits < 4)
    return;
  double tx = upright ? x + w / 2 + 3 : x + 4, ty = upright ? y + h - 4 : y + h / 2 + 3;
  const char *turn =
      upright
          ? glow_arena_printf(c->arena, " class=\"n\" transform=\"rotate(-90 %.1f %.1f)\"", tx, ty)
          : " class=\"n\"";
  const char *size = glow_bytes_str(c->arena, b->bytes);
  print_text(c, tx, ty, turn, glow_arena_printf(c->arena, "%s  %s", plain(b->value->name), size),
             fits);
}

static void print_buffers(Chart *c) {
  static const char *const colors[] = {"#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6",
                                       "#fb9a99", "#ffff99", "#ccebc5", "#d9d9d9"};
  for (uint32_t i = 0; i < c->buffers.count; i++) {
    const ChartBuffer *b = &c->buffers.data[i];
    double y = y_of(c, b->offset + b->bytes), h = y_of(c, b->offset) - y;
    double w = (b->end - b->start) * c->step;
    glow_text_printf(c->out, "<g><title>");
    glow_view_escape(c->out, b->value->name ? b->value->name : "", SIZE_MAX);
    glow_text_puts(c->out, ": ");
    glow_view_print_type(c->out, b->value->type);
    glow_text_printf(c->out, ", %lld bytes at %lld, steps %u to %u</title>", (long long)b->bytes,
                     (long long)b->offset, b->start, b->end ? b->end - 1 : 0);
    glow_text_printf(c->out,
                     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
                     "stroke=\"#555555\" stroke-width=\"0.6\"/>\n",
                     x_of(c, b->start), y, w, h, colors[i % 8]);
    glow_text_puts(c->out, "</g>\n");
  }
}

static void print_names(Chart *c) {
  for (uint32_t i = 0; i < c->buffers.count; i++) {
    const ChartBuffer *b = &c->buffers.data[i];
    print_name(c, b, (b->end - b->start) * c->step,
               y_of(c, b->offset) - y_of(c, b->offset + b->bytes));
  }
}

static void print_peak(Chart *c) {
  if (!c->steps.count)
    return;
  glow_text_puts(c->out,
                 "<polyline fill=\"none\" stroke=\"#000000\" stroke-width=\"1.2\" points=\"");
  for (uint32_t t = 0; t < c->steps.count; t++)
    glow_text_printf(c->out, "%.1f,%.1f %.1f,%.1f ", x_of(c, t), y_of(c, c->live[t]),
                     x_of(c, t + 1), y_of(c, c->live[t]));
  glow_text_puts(c->out, "\"/>\n");
  double x = x_of(c, c->peak);
  glow_text_printf(c->out,
                   "<rect class=\"peak\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
                   "fill=\"#cc0000\" fill-opacity=\"0.12\" stroke=\"#cc0000\"/>\n",
                   x, c->top + TOP - 14, c->step, PLOT_HEIGHT + 14);
  const char *label = glow_arena_printf(c->arena, "peak: %s alive at step %u, %s",
                                        glow_bytes_str(c->arena, c->live[c->peak]), c->peak,
                                        plain(glow_view_name(c->steps.data[c->peak])));
  bool left = x > LEFT + c->step * c->steps.count / 2;
  print_text(c, left ? x - 4 : x + c->step + 4, c->top + TOP - 8,
             left ? " class=\"p\" text-anchor=\"end\"" : " class=\"p\"", label, 90);
}

/* Whether n is in block b or inside of it. */
static bool is_within(const GlowNode *n, const GlowBlock *b) {
  const GlowBlock *at = n->block;
  while (at && at != b)
    at = glow_block_parent(at);
  return at != NULL;
}

/* A dashed frame round the steps of a body, which follow the step that runs it. */
static void print_body(Chart *c, uint32_t step, const GlowBlock *b) {
  uint32_t first = step + 1, end;
  while (first < c->steps.count && !is_within(c->steps.data[first], b))
    first++;
  for (end = first; end < c->steps.count && is_within(c->steps.data[end], b); end++)
    ;
  if (first == end)
    return;
  const char *label =
      glow_arena_printf(c->arena, "%s ^%s", glow_node_desc(c->steps.data[step])->instr, b->label);
  glow_text_printf(c->out,
                   "<rect class=\"body\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
                   "fill=\"none\" stroke=\"#3465a4\" stroke-width=\"1.4\" "
                   "stroke-dasharray=\"5 3\"/>\n",
                   x_of(c, first), c->top + TOP - 4, (end - first) * c->step, PLOT_HEIGHT + 8);
  print_text(c, x_of(c, first) + 4, c->top + TOP + 8, " class=\"b\"", label, 40);
}

static void print_bodies(Chart *c) {
  for (uint32_t t = 0; t < c->steps.count; t++) {
    const GlowNode *n = c->steps.data[t];
    for (uint32_t r = 0; r < n->nregions; r++)
      if (n->regions[r] && !n->regions[r]->scalar)
        print_body(c, t, n->regions[r]);
  }
}

static void print_chart(Chart *c) {
  const char *title = glow_arena_printf(
      c->arena, "program @%s: an arena of %s for %u buffers, %u instructions", c->function->name,
      glow_bytes_str(c->arena, c->function->arena), c->buffers.count, c->steps.count);
  print_text(c, LEFT, c->top + 26, " class=\"h\"", title, 160);
  print_text(c, LEFT, c->top + 44, "",
             "A box is a buffer: its offset upwards, the steps it lives to the right. "
             "The black line is the sum of the buffers alive.",
             SIZE_MAX);
  print_axis(c);
  print_buffers(c);
  print_peak(c);
  print_bodies(c);
  print_names(c);
}

void glow_view_print_charts(GlowModule *m, GlowArena *arena, GlowText *out) {
  GLOW_VEC(Chart) charts = {0};
  double width = 0;
  int height = 0;
  for (GlowFunction *f = m->first_function; f; f = f->next) {
    if (!glow_view_is_planned(f))
      continue;
    Chart c = {.arena = arena, .out = out, .function = f, .top = height};
    measure(&c);
    height += TOP + PLOT_HEIGHT + BOTTOM;
    double right = x_of(&c, c.steps.count) + RIGHT;
    width = right > width ? right : width;
    glow_vec_push(arena, &charts, c);
  }
  glow_text_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" "
                   "viewBox=\"0 0 %.0f %d\">\n"
                   "<style>text { font: 10px Helvetica, Arial, sans-serif } .h { font-size: 15px; "
                   "font-weight: bold } .t { font-size: 9px; fill: #444444 } .p { font-size: 12px; "
                   "fill: #cc0000 } .b { fill: #3465a4; font-weight: bold } .n { paint-order: "
                   "stroke; stroke: #ffffff; stroke-width: 2px; "
                   "stroke-opacity: 0.7; pointer-events: none }</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                   width, height, width, height);
  for (uint32_t i = 0; i < charts.count; i++)
    print_chart(&charts.data[i]);
  glow_text_puts(out, "</svg>\n");
}
