/* From the instructions of a program to the work that code generation emits.
 *
 * Layouts, strategies, tiles, shards and offsets are read from the text and not decided here. If an
 * instruction has no tile or no shards, target/cpu/rules.h says what the passes assign-tiles and
 * assign-shards would write. If a program has no offsets, its buffers are planned here. */
#include "backend/cpu/select.h"

#include "analysis/access.h"
#include "analysis/cost.h"
#include "backend/cpu/alike.h"
#include "backend/interp/interp_internal.h"
#include "ir/infer.h"
#include "ir/remarks.h"
#include "memplan/memplan.h"
#include "support/text.h"
#include "target/cpu/native.h"
#include "target/cpu/rows.h"
#include "target/cpu/rules.h"

#define ALIGN 64

/* ---- Views ----------------------------------------------------------------------------------- */

static int64_t element_bytes(const GlowType *t) { return glow_kind_info[t->kind].bits / 8; }

static bool is_supported_type(GlowSelect *s, const GlowType *t) {
  if (!glow_type_is_tensor(t) || !glow_type_is_static(t))
    return glow_select_fail(s, "its extents are not known before it runs");
  if (t->kind == GLOW_KIND_STRING)
    return glow_select_fail(s, "its elements are strings");
  return true;
}

/* Physical axes of a type, and strides of a dense buffer of it. */
void glow_view_dense(const GlowType *t, GlowView *view) {
  int64_t dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].size;
  view->type = t;
  view->rank = glow_layout_physical(t->layout, t->rank, dims, view->dims);
  int64_t stride = 1;
  for (uint32_t i = view->rank; i > 0; i--) {
    view->strides[i - 1] = stride;
    stride *= view->dims[i - 1];
  }
}

/* Bytes from the first to the last element. */
static int64_t span_bytes(const GlowView *view) {
  int64_t last = 0;
  for (uint32_t i = 0; i < view->rank; i++) {
    if (!view->dims[i])
      return 0;
    last += (view->dims[i] - 1) * view->strides[i];
  }
  return (last + 1) * element_bytes(view->type);
}

/* Where a value's first element is. The base of a view may have bounded extents. */
static bool place_of(GlowSelect *s, const GlowValue *v, GlowPlace *place) {
  const GlowNode *tv = glow_value_def(v, GLOW_OP_TENSORVIEW);
  if (tv) {
    const GlowTensorviewMembers *m = tv->members;
    if (!place_of(s, glow_node_in(tv, 0), place))
      return false;
    place->offset += m->offset.size * glow_kind_info[v->type->kind].bits / 8;
    return true;
  }
  const GlowPlace *known = glow_map_get(s->places, v);
  if (!known)
    return glow_select_fail(s, "an operand is neither a buffer nor storage");
  *place = *known;
  return true;
}

bool glow_select_view(GlowSelect *s, const GlowValue *v, GlowView *view) {
  if (!is_supported_type(s, v->type))
    return false;
  glow_view_dense(v->type, view);
  const GlowNode *tv = glow_value_def(v, GLOW_OP_TENSORVIEW);
  if (!place_of(s, v, &view->place))
    return false;
  if (!tv)
    return true;
  const GlowTensorviewMembers *m = tv->members;
  for (uint32_t i = 0; i < view->rank && i < m->strides.count; i++)
    view->strides[i] = glow_array_at(m->strides, GlowSize, i).size;
  view->place.bytes = span_bytes(view);
  return true;
}

bool glow_view_is_dense(const GlowView *v) {
  int64_t stride = 1;
  for (uint32_t a = v->rank; a-- > 0; stride *= v->dims[a])
    if (v->dims[a] != 1 && v->strides[a] != stride)
      return false;
  return true;
}

bool glow_select_dense(GlowSelect *s, const GlowValue *v, GlowView *view) {
  if (!glow_select_view(s, v, view))
    return false;
  if (glow_kind_info[view->type->kind].bits % 8)
    return glow_select_fail(s, "its elements are not whole bytes");
  return (!view->type->layout && glow_view_is_dense(view)) ||
         glow_select_fail(s, "an operand is not dense");
}

int64_t glow_view_extent(const GlowView *v, uint32_t first, uint32_t last) {
  int64_t n = 1;
  for (uint32_t a = first; a < last; a++)
    n *= v->dims[a];
  return n;
}

/* ---- Operands of bodies ---------------------------------------------------------------------- */

