/* See grad.h. */
#include <inttypes.h>

#include "transforms/grad.h"
#include "transforms/transforms.h"

typedef struct Saved {
  const GlowFunction *f;
  uint32_t first; /* the order of the first backward node */
  GlowText *out;
  GlowArena *arena;
} Saved;

static const GlowNode *top_of(const Saved *s, const GlowNode *n) {
  while (n->block != s->f->body)
    n = n->block->of.node;
  return n;
}

/* The operator of the forward part whose rule has built n. */
static GlowOp rule_of(const Saved *s, const GlowNode *n) {
  const GlowNode *rule = top_of(s, n);
  while (rule->scratch)
    rule = rule->scratch;
  return rule->op;
}

/* Whether n reads what it does for a derivative, rather than to return or to save a value. */
static bool derives(const Saved *s, const GlowNode *n) {
  const GlowNode *top = top_of(s, n);
  return top->order >= s->first && !GLOW_HAS(glow_node_desc(top), TERMINATOR) &&
         !GLOW_HAS(glow_node_desc(top), WRITES);
}

static bool is_saved(const Saved *s, const GlowValue *v) {
  if (v->kind != GLOW_VALUE_RESULT || top_of(s, v->def.node)->order >= s->first)
    return false;
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (derives(s, u->user))
      return true;
  return false;
}

static int64_t bytes_of(const GlowType *t) {
  return glow_type_is_tensor(t) && glow_type_is_static(t) ? glow_type_bytes(t) : -1;
}

/* ", for Tanh, MatMul": in the order of the operators' list. */
static void put_rules(const Saved *s, const GlowValue *v) {
  bool *reads = GLOW_NEW_ARRAY(s->arena, bool, GLOW_OP_COUNT);
  const char *before = ", for ";
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (derives(s, u->user))
      reads[rule_of(s, u->user)] = true;
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++) {
    if (!reads[op])
      continue;
    glow_text_printf(s->out, "%s%s", before, glow_op_desc[op].node);
    before = ", ";
  }
}

/* "; again from %a, @w": if one cheap node computes v from values that live anyway. */
static void put_operands(const Saved *s, const GlowValue *v) {
  const GlowNode *n = v->def.node;
  const GlowOpDesc *d = glow_node_desc(n);
  bool cheap = GLOW_HAS(d, ELEMENTWISE) || GLOW_HAS(d, MOVEMENT);
  for (uint32_t i = 0; cheap && i < n->noperands; i++) {
    const GlowValue *x = n->operands[i].value;
    cheap = !x || x->kind != GLOW_VALUE_RESULT || is_saved(s, x);
  }
  const char *before = "; again from ";
  for (uint32_t i = 0; cheap && i < n->noperands; i++) {
    const GlowValue *x = n->operands[i].value;
    if (!x)
      continue;
    glow_text_puts(s->out, before);
    glow_print_name(s->out, x->kind == GLOW_VALUE_STORAGE ? '@' : '%', x->name);
    before = ", ";
  }
}

void glow_saved_print(GlowPassRun *run, GlowFunction *f, GlowStr name, const GlowNode *backward,
                      GlowText *out) {
  glow_function_number(f);
  Saved s = {.f = f, .out = out, .arena = run->arena};
  s.first = backward ? backward->order : UINT32_MAX;
  int64_t total = 0;
  bool open = false;
  glow_text_printf(out, "; saved of @%s\n", name);
  for (const GlowNode *n = f->body->first; n && n != backward; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++) {
      const GlowValue *v = &n->results[i];
      if (!is_saved(&s, v))
        continue;
      int64_t bytes = bytes_of(v->type);
      glow_text_puts(out, ";   ");
      glow_print_name(out, '%', v->name);
      if (bytes >= 0)
        glow_text_printf(out, ": %" PRId64 " bytes", bytes);
      else
        glow_text_printf(out, ": %s", glow_type_str(run->ctx, v->type));
      open |= bytes < 0;
      total += bytes < 0 ? 0 : bytes;
      put_rules(&s, v);
      put_operands(&s, v);
      glow_text_putc(out, '\n');
    }
  glow_text_printf(out, ";   %" PRId64 " bytes%s\n", total,
                   open ? ", besides what is not known" : "");
}
