/* Deletes buffers that are never read: their allocs, pure instructions whose outputs are all dead,
 * dead outputs that an instruction can do without (Argmax of a pool), views without uses, and Ifs
 * that have become empty. The walk goes backwards, so that one walk also finds what becomes dead on
 * the way. */
#include "transforms/programs.h"

/* Whether a use reads a buffer: as input, as @inout, as a predicate, or in an instruction that must
 * stay anyway. Views and deallocs do not. */
static bool reads(const GlowUse *u) {
  const GlowNode *n = u->user;
  if (n->op == GLOW_OP_DEALLOC || n->op == GLOW_OP_TENSORVIEW)
    return false;
  return u->qual != GLOW_QUAL_OUT || !GLOW_HAS(glow_node_desc(n), PURE);
}

/* Whether the buffer is read, or a view of it. */
static bool is_read(GlowArena *arena, const GlowValue *buffer) {
  GLOW_VEC(const GlowValue *) work = {0};
  glow_vec_push(arena, &work, buffer);
  while (work.count)
    for (const GlowUse *u = work.data[--work.count]->uses; u; u = u->next) {
      if (reads(u))
        return true;
      if (u->user->op == GLOW_OP_TENSORVIEW)
        glow_vec_push(arena, &work, &u->user->results[0]);
    }
  return false;
}

/* Whether nothing reads the buffer that v is, or is a view of. False for buffers that outlive the
 * program. */
static bool is_dead_buffer(GlowArena *arena, GlowValue *v) {
  GlowValue *base = glow_buffer_base(v);
  return glow_buffer_is_plain_alloc(base) && !is_read(arena, base);
}

static bool is_dead(GlowArena *arena, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (n->op == GLOW_OP_TENSORVIEW)
    return !n->results[0].uses;
  if (d->nregions) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->op != GLOW_OP_IF || (n->regions[i] && n->regions[i]->first))
        return false;
    return true;
  }
  if (!GLOW_HAS(d, PURE) || !n->nouts)
    return false;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->operands[i].value && !is_dead_buffer(arena, n->operands[i].value))
      return false;
  return true;
}

static void drop_outputs(GlowPassRun *run, GlowNode *n) {
  for (uint32_t i = 0; i < n->nouts; i++)
    if (glow_instr_can_drop(n, i) && is_dead_buffer(run->arena, n->operands[i].value))
      glow_instr_drop(run, n, i);
}

/* An alloc without any use but its dealloc. */
static bool is_dead_alloc(const GlowNode *n) {
  if (n->op != GLOW_OP_ALLOC)
    return false;
  for (const GlowUse *u = n->results[0].uses; u; u = u->next)
    if (u->user->op != GLOW_OP_DEALLOC)
      return false;
  return true;
}

typedef struct Deleted {
  uint64_t allocs;
  int64_t bytes;
} Deleted;

static void delete_in_block(GlowPassRun *run, GlowBlock *b, Deleted *d) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        delete_in_block(run, n->regions[i], d);
    prev = n->prev;
    bool dead_alloc = is_dead_alloc(n);
    if (!dead_alloc && !is_dead(run->arena, n)) {
      drop_outputs(run, n);
      continue;
    }
    glow_pass_changed(run, n, "deleted %s", glow_node_desc(n)->instr);
    d->allocs += dead_alloc;
    d->bytes += dead_alloc ? glow_buffer_bytes(n->results[0].type) : 0;
    if (dead_alloc && n->results[0].uses)
      glow_node_remove(n->results[0].uses->user);
    glow_node_remove(n);
  }
}

bool glow_pass_delete_dead_allocs(GlowPassRun *run) {
  Deleted d = {0};
  delete_in_block(run, run->function->body, &d);
  glow_program_saved(run, d.allocs, "buffers", d.bytes);
  return true;
}
