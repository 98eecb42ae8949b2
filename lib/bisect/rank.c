/* Each node rounded alone: see rank.h. */
#include "bisect/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/passes.h"
#include "support/diag.h"

enum { LEAST_RUNS = 5 }; /* for the time of the fastest one */

const GlowPass *glow_ranked_pass(void) { return glow_pass_find(&glow_passes, "quantize"); }

/* A glob that only this name matches; `?` stands for a comma, which no list can hold. */
GlowStr glow_ranked_name(GlowContext *ctx, GlowStr node) {
  GlowStr glob = "%";
  for (const char *c = node; *c; c++)
    glob =
        glow_str_printf(ctx, strchr("*?[\\", *c) ? "%s\\%c" : "%s%c", glob, *c == ',' ? '?' : *c);
  return glob;
}

/* ---- Running --------------------------------------------------------------------------------- */

static GlowStatus run_both(GlowRankedList *l, GlowSampled *s, int64_t first, int64_t n,
                           GlowOutcome *out) {
  GlowStatus status = glow_sampled_run(&l->plain, first, n);
  if (status == GLOW_OK)
    status = glow_sampled_run(s, first, n);
  out->before = fmin(out->before, l->plain.seconds);
  out->after = fmin(out->after, s->seconds);
  return status;
}

static GlowStatus judge(GlowRankedList *l, GlowSampled *s, GlowOutcome *out) {
  GlowJudge j = {.ctx = l->ranking->ctx, .compares = true};
  const GlowFeed *f = &s->feed;
  int64_t runs = 0;
  GlowStatus status = GLOW_OK;
  for (int64_t first = 0; first < f->count && status == GLOW_OK; first += f->batch, runs++) {
    int64_t n = f->count - first < f->batch ? f->count - first : f->batch;
    status = run_both(l, s, first, n, out);
    if (status == GLOW_OK &&
        !glow_judge_add(&j, &s->runnable->outputs, &l->plain.runnable->outputs, f->batch, n))
      status = GLOW_BAD_INPUT;
  }
  for (; runs < LEAST_RUNS && status == GLOW_OK; runs++)
    status = run_both(l, s, 0, 1, out);
  out->distance = glow_judge_distance(&j);
  return status;
}

GlowStatus glow_rank_judge(GlowRankedList *l, const GlowPipeline *p, GlowOutcome *out) {
  GlowSampledSetup how = l->ranking->how;
  GlowSampled s;
  GlowDefer close;
  how.passes = p;
  *out = (GlowOutcome){.before = INFINITY, .after = INFINITY};
  GlowStatus status = glow_sampled_open(&s, l->ranking->ctx, &how);
  glow_defer_push(l->ranking->ctx, &close, glow_sampled_close, &s);
  if (status == GLOW_OK)
    status = judge(l, &s, out);
  glow_defer_pop(l->ranking->ctx, &close, true);
  return status;
}

/* ---- The nodes ------------------------------------------------------------------------------- */

static bool converts(const GlowNode *n) {
  return n && (n->op == GLOW_OP_QUANTIZE || n->op == GLOW_OP_DEQUANTIZE ||
               n->op == GLOW_OP_DEQUANTIZE_LINEAR);
}

/* Whether n reads or gives values that the pass has rounded. */
static bool is_rounded(const GlowNode *n) {
  if (converts(n) || !n->nresults || !n->results[0].name ||
      glow_node_quant_form(n) == GLOW_QUANT_NONE)
    return false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && v->kind == GLOW_VALUE_RESULT && converts(v->def.node))
      return true;
  }
  for (uint32_t i = 0; i < n->nresults; i++)
    for (const GlowUse *u = n->results[i].uses; u; u = u->next)
      if (u->user->op == GLOW_OP_QUANTIZE)
        return true;
  return false;
}

/* Lists the nodes behind the pass, and ends the run. */
static bool list_nodes(void *user, const GlowPassEvent *e) {
  GlowRankedList *l = user;
  if (e->pass != glow_ranked_pass() || !e->ok)
    return true;
  const GlowFunction *f = glow_module_function(e->module, l->plain.session.entry->name);
  for (const GlowNode *n = f ? f->body->first : NULL; n; n = n->next) {
    GlowRankedNode node = {.name = n->nresults ? n->results[0].name : NULL,
                           .op = glow_node_desc(n)->node,
                           .place = l->nodes.count};
    if (is_rounded(n))
      glow_vec_push(l->ranking->ctx->arena, &l->nodes, node);
  }
  return false;
}

