/* Epilogues: an element-wise instruction that alone reads the result of a contraction is applied
 * while the contraction writes it.
 *
 *   convolution @out %t, ..;  add @out %u, @in %t, @in %skip;  relu @out %y, @in %u
 *     becomes   convolution @out %y, .., @in %skip ^epilogue(%acc, %s) = { Add, Relu }
 *
 * The contraction moves down to the instruction, so nothing in between may write what it reads.
 *
 * Kernels of narrow integers store other kinds than they compute, as the target says. With the
 * instruction goes what alone widens another operand of it for it:
 *
 *   convolution @out %t, ..;  dequantize @out %d, @in %s;  add @out %y, @in %t, @in %d
 *     becomes   convolution @out %y, .., @in %s ^epilogue(%acc, %s) = { Dequantize, Add }
 *
 * With it goes, too, what alone computes another operand of it, if the result has few elements: to
 * begin another loop would take longer than the loop. */
#include "ir/infer.h"
#include "target/target.h"
#include "transforms/programs.h"

/* The kind of what the contraction computes, which is what its kernels store. */
static GlowKind kind_of(const GlowNode *c) {
  const GlowBlock *epilogue = glow_node_epilogue(c);
  return (epilogue ? epilogue->params[0] : c->operands[0].value)->type->kind;
}

/* Whether an epilogue can do what n does. */
static bool can_take(const GlowNode *n) { return n->nouts == 1 && glow_scalar_can_hold(n); }

/* Whether c can take n as far as kinds go: n's result has the kind that c computes; or the only
 * instruction that reads n's result can be taken, too, and its result has that kind again. */
static bool keeps_kind(const GlowNode *c, const GlowNode *n) {
  GlowValue *out = n->operands[0].value;
  if (out->type->kind == kind_of(c))
    return true;
  GlowBufferUses uses = {0};
  if (glow_buffer_is_plain_alloc(out))
    uses = glow_buffer_uses(out);
  const GlowNode *next = uses.reader ? uses.reader->user : NULL;
  return next && !uses.others && next->block == n->block && can_take(next) &&
         next->operands[0].value->type->kind == kind_of(c) &&
         glow_scalar_steps(c) + glow_scalar_steps(n) + glow_scalar_steps(next) <= GLOW_MAX_STEPS;
}

/* The instruction that alone writes operand v of n, for n alone, from narrower elements. */
static GlowNode *widening(const GlowNode *c, const GlowNode *n, GlowValue *v) {
  GlowNode *p = glow_instr_producer(n, v);
  if (!p || p == c || !can_take(p) || glow_node_nins(p) != 1 || glow_node_epilogue(p))
    return NULL;
  const GlowType *x = glow_node_in(p, 0)->type;
  return glow_kind_info[x->kind].bits < glow_kind_info[v->type->kind].bits ? p : NULL;
}

/* The instruction that alone computes operand v of n, for n alone, where the elements are few. */
static GlowNode *few_elements(const GlowNode *c, const GlowNode *n, GlowValue *v) {
  enum { FEW = 4096 };
  const GlowType *t = n->operands[0].value->type;
  GlowNode *p = glow_type_elements(v->type) <= FEW && v->type->kind == kind_of(c)
                    ? glow_instr_producer(n, v)
                    : NULL;
  bool fits = p && can_take(p) && !glow_node_epilogue(p) && v->type->rank == t->rank &&
              !memcmp(v->type->dims, t->dims, t->rank * sizeof *t->dims);
  return fits ? p : NULL;
}

/* What goes with n into the epilogue of c: instructions that compute operands of n. */
typedef struct Sources {
  GlowNode *all[4];
  uint32_t count;
} Sources;

/* What computes operands of n beside `link`, which c writes, and goes with n. Where elements are
 * narrow, one is enough, what is added to a sum; then *fits says that no other operand has as many
 * elements as the result. */
static Sources sources_of(const GlowNode *c, const GlowNode *n, const GlowValue *link, bool *fits) {
  Sources found = {.count = 0};
  const bool narrow = glow_node_is_narrow(c);
  const uint32_t most = narrow ? 1 : sizeof found.all / sizeof *found.all;
  *fits = true;
  for (uint32_t i = n->nouts; i < n->noperands; i++) {
    GlowValue *v = n->operands[i].value;
    if (!v || v == link)
      continue;
    GlowNode *p = NULL;
    if (found.count < most)
      p = narrow ? widening(c, n, v) : few_elements(c, n, v);
    if (p)
      found.all[found.count++] = p;
    *fits = *fits && (!narrow || p || glow_type_elements(v->type) < glow_type_elements(link->type));
  }
  return found;
}

/* The contraction that can take n into its epilogue; NULL if there is none. *link becomes the
 * buffer between both, which n alone reads and which then disappears. */
