/* The search over passes, then over the rewrites of one. */
#include "bisect/numeric.h"

#include <inttypes.h>
#include <stdio.h>

#include "bisect/record.h"
#include "driver/passes.h"
#include "support/file.h"

typedef struct Search {
  const GlowNumericBisect *bisect;
  GlowContext *ctx;
  GlowStr entry;
  GlowModule *before; /* the module as the last pass that was right left it */
  GlowBindings want;  /* what the outputs should be */
  GlowText report;    /* about outputs that differ */
  /* The run of a pass that is wrong; pass NULL: none is. */
  const GlowPass *pass;
  const char *text;         /* "fold-bn<k=v>" */
  GlowStr function;         /* NULL: the module */
  uint32_t number, ordinal; /* among all runs; among those of this pass since `before` */
  uint64_t rewrites;
  const char *last; /* what its last rewrite said, or NULL */
  GlowFaultKind kind;
} Search;

static GlowLoc here(const Search *s) { return glow_loc_file(s->ctx, "glow-bisect"); }

static void replace(GlowModule **m, GlowModule *by) {
  if (*m)
    glow_module_destroy(*m);
  *m = by;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

bool glow_outputs_agree(GlowContext *ctx, const GlowBindings *got, const GlowBindings *want,
                        const GlowNumericBisect *b, GlowText *report) {
  bool ok = true;
  for (uint32_t i = 0; i < want->count; i++) {
    const GlowBinding *w = &want->data[i];
    const GlowTensor *g = glow_bindings_find(got, w->name);
    if (!g) {
      ok = false;
      if (report)
        glow_text_printf(report, "%s: not written\n", w->name);
      continue;
    }
    GlowCompare c = glow_tensor_compare(ctx, g, w->tensor, b->rtol, b->atol);
    if (!c.ok && report)
      glow_compare_print(report, w->name, w->tensor, &c);
    ok &= c.ok;
  }
  return ok;
}

/* Whether m still computes what it should. */
static bool is_right(Search *s, const GlowModule *m) {
  GlowRecord r;
  s->report.size = 0;
  bool ran = glow_record_begin(&r, m, s->entry, &s->bisect->session->inputs,
                               &(GlowRecordOptions){.run = glow_interp_run});
  s->kind = ran ? GLOW_FAULT_VALUES : GLOW_FAULT_RUN;
  bool right = ran && glow_outputs_agree(s->ctx, &r.outputs, &s->want, s->bisect, &s->report);
  glow_record_end(&r);
  return right;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static const char *pass_text(Search *s, const GlowPassEvent *e) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, s->ctx);
  glow_defer_push(s->ctx, &release, glow_text_release_fn, &t);
  glow_pipeline_print(e->pipeline, &t);
  const char *text = glow_str(s->ctx, glow_text_cstr(&t));
  glow_defer_pop(s->ctx, &release, true);
  return text;
}

static void note_fault(Search *s, const GlowPassEvent *e) {
  s->pass = e->pass;
  s->text = pass_text(s, e);
  s->function = e->function ? e->function->name : NULL;
  s->number = e->number;
  s->rewrites = e->rewrites;
  s->last = e->last ? glow_str(s->ctx, e->last) : NULL;
}

/* The number of e's run among the runs of its pass on m's functions, from 1. m may have changes of
 * the earlier runs already. */
static uint32_t ordinal_of(const GlowModule *m, const GlowPassEvent *e) {
  uint32_t n = 1;
  for (const GlowFunction *f = m->first_function; f && e->function; f = f->next) {
    if (f->name == e->function->name)
      break;
    n += f->kind == e->function->kind;
  }
  return n;
}

static bool after_pass(void *user, const GlowPassEvent *e) {
  Search *s = user;
  if (!e->ran)
    return true;
  if (e->ok && !e->rewrites && glow_module_equal(s->before, e->module))
    return true;
  s->kind = glow_fault_of_pass(e);
  bool right = s->kind == GLOW_FAULT_VALUES && is_right(s, e->module);
  if (s->bisect->verbose)
    fprintf(stderr, "glow-bisect: %" PRIu32 " %s: %" PRIu64 " rewrites, %s\n", e->number,
            e->pass->name, e->rewrites, right ? "good" : "bad");
  if (right) {
    replace(&s->before, glow_module_clone(e->module));
    return true;
  }
  note_fault(s, e);
  s->ordinal = ordinal_of(s->before, e);
  return false;
}

/* ---- Rewrites -------------------------------------------------------------------------------- */

