/* Members by their type and by what their name means: an axis, a permutation, one number for each
 * spatial axis. Defaults stay half of the time. */
#include <string.h>

#include "tensor/element.h"
#include "test/random/internal.h"

static const GlowType *first_type(const GlowDraft *d) {
  return d->nin && d->in[0] && glow_type_is_tensor(d->in[0]->type) ? d->in[0]->type : NULL;
}

static uint32_t rank_of(const GlowDraft *d) {
  const GlowType *t = first_type(d);
  return t && !t->unranked ? t->rank : 2;
}

static bool named(const GlowMember *m, const char *name) { return strcmp(m->name, name) == 0; }

/* ---- One number ------------------------------------------------------------------------------ */

static int64_t integer(GlowGen *g, const GlowDraft *d, const GlowMember *m) {
  uint32_t rank = rank_of(d);
  if (strstr(m->name, "axis"))
    return (int64_t)CHOOSE(g, 2 * rank + 1) - rank;
  if (named(m, "group")) {
    const GlowType *t = first_type(d);
    return ONCE_IN(g, 4) && t && rank > 1 && t->dims[1].size > 0 ? t->dims[1].size : 1;
  }
  return (int64_t)CHOOSE(g, m->type == GLOW_MEMBER_U32 ? 4 : 6) - (m->type != GLOW_MEMBER_U32);
}

static double number(GlowGen *g, const GlowMember *m) {
  static const double values[] = {0.5, 1.0, 0.25, 2.0, 1e-3, 3.0, 0.0, -1.0, -0.5, 1e6};
  return values[CHOOSE(g, strstr(m->name, "eps") ? 5 : 10)];
}

static GlowKind kind_of(GlowGen *g) {
  static const GlowKind kinds[] = {GLOW_KIND_FLOAT, GLOW_KIND_I64,     GLOW_KIND_I32,
                                   GLOW_KIND_FLOAT, GLOW_KIND_FLOAT16, GLOW_KIND_BOOL,
                                   GLOW_KIND_U8,    GLOW_KIND_DOUBLE,  GLOW_KIND_BFLOAT16,
                                   GLOW_KIND_I8,    GLOW_KIND_U16};
  return kinds[CHOOSE(g, sizeof kinds / sizeof *kinds)];
}

static void put_one(GlowGen *g, const GlowDraft *d, const GlowMember *m, void *to) {
  switch ((GlowMemberType)m->type) {
  case GLOW_MEMBER_BOOL:
    *(bool *)to = CHOOSE(g, 2);
    break;
  case GLOW_MEMBER_U32:
    *(uint32_t *)to = (uint32_t)integer(g, d, m);
    break;
  case GLOW_MEMBER_I64:
    *(int64_t *)to = integer(g, d, m);
    break;
  case GLOW_MEMBER_FLOAT:
    *(float *)to = (float)number(g, m);
    break;
  case GLOW_MEMBER_STR:
    *(GlowStr *)to = glow_str(g->ctx, CHOOSE(g, 2) ? "a" : "and");
    break;
  case GLOW_MEMBER_KIND:
    *(GlowKind *)to = kind_of(g);
    break;
  case GLOW_MEMBER_TYPE:
    *(const GlowType **)to = glow_gen_type(g, kind_of(g));
    break;
  case GLOW_MEMBER_SCALAR:
    *(GlowScalar *)to =
        CHOOSE(g, 2) ? glow_scalar_int((int64_t)CHOOSE(g, 5) - 1) : glow_scalar_float(number(g, m));
    break;
  case GLOW_MEMBER_SIZE:
    *(GlowSize *)to = (GlowSize){.size = integer(g, d, m)};
    break;
  case GLOW_MEMBER_ENUM:
    *(int *)to = (int)CHOOSE(g, m->enumeration->count);
    break;
  case GLOW_MEMBER_SYMBOL:
    break;
  }
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static uint32_t put_permutation(GlowGen *g, int64_t *values, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++)
    values[i] = i;
  for (uint32_t i = rank; i > 1; i--) {
    uint32_t k = CHOOSE(g, i);
    int64_t t = values[i - 1];
    values[i - 1] = values[k];
    values[k] = t;
  }
  return rank;
}

