/* Counters of passes. Every pass has the counters `runs` and `rewrites`; others come from
 * glow_pass_count. Functions, nodes, instructions and storage of the module are counted before all
 * passes (as "input") and after them ("output"). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pass/pass_internal.h"
#include "support/file.h"
#include "support/json.h"

typedef struct Counter {
  const char *owner, *name;
  int64_t value;
} Counter;

struct GlowStatistics {
  GlowContext *ctx;
  const GlowRunnerOptions *options;
  GLOW_VEC(Counter) counters;
};

void glow_stats_count(GlowStatistics *s, const char *owner, const char *name, int64_t amount) {
  for (uint32_t i = 0; i < s->counters.count; i++) {
    Counter *c = &s->counters.data[i];
    if (strcmp(c->owner, owner) == 0 && strcmp(c->name, name) == 0) {
      c->value += amount;
      return;
    }
  }
  glow_vec_push(s->ctx->arena, &s->counters, ((Counter){owner, name, amount}));
}

static bool count_node(GlowNode *n, void *total) {
  (void)n;
  ++*(int64_t *)total;
  return true;
}

static void count_module(GlowStatistics *s, GlowModule *m, const char *owner) {
  int64_t nodes[2] = {0}, functions = 0, storage = 0;
  for (GlowFunction *f = m->first_function; f; f = f->next, ++functions)
    glow_block_walk(f->body, count_node, &nodes[f->kind == GLOW_PROGRAM]);
  for (const GlowStorage *v = m->first_storage; v; v = v->next)
    storage++;
  glow_stats_count(s, owner, "functions", functions);
  glow_stats_count(s, owner, "nodes", nodes[0]);
  glow_stats_count(s, owner, "instructions", nodes[1]);
  glow_stats_count(s, owner, "storage", storage);
}

GlowStatistics *glow_stats_begin(GlowModule *m, const GlowRunnerOptions *o) {
  if (!o->stats && !o->stats_json)
    return NULL;
  GlowStatistics *s = GLOW_NEW(m->ctx->arena, GlowStatistics);
  s->ctx = m->ctx;
  s->options = o;
  count_module(s, m, "input");
  return s;
}

static int by_name(const void *a, const void *b) {
  const Counter *x = a, *y = b;
  int order = strcmp(x->owner, y->owner);
  return order ? order : strcmp(x->name, y->name);
}

static bool write_json(const GlowStatistics *s) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, s->ctx);
  glow_defer_push(s->ctx, &release, glow_text_release_fn, &t);
  const char *before = "{\n  ";
  for (uint32_t i = 0; i < s->counters.count; i++) {
    const Counter *c = &s->counters.data[i];
    GlowStr key = glow_str_printf(s->ctx, "%s.%s", c->owner, c->name);
    glow_text_puts(&t, before);
    glow_json_string(&t, key, glow_str_length(key));
    glow_text_printf(&t, ": %" PRId64, c->value);
    before = ",\n  ";
  }
  glow_text_puts(&t, "\n}\n");
  GlowBytes bytes = {t.data, t.size};
  bool ok = glow_output_write(s->ctx, s->options->stats_json, &bytes, 1);
  glow_defer_pop(s->ctx, &release, true);
  return ok;
}

bool glow_stats_end(GlowStatistics *s, GlowModule *m) {
  if (!s)
    return true;
  count_module(s, m, "output");
  qsort(s->counters.data, s->counters.count, sizeof *s->counters.data, by_name);
  if (s->options->stats) {
    fflush(stdout);
    fprintf(stderr, "; statistics\n");
    for (uint32_t i = 0; i < s->counters.count; i++) {
      const Counter *c = &s->counters.data[i];
      fprintf(stderr, "; %10" PRId64 "  %s: %s\n", c->value, c->owner, c->name);
    }
  }
  return !s->options->stats_json || write_json(s);
}
