/* Makes a test of a fault: the module is reduced as long as the fault shows, and written with its
 * inputs and a RUN line that fails until the fault is gone. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bisect/numeric.h"
#include "bisect/record.h"
#include "driver/passes.h"
#include "reduce/reduce.h"
#include "support/file.h"

/* ---- Whether it shows ------------------------------------------------------------------------ */

typedef struct Showing {
  const GlowNumericFault *fault;
  const GlowModule *module;
  bool shows;
} Showing;

/* The value that the whole module had under this name, if its type still fits; NULL: random
 * numbers. */
static const GlowTensor *original(const GlowNumericFault *f, const GlowSession *s, GlowStr name) {
  const GlowTensor *t = glow_bindings_find(&f->bisect->session->inputs, name);
  if (!t)
    t = glow_bindings_find(&f->values, name);
  const GlowType *declared = glow_session_input_type(s, name);
  bool fits = t && declared && t->type->cls == declared->cls &&
              glow_type_fit(declared, t->type) != GLOW_FIT_CONTRADICTS;
  return fits ? t : NULL;
}

static bool add_inputs(const GlowNumericFault *f, GlowSession *s) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  bool ok = true;
  for (uint32_t i = 0; i < names.count && ok; i++) {
    GlowStr name = names.data[i];
    const GlowTensor *t = original(f, s, name);
    if (t)
      glow_vec_push(s->ctx->arena, &s->inputs, ((GlowBinding){name, glow_tensor_copy(s->ctx, t)}));
    else
      ok = glow_session_add_input(s, glow_str_printf(s->ctx, "%s=random:1", name), NULL) == GLOW_OK;
  }
  return ok;
}

GlowFaultKind glow_fault_of_pass(const GlowPassEvent *e) {
  if (!e->ok)
    return GLOW_FAULT_PASS;
  return glow_module_verify(e->module) ? GLOW_FAULT_VALUES : GLOW_FAULT_VERIFY;
}

static bool watch(void *user, const GlowPassEvent *e) {
  GlowFaultKind *kind = user;
  *kind = glow_fault_of_pass(e);
  return *kind == GLOW_FAULT_VALUES;
}

/* Runs the fault's pass on s->module, if it has one. False if the fault cannot show any more. */
static bool run_pass(const GlowNumericFault *f, GlowSession *s) {
  GlowFaultKind kind = GLOW_FAULT_VALUES;
  GlowRunnerOptions options = {.math = f->bisect->math, .observe = watch, .observer = &kind};
  if (!f->pass)
    return true;
  GlowStatus status =
      glow_pipeline_run(s->module, glow_pipeline_parse(s->ctx, &glow_passes, f->pass), &options);
  if (f->kind == GLOW_FAULT_VERIFY || f->kind == GLOW_FAULT_PASS)
    return kind == f->kind;
  return status == GLOW_OK && kind == GLOW_FAULT_VALUES;
}

/* Runs both sides, before and behind the pass, or on one backend and the other. Outputs that depend
 * on memory that nobody has written would differ with correct tools too, and prove nothing. */
static bool differs(const GlowNumericFault *f, GlowSession *s) {
  const GlowNumericBisect *b = f->bisect;
  GlowRecord want, got;
  GlowRecordOptions first = {.run = glow_interp_run, .tier = b->tier}, second = first;
  if (b->backends[0]) {
    first.run = b->backends[0]->run;
    second.run = b->backends[1]->run;
  }
  if (f->kind == GLOW_FAULT_VERIFY || f->kind == GLOW_FAULT_PASS)
    return run_pass(f, s);
  bool shows = true;
  if (s->entry->kind == GLOW_PROGRAM &&
      !glow_record_is_settled(s->module, f->entry, &s->inputs, &shows))
    return false;
  shows = glow_record_begin(&want, s->module, f->entry, &s->inputs, &first);
  shows = shows && run_pass(f, s);
  if (shows) {
    bool ran = glow_record_begin(&got, s->module, f->entry, &s->inputs, &second);
    shows = f->kind == GLOW_FAULT_RUN
                ? !ran
                : ran && !glow_outputs_agree(s->ctx, &got.outputs, &want.outputs, b, NULL);
    glow_record_end(&got);
  }
  glow_record_end(&want);
  return shows;
}