int glow_block_of(const GlowType *t, uint32_t axis) {
  for (uint32_t i = 0; t->layout && i < t->layout->nblocks; i++) {
    if (t->layout->blocks[i].axis == axis)
      return (int)i;
  }
  return -1;
}

bool glow_select_operand(GlowSelect *s, const GlowView *to, const GlowView *from, int64_t *stride,
                         int64_t *channels) {
  const GlowType *tt = to->type, *ft = from->type;
  *channels = 0;
  for (uint32_t i = 0; i < to->rank; i++)
    stride[i] = 0;
  if (ft->rank > tt->rank)
    return glow_select_fail(s, "an operand has more axes than the result");
  for (uint32_t a = 0; a < ft->rank; a++) {
    uint32_t axis = a + tt->rank - ft->rank;
    int tb = glow_block_of(tt, axis), fb = glow_block_of(ft, a);
    if (ft->dims[a].size == 1 && tt->dims[axis].size != 1)
      continue; /* broadcast */
    if (ft->dims[a].size != tt->dims[axis].size)
      return glow_select_fail(s, "an operand does not broadcast");
    if (fb < 0 && tb >= 0) {
      /* A plain axis under a blocked one: whole blocks of consecutive elements. */
      int64_t block = tt->layout->blocks[tb].size;
      stride[axis] = from->strides[a] * block;
      stride[tt->rank + (uint32_t)tb] = from->strides[a];
      *channels = tt->dims[axis].size % block ? tt->dims[axis].size : 0;
      continue;
    }
    if ((fb < 0) != (tb < 0) ||
        (tb >= 0 && ft->layout->blocks[fb].size != tt->layout->blocks[tb].size))
      return glow_select_fail(s, "an operand has another layout than the result");
    stride[axis] = from->strides[a];
    if (tb >= 0)
      stride[tt->rank + (uint32_t)tb] = from->strides[ft->rank + (uint32_t)fb];
  }
  return true;
}

/* ---- Work ------------------------------------------------------------------------------------ */

/* As many as the text says, unless there are fewer units, or it is a little piece of the work. */
static int64_t shards_of(const GlowNode *n, const GlowWorkSpec *spec) {
  int64_t shards = n->shards ? n->shards : glow_shards(glow_instr_cost(n));
  shards = glow_min64(shards, spec->grain > 1 ? spec->units / spec->grain : spec->units);
  if (spec->cost)
    shards = glow_min64(shards, glow_shards(spec->cost));
  return shards < 1 ? 1 : shards;
}

bool glow_select_layout(GlowSelect *s, const GlowKernel *k, const char *operand, const GlowView *v,
                        int64_t *blocks) {
  const GlowLayout *layout = v->type->layout;
  if (glow_kernel_takes(k, operand, s->isa, layout, blocks))
    return true;
  return glow_select_fail(
      s, glow_arena_printf(s->arena, "operand %s of %s must have the layout %s on %s, not %s",
                           operand, k->name, glow_kernel_layout_text(k, operand), s->isa->name,
                           layout ? layout->text : "none"));
}

GlowWork *glow_select_work(GlowSelect *s, const GlowNode *n, const GlowWorkParts *parts,
                           const GlowWorkSpec *spec) {
  GLOW_CHECK(s->ctx, parts->kernel != NULL, "the kernel has the variant and the kind");
  size_t words = parts->params_size / sizeof(int64_t);
  int64_t *params = GLOW_NEW_ARRAY(s->arena, int64_t, words + parts->count);
  memcpy(params, parts->params, parts->params_size);
  if (parts->count)
    memcpy(params + words, parts->table, parts->count * sizeof *params);
  GlowWork w = {.source = glow_select_source(s, n),
                .kernel = parts->kernel,
                .params = params,
                .nparams = (uint32_t)words + parts->count,
                .nplaces = parts->nplaces,
                .nwritten = parts->nwritten,
                .units = spec->units,
                .shards = shards_of(n, spec),
                .call = spec->fault,
                .faults = spec->fault != NULL};
  if (parts->nplaces)
    w.places = glow_arena_copy(s->arena, parts->places, parts->nplaces * sizeof *parts->places);
  glow_vec_push(s->arena, &s->work, w);
  return &s->work.data[s->work.count - 1];
}

void glow_select_numbers(GlowSelect *s, GlowWork *w, const void *numbers, size_t bytes) {
  w->numbers = glow_arena_copy(s->arena, numbers, bytes);
  w->nnumbers = (uint32_t)(bytes / sizeof *w->numbers);
}

