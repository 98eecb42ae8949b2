/* Hashes of nodes: by what they are, by what they are computed from, by what is computed from them.
 * Names of values play no part. Nor does the choice of buffers in a program: an instruction that
 * reads a buffer is computed from the instruction that wrote it last. */
#include <string.h>

#include "analysis/buffers.h"
#include "diff/diff_internal.h"

#define mix glow_diff_mix

bool glow_diff_is_generated(GlowStr name) {
  return !name || name[strspn(name, "0123456789")] == '\0';
}

typedef struct Hashing {
  GlowDiff *d;
  GlowDiffSide *side;
  GlowMap *writers; /* buffer -> the GlowDiffNode that wrote it last */
} Hashing;

static uint64_t hash_string(const char *s) {
  uint64_t hash = 7;
  for (; s && *s; s++)
    hash = mix(hash, (unsigned char)*s);
  return hash;
}

/* Storage with a partner has its partner's hash; other storage is told apart by class and type. */
static uint64_t hash_storage(const GlowDiff *d, const GlowStorage *s) {
  uint64_t hash = mix(mix(11, s->cls), s->value.type->id);
  return glow_map_get(d->storage, s) ? mix(mix(12, s->cls), hash_string(s->value.name)) : hash;
}

static uint64_t hash_home(const GlowBlock *b) {
  uint64_t hash = 3;
  for (; b && b->owner == GLOW_BLOCK_REGION; b = glow_block_parent(b))
    hash = mix(mix(hash, b->of.node->op), hash_string(b->label));
  return hash;
}

/* What a node is, but for types. */
static uint64_t hash_form(const GlowNode *n) {
  uint64_t hash = mix(hash_home(n->block), n->op);
  if (n->op != GLOW_OP_ALLOC) /* where a buffer lies is not what it is */
    hash = mix(hash, glow_members_hash(glow_node_desc(n), n->members));
  return mix(hash, n->noperands);
}

static uint64_t hash_types(uint64_t hash, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    hash = mix(hash, n->results[i].type->id);
  for (uint32_t i = 0; i < n->nouts; i++)
    hash = mix(hash, n->operands[i].value ? n->operands[i].value->type->id : 1);
  return hash;
}

/* What operand i is computed by: its definition, or the last writer of its buffer. */
static GlowDiffNode *source_of(const Hashing *h, const GlowNode *n, uint32_t i) {
  GlowValue *v = n->operands[i].value;
  if (!v)
    return NULL;
  if (n->block->level == GLOW_LEVEL_PROGRAM && !n->block->scalar && n->op != GLOW_OP_TENSORVIEW) {
    if (n->operands[i].qual == GLOW_QUAL_OUT)
      return NULL;
    return glow_map_get(h->writers, glow_buffer_base(v));
  }
  return v->kind == GLOW_VALUE_RESULT ? glow_map_get(h->side->by_node, v->def.node) : NULL;
}

static uint64_t hash_operand(const Hashing *h, const GlowDiffNode *e, uint32_t i) {
  const GlowUse *u = &e->node->operands[i];
  const GlowDiffNode *source = e->sources[i];
  if (!u->value)
    return 5;
  uint64_t hash = mix(mix(17, u->qual), u->value->type->id);
  if (u->value->kind == GLOW_VALUE_STORAGE)
    hash = mix(hash, hash_storage(h->d, u->value->def.storage));
  else
    hash = mix(hash, u->value->kind == GLOW_VALUE_PARAM ? 100 + u->value->index
                     : e->node->nouts                   ? 1
                                                        : u->value->index);
  return source ? mix(hash, source->down) : hash;
}

static void add_use(GlowDiff *d, GlowDiffNode *source, GlowDiffNode *user, uint32_t operand) {
  GlowDiffUse *u = GLOW_NEW(d->arena, GlowDiffUse);
  *u = (GlowDiffUse){user, operand, source->uses};
  source->uses = u;
}

static void note_writes(Hashing *h, GlowDiffNode *e) {
  const GlowNode *n = e->node;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->operands[i].value)
      glow_map_set(h->writers, glow_buffer_base(n->operands[i].value), e);
}

/* Regions go into a hash as sums: order does not matter. */
static uint64_t hash_block(Hashing *h, GlowBlock *b, GlowDiffNode *home);

static GlowDiffNode *hash_node(Hashing *h, GlowNode *n, GlowDiffNode *home) {
  GlowDiff *d = h->d;
  GlowDiffNode *e = GLOW_NEW(d->arena, GlowDiffNode);
  e->node = n;
  e->home = home;
  e->index = h->side->nodes.count;
  glow_vec_push(d->arena, &h->side->nodes, e);
  glow_map_set(h->side->by_node, n, e);
  e->form = hash_form(n);
  e->local = hash_types(e->form, n);
  e->sources = GLOW_NEW_ARRAY(d->arena, GlowDiffNode *, n->noperands);
  uint64_t hash = e->local;
  for (uint32_t i = 0; i < n->noperands; i++) {
    e->sources[i] = source_of(h, n, i);
    hash = mix(hash, hash_operand(h, e, i));
    if (!e->sources[i])
      continue;
    add_use(d, e->sources[i], e, i);
    e->form = mix(mix(e->form, i), e->sources[i]->form);
  }
  for (uint32_t i = 0; i < n->nregions; i++)
    hash = mix(hash, n->regions[i] ? hash_block(h, n->regions[i], e) : 1);
  e->down = hash;
  note_writes(h, e);
  return e;
}

static uint64_t hash_block(Hashing *h, GlowBlock *b, GlowDiffNode *home) {
  uint64_t sum = mix(hash_string(b->label), b->nparams);
  for (uint32_t i = 0; i < b->nparams; i++)
    sum = mix(sum, b->params[i]->type->id);
  for (GlowNode *n = b->first; n; n = n->next)
    sum += hash_node(h, n, home)->down;
  return sum;
}

/* Backwards, so that users come before what they use. */
static void hash_users(GlowDiffSide *side) {
  for (uint32_t i = side->nodes.count; i-- > 0;) {
    GlowDiffNode *e = side->nodes.data[i];
    const GlowNode *n = e->node;
    e->up = mix(e->local, e->users);
    for (uint32_t k = 0; k < n->noperands; k++) {
      const GlowValue *v = n->operands[k].value;
      if (v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls != GLOW_CONSTANT)
        e->up = mix(e->up, hash_string(v->name));
    }
    for (uint32_t k = 0; k < n->noperands; k++)
      if (e->sources[k])
        e->sources[k]->users += mix(mix(e->up, k), n->nouts ? 0 : n->operands[k].value->index);
  }
}

GlowDiffSide glow_diff_side(GlowDiff *d, GlowFunction *f) {
  GlowDiffSide side = {.module = f->module, .function = f};
  side.by_node = glow_map_create(d->arena);
  Hashing h = {d, &side, glow_map_create(d->arena)};
  hash_block(&h, f->body, NULL);
  hash_users(&side);
  return side;
}
