/* glow_module_apply: options as on glow-opt's command line, read from one text. Every diagnostic
 * about the options has a place in that text, or in the options of one pass. */
#include <string.h>

#include "driver/passes.h"
#include "glow/module.h"
#include "support/text.h"
#include "target/target.h"

typedef struct Apply {
  GlowContext *ctx;
  GlowModule *module;
  const char *text, *at; /* all options, and what is still to be read */
  const char *word;      /* where the option began that is read now */
  GlowPipeline *passes;
  const char *pipeline, *pipeline_at; /* -passes and its place; or NULL */
  const char *pass_at;                /* where the first pass was given as an option; or NULL */
  const char *level;                  /* the -O that was given, since -irgen if that was given */
  const char *target;
  GlowMath math;
  GlowStatus status;
} Apply;

static GlowLoc place(const Apply *a, const char *at) {
  GlowLoc loc = glow_loc_file(a->ctx, "options");
  const char *start = at;
  while (start > a->text && start[-1] != '\n')
    start--;
  loc.line = 1;
  for (const char *s = a->text; s < start; s++)
    loc.line += *s == '\n';
  loc.col = (uint32_t)(at - start) + 1;
  return loc;
}

static bool is_space(char c) { return c && strchr(" \t\n\r\v\f", c); }

/* Appends the next word without its quotes. Returns what is wrong with the word, or NULL. */
static const char *take_word(Apply *a, GlowText *out) {
  char quote = 0;
  for (; *a->at && (quote || !is_space(*a->at)); a->at++) {
    char c = *a->at;
    if (quote && c == quote) {
      quote = 0;
    } else if (!quote && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (!*++a->at)
        return "a backslash at the end";
      glow_text_putc(out, *a->at);
    } else {
      glow_text_putc(out, c);
    }
  }
  return quote ? "a quote that is not closed" : NULL;
}

/* The next word, in the context. NULL at the end, or after a diagnostic, which sets the status. */
static GlowStr next_word(Apply *a) {
  while (is_space(*a->at))
    a->at++;
  a->word = a->at;
  if (!*a->at)
    return NULL;
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, a->ctx);
  glow_defer_push(a->ctx, &release, glow_text_release_fn, &text);
  const char *problem = take_word(a, &text);
  GlowStr word = problem ? NULL : glow_str_n(a->ctx, glow_text_cstr(&text), text.size);
  glow_defer_pop(a->ctx, &release, true);
  if (problem) {
    glow_error(a->ctx, place(a, a->word), "this option has %s", problem);
    a->status = GLOW_BAD_USAGE;
  }
  return word;
}

static bool take_level(Apply *a, const char *name) {
  if (a->level) {
    glow_error(a->ctx, place(a, a->word),
               "options '-%s' and '-%s': a level is given once, and once more behind -irgen",
               a->level, name);
    return false;
  }
  a->level = name;
  glow_pipeline_append(a->passes, glow_pipeline_parse(a->ctx, &glow_passes, name));
  return true;
}

static bool unknown(Apply *a, const char *name) {
  const char **names = GLOW_NEW_ARRAY(a->ctx->arena, const char *, glow_passes.count);
  for (uint32_t i = 0; i < glow_passes.count; i++)
    names[i] = glow_passes.passes[i].name;
  const char *near = glow_nearest(name, names, glow_passes.count);
  glow_error(a->ctx, place(a, a->word), "unknown option '-%s'%s%s%s", name,
             near ? "; did you mean '-" : "", near ? near : "", near ? "'?" : "");
  return false;
}

static bool take_pass(Apply *a, const char *name, const char *value) {
  const GlowPass *pass = glow_pass_find(&glow_passes, name);
  if (!pass)
    return unknown(a, name);
  if (pass->run == glow_pass_irgen)
    a->level = NULL;
  if (!a->pass_at)
    a->pass_at = a->word;
  return glow_pipeline_add(a->passes, pass, value);
}

/* -target and -passes, whose value may be the next word. */
static bool take_value(Apply *a, const char *name, const char *value, const char **target) {
  const char *word = a->word;
  if (!value && !(value = next_word(a)) && a->status == GLOW_OK)
    glow_error(a->ctx, place(a, word), "option '-%s' needs a value", name);
  a->word = word;
  *target = value;
  return value != NULL;
}