const GlowTile *glow_select_sized(GlowSelect *s, const GlowTileSize *t) {
  if (t->kind == GLOW_TILE_NONE)
    return NULL;
  const GlowTile *found = glow_tile_find(s->isa, (unsigned)t->kind, t->sizes);
  GLOW_CHECK(s->ctx, found != NULL, "the machine has the tile");
  return found;
}

void glow_select_tiles(GlowSelect *s, GlowWork *w, const GlowTile *const *tiles,
                       const uint64_t *kinds, uint32_t count) {
  bool plain = true;
  for (uint32_t i = 0; i < count; i++) {
    for (unsigned k = 0; k < GLOW_TILE_COUNT; k++)
      plain = plain && !(kinds[i] >> k & 1 && glow_tile_desc[k].callback);
    if (!tiles[i])
      continue;
    const GlowTileDesc *d = &glow_tile_desc[tiles[i]->kind];
    GLOW_CHECK(s->ctx, kinds[i] >> tiles[i]->kind & 1, "the kernel takes the tile");
    w->tiles.pointers = d->pointers;
    w->tiles.ints = d->ints;
  }
  w->tiles.plain = plain;
  w->tiles.all = glow_arena_copy(s->arena, tiles, count * sizeof *tiles);
  w->tiles.count = count;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static bool select_native(GlowSelect *s, const GlowNode *n) {
  switch (n->op) {
  case GLOW_OP_ALLOC:
  case GLOW_OP_DEALLOC:
  case GLOW_OP_TENSORVIEW:
  case GLOW_OP_SET_ROWS: /* of the state, behind the run */
    return true;
#define NATIVE(e, select)                                                                          \
  case GLOW_OP_##e:                                                                                \
    return glow_select_##select(s, n);
    GLOW_CPU_NATIVE(NATIVE)
#undef NATIVE
  default:
    if (glow_node_desc(n)->has_scalar)
      return glow_select_stack(s, n);
    return glow_select_fail(s, "there is no machine kernel for it");
  }
}

/* Instructions whose extents are known only when they run: the interpreter's walker takes a step.
 */
static bool select_host(GlowSelect *s, const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && (!glow_type_is_tensor(v->type) || v->type->kind == GLOW_KIND_STRING))
      return glow_select_fail(s, "its operands are no numbers");
  }
  GlowWork w = {.kind = GLOW_WORK_HOST, .source = glow_select_source(s, n)};
  glow_codegen_remark(n, "'%s' is a step of the interpreter", glow_node_desc(n)->instr);
  glow_vec_push(s->arena, &s->work, w);
  s->plan->hosted = true;
  return true;
}

bool glow_select_instruction(GlowSelect *s, const GlowNode *n) {
  uint32_t before = s->work.count;
  GlowMaxPoolMembers pool;
  if (glow_program_is_dynamic(n))
    return n->op == GLOW_OP_DEALLOC || select_host(s, n);
  if (select_native(s, n))
    return true;
  const char *why = s->why;
  s->work.count = before;
  if (glow_node_pool(n, &pool))
    return glow_select_apart(s, n, &pool);
  if (!glow_has_reference(n)) /* element-wise, of a kind without lanes */
    return (glow_node_desc(n)->has_scalar || glow_node_desc(n)->body) && select_host(s, n);
  if (!glow_select_reference(s, n))
    return false;
  GlowCpuNote r = {n, why};
  glow_vec_push(s->arena, &s->plan->references, r);
  return true;
}

/* Places of outer values, and which of them are read and written. */
static void place_outer(GlowSelect *s, GlowFunction *f, GlowCpuPlan *plan) {
  GlowOuterValues outer = glow_function_outer_values(f, s->arena);
  GlowAccesses accesses = glow_function_accesses(f, s->arena);
  plan->outer = outer.data;
  plan->nouter = outer.count;
  plan->reads = GLOW_NEW_ARRAY(s->arena, bool, outer.count);
  plan->writes = GLOW_NEW_ARRAY(s->arena, bool, outer.count);
  for (uint32_t i = 0; i < outer.count; i++) {
    const GlowValue *v = outer.data[i];
    GlowPlace place = {(int32_t)i, 0, glow_type_bytes(v->type)};
    glow_map_set(s->places, v, glow_arena_copy(s->arena, &place, sizeof place));
    plan->reads[i] = accesses.of[v->id].read;
    plan->writes[i] = accesses.of[v->id].written;
  }
}

