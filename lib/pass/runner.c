/* The runner: runs a pipeline pass by pass, checks what each needs, verifies after each, dumps and
 * times. A pass that fails, or leaves a module that does not verify, ends the run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "pass/pass_internal.h"

enum { MAX_FIXPOINT_ROUNDS = 32 };

typedef struct Seconds {
  double wall, user;
} Seconds;

typedef struct PassTime {
  const char *name;
  Seconds spent;
  uint32_t runs;
} PassTime;

typedef struct Runner {
  GlowModule *module;
  GlowContext *ctx;
  const GlowRunnerOptions *options;
  GlowSideFile *side;
  uint64_t changes; /* made by the pass that ran last */
  PassTime *times;  /* one for each row of the table, then the verifier */
  Seconds start;
  bool broken; /* a pass left a module that does not verify */
} Runner;

/* ---- Dumps ----------------------------------------------------------------------------------- */

/* The functions that a pass works on, as "(@main, @f)"; nothing for module passes. */
static void put_functions(const Runner *r, const GlowPass *pass, GlowText *out) {
  if (pass->level == GLOW_PASS_MODULE)
    return;
  GlowFunctionKind kind = pass->level == GLOW_PASS_GRAPH ? GLOW_FUNC : GLOW_PROGRAM;
  const char *separator = " (@";
  for (const GlowFunction *f = r->module->first_function; f; f = f->next)
    if (f->kind == kind) {
      glow_text_printf(out, "%s%s", separator, f->name);
      separator = ", @";
    }
  if (*separator == ',')
    glow_text_putc(out, ')');
}

static void dump(const Runner *r, const GlowPass *pass, const char *when) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, r->ctx);
  glow_defer_push(r->ctx, &release, glow_text_release_fn, &t);
  glow_text_printf(&t, "; *** IR %s %s", when, pass->name);
  put_functions(r, pass, &t);
  glow_text_puts(&t, " ***\n");
  glow_module_print(r->module, &t, &(GlowPrintOptions){.no_payload = true});
  fflush(stdout);
  fwrite(t.data, 1, t.size, stderr);
  glow_defer_pop(r->ctx, &release, true);
}

/* Whether `name` stands in a list with commas. */
static bool listed(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *s = list; s && *s;) {
    size_t length = strcspn(s, ",");
    if (length == n && memcmp(s, name, n) == 0)
      return true;
    s += length + (s[length] == ',');
  }
  return false;
}