static GlowNode *find_contraction(GlowPassRun *run, const GlowNode *n, GlowValue **link) {
  GlowValue *out = n->operands[0].value;
  for (uint32_t i = n->nouts; i < n->noperands; i++) {
    GlowValue *v = n->operands[i].value;
    if (!v || !glow_buffer_is_plain_alloc(v) || v->type->rank != out->type->rank ||
        memcmp(v->type->dims, out->type->dims, out->type->rank * sizeof *out->type->dims) != 0)
      continue;
    GlowNode *c = glow_instr_producer(n, v);
    GlowMaxPoolMembers pool;
    if (!c || glow_node_desc(c)->epilogue != 0 || glow_node_pool(c, &pool) ||
        (!glow_node_is_narrow(c) && !keeps_kind(c, n)))
      continue;
    const char *why = NULL;
    bool fits;
    const Sources sources = sources_of(c, n, v, &fits);
    if (!fits || glow_scalar_steps(c) + glow_scalar_steps(n) + sources.count > GLOW_MAX_STEPS)
      continue;
    if (!glow_target_fuses(glow_target_asked(run->module), c, n, &why)) {
      glow_pass_remark(run, glow_node_loc(n), "%s stays: %s", glow_node_desc(n)->instr, why);
      continue;
    }
    *link = v;
    return c;
  }
  return NULL;
}

/* The start of the new body: the accumulator, then what the old epilogue does to it. */
static GlowValue *begin_body(GlowScalarBody *s, const GlowNode *c, const GlowType *acc) {
  const GlowBlock *old = glow_node_epilogue(c);
  GlowContext *ctx = s->body->module->ctx;
  GlowValue **args = GLOW_NEW_ARRAY(s->arena, GlowValue *, 1 + c->nextra);
  args[0] = glow_block_add_param(s->body, glow_str(ctx, "acc"), glow_scalar_type(ctx, acc));
  s->first_param = 1;
  for (uint32_t i = 0; i < c->nextra; i++) {
    GlowValue *extra = c->operands[c->noperands - c->nextra + i].value;
    args[1 + i] = glow_block_add_param(s->body, NULL, glow_scalar_type(ctx, extra->type));
    glow_vec_push(s->arena, &s->inputs, extra);
  }
  GlowValue *value = args[0];
  if (old)
    glow_scalar_inline(s, old, args, &value);
  return value;
}

static GlowNode *fuse(GlowPassRun *run, GlowNode *c, GlowNode *n, GlowValue *link) {
  glow_program_begin_change(run);
  GlowScalarBody s = glow_scalar_begin(run->module, run->arena, "epilogue");
  const GlowBlock *old = glow_node_epilogue(c);
  const GlowType *acc = old ? old->params[0]->type : link->type;
  glow_scalar_define(&s, link, begin_body(&s, c, acc));
  bool fits;
  const Sources sources = sources_of(c, n, link, &fits);
  for (uint32_t i = 0; i < sources.count; i++)
    if (!glow_scalar_apply(&s, sources.all[i]))
      return NULL;
  if (!glow_scalar_apply(&s, n))
    return NULL;
  GlowValue *v = glow_scalar_value(&s, n->operands[0].value);
  glow_build_terminator(s.body, GLOW_OP_YIELD, &v, 1);
  uint32_t nregions = glow_node_desc(c)->nregions;
  uint32_t nins = s.inputs.count ? glow_node_desc(c)->nin : glow_node_nins(c); /* `none` counts */
  GlowBlock **regions = GLOW_NEW_ARRAY(run->arena, GlowBlock *, nregions + 1);
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, nins);
  regions[nregions] = s.body;
  for (uint32_t i = 0; i < nins; i++)
    ins[i] = glow_node_in(c, i);
  GlowBuilder b = glow_builder_before(n);
  b.src = c->src;
  b.origin = c->origin;
  GlowNodeSpec spec = {.op = c->op,
                       .outs = &n->operands[0].value,
                       .nouts = 1,
                       .ins = ins,
                       .nins = nins,
                       .extras = s.inputs.data,
                       .nextra = s.inputs.count,
                       .members = c->members,
                       .shards = c->shards,
                       .regions = regions,
                       .nregions = nregions + 1};
  GlowNode *fused = glow_node_create(&b, &spec);
  if (!fused)
    return NULL;
  glow_pass_changed(run, n, "moved %s into the epilogue of %s", glow_node_desc(n)->instr,
                    glow_node_desc(c)->instr);
  glow_instr_replace_pair(c, n, fused);
  for (uint32_t i = 0; i < sources.count; i++)
    glow_instr_remove_into(sources.all[i], fused);
  glow_buffer_remove(link);
  return fused;
}

static bool fuse_block(GlowPassRun *run, GlowBlock *b, int64_t *bytes) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar && !fuse_block(run, n->regions[i], bytes))
        return false;
    GlowValue *link;
    GlowNode *c = can_take(n) ? find_contraction(run, n, &link) : NULL;
    if (!c)
      continue;
    *bytes += glow_type_bytes(link->type);
    GlowNode *fused = fuse(run, c, n, link);
    if (!fused)
      return false;
    next = fused->next;
  }
  return true;
}

bool glow_pass_fuse_epilogue(GlowPassRun *run) {
  int64_t bytes = 0;
  uint64_t before = run->changes;
  glow_function_number(run->function);
  bool ok = fuse_block(run, run->function->body, &bytes);
  glow_program_saved(run, run->changes - before, "buffers", bytes);
  return ok;
}