static bool take_last(void *user, const GlowPassEvent *e) {
  Search *s = user;
  if (e->number == s->ordinal)
    s->last = e->last ? glow_str(s->ctx, e->last) : NULL;
  return true;
}

/* What the first `count` rewrites of the pass make of `before`. NULL if they fail, or make what
 * does not verify. */
static GlowModule *rewritten(Search *s, uint64_t count) {
  GlowModule *m = glow_module_clone(s->before);
  const char *limit = glow_str_printf(s->ctx, "%" PRIu32 ":%" PRIu64, s->ordinal, count);
  GlowRunnerOptions options = {.verify_each = true,
                               .math = s->bisect->math,
                               .bisect_limit = limit,
                               .observe = take_last,
                               .observer = s};
  if (glow_pipeline_run(m, glow_pipeline_parse(s->ctx, &glow_passes, s->text), &options) == GLOW_OK)
    return m;
  glow_module_destroy(m);
  return NULL;
}

/* Makes *m with `count` rewrites: 1 if it is right, 0 if it is wrong, -1 if it cannot be made.
 * Diagnostics about these modules were given before, so they are silenced. */
static int try_rewrites(Search *s, uint64_t count, GlowModule **m) {
  GlowSilence silence;
  bool runs = s->kind == GLOW_FAULT_VALUES || s->kind == GLOW_FAULT_RUN;
  GlowFaultKind kind = s->kind;
  glow_silence_begin(s->ctx, &silence);
  *m = rewritten(s, count);
  int right = !*m ? -(int)runs : !runs || is_right(s, *m);
  glow_silence_end(&silence);
  s->kind = kind;
  return right;
}

/* Finds the one rewrite that makes the module wrong, and returns its number. `before` then has the
 * rewrites in front of it, *after has that rewrite, too. 0: no rewrite that the pass counts is at
 * fault. */
static uint64_t find_rewrite(Search *s, GlowModule **after) {
  uint64_t good = 0, bad = s->rewrites;
  const char *last = s->last;
  GlowModule *low = NULL;
  *after = NULL;
  if (try_rewrites(s, 0, &low) != 1 || try_rewrites(s, bad, after) != 0) {
    replace(&low, NULL);
    replace(after, NULL);
    s->last = NULL;
    return 0;
  }
  if (s->last)
    last = s->last;
  while (bad - good > 1) {
    uint64_t middle = good + (bad - good) / 2;
    GlowModule *m;
    int right = try_rewrites(s, middle, &m);
    if (right == 1) {
      good = middle;
      replace(&low, m);
    } else if (right == 0) {
      bad = middle;
      last = s->last;
      replace(after, m);
    } else {
      break;
    }
  }
  replace(&s->before, low);
  s->last = last;
  return bad;
}

/* ---- What was found -------------------------------------------------------------------------- */

static void print_text(GlowText *t) {
  fwrite(t->data, 1, t->size, stdout);
  t->size = 0;
}

static bool mends(void *user, const GlowRecordEntry *e, const GlowRecordEntry *was) {
  return glow_patch_mends(user, e, was);
}

/* Prints the first value that makes the run `after` wrong; NULL: nothing differs. After one rewrite
 * one value is to blame, but rewrites may move names between values, so the blame is tried out.
 * Otherwise many values may be to blame. */
static const GlowRecordEntry *print_first(Search *s, const GlowRecord *before,
                                          const GlowRecord *after, bool one_rewrite) {
  const GlowNumericBisect *b = s->bisect;
  GlowPatch patch = {b, s->entry, &b->session->inputs, &s->want, glow_interp_run};
  GlowRecordPair pair = {.before = before,
                         .after = after,
                         .slight = !s->pass || s->pass->cls == GLOW_PASS_EXACT,
                         .rtol = b->rtol,
                         .atol = b->atol,
                         .mends = one_rewrite ? mends : NULL,
                         .user = &patch};
  const GlowRecordEntry *was = NULL;
  const GlowRecordEntry *e = glow_record_first(&pair, &was);
  if (e)
    glow_record_print_entry(b, "node", e, was);
  else
    printf("node: none that both runs have differs\n");
  return e;
}

/* Reduces *m, which is destroyed, and writes the test. */
static bool write_reduced(const GlowNumericFault *fault, GlowModule *m) {
  bool ok = glow_fault_write(fault, &m);
  glow_module_destroy(m);
  return ok;
}

