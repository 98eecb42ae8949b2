/* Two modules: storage by name, functions by name, nodes by structure. Constants under other names
 * find each other through the nodes that use them. */
#include "diff/diff.h"

#include "backend/interp/interp.h"
#include "diff/diff_internal.h"

/* ---- Storage --------------------------------------------------------------------------------- */

static void pair_storage(GlowDiff *d, const GlowModule *a, const GlowModule *b) {
  for (GlowStorage *s = a->first_storage; s; s = s->next) {
    GlowStorage *t = glow_module_storage(b, s->value.name);
    if (!t || s->cls != t->cls ||
        (s->cls == GLOW_CONSTANT &&
         (glow_diff_is_generated(s->value.name) || s->value.type != t->value.type)))
      continue;
    glow_map_set(d->storage, s, t);
    glow_map_set(d->storage, t, s);
  }
}

/* Pairs constants that no node has brought together (initializers use them, or nothing does), in
 * order. */
static void pair_leftovers(GlowDiff *d, const GlowModule *a, const GlowModule *b) {
  GlowMap *next = glow_map_create(d->arena); /* type -> where to go on */
  for (GlowStorage *s = a->first_storage; s; s = s->next) {
    if (s->cls != GLOW_CONSTANT || glow_map_get(d->storage, s))
      continue;
    GlowStorage *t = glow_map_get(next, s->value.type);
    for (t = t ? t : b->first_storage; t; t = t->next)
      if (t->cls == GLOW_CONSTANT && t->value.type == s->value.type && !glow_map_get(d->storage, t))
        break;
    if (!t)
      continue;
    glow_map_set(next, s->value.type, t);
    glow_map_set(d->storage, s, t);
    glow_map_set(d->storage, t, s);
  }
}

static void print_storage(GlowDiff *d, char sign, const GlowStorage *s) {
  static const char *const classes[] = {"placeholder", "variable", "constant"};
  glow_text_printf(d->out, "%c  %s ", sign, classes[s->cls]);
  glow_print_name(d->out, '@', s->value.name);
  glow_text_puts(d->out, " : ");
  glow_type_print(d->out, s->value.type);
}

static void begin_declarations(GlowDiff *d, bool *begun) {
  if (!*begun)
    glow_text_puts(d->out, "@@ declare @@\n");
  *begun = d->differ = true;
}

/* Compares values bit by bit. Of numbers that differ, tells how many they are and how far they lie
 * apart. */
static void compare_values(GlowDiff *d, GlowStorage *s, GlowStorage *t, bool *begun) {
  if (s->cls == GLOW_PLACEHOLDER)
    return;
  const GlowTensor *x = glow_values_get(d->values[0], s), *y = glow_values_get(d->values[1], t);
  if (!x || !y) {
    d->ok = false;
    return;
  }
  if (glow_tensor_same_bits(x, y))
    return;
  GlowCompare c = glow_tensor_compare(d->ctx, x, y, 0, 0);
  begin_declarations(d, begun);
  print_storage(d, '!', s);
  if (c.mismatch || !c.wrong)
    glow_text_puts(d->out, "  ; values differ\n");
  else
    glow_text_printf(d->out, "  ; %lld of %lld elements differ, by at most %g\n",
                     (long long)c.wrong, (long long)c.elements, c.max_abs);
}

