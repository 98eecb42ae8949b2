/* Tables of passes, and what passes call while they run. */
#include "pass/pass.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "ir/remarks.h"
#include "pass/pass_internal.h"
#include "support/deadline.h"

const GlowPass *glow_pass_find(const GlowPassTable *table, const char *name) {
  for (uint32_t i = 0; i < table->count; i++)
    if (strcmp(table->passes[i].name, name) == 0)
      return &table->passes[i];
  return NULL;
}

const char *const glow_math_names[] = {"bounded", "exact", "fast"};

bool glow_math_allows(GlowMath math, GlowPassClass cls) {
  return cls == GLOW_PASS_BOUNDED  ? math != GLOW_MATH_EXACT
         : cls == GLOW_PASS_UNSAFE ? math == GLOW_MATH_FAST
                                   : true;
}

static const char *level_name(GlowPassLevel level) {
  static const char *const names[] = {"graph", "program", "module"};
  return names[level];
}

static const char *class_name(GlowPassClass cls) {
  static const char *const names[] = {"exact", "bounded", "requested", "unsafe"};
  return names[cls];
}

static void print_pass(const GlowPass *p, GlowText *out) {
  glow_text_printf(out, "  %s\n      %s.\n      class: %s", p->name, p->doc, class_name(p->cls));
  static const char *const need_names[] = {
#define NEED(e, name, holds, hint) name,
      GLOW_NEEDS(NEED)
#undef NEED
  };
  const char *separator = "; needs: ";
  for (uint32_t i = 0; i < GLOW_NEED_COUNT; i++)
    if (p->needs >> i & 1) {
      glow_text_printf(out, "%s%s", separator, need_names[i]);
      separator = ", ";
    }
  glow_text_putc(out, '\n');
  for (const GlowPassOption *o = p->options; o->name; o++)
    glow_text_printf(out, "      %s%s%s: %s\n", strcmp(o->name, "*") == 0 ? "NAME" : o->name,
                     o->value ? "=" : "", o->value ? o->value : "", o->doc);
}

void glow_pass_table_print(const GlowPassTable *table, GlowText *out) {
  static const GlowPassLevel order[] = {GLOW_PASS_MODULE, GLOW_PASS_GRAPH, GLOW_PASS_PROGRAM};
  for (uint32_t l = 0; l < sizeof order / sizeof *order; l++) {
    glow_text_printf(out, "%s passes:\n", level_name(order[l]));
    for (uint32_t i = 0; i < table->count; i++)
      if (table->passes[i].level == order[l])
        print_pass(&table->passes[i], out);
    glow_text_putc(out, '\n');
  }
}

const char *glow_pass_nearest(GlowContext *ctx, const GlowPassTable *table, const char *name) {
  const char **names = GLOW_NEW_ARRAY(ctx->arena, const char *, table->count + table->nnamed + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < table->count; i++)
    names[n++] = table->passes[i].name;
  for (uint32_t i = 0; i < table->nnamed; i++)
    names[n++] = table->named[i].name;
  names[n++] = "fixpoint";
  return glow_nearest(name, names, n);
}

/* ---- While a pass runs ----------------------------------------------------------------------- */

const char *glow_pass_option(const GlowPassRun *run, const char *name) {
  for (uint32_t i = run->noptions; i-- > 0;)
    if (strcmp(run->option_names[i], name) == 0)
      return run->option_values[i];
  return NULL;
}

int64_t glow_pass_option_int(const GlowPassRun *run, const char *name, int64_t initial, bool *ok) {
  const char *text = glow_pass_option(run, name);
  if (!text)
    return initial;
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno) {
    glow_error(run->ctx, GLOW_NOWHERE, "option '%s' of pass '%s' needs an integer, not '%s'", name,
               run->pass->name, text);
    *ok = false;
    return initial;
  }
  return value;
}

static void remark(GlowPassRun *run, const GlowNode *n, GlowLoc loc, bool rewrite,
                   const char *format, va_list args) {
  bool keeps = rewrite && run->keeps_last;
  bool heard = glow_remarks_heard(run->ctx);
  if (!heard && !keeps)
    return;
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, run->ctx);
  glow_defer_push(run->ctx, &release, glow_text_release_fn, &t);
  glow_text_vprintf(&t, format, args);
  const char *text = glow_text_cstr(&t);
  if (keeps)
    run->last = glow_arena_copy(run->arena, text, t.size + 1);
  if (heard)
    glow_remarks_take(run->ctx,
                      &(GlowRemark){run->pass->name, rewrite, run->function, n, loc, text});
  glow_defer_pop(run->ctx, &release, true);
}

void glow_pass_check_limit(GlowPassRun *run) {
  if (run->changes < run->limit || run->in_batch)
    return;
  run->stopped = true;
  glow_throw(run->ctx, GLOW_OK); /* to the runner */
}

void glow_pass_begin_batch(GlowPassRun *run) {
  glow_pass_check_limit(run);
  run->in_batch = true;
}

void glow_pass_end_batch(GlowPassRun *run) { run->in_batch = false; }

void glow_pass_changed(GlowPassRun *run, const GlowNode *n, const char *format, ...) {
  glow_pass_check_limit(run);
  glow_deadline_check(run->ctx, n ? glow_node_loc(n) : GLOW_NOWHERE);
  run->changes++;
  run->settled = run->module->next_id;
  run->last = NULL;
  if (!format)
    return;
  va_list args;
  va_start(args, format);
  remark(run, n, n ? glow_node_loc(n) : GLOW_NOWHERE, true, format, args);
  va_end(args);
}

void glow_pass_remark(GlowPassRun *run, GlowLoc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  remark(run, NULL, loc, false, format, args);
  va_end(args);
}

void glow_pass_count(GlowPassRun *run, const char *name, int64_t amount) {
  if (run->stats)
    glow_stats_count(run->stats, run->pass->name, name, amount);
}

GlowText *glow_pass_side_file(GlowPassRun *run, const char *path) {
  GlowSideFile *f = GLOW_NEW(run->ctx->arena, GlowSideFile);
  f->path = glow_str(run->ctx, path);
  f->next = *run->side;
  *run->side = f;
  glow_text_init(&f->text, run->ctx);
  return &f->text;
}