static uint32_t put_list(GlowGen *g, const GlowDraft *d, const GlowMember *m, int64_t *values) {
  uint32_t rank = rank_of(d), spatial = rank > 2 ? rank - 2 : 1;
  if (named(m, "perm"))
    return put_permutation(g, values, rank);
  bool axes = strstr(m->name, "axes"), pads = named(m, "pads");
  bool window = strstr(m->name, "kernel") || named(m, "strides") || named(m, "dilations");
  uint32_t count = pads ? 2 * spatial : window ? spatial : axes ? 1 + CHOOSE(g, 2) : CHOOSE(g, 4);
  for (uint32_t i = 0; i < count; i++)
    values[i] = axes   ? (int64_t)CHOOSE(g, rank + 1)
                : pads ? (int64_t)CHOOSE(g, 2)
                       : (int64_t)(window + CHOOSE(g, strstr(m->name, "kernel") ? 3 : 2));
  return count;
}

static void put_array(GlowGen *g, const GlowDraft *d, const GlowMember *m, GlowArray *to) {
  int64_t values[MAX_LIST];
  uint32_t count = 0;
  if (m->type == GLOW_MEMBER_U32 || m->type == GLOW_MEMBER_I64) {
    count = put_list(g, d, m, values);
    uint32_t narrow[MAX_LIST];
    for (uint32_t i = 0; i < count; i++)
      narrow[i] = (uint32_t)values[i];
    *to = m->type == GLOW_MEMBER_I64 ? glow_array_i64(g->module, values, count)
                                     : glow_array_u32(g->module, narrow, count);
    return;
  }
  static const size_t largest = sizeof(GlowScalar);
  count = CHOOSE(g, 3);
  char *data = glow_arena_array(g->module->arena, count + 1, largest);
  size_t size = m->type == GLOW_MEMBER_BOOL     ? sizeof(bool)
                : m->type == GLOW_MEMBER_FLOAT  ? sizeof(float)
                : m->type == GLOW_MEMBER_KIND   ? sizeof(GlowKind)
                : m->type == GLOW_MEMBER_ENUM   ? sizeof(int)
                : m->type == GLOW_MEMBER_SCALAR ? sizeof(GlowScalar)
                : m->type == GLOW_MEMBER_SIZE   ? sizeof(GlowSize)
                                                : sizeof(GlowStr);
  for (uint32_t i = 0; i < count; i++)
    put_one(g, d, m, data + i * size);
  *to = (GlowArray){count, data};
}

bool glow_gen_members(GlowGen *g, GlowDraft *d) {
  if (!d->desc->member_size)
    return true;
  d->members = glow_arena_copy(g->arena, d->desc->member_defaults, d->desc->member_size);
  for (uint32_t i = 0; i < d->desc->nmembers; i++) {
    const GlowMember *m = &d->desc->members[i];
    if (m->instr_only || (!m->required && CHOOSE(g, 2)))
      continue;
    if (m->type == GLOW_MEMBER_SYMBOL)
      return false;
    void *to = (char *)d->members + m->offset;
    if (m->array)
      put_array(g, d, m, to);
    else
      put_one(g, d, m, to);
  }
  return true;
}

int64_t glow_gen_member(const GlowDraft *d, const char *name, int64_t initial) {
  const GlowMember *m = d->members ? glow_op_member(d->desc, name) : NULL;
  if (!m || m->array)
    return initial;
  const void *field = (const char *)d->members + m->offset;
  return m->type == GLOW_MEMBER_I64    ? *(const int64_t *)field
         : m->type == GLOW_MEMBER_U32  ? *(const uint32_t *)field
         : m->type == GLOW_MEMBER_ENUM ? *(const int *)field
                                       : initial;
}
