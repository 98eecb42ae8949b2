/* Binding open dimensions.
 *
 *   -bind='N=8;M=..64'            a symbol becomes an extent or a bound
 *   -bind='N=1..64 step 4'        a symbol stays, and has this range from now on
 *   -bind='M=N'                   the symbol M is the symbol N from now on, whatever that becomes
 *   -bind-input='x=1x3x48x192'    the placeholder or parameter x gets this shape: its symbols are
 *                                 bound everywhere, its unknown extents become exact; `?` for
 *                                 an extent leaves it as it is
 *
 * -bind takes names of inputs too, where no symbol has the name. Afterwards every type is inferred
 * again, so what depends on the dimensions becomes known; a claim that contradicts is an error. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct Symbol {
  GlowStr name;
  GlowDim old, dim;    /* what it was, and what replaces it */
  bool set;            /* an option said what replaces it */
  GlowStr from;        /* the input that said so, or NULL */
  struct Symbol *same; /* the symbol that it is, or NULL */
} Symbol;

typedef struct Bind {
  GlowPassRun *run;
  GlowContext *ctx;
  GLOW_VEC(Symbol) symbols; /* every symbol of the module, in order of appearance */
} Bind;

/* ---- Every type of a module ------------------------------------------------------------------ */

typedef const GlowType *TypeFn(Bind *b, const GlowType *t);

static void map_value(Bind *b, GlowValue *v, TypeFn *fn) { v->type = fn(b, v->type); }

static void map_members(Bind *b, GlowNode *n, TypeFn *fn) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    if (d->members[i].type != GLOW_MEMBER_TYPE || d->members[i].array)
      continue;
    const GlowType **t = (const GlowType **)(void *)((char *)n->members + d->members[i].offset);
    if (*t)
      *t = fn(b, *t);
  }
}

static void map_block(Bind *b, GlowBlock *block, TypeFn *fn) {
  for (uint32_t i = 0; i < block->nparams; i++)
    map_value(b, block->params[i], fn);
  for (GlowNode *n = block->first; n; n = n->next) {
    map_members(b, n, fn);
    for (uint32_t i = 0; i < n->nresults; i++)
      map_value(b, &n->results[i], fn);
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        map_block(b, n->regions[i], fn);
  }
}

static void map_module(Bind *b, TypeFn *fn) {
  GlowModule *m = b->run->module;
  for (GlowStorage *s = m->first_storage; s; s = s->next)
    map_value(b, &s->value, fn);
  for (GlowFunction *f = m->first_function; f; f = f->next) {
    map_block(b, f->body, fn);
    for (uint32_t i = 0; i < f->nresults; i++)
      f->results[i] = fn(b, f->results[i]);
  }
}

static Symbol *find_symbol(Bind *b, GlowStr name) {
  for (uint32_t i = 0; i < b->symbols.count; i++)
    if (b->symbols.data[i].name == name)
      return &b->symbols.data[i];
  return NULL;
}

static const GlowType *collect(Bind *b, const GlowType *t) {
  if (t->elem)
    collect(b, t->elem);
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].kind == GLOW_DIM_SYMBOL && !find_symbol(b, t->dims[i].symbol)) {
      Symbol s = {.name = t->dims[i].symbol, .old = t->dims[i], .dim = t->dims[i]};
      glow_vec_push(b->run->arena, &b->symbols, s);
    }
  return t;
}

static const GlowType *note_extents(Bind *b, const GlowType *t) {
  glow_module_add_extents(b->run->module, t);
  return t;
}

static const GlowType *substitute(Bind *b, const GlowType *t) {
  if (!glow_type_has_symbols(t))
    return t;
  if (t->cls == GLOW_TYPE_SEQ)
    return glow_type_seq(b->ctx, substitute(b, t->elem), t->max_count);
  if (t->cls == GLOW_TYPE_OPT)
    return glow_type_opt(b->ctx, substitute(b, t->elem));
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] =
        t->dims[i].kind == GLOW_DIM_SYMBOL ? find_symbol(b, t->dims[i].symbol)->dim : t->dims[i];
  const char *error = glow_type_check_dims(t->kind, t->rank, dims);
  if (error) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: binding %s: %s", b->run->pass->name,
               glow_type_str(b->ctx, t), error);
    return glow_type_error(b->ctx);
  }
  const GlowType *bound = glow_type_with_dims(b->ctx, t, t->rank, dims);
  return t->layout ? glow_type_with_layout(b->ctx, bound, t->layout) : bound;
}

/* ---- What to bind ---------------------------------------------------------------------------- */

