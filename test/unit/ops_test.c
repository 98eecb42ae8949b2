/* The table of operators: every row is found by its names, and says nothing that contradicts
 * itself. */
#include <stdio.h>
#include <string.h>

#include "ops/op.h"
#include "test/unit/unit.h"

static const char *name_of(const GlowOpDesc *d) { return d->node ? d->node : d->instr; }

static void test_lookup(void) {
  for (int op = 0; op < GLOW_OP_COUNT; op++) {
    const GlowOpDesc *d = &glow_op_desc[op];
    if (d->node) {
      size_t n = strlen(d->node);
      EXPECT(glow_op_from_node_name(d->node, n) == (GlowOp)op, "node %s", d->node);
      /* The length counts, not a NUL. */
      EXPECT(glow_op_from_node_name(d->node, n - 1) != (GlowOp)op, "prefix of %s", d->node);
    }
    if (d->instr) {
      size_t n = strlen(d->instr);
      EXPECT(glow_op_from_instr_name(d->instr, n) == (GlowOp)op, "instruction %s", d->instr);
      EXPECT(glow_op_from_instr_name(d->instr, n - 1) != (GlowOp)op, "prefix of %s", d->instr);
    }
    EXPECT(d->node || d->instr, "operator %d has no name", op);
    EXPECT(GLOW_HAS(d, NODE_ONLY) == (d->instr == NULL), "%s", name_of(d));
    EXPECT(GLOW_HAS(d, INSTR_ONLY) == (d->node == NULL), "%s", name_of(d));
  }
  EXPECT(glow_op_from_node_name("convolution", 11) == GLOW_OP_COUNT, "an instruction's name");
  EXPECT(glow_op_from_node_name("Zz", 2) == GLOW_OP_COUNT, "beyond the last name");
  EXPECT(glow_op_from_node_name("", 0) == GLOW_OP_COUNT, "an empty name");
  EXPECT(glow_op_from_node_name("MaxPooling", 7) == GLOW_OP_MAX_POOL, "a name inside a text");
  EXPECT(glow_op_from_instr_name("MaxPool", 7) == GLOW_OP_COUNT, "a node's name");
}

static void check_members(const GlowOpDesc *d) {
  EXPECT((d->nmembers == 0) == (d->member_size == 0), "%s", name_of(d));
  for (uint8_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    EXPECT(glow_op_member(d, m->name) == m, "%s.%s", name_of(d), m->name);
    EXPECT(m->offset < d->member_size, "%s.%s", name_of(d), m->name);
    EXPECT(m->required == (m->initial == NULL), "%s.%s", name_of(d), m->name);
    EXPECT(!m->initial || (const char *)m->initial == (const char *)d->member_defaults + m->offset,
           "%s.%s", name_of(d), m->name);
    EXPECT((m->type == GLOW_MEMBER_ENUM) == (m->enumeration != NULL), "%s.%s", name_of(d), m->name);
  }
  EXPECT(glow_op_member(d, "no such member") == NULL, "%s", name_of(d));
}

static void test_rows(void) {
  for (int op = 0; op < GLOW_OP_COUNT; op++) {
    const GlowOpDesc *d = &glow_op_desc[op];
    const char *name = name_of(d);
    check_members(d);
    EXPECT(d->doc && *d->doc, "%s has no documentation", name);
    EXPECT(!GLOW_HAS(d, LOWERED) || d->has_lower, "%s", name);
    EXPECT(!d->has_scalar || GLOW_HAS(d, ELEMENTWISE), "%s", name);
    EXPECT(d->epilogue < (int)d->nout, "%s", name);
    for (uint8_t i = 0; i < d->ninplace; i++)
      EXPECT(d->inplace[i].out < d->nout && d->inplace[i].in < d->nin, "%s", name);
    for (uint8_t i = 0; i < d->nin; i++)
      EXPECT(d->in[i].type != GLOW_PORT_VAR || d->in[i].var < d->nvars, "%s.%s", name,
             d->in[i].name);
  }
}

static void test_values(void) {
  const GlowLeakyReluMembers *leaky = glow_op_desc[GLOW_OP_LEAKY_RELU].member_defaults;
  const GlowShapeMembers *shape = glow_op_desc[GLOW_OP_SHAPE].member_defaults;
  const GlowConstantOfShapeMembers *fill = glow_op_desc[GLOW_OP_CONSTANT_OF_SHAPE].member_defaults;
  EXPECT(leaky->alpha == 0.01f, "alpha");
  EXPECT(shape->start == 0 && shape->end == INT64_MAX, "start and end");
  EXPECT(fill->kind == GLOW_KIND_FLOAT && fill->value.is_int && fill->value.i == 0, "value");
  const GlowOpDesc *concat = &glow_op_desc[GLOW_OP_CONCAT];
  EXPECT(glow_op_in_port(concat, 7) == &concat->in[0], "a variadic port continues");
  EXPECT(glow_op_out_port(concat, 1) == NULL, "there is no second result");
}

int main(void) {
  test_lookup();
  test_rows();
  test_values();
  return unit_finish();
}