GlowPlace glow_select_extra(GlowSelect *s, int64_t bytes) {
  GlowPlace place = {GLOW_PLACE_ARENA, s->plan->arena, bytes};
  s->plan->arena += (bytes + ALIGN - 1) & -(int64_t)ALIGN;
  return place;
}

void glow_select_place(GlowSelect *s, const GlowValue *v, const GlowPlace *place) {
  GlowCpuBuffer b = {v, glow_arena_copy(s->arena, place, sizeof *place)};
  glow_map_set(s->places, v, (void *)(uintptr_t)b.place);
  glow_vec_push(s->arena, &s->plan->buffers, b);
}

/* The allocs of a program, in regions too, and when they live. */
typedef struct Allocs {
  GlowArena *arena;
  GLOW_VEC(GlowNode *) nodes;
  GLOW_VEC(GlowPlanBuffer) buffers;
} Allocs;

static bool collect_alloc(GlowNode *n, void *arg) {
  Allocs *a = arg;
  if (n->op != GLOW_OP_ALLOC)
    return true;
  int64_t bytes = glow_type_bytes(n->results[0].type);
  GlowPlanBuffer b = {.size = bytes < 0 ? 0 : bytes, .start = n->order, .end = UINT32_MAX};
  b.offset = ((const GlowAllocMembers *)n->members)->at;
  for (const GlowUse *u = n->results[0].uses; u; u = u->next)
    if (u->user->op == GLOW_OP_DEALLOC)
      b.end = u->user->order + 1;
  glow_vec_push(a->arena, &a->nodes, n);
  glow_vec_push(a->arena, &a->buffers, b);
  return true;
}

/* Offsets for smaller buffers than those that the text has offsets for, if that makes the arena
 * smaller: a run of few rows so stays in the cache. -1: it does not. */
static int64_t place_closer(GlowSelect *s, Allocs *a, int64_t align, int64_t size) {
  GlowPlanBuffer *buffers =
      glow_arena_copy(s->arena, a->buffers.data, a->buffers.count * sizeof *buffers);
  int64_t closer = glow_memplan_greedy(s->arena, buffers, a->buffers.count, align);
  if (closer < 0 || closer >= size)
    return -1;
  a->buffers.data = buffers;
  return closer;
}

/* Offsets as the text has them if it has them all, else a plan of our own. */
static bool place_allocs(GlowSelect *s, GlowFunction *f, bool closer, GlowCpuPlan *plan) {
  Allocs a = {.arena = s->arena};
  glow_function_number(f);
  glow_block_walk(f->body, collect_alloc, &a);
  GlowPlanReport report;
  bool planned = true;
  int64_t size = 0;
  for (uint32_t i = 0; i < a.buffers.count; i++) {
    const GlowPlanBuffer *b = &a.buffers.data[i];
    planned = planned && b->offset >= 0;
    size = b->offset + b->size > size ? b->offset + b->size : size;
  }
  plan->align = f->align > ALIGN ? f->align : ALIGN;
  if (!planned)
    size = glow_memplan(s->arena, a.buffers.data, a.buffers.count, plan->align, &report);
  size = planned && f->arena > size ? f->arena : size;
  int64_t less = planned && closer ? place_closer(s, &a, plan->align, size) : -1;
  size = less >= 0 ? less : size;
  plan->arena = size < 0 ? size : (size + plan->align - 1) & -plan->align;
  for (uint32_t i = 0; i < a.nodes.count; i++) {
    const GlowPlanBuffer *b = &a.buffers.data[i];
    GlowPlace place = {GLOW_PLACE_ARENA, b->offset, b->size};
    glow_select_place(s, &a.nodes.data[i]->results[0], &place);
  }
  return size >= 0;
}

static void report(GlowSelect *s, const GlowFunction *f) {
  glow_error(s->ctx, f->src, "program @%s cannot be compiled for %s: unsupported instructions (%u)",
             f->name, s->isa->name, s->refusals.count);
  for (uint32_t i = 0; i < s->refusals.count; i++) {
    const GlowCpuNote *r = &s->refusals.data[i];
    glow_note(s->ctx, glow_node_loc(r->node), "unsupported '%s': %s",
              glow_node_desc(r->node)->instr, r->why);
  }
  glow_note(s->ctx, GLOW_NOWHERE, "glow-run --backend=interp runs it");
}

