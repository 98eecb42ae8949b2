/* See library.h. */
#include "backend/cpu/library.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "backend/cpu/lanes.h"
#include "backend/cpu/pairs.h"
#include "backend/interp/interp_internal.h"
#include "kernels/body.h"
#include "kernels/library.h"
#include "kernels/params.h"
#include "kernels/reference.h"

_Static_assert(GLOW_BODY_DIMS == GLOW_OPERAND_DIMS, "operands have as many coordinates");
_Static_assert((int)GLOW_PIECE_TILES == (int)GLOW_SETUP_TILES, "pieces have as many tiles");

/* ---- Params ---------------------------------------------------------------------------------- */

int64_t glow_library_params(GlowImageBuilder *b, const GlowIsa *isa, const GlowWork *w) {
  GlowPieceHead head = {.scratch_at = -1};
  for (uint32_t i = 0; i < GLOW_PIECE_TILES; i++) {
    const GlowTile *tile = i < w->tiles.count ? w->tiles.all[i] : NULL;
    head.tiles[i] = tile ? glow_tile_number(isa, tile, glow_tile_form(isa, tile, w->params)) : -1;
  }
  if (w->scratch) {
    head.scratch_at = 1 + glow_work_scratch_slot(w);
    head.scratch = w->common ? 0 : w->scratch;
  }
  size_t bytes = w->nparams * sizeof *w->params;
  char *all = glow_arena_alloc(b->arena, sizeof head + bytes);
  memcpy(all, &head, sizeof head);
  if (bytes)
    memcpy(all + sizeof head, w->params, bytes);
  return glow_image_add(b, all, sizeof head + bytes);
}

/* ---- The inline form of epilogues ------------------------------------------------------------ */

/* Whether a call is the function of an operator on floats. */
static bool calls(const GlowLaneCall *c, GlowOp op) {
  return c->lane == glow_op_desc[op].lanes[GLOW_KIND_FLOAT];
}

/* Whether a sum is that of values a and b. */
static bool adds(const GlowLaneCall *c, uint32_t a, uint32_t b) {
  return (c->ins[0] == a && c->ins[1] == b) || (c->ins[0] == b && c->ins[1] == a);
}

static bool is_constant(const GlowBody *body, uint32_t v) {
  return v >= body->nparams && !body->calls[v - body->nparams].lane;
}

/* A limit: the constant that is operand i of a call, or `absent`. False if it is no constant, or
 * one that Clip compares otherwise than machines do: NaN, or -0, which is below +0 to Clip. */
static bool limit_of(const GlowBody *body, const GlowLaneCall *c, uint32_t i, float absent,
                     float *limit) {
  uint32_t v = i < c->nins ? c->ins[i] : GLOW_BODY_ABSENT;
  *limit = absent;
  if (v == GLOW_BODY_ABSENT)
    return true;
  if (!is_constant(body, v))
    return false;
  memcpy(limit, body->calls[v - body->nparams].members, sizeof *limit);
  return !isnan(*limit) && !(*limit == 0 && signbit(*limit));
}

/* Whether the last two calls from k on round value v, a float, to bfloat16. */
static bool rounds_last(const GlowBody *body, uint32_t k, uint32_t v) {
  const GlowLaneCall *c = &body->calls[k];
  return k + 2 == body->ncalls && glow_lane_casts(&c[0], GLOW_KIND_FLOAT, GLOW_KIND_BFLOAT16) &&
         glow_lane_casts(&c[1], GLOW_KIND_BFLOAT16, GLOW_KIND_FLOAT) && c[0].ins[0] == v &&
         c[1].ins[0] == body->nparams + k;
}

/* Whether the body of an epilogue is what tiles do themselves: the sum, plus the operand if there
 * is one, then limits; or what rows do: the same, rounded. The first operand of a stack is such a
 * sum, too. */
