/* What was measured, for people and for programs. */
#include <string.h>

#include "driver/costs.h"
#include "driver/peak.h"
#include "driver/profile.h"
#include "support/file.h"
#include "support/json.h"
#include "tools/glow-bench/glow_bench.h"

static double burst_of_all(const GlowBench *b) {
  return b->burst * (double)b->command->model.threads;
}

/* ---- For people ------------------------------------------------------------------------------ */

static void print_speed(GlowText *out, const GlowBench *b) {
  double best = glow_bench_speed(b, b->least), median = glow_bench_speed(b, b->median);
  double burst = burst_of_all(b);
  if (!b->macs)
    return;
  glow_text_printf(out, "%-10s %.2f GFLOP/s, median %.2f", "speed", best * 1e-9, median * 1e-9);
  if (burst > 0)
    glow_text_printf(out, "; %.1f %%, median %.1f %% of an FMA burst of %.1f GFLOP/s",
                     100 * best / burst, 100 * median / burst, burst * 1e-9);
  glow_text_putc(out, '\n');
}

static void print_costs(GlowText *out, const GlowBench *b) {
  const GlowExecutable *e = b->runnable->executable;
  bool walked = e->entries->program != NULL;
  glow_text_printf(out, "%-10s import %.3f, optimize %.3f, compile %.3f, first run %.3f\n",
                   "seconds", b->import, b->optimize, b->compile, b->first);
  glow_costs_print(out, e);
  glow_text_printf(out, "%-10s ", "memory");
  if (e->code)
    glow_text_printf(out, "code %.1f KiB, ", (double)e->code / 1024);
  if (walked)
    glow_text_printf(out, "arena %.2f MiB, ",
                     (double)b->runnable->execution->arena / (1 << 20));
  glow_text_printf(out, "peak %ld MiB\n", glow_bench_peak_mib());
}

static void print_model(GlowText *out, const GlowBench *b) {
  const GlowBenchCommand *c = b->command;
  char cpu[256];
  glow_cpu_name(cpu, sizeof cpu);
  glow_text_printf(out, "%-10s %s, %.3f GMAC\n", "model", glow_path_base(b->path),
                   (double)b->macs * 1e-9);
  glow_text_printf(out, "%-10s %s", "backend", c->model.backend);
  if (b->isa)
    glow_text_printf(out, " for %s", b->isa->name);
  glow_text_printf(out, ", %lld thread%s, on %s\n", (long long)c->model.threads,
                   c->model.threads > 1 ? "s" : "", cpu);
  print_costs(out, b);
  glow_text_printf(out, "%-10s min %.3f ms, median %.3f ms (%lld round%s of %lld)\n", "inference",
                   b->least * 1e3, b->median * 1e3, (long long)c->rounds, c->rounds > 1 ? "s" : "",
                   (long long)b->repeat);
  glow_text_printf(out, "%-10s p50 %.3f ms, p90 %.3f ms, p99 %.3f ms (of %u inference%s)\n",
                   "latency", glow_bench_percentile(b, 50) * 1e3,
                   glow_bench_percentile(b, 90) * 1e3, glow_bench_percentile(b, 99) * 1e3,
                   b->samples.count, b->samples.count > 1 ? "s" : "");
  print_speed(out, b);
  if (b->profiled) {
    glow_text_putc(out, '\n');
    glow_profile_print(out, b->profiled->execution->profile, false, burst_of_all(b));
  }
}

/* Several models side by side; the last column is how many times as fast as the first each is. */
static void print_comparison(GlowText *out, const GlowBench *all, uint32_t count) {
  glow_text_printf(out, "%10s %10s %10s %10s %10s %8s  %s\n", "min ms", "median ms", "p50 ms",
                   "p90 ms", "p99 ms", "speed", "model");
  for (uint32_t i = 0; i < count; i++) {
    const GlowBench *b = &all[i];
    glow_text_printf(out, "%10.3f %10.3f %10.3f %10.3f %10.3f %8.2f  %s\n", b->least * 1e3,
                     b->median * 1e3, glow_bench_percentile(b, 50) * 1e3,
                     glow_bench_percentile(b, 90) * 1e3, glow_bench_percentile(b, 99) * 1e3,
                     all->median / b->median, glow_path_base(b->path));
  }
}

void glow_bench_print(GlowText *out, const GlowBench *all, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    print_model(out, &all[i]);
    if (count > 1)
      glow_text_putc(out, '\n');
  }
  if (count > 1)
    print_comparison(out, all, count);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_string(GlowText *out, const char *key, const char *value) {
  glow_text_printf(out, "\"%s\": ", key);
  glow_json_string(out, value, strlen(value));
}

static void put_numbers(GlowText *out, const char *key, const double *values, size_t count) {
  glow_text_printf(out, "\"%s\": [", key);
  for (size_t i = 0; i < count; i++)
    glow_text_printf(out, "%s%.9g", i ? ", " : "", values[i]);
  glow_text_putc(out, ']');
}