static void compare_declarations(GlowDiff *d, GlowModule *a, GlowModule *b) {
  bool begun = false;
  for (GlowStorage *s = a->first_storage; s && d->ok; s = s->next) {
    GlowStorage *t = glow_map_get(d->storage, s);
    if (t && s->value.type == t->value.type) {
      if (d->options->weights)
        compare_values(d, s, t, &begun);
      continue;
    }
    begin_declarations(d, &begun);
    print_storage(d, '-', s);
    glow_text_putc(d->out, '\n');
    if (t) {
      print_storage(d, '+', t);
      glow_text_putc(d->out, '\n');
    }
  }
  for (GlowStorage *t = b->first_storage; t && d->ok; t = t->next)
    if (!glow_map_get(d->storage, t)) {
      begin_declarations(d, &begun);
      print_storage(d, '+', t);
      glow_text_putc(d->out, '\n');
    }
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool same_refs(const GlowGradientRef *x, uint32_t nx, const GlowGradientRef *y,
                      uint32_t ny) {
  bool same = nx == ny;
  for (uint32_t i = 0; same && i < nx; i++)
    same = x[i].name == y[i].name && x[i].is_storage == y[i].is_storage && x[i].index == y[i].index;
  return same;
}

static bool same_head(const GlowFunction *f, const GlowFunction *g) {
  if (f->kind != g->kind || f->nresults != g->nresults || f->device != g->device ||
      f->arena != g->arena || f->align != g->align || f->inline_always != g->inline_always ||
      f->body->nparams != g->body->nparams || f->primal != g->primal || f->seedable != g->seedable ||
      f->forward != g->forward)
    return false;
  for (uint32_t i = 0; i < f->nresults; i++)
    if (f->results[i] != g->results[i])
      return false;
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->type != g->body->params[i]->type)
      return false;
  return same_refs(f->from, f->nfrom, g->from, g->nfrom) &&
         same_refs(f->wrt, f->nwrt, g->wrt, g->nwrt) &&
         same_refs(f->keeping, f->nkeeping, g->keeping, g->nkeeping);
}

static void print_head(GlowDiff *d, char sign, const GlowFunction *f) {
  glow_text_printf(d->out, "%c", sign);
  glow_function_print_head(d->out, f);
  glow_text_putc(d->out, '\n');
  d->differ = true;
}

static void compare_functions(GlowDiff *d, GlowFunction *f, GlowFunction *g) {
  if (!same_head(f, g)) {
    print_head(d, '-', f);
    print_head(d, '+', g);
  }
  if (f->kind != g->kind)
    return;
  GlowDiffSide a = glow_diff_side(d, f), b = glow_diff_side(d, g);
  glow_diff_match(d, &a, &b);
  glow_diff_report(d, &a, &b);
}

static void compare_code(GlowDiff *d, GlowModule *a, GlowModule *b) {
  for (GlowFunction *f = a->first_function; f; f = f->next) {
    GlowFunction *g = glow_module_function(b, f->name);
    if (g)
      compare_functions(d, f, g);
    else
      print_head(d, '-', f);
  }
  for (GlowFunction *g = b->first_function; g; g = g->next)
    if (!glow_module_function(a, g->name))
      print_head(d, '+', g);
}

/* The row for machines is all of a header that says what is computed, and how. */
static void compare_targets(GlowDiff *d, const GlowModule *a, const GlowModule *b) {
  if (a->target == b->target)
    return;
  d->differ = true;
  glow_text_printf(d->out, "@@ module @@\n-  target = \"%s\"\n+  target = \"%s\"\n",
                   a->target ? a->target : "", b->target ? b->target : "");
}

bool glow_module_diff(GlowModule *a, GlowModule *b, const GlowDiffOptions *options, GlowText *out,
                      bool *differ) {
  static const GlowDiffOptions plain = {0};
  GlowDiff d = {.ctx = a->ctx, .options = options ? options : &plain, .out = out, .ok = true};
  d.arena = glow_arena_create(a->ctx);
  d.storage = glow_map_create(d.arena);
  pair_storage(&d, a, b);
  compare_targets(&d, a, b);
  GlowText code; /* constants find partners there, but stand before it */
  GlowDefer release, release_values[2];
  glow_text_init(&code, a->ctx);
  glow_defer_push(a->ctx, &release, glow_text_release_fn, &code);
  for (int i = 0; i < 2; i++) {
    d.values[i] = glow_values_create(i ? b : a);
    glow_defer_push(a->ctx, &release_values[i], glow_values_destroy_fn, d.values[i]);
  }
  d.out = &code;
  compare_code(&d, a, b);
  d.out = out;
  pair_leftovers(&d, a, b);
  compare_declarations(&d, a, b);
  for (int i = 2; i-- > 0;)
    glow_defer_pop(a->ctx, &release_values[i], true);
  glow_text_bytes(out, code.data, code.size);
  glow_defer_pop(a->ctx, &release, true);
  glow_arena_destroy(d.arena);
  *differ = d.differ;
  return d.ok;
}