GlowWorkList glow_select_block(GlowSelect *s, GlowBlock *b) {
  GlowWorkList outer = s->work;
  s->work = (GlowWorkList){0};
  for (const GlowNode *n = b ? b->first : NULL; n; n = n->next) {
    const GlowNode *last = glow_select_rows(s, n);
    if (last || glow_select_instruction(s, n)) {
      n = last ? last : n;
      continue;
    }
    GlowCpuNote r = {n, s->why};
    glow_vec_push(s->arena, &s->refusals, r);
  }
  GlowWorkList inner = s->work;
  s->work = outer;
  return inner;
}

/* The most scratch that a piece of work needs, of each worker or in common. */
static int64_t most_scratch(const GlowWork *work, uint32_t count, bool common) {
  int64_t most = 0;
  for (uint32_t i = 0; i < count; i++) {
    const GlowWork *w = &work[i];
    int64_t inner[] = {w->common == common ? w->scratch : 0,
                       most_scratch(w->then.data, w->then.count, common),
                       most_scratch(w->otherwise.data, w->otherwise.count, common)};
    for (int k = 0; k < 3; k++)
      most = inner[k] > most ? inner[k] : most;
  }
  return most;
}

/* Places scratch memory behind the buffers: a part for each worker. Scratch memory that all workers
 * share lies in the same place. If it is larger than one worker's part, the arena grows by the
 * difference. */
static void place_scratch(GlowCpuPlan *plan) {
  int64_t common = most_scratch(plan->work, plan->count, true);
  int64_t own = most_scratch(plan->work, plan->count, false);
  plan->scratch_at = (plan->arena + plan->align - 1) & -plan->align;
  plan->scratch = (own + ALIGN - 1) & -(int64_t)ALIGN;
  plan->arena = plan->scratch_at;
  if (common > plan->scratch)
    plan->arena += (common - plan->scratch + plan->align - 1) & -plan->align;
}

/* What has no machine kernel, as remarks: each instruction, then how many of which operators. */
static void report_references(GlowSelect *s, const GlowFunction *f) {
  const GlowCpuNotes *notes = &s->plan->references;
  if (!notes->count || !glow_remarks_heard(s->ctx))
    return;
  unsigned of[GLOW_OP_COUNT] = {0};
  for (uint32_t i = 0; i < notes->count; i++) {
    const GlowCpuNote *r = &notes->data[i];
    of[r->node->op]++;
    glow_codegen_remark(r->node, "'%s' runs as its reference kernel: %s",
                        glow_node_desc(r->node)->instr, r->why);
  }
  GlowText names;
  glow_text_init(&names, s->ctx);
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++) {
    if (of[op])
      glow_text_printf(&names, "%s%u '%s'", names.size ? ", " : "", of[op], glow_op_desc[op].instr);
  }
  const char *text =
      glow_str_printf(s->ctx, "instructions without a machine kernel in program @%s: %u (%s)",
                      f->name, notes->count, glow_text_cstr(&names));
  glow_text_release(&names);
  glow_remarks_take(
      s->ctx, &(GlowRemark){.speaker = "codegen", .function = f, .loc = f->src, .text = text});
}

static bool make_plan(GlowArena *arena, GlowFunction *f, const GlowIsa *isa, bool closer,
                      GlowCpuPlan *plan) {
  GlowSelect s = {.ctx = f->module->ctx,
                  .arena = arena,
                  .isa = isa,
                  .cpu = glow_isa_numbers(isa),
                  .plan = plan};
  s.places = glow_map_create(arena);
  *plan = (GlowCpuPlan){0};
  place_outer(&s, f, plan);
  if (!place_allocs(&s, f, closer, plan)) {
    glow_error(s.ctx, f->src, "the buffers of program @%s do not fit into memory", f->name);
    return false;
  }
  GlowWorkList work = glow_select_block(&s, f->body);
  if (s.refusals.count) {
    report(&s, f);
    return false;
  }
  plan->work = work.data;
  plan->count = work.count;
  glow_share_numbers(arena, plan->work, plan->count);
  place_scratch(plan);
  if (plan->arena > GLOW_MAX_OFFSET || plan->nouter > GLOW_MAX_STORAGE) {
    glow_error(s.ctx, f->src, "program @%s has more memory than its code can address", f->name);
    return false;
  }
  report_references(&s, f);
  return true;
}

bool glow_cpu_plan(GlowArena *arena, GlowFunction *f, const GlowIsa *isa, GlowCpuPlan *plan) {
  return make_plan(arena, f, isa, false, plan);
}

bool glow_cpu_plan_closer(GlowArena *arena, GlowFunction *f, const GlowIsa *isa,
                          GlowCpuPlan *plan) {
  return make_plan(arena, f, isa, true, plan);
}
