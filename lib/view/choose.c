/* Chooses which nodes are drawn as one box. The choices, from fine to coarse: single nodes; nodes
 * with the same scope; scopes cut to ever fewer parts. Scopes come from names,
 * `/encoder/layer.0/attention/MatMul`. The finest choice counts that gives at most BUDGET boxes
 * after folding. If even the coarsest gives more, chains are drawn as one box too. Boxes hold
 * consecutive nodes, so the picture has no cycles. */
#include "analysis/buffers.h"
#include "view/view_internal.h"

enum { BUDGET = 44, MAX_PARTS = 24, CHAIN = 12 };

/* The parts of a name that lie above its last one: name[0 .. ends[i]) are the first i + 1 parts. */
typedef struct Scope {
  const char *name;
  uint32_t count;
  uint32_t ends[MAX_PARTS];
} Scope;

typedef struct Chooser {
  ViewGraph *g;
  GLOW_VEC(GlowNode *) nodes;
  Scope *scopes; /* of each node */
  char separator;
  uint32_t common; /* parts that all names begin with */
} Chooser;

GlowStr glow_view_name(const GlowNode *n) {
  const GlowValue *v = glow_node_out(n, 0);
  if (n->origin && n->origin->name)
    return n->origin->name;
  return v && v->name ? v->name : "";
}

/* Splat and its like: constants that are nodes. */
static bool is_source(const GlowNode *n) {
  return n->noperands == 0 && n->nregions == 0 && GLOW_HAS(glow_node_desc(n), PURE);
}

static bool is_drawn(const GlowNode *n) {
  return !is_source(n) && n->op != GLOW_OP_ALLOC && n->op != GLOW_OP_DEALLOC &&
         n->op != GLOW_OP_TENSORVIEW && n->op != GLOW_OP_SAVE &&
         !GLOW_HAS(glow_node_desc(n), TERMINATOR);
}

static Scope read_scope(const char *name, char separator) {
  Scope s = {.name = name};
  const char *from = name;
  for (const char *c; (c = strchr(from, separator)) && s.count < MAX_PARTS; from = c + 1)
    if (c > from)
      s.ends[s.count++] = (uint32_t)(c - name);
  return s;
}

static bool same_scope(const Scope *a, const Scope *b, uint32_t parts) {
  if (parts > a->count || parts > b->count)
    return false;
  return parts == 0 || (a->ends[parts - 1] == b->ends[parts - 1] &&
                        memcmp(a->name, b->name, a->ends[parts - 1]) == 0);
}

static void read_scopes(Chooser *c) {
  c->scopes = GLOW_NEW_ARRAY(c->g->arena, Scope, c->nodes.count + 1);
  c->separator = '.';
  for (uint32_t i = 0; i < c->nodes.count; i++)
    if (strchr(glow_view_name(c->nodes.data[i]), '/'))
      c->separator = '/';
  c->common = MAX_PARTS;
  for (uint32_t i = 0; i < c->nodes.count; i++) {
    c->scopes[i] = read_scope(glow_view_name(c->nodes.data[i]), c->separator);
    while (c->common && !same_scope(&c->scopes[0], &c->scopes[i], c->common))
      c->common--;
  }
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 29);
}

static uint64_t shape_of(const GlowNode *n, uint64_t h) {
  h = mix(mix(h, n->op), n->members ? glow_members_hash(glow_node_desc(n), n->members) : 0);
  for (uint32_t i = 0; i < n->noperands; i++)
    h = mix(h, n->operands[i].value ? n->operands[i].value->type->id : UINT32_MAX);
  for (uint32_t i = 0; i < n->nresults; i++)
    h = mix(h, n->results[i].type->id);
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      h = shape_of(k, h);
  return h;
}

/* What a box of nodes with this scope is called. */
static GlowStr title(const Chooser *c, const Scope *s, uint32_t parts) {
  uint32_t from = c->common ? s->ends[c->common - 1] + 1 : 0;
  uint32_t to = parts > c->common ? s->ends[parts - 1] : from;
  while (from < to && s->name[from] == c->separator)
    from++;
  return glow_str_n(c->g->ctx, s->name + from, to - from);
}

