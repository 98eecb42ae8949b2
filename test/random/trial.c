/* See trial.h. */
#include "test/random/trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "driver/passes.h"
#include "kernels/library.h"
#include "support/file.h"
#include "target/cpu/isa.h"
#include "test/random/bound.h"

enum { MOST_CHOSEN = 1000 };

typedef struct Trial {
  GlowTester *tester;
  GlowContext *ctx;
  GlowModule *module;
  /* The function that is tested, and what it computes: by the graph walker, or by the program
   * walker for texts of programs. */
  GlowStr name;
  bool runs;
  GlowBindings inputs, outputs;
} Trial;

static void note_error(void *user, const GlowDiagnostic *d) {
  GlowTester *t = user;
  if (d->severity == GLOW_ERROR && !t->error[0])
    snprintf(t->error, sizeof t->error, "%s", d->message);
}

static void print_module(const GlowModule *m) {
  GlowText text;
  glow_text_init(&text, m->ctx);
  glow_module_print(m, &text, &(GlowPrintOptions){.no_payload = true});
  printf("%s\n", glow_text_cstr(&text));
  glow_text_release(&text);
}

void glow_trial_fail(GlowTester *t, GlowSubject *s, const GlowModule *before, const char *why) {
  s->failed++;
  t->failed++;
  printf("FAILED %s, seed %llu (%s): %s%s%s\n", s->name, (unsigned long long)t->seed, t->source,
         why, t->error[0] ? ": " : "", t->error);
  printf("  again: glow-metamorphic --seed %llu --pass '%s' TEST_FOLDER\n",
         (unsigned long long)t->seed, s->name);
  print_module(before);
}

/* ---- The module ------------------------------------------------------------------------------ */

static bool called(const GlowModule *m, GlowStr name) {
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      if (n->op == GLOW_OP_CALL && ((const GlowCallMembers *)n->members)->callee == name)
        return true;
  return false;
}

/* Leaves f and what it calls, since results of programs share their names with other functions'. */
static void remove_others(GlowModule *m, const GlowFunction *keep) {
  for (bool again = true; again;) {
    again = false;
    for (GlowFunction *f = m->first_function, *next; f; f = next) {
      next = f->next;
      if (f == keep || called(m, f->name))
        continue;
      glow_function_remove(f);
      again = true;
    }
  }
}

/* The functions that nothing calls take turns: which of them is due at this visit of the text, and
 * in *turn the number of times that each had its turn. NULL if there is none. */
static GlowFunction *choose_function(GlowModule *m, uint64_t visit, uint64_t *turn) {
  GLOW_VEC(GlowFunction *) free_ones = {0};
  for (GlowFunction *f = m->first_function; f; f = f->next) {
    if (f->kind == GLOW_GRADIENT)
      return NULL;
    if (!called(m, f->name))
      glow_vec_push(m->arena, &free_ones, f);
  }
  if (!free_ones.count)
    return NULL;
  *turn = visit / free_ones.count;
  return free_ones.data[visit % free_ones.count];
}

static GlowModule *read_pattern(Trial *t, const char *path) {
  GlowInput file;
  if (!glow_input_open(t->ctx, path, false, GLOW_NOWHERE, &file))
    return NULL;
  glow_blob_hold(t->ctx, &file);
  GlowModule *m = glow_text_is_module(file.data, file.size)
                      ? glow_module_parse(t->ctx, path, file.data, file.size)
                      : NULL;
  if (!m || m->elided || !glow_module_verify(m) ||
      !glow_need_holds(m, GLOW_NEED_BIT_BOUND, "", false))
    return NULL;
  return m;
}

/* Every function stays as it is at its first turn, and at every third; a change that makes it
 * invalid is taken back. */
static GlowModule *changed_pattern(Trial *t, GlowModule *original, GlowChoice *choice) {
  const GlowTester *tester = t->tester;
  uint64_t pattern = tester->seed / 2, turn = 0;
  /* Tests of passes are in the list twice, in the first half and in the second. */
  uint64_t visit =
      pattern / tester->npatterns * 2 + (pattern % tester->npatterns > tester->npatterns / 2);
  GlowFunction *f = choose_function(original, visit, &turn);
  if (!f)
    return NULL;
  t->name = f->name;
  remove_others(original, f);
  if (f->kind != GLOW_FUNC || turn % 3 == 0)
    return original;
  GlowModule *m = glow_module_clone(original);
  return glow_random_mutate(glow_module_function(m, t->name), choice) ? m : original;
}