static GlowStatus find_nodes(GlowRankedList *l) {
  const GlowRanking *r = l->ranking;
  GlowSession s;
  GlowDefer close;
  GlowRunnerOptions options = {.math = r->how.model->math, .observe = list_nodes, .observer = l};
  GlowStatus status = glow_model_load(&s, r->ctx, r->how.path, r->how.model);
  glow_defer_push(r->ctx, &close, glow_session_close_fn, &s);
  if (status == GLOW_OK)
    status = glow_pipeline_run(s.module, r->pipeline, &options);
  glow_defer_pop(r->ctx, &close, true);
  return status;
}

/* Rounds each node alone. What cannot be rounded alone, since a value has no range, stays without
 * an outcome. */
static void judge_nodes(GlowRankedList *l) {
  GlowContext *ctx = l->ranking->ctx;
  for (uint32_t i = 0; i < l->nodes.count; i++) {
    GlowRankedNode *n = &l->nodes.data[i];
    GlowSilence silence;
    const GlowPipeline *p = glow_pipeline_with(l->ranking->pipeline, glow_ranked_pass(), "nodes",
                                               glow_ranked_name(ctx, n->name));
    p = glow_pipeline_with(p, glow_ranked_pass(), "all", "");
    glow_silence_begin(ctx, &silence);
    n->judged = glow_rank_judge(l, p, &n->alone) == GLOW_OK;
    glow_silence_end(&silence);
  }
}

/* ---- The table ------------------------------------------------------------------------------- */

/* By the ratio, ascending; then by the place in the text. */
static int by_distance(const void *a, const void *b) {
  const GlowRankedNode *x = a, *y = b;
  if (x->judged != y->judged)
    return x->judged ? -1 : 1;
  double first = x->alone.distance.sqnr, second = y->alone.distance.sqnr;
  if (x->judged && first != second)
    return first < second ? -1 : 1;
  return x->place < y->place ? -1 : 1;
}

static void print_outcome(const GlowOutcome *o) {
  printf("%8.2f %9.6f %9.4f %10.3f %9.3f  ", o->distance.sqnr, o->distance.cosine,
         o->distance.agreement, 1e3 * o->before, 1e3 * o->after);
}

static void print_table(const GlowRankedList *l, const GlowOutcome *all) {
  printf(" SQNR dB    cosine agreement  ms before  ms after  node\n");
  print_outcome(all);
  printf("all of them\n");
  for (uint32_t i = 0; i < l->nodes.count; i++) {
    const GlowRankedNode *n = &l->nodes.data[i];
    if (n->judged)
      print_outcome(&n->alone);
    else
      printf("%8s %9s %9s %10s %9s  ", "-", "-", "-", "-", "-");
    printf("%s '%s'\n", n->op, n->name);
  }
}

static GlowStatus rank(GlowRankedList *l) {
  const GlowRanking *r = l->ranking;
  GlowOutcome all;
  GlowSampledSetup how = r->how;
  how.passes = glow_pipeline_without(r->pipeline, glow_ranked_pass());
  GlowStatus status = glow_sampled_open(&l->plain, r->ctx, &how);
  if (status == GLOW_OK)
    status = find_nodes(l);
  if (status == GLOW_OK)
    status = glow_rank_judge(l, r->pipeline, &all);
  if (status != GLOW_OK)
    return status;
  judge_nodes(l);
  if (l->nodes.count)
    qsort(l->nodes.data, l->nodes.count, sizeof *l->nodes.data, by_distance);
  print_table(l, &all);
  return r->bar ? glow_rank_keep(l, &all) : GLOW_OK;
}

GlowStatus glow_bisect_rank(const GlowRanking *r) {
  GlowRankedList l = {.ranking = r};
  GlowDefer close;
  bool found;
  glow_pipeline_option(r->pipeline, glow_ranked_pass(), "ranges", &found);
  if (!found) {
    glow_error(r->ctx, glow_loc_file(r->ctx, "glow-bisect"),
               "-passes has no 'quantize<ranges=FILE>', whose nodes are ranked");
    return GLOW_BAD_USAGE;
  }
  glow_defer_push(r->ctx, &close, glow_sampled_close, &l.plain);
  GlowStatus status = rank(&l);
  glow_defer_pop(r->ctx, &close, true);
  return status;
}