static void put_nodes(GlowText *out, const GlowProfile *p) {
  uint32_t count;
  GlowArena *arena = glow_arena_create(out->ctx);
  const GlowProfileRow *rows = glow_profile_rows(p, arena, false, &count);
  glow_text_printf(out, ",\n   \"profiled_s\": %.9g, \"nodes\": [", p->seconds);
  for (uint32_t i = 0; i < count; i++) {
    GlowText name;
    GlowDefer defer;
    glow_text_init(&name, out->ctx);
    glow_defer_push(out->ctx, &defer, glow_text_release_fn, &name);
    glow_profile_name(&name, rows[i].node);
    glow_text_puts(out, i ? ",\n    {" : "\n    {");
    put_string(out, "node", glow_text_cstr(&name));
    glow_text_puts(out, ", ");
    put_string(out, "strategy", rows[i].kernel);
    glow_text_printf(out, ", \"s\": %.9g, \"calls\": %u, \"macs\": %lld, \"bytes\": %lld}",
                     rows[i].seconds, rows[i].calls, (long long)rows[i].macs,
                     (long long)rows[i].bytes);
    glow_defer_pop(out->ctx, &defer, true);
  }
  glow_text_puts(out, "]");
  glow_arena_destroy(arena);
}

static void put_model(GlowText *out, const GlowBench *b) {
  const GlowBenchCommand *c = b->command;
  glow_text_puts(out, "  {");
  put_string(out, "model", b->path);
  glow_text_puts(out, ", ");
  put_string(out, "backend", c->model.backend);
  glow_text_puts(out, ", ");
  put_string(out, "target", b->isa ? b->isa->name : "");
  glow_text_printf(out, ", \"threads\": %lld, \"macs\": %lld,\n   ", (long long)c->model.threads,
                   (long long)b->macs);
  glow_text_printf(out,
                   "\"import_s\": %.9g, \"optimize_s\": %.9g, \"compile_s\": %.9g, "
                   "\"first_run_s\": %.9g, \"code_bytes\": %lld, \"arena_bytes\": %lld,\n   ",
                   b->import, b->optimize, b->compile, b->first,
                   (long long)b->runnable->executable->code,
                   (long long)b->runnable->execution->arena);
  glow_text_printf(out,
                   "\"min_s\": %.9g, \"median_s\": %.9g, \"p50_s\": %.9g, \"p90_s\": %.9g, "
                   "\"p99_s\": %.9g, \"inferences\": %u, \"burst_flops\": %.9g,\n   "
                   "\"repeat\": %lld, ",
                   b->least, b->median, glow_bench_percentile(b, 50), glow_bench_percentile(b, 90),
                   glow_bench_percentile(b, 99), b->samples.count, burst_of_all(b),
                   (long long)b->repeat);
  put_numbers(out, "rounds_s", b->rounds, (size_t)c->rounds);
  glow_text_puts(out, ", ");
  put_numbers(out, "started_s", b->started, (size_t)c->rounds);
  if (b->profiled)
    put_nodes(out, b->profiled->execution->profile);
  glow_text_puts(out, "}");
}

void glow_bench_json(GlowText *out, const GlowBench *all, uint32_t count) {
  char cpu[256];
  glow_cpu_name(cpu, sizeof cpu);
  glow_text_puts(out, "{");
  put_string(out, "glow", GLOW_VERSION_STRING);
  glow_text_puts(out, ", ");
  put_string(out, "cpu", cpu);
  glow_text_puts(out, ", \"models\": [\n");
  for (uint32_t i = 0; i < count; i++) {
    put_model(out, &all[i]);
    glow_text_puts(out, i + 1 < count ? ",\n" : "\n");
  }
  glow_text_puts(out, "]}\n");
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* RFC 4180: quoted where it has to be. */
static void put_field(GlowText *out, const char *text) {
  bool quoted = strpbrk(text, ",\"\r\n") != NULL;
  if (quoted)
    glow_text_putc(out, '"');
  for (; *text; text++) {
    if (*text == '"')
      glow_text_putc(out, '"');
    glow_text_putc(out, *text);
  }
  if (quoted)
    glow_text_putc(out, '"');
}

void glow_bench_csv(GlowText *out, const GlowBench *all, uint32_t count) {
  glow_text_puts(out, "model,backend,target,threads,macs,min_s,median_s,p50_s,p90_s,p99_s,"
                      "inferences,burst_flops,compile_s\n");
  for (uint32_t i = 0; i < count; i++) {
    const GlowBench *b = &all[i];
    put_field(out, b->path);
    glow_text_printf(out, ",%s,%s,%lld,%lld", b->command->model.backend, b->isa ? b->isa->name : "",
                     (long long)b->command->model.threads, (long long)b->macs);
    glow_text_printf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%u,%.9g,%.9g\n", b->least, b->median,
                     glow_bench_percentile(b, 50), glow_bench_percentile(b, 90),
                     glow_bench_percentile(b, 99), b->samples.count, burst_of_all(b), b->compile);
  }
}
