/* The report: what partners differ in, and nodes without a partner, in the order of the first
 * function. Nodes that only the second has stand behind the partner of the node before them. */
#include <stdlib.h>

#include "diff/diff_internal.h"

typedef struct Line {
  uint64_t place;            /* 2 * index in the first function, odd for what only the second has */
  uint32_t order;            /* of equal places */
  const GlowDiffNode *a, *b; /* a node and its partner; NULL on the side that has none */
  const char *why;           /* what they differ in */
} Line;

typedef struct Report {
  GlowDiff *d;
  const GlowDiffSide *a, *b;
  GLOW_VEC(Line) lines;
} Report;

/* ---- Comparing ------------------------------------------------------------------------------- */

static const GlowDiffNode *node_of(const GlowDiffSide *s, const GlowNode *n) {
  return glow_map_get(s->by_node, n);
}

static bool same_block(const Report *r, const GlowBlock *x, const GlowBlock *y) {
  if (x->owner != y->owner || x->owner != GLOW_BLOCK_REGION)
    return x->owner == y->owner;
  const GlowDiffNode *a = node_of(r->a, x->of.node);
  return a && a->partner && a->partner->node == y->of.node && x->label == y->label;
}

static bool same_value(const Report *r, const GlowValue *x, const GlowValue *y) {
  if (!x || !y || x->kind != y->kind)
    return x == y;
  if (x->kind == GLOW_VALUE_STORAGE)
    return glow_map_get(r->d->storage, x->def.storage) == y->def.storage;
  if (x->index != y->index)
    return false;
  if (x->kind == GLOW_VALUE_PARAM)
    return same_block(r, x->def.block, y->def.block);
  const GlowDiffNode *a = node_of(r->a, x->def.node);
  return a && a->partner && a->partner->node == y->def.node;
}

static const char *operand_name(const GlowDiff *d, const GlowNode *n, uint32_t i) {
  const GlowOpDesc *desc = glow_node_desc(n);
  const GlowOpPort *port =
      i < n->nouts ? glow_op_out_port(desc, i) : glow_op_in_port(desc, i - n->nouts);
  return port ? port->name : glow_arena_printf(d->arena, "operand %u", i);
}

static const char *operand_difference(const Report *r, const GlowDiffNode *a,
                                      const GlowDiffNode *b) {
  const GlowNode *x = a->node, *y = b->node;
  if (x->noperands != y->noperands || x->nouts != y->nouts || x->nextra != y->nextra)
    return "number of operands";
  for (uint32_t i = 0; i < x->noperands; i++) {
    const char *name = operand_name(r->d, x, i);
    if (!same_value(r, x->operands[i].value, y->operands[i].value))
      return name;
    const GlowDiffNode *from = a->sources[i], *to = b->sources[i];
    if (from ? from->partner != to : to != NULL)
      return glow_arena_printf(r->d->arena, "what %s holds by then", name);
  }
  return same_value(r, x->pred.value, y->pred.value) ? NULL : "predicate";
}

static const char *member_difference(const GlowDiff *d, const GlowNode *x, const GlowNode *y) {
  const GlowOpDesc *desc = glow_node_desc(x);
  for (uint32_t i = 0; i < desc->nmembers; i++) {
    GlowOpDesc one = *desc;
    one.members = &desc->members[i];
    one.nmembers = 1;
    if (!glow_members_equal(&one, x->members, y->members))
      return glow_arena_printf(d->arena, "%s", desc->members[i].name);
  }
  return x->shards != y->shards ? "shards" : NULL;
}

static const char *region_difference(const GlowNode *x, const GlowNode *y) {
  if (x->nregions != y->nregions)
    return "number of regions";
  for (uint32_t i = 0; i < x->nregions; i++) {
    const GlowBlock *p = x->regions[i], *q = y->regions[i];
    if (!p != !q || (p && p->nparams != q->nparams))
      return "parameters of regions";
    for (uint32_t k = 0; p && k < p->nparams; k++)
      if (p->params[k]->type != q->params[k]->type)
        return "parameters of regions";
  }
  return NULL;
}

