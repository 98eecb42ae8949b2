/* glow-run --verbose: what ran, and what each stage took. */
#include <stdio.h>
#include <string.h>

#include "driver/costs.h"
#include "tools/glow-run/glow_run.h"

static void put_backend(GlowText *out, const GlowRun *run, const GlowExecutable *e) {
  const GlowTarget *t;
  glow_text_printf(out, "%-10s %s", "backend", run->backend->name);
  if (!e->entries->program)
    glow_text_printf(out, " on a %s", run->session->entry->kind == GLOW_FUNC ? "graph" : "program");
  else if (glow_target_of(run->session->module, &t) && t)
    glow_text_printf(out, " for %s, tier %s, %lld thread%s", t->name,
                     glow_tier_name(run->options.tier), (long long)run->command->model.threads,
                     run->command->model.threads > 1 ? "s" : "");
  glow_text_puts(out, e->costs.cached ? ", from the cache\n" : "\n");
}

static uint32_t count_pieces(const GlowEntry *e, const char *kernel) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < e->npieces; i++)
    count += !strcmp(e->pieces[i].kernel, kernel);
  return count;
}

static void put_pieces(GlowText *out, const GlowExecutable *e) {
  const GlowEntry *entry = e->entries;
  if (!entry->program)
    return;
  uint32_t interpreted = count_pieces(entry, "interpreter"), code = entry->npieces - interpreted;
  uint32_t kernels, compiled;
  glow_executable_count_pieces(e, &kernels, &compiled);
  glow_text_printf(out, "%-10s %u: %u library code, %u compiled code, %u interpreted", "pieces",
                   entry->npieces, code - compiled, compiled, interpreted);
  glow_text_printf(out, "; %u reference kernels\n", count_pieces(entry, "reference"));
}

static void put_seconds(GlowText *out, const GlowRun *run) {
  const GlowRunTimes *t = &run->times;
  glow_text_printf(out, "%-10s import %.4f, passes %.4f, compile %.4f, run %.4f", "seconds",
                   t->import, t->passes, t->compile, t->run);
  if (run->command->steps > 1)
    glow_text_printf(out, " (%lld times)", (long long)run->command->steps);
  glow_text_putc(out, '\n');
}

static void put_bytes(GlowText *out, const GlowExecution *x) {
  int64_t sums[] = {[GLOW_MEMORY_PORT] = 0, [GLOW_MEMORY_VARIABLE] = 0, [GLOW_MEMORY_CONSTANT] = 0};
  const GlowEntry *e = x->entry;
  if (!e->program)
    return;
  for (uint32_t i = 0; i < e->nvalues; i++)
    if (e->values[i].read || e->values[i].written)
      sums[e->values[i].memory] += glow_type_bytes(e->values[i].room);
  glow_text_printf(out, "%-10s code %lld, constants %lld, variables %lld, ", "bytes",
                   (long long)e->executable->code, (long long)sums[GLOW_MEMORY_CONSTANT],
                   (long long)sums[GLOW_MEMORY_VARIABLE]);
  glow_text_printf(out, "inputs and outputs %lld, arena %lld, scratch %lld\n",
                   (long long)sums[GLOW_MEMORY_PORT], (long long)e->memory,
                   (long long)(x->arena - e->memory));
}

/* What went wrong while the program was compiled in the background. */
static void put_background(GlowText *out, const GlowExecutable *e) {
  const char *trouble = e->background ? glow_background_trouble(e->background, e->ctx) : NULL;
  if (trouble)
    glow_text_printf(out, "%-10s %s\n", "background", trouble);
}

void glow_run_tell(const GlowRun *run, const GlowRunnable *r) {
  GlowText out;
  GlowDefer defer;
  glow_text_init(&out, run->session->ctx);
  glow_defer_push(run->session->ctx, &defer, glow_text_release_fn, &out);
  put_backend(&out, run, r->executable);
  put_pieces(&out, r->executable);
  put_seconds(&out, run);
  glow_costs_print(&out, r->executable);
  put_bytes(&out, r->execution);
  put_background(&out, r->executable);
  fwrite(out.data, 1, out.size, stderr);
  glow_defer_pop(run->session->ctx, &defer, true);
}
