/* Times of passes: a table by pass, and events for Chrome's trace viewer (chrome://tracing,
 * Perfetto; "Trace Event Format": complete events "X", in microseconds). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "pass/pass_internal.h"
#include "support/file.h"
#include "support/json.h"

typedef struct GlowPassTime {
  const char *name;
  GlowSeconds spent;
  uint32_t runs;
} GlowPassTime;

static GlowSeconds now(void) {
  struct timespec t;
  struct rusage u;
  clock_gettime(CLOCK_MONOTONIC, &t);
  getrusage(RUSAGE_SELF, &u);
  return (GlowSeconds){(double)t.tv_sec + (double)t.tv_nsec * 1e-9,
                       (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6};
}

void glow_times_begin(GlowTimes *t, GlowContext *ctx, const GlowPassTable *table,
                      const GlowRunnerOptions *o) {
  *t = (GlowTimes){.ctx = ctx, .table = table, .options = o};
  glow_text_init(&t->trace, ctx);
  if (!o->time_passes && !o->time_trace)
    return;
  t->passes = GLOW_NEW_ARRAY(ctx->arena, GlowPassTime, table->count + 1);
  for (uint32_t i = 0; i < table->count; i++)
    t->passes[i].name = table->passes[i].name;
  t->passes[table->count].name = "(verifier)";
  t->start = now();
}

void glow_times_release(void *times) { glow_text_release(&((GlowTimes *)times)->trace); }

GlowSeconds glow_times_now(const GlowTimes *t) { return t->passes ? now() : (GlowSeconds){0}; }

static void add_event(GlowTimes *t, const GlowPassTime *of, const GlowPassCall *call,
                      GlowSeconds since, GlowSeconds end) {
  GlowText *out = &t->trace;
  glow_text_puts(out, out->size ? ",\n" : "");
  glow_text_puts(out, "{\"name\": ");
  glow_json_string(out, of->name, strlen(of->name));
  glow_text_printf(out, ", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": %.3f, \"dur\": %.3f",
                   (since.wall - t->start.wall) * 1e6, (end.wall - since.wall) * 1e6);
  if (call) {
    glow_text_printf(out, ", \"args\": {\"number\": %u", call->number);
    if (call->function) {
      glow_text_puts(out, ", \"function\": ");
      glow_json_string(out, call->function->name, glow_str_length(call->function->name));
    }
    glow_text_putc(out, '}');
  }
  glow_text_putc(out, '}');
}

void glow_times_add(GlowTimes *t, const GlowPassCall *call, GlowSeconds since) {
  if (!t->passes)
    return;
  const GlowPassTable *table = t->table;
  GlowPassTime *of = &t->passes[call ? (uint32_t)(call->item->pass - table->passes) : table->count];
  GlowSeconds end = now();
  of->spent.wall += end.wall - since.wall;
  of->spent.user += end.user - since.user;
  of->runs++;
  if (t->options->time_trace)
    add_event(t, of, call, since, end);
}

static int slower_first(const void *a, const void *b) {
  const GlowPassTime *x = a, *y = b;
  if (x->spent.wall != y->spent.wall)
    return x->spent.wall > y->spent.wall ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void print_table(GlowTimes *t) {
  GlowSeconds end = now();
  double total = end.wall - t->start.wall, user = end.user - t->start.user;
  uint32_t count = t->table->count + 1;
  qsort(t->passes, count, sizeof *t->passes, slower_first);
  double others = total;
  fflush(stdout);
  fprintf(stderr, "; pass times in seconds\n;     wall            user  runs  pass\n");
  for (uint32_t i = 0; i < count; i++) {
    const GlowPassTime *p = &t->passes[i];
    others -= p->spent.wall;
    if (p->runs)
      fprintf(stderr, "; %8.6f %5.1f%%  %8.6f  %4" PRIu32 "  %s\n", p->spent.wall,
              total > 0 ? 100 * p->spent.wall / total : 0, p->spent.user, p->runs, p->name);
  }
  fprintf(stderr, "; %8.6f %5.1f%%                  (runner)\n", others,
          total > 0 ? 100 * others / total : 0);
  fprintf(stderr, "; %8.6f 100.0%%  %8.6f        total\n", total, user);
}

bool glow_times_end(GlowTimes *t) {
  if (t->options->time_passes)
    print_table(t);
  if (!t->options->time_trace)
    return true;
  static const char head[] = "{\"traceEvents\": [\n", tail[] = "\n]}\n";
  GlowBytes parts[] = {
      {head, sizeof head - 1}, {t->trace.data, t->trace.size}, {tail, sizeof tail - 1}};
  return glow_output_write(t->ctx, t->options->time_trace, parts, 3);
}
