/* Dumps: the text of the module round passes, whole, as a difference, or in numbered files.
 *
 * The text before a pass is the text after the previous pass, so a comparison prints the module
 * once for each pass. Names of values are part of the IR, so a difference shows what a pass did and
 * nothing else. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "pass/pass_internal.h"
#include "support/diff.h"
#include "support/file.h"

enum { DIFF_CONTEXT = 3 };

/* ---- Lists of names -------------------------------------------------------------------------- */

/* The name at *at of a list with commas; moves *at behind it. NULL at the end. */
static GlowStr next_name(GlowContext *ctx, const char **at) {
  if (!*at || !**at)
    return NULL;
  size_t length = strcspn(*at, ",");
  GlowStr name = glow_str_n(ctx, *at, length);
  *at += length + ((*at)[length] == ',');
  return name;
}

static bool listed(GlowContext *ctx, const char *list, GlowStr name) {
  for (GlowStr s; (s = next_name(ctx, &list));)
    if (s == name)
      return true;
  return false;
}

static bool unknown(GlowContext *ctx, const char *option, const char *what, GlowStr name,
                    const char *near) {
  glow_error(ctx, GLOW_NOWHERE, "-%s: unknown %s '%s'%s%s%s", option, what, name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return false;
}

static bool check_passes(GlowContext *ctx, const GlowPassTable *table, const char *option,
                         const char *list) {
  for (GlowStr name; (name = next_name(ctx, &list));)
    if (!glow_pass_find(table, name))
      return unknown(ctx, option, "pass", name, glow_pass_nearest(ctx, table, name));
  return true;
}

static bool check_functions(const GlowModule *m, const char *list) {
  for (GlowStr name; (name = next_name(m->ctx, &list));) {
    if (glow_module_function(m, name))
      continue;
    GLOW_VEC(const char *) names = {0};
    for (const GlowFunction *f = m->first_function; f; f = f->next)
      glow_vec_push(m->ctx->arena, &names, f->name);
    return unknown(m->ctx, "filter-print-funcs", "function", name,
                   glow_nearest(name, names.data, names.count));
  }
  return true;
}

static bool check_changed(GlowContext *ctx, const char *mode) {
  static const char *const modes[] = {"", "quiet", "diff", "cdiff", "diff-quiet", "cdiff-quiet"};
  enum { COUNT = sizeof modes / sizeof *modes };
  for (int i = 0; mode && i < COUNT; i++)
    if (strcmp(mode, modes[i]) == 0)
      return true;
  return !mode || unknown(ctx, "print-changed", "form", glow_str(ctx, mode),
                          glow_nearest(mode, modes + 1, COUNT - 1));
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static bool shows(const GlowFunction *f, const void *dumps) {
  const GlowDumps *d = dumps;
  return listed(d->module->ctx, d->options->print_funcs, f->name);
}

static void print_module(const GlowDumps *d, GlowText *out) {
  GlowPrintOptions options = {.no_payload = true, .user = d};
  if (d->options->print_funcs)
    options.shows = shows;
  glow_module_print(d->module, out, &options);
}

/* The functions that a pass works on, as "(@main, @f)"; nothing for module passes. */
static void put_functions(const GlowDumps *d, const GlowPass *pass, GlowText *out) {
  if (pass->level == GLOW_PASS_MODULE)
    return;
  GlowFunctionKind kind = pass->level == GLOW_PASS_GRAPH ? GLOW_FUNC : GLOW_PROGRAM;
  const char *separator = " (@";
  for (const GlowFunction *f = d->module->first_function; f; f = f->next)
    if (f->kind == kind) {
      glow_text_printf(out, "%s%s", separator, f->name);
      separator = ", @";
    }
  if (*separator == ',')
    glow_text_putc(out, ')');
}

/* DIR/0007-cse-after.gg; false after a diagnostic. */
static bool write_file(const GlowDumps *d, const char *pass, const char *when, uint32_t number,
                       const GlowText *text) {
  GlowContext *ctx = d->module->ctx;
  const char *dir = d->options->print_dir;
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
    glow_error(ctx, glow_loc_file(ctx, dir), "cannot make this folder: %s", strerror(errno));
    return false;
  }
  bool graph = glow_module_has_level(d->module, GLOW_LEVEL_GRAPH);
  GlowStr name = glow_str_printf(ctx, "%04u-%s%s%s", number, pass, when, graph ? ".gg" : ".gir");
  GlowBytes bytes = {text->data, text->size};
  return glow_output_write(ctx, glow_path_join(ctx, dir, name), &bytes, 1);
}

/* Writes `text` into a numbered file, or on stderr below a heading that says `what` ("after").
 * pass NULL: the module at the start; text NULL: the pass changed nothing. */
static bool put(const GlowDumps *d, const GlowPass *pass, const char *when, uint32_t number,
                const GlowText *text, const char *what) {
  if (d->options->print_dir)
    return write_file(d, pass ? pass->name : "input", when, number, text);
  GlowText head;
  GlowDefer release;
  glow_text_init(&head, d->module->ctx);
  glow_defer_push(d->module->ctx, &release, glow_text_release_fn, &head);
  glow_text_printf(&head, "; *** IR %s", what);
  if (pass) {
    glow_text_printf(&head, " %s", pass->name);
    put_functions(d, pass, &head);
  }
  glow_text_printf(&head, "%s ***\n", text ? "" : " omitted because no change");
  fflush(stdout);
  fwrite(head.data, 1, head.size, stderr);
  if (text)
    fwrite(text->data, 1, text->size, stderr);
  glow_defer_pop(d->module->ctx, &release, true);
  return true;
}

static bool put_module(const GlowDumps *d, const GlowPass *pass, const char *when, uint32_t number,
                       const char *what) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, d->module->ctx);
  glow_defer_push(d->module->ctx, &release, glow_text_release_fn, &text);
  print_module(d, &text);
  bool ok = put(d, pass, when, number, &text, what);
  glow_defer_pop(d->module->ctx, &release, true);
  return ok;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static bool put_change(const GlowDumps *d, const GlowPass *pass, uint32_t number,
                       const GlowText *now) {
  const char *mode = d->options->print_changed ? d->options->print_changed : "quiet";
  GlowContext *ctx = d->module->ctx;
  if (now->size == d->previous.size &&
      (now->size == 0 || memcmp(now->data, d->previous.data, now->size) == 0))
    return strstr(mode, "quiet") || d->options->print_dir ||
           put(d, pass, "", number, NULL, "after");
  if (!strstr(mode, "diff"))
    return put(d, pass, "", number, now, "after");
  GlowText diff;
  GlowDefer release;
  GlowArena *scratch = glow_arena_create(ctx);
  glow_text_init(&diff, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &diff);
  glow_diff(&diff, scratch, (GlowBytes){d->previous.data, d->previous.size},
            (GlowBytes){now->data, now->size}, DIFF_CONTEXT,
            (*mode == 'c' || glow_diag_color(ctx)) && !d->options->print_dir);
  bool ok = put(d, pass, "", number, &diff, "after");
  glow_defer_pop(ctx, &release, true);
  glow_arena_destroy(scratch);
  return ok;
}

