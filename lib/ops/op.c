/* Finding operators and members by name. */
#include "ops/op.h"

#include <string.h>

/* Compares a name of `length` bytes with a NUL-terminated one, as strcmp does. */
static int compare(const char *name, size_t length, const char *other) {
  int c = strncmp(name, other, length);
  return c ? c : other[length] ? -1 : 0;
}

static GlowOp find(const char *name, size_t length, const uint16_t *sorted, uint32_t count,
                   bool node) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const GlowOpDesc *d = &glow_op_desc[sorted[middle]];
    int c = compare(name, length, node ? d->node : d->instr);
    if (c == 0)
      return (GlowOp)sorted[middle];
    if (c < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return GLOW_OP_COUNT;
}

GlowOp glow_op_from_node_name(const char *name, size_t length) {
  return find(name, length, glow_op_by_node, glow_op_nodes, true);
}

GlowOp glow_op_from_instr_name(const char *name, size_t length) {
  return find(name, length, glow_op_by_instr, glow_op_instrs, false);
}

const GlowMember *glow_op_member(const GlowOpDesc *desc, const char *name) {
  for (uint32_t i = 0; i < desc->nmembers; i++)
    if (strcmp(desc->members[i].name, name) == 0)
      return &desc->members[i];
  return NULL;
}

static bool is_real(GlowKind k) { return glow_kind_info[k].cls == GLOW_CLASS_FLOAT; }

static GlowKind mixed_kind(GlowKind a, GlowKind b) {
  bool wide = a == GLOW_KIND_DOUBLE || b == GLOW_KIND_DOUBLE;
  if (is_real(a) && is_real(b))
    return wide ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT;
  if (is_real(a))
    return wide || glow_kind_info[b].bits > 16 ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT;
  if (is_real(b))
    return GLOW_KIND_DOUBLE;
  return a == GLOW_KIND_U64 || b == GLOW_KIND_U64 ? GLOW_KIND_U64 : GLOW_KIND_I64;
}

GlowKind glow_op_compute_kind(const GlowOpDesc *d, const GlowKind *kinds, uint32_t count) {
  GlowKind first = GLOW_KIND_COUNT;
  if (d->nvars == 0)
    return count ? kinds[0] : GLOW_KIND_COUNT;
  for (uint32_t i = 0; i < count; i++) {
    if (d->in[i].type != GLOW_PORT_VAR || kinds[i] == GLOW_KIND_COUNT)
      continue;
    if (first != GLOW_KIND_COUNT && kinds[i] != first)
      return mixed_kind(first, kinds[i]);
    first = kinds[i];
  }
  return first;
}
