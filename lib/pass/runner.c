/* The runner: runs a pipeline pass by pass. It checks what each pass needs, verifies the module
 * after each pass or after the last one, and calls the instruments (dumps, times, statistics, bisection) before and
 * after. A pass that fails, or leaves a module that does not verify, ends the run. */
#include <inttypes.h>
#include <stdio.h>

#include "ir/dead.h"
#include "pass/pass_internal.h"
#include "support/deadline.h"
#include "support/file.h"

enum { MAX_FIXPOINT_ROUNDS = 32 };

typedef struct Runner {
  GlowModule *module;
  GlowContext *ctx;
  const GlowPassTable *table;
  const GlowRunnerOptions *options;
  GlowSideFile *side;
  uint64_t changes;      /* rewrites of the pass, fixpoint or list of items that ran last */
  uint32_t items, calls; /* passes that ran, and calls of passes on functions */
  bool broken;           /* a pass left a module that does not verify */
  bool unwritable;       /* a file of an instrument could not be written */
  bool failed;           /* a pass returned false or reported an error */
  bool ended;            /* the observer ended the run */
  GlowDumps dumps;
  GlowTimes times;
  GlowStatistics *stats;
  GlowBisect *bisect;
} Runner;

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

/* pass NULL: the whole pipeline is to blame. */
static bool verify(Runner *r, const GlowPass *pass) {
  GlowSeconds since = glow_times_now(&r->times);
  bool ok = glow_module_verify(r->module);
  glow_times_add(&r->times, NULL, since);
  if (!ok && pass)
    glow_error(r->ctx, GLOW_NOWHERE, "pass '%s' left a module that does not verify", pass->name);
  else if (!ok)
    glow_error(r->ctx, GLOW_NOWHERE, "the passes left a module that does not verify; glow-opt, "
                                     "which verifies after each pass, tells which one");
  r->broken |= !ok;
  return ok;
}

/* A call that -bisect-limit may end early: glow_pass_changed then throws GLOW_OK. */
typedef struct LimitedCall {
  GlowPassRun *run;
  bool ok;
} LimitedCall;

static void call_pass(GlowContext *ctx, void *arg) {
  (void)ctx;
  LimitedCall *c = arg;
  c->ok = c->run->pass->run(c->run);
}

static bool call_limited(GlowPassRun *run) {
  LimitedCall c = {run, true};
  run->settled = run->module->next_id;
  GlowStatus status = glow_protect(run->ctx, call_pass, &c);
  if (status != GLOW_OK)
    glow_throw(run->ctx, status);
  /* The rewrite that did not take place may have built nodes already. */
  for (GlowFunction *f = run->module->first_function; run->stopped && f; f = f->next)
    if (f->kind == GLOW_FUNC)
      glow_remove_dead_since(f->body, run->settled);
  return c.ok;
}

/* Tells how a call ended: the observer if there is one, else stderr, by a line for -bisect-limit.
 * run NULL: the call was left out. */
static void report(Runner *r, const GlowPassCall *call, const GlowPassRun *run, bool ok) {
  if (!r->options->observe) {
    if (!r->options->bisect_quiet)
      glow_bisect_report(r->bisect, call, run);
    return;
  }
  GlowPipelineItem item = *call->item;
  item.next = NULL;
  const GlowPipeline alone = {r->ctx, r->table, &item, &item};
  GlowPassEvent event = {.module = r->module,
                         .number = call->number,
                         .pipeline = &alone,
                         .pass = item.pass,
                         .function = call->function,
                         .ran = run != NULL,
                         .ok = ok,
                         .rewrites = run ? run->changes : 0,
                         .last = run ? run->last : NULL};
  r->ended = !r->options->observe(r->options->observer, &event);
}