static bool is_clip(const GlowWork *w, GlowBodyCode *code) {
  const GlowBody *body = &w->body;
  const uint32_t extra = w->form == GLOW_BODY_STEPS ? w->noperands - w->nouts - 1 : w->noperands;
  uint32_t v = 0, added = 0;
  bool limited = false;
  code->below = code->low = -INFINITY;
  code->high = INFINITY;
  if (extra > 1 || body->nresults != 1 || body->kinds[0] != GLOW_KIND_FLOAT)
    return false;
  for (uint32_t k = 0; k < body->ncalls; k++) {
    const GlowLaneCall *c = &body->calls[k];
    if (!c->lane)
      continue;
    if (w->form != GLOW_BODY_STEPS && rounds_last(body, k, v)) {
      code->rounds = 1;
      v = body->nparams + ++k;
      continue;
    }
    if (body->kinds[body->nparams + k] != GLOW_KIND_FLOAT || !c->nins || limited)
      return false;
    if (calls(c, GLOW_OP_ADD) && !added && extra && adds(c, v, 1)) {
      added = 1;
      v = body->nparams + k;
      continue;
    }
    if (c->ins[0] != v)
      return false;
    if (calls(c, GLOW_OP_RELU)) /* -0 stays */
      limited = true, code->below = -FLT_TRUE_MIN, code->low = 0;
    else if (calls(c, GLOW_OP_CLIP) && limit_of(body, c, 1, -INFINITY, &code->low) &&
             limit_of(body, c, 2, INFINITY, &code->high))
      limited = true, code->below = code->low;
    else
      return false;
    v = body->nparams + k;
  }
  return body->results[0] == v && extra == added;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* Blocks for the values of a body. */
typedef struct Blocks {
  int64_t *of;     /* by value */
  uint32_t *last;  /* by value: the last call that reads it; the number of calls: a result */
  int64_t *free;   /* blocks that no value needs any more */
  uint32_t nfree;  /* how many of them */
  int64_t count;   /* of all blocks that need room; constants have numbers behind these */
  int64_t numbers; /* with constants */
} Blocks;

static int64_t take_block(Blocks *b) { return b->nfree ? b->free[--b->nfree] : b->count++; }

/* Operands of call k that no later call reads give their blocks back. */
static void release(Blocks *b, const GlowBody *body, uint32_t k) {
  const GlowLaneCall *c = &body->calls[k];
  for (uint32_t i = 0; i < c->nins; i++) {
    uint32_t v = c->ins[i];
    if (v == GLOW_BODY_ABSENT || b->last[v] != k || is_constant(body, v))
      continue;
    b->free[b->nfree++] = b->of[v];
    b->last[v] = UINT32_MAX; /* once */
  }
}

/* A result never has the block of an operand of its call. */
static Blocks assign_blocks(GlowArena *arena, const GlowBody *body) {
  uint32_t count = body->nparams + body->ncalls;
  Blocks b = {.of = GLOW_NEW_ARRAY(arena, int64_t, count),
              .last = GLOW_NEW_ARRAY(arena, uint32_t, count),
              .free = GLOW_NEW_ARRAY(arena, int64_t, count)};
  for (uint32_t v = 0; v < count; v++)
    b.last[v] = UINT32_MAX; /* nobody reads it: it keeps its block */
  for (uint32_t k = 0; k < body->ncalls; k++)
    for (uint32_t i = 0; i < body->calls[k].nins; i++)
      if (body->calls[k].ins[i] != GLOW_BODY_ABSENT)
        b.last[body->calls[k].ins[i]] = k;
  for (uint32_t i = 0; i < body->nresults; i++)
    b.last[body->results[i]] = body->ncalls;
  for (uint32_t v = 0; v < body->nparams; v++)
    b.of[v] = take_block(&b);
  for (uint32_t k = 0; k < body->ncalls; k++)
    if (body->calls[k].lane) {
      b.of[body->nparams + k] = take_block(&b);
      release(&b, body, k);
    }
  b.numbers = b.count;
  for (uint32_t k = 0; k < body->ncalls; k++)
    if (!body->calls[k].lane)
      b.of[body->nparams + k] = b.numbers++;
  return b;
}

static bool has_body(const GlowWork *w) {
  return w->form != GLOW_BODY_NONE && w->body.nresults > 0;
}

const char *glow_library_refuses(GlowArena *arena, const GlowWork *w) {
  if (!has_body(w))
    return NULL;
  const GlowBody body = glow_pair_calls(arena, &w->body);
  int64_t blocks = assign_blocks(arena, &body).numbers;
  if (blocks > GLOW_BODY_BLOCKS)
    return glow_arena_printf(arena, "its body keeps %lld values at a time, of at most %d",
                             (long long)blocks, GLOW_BODY_BLOCKS);
  if (w->noperands > GLOW_BODY_BLOCKS)
    return glow_arena_printf(arena, "it has %u operands, of at most %d", w->noperands,
                             GLOW_BODY_BLOCKS);
  for (uint32_t k = 0; k < body.ncalls; k++)
    if (body.calls[k].nins > GLOW_BODY_INS)
      return "an operator of its body has too many operands";
  return NULL;
}

static void fill_operands(const GlowWork *w, const GlowBody *body, const Blocks *b,
                          GlowBodyOperand *operands) {
  bool stack = w->form == GLOW_BODY_STEPS;
  for (uint32_t i = 0; i < w->noperands; i++) {
    const GlowOperand *o = &w->operands[i];
    uint32_t v = stack ? i - w->nouts : i + 1;
    operands[i] =
        (GlowBodyOperand){.bytes = glow_kind_info[o->kind].bits / 8, .channels = o->channels};
    memcpy(operands[i].stride, o->stride, sizeof o->stride);
    operands[i].block = b->of[stack && i < w->nouts ? body->results[i] : v];
  }
}

/* How a short row takes a call: GLOW_FEW_... */
static int64_t few_of(const GlowLaneCall *c) {
  static const struct {
    GlowOp op;
    int64_t few;
  } own[] = {{GLOW_OP_ADD, GLOW_FEW_ADD},         {GLOW_OP_SUB, GLOW_FEW_SUB},
             {GLOW_OP_MUL, GLOW_FEW_MUL},         {GLOW_OP_DIV, GLOW_FEW_DIV},
             {GLOW_OP_SIGMOID, GLOW_FEW_SIGMOID}, {GLOW_OP_TANH, GLOW_FEW_TANH},
             {GLOW_OP_EXP, GLOW_FEW_EXP},         {GLOW_OP_RELU, GLOW_FEW_RELU}};
  if (!c->lane)
    return GLOW_FEW_CONSTANT;
  if (c->lane == GLOW_BODY_ADD_PRODUCTS)
    return GLOW_FEW_ADD_PRODUCTS;
  if (c->lane == GLOW_BODY_SUB_PRODUCTS)
    return GLOW_FEW_SUB_PRODUCTS;
  if (c->lane >= GLOW_BODY_PAIRS && c->lane < GLOW_BODY_PAIRS + GLOW_PAIR_FIRST * GLOW_PAIR_SECOND)
    return GLOW_FEW_PAIR + c->lane - GLOW_BODY_PAIRS;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (calls(c, own[i].op))
      return own[i].few;
  return GLOW_FEW_NONE;
}

/* Whether short rows need no calls. */
static bool takes_few(const GlowWork *w, const GlowBody *body, const Blocks *b) {
  for (uint32_t v = 0; v < body->nparams + body->ncalls; v++)
    if (body->kinds[v] != GLOW_KIND_FLOAT)
      return false;
  for (uint32_t k = 0; k < body->ncalls; k++)
    if (few_of(&body->calls[k]) == GLOW_FEW_NONE)
      return false;
  for (uint32_t i = 0; i < w->noperands; i++) {
    const int64_t step = w->operands[i].stride[GLOW_OPERAND_DIMS - 1];
    if (step != 0 && step != 1)
      return false;
  }
  return body->ncalls && b->numbers <= GLOW_BODY_MOST;
}

/* Bytes of a call's members; `copies` of a constant. */
static size_t room_of(const GlowLaneCall *c, size_t copies) {
  return ((size_t)c->bytes * (c->lane ? 1 : copies) + 15) / 16 * 16;
}

/* The number of the result that call k makes. */
static int64_t out_of(const GlowBody *body, uint32_t k) {
  for (uint32_t i = 0; i < body->nresults && i < GLOW_BODY_OUTS; i++)
    if (body->results[i] == body->nparams + k)
      return i;
  return -1;
}

/* Members are appended to `all`, a body's bytes so far. */
static void fill_steps(const GlowBody *body, const Blocks *b, GlowBodyStep *steps, size_t copies,
                       char *all, size_t *size) {
  for (uint32_t k = 0; k < body->ncalls; k++) {
    const GlowLaneCall *c = &body->calls[k];
    GlowBodyStep *s = &steps[k];
    *s = (GlowBodyStep){.lane = c->lane,
                        .bytes = glow_kind_info[body->kinds[body->nparams + k]].bits / 8,
                        .result = b->of[body->nparams + k],
                        .nins = c->nins,
                        .few = few_of(c),
                        .out = out_of(body, k)};
    if (c->nins && c->ins[0] != GLOW_BODY_ABSENT)
      s->read = glow_kind_info[body->kinds[c->ins[0]]].bits / 8;
    for (uint32_t i = 0; i < c->nins; i++)
      s->in[i] = c->ins[i] == GLOW_BODY_ABSENT ? -1 : b->of[c->ins[i]];
    if (!c->bytes)
      continue;
    s->members = (int64_t)*size;
    for (size_t i = 0; i < (c->lane ? 1 : copies); i++)
      memcpy(all + *size + i * c->bytes, c->members, c->bytes);
    *size += room_of(c, copies);
  }
}

/* Elements of a unit of a stack whose loops are one, where each operand is elements side by side or
 * a single one; then the operands' steps are known. Otherwise 0. */
static int64_t find_line(const GlowWork *w, GlowBodyOperand *operands) {
  const int64_t *n = ((const GlowStackParams *)w->params)->n;
  int64_t unit = 1;
  for (uint32_t i = 0; i < w->noperands; i++) {
    int64_t next = 1;
    bool whole = true, one = true;
    for (uint32_t d = GLOW_STACK_DIMS; d-- > 0; next *= n[d]) {
      whole &= n[d] == 1 || operands[i].stride[d] == next;
      one &= n[d] == 1 || !operands[i].stride[d];
    }
    if (!whole && (!one || i < w->nouts))
      return 0;
    operands[i].step = whole ? operands[i].bytes : 0;
  }
  for (uint32_t d = 1; d < GLOW_STACK_DIMS; d++)
    unit *= n[d];
  return unit;
}

/* What the rows of a stack's operands have in common. */
static void find_rows(const GlowWork *w, GlowBodyCode *code, GlowBodyOperand *operands) {
  enum { ALONG = GLOW_STACK_DIMS - 1 };
  const int64_t *n = ((const GlowStackParams *)w->params)->n;
  bool varies = false;
  code->down = 0;
  for (uint32_t d = 1; d < ALONG; d++)
    if (n[d] != 1)
      code->down = d;
  bool moves = n[code->down] == 1;
  code->one_row = 1;
  code->in_place = code->single >= 0 || code->clip;
  for (uint32_t i = 0; i < w->noperands; i++) {
    GlowBodyOperand *o = &operands[i];
    const int64_t along = o->stride[ALONG], down = o->stride[code->down];
    o->varies = -(along != 0);
    o->next = down * o->bytes;
    o->unit = o->stride[0] * o->bytes;
    code->one_row &= down == n[ALONG] * along;
    code->in_place &= along == 1 || (i >= w->nouts && !along);
    varies |= i >= w->nouts && along;
    moves |= i >= w->nouts && down;
  }
  code->in_place &= varies && moves;
}

/* The only call that is no constant, if it is the result; otherwise -1. */
static int64_t single_step(const GlowBody *body) {
  int64_t found = -1;
  for (uint32_t k = 0; k < body->ncalls; k++)
    if (body->calls[k].lane && (found >= 0 || body->results[0] != body->nparams + k))
      return -1;
    else if (body->calls[k].lane)
      found = k;
  return body->nresults == 1 ? found : -1;
}

/* How large blocks are: more elements would not stay in the first-level cache, or need more room
 * than there is. A block may be written up to a register beyond its elements. */
static void size_blocks(const GlowBody *body, GlowBodyCode *code) {
  enum { MOST = 1024 };
  int64_t widest = 1;
  for (uint32_t v = 0; v < body->nparams + body->ncalls; v++) {
    int64_t bytes = glow_kind_info[body->kinds[v]].bits / 8;
    widest = bytes > widest ? bytes : widest;
  }
  int64_t fit = GLOW_BODY_ROOM / widest / (code->blocks + 1) / GLOW_BODY_LANES * GLOW_BODY_LANES;
  code->most = fit < MOST ? fit : MOST;
  code->pitch = (code->most + GLOW_BODY_LANES) * widest;
}

int64_t glow_library_body(GlowImageBuilder *b, const GlowWork *w) {
  if (!has_body(w) || glow_library_refuses(b->arena, w))
    return -1;
  const GlowBody pairs = glow_pair_calls(b->arena, &w->body), *body = &pairs;
  GlowBodyCode code = {.nouts = w->nouts, .noperands = w->noperands, .nsteps = body->ncalls};
  Blocks blocks = assign_blocks(b->arena, body);
  const bool limits = is_clip(w, &code);
  code.clip = limits && !code.rounds;
  code.rounds &= limits;
  code.blocks = blocks.count;
  size_blocks(body, &code);
  code.single = single_step(body);
  code.few = takes_few(w, body, &blocks);
  const size_t copies = code.few ? GLOW_BODY_LANES : 1;
  if (w->form != GLOW_BODY_STEPS) {
    code.acc = blocks.of[0];
    code.result = blocks.of[body->results[0]];
  }
  size_t operands = sizeof code, steps = operands + w->noperands * sizeof(GlowBodyOperand);
  size_t size = (steps + body->ncalls * sizeof(GlowBodyStep) + 15) / 16 * 16, room = size;
  for (uint32_t k = 0; k < body->ncalls; k++)
    room += room_of(&body->calls[k], copies);
  char *all = glow_arena_alloc(b->arena, room);
  fill_operands(w, body, &blocks, (GlowBodyOperand *)(void *)(all + operands));
  if (w->form == GLOW_BODY_STEPS) {
    code.line = find_line(w, (GlowBodyOperand *)(void *)(all + operands));
    find_rows(w, &code, (GlowBodyOperand *)(void *)(all + operands));
  }
  fill_steps(body, &blocks, (GlowBodyStep *)(void *)(all + steps), copies, all, &size);
  memcpy(all, &code, sizeof code);
  return glow_image_add(b, all, size);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static void reference_piece(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  const GlowReferenceParams *p = ptrs[0];
  (void)begin, (void)end, (void)worker; /* it is one unit */
  glow_reference_call(glow_kernels_best()->table[p->op].kernel, ptrs);
}

static GlowPieceFn *function_of(const GlowLibrary *library, const GlowWork *w) {
  switch (w->kind) {
  case GLOW_WORK_KERNEL:
    return library->kernels[w->kernel - glow_kernels];
  case GLOW_WORK_REFERENCE:
    return reference_piece;
  default:
    return NULL;
  }
}

/* The library of a machine; NULL after a diagnostic. */
static const GlowLibrary *library_of(GlowContext *ctx, const GlowIsa *isa) {
  const GlowLibrary *library = glow_library(isa->name);
  if (!library) {
    glow_error(ctx, GLOW_NOWHERE, "this build has no library of kernels for %s", isa->name);
  } else if (library->table != glow_table_hash) {
    glow_error(ctx, GLOW_NOWHERE, "the library of %s was built from another table of kernels",
               isa->name);
    glow_throw(ctx, GLOW_INTERNAL);
  }
  return library;
}

/* The functions of all pieces. False after a diagnostic. */
static bool find_functions(GlowContext *ctx, GlowArena *arena, const GlowLibrary *library,
                           const GlowProgramData *data, bool whole, GlowPieceFn **functions) {
  for (int64_t i = 0; i < data->npieces; i++) {
    const GlowWork *w = data->pieces[i];
    const char *why = glow_library_refuses(arena, w);
    functions[i] = why ? NULL : function_of(library, w);
    if (!why || !whole)
      continue;
    glow_error(ctx, w->source->loc, "the library cannot run '%s': %s", w->source->desc->instr, why);
    return false;
  }
  return true;
}

const GlowProgram *glow_library_bind(GlowContext *ctx, GlowArena *arena, const GlowIsa *isa,
                                     const GlowProgramData *data, bool whole, GlowEntryCode *code) {
  const GlowLibrary *library = library_of(ctx, isa);
  size_t n = (size_t)data->npieces;
  *code = (GlowEntryCode){.npieces = (uint32_t)n,
                          .now = GLOW_NEW_ARRAY(arena, GlowPieceFn *, n),
                          .better = GLOW_NEW_ARRAY(arena, GlowPieceFn *, n),
                          .library = GLOW_NEW_ARRAY(arena, GlowPieceFn *, n)};
  if (!library || !find_functions(ctx, arena, library, data, whole, code->library))
    return NULL;
  for (size_t i = 0; i < n; i++)
    code->now[i] = code->library[i];
  GlowProgram *p = GLOW_NEW(arena, GlowProgram);
  *p = (GlowProgram){.steps = data->steps,
                     .addresses = data->addresses,
                     .pieces = code->now,
                     .params = glow_image_copy(arena, &data->params),
                     .zeros = glow_image_room(arena, (size_t)data->zeros),
                     .nsteps = data->nsteps,
                     .naddresses = data->naddresses,
                     .loops = data->loops,
                     .scratch = data->scratch};
  return p;
}
