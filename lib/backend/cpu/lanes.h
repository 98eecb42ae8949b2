/* Element-wise operators as calls of the functions of lanes (lib/kernels/cpu/lanes_*.c), with the
 * conversions that kinds ask for: what a GlowBody lists. */
#ifndef GLOW_BACKEND_CPU_LANES_H
#define GLOW_BACKEND_CPU_LANES_H

#include "codegen/codegen.h"
#include "ir/ir.h"

/* A value of a scalar block: its type, and its number among the values of the body. */
typedef struct GlowLane {
  uint32_t value; /* or GLOW_BODY_ABSENT */
  GlowKind kind;  /* GLOW_KIND_COUNT: nothing that lanes can hold */
  bool quantized;
  float scale; /* of quantized elements, like offset */
  int32_t offset;
} GlowLane;

/* A body under construction. */
typedef struct GlowLaneList {
  GlowContext *ctx;
  GlowArena *arena;
  GLOW_VEC(GlowKind) kinds; /* of all values */
  GLOW_VEC(GlowLaneCall) calls;
  GlowLoc loc; /* of the calls that are appended next */
} GlowLaneList;

/* The type of v as lanes, which have no number yet. */
GlowLane glow_lane_of(const GlowValue *v);
/* A parameter: the next value. */
void glow_lane_param(GlowLaneList *l, GlowLane *lane);
/* One element of a kind on all lanes. */
uint32_t glow_lanes_constant(GlowLaneList *l, const void *element, GlowKind kind);
/* Appends the calls that compute n; in: its operands, in order. False if n has no vector form for
 * its kinds. */
bool glow_lanes_append(GlowLaneList *l, const GlowNode *n, const GlowLane *in, GlowLane *out);
/* Value v as another kind, as Cast does it. */
uint32_t glow_lanes_cast(GlowLaneList *l, uint32_t v, GlowKind to);
/* Whether a call is Cast from one kind to another. */
bool glow_lane_casts(const GlowLaneCall *c, GlowKind from, GlowKind to);
/* Whether a call makes a quantized element of a kind from a float. */
bool glow_lane_quantizes(const GlowLaneCall *c, GlowKind to);

/* Numbers that a call has besides operands: a constant, or the scale, perhaps its reciprocal, and
 * the zero point of a conversion. */
typedef struct GlowLaneNumbers {
  uint32_t count;
  GlowKind kinds[3];
  uint64_t values[3]; /* as they are stored, in the first bytes */
  uint32_t lane; /* the function that has them as its last operands; 0: the call is a constant */
} GlowLaneNumbers;

/* The numbers of a call from values of kind `from` to those of kind `to`. None, where no function
 * has them as operands: of kinds of more than 16 bits, and of divisors that are no usual scale. */
GlowLaneNumbers glow_lane_numbers(const GlowLaneCall *c, GlowKind from, GlowKind to);

#endif