/* -exact and -fast-math, of which one may be given. */
static bool take_math(Apply *a, GlowMath math) {
  if (a->math != GLOW_MATH_BOUNDED && a->math != math) {
    glow_error(a->ctx, place(a, a->word), "-exact and -fast-math exclude each other");
    return false;
  }
  a->math = math;
  return true;
}

static bool take_option(Apply *a, GlowStr word) {
  size_t dashes = strspn(word, "-");
  if (!dashes || dashes > 2 || !word[dashes]) {
    glow_error(a->ctx, place(a, a->word), "'%s' is no option: options begin with '-'", word);
    return false;
  }
  const char *name = word + dashes, *equals = strchr(name, '=');
  const char *value = equals ? equals + 1 : NULL;
  if (equals)
    name = glow_str_n(a->ctx, name, (size_t)(equals - name));
  if (strcmp(name, "target") == 0)
    return take_value(a, name, value, &a->target) &&
           glow_target_named(a->ctx, place(a, a->word), a->target);
  if (strcmp(name, "passes") == 0) {
    a->pipeline_at = a->word;
    return take_value(a, name, value, &a->pipeline);
  }
  bool level = name[0] == 'O' && name[1] >= '0' && name[1] <= '3' && !name[2];
  bool exact = strcmp(name, "exact") == 0, fast = strcmp(name, "fast-math") == 0;
  if (!level && !exact && !fast)
    return take_pass(a, name, value);
  if (value) {
    glow_error(a->ctx, place(a, a->word), "option '-%s' takes no value", name);
    return false;
  }
  if (!level)
    return take_math(a, exact ? GLOW_MATH_EXACT : GLOW_MATH_FAST);
  if (!a->pass_at)
    a->pass_at = a->word;
  return take_level(a, strcmp(name, "O3") == 0 ? "O2" : name);
}

/* Makes one pipeline of all options; -target comes first, whatever their order. */
static bool finish_pipeline(Apply *a) {
  if (a->pipeline && a->pass_at) {
    glow_error(a->ctx, place(a, a->pass_at),
               "passes are given by -passes or as options, not both");
    return false;
  }
  if (a->pipeline)
    a->passes = glow_pipeline_parse(a->ctx, &glow_passes, a->pipeline);
  if (!a->passes || !glow_pipeline_check_math(a->passes, a->math, glow_loc_file(a->ctx, "options")))
    return false;
  if (!a->target)
    return true;
  GlowPipeline *p = glow_pipeline_create(a->ctx, &glow_passes);
  glow_pipeline_add(p, glow_pass_find(&glow_passes, "retarget"),
                    glow_arena_printf(a->ctx->arena, "to=%s", a->target));
  glow_pipeline_append(p, a->passes);
  a->passes = p;
  return true;
}

static void apply(GlowContext *ctx, void *arg) {
  Apply *a = arg;
  a->status = GLOW_OK;
  a->text = a->at = glow_str(ctx, a->text);
  glow_source_add(ctx, "options", a->text, strlen(a->text));
  a->passes = glow_pipeline_create(ctx, &glow_passes);
  GlowStr word;
  while ((word = next_word(a)))
    if (!take_option(a, word)) {
      a->status = GLOW_BAD_USAGE;
      return;
    }
  if (a->status != GLOW_OK)
    return;
  if (!finish_pipeline(a))
    a->status = GLOW_BAD_USAGE;
  else if (a->module->broken || !glow_module_verify(a->module))
    a->status = GLOW_BAD_INPUT;
  else
    a->status = glow_pipeline_run(
        a->module, a->passes, &(GlowRunnerOptions){.verify_each = true, .math = a->math});
}

GlowStatus glow_module_apply(GlowModule *module, const char *options) {
  if (!module || !options)
    return GLOW_BAD_USAGE;
  Apply a = {.ctx = module->ctx, .module = module, .text = options};
  GlowStatus thrown = glow_protect(module->ctx, apply, &a);
  return thrown == GLOW_OK ? a.status : thrown;
}
