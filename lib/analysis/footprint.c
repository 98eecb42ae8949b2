/* Footprints: storage by class, and a sweep over the lifetimes of values, or of allocs. */
#include "analysis/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/access.h"
#include "analysis/cost.h"
#include "support/sizes.h"

/* Bytes of a value, at its bounds; 0 if they are not known. */
static int64_t bytes_of(GlowContext *ctx, const GlowType *t) {
  bool known = glow_type_is_tensor(t) && glow_type_is_bounded(t);
  int64_t bytes = known ? glow_type_bytes(glow_type_room(ctx, t)) : 0;
  return bytes < 0 ? 0 : bytes;
}

static void add(int64_t *sum, int64_t bytes) {
  if (__builtin_add_overflow(*sum, bytes, sum))
    *sum = INT64_MAX;
}

/* ---- Storage --------------------------------------------------------------------------------- */

static void count_storage(GlowArena *arena, GlowFunction *f, GlowFootprint *p) {
  GlowAccesses accesses = glow_function_accesses(f, arena);
  GlowOuterValues values = glow_function_outer_values(f, arena);
  for (uint32_t i = 0; i < values.count; i++) {
    const GlowValue *v = values.data[i];
    GlowStorageClass cls = glow_outer_class(v);
    int64_t *sum = cls == GLOW_CONSTANT   ? &p->constants
                   : cls == GLOW_VARIABLE ? &p->variables
                                          : &p->buffers;
    if (accesses.of[v->id].read || accesses.of[v->id].written)
      add(sum, bytes_of(f->module->ctx, v->type));
  }
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A value of the function, from its definition to where it is freed. */
typedef struct Live {
  const GlowValue *value;
  int64_t bytes;
  uint32_t from, to;
} Live;

typedef struct Sweep {
  GlowArena *arena;
  GlowContext *ctx;
  uint32_t count; /* of nodes */
  GLOW_VEC(Live) values;
} Sweep;

static bool visit_results(GlowNode *n, void *arg) {
  Sweep *s = arg;
  bool program = n->block->level == GLOW_LEVEL_PROGRAM;
  for (uint32_t i = 0; i < n->nresults && (!program || n->op == GLOW_OP_ALLOC); i++) {
    const GlowValue *v = &n->results[i];
    Live live = {v, bytes_of(s->ctx, v->type), n->order, glow_value_last_use(v, s->count)};
    glow_vec_push(s->arena, &s->values, live);
  }
  return true;
}

static Sweep sweep(GlowArena *arena, GlowFunction *f) {
  Sweep s = {.arena = arena, .ctx = f->module->ctx, .count = glow_function_number(f)};
  glow_block_walk(f->body, visit_results, &s);
  return s;
}

/* The most bytes that live at a time, and the position where they do. */
static int64_t find_peak(const Sweep *s, uint32_t *at) {
  int64_t *delta = GLOW_NEW_ARRAY(s->arena, int64_t, (size_t)s->count + 2), alive = 0, most = 0;
  for (uint32_t i = 0; i < s->values.count; i++) {
    const Live *v = &s->values.data[i];
    add(&delta[v->from], v->bytes);
    (void)__builtin_sub_overflow(delta[v->to + 1], v->bytes, &delta[v->to + 1]);
  }
  *at = 0;
  for (uint32_t i = 0; i <= s->count; i++) {
    add(&alive, delta[i]);
    if (alive > most) {
      most = alive;
      *at = i;
    }
  }
  return most;
}

GlowFootprint glow_function_footprint(GlowFunction *f) {
  GlowFootprint p = {0};
  uint32_t at;
  GlowArena *arena = glow_arena_create(f->module->ctx);
  count_storage(arena, f, &p);
  Sweep s = sweep(arena, f);
  p.arena = find_peak(&s, &at);
  if (f->kind == GLOW_PROGRAM && f->arena > p.arena)
    p.arena = f->arena;
  glow_arena_destroy(arena);
  return p;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  const Live *x = a, *y = b;
  return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                              : (x->from > y->from) - (x->from < y->from);
}

/* What lives at the peak, the largest first. */
static void note_peak(GlowFunction *f) {
  enum { SHOWN = 4 };
  GlowContext *ctx = f->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Sweep s = sweep(arena, f);
  uint32_t at, count = 0;
  find_peak(&s, &at);
  for (uint32_t i = 0; i < s.values.count; i++) {
    const Live *v = &s.values.data[i];
    if (v->from <= at && at <= v->to && v->bytes)
      s.values.data[count++] = *v;
  }
  if (count)
    qsort(s.values.data, count, sizeof *s.values.data, by_size);
  for (uint32_t i = 0; i < count && i < SHOWN; i++) {
    const Live *v = &s.values.data[i];
    glow_note(ctx, glow_node_loc(v->value->def.node), "%%%s of %s lives at the peak",
              v->value->name ? v->value->name : "", glow_bytes_str(arena, v->bytes));
  }
  if (count > SHOWN)
    glow_note(ctx, f->src, "and %u smaller ones", count - SHOWN);
  glow_arena_destroy(arena);
}

bool glow_footprint_fits(GlowFunction *f, const GlowFootprint *p, int64_t limit) {
  GlowContext *ctx = f->module->ctx;
  const int64_t parts[] = {p->constants, p->variables, p->buffers, p->arena, p->scratch};
  static const char *const names[] = {"constants", "variables", "inputs and outputs",
                                      "computed values", "scratch memory of kernels"};
  enum { PARTS = sizeof parts / sizeof *parts };
  int64_t total = 0;
  for (int i = 0; i < PARTS; i++)
    add(&total, parts[i]);
  if (!limit || total <= limit)
    return true;
  const char *list = "";
  for (int i = 0; i < PARTS; i++) {
    if (parts[i])
      list = glow_str_printf(ctx, "%s%s%s %s", list, *list ? ", " : "", names[i],
                             glow_bytes_str(ctx->arena, parts[i]));
  }
  const char *need = glow_bytes_str(ctx->arena, total), *have = glow_bytes_str(ctx->arena, limit);
  if (strcmp(need, have) == 0) {
    need = glow_str_printf(ctx, "%lld bytes", (long long)total);
    have = glow_str_printf(ctx, "%lld", (long long)limit);
  }
  glow_error(ctx, f->src, "@%s needs %s of memory, more than the limit of %s", f->name, need, have);
  glow_note(ctx, f->src, "%s", list);
  note_peak(f);
  return false;
}
