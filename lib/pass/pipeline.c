/* Pipelines: the parser of their text, and printing it back.
 *
 *   pipeline := item (',' item)*          item := 'fixpoint' '(' pipeline ')'
 *   options  := option (';' option)*              | pass ('<' options '>')?
 *   option   := key ('=' value)?                  | 'O0' | 'O1' | 'O2' | 'O3' (which is O2)
 *                                                 | a named pipeline
 *
 * In a value, '\' takes the next character as it is. Spaces stand anywhere between tokens. Every
 * error has a caret inside the text. */
#include <ctype.h>

#include "pass/pass_internal.h"

enum { MAX_FIXPOINT_DEPTH = 8 };

typedef struct Parser {
  GlowContext *ctx;
  const GlowPassTable *table;
  GlowStr name;
  const char *text, *at;
  char closing; /* what ends an option list: '>' inside a pipeline, NUL after -pass= */
} Parser;

GlowPipeline *glow_pipeline_create(GlowContext *ctx, const GlowPassTable *table) {
  GlowPipeline *p = GLOW_NEW(ctx->arena, GlowPipeline);
  p->ctx = ctx;
  p->table = table;
  return p;
}

static void append_item(GlowPipelineItem **first, GlowPipelineItem **last, GlowPipelineItem *item) {
  if (*last)
    (*last)->next = item;
  else
    *first = item;
  *last = item;
}

static GlowPipelineItem *new_item(GlowContext *ctx, GlowItemKind kind) {
  GlowPipelineItem *item = GLOW_NEW(ctx->arena, GlowPipelineItem);
  item->kind = kind;
  return item;
}

static GlowLoc loc_at(const Parser *p, const char *at) {
  uint32_t line = 1;
  const char *start = p->text;
  for (const char *s = p->text; s < at; s++)
    if (*s == '\n') {
      line++;
      start = s + 1;
    }
  return (GlowLoc){.file = p->name, .line = line, .col = (uint32_t)(at - start) + 1};
}

static void skip_spaces(Parser *p) {
  while (isspace((unsigned char)*p->at))
    p->at++;
}

static size_t name_length(const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '-' || s[n] == '_')
    n++;
  return n;
}

/* ---- Options --------------------------------------------------------------------------------- */

static const GlowPassOption *find_option(const GlowPass *pass, const char *key) {
  for (const GlowPassOption *o = pass->options; o->name; o++)
    if (strcmp(o->name, key) == 0 || strcmp(o->name, "*") == 0)
      return o;
  return NULL;
}