static bool write_reduced_pass(Search *s, const GlowModule *whole, GlowStr node) {
  GlowNumericFault fault = {.bisect = s->bisect, .pass = s->text, .entry = s->entry, .kind = s->kind};
  if (!s->bisect->reduced)
    return true;
  GlowModule *m = glow_fault_cut(&fault, s->before, node);
  if (!m)
    m = glow_module_clone(glow_fault_shows(&fault, s->before) ? s->before : whole);
  return write_reduced(&fault, m);
}

/* The name of the node whose value differs first, before and behind the rewrite; NULL: none. */
static GlowStr compare_runs(Search *s, const GlowModule *after, bool one_rewrite) {
  GlowRecord a, b;
  const GlowBindings *inputs = &s->bisect->session->inputs;
  GlowRecordOptions all = {.run = glow_interp_run, .values = true};
  bool ok = glow_record_begin(&a, s->before, s->entry, inputs, &all);
  ok &= glow_record_begin(&b, after, s->entry, inputs, &all);
  const GlowRecordEntry *e = ok ? print_first(s, &a, &b, one_rewrite) : NULL;
  GlowStr name = e && e->node ? e->name : NULL;
  glow_record_end(&b);
  glow_record_end(&a);
  return name;
}

static bool report_pass(Search *s, const GlowModule *wrong) {
  GlowModule *whole = glow_module_clone(s->before), *after = NULL;
  static const char *const fails[] = {[GLOW_FAULT_RUN] = "the module cannot be run behind it",
                                      [GLOW_FAULT_VERIFY] =
                                          "it leaves a module that does not verify",
                                      [GLOW_FAULT_PASS] = "it fails"};
  GlowStr node = NULL;
  printf("pass: %s%s%s, run %" PRIu32 "\n", s->text, s->function ? " on @" : "",
         s->function ? s->function : "", s->number);
  if (s->kind != GLOW_FAULT_VALUES)
    printf("outputs: none; %s\n", fails[s->kind]);
  print_text(&s->report);
  uint64_t rewrite = s->rewrites ? find_rewrite(s, &after) : 0;
  if (rewrite)
    printf("rewrite: %" PRIu64 " of %" PRIu64 "%s%s\n", rewrite, s->rewrites, s->last ? ": " : "",
           s->last ? s->last : "");
  else
    printf("rewrite: not to be narrowed; it made %" PRIu64 "\n", s->rewrites);
  if (s->kind == GLOW_FAULT_VALUES)
    node = compare_runs(s, after ? after : wrong, rewrite != 0);
  bool ok = write_reduced_pass(s, whole, node);
  replace(&after, NULL);
  glow_module_destroy(whole);
  return ok;
}

/* ---- Backends -------------------------------------------------------------------------------- */

static bool is_program(const Search *s, const GlowModule *m) {
  const GlowFunction *f = glow_module_function(m, s->entry);
  if (f && f->kind == GLOW_PROGRAM)
    return true;
  glow_error(s->ctx, here(s),
             "--backends: '@%s' is a graph behind the passes, and backends run "
             "programs; add irgen, or give -O2",
             s->entry);
  return false;
}

/* A test from the instruction that differs first, or from the whole program. */
static bool write_reduced_backends(Search *s, const GlowModule *m, const GlowRecord *first,
                                   const GlowRecordEntry *e) {
  GlowNumericFault fault = {.bisect = s->bisect, .entry = s->entry};
  if (!s->bisect->reduced)
    return true;
  GlowModule *cut = e ? glow_fault_cut_instruction(&fault, m, first, e) : NULL;
  return write_reduced(&fault, cut ? cut : glow_module_clone(m));
}

/* What the instructions of both wrote. */
static bool compare_instructions(Search *s, const GlowModule *m) {
  const GlowNumericBisect *b = s->bisect;
  GlowRecord first, second;
  GlowRecordOptions all = {.run = b->backends[0]->run, .tier = b->tier, .values = true};
  bool ok = glow_record_begin(&first, m, s->entry, &b->session->inputs, &all);
  all.run = b->backends[1]->run;
  ok &= glow_record_begin(&second, m, s->entry, &b->session->inputs, &all);
  const GlowRecordEntry *e = ok ? print_first(s, &first, &second, false) : NULL;
  ok = write_reduced_backends(s, m, &first, e);
  glow_record_end(&second);
  glow_record_end(&first);
  return ok;
}

/* Whether every run of m gives the same. False after a diagnostic. */
static bool is_settled(const Search *s, const GlowModule *m) {
  const GlowFunction *f = glow_module_function(m, s->entry);
  bool ran = true;
  if (f->kind != GLOW_PROGRAM ||
      glow_record_is_settled(m, s->entry, &s->bisect->session->inputs, &ran))
    return true;
  if (ran)
    glow_error(s->ctx, f->src, "what '@%s' gives depends on memory that no instruction has written",
               s->entry);
  return false;
}

