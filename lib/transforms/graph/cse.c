/* Common subexpressions: if two nodes are equal, the later one is removed and its users take the
 * results of the earlier one.
 *
 * Nodes are equal if operator, operands, members, predicate and result types are equal; if one has
 * optional results that the other lacks, the one that stays has them. Regions must be equal node
 * by node; names of values do not matter. Operators that write are left alone,
 * and so are Calls of functions that write. Random numbers come from a state operand, so equal
 * nodes draw equal numbers.
 *
 * A node is compared with nodes before it in its block and in the blocks around it, never with
 * nodes of other regions: entries of a region leave the table when the region ends. Before all
 * that, constants with the same type and value become one, up to limit=BYTES of data (65536);
 * `eval` constants are compared by their text. Constants that a gradient names stay. */
#include "transforms/rules.h"

enum { DEFAULT_LIMIT = 65536 };

typedef struct Entry {
  uint64_t hash;
  void *item; /* GlowNode or GlowStorage */
  struct Entry *next;
} Entry;

typedef struct Table {
  GlowArena *arena;
  Entry **buckets;
  uint32_t mask;
  GLOW_VEC(Entry *) entries; /* in order: a scope is a suffix */
} Table;

typedef struct Cse {
  GlowPassRun *run;
  Table table;
} Cse;

/* ---- Hashes ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}

static void table_init(Table *t, GlowArena *arena, uint32_t expected) {
  uint32_t size = 64;
  while (size < expected && size < 1u << 30)
    size *= 2;
  *t = (Table){.arena = arena, .mask = size - 1};
  t->buckets = GLOW_NEW_ARRAY(arena, Entry *, size);
}

static void table_add(Table *t, uint64_t hash, void *item) {
  Entry *e = GLOW_NEW(t->arena, Entry), **bucket = &t->buckets[hash & t->mask];
  *e = (Entry){hash, item, *bucket};
  *bucket = e;
  glow_vec_push(t->arena, &t->entries, e);
}

/* Removes the entries from number `count` on, the newest first: so the entry to remove is always
 * the head of its bucket. */
static void table_leave(Table *t, uint32_t count) {
  while (t->entries.count > count) {
    Entry *e = t->entries.data[--t->entries.count];
    t->buckets[e->hash & t->mask] = e->next;
  }
}

/* Hashes the nodes of a block. Of their operands only values from outside count: the ids of values
 * that the block defines differ between equal blocks. */
static uint64_t hash_block(uint64_t h, const GlowBlock *b) {
  h = mix(h, b->nparams);
  for (const GlowNode *n = b->first; n; n = n->next) {
    h = mix(h, n->op);
    h = mix(h, n->noperands);
    if (n->members)
      h = mix(h, glow_members_hash(glow_node_desc(n), n->members));
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        h = hash_block(h, n->regions[i]);
  }
  return h;
}

static uint64_t hash_node(const GlowNode *n) {
  uint64_t h = mix(n->op, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++)
    h = mix(h, n->operands[i].value ? n->operands[i].value->id : UINT32_MAX);
  h = mix(h, n->pred.value ? n->pred.value->id : UINT32_MAX);
  if (n->nresults) /* others may be missing */
    h = mix(h, n->results[0].type->id);
  if (n->members)
    h = mix(h, glow_members_hash(glow_node_desc(n), n->members));
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i])
      h = hash_block(h, n->regions[i]);
  return h;
}

/* Eight bytes at a time: all constants up to the limit are hashed, often megabytes. */
static uint64_t hash_bytes(uint64_t h, const void *data, size_t size) {
  const unsigned char *p = data;
  uint64_t word;
  h = mix(h, size);
  for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
    memcpy(&word, p, sizeof word);
    h = mix(h, word);
  }
  word = 0;
  if (size)
    memcpy(&word, p, size);
  return mix(h, word);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Whether n, with all that it runs, does nothing but compute its results. */
static bool only_computes(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (n->op == GLOW_OP_CALL)
    return !glow_call_has_effects(n);
  return GLOW_HAS(d, PURE) || (GLOW_HAS(d, CONTROL) && d->nregions && !glow_regions_write(n));
}

/* Whether the results of `few` are the first ones of `many`, and what that has besides may be
 * missing. */
static bool begins(const GlowNode *few, const GlowNode *many) {
  const GlowOpDesc *d = glow_node_desc(many);
  if (few->op != many->op || few->nresults > many->nresults)
    return false;
  for (uint32_t i = 0; i < few->nresults; i++)
    if (few->results[i].type != many->results[i].type)
      return false;
  for (uint32_t i = few->nresults; i < many->nresults; i++)
    if (i >= d->nout || !(d->out[i].flags & GLOW_PORT_OPTIONAL))
      return false;
  return true;
}

/* The entry of an equal node, which may have fewer or more results than n. */
static Entry *find_node(const Cse *c, uint64_t hash, const GlowNode *n) {
  for (Entry *e = c->table.buckets[hash & c->table.mask]; e; e = e->next)
    if (e->hash == hash && (begins(e->item, n) || begins(n, e->item)) &&
        glow_node_computes_same(e->item, n))
      return e;
  return NULL;
}