static GlowModule *make_module(Trial *t, GlowChoice *choice) {
  GlowTester *tester = t->tester;
  tester->source = "random";
  t->name = glow_str(t->ctx, "main");
  if (tester->seed % 2 == 0 || !tester->npatterns) {
    GlowText text;
    glow_text_init(&text, t->ctx);
    GlowModule *m = glow_random_module(t->ctx, choice, &text);
    if (!m) {
      tester->failed++;
      printf("FAILED seed %llu: the builder made what the verifier refuses: %s\n%s\n",
             (unsigned long long)tester->seed, tester->error, glow_text_cstr(&text));
    }
    glow_text_release(&text);
    if (m)
      remove_others(m, glow_module_function(m, t->name));
    return m;
  }
  tester->source = tester->patterns[tester->seed / 2 % tester->npatterns];
  GlowModule *m = read_pattern(t, tester->source);
  return m ? changed_pattern(t, m, choice) : NULL;
}

/* ---- One subject ----------------------------------------------------------------------------- */

static GlowStatus run_text(GlowModule *m, const char *text, uint64_t *changes) {
  GlowRunnerOptions options = {.verify_each = true, .math = GLOW_MATH_EXACT, .changes = changes};
  GlowPipeline *p = glow_pipeline_parse(m->ctx, &glow_passes, text);
  return p ? glow_pipeline_run(m, p, &options) : GLOW_BAD_USAGE;
}

/* What makes programs: functions that are not called any more would not be. */
static const char *to_programs(const Trial *t, const char *level) {
  return glow_str_printf(t->ctx, GLOW_INLINE_ALL ",%s,dce,dce<entry=%s>,irgen", level, t->name);
}

/* A level, down to programs. */
static const char *pipeline_text(const Trial *t, const GlowModule *m, const char *level) {
  return glow_module_has_level(m, GLOW_LEVEL_GRAPH)
             ? glow_str_printf(t->ctx, "%s,%s", to_programs(t, level), level)
             : level;
}

/* Gives values whose names are only numbers names that last: what a pass makes is numbered, too. */
static bool name_results(GlowNode *n, void *arg) {
  Trial *t = arg;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *v = &n->results[i];
    if (v->name && strspn(v->name, "0123456789") == glow_str_length(v->name))
      glow_value_set_name(v, glow_str_printf(t->ctx, "n%s", v->name));
  }
  return true;
}

/* Makes true what the pass needs, with exact passes. False if that is not possible: what cannot
 * become a program is refused by irgen. */
static bool prepare(Trial *t, GlowModule *m, const GlowPass *pass, GlowChoice *choice) {
  bool graphs = glow_module_has_level(m, GLOW_LEVEL_GRAPH);
  if (pass->level == GLOW_PASS_GRAPH && !graphs)
    return false;
  uint32_t more = glow_choose(choice, 4);
  if (pass->level == GLOW_PASS_GRAPH && more == 0 && run_text(m, "O1", NULL) != GLOW_OK)
    return false;
  if (pass->level == GLOW_PASS_PROGRAM && graphs &&
      run_text(m, to_programs(t, more & 1 ? "O1" : "O0"), NULL) != GLOW_OK)
    return false;
  if (pass->level == GLOW_PASS_PROGRAM && more & 2)
    for (int i = 0; i < 2; i++) {
      const GlowPass *other = &glow_passes.passes[glow_choose(choice, glow_passes.count)];
      if (other->level == GLOW_PASS_PROGRAM && other->cls == GLOW_PASS_EXACT && !other->needs &&
          strcmp(other->name, "plan-memory") && run_text(m, other->name, NULL) != GLOW_OK)
        return false;
    }
  if (!glow_make_needs(m, pass->needs))
    return false;
  remove_others(m, glow_module_function(m, t->name));
  GlowFunction *f = glow_module_function(m, t->name);
  glow_function_keep_result_names(f); /* outputs are called by these */
  glow_block_walk(f->body, name_results, t);
  return true;
}

static const char *compare_exact(Trial *t, const GlowModule *after) {
  GlowBindings got = {0};
  if (!t->runs)
    return NULL;
  if (!glow_module_function(after, t->name))
    return "the function is gone";
  const char *why = "it does not run any more";
  if (glow_run_copy(after, t->name, &t->inputs, &got) == GLOW_OK)
    why = glow_outputs_differ(t->ctx, &t->outputs, &got);
  glow_random_release(&got);
  return why;
}