/* One call of the pass, with an arena of its own. */
static bool run_once(Runner *r, const GlowPipelineItem *item, GlowFunction *f) {
  const GlowPassCall call = {item, f, ++r->calls};
  uint64_t limit;
  if (!glow_bisect_allows(r->bisect, &call, &limit)) {
    report(r, &call, NULL, true);
    return !r->ended;
  }
  GlowPassRun run = {.ctx = r->ctx,
                     .module = r->module,
                     .function = f,
                     .pass = item->pass,
                     .table = r->table,
                     .math = r->options->math,
                     .arena = glow_arena_create(r->ctx),
                     .option_names = item->names,
                     .option_values = item->values,
                     .noptions = item->noptions,
                     .limit = limit,
                     .keeps_last = r->bisect || r->options->observe,
                     .side = &r->side,
                     .stats = r->stats};
  unsigned errors = glow_context_error_count(r->ctx);
  const GlowFunction *at = f ? f : r->module->first_function;
  glow_deadline_check(r->ctx, at ? at->src : GLOW_NOWHERE);
  GlowSeconds since = glow_times_now(&r->times);
  bool ok = limit == UINT64_MAX ? item->pass->run(&run) : call_limited(&run);
  glow_times_add(&r->times, &call, since);
  r->changes += run.changes;
  if (r->options->pass_changes)
    r->options->pass_changes[item->pass - r->table->passes] += run.changes;
  glow_pass_count(&run, "runs", 1);
  glow_pass_count(&run, "rewrites", (int64_t)run.changes);
  ok = ok && glow_context_error_count(r->ctx) == errors;
  report(r, &call, &run, ok);
  r->failed |= !ok;
  glow_arena_destroy(run.arena);
  return ok && !r->ended;
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

static bool check_and_run(Runner *r, const GlowPipelineItem *item) {
  const GlowPass *pass = item->pass;
  r->changes = 0;
  if (!level_occurs(r, pass))
    return false;
  for (int bit = 0; bit < GLOW_NEED_COUNT; bit++)
    if (pass->needs >> bit & 1 && !glow_need_holds(r->module, (GlowNeedBit)bit, pass->name, true))
      return false;

  uint32_t number = ++r->items;
  r->unwritable = !glow_dumps_before(&r->dumps, pass, number);
  if (r->unwritable || !run_functions(r, item))
    return false;
  r->unwritable = !glow_dumps_after(&r->dumps, pass, number);
  return !r->unwritable && (!r->options->verify_each || verify(r, pass));
}

static bool run_pass(Runner *r, const GlowPipelineItem *item) {
  r->ctx->task = glow_str_printf(r->ctx, "pass '%s'", item->pass->name);
  bool ok = check_and_run(r, item);
  r->ctx->task = NULL;
  return ok;
}

static bool run_items(Runner *r, const GlowPipelineItem *item);

static bool run_fixpoint(Runner *r, const GlowPipelineItem *item) {
  uint64_t changes = 0;
  for (int round = 0; round < MAX_FIXPOINT_ROUNDS; round++) {
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

/* ---- A whole run ----------------------------------------------------------------------------- */

static bool write_side_files(Runner *r) {
  bool ok = true;
  for (GlowSideFile *f = r->side; f && ok; f = f->next) {
    GlowBytes part = {f->text.data, f->text.size};
    ok = glow_output_write(r->ctx, f->path, &part, 1);
  }
  return ok;
}

static void release_runner(void *arg) {
  Runner *r = arg;
  for (GlowSideFile *f = r->side; f; f = f->next)
    glow_text_release(&f->text);
  glow_dumps_release(&r->dumps);
  glow_times_release(&r->times);
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

/* Shows and writes what the instruments have collected, after a failure too. */
static GlowStatus finish(Runner *r, GlowStatus status) {
  bool ok = glow_times_end(&r->times);
  ok &= glow_stats_end(r->stats, r->module);
  return status == GLOW_OK && !ok ? GLOW_IO : status;
}

static GlowStatus run_all(Runner *r, const GlowPipeline *p) {
  const GlowRunnerOptions *o = r->options;
  if (!glow_dumps_begin(&r->dumps, r->module, r->table, o) ||
      !glow_bisect_begin(r->ctx, o->bisect_limit, &r->bisect))
    return GLOW_BAD_USAGE;
  const GlowPipeline *resolved = glow_pipeline_resolve(p, r->module, o->math);
  if (o->print_pipeline)
    print_pipeline(resolved);
  r->stats = glow_stats_begin(r->module, o);
  glow_times_begin(&r->times, r->ctx, r->table, o);
  for (GlowFunction *f = r->module->first_function; f; f = f->next)
    glow_function_keep_result_names(f);
  GlowStatus status = GLOW_OK;
  if (!run_items(r, resolved->first) ||
      (o->verify_last && !o->verify_each && !r->ended && !verify(r, NULL)))
    status = r->broken                ? GLOW_INTERNAL
             : r->unwritable          ? GLOW_IO
             : r->ended && !r->failed ? GLOW_OK
                                      : GLOW_BAD_INPUT;
  else if (!write_side_files(r))
    status = GLOW_IO;
  return finish(r, status);
}

GlowStatus glow_pipeline_run(GlowModule *m, const GlowPipeline *p, const GlowRunnerOptions *o) {
  Runner r = {.module = m, .ctx = m->ctx, .table = p->table, .options = o};
  GlowDefer release;
  glow_defer_push(m->ctx, &release, release_runner, &r);
  GlowStatus status = run_all(&r, p);
  glow_defer_pop(m->ctx, &release, true);
  if (o->changes)
    *o->changes = r.changes;
  return status;
}