static bool compare(GlowDumps *d, const GlowPass *pass, uint32_t number) {
  GlowText now;
  GlowDefer release;
  glow_text_init(&now, d->module->ctx);
  glow_defer_push(d->module->ctx, &release, glow_text_release_fn, &now);
  print_module(d, &now);
  bool ok = put_change(d, pass, number, &now);
  GlowText previous = d->previous; /* swapped with `now`, so that `release` frees the older text */
  d->previous = now;
  now = previous;
  glow_defer_pop(d->module->ctx, &release, true);
  return ok;
}

/* ---- What the runner calls ------------------------------------------------------------------- */

bool glow_dumps_begin(GlowDumps *d, GlowModule *m, const GlowPassTable *table,
                      const GlowRunnerOptions *o) {
  *d = (GlowDumps){.module = m, .options = o};
  glow_text_init(&d->previous, m->ctx);
  if (!check_passes(m->ctx, table, "print-before", o->print_before) ||
      !check_passes(m->ctx, table, "print-after", o->print_after) ||
      !check_changed(m->ctx, o->print_changed) || !check_functions(m, o->print_funcs))
    return false;
  bool whole = o->print_before || o->print_after || o->print_before_all || o->print_after_all;
  d->compares = o->print_changed || (o->print_dir && !whole);
  return true;
}

void glow_dumps_release(void *dumps) { glow_text_release(&((GlowDumps *)dumps)->previous); }

static bool selected(const GlowDumps *d, bool all, const char *list, const GlowPass *pass) {
  return all ||
         (list && (!*list || listed(d->module->ctx, list, glow_str(d->module->ctx, pass->name))));
}

bool glow_dumps_before(GlowDumps *d, const GlowPass *pass, uint32_t number) {
  if (d->compares && number == 1) {
    print_module(d, &d->previous);
    bool start =
        d->options->print_dir || (d->options->print_changed && !*d->options->print_changed);
    if (start && !put(d, NULL, "", 0, &d->previous, "at the start"))
      return false;
  }
  return !selected(d, d->options->print_before_all, d->options->print_before, pass) ||
         put_module(d, pass, "-before", number, "before");
}

bool glow_dumps_after(GlowDumps *d, const GlowPass *pass, uint32_t number) {
  if (selected(d, d->options->print_after_all, d->options->print_after, pass) &&
      !put_module(d, pass, "-after", number, "after"))
    return false;
  return !d->compares || compare(d, pass, number);
}
