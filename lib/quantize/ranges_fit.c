/* Whether a file of ranges is about a function: see ranges.h. */
#include <string.h>

#include "quantize/ranges.h"

/* The value of this name outside of regions, or storage that f can name. NULL: there is none. */
static GlowValue *find(const GlowMap *results, const GlowFunction *f, GlowStr name) {
  if (*name == '@') {
    GlowContext *ctx = f->module->ctx;
    GlowStorage *s = glow_module_storage(f->module, glow_str(ctx, name + 1));
    return s ? &s->value : NULL;
  }
  return glow_map_get(results, name);
}

/* The parameters and results of f by their names. */
static GlowMap *results_of(const GlowFunction *f, GlowArena *arena) {
  GlowMap *map = glow_map_create(arena);
  for (uint32_t i = 0; i < f->body->nparams; i++)
    glow_map_set(map, f->body->params[i]->name, f->body->params[i]);
  for (GlowNode *n = f->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++)
      if (n->results[i].name)
        glow_map_set(map, n->results[i].name, &n->results[i]);
  return map;
}

/* Whether two types have one kind, and no known extent but the first one differs. */
static bool alike(const GlowType *a, const GlowType *b) {
  if (!glow_type_is_tensor(a) || !glow_type_is_tensor(b) || a->kind != b->kind)
    return false;
  if (a->unranked || b->unranked)
    return true;
  bool same = a->rank == b->rank;
  for (uint32_t i = 1; same && i < a->rank; i++) {
    bool exact = a->dims[i].kind == GLOW_DIM_EXACT && b->dims[i].kind == GLOW_DIM_EXACT;
    same = !exact || a->dims[i].size == b->dims[i].size;
  }
  return same;
}

typedef struct Fit {
  GlowFunction *function;
  const GlowMap *results;
  GlowArena *arena;
  GlowSeverity severity; /* of differences */
  bool same;             /* the ranges are of this very text; a person may have added lines */
} Fit;

static void refuse_name(const Fit *fit, const GlowRange *r) {
  GlowContext *ctx = fit->function->module->ctx;
  GlowValueList values = glow_observable_values(fit->function, fit->arena);
  const char **names = GLOW_NEW_ARRAY(fit->arena, const char *, values.count + 1);
  for (uint32_t i = 0; i < values.count; i++)
    names[i] = glow_observed_name(ctx, values.data[i]);
  const char *near = glow_nearest(r->value, names, values.count);
  glow_diag(ctx, fit->severity, r->loc, "@%s has no value '%s'%s%s%s", fit->function->name,
            r->value, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool fits(const Fit *fit, const GlowRange *r) {
  GlowModule *m = fit->function->module;
  const GlowValue *v = find(fit->results, fit->function, r->value);
  if (!v) {
    refuse_name(fit, r);
    return false;
  }
  if (!r->observed || fit->same)
    return true;
  const char *source = glow_observed_source(v);
  if (strcmp(source, r->op) != 0) {
    glow_diag(m->ctx, fit->severity, r->loc, "'%s' is computed by %s in @%s, not by %s", r->value,
              source, fit->function->name, r->op);
    return false;
  }
  const GlowType *type = glow_type_parse(m, r->loc.file, r->type);
  if (type && alike(type, v->type))
    return true;
  glow_diag(m->ctx, fit->severity, r->loc, "'%s' is %s in @%s, not %s", r->value,
            glow_type_str(m->ctx, v->type), fit->function->name, r->type);
  return false;
}

bool glow_ranges_fit(GlowRanges *r, GlowFunction *f, bool partial) {
  GlowArena *arena = glow_arena_create(f->module->ctx);
  bool same = r->text && r->text == glow_function_text_hash(f);
  Fit fit = {f, results_of(f, arena), arena, partial ? GLOW_WARNING : GLOW_ERROR, same};
  bool ok = true;
  for (uint32_t i = 0; i < r->list.count; i++) {
    if (fits(&fit, &r->list.data[i]))
      continue;
    ok = false;
    glow_map_set(r->by_value, r->list.data[i].value, NULL);
  }
  glow_arena_destroy(arena);
  return ok || partial;
}