static void try_module(GlowContext *ctx, void *arg) {
  Showing *w = arg;
  GlowSession s = {.ctx = ctx, .module = glow_module_clone(w->module)};
  GlowDefer close;
  glow_defer_push(ctx, &close, glow_session_close_fn, &s);
  s.entry = glow_module_function(s.module, w->fault->entry);
  w->shows = s.entry && add_inputs(w->fault, &s) && differs(w->fault, &s);
  glow_defer_pop(ctx, &close, true);
}

bool glow_fault_shows(const GlowNumericFault *fault, const GlowModule *m) {
  Showing w = {fault, m, false};
  return glow_try_in_silence(m->ctx, try_module, &w) == GLOW_OK && w.shows;
}

typedef struct Search {
  const GlowNumericFault *fault;
  struct timespec begin;
} Search;

/* Seconds of processor time, so that other work of the machine decides nothing. */
static double seconds_since(const struct timespec *begin) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) * 1e-9;
}

static GlowVerdict interesting(void *user, const GlowCandidate *c) {
  const Search *s = user;
  double limit = s->fault->bisect->reduce_time;
  if (limit > 0 && seconds_since(&s->begin) > limit)
    return GLOW_NO_VERDICT;
  return glow_fault_shows(s->fault, c->module) ? GLOW_INTERESTING : GLOW_NOT_INTERESTING;
}

/* ---- The test -------------------------------------------------------------------------------- */

/* "dir/t.gg" and "x/0": "dir/t.x_0.npy". */
static const char *input_path(GlowContext *ctx, const char *reduced, GlowStr name,
                              const char *ext) {
  const char *dot = strrchr(glow_path_base(reduced), '.');
  size_t stem = dot ? (size_t)(dot - reduced) : strlen(reduced);
  char *path = glow_arena_printf(ctx->arena, "%.*s.%s.%s", (int)stem, reduced, name, ext);
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  for (char *c = path + stem; *c; c++)
    if (!strchr(plain, *c))
      *c = '_';
  return path;
}

static bool write_input(GlowContext *ctx, const char *path, const GlowTensor *t) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &text);
  glow_npy_write(&text, t);
  GlowBytes bytes = {text.data, text.size};
  bool ok = glow_output_write(ctx, path, &bytes, 1);
  glow_defer_pop(ctx, &release, true);
  return ok;
}

/* One word of a shell's. */
static void put_word(GlowText *out, const char *word) {
  glow_text_putc(out, '\'');
  for (const char *c = word; *c; c++)
    glow_text_puts(out, *c == '\'' ? "'\\''" : (char[]){*c, '\0'});
  glow_text_putc(out, '\'');
}

/* Writes the inputs that are files, and puts all of them into the RUN line. */
static bool put_inputs(const GlowNumericFault *f, const GlowSession *s, GlowText *out) {
  GlowContext *ctx = s->ctx;
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  for (uint32_t i = 0; i < names.count; i++) {
    const GlowTensor *t = original(f, s, names.data[i]);
    const char *source = "random:1";
    if (t && glow_npy_can_hold(t->type)) {
      const char *path = input_path(ctx, f->bisect->reduced, names.data[i], "npy");
      if (!write_input(ctx, path, t))
        return false;
      source = glow_str_printf(ctx, "%%S/%s", glow_path_base(path));
    }
    glow_text_puts(out, " --input ");
    put_word(out, glow_str_printf(ctx, "%s=%s", names.data[i], source));
  }
  return true;
}

/* What the output should be. */
static bool put_reference(const GlowNumericFault *f, const GlowSession *s, GlowText *out) {
  GlowContext *ctx = s->ctx;
  if (!f->expected.name)
    return true;
  GlowNameList outputs = {0};
  glow_session_names(s, true, &outputs);
  const char *path = input_path(ctx, f->bisect->reduced, "expected", "npy");
  if (!write_input(ctx, path, f->expected.tensor))
    return false;
  glow_text_puts(out, " --reference ");
  put_word(out, glow_str_printf(ctx, "%s=%%S/%s", outputs.data[0], glow_path_base(path)));
  return true;
}