static GlowStatus compare_backends(Search *s, bool *found) {
  const GlowNumericBisect *b = s->bisect;
  GlowModule *m = b->session->module;
  if (!is_program(s, m))
    return GLOW_BAD_USAGE;
  if (!is_settled(s, m))
    return GLOW_BAD_INPUT;
  GlowRecord first, second;
  GlowBindings *inputs = &b->session->inputs;
  bool ok = glow_record_begin(&first, m, s->entry, inputs,
                              &(GlowRecordOptions){.run = b->backends[0]->run, .tier = b->tier});
  ok &= glow_record_begin(&second, m, s->entry, inputs,
                          &(GlowRecordOptions){.run = b->backends[1]->run, .tier = b->tier});
  *found = ok && !glow_outputs_agree(s->ctx, &second.outputs, &first.outputs, b, &s->report);
  glow_record_end(&second);
  glow_record_end(&first);
  if (!ok)
    return GLOW_BAD_INPUT;
  if (!*found)
    return GLOW_OK;
  printf("backends: %s and %s\n", b->backends[0]->name, b->backends[1]->name);
  print_text(&s->report);
  return compare_instructions(s, m) ? GLOW_OK : GLOW_IO;
}

/* ---- The whole search ------------------------------------------------------------------------ */

static GlowStatus begin(Search *s, bool *found) {
  const GlowNumericBisect *b = s->bisect;
  GlowRecord r;
  if (!is_settled(s, b->session->module))
    return GLOW_BAD_INPUT;
  bool ok = glow_record_begin(&r, b->session->module, s->entry, &b->session->inputs,
                              &(GlowRecordOptions){.run = glow_interp_run});
  GlowStatus status = ok ? GLOW_OK : GLOW_BAD_INPUT;
  s->want = b->reference;
  if (ok && b->reference.count)
    *found = !glow_outputs_agree(s->ctx, &r.outputs, &b->reference, b, &s->report);
  if (ok && !b->reference.count && !r.outputs.count) {
    glow_error(s->ctx, here(s), "'@%s' has no outputs to compare", s->entry);
    status = GLOW_BAD_INPUT;
  }
  for (uint32_t i = 0; ok && !b->reference.count && i < r.outputs.count; i++) {
    GlowBinding copy = {r.outputs.data[i].name, r.outputs.data[i].tensor};
    glow_vec_push(s->ctx->arena, &s->want, copy);
    r.outputs.data[i].tensor = NULL;
  }
  glow_record_end(&r);
  if (*found && !glow_bisect_reference(b, &s->report))
    return GLOW_IO;
  return status;
}

static GlowStatus search_passes(Search *s, bool *found) {
  const GlowNumericBisect *b = s->bisect;
  GlowRunnerOptions options = {.math = b->math, .observe = after_pass, .observer = s};
  s->before = glow_module_clone(b->session->module);
  GlowStatus status = glow_pipeline_run(b->session->module, b->pipeline, &options);
  *found = s->pass != NULL;
  if (s->pass)
    return report_pass(s, b->session->module) ? GLOW_OK : GLOW_IO;
  return status;
}

static GlowStatus search(Search *s, bool *found) {
  const GlowNumericBisect *b = s->bisect;
  if (b->backends[0]) {
    GlowRunnerOptions options = {.verify_each = true, .math = b->math};
    GlowStatus status = glow_pipeline_run(b->session->module, b->pipeline, &options);
    return status == GLOW_OK ? compare_backends(s, found) : status;
  }
  GlowStatus status = begin(s, found);
  return status == GLOW_OK && !*found ? search_passes(s, found) : status;
}

static void release(void *arg) {
  Search *s = arg;
  replace(&s->before, NULL);
  glow_text_release(&s->report);
  for (uint32_t i = 0; i < s->want.count && !s->bisect->reference.count; i++)
    glow_tensor_free(s->want.data[i].tensor);
}

GlowStatus glow_bisect_numeric(const GlowNumericBisect *b, bool *found) {
  GlowContext *ctx = b->session->ctx;
  Search s = {.bisect = b, .ctx = ctx, .entry = b->session->entry->name};
  GlowDefer defer;
  *found = false;
  glow_text_init(&s.report, ctx);
  glow_defer_push(ctx, &defer, release, &s);
  GlowStatus status = search(&s, found);
  glow_defer_pop(ctx, &defer, true);
  return status;
}