static const char *judge(Trial *t, GlowSubject *s, GlowModule *before, GlowModule *after) {
  t->tester->error[0] = 0;
  if (!glow_module_verify_roundtrip(after))
    return "its text does not read back";
  bool bounded = s->pass && s->pass->cls == GLOW_PASS_BOUNDED;
  if (!bounded || !t->runs)
    return compare_exact(t, after);
  return glow_bound_check(before, after, t->name, &t->inputs, s->pass, &s->judged);
}

/* Returns how many rewrites there were. With a limit, the pass stops after so many: each of them
 * leaves a sound module. */
static uint64_t run_subject(Trial *t, GlowSubject *s, GlowModule *before, GlowModule *after,
                            const uint64_t *limit) {
  uint64_t changes = 0;
  t->tester->error[0] = 0;
  GlowRunnerOptions options = {.verify_each = true,
                               .math = s->pass ? GLOW_MATH_BOUNDED : GLOW_MATH_EXACT};
  options.changes = &changes;
  options.bisect_quiet = true;
  if (limit)
    options.bisect_limit = glow_str_printf(t->ctx, "1:%llu", (unsigned long long)*limit);
  const char *text = s->options ? s->options : s->pass ? s->pass->name : NULL;
  if (!s->pass)
    text = pipeline_text(t, after, s->level);
  GlowPipeline *p = glow_pipeline_parse(t->ctx, &glow_passes, text);
  GlowStatus status = p ? glow_pipeline_run(after, p, &options) : GLOW_BAD_USAGE;
  bool may_refuse = !t->runs || !s->pass || s->pass->run == glow_pass_irgen ||
                    s->pass->run == glow_pass_materialize; /* of what is never run, too */
  /* A pass that makes a value known may show that a module which does not run is wrong. */
  bool shown = status == GLOW_INTERNAL && !t->runs;
  if ((status == GLOW_BAD_INPUT && may_refuse) || shown) {
    s->skipped++;
    return 0;
  }
  if (status != GLOW_OK) {
    glow_trial_fail(t->tester, s, before, limit ? "the limited pass failed" : "the pass failed");
    return 0;
  }
  bool changed = changes || !glow_module_equal(before, after);
  if (!changed)
    return 0;
  s->modules += !limit;
  s->limited += limit != NULL;
  s->rewrites += changes;
  const char *why = judge(t, s, before, after);
  if (why)
    glow_trial_fail(t->tester, s, before, why);
  return changes;
}

static void test_subject(Trial *t, GlowSubject *s) {
  t->tester->stage = s->name;
  t->tester->before = t->module;
  GlowModule *before = glow_module_clone(t->module);
  GlowChoice choice = glow_choice_seed(t->tester->seed * 1000003);
  if (s->pass && !prepare(t, before, s->pass, &choice)) {
    s->skipped++;
  } else {
    t->tester->before = before;
    GlowModule *after = glow_module_clone(before);
    uint64_t changes = run_subject(t, s, before, after, NULL);
    glow_module_destroy(after);
    if (s->pass && changes) {
      uint64_t limit =
          glow_choose(&choice, changes < MOST_CHOSEN ? (uint32_t)changes : MOST_CHOSEN);
      after = glow_module_clone(before);
      run_subject(t, s, before, after, &limit);
      glow_module_destroy(after);
    }
  }
  glow_module_destroy(before);
}

/* ---- Machine code ---------------------------------------------------------------------------- */

static bool runs_here(const GlowIsa *isa) {
  return glow_isa_runs_here(isa) && glow_library(isa->name);
}

/* The target of a module, or any that runs here. False if its own does not. */
static bool choose_target(GlowModule *m, GlowChoice *choice) {
  const GlowIsa *rows[GLOW_ISA_COUNT];
  uint32_t count = 0;
  if (m->target) {
    const GlowIsa *isa = glow_isa_find(m->target);
    return isa && runs_here(isa);
  }
  for (size_t i = 0; i < GLOW_ISA_COUNT; i++)
    if (runs_here(&glow_isa[i]))
      rows[count++] = &glow_isa[i];
  m->target = glow_str(m->ctx, rows[glow_choose(choice, count)]->name);
  return true;
}