static void put_number(GlowText *out, const char *option, double value) {
  char digits[48];
  glow_format_double(digits, value);
  glow_text_printf(out, " %s=%s", option, digits);
}

static bool put_run_line(const GlowNumericFault *f, const GlowSession *s, GlowText *out) {
  const GlowNumericBisect *b = f->bisect;
  glow_text_puts(out, "; RUN: glow-bisect %s");
  if (f->pass) {
    glow_text_puts(out, " -passes=");
    put_word(out, f->pass);
  } else if (b->backends[0]) {
    glow_text_printf(out, " --backends=%s,%s", b->backends[0]->name, b->backends[1]->name);
    if (b->tier == GLOW_TIER_LIBRARY)
      glow_text_puts(out, " --tier=library");
  } else {
    glow_text_puts(out, " -passes=lower");
  }
  if (s->module->first_function->next)
    glow_text_printf(out, " --entry=%s", f->entry);
  if (b->math != GLOW_MATH_BOUNDED)
    glow_text_puts(out, b->math == GLOW_MATH_EXACT ? " -exact" : " -fast-math");
  put_number(out, "--rtol", b->rtol);
  put_number(out, "--atol", b->atol);
  if (!put_inputs(f, s, out) || !put_reference(f, s, out))
    return false;
  glow_text_putc(out, '\n');
  return true;
}

static bool write_test(const GlowNumericFault *f, GlowModule *m) {
  GlowContext *ctx = m->ctx;
  GlowText out;
  GlowDefer release;
  GlowSession s = {.ctx = ctx, .module = m, .entry = glow_module_function(m, f->entry)};
  GlowPrintOptions options = {.relative_to = glow_path_dir(ctx, f->bisect->reduced)};
  glow_text_init(&out, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &out);
  bool ok = put_run_line(f, &s, &out);
  if (ok) {
    glow_module_print(m, &out, &options);
    GlowBytes bytes = {out.data, out.size};
    ok = glow_output_write(ctx, f->bisect->reduced, &bytes, 1);
  }
  glow_defer_pop(ctx, &release, true);
  return ok;
}

static void progress(void *user, const GlowReduceStep *step) {
  const Search *s = user;
  if (s->fault->bisect->verbose)
    fprintf(stderr, "glow-bisect: reduced by %s: %u nodes\n", step->strategy, step->size.nodes);
}

static bool count_node(GlowNode *n, void *arg) {
  bool memory = n->op == GLOW_OP_ALLOC || n->op == GLOW_OP_DEALLOC || n->op == GLOW_OP_TENSORVIEW;
  if (!memory && !n->block->scalar && !GLOW_HAS(glow_node_desc(n), TERMINATOR))
    ++*(uint32_t *)arg;
  return true;
}

/* Nodes and instructions; not those of epilogues, nor those that only name memory. */
static uint32_t count_nodes(const GlowModule *m) {
  uint32_t count = 0;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    if (f->body)
      glow_block_walk(f->body, count_node, &count);
  return count;
}

bool glow_fault_write_whole(const GlowNumericFault *fault, GlowModule *m) {
  bool ok = write_test(fault, m);
  if (ok)
    printf("reduced: %s, %u nodes\n", fault->bisect->reduced, count_nodes(m));
  glow_module_destroy(m);
  return ok;
}

bool glow_fault_write(const GlowNumericFault *fault, GlowModule **m) {
  GlowContext *ctx = (*m)->ctx;
  Search s = {.fault = fault};
  GlowReduceOptions options = {.progress = progress, .user = &s};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &s.begin);
  GlowReduceEnd end = glow_reduce(m, interesting, &s, &options);
  if (end == GLOW_REDUCE_NOT_INTERESTING) {
    glow_error(ctx, glow_loc_file(ctx, "glow-bisect"),
               "the fault does not show with this pass alone: no test was written");
    return false;
  }
  if (end == GLOW_REDUCE_STOPPED)
    glow_note(ctx, glow_loc_file(ctx, "glow-bisect"),
              "the search for a smaller test ended after %g s of the processor; --reduce-time "
              "allows more",
              fault->bisect->reduce_time);
  if (!write_test(fault, *m))
    return false;
  printf("reduced: %s, %u nodes\n", fault->bisect->reduced, count_nodes(*m));
  return true;
}