static void add_box(Chooser *c, uint32_t first, uint32_t count, GlowStr scope) {
  ViewBox box = {.nodes = &c->nodes.data[first], .count = count, .scope = scope};
  for (uint32_t i = 0; i < count; i++) {
    box.shape = shape_of(c->nodes.data[first + i], box.shape);
    glow_map_set(c->g->box_of, c->nodes.data[first + i],
                 (void *)(uintptr_t)(c->g->boxes.count + 1));
  }
  glow_vec_push(c->g->arena, &c->g->boxes, box);
}

/* Makes boxes of consecutive nodes that share the first `parts` parts of their scopes. A node whose
 * scope has no part beyond the common ones stays alone. */
static void group(Chooser *c, uint32_t parts) {
  c->g->boxes.count = 0;
  for (uint32_t i = 0, j; i < c->nodes.count; i = j) {
    uint32_t depth = parts < c->scopes[i].count ? parts : c->scopes[i].count;
    for (j = i + 1; j < c->nodes.count && depth > c->common; j++) {
      uint32_t other = parts < c->scopes[j].count ? parts : c->scopes[j].count;
      bool unnamed = !*c->scopes[j].name;
      if (!unnamed && (other != depth || !same_scope(&c->scopes[i], &c->scopes[j], depth)))
        break;
    }
    add_box(c, i, j - i, title(c, &c->scopes[i], depth));
  }
  glow_view_fold(c->g);
}

static void singles(Chooser *c) {
  c->g->boxes.count = 0;
  for (uint32_t i = 0; i < c->nodes.count; i++)
    add_box(c, i, 1, title(c, &c->scopes[i], c->scopes[i].count));
  glow_view_fold(c->g);
}

/* Chains are boxes in a row of which only the first takes values from elsewhere and only the last
 * gives any. For each box, `last_user` is the last box that takes a value of it, and `lowest` the
 * earliest box that it takes a value from. */
typedef struct Chains {
  ViewGraph *g;
  uint32_t *lowest, *last_user;
  uint32_t box;
} Chains;

static void see_source(void *user, uint32_t from, const GlowValue *value) {
  (void)value;
  Chains *c = user;
  if (from == GLOW_VIEW_OUTSIDE) {
    c->lowest[c->box] = 0;
    return;
  }
  c->lowest[c->box] = from < c->lowest[c->box] ? from : c->lowest[c->box];
  c->last_user[from] = c->box;
}

/* Whether a repetition begins or ends here: no chain may cross it. */
static bool begins_repetition(const ViewGraph *g, uint32_t box) {
  for (uint32_t k = 0; k < g->repeats.count; k++) {
    const ViewRepeat *r = &g->repeats.data[k];
    uint32_t end = r->first + r->period * r->times;
    if (box >= r->first && box <= end && (box - r->first) % r->period == 0)
      return true;
  }
  return false;
}

/* The end of the longest chain that begins with `first`. */
static uint32_t chain_end(const Chains *c, uint32_t first) {
  uint32_t best = first + 1, farthest = c->last_user[first];
  for (uint32_t i = first + 1; i < c->g->boxes.count && i - first < CHAIN; i++) {
    if (c->lowest[i] < first || c->lowest[i] > i || begins_repetition(c->g, i))
      break;
    if (farthest <= i) /* nothing before i is used after it */
      best = i + 1;
    farthest = c->last_user[i] > farthest ? c->last_user[i] : farthest;
  }
  return best;
}

static void join_chains(Chooser *c) {
  ViewBoxes fine = c->g->boxes;
  Chains chains = {.g = c->g};
  chains.lowest = GLOW_NEW_ARRAY(c->g->arena, uint32_t, fine.count + 1);
  chains.last_user = GLOW_NEW_ARRAY(c->g->arena, uint32_t, fine.count + 1);
  uint32_t *ends = GLOW_NEW_ARRAY(c->g->arena, uint32_t, fine.count + 1);
  memset(chains.lowest, 0xff, fine.count * sizeof *chains.lowest);
  for (chains.box = 0; chains.box < fine.count; chains.box++)
    glow_view_sources(c->g, chains.box, see_source, &chains);
  for (uint32_t i = 0; i < fine.count; i = ends[i])
    ends[i] = chain_end(&chains, i);
  c->g->boxes = (ViewBoxes){0};
  uint32_t first = 0;
  for (uint32_t i = 0; i < fine.count; i = ends[i]) {
    uint32_t count = 0;
    for (uint32_t j = i; j < ends[i]; j++)
      count += fine.data[j].count;
    add_box(c, first, count, fine.data[i].scope);
    first += count;
  }
  glow_view_fold(c->g);
}