/* Reports names in -print-before and -print-after that no pass has. */
static bool check_list(GlowContext *ctx, const char *option, const char *list) {
  for (const char *s = list; s && *s;) {
    size_t length = strcspn(s, ",");
    GlowStr name = glow_str_n(ctx, s, length);
    if (!glow_pass_find(name)) {
      const char *near = glow_pass_nearest(ctx, name);
      glow_error(ctx, GLOW_NOWHERE, "-%s: unknown pass '%s'%s%s%s", option, name,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
      return false;
    }
    s += length + (s[length] == ',');
  }
  return true;
}

/* ---- Times ----------------------------------------------------------------------------------- */

static Seconds now(void) {
  struct timespec t;
  struct rusage u;
  clock_gettime(CLOCK_MONOTONIC, &t);
  getrusage(RUSAGE_SELF, &u);
  return (Seconds){(double)t.tv_sec + (double)t.tv_nsec * 1e-9,
                   (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6};
}

static void add_time(PassTime *t, Seconds since) {
  Seconds end = now();
  t->spent.wall += end.wall - since.wall;
  t->spent.user += end.user - since.user;
  ++t->runs;
}

static int slower_first(const void *a, const void *b) {
  const PassTime *x = a, *y = b;
  if (x->spent.wall != y->spent.wall)
    return x->spent.wall > y->spent.wall ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void print_times(Runner *r) {
  Seconds end = now();
  double total = end.wall - r->start.wall, user = end.user - r->start.user;
  uint32_t count = glow_npasses + 1;
  qsort(r->times, count, sizeof *r->times, slower_first);
  fflush(stdout);
  fprintf(stderr, "; pass times in seconds\n;     wall            user  runs  pass\n");
  for (uint32_t i = 0; i < count; ++i) {
    const PassTime *t = &r->times[i];
    if (t->runs)
      fprintf(stderr, "; %8.4f %5.1f%%  %8.4f  %4" PRIu32 "  %s\n", t->spent.wall,
              total > 0 ? 100 * t->spent.wall / total : 0, t->spent.user, t->runs, t->name);
  }
  fprintf(stderr, "; %8.4f 100.0%%  %8.4f        total\n", total, user);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* GRAPH and PROGRAM passes must have something to work on. */
static bool level_occurs(const Runner *r, const GlowPass *pass) {
  if (pass->level == GLOW_PASS_MODULE)
    return true;
  bool graph = pass->level == GLOW_PASS_GRAPH;
  if (glow_module_has_level(r->module, graph ? GLOW_LEVEL_GRAPH : GLOW_LEVEL_PROGRAM))
    return true;
  glow_error(r->ctx, GLOW_NOWHERE, "pass '%s' works on %s, and the module has none", pass->name,
             graph ? "funcs" : "programs");
  bool other = glow_module_has_level(r->module, graph ? GLOW_LEVEL_PROGRAM : GLOW_LEVEL_GRAPH);
  if (other)
    glow_note(r->ctx, GLOW_NOWHERE, "%s",
              graph ? "run it before -irgen" : "run -irgen (glow-irgen) first");
  return false;
}

static bool verify(Runner *r, const GlowPass *pass) {
  Seconds since = now();
  bool ok = glow_module_verify(r->module);
  add_time(&r->times[glow_npasses], since);
  if (!ok) {
    glow_error(r->ctx, GLOW_NOWHERE, "pass '%s' left a module that does not verify", pass->name);
    r->broken = true;
  }
  return ok;
}

/* One call of the pass, with an arena of its own. */
static bool run_once(Runner *r, const GlowPipelineItem *item, GlowFunction *f) {
  GlowPassRun run = {.ctx = r->ctx,
                     .module = r->module,
                     .function = f,
                     .pass = item->pass,
                     .arena = glow_arena_create(r->ctx),
                     .option_names = item->names,
                     .option_values = item->values,
                     .noptions = item->noptions,
                     .exact = r->options->exact,
                     .side = &r->side};
  unsigned errors = glow_context_error_count(r->ctx);
  bool ok = item->pass->run(&run);
  r->changes += run.changes;
  glow_arena_destroy(run.arena);
  return ok && glow_context_error_count(r->ctx) == errors;
}

static bool run_functions(Runner *r, const GlowPipelineItem *item) {
  if (item->pass->level == GLOW_PASS_MODULE)
    return run_once(r, item, NULL);
  GlowFunctionKind kind = item->pass->level == GLOW_PASS_GRAPH ? GLOW_FUNC : GLOW_PROGRAM;
  for (GlowFunction *f = r->module->first_function, *next; f; f = next) {
    next = f->next;
    if (f->kind == kind && !run_once(r, item, f))
      return false;
  }
  return true;
}

static bool run_pass(Runner *r, const GlowPipelineItem *item) {
  const GlowPass *pass = item->pass;
  const GlowRunnerOptions *o = r->options;
  r->changes = 0;
  if (!level_occurs(r, pass))
    return false;
  for (int bit = 0; bit < GLOW_NEED_COUNT; ++bit)
    if (pass->needs >> bit & 1 && !glow_need_holds(r->module, (GlowNeedBit)bit, pass->name, true))
      return false;

  if (o->print_before_all || listed(o->print_before, pass->name))
    dump(r, pass, "before");
  Seconds since = now();
  bool ok = run_functions(r, item);
  add_time(&r->times[pass - glow_passes], since);
  if (o->pass_changes)
    o->pass_changes[pass - glow_passes] += r->changes;
  if (!ok)
    return false;
  if (o->print_after_all || listed(o->print_after, pass->name))
    dump(r, pass, "after");
  return !o->verify_each || verify(r, pass);
}

static bool run_items(Runner *r, const GlowPipelineItem *item);

static bool run_fixpoint(Runner *r, const GlowPipelineItem *item) {
  uint64_t changes = 0;
  for (int round = 0; round < MAX_FIXPOINT_ROUNDS; ++round) {
    if (!run_items(r, item->first))
      return false;
    changes += r->changes;
    if (r->changes == 0) {
      r->changes = changes;
      return true;
    }
  }
  glow_warning(r->ctx, GLOW_NOWHERE, "fixpoint: still changing after %d rounds",
               MAX_FIXPOINT_ROUNDS);
  return true;
}

/* Leaves in r->changes how many rewrites all items together made. */
static bool run_items(Runner *r, const GlowPipelineItem *item) {
  uint64_t changes = 0;
  for (; item; item = item->next) {
    if (!(item->kind == GLOW_ITEM_FIXPOINT ? run_fixpoint(r, item) : run_pass(r, item)))
      return false;
    changes += r->changes;
  }
  r->changes = changes;
  return true;
}

static bool write_side_files(Runner *r) {
  bool ok = true;
  for (GlowSideFile *f = r->side; f && ok; f = f->next) {
    GlowBytes part = {f->text.data, f->text.size};
    ok = glow_output_write(r->ctx, f->path, &part, 1);
  }
  return ok;
}

static void release_side_files(void *arg) {
  for (GlowSideFile *f = ((Runner *)arg)->side; f; f = f->next)
    glow_text_release(&f->text);
}

static void print_pipeline(const GlowPipeline *p) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, p->ctx);
  glow_defer_push(p->ctx, &release, glow_text_release_fn, &t);
  glow_pipeline_print(p, &t);
  glow_text_putc(&t, '\n');
  fwrite(t.data, 1, t.size, stderr);
  glow_defer_pop(p->ctx, &release, true);
}

GlowStatus glow_pipeline_run(GlowModule *m, const GlowPipeline *p, const GlowRunnerOptions *o) {
  GlowContext *ctx = m->ctx;
  if (!check_list(ctx, "print-before", o->print_before) ||
      !check_list(ctx, "print-after", o->print_after))
    return GLOW_BAD_USAGE;
  const GlowPipeline *resolved = glow_pipeline_resolve(p, m, o->exact);
  if (o->print_pipeline)
    print_pipeline(resolved);

  Runner r = {.module = m, .ctx = ctx, .options = o, .start = now()};
  r.times = GLOW_NEW_ARRAY(ctx->arena, PassTime, glow_npasses + 1);
  for (uint32_t i = 0; i < glow_npasses; ++i)
    r.times[i].name = glow_passes[i].name;
  r.times[glow_npasses].name = "(verifier)";

  GlowDefer release;
  glow_defer_push(ctx, &release, release_side_files, &r);
  GlowStatus status = GLOW_OK;
  if (!run_items(&r, resolved->first))
    status = r.broken ? GLOW_INTERNAL : GLOW_BAD_INPUT;
  else if (!write_side_files(&r))
    status = GLOW_IO;
  glow_defer_pop(ctx, &release, true);
  if (o->changes)
    *o->changes = r.changes;
  if (o->time_passes)
    print_times(&r);
  return status;
}
