/* A convolution that pools, where no kernel does both at once: the map in memory of its own, then a
 * pool of it. The two instructions exist here only; the program stays as it is. */
#include "backend/cpu/select.h"
#include "ir/infer.h"

#include <string.h>

/* A buffer of the map's type that no text names; diagnostics call it by the name of the result. */
static GlowValue *map_buffer(GlowSelect *s, const GlowNode *n) {
  GlowValue *v = GLOW_NEW(s->arena, GlowValue);
  *v = (GlowValue){.kind = GLOW_VALUE_PARAM, .type = glow_node_map(n)};
  v->name = glow_node_out(n, 0)->name;
  GlowPlace place = glow_select_extra(s, glow_type_bytes(v->type));
  glow_map_set(s->places, v, glow_arena_copy(s->arena, &place, sizeof place));
  return v;
}

/* n with other operands and members, which are not uses of what they name. */
static GlowNode *stand_in(GlowSelect *s, const GlowNode *n, const GlowUse *operands, uint32_t count,
                          const void *members, size_t size) {
  GlowNode *copy = glow_arena_copy(s->arena, n, sizeof *n);
  copy->operands = glow_arena_copy(s->arena, operands, count * sizeof *operands);
  copy->noperands = count;
  copy->members = glow_arena_copy(s->arena, members, size);
  return copy;
}

bool glow_select_apart(GlowSelect *s, const GlowNode *n, const GlowMaxPoolMembers *pool) {
  GlowValue *map = map_buffer(s, n);
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)n->members;
  members.pool_kernels = members.pool_strides = members.pool_pads = (GlowArray){0};
  GlowNode *first = stand_in(s, n, n->operands, n->noperands, &members, sizeof members);
  first->operands[0].value = map;
  GlowUse operands[] = {n->operands[0], {.value = map, .qual = GLOW_QUAL_IN}};
  GlowNode *second = stand_in(s, n, operands, 2, pool, sizeof *pool);
  second->op = GLOW_OP_MAX_POOL;
  second->nextra = second->nregions = 0;
  return glow_select_instruction(s, first) && glow_select_instruction(s, second);
}