/* One extent: 8 or ..64. */
static bool parse_dim(const char **at, GlowDim *dim) {
  bool bound = strncmp(*at, "..", 2) == 0;
  const char *digits = *at + (bound ? 2 : 0);
  if (!isdigit((unsigned char)*digits))
    return false;
  char *end;
  errno = 0;
  long long n = strtoll(digits, &end, 10);
  if (errno || n > GLOW_MAX_ELEMENTS)
    return false;
  *dim = bound ? GLOW_BOUND(n) : GLOW_EXACT(n);
  *at = end;
  return true;
}

/* A shape: extents, or `?`, with 'x' between them; "scalar" is rank 0. */
static bool parse_shape(const char *text, GlowDim *dims, uint32_t *rank) {
  *rank = 0;
  if (strcmp(text, "scalar") == 0)
    return true;
  for (const char *s = text; *rank < GLOW_MAX_RANK; s++) {
    if (*s == '?')
      s++, dims[*rank] = GLOW_UNKNOWN;
    else if (!parse_dim(&s, &dims[*rank]))
      return false;
    ++*rank;
    if (!*s)
      return true;
    if (*s != 'x')
      return false;
  }
  return false;
}

/* Whether all extents of `dim` are ones that `old` allows. */
static bool is_within(GlowDim dim, GlowDim old) {
  if (!old.extent || dim.kind == GLOW_DIM_EXACT)
    return glow_dim_allows(old, dim.size);
  return dim.extent && glow_dim_allows(old, dim.extent->least) &&
         glow_dim_allows(old, dim.extent->most) && dim.extent->step % old.extent->step == 0;
}

static bool bind_symbol(Bind *b, Symbol *s, GlowDim dim, GlowStr from) {
  if (!s->set && is_within(dim, s->old)) {
    s->dim = dim;
    s->set = true;
    s->from = from;
    return true;
  }
  if (s->set && glow_dim_equals(s->dim, dim))
    return true;
  glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s is %s%s%s, and cannot be %s%s%s%s", b->run->pass->name,
             s->name, glow_dim_range_str(b->ctx, s->dim), s->from ? " by the shape of " : "",
             s->from ? s->from : "", glow_dim_range_str(b->ctx, dim),
             from ? " by the shape of " : "", from ? from : "", s->set ? " too" : "");
  return false;
}

/* Notes that s is to be `other`. */
static bool tie_symbol(Bind *b, Symbol *s, Symbol *other) {
  const Symbol *end = other;
  while (end && end != s)
    end = end->same;
  if (!s->set && !end) {
    s->same = other;
    s->dim = GLOW_SYMBOL(other->name);
    s->set = true;
    return true;
  }
  if (s->same == other)
    return true;
  glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s cannot be $%s too", b->run->pass->name, s->name,
             end ? s->name : other->name);
  return false;
}

/* What tied symbols become, after all options. */
static void resolve_ties(Bind *b) {
  for (uint32_t i = 0; i < b->symbols.count; i++) {
    Symbol *s = &b->symbols.data[i];
    const Symbol *end = s;
    while (end->same)
      end = end->same;
    if (!s->same)
      continue;
    s->dim = end->dim;
    if (s->old.extent && !is_within(s->dim, s->old))
      glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s is %s, and cannot be $%s, which is %s",
                 b->run->pass->name, s->name, glow_dim_range_str(b->ctx, s->old), end->name,
                 glow_dim_range_str(b->ctx, s->dim));
  }
}

static bool shape_error(Bind *b, const GlowValue *v, GlowStr name, const char *shape) {
  glow_error(b->ctx, glow_value_loc(v), "%s: '%s' has type %s, which the shape %s does not fit",
             b->run->pass->name, name, glow_type_str(b->ctx, v->type), shape);
  return false;
}