void glow_view_choose(ViewGraph *g, GlowArena *arena, GlowFunction *f, GlowBlock *b) {
  *g = (ViewGraph){.ctx = f->module->ctx, .arena = arena, .function = f, .block = b};
  g->box_of = glow_map_create(arena);
  Chooser c = {.g = g};
  uint32_t deepest = 0;
  for (GlowNode *n = b->first; n; n = n->next)
    if (is_drawn(n))
      glow_vec_push(arena, &c.nodes, n);
  read_scopes(&c);
  for (uint32_t i = 0; i < c.nodes.count; i++)
    deepest = c.scopes[i].count > deepest ? c.scopes[i].count : deepest;
  singles(&c);
  for (uint32_t parts = deepest; parts > c.common && g->ndrawn > BUDGET; parts--)
    group(&c, parts);
  if (g->ndrawn > BUDGET)
    join_chains(&c);
}

/* ---- Where values come from ------------------------------------------------------------------ */

bool glow_view_is_constant(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE  ? v->def.storage->cls == GLOW_CONSTANT
         : v->kind == GLOW_VALUE_RESULT ? is_source(v->def.node)
                                        : false;
}

typedef struct Sources {
  ViewGraph *g;
  uint32_t box;
  ViewSourceFn *fn;
  void *user;
} Sources;

/* The box that a node is in, itself or with the node whose region it is in; GLOW_VIEW_OUTSIDE for a
 * node outside of the block that is drawn. */
static uint32_t box_number(const ViewGraph *g, const GlowNode *n) {
  while (n->block != g->block && n->block->owner == GLOW_BLOCK_REGION)
    n = n->block->of.node;
  return (uint32_t)(uintptr_t)glow_map_get(g->box_of, n) - 1;
}

/* The box of a program that last wrote `buffer` before box `box`: the latest of its writers. */
static uint32_t last_writer(const Sources *s, const GlowValue *buffer) {
  uint32_t best = GLOW_VIEW_OUTSIDE;
  for (const GlowUse *u = buffer->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    uint32_t at = GLOW_VIEW_OUTSIDE;
    if (n->op == GLOW_OP_TENSORVIEW)
      at = last_writer(s, &n->results[0]);
    else if (u->qual == GLOW_QUAL_OUT || u->qual == GLOW_QUAL_INOUT)
      at = box_number(s->g, n);
    if (at < s->box && (best == GLOW_VIEW_OUTSIDE || at > best))
      best = at;
  }
  return best;
}

static bool visit(GlowNode *n, void *arg) {
  Sources *s = arg;
  for (uint32_t i = 0; i <= n->noperands; i++) {
    GlowUse *use = i < n->noperands ? &n->operands[i] : &n->pred;
    GlowValue *v = use->value;
    if (!v || use->qual == GLOW_QUAL_OUT || glow_view_is_constant(v))
      continue;
    if (n->block->level == GLOW_LEVEL_PROGRAM && !n->block->scalar) {
      v = glow_buffer_base(v);
      bool own = v->kind == GLOW_VALUE_RESULT && box_number(s->g, v->def.node) == s->box;
      if (!own) /* a buffer of a body in this box */
        s->fn(s->user, last_writer(s, v), v);
    } else if (v->kind == GLOW_VALUE_RESULT) {
      uint32_t from = box_number(s->g, v->def.node);
      if (from != s->box)
        s->fn(s->user, from, v);
    } else if (v->kind == GLOW_VALUE_STORAGE || v->def.block == s->g->block) {
      s->fn(s->user, GLOW_VIEW_OUTSIDE, v);
    }
  }
  for (uint32_t r = 0; r < n->nregions; r++)
    if (n->regions[r] && !n->regions[r]->scalar)
      glow_block_walk(n->regions[r], visit, s);
  return true;
}

void glow_view_sources(ViewGraph *g, uint32_t box, ViewSourceFn *fn, void *user) {
  Sources s = {g, box, fn, user};
  for (uint32_t i = 0; i < g->boxes.data[box].count; i++)
    visit(g->boxes.data[box].nodes[i], &s);
}
