/* The inside of the generator. */
#ifndef GLOW_TEST_RANDOM_INTERNAL_H
#define GLOW_TEST_RANDOM_INTERNAL_H

#include "ir/infer.h"
#include "test/random/random_graph.h"

enum {
  MAX_OPERANDS = 16,
  MAX_ELEMENTS = 2048, /* of a result that is kept */
  MAX_LIST = 16
};

typedef GLOW_VEC(GlowValue *) GlowValuePool;

typedef struct GlowGen {
  GlowContext *ctx;
  GlowModule *module;
  GlowFunction *function;
  GlowBlock *block; /* where nodes go */
  GlowChoice *choice;
  GlowArena *arena;
  GlowValuePool pool; /* values that the block sees */
  int64_t extents[4];
  uint32_t depth; /* of regions */
  uint32_t names;
  bool control, sequences, dynamic; /* families that this module uses */
  bool predicates;                  /* whether nodes have some */
} GlowGen;

/* A node that is being put together. */
typedef struct GlowDraft {
  GlowOp op;
  const GlowOpDesc *desc;
  void *members;
  GlowValue *in[MAX_OPERANDS];
  uint32_t nin;
  const GlowType *vars[8]; /* kind and quantization of each type variable; rank 0 */
  uint32_t naxes;          /* how many axes the operands that list axes speak of */
  const GlowType *claim;   /* of result 0 where the operator leaves it free */
} GlowDraft;

#define CHOOSE(g, n) glow_choose((g)->choice, (n))
#define ONCE_IN(g, n) glow_once_in((g)->choice, (n))

/* values.c */
const GlowType *glow_gen_type(GlowGen *g, GlowKind kind);
int64_t glow_gen_extent(GlowGen *g);
void glow_gen_fill(GlowChoice *c, GlowTensor *t);
/* A new placeholder, parameter or constant of a static type. */
GlowValue *glow_gen_fresh(GlowGen *g, const GlowType *type);
GlowValue *glow_gen_ints(GlowGen *g, const GlowType *type, const int64_t *values);
/* Some value of the pool that `fits` accepts, the latest ones rather; NULL if there is none. */
GlowValue *glow_gen_pick(GlowGen *g, bool (*fits)(const GlowValue *v, const void *arg),
                         const void *arg);
bool glow_gen_same_type(const GlowValue *v, const void *type);
void glow_gen_add(GlowGen *g, GlowValue *v);
GlowStr glow_gen_name(GlowGen *g);

/* members.c */
bool glow_gen_members(GlowGen *g, GlowDraft *d);
/* The member `name` as an integer; `initial` if there is none of that name. */
int64_t glow_gen_member(const GlowDraft *d, const char *name, int64_t initial);

/* operands.c: false if there is nothing that fits. */
bool glow_gen_operands(GlowGen *g, GlowDraft *d);

/* regions.c */
bool glow_gen_control(GlowGen *g, GlowOp op);

/* nodes.c */
void glow_gen_nodes(GlowGen *g, uint32_t count);

#endif
