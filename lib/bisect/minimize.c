/* A fault as a test: the module is reduced for as long as the fault shows, and written with its
 * inputs and a RUN line that fails until the fault is gone. */
#include <stdio.h>
#include <string.h>

#include "bisect/numeric.h"
#include "bisect/record.h"
#include "reduce/reduce.h"
#include "support/file.h"

/* ---- Whether it shows ------------------------------------------------------------------------ */

typedef struct Showing {
  const GlowFault *fault;
  const GlowModule *module;
  bool shows;
} Showing;

/* The input that the whole module had, if it still fits; else random numbers. */
static const GlowTensor *original(const GlowFault *f, const GlowSession *s, GlowStr name) {
  const GlowTensor *t = glow_bindings_find(&f->bisect->session->inputs, name);
  const GlowType *declared = glow_session_input_type(s, name);
  bool fits = t && declared && t->type->cls == declared->cls &&
              glow_type_fit(declared, t->type) != GLOW_FIT_CONTRADICTS;
  return fits ? t : NULL;
}

static bool add_inputs(const GlowFault *f, GlowSession *s) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  bool ok = true;
  for (uint32_t i = 0; i < names.count && ok; ++i) {
    GlowStr name = names.data[i];
    const GlowTensor *t = original(f, s, name);
    if (t)
      glow_vec_push(s->ctx->arena, &s->inputs, ((GlowBinding){name, glow_tensor_copy(s->ctx, t)}));
    else
      ok = glow_session_add_input(s, glow_str_printf(s->ctx, "%s=random:1", name), NULL) == GLOW_OK;
  }
  return ok;
}

/* Runs both sides: before and behind the pass, or on one backend and the other. */
static bool differs(const GlowFault *f, GlowSession *s) {
  const GlowNumericBisect *b = f->bisect;
  GlowContext *ctx = s->ctx;
  GlowRecord want, got;
  GlowBackendFn first = b->backends[0] ? b->backends[0]->run : glow_interp_run;
  GlowBackendFn second = b->backends[0] ? b->backends[1]->run : glow_interp_run;
  GlowRunnerOptions options = {.verify_each = true, .math = b->math};
  bool shows = glow_record_begin(&want, s->module, f->entry, &s->inputs, first, false);
  if (shows && f->pass)
    shows = glow_pipeline_run(s->module, glow_pipeline_parse(ctx, f->pass), &options) == GLOW_OK;
  if (shows) {
    bool ran = glow_record_begin(&got, s->module, f->entry, &s->inputs, second, false);
    shows = f->fails ? !ran : ran && !glow_outputs_agree(ctx, &got.outputs, &want.outputs, b, NULL);
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

bool glow_fault_shows(const GlowFault *fault, const GlowModule *m) {
  GlowContext *ctx = m->ctx;
  Showing w = {fault, m, false};
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  GlowStatus status = glow_protect(ctx, try_module, &w);
  glow_silence_end(&silence);
  if (status == GLOW_NO_MEMORY)
    glow_throw(ctx, status);
  return status == GLOW_OK && w.shows;
}

static GlowVerdict interesting(void *user, const GlowCandidate *c) {
  return glow_fault_shows(user, c->module) ? GLOW_INTERESTING : GLOW_NOT_INTERESTING;
}

/* ---- The test -------------------------------------------------------------------------------- */

/* "dir/t.gg" and "x/0": "dir/t.x_0.npy". */
static const char *input_path(GlowContext *ctx, const char *reduced, GlowStr name,
                              const char *ext) {
  const char *dot = strrchr(glow_path_base(reduced), '.');
  size_t stem = dot ? (size_t)(dot - reduced) : strlen(reduced);
  char *path = glow_arena_printf(ctx->arena, "%.*s.%s.%s", (int)stem, reduced, name, ext);
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  for (char *c = path + stem; *c; ++c)
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
  for (const char *c = word; *c; ++c)
    glow_text_puts(out, *c == '\'' ? "'\\''" : (char[]){*c, '\0'});
  glow_text_putc(out, '\'');
}

/* Writes the inputs that are files, and puts all of them into the RUN line. */
static bool put_inputs(const GlowFault *f, const GlowSession *s, GlowText *out) {
  GlowContext *ctx = s->ctx;
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  for (uint32_t i = 0; i < names.count; ++i) {
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

static void put_number(GlowText *out, const char *option, double value) {
  char digits[48];
  glow_format_double(digits, value);
  glow_text_printf(out, " %s=%s", option, digits);
}

static bool put_run_line(const GlowFault *f, const GlowSession *s, GlowText *out) {
  const GlowNumericBisect *b = f->bisect;
  glow_text_puts(out, "; RUN: glow-bisect %s");
  if (f->pass) {
    glow_text_puts(out, " -passes=");
    put_word(out, f->pass);
  } else {
    glow_text_printf(out, " --backends=%s,%s", b->backends[0]->name, b->backends[1]->name);
  }
  if (s->module->first_function->next)
    glow_text_printf(out, " --entry=%s", f->entry);
  if (b->math != GLOW_MATH_BOUNDED)
    glow_text_puts(out, b->math == GLOW_MATH_EXACT ? " -exact" : " -fast-math");
  put_number(out, "--rtol", b->rtol);
  put_number(out, "--atol", b->atol);
  if (!put_inputs(f, s, out))
    return false;
  glow_text_putc(out, '\n');
  return true;
}

static bool write_test(const GlowFault *f, GlowModule *m) {
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
  const GlowFault *f = user;
  if (f->bisect->verbose)
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

bool glow_fault_write(const GlowFault *fault, GlowModule **m) {
  GlowContext *ctx = (*m)->ctx;
  GlowFault f = *fault;
  GlowReduceOptions options = {.progress = progress, .user = &f};
  if (glow_reduce(m, interesting, &f, &options) == GLOW_REDUCE_NOT_INTERESTING) {
    glow_error(ctx, glow_loc_file(ctx, "glow-bisect"),
               "the fault does not show with this pass alone: no test was written");
    return false;
  }
  if (!write_test(fault, *m))
    return false;
  printf("reduced: %s, %u nodes\n", fault->bisect->reduced, count_nodes(*m));
  return true;
}
