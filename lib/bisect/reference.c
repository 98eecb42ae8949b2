/* A module that differs from --reference before any pass has changed it. For an operator that is
 * defined by its lowering, the graph walker runs the same rule as the pass `lower`, so no
 * comparison of passes shows a fault of that rule. Other numbers must show it: those of --reference
 * for values inside of the graph, or, for operators that have a kernel and a rule, those of their
 * rules. */
#include <inttypes.h>
#include <stdio.h>

#include "bisect/record.h"

typedef struct Search {
  const GlowNumericBisect *bisect;
  const GlowModule *module;
  GlowStr entry;
  const GlowRecord *run; /* all values, as the walker computes them */
} Search;

/* ---- Which node ------------------------------------------------------------------------------ */

/* The first value that --reference has another number for. */
static const GlowRecordEntry *find_by_values(const Search *s, GlowRecordEntry *was) {
  const GlowNumericBisect *b = s->bisect;
  for (uint32_t i = 0; i < s->run->entries.count; i++) {
    const GlowRecordEntry *e = &s->run->entries.data[i];
    GlowTensor *t = e->node && !e->occurrence ? glow_bindings_find(&b->inside, e->name) : NULL;
    if (!t || glow_tensor_compare(s->run->ctx, e->tensor, t, b->rtol, b->atol).ok)
      continue;
    *was = (GlowRecordEntry){.node = e->node, .name = e->name, .tensor = t};
    return e;
  }
  return NULL;
}

static bool mends(void *user, const GlowRecordEntry *e, const GlowRecordEntry *was) {
  return glow_patch_mends(user, e, was);
}

/* Runs operators that have a kernel by their rules. If the outputs are right then: the counterpart
 * of the first value that differs, and in *first that value. NULL: there is none. */
static const GlowRecordEntry *compare_rules(const Search *s, GlowRecord *rules,
                                            const GlowRecordEntry **first) {
  const GlowNumericBisect *b = s->bisect;
  GlowRecordOptions options = {.run = glow_interp_run, .values = true, .primitives = true};
  const GlowBindings *inputs = &b->session->inputs;
  /* Begun in any case: the caller ends the record. */
  bool ok = glow_record_begin(rules, s->module, s->entry, inputs, &options) &&
            glow_outputs_agree(s->run->ctx, &rules->outputs, &b->reference, b, NULL);
  if (!ok)
    return NULL;
  GlowPatch patch = {b, s->entry, inputs, &b->reference, glow_interp_run};
  GlowRecordPair pair = {.before = rules,
                         .after = s->run,
                         .slight = true,
                         .rtol = b->rtol,
                         .atol = b->atol,
                         .mends = mends,
                         .user = &patch};
  const GlowRecordEntry *was = NULL;
  *first = glow_record_first(&pair, &was);
  return *first && (*first)->node ? was : NULL;
}

/* The first value that differs from what rules make of operators that have a kernel. The caller
 * frees was->tensor. */
static const GlowRecordEntry *find_by_rules(const Search *s, GlowRecordEntry *was) {
  GlowRecord rules;
  GlowSilence silence;
  const GlowRecordEntry *first = NULL;
  glow_silence_begin(s->run->ctx, &silence);
  const GlowRecordEntry *found = compare_rules(s, &rules, &first);
  if (found)
    *was = (GlowRecordEntry){.node = found->node,
                             .name = found->name,
                             .tensor = glow_tensor_copy(s->run->ctx, found->tensor)};
  glow_record_end(&rules);
  glow_silence_end(&silence);
  return found ? first : NULL;
}

/* ---- What shares code ------------------------------------------------------------------------ */

typedef struct Shared {
  uint32_t *counts; /* of each operator that is defined by its rule */
  GlowStr *first;   /* a value of each */
} Shared;

static bool count_rule(GlowNode *n, void *arg) {
  Shared *shared = arg;
  if (GLOW_HAS(glow_node_desc(n), LOWERED) && shared->counts[n->op]++ == 0)
    shared->first[n->op] = n->nresults ? n->results[0].name : NULL;
  return true;
}

static void print_shared(const Search *s) {
  GlowArena *arena = glow_arena_create(s->run->ctx);
  Shared shared = {GLOW_NEW_ARRAY(arena, uint32_t, GLOW_OP_COUNT),
                   GLOW_NEW_ARRAY(arena, GlowStr, GLOW_OP_COUNT)};
  glow_block_walk(s->run->function->body, count_rule, &shared);
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++)
    if (shared.counts[op])
      printf("rule: %s, %" PRIu32 " nodes, the first '%s': walker and passes share its lowering\n",
             glow_op_desc[op].node, shared.counts[op], shared.first[op] ? shared.first[op] : "_");
  glow_arena_destroy(arena);
}

/* ---- The report ------------------------------------------------------------------------------ */

/* A test of the one node, which reads what it has read in the run. */
static bool write_test(const Search *s, const GlowRecordEntry *e, const GlowRecordEntry *was) {
  GlowNumericFault fault = {.bisect = s->bisect, .entry = s->entry, .expected = {e->name, was->tensor}};
  GlowContext *ctx = s->run->ctx;
  if (!s->bisect->reduced)
    return true;
  for (uint32_t i = 0; i < s->run->entries.count; i++) {
    const GlowRecordEntry *v = &s->run->entries.data[i];
    GlowTensor *right = v->node ? glow_bindings_find(&s->bisect->inside, v->name) : NULL;
    if (v->node && !v->occurrence && v->name && v->tensor)
      glow_vec_push(ctx->arena, &fault.values, ((GlowBinding){v->name, right ? right : v->tensor}));
  }
  GlowModule *m = glow_fault_cut_node(s->module, s->entry, e->name);
  if (m)
    return glow_fault_write_whole(&fault, m);
  glow_error(ctx, glow_loc_file(ctx, "glow-bisect"),
             "the node stands in a region: no test was written");
  return false;
}

static bool report(const Search *s, const GlowText *outputs) {
  GlowRecordEntry was = {0};
  GlowDefer defer;
  printf("pass: none; the module differs from --reference before the first\n");
  fwrite(outputs->data, 1, outputs->size, stdout);
  const GlowRecordEntry *e = find_by_values(s, &was);
  bool by_rules = !e && !s->run->program;
  if (by_rules)
    e = find_by_rules(s, &was);
  glow_defer_push(s->run->ctx, &defer, glow_tensor_free_fn, by_rules ? was.tensor : NULL);
  if (e)
    glow_record_print_entry(s->bisect, "node", e, &was);
  else
    printf("node: not to be told; --reference VALUE=FILE of values inside narrows the search\n");
  print_shared(s);
  bool ok = !e || write_test(s, e, &was);
  glow_defer_pop(s->run->ctx, &defer, true);
  return ok;
}

bool glow_bisect_reference(const GlowNumericBisect *b, const GlowText *outputs) {
  GlowRecord run;
  const GlowSession *session = b->session;
  Search s = {.bisect = b, .module = session->module, .entry = session->entry->name, .run = &run};
  bool ok = glow_record_begin(&run, s.module, s.entry, &session->inputs,
                              &(GlowRecordOptions){.run = glow_interp_run, .values = true});
  ok = ok && report(&s, outputs);
  glow_record_end(&run);
  return ok;
}