/* Lets users of n take the results of `kept`, which keep their names, and removes n. */
static void merge(Cse *c, GlowNode *kept, GlowNode *n) {
  glow_pass_changed(c->run, n, "'%%%s' is computed before, as '%%%s'",
                    n->results[0].name ? n->results[0].name : "_",
                    kept->results[0].name ? kept->results[0].name : "_");
  for (uint32_t i = 0; i < n->nresults; i++)
    glow_value_replace_uses(&n->results[i], &kept->results[i]);
  glow_node_remove(n);
}

/* n, which has more results than the equal node of the entry, takes its place and its names. */
static void take_over(Cse *c, Entry *e, GlowNode *n) {
  GlowNode *before = e->item;
  glow_node_move_before(n, before);
  glow_pass_changed(c->run, n, "'%%%s' gets the other results, too",
                    before->results[0].name ? before->results[0].name : "_");
  GlowValue **values = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, before->nresults);
  for (uint32_t i = 0; i < before->nresults; i++)
    values[i] = &n->results[i];
  glow_node_replace(before, values, before->nresults);
  e->item = n;
}

static void merge_block(Cse *c, GlowBlock *b) {
  uint32_t scope = c->table.entries.count;
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        merge_block(c, n->regions[i]);
    if (n->nresults == 0 || !only_computes(n))
      continue;
    uint64_t hash = hash_node(n);
    Entry *equal = find_node(c, hash, n);
    if (equal && ((GlowNode *)equal->item)->nresults < n->nresults)
      take_over(c, equal, n);
    else if (equal)
      merge(c, equal->item, n);
    else
      table_add(&c->table, hash, n);
  }
  table_leave(&c->table, scope);
}

/* ---- Constants ------------------------------------------------------------------------------- */

static uint64_t hash_storage(const GlowStorage *s) {
  const GlowInit *init = &s->init;
  uint64_t h = mix(init->kind, s->value.type->id);
  switch (init->kind) {
  case GLOW_INIT_SPLAT:
    return hash_bytes(h, &init->splat.f, sizeof init->splat.f);
  case GLOW_INIT_LIST:
  case GLOW_INIT_PAYLOAD:
  case GLOW_INIT_RESOURCE:
    return init->tensor ? hash_bytes(h, init->tensor->data, init->tensor->bytes) : h;
  case GLOW_INIT_EVAL:
    return hash_block(h, init->eval);
  default:
    return h;
  }
}

/* Lists, payloads and resources are compared by their bits, wherever those come from. */
static bool same_constant(const GlowStorage *a, const GlowStorage *b) {
  if (a->value.type != b->value.type || a->init.kind != b->init.kind)
    return false;
  const GlowTensor *x = a->init.tensor, *y = b->init.tensor;
  if (a->init.kind == GLOW_INIT_EVAL)
    return glow_blocks_compute_same(a->init.eval, b->init.eval);
  if (a->init.kind == GLOW_INIT_SPLAT)
    return glow_scalar_same(a->init.splat, b->init.splat);
  return x && y && x->bytes == y->bytes && memcmp(x->data, y->data, x->bytes) == 0;
}

static bool may_merge(const GlowStorage *s, int64_t limit) {
  if (s->cls != GLOW_CONSTANT || s->init.kind == GLOW_INIT_RANDOM ||
      s->init.kind == GLOW_INIT_ELIDED || s->value.type->kind == GLOW_KIND_STRING ||
      glow_gradient_names(s->module, s->value.name))
    return false;
  bool has_data = s->init.kind != GLOW_INIT_SPLAT && s->init.kind != GLOW_INIT_EVAL;
  return !has_data || glow_type_bytes(s->value.type) <= limit;
}

static void merge_constants(GlowPassRun *run, int64_t limit) {
  uint32_t count = 0;
  for (const GlowStorage *s = run->module->first_storage; s; s = s->next)
    count++;
  Table table;
  table_init(&table, run->arena, count);
  for (GlowStorage *s = run->module->first_storage, *next; s; s = next) {
    next = s->next;
    if (!may_merge(s, limit))
      continue;
    uint64_t hash = hash_storage(s);
    Entry *e = table.buckets[hash & table.mask];
    while (e && (e->hash != hash || !same_constant(e->item, s)))
      e = e->next;
    if (!e) {
      table_add(&table, hash, s);
      continue;
    }
    GlowStorage *kept = e->item;
    glow_pass_changed(run, NULL, "@%s is @%s", s->value.name, kept->value.name);
    glow_value_replace_uses(&s->value, &kept->value);
    glow_storage_remove(s);
  }
}

bool glow_pass_cse(GlowPassRun *run) {
  bool ok = true;
  int64_t limit = glow_pass_option_int(run, "limit", DEFAULT_LIMIT, &ok);
  if (!ok)
    return false;
  merge_constants(run, limit);
  for (GlowFunction *f = run->module->first_function; f; f = f->next) {
    if (f->kind != GLOW_FUNC)
      continue;
    Cse c = {.run = run};
    table_init(&c.table, run->arena, glow_function_number(f));
    merge_block(&c, f->body);
  }
  return true;
}