static bool unknown_option(Parser *p, const GlowPass *pass, GlowStr key, const char *at) {
  uint32_t count = 0;
  while (pass->options[count].name)
    count++;
  if (count == 0) {
    glow_error(p->ctx, loc_at(p, at), "pass '%s' has no options", pass->name);
    return false;
  }
  const char **names = GLOW_NEW_ARRAY(p->ctx->arena, const char *, count);
  for (uint32_t i = 0; i < count; i++)
    names[i] = pass->options[i].name;
  const char *near = glow_nearest(key, names, count);
  glow_error(p->ctx, loc_at(p, at), "pass '%s' has no option '%s'%s%s%s", pass->name, key,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return false;
}

/* Text up to the end of the options or one of `stop`, with '\' escapes undone. */
static GlowStr parse_escaped(Parser *p, const char *stop) {
  char *buf = glow_arena_alloc(p->ctx->arena, strlen(p->at) + 1);
  size_t n = 0;
  while (*p->at && *p->at != p->closing && !strchr(stop, *p->at)) {
    if (*p->at == '\\' && (p->at[1] || GLOW_OFF_BY_ONE))
      p->at++;
    buf[n++] = *p->at++;
  }
  return glow_str_n(p->ctx, buf, n);
}

static bool parse_option(Parser *p, GlowPipelineItem *item) {
  skip_spaces(p);
  const char *start = p->at;
  GlowStr key = parse_escaped(p, "=; \t\r\n\v\f");
  skip_spaces(p);
  if (!*key) {
    glow_error(p->ctx, loc_at(p, start), "expected an option of pass '%s'", item->pass->name);
    return false;
  }
  const GlowPassOption *o = find_option(item->pass, key);
  if (!o)
    return unknown_option(p, item->pass, key, start);
  GlowStr value = "";
  if (*p->at == '=') {
    p->at++;
    if (!o->value) {
      glow_error(p->ctx, loc_at(p, start), "option '%s' of pass '%s' takes no value", key,
                 item->pass->name);
      return false;
    }
    value = parse_escaped(p, ";");
  }
  if (o->value && !*value) {
    glow_error(p->ctx, loc_at(p, start), "option '%s' of pass '%s' needs a value: %s=%s", key,
               item->pass->name, key, o->value);
    return false;
  }
  item->names[item->noptions] = key;
  item->values[item->noptions++] = value;
  return true;
}

/* Parses up to p->closing, which stays unread. */
static bool parse_options(Parser *p, GlowPipelineItem *item) {
  size_t most = 1;
  for (const char *s = p->at; *s; s++)
    most += *s == ';';
  item->names = GLOW_NEW_ARRAY(p->ctx->arena, const char *, most);
  item->values = GLOW_NEW_ARRAY(p->ctx->arena, const char *, most);
  for (;;) {
    if (!parse_option(p, item))
      return false;
    if (*p->at != ';')
      break;
    p->at++;
  }
  if (*p->at == p->closing)
    return true;
  if (*p->at)
    glow_error(p->ctx, loc_at(p, p->at), "expected ';' between options of pass '%s'",
               item->pass->name);
  else
    glow_error(p->ctx, loc_at(p, p->at), "expected '%c' after the options of pass '%s'", p->closing,
               item->pass->name);
  return false;
}

bool glow_pipeline_add(GlowPipeline *pipeline, const GlowPass *pass, const char *options) {
  GlowPipelineItem *item = new_item(pipeline->ctx, GLOW_ITEM_PASS);
  item->pass = pass;
  if (options) {
    options = glow_str(pipeline->ctx, options);
    Parser p = {.ctx = pipeline->ctx, .text = options, .at = options};
    p.name = glow_str_printf(p.ctx, "-%s", pass->name);
    glow_source_add(p.ctx, p.name, options, strlen(options));
    if (!parse_options(&p, item))
      return false;
  }
  append_item(&pipeline->first, &pipeline->last, item);
  return true;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static bool unknown_pass(Parser *p, const char *start, size_t length) {
  GlowStr name = glow_str_n(p->ctx, start, length);
  const char *near = glow_pass_nearest(p->ctx, p->table, name);
  glow_error(p->ctx, loc_at(p, start), "unknown pass '%s'%s%s%s", name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return false;
}

static bool parse_items(Parser *p, GlowPipelineItem **first, GlowPipelineItem **last, int depth);

static bool parse_fixpoint(Parser *p, GlowPipelineItem *item, const char *start, int depth) {
  if (depth >= MAX_FIXPOINT_DEPTH) {
    glow_error(p->ctx, loc_at(p, start), "fixpoint is nested more than %d deep",
               MAX_FIXPOINT_DEPTH);
    return false;
  }
  if (*p->at != '(') {
    glow_error(p->ctx, loc_at(p, p->at), "expected '(' after fixpoint");
    return false;
  }
  const char *open = p->at++;
  if (!parse_items(p, &item->first, &item->last, depth + 1))
    return false;
  if (*p->at != ')') {
    glow_error(p->ctx, loc_at(p, p->at), "expected ',' or ')'");
    glow_note(p->ctx, loc_at(p, open), "to match this '('");
    return false;
  }
  p->at++;
  return true;
}

static const GlowNamedPipeline *find_named(const GlowPassTable *t, const char *name, size_t n) {
  for (uint32_t i = 0; i < t->nnamed; i++)
    if (strlen(t->named[i].name) == n && !memcmp(t->named[i].name, name, n))
      return &t->named[i];
  return NULL;
}

static GlowPipelineItem *parse_item(Parser *p, int depth) {
  skip_spaces(p);
  const char *start = p->at;
  size_t n = name_length(start);
  p->at += n;
  if (n == 0) {
    glow_error(p->ctx, loc_at(p, start), "expected the name of a pass");
    return NULL;
  }
  skip_spaces(p);
  if (n == 2 && start[0] == 'O' && start[1] >= '0' && start[1] <= '3') {
    GlowPipelineItem *item = new_item(p->ctx, GLOW_ITEM_LEVEL);
    item->optimization = start[1] == '3' ? 2 : start[1] - '0';
    return item;
  }
  if (n == 8 && memcmp(start, "fixpoint", n) == 0) {
    GlowPipelineItem *item = new_item(p->ctx, GLOW_ITEM_FIXPOINT);
    return parse_fixpoint(p, item, start, depth) ? item : NULL;
  }
  const GlowNamedPipeline *named = find_named(p->table, start, n);
  if (named) {
    GlowPipelineItem *item = new_item(p->ctx, GLOW_ITEM_LEVEL);
    item->named = named;
    return item;
  }
  GlowPipelineItem *item = new_item(p->ctx, GLOW_ITEM_PASS);
  item->pass = glow_pass_find(p->table, glow_str_n(p->ctx, start, n));
  if (!item->pass) {
    unknown_pass(p, start, n);
    return NULL;
  }
  if (*p->at == '<') {
    p->at++;
    if (!parse_options(p, item))
      return NULL;
    p->at++;
  }
  return item;
}

static bool parse_items(Parser *p, GlowPipelineItem **first, GlowPipelineItem **last, int depth) {
  for (;;) {
    GlowPipelineItem *item = parse_item(p, depth);
    if (!item)
      return false;
    append_item(first, last, item);
    skip_spaces(p);
    if (*p->at != ',')
      return true;
    p->at++;
  }
}

GlowPipeline *glow_pipeline_parse(GlowContext *ctx, const GlowPassTable *table, const char *text) {
  GlowPipeline *pipeline = glow_pipeline_create(ctx, table);
  text = glow_str(ctx, text); /* diagnostics quote it later */
  Parser p = {.ctx = ctx,
              .table = table,
              .name = glow_str(ctx, "-passes"),
              .text = text,
              .at = text,
              .closing = '>'};
  glow_source_add(ctx, p.name, text, strlen(text));
  skip_spaces(&p);
  if (!*p.at)
    return pipeline;
  if (!parse_items(&p, &pipeline->first, &pipeline->last, 0))
    return NULL;
  if (*p.at) {
    glow_error(ctx, loc_at(&p, p.at), "expected ',' or the end of the pipeline");
    return NULL;
  }
  return pipeline;
}

/* ---- Whole pipelines ------------------------------------------------------------------------- */

static GlowPipelineItem *copy_item(GlowContext *ctx, const GlowPipelineItem *item) {
  GlowPipelineItem *copy = glow_arena_copy(ctx->arena, item, sizeof *item);
  copy->next = NULL;
  return copy;
}

void glow_pipeline_append(GlowPipeline *p, const GlowPipeline *other) {
  for (const GlowPipelineItem *i = other->first; i; i = i->next)
    append_item(&p->first, &p->last, copy_item(p->ctx, i));
}

/* The first pass that is named and not allowed. */
static const GlowPass *find_forbidden(const GlowPipelineItem *item, GlowMath math) {
  for (; item; item = item->next) {
    const GlowPass *found = NULL;
    if (item->kind == GLOW_ITEM_FIXPOINT)
      found = find_forbidden(item->first, math);
    else if (item->kind == GLOW_ITEM_PASS && !glow_math_allows(math, item->pass->cls))
      found = item->pass;
    if (found)
      return found;
  }
  return NULL;
}

bool glow_pipeline_check_math(const GlowPipeline *p, GlowMath math, GlowLoc who) {
  const GlowPass *pass = find_forbidden(p->first, math);
  if (pass && pass->cls == GLOW_PASS_UNSAFE)
    glow_error(p->ctx, who, "pass '%s' is unsafe: it needs -fast-math", pass->name);
  else if (pass)
    glow_error(p->ctx, who, "pass '%s' may change rounding: it cannot be used with -exact",
               pass->name);
  return !pass;
}

/* Copies the items whose pass is kept; a fixpoint that becomes empty goes, too. */
static void copy_kept(GlowContext *ctx, bool (*keeps)(const GlowPass *pass, const void *user),
                      const void *user, const GlowPipelineItem *item, GlowPipelineItem **first,
                      GlowPipelineItem **last) {
  for (; item; item = item->next) {
    if (item->kind == GLOW_ITEM_PASS && !keeps(item->pass, user))
      continue;
    GlowPipelineItem *copy = copy_item(ctx, item);
    if (copy->kind == GLOW_ITEM_FIXPOINT) {
      copy->first = copy->last = NULL;
      copy_kept(ctx, keeps, user, item->first, &copy->first, &copy->last);
      if (!copy->first)
        continue;
    }
    append_item(first, last, copy);
  }
}

static bool is_other(const GlowPass *pass, const void *left_out) { return pass != left_out; }

static bool is_allowed(const GlowPass *pass, const void *math) {
  return glow_math_allows(*(const GlowMath *)math, pass->cls);
}

GlowPipeline *glow_pipeline_without(const GlowPipeline *p, const GlowPass *pass) {
  GlowPipeline *kept = glow_pipeline_create(p->ctx, p->table);
  copy_kept(p->ctx, is_other, pass, p->first, &kept->first, &kept->last);
  return kept;
}

/* The passes of a text that `math` allows. */
static GlowPipeline *parse_allowed(GlowContext *ctx, const GlowPassTable *table, const char *text,
                                   GlowMath math) {
  GlowPipeline *whole = glow_pipeline_parse(ctx, table, text);
  GLOW_CHECK(ctx, whole, "a named pipeline does not parse");
  GlowPipeline *kept = glow_pipeline_create(ctx, table);
  copy_kept(ctx, is_allowed, &math, whole->first, &kept->first, &kept->last);
  return kept;
}

GlowPipeline *glow_pipeline_default(GlowContext *ctx, const GlowPassTable *table,
                                    const char *target, GlowLevel level, int optimization,
                                    GlowMath math) {
  return parse_allowed(ctx, table, table->pipeline(ctx, target, level, optimization), math);
}

/* The module as it will be when the run reaches an item. */
typedef struct State {
  bool graph, program; /* has functions of this level */
  const char *target;
} State;

/* Changes `state` to what the module is after the pass of `item`. */
static void pass_by(const GlowPipeline *p, const GlowPipelineItem *item, State *state) {
  if (strcmp(item->pass->name, p->table->to_programs) == 0) {
    state->graph = false;
    state->program = true;
  } else if (strcmp(item->pass->name, p->table->retarget) == 0) {
    state->target = item->noptions ? item->values[0] : NULL;
  }
}

/* Appends copies of `item` and of the items behind it to the list from `first` to `last`, with O0
 * to O2 and named pipelines, which are of graphs, expanded. */
static void resolve(const GlowPipeline *p, const GlowPipelineItem *item, State *state,
                    GlowMath math, GlowPipelineItem **first, GlowPipelineItem **last) {
  for (; item; item = item->next) {
    if (item->kind == GLOW_ITEM_LEVEL) {
      for (int level = 0; level < 2; level++) {
        if (level == GLOW_LEVEL_GRAPH ? !state->graph : !state->program || item->named)
          continue;
        const GlowPipeline *meant =
            item->named ? parse_allowed(p->ctx, p->table, item->named->passes, math)
                        : glow_pipeline_default(p->ctx, p->table, state->target, (GlowLevel)level,
                                                item->optimization, math);
        for (const GlowPipelineItem *i = meant->first; i; i = i->next)
          append_item(first, last, copy_item(p->ctx, i));
      }
      continue;
    }
    GlowPipelineItem *copy = copy_item(p->ctx, item);
    if (item->kind == GLOW_ITEM_FIXPOINT) {
      copy->first = copy->last = NULL;
      resolve(p, item->first, state, math, &copy->first, &copy->last);
    } else {
      pass_by(p, item, state);
    }
    append_item(first, last, copy);
  }
}

GlowPipeline *glow_pipeline_resolve(const GlowPipeline *p, const GlowModule *m, GlowMath math) {
  GlowPipeline *out = glow_pipeline_create(p->ctx, p->table);
  State state = {glow_module_has_level(m, GLOW_LEVEL_GRAPH),
                 glow_module_has_level(m, GLOW_LEVEL_PROGRAM), m->target};
  resolve(p, p->first, &state, math, &out->first, &out->last);
  return out;
}

static void print_escaped(GlowText *out, const char *s, const char *special) {
  for (; *s; s++) {
    if (strchr(special, *s))
      glow_text_putc(out, '\\');
    glow_text_putc(out, *s);
  }
}

static void print_option(const GlowPipelineItem *item, uint32_t i, GlowText *out) {
  glow_text_putc(out, i ? ';' : '<');
  print_escaped(out, item->names[i], "\\;>= \t\r\n\v\f");
  if (!*item->values[i])
    return;
  glow_text_putc(out, '=');
  print_escaped(out, item->values[i], "\\;>");
}

static void print_items(const GlowPipelineItem *item, GlowText *out) {
  for (const GlowPipelineItem *i = item; i; i = i->next) {
    if (i != item)
      glow_text_putc(out, ',');
    if (i->kind == GLOW_ITEM_LEVEL && i->named) {
      glow_text_puts(out, i->named->name);
    } else if (i->kind == GLOW_ITEM_LEVEL) {
      glow_text_printf(out, "O%d", i->optimization);
    } else if (i->kind == GLOW_ITEM_FIXPOINT) {
      glow_text_puts(out, "fixpoint(");
      print_items(i->first, out);
      glow_text_putc(out, ')');
    } else {
      glow_text_puts(out, i->pass->name);
      for (uint32_t k = 0; k < i->noptions; k++)
        print_option(i, k, out);
      if (i->noptions)
        glow_text_putc(out, '>');
    }
  }
}

void glow_pipeline_print(const GlowPipeline *p, GlowText *out) { print_items(p->first, out); }