static const char *run_program(Trial *t, GlowSubject *s, const GlowModule *program, bool parallel) {
  GlowBindings got = {0};
  GlowRunOptions options = {.tier = s->tier, .parallel = parallel ? t->tester->parallel : NULL};
  GlowStatus status =
      glow_run_copy_by(s->backend->run, &options, program, t->name, &t->inputs, &got);
  const char *why =
      status == GLOW_OK ? glow_outputs_differ(t->ctx, &t->outputs, &got) : "it does not run";
  glow_random_release(&got);
  return why;
}

/* The program that a level makes of the module, for a machine, on one thread or several. True if it
 * runs and is right. */
static bool test_program(Trial *t, GlowSubject *s, const char *level, GlowChoice *choice) {
  GlowTester *tester = t->tester;
  GlowModule *program = glow_module_clone(t->module);
  tester->before = t->module;
  tester->error[0] = 0;
  const char *text = pipeline_text(t, program, level), *why = NULL;
  GlowStatus status =
      choose_target(program, choice) ? run_text(program, text, NULL) : GLOW_BAD_INPUT;
  tester->before = program;
  if (status == GLOW_OK)
    why = run_program(t, s, program, glow_choose(choice, 2));
  if (status == GLOW_BAD_INPUT || (why && strstr(tester->error, "cannot be compiled")))
    s->skipped++;
  else if (status != GLOW_OK)
    glow_trial_fail(tester, s, t->module, "the pipeline failed");
  else if (why)
    glow_trial_fail(tester, s, program, why);
  glow_module_destroy(program);
  return status == GLOW_OK && !why;
}

static void test_machine(Trial *t, GlowSubject *s) {
  static const char *const levels[] = {"O0", "O1", "O2"};
  GlowChoice choice = glow_choice_seed(t->tester->seed * 1000003 + 1);
  bool ran = false;
  t->tester->stage = s->name;
  for (size_t i = 0; i < sizeof levels / sizeof *levels && t->runs; i++) {
    GlowChoice of_level = glow_choice_seed(glow_choice_next(&choice));
    if (glow_once_in(&of_level, s->every) || t->tester->only)
      ran |= test_program(t, s, levels[i], &of_level);
  }
  s->modules += ran;
}

/* ---- One seed -------------------------------------------------------------------------------- */

static void test(Trial *t, GlowSubject *s) {
  if (t->tester->only && strcmp(t->tester->only, s->name))
    return;
  if (s->backend)
    test_machine(t, s);
  else
    test_subject(t, s);
}

static void run_trial(GlowContext *ctx, void *arg) {
  GlowTester *tester = arg;
  Trial t = {.tester = tester, .ctx = ctx};
  GlowChoice choice = glow_choice_seed(tester->seed);
  tester->stage = "making the module";
  t.module = make_module(&t, &choice);
  if (!t.module) {
    tester->refused++;
    return;
  }
  tester->modules++;
  tester->error[0] = 0;
  tester->stage = "round trip";
  GlowSubject text = {.name = "round trip"};
  if (!glow_module_verify_roundtrip(t.module))
    glow_trial_fail(tester, &text, t.module, "the text does not read back");
  tester->stage = "running the module";
  GlowFunction *f = glow_module_function(t.module, t.name);
  t.runs = glow_random_inputs(f, &choice, &t.inputs) &&
           glow_run_small(t.module, t.name, &t.inputs, &t.outputs) == GLOW_OK;
  if (!t.runs && tester->verbose)
    printf("seed %llu (%s) does not run: %s\n", (unsigned long long)tester->seed, tester->source,
           tester->error);
  tester->unrunnable += !t.runs;
  for (uint32_t i = 0; i < tester->nsubjects; i++)
    test(&t, &tester->subjects[i]);
  glow_random_release(&t.inputs);
  glow_random_release(&t.outputs);
}

void glow_trial(GlowTester *t) {
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    exit(1);
  t->error[0] = 0;
  t->before = NULL;
  ctx->error_limit = 0;
  glow_context_set_diagnostic_fn(ctx, note_error, t);
  GlowStatus status = glow_protect(ctx, run_trial, t);
  if (status != GLOW_OK) {
    t->failed++;
    printf("FAILED seed %llu (%s), %s: %s\n", (unsigned long long)t->seed, t->source, t->stage,
           status == GLOW_INTERNAL ? "internal error" : "out of memory");
    printf("  %s\n", t->error);
    if (status == GLOW_INTERNAL && t->before)
      print_module(t->before);
  }
  glow_context_destroy(ctx);
}