/* What partners differ in; NULL if in nothing. */
static const char *difference(const Report *r, const GlowDiffNode *a, const GlowDiffNode *b) {
  const GlowNode *x = a->node, *y = b->node;
  if (x->op != y->op)
    return "operator";
  const char *why = member_difference(r->d, x, y);
  if (!why && x->nresults != y->nresults)
    why = "number of results";
  for (uint32_t i = 0; !why && i < x->nresults; i++)
    if (x->results[i].type != y->results[i].type)
      why = "type";
  if (!why)
    why = operand_difference(r, a, b);
  return why ? why : region_difference(x, y);
}

/* ---- Storage of partners --------------------------------------------------------------------- */

/* Constants under other names that stand at the same operand of partners. */
static void pair_constants(GlowDiff *d, const GlowDiffNode *a, const GlowDiffNode *b) {
  if (a->node->op != b->node->op || a->node->noperands != b->node->noperands)
    return;
  for (uint32_t i = 0; i < a->node->noperands; i++) {
    const GlowValue *x = a->node->operands[i].value, *y = b->node->operands[i].value;
    if (!x || !y || x->kind != GLOW_VALUE_STORAGE || y->kind != GLOW_VALUE_STORAGE)
      continue;
    GlowStorage *s = x->def.storage, *t = y->def.storage;
    if (s->cls != GLOW_CONSTANT || t->cls != GLOW_CONSTANT || x->type != y->type ||
        glow_map_get(d->storage, s) || glow_map_get(d->storage, t))
      continue;
    glow_map_set(d->storage, s, t);
    glow_map_set(d->storage, t, s);
  }
}

/* ---- Printing -------------------------------------------------------------------------------- */

static int in_order(const void *x, const void *y) {
  const Line *a = x, *b = y;
  if (a->place != b->place)
    return a->place < b->place ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

static void add(Report *r, uint64_t place, const GlowDiffNode *a, const GlowDiffNode *b,
                const char *why) {
  Line line = {place, r->lines.count, a, b, why};
  glow_vec_push(r->d->arena, &r->lines, line);
}

static void print_line(GlowDiff *d, char sign, const GlowDiffNode *e, const char *why) {
  glow_text_printf(d->out, "%c  ", sign);
  for (const GlowDiffNode *up = e->home; up; up = up->home)
    glow_text_puts(d->out, "    ");
  glow_node_print(d->out, e->node);
  if (why)
    glow_text_printf(d->out, "  ; differs: %s", why);
  glow_text_putc(d->out, '\n');
}

static void collect(Report *r) {
  uint64_t place = 0;
  for (uint32_t i = 0; i < r->a->nodes.count; i++) {
    const GlowDiffNode *e = r->a->nodes.data[i];
    const char *why = e->partner ? difference(r, e, e->partner) : NULL;
    if (!e->partner || why)
      add(r, 2 * (uint64_t)i + 2, e, e->partner, why);
  }
  for (uint32_t i = 0; i < r->b->nodes.count; i++) {
    const GlowDiffNode *e = r->b->nodes.data[i];
    if (e->partner)
      place = 2 * (uint64_t)e->partner->index + 3;
    else
      add(r, place, NULL, e, NULL);
  }
}

static const char *const kinds[] = {"func", "program", "gradient"};

void glow_diff_report(GlowDiff *d, const GlowDiffSide *a, const GlowDiffSide *b) {
  Report r = {.d = d, .a = a, .b = b};
  for (uint32_t i = 0; i < a->nodes.count; i++)
    if (a->nodes.data[i]->partner)
      pair_constants(d, a->nodes.data[i], a->nodes.data[i]->partner);
  collect(&r);
  if (!r.lines.count)
    return;
  d->differ = true;
  qsort(r.lines.data, r.lines.count, sizeof *r.lines.data, in_order);
  glow_text_printf(d->out, "@@ %s @%s @@\n", kinds[a->function->kind], a->function->name);
  for (uint32_t i = 0; i < r.lines.count; i++) {
    const Line *line = &r.lines.data[i];
    if (line->a)
      print_line(d, '-', line->a, NULL);
    if (line->b)
      print_line(d, '+', line->b, line->why);
  }
}