/* Binds the symbols of v and replaces its unknown extents. */
static bool bind_value(Bind *b, GlowValue *v, GlowStr name, const char *shape) {
  GlowDim given[GLOW_MAX_RANK], dims[GLOW_MAX_RANK];
  uint32_t rank;
  const GlowType *t = v->type;
  if (!parse_shape(shape, given, &rank)) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: '%s' is not a shape such as 1x3x224x224",
               b->run->pass->name, shape);
    return false;
  }
  const char *error = glow_type_check_dims(t->kind, rank, given);
  if (error) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: shape %s of '%s': %s", b->run->pass->name, shape, name,
               error);
    return false;
  }
  if (!glow_type_is_tensor(t) || (!t->unranked && t->rank != rank))
    return shape_error(b, v, name, shape);
  for (uint32_t i = 0; i < rank; i++) {
    GlowDim old = t->unranked ? GLOW_UNKNOWN : t->dims[i];
    dims[i] = given[i].kind == GLOW_DIM_UNKNOWN ? old : given[i];
    if (given[i].kind == GLOW_DIM_UNKNOWN)
      continue;
    if (old.kind == GLOW_DIM_SYMBOL) {
      dims[i] = old;
      if (!bind_symbol(b, find_symbol(b, old.symbol), given[i], name))
        return false;
    } else if ((old.kind == GLOW_DIM_EXACT && !glow_dim_equals(old, given[i])) ||
               (old.kind == GLOW_DIM_BOUND && given[i].size > old.size)) {
      return shape_error(b, v, name, shape);
    }
  }
  v->type = glow_type_with_dims(b->ctx, t, rank, dims);
  return true;
}

/* The placeholder, or the parameter of a func, that is called `name`. */
static GlowValue *find_input(Bind *b, GlowStr name) {
  GlowModule *m = b->run->module;
  GlowStorage *s = glow_module_storage(m, name);
  if (s && s->cls == GLOW_PLACEHOLDER)
    return &s->value;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (uint32_t i = 0; f->kind == GLOW_FUNC && i < f->body->nparams; i++)
      if (f->body->params[i]->name == name)
        return f->body->params[i];
  return NULL;
}

static bool unknown_name(Bind *b, GlowStr name, bool symbols) {
  GLOW_VEC(const char *) names = {0};
  for (uint32_t i = 0; symbols && i < b->symbols.count; i++)
    glow_vec_push(b->run->arena, &names, b->symbols.data[i].name);
  for (GlowStorage *s = b->run->module->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER)
      glow_vec_push(b->run->arena, &names, s->value.name);
  const char *near = glow_nearest(name, names.data, names.count);
  glow_error(b->ctx, GLOW_NOWHERE, "%s: the module has no %s '%s'%s%s%s", b->run->pass->name,
             symbols ? "symbol or input" : "input", name, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "");
  return false;
}

/* One option NAME=VALUE. */
static bool bind_option(Bind *b, GlowStr name, const char *value, bool symbols) {
  Symbol *symbol = symbols ? find_symbol(b, name) : NULL;
  if (symbol) {
    GlowDim dim;
    const char *end = value, *error;
    const GlowExtent *e = glow_extent_parse(b->ctx, name, value, value + strlen(value), &error);
    if (e || (parse_dim(&end, &dim) && !*end))
      return bind_symbol(b, symbol, e ? glow_dim_ranged(e) : dim, NULL);
    Symbol *other = find_symbol(b, glow_str(b->ctx, *value == '$' ? value + 1 : value));
    if (other)
      return tie_symbol(b, symbol, other);
    if (error)
      glow_error(b->ctx, GLOW_NOWHERE, "%s: the range of $%s is '%s': %s", b->run->pass->name, name,
                 value, error);
    else
      glow_error(b->ctx, GLOW_NOWHERE,
                 "%s: $%s needs an extent such as 8, ..64 or 1..64, or a symbol, not '%s'",
                 b->run->pass->name, name, value);
    return false;
  }
  GlowValue *input = find_input(b, name);
  return input ? bind_value(b, input, name, value) : unknown_name(b, name, symbols);
}

static bool run_bind(GlowPassRun *run, bool symbols) {
  Bind b = {.run = run, .ctx = run->ctx};
  if (run->noptions == 0) {
    glow_error(run->ctx, GLOW_NOWHERE, "%s: nothing to bind; write -%s='%s'", run->pass->name,
               run->pass->name, symbols ? "N=8" : "x=1x3x224x224");
    return false;
  }
  unsigned errors = glow_context_error_count(run->ctx);
  map_module(&b, collect);
  for (uint32_t i = 0; i < run->noptions; i++)
    bind_option(&b, run->option_names[i], run->option_values[i], symbols);
  resolve_ties(&b);
  if (glow_context_error_count(run->ctx) != errors)
    return false;
  glow_pass_changed(run, NULL, NULL);
  map_module(&b, substitute);
  run->module->extents.count = 0;
  map_module(&b, note_extents);
  return glow_context_error_count(run->ctx) == errors && glow_reinfer_module(run->module);
}

bool glow_pass_bind(GlowPassRun *run) { return run_bind(run, true); }
bool glow_pass_bind_input(GlowPassRun *run) { return run_bind(run, false); }
