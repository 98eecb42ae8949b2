/* Nodes that stay in float until a bar holds: see rank.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bisect/rank.h"

static const char *const bars[] = {
    [GLOW_BAR_COSINE] = "cosine", [GLOW_BAR_AGREEMENT] = "agreement", [GLOW_BAR_SQNR] = "sqnr"};

bool glow_bar_read(GlowContext *ctx, const char *text, GlowBar *bar) {
  const char *sign = strstr(text, ">=");
  size_t length = sign ? (size_t)(sign - text) : 0;
  for (int i = 0; sign && i <= GLOW_BAR_SQNR; i++) {
    char *end;
    if (strlen(bars[i]) != length || strncmp(bars[i], text, length) != 0)
      continue;
    bar->of = i;
    bar->least = glow_parse_double(sign + 2, &end);
    if (end != sign + 2 && !*end && isfinite(bar->least))
      return true;
  }
  glow_error(ctx, glow_loc_file(ctx, "glow-bisect"),
             "--keep-until: '%s' is none of cosine>=X, agreement>=X and sqnr>=DB", text);
  return false;
}

static double reached(const GlowBar *bar, const GlowDistance *d) {
  return bar->of == GLOW_BAR_COSINE      ? d->cosine
         : bar->of == GLOW_BAR_AGREEMENT ? d->agreement
                                         : d->sqnr;
}

static bool holds(const GlowRankedList *l, const GlowOutcome *o) {
  return reached(l->ranking->bar, &o->distance) >= l->ranking->bar->least;
}

/* What the option keep= says, and the names of all nodes that are kept. */
static const GlowPipeline *pipeline_of(const GlowRankedList *l) {
  const GlowRanking *r = l->ranking;
  const GlowPass *pass = glow_ranked_pass();
  bool found;
  const char *keep = glow_pipeline_option(r->pipeline, pass, "keep", &found);
  for (uint32_t i = 0; i < l->nodes.count; i++)
    if (l->nodes.data[i].kept)
      keep = glow_str_printf(r->ctx, "%s%s%s", keep ? keep : "", keep ? "," : "",
                             glow_ranked_name(r->ctx, l->nodes.data[i].name));
  return keep ? glow_pipeline_with(r->pipeline, pass, "keep", keep) : r->pipeline;
}

static GlowStatus judge(GlowRankedList *l, const GlowRankedNode *n, GlowOutcome *out) {
  GlowStatus status = glow_rank_judge(l, pipeline_of(l), out);
  if (l->ranking->verbose && status == GLOW_OK)
    fprintf(stderr, "glow-bisect: %s '%s' %s: %s %.6g\n", n->op, n->name,
            n->kept ? "in float" : "on 8 bits", bars[l->ranking->bar->of],
            reached(l->ranking->bar, &out->distance));
  return status;
}

/* Keeps the worst nodes, one more each time. */
static GlowStatus add_nodes(GlowRankedList *l, GlowOutcome *o) {
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < l->nodes.count && status == GLOW_OK && !holds(l, o); i++) {
    l->nodes.data[i].kept = true;
    status = judge(l, &l->nodes.data[i], o);
  }
  if (status != GLOW_OK || holds(l, o))
    return status;
  const GlowBar *bar = l->ranking->bar;
  glow_error(l->ranking->ctx, glow_loc_file(l->ranking->ctx, "glow-bisect"),
             "--keep-until: %s is %.6g with all of these nodes in float, less than %g",
             bars[bar->of], reached(bar, &o->distance), bar->least);
  return GLOW_BAD_INPUT;
}

/* Gives up those that the bar does not need; the last one that was added is needed. */
static GlowStatus drop_nodes(GlowRankedList *l, GlowOutcome *o) {
  uint32_t last = l->nodes.count;
  while (last > 0 && !l->nodes.data[last - 1].kept)
    last--;
  GlowStatus status = GLOW_OK;
  for (uint32_t i = last; i-- > 1 && status == GLOW_OK;) {
    GlowRankedNode *n = &l->nodes.data[i - 1];
    GlowOutcome without;
    n->kept = false;
    status = judge(l, n, &without);
    n->kept = !holds(l, &without);
    *o = n->kept ? *o : without;
  }
  return status;
}

static const char *path_of_ranges(const GlowRanking *r) {
  bool found;
  return glow_pipeline_option(r->pipeline, glow_ranked_pass(), "ranges", &found);
}

static void close_input(void *in) { glow_input_close(in); }

/* The file of ranges, and a line for each node that is kept. */
static GlowStatus write_ranges(const GlowRankedList *l) {
  GlowContext *ctx = l->ranking->ctx;
  GlowInput in;
  GlowText lines;
  GlowDefer close, release;
  if (!glow_input_open(ctx, path_of_ranges(l->ranking), false, GLOW_NOWHERE, &in))
    return GLOW_IO;
  glow_defer_push(ctx, &close, close_input, &in);
  glow_text_init(&lines, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &lines);
  if (in.size && in.data[in.size - 1] != '\n')
    glow_text_putc(&lines, '\n');
  for (uint32_t i = 0; i < l->nodes.count; i++) {
    const GlowRankedNode *n = &l->nodes.data[i];
    GlowStr why = n->judged ? glow_str_printf(ctx, "SQNR %.2f dB alone", n->alone.distance.sqnr)
                            : "it cannot be rounded alone";
    if (n->kept)
      glow_ranges_put_keep(&lines, n->name, why);
  }
  const GlowBytes parts[] = {{in.data, in.size}, {lines.data, lines.size}};
  bool ok = glow_output_write(ctx, l->ranking->output, parts, 2);
  glow_defer_pop(ctx, &release, true);
  glow_defer_pop(ctx, &close, true);
  return ok ? GLOW_OK : GLOW_IO;
}

GlowStatus glow_rank_keep(GlowRankedList *l, const GlowOutcome *all) {
  GlowOutcome o = *all;
  GlowStatus status = add_nodes(l, &o);
  if (status == GLOW_OK)
    status = drop_nodes(l, &o);
  if (status != GLOW_OK)
    return status;
  uint32_t count = 0;
  for (uint32_t i = 0; i < l->nodes.count; i++)
    count += l->nodes.data[i].kept;
  printf("%u of %u nodes in float: %s %.6g, %.3f ms before and %.3f ms after\n", count,
         l->nodes.count, bars[l->ranking->bar->of], reached(l->ranking->bar, &o.distance),
         1e3 * o.before, 1e3 * o.after);
  for (uint32_t i = 0; i < l->nodes.count; i++)
    if (l->nodes.data[i].kept)
      printf("keep %s '%s'\n", l->nodes.data[i].op, l->nodes.data[i].name);
  return write_ranges(l);
}
