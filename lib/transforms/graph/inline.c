/* Calls become the body of what they call, callees first.
 *
 * Copies keep their locations and get numbered names. A Save of the callee takes effect when the
 * callee ends: later callees read the saved value, while the caller goes on reading what the
 * storage held at its own entry. So functions that are inlined later read the saved value in place
 * of the storage, and the value is saved at the end of the caller, unless the caller itself saves
 * another value there. A Call whose callee saves stays in two cases: inside of a region, where no
 * Save may stand, and if other Calls stay in the caller, which would not see the saved value.
 *
 * A function with a device ({device = "npu"}) was cut out of the model for that device. Calls of it
 * stay, except in functions for the same device.
 *
 *   devices        replace these Calls, too
 *   keep=NAME      leave Calls of this function
 *   limit=NODES    stop when so many nodes were copied (100000)
 *
 * Calls of gradient declarations stay. The functions stay too: see -dce='entry=NAME'. */
#include "pass/pass.h"
#include "transforms/transforms.h"

enum { DEFAULT_LIMIT = 100000 };

typedef enum State { UNSEEN, OPEN, DONE } State;

typedef struct Function {
  State state;
  bool calls; /* once done: Calls are left */
  bool saves;
  uint32_t nodes; /* how many */
} Function;

/* The value that callees read from a storage after an inlined Save. */
typedef struct Saved {
  GlowValue *storage, *value;
} Saved;

typedef struct Inline {
  GlowPassRun *run;
  GlowMap *functions; /* GlowFunction to Function */
  GlowStr keep;
  bool devices; /* whatever devices functions are for */
  int64_t left; /* nodes that may still be copied */
} Inline;

/* The function whose Calls are being replaced. */
typedef struct Caller {
  Inline *in;
  GlowFunction *function;
  bool keeps; /* some Calls stay */
  GLOW_VEC(Saved) saved;
} Caller;

static Function *info(Inline *in, const GlowFunction *f) {
  Function *found = glow_map_get(in->functions, f);
  if (!found) {
    found = GLOW_NEW(in->run->arena, Function);
    glow_map_set(in->functions, f, found);
  }
  return found;
}

static GlowFunction *callee_of(const GlowNode *call) {
  return glow_module_function(call->block->module,
                              ((const GlowCallMembers *)call->members)->callee);
}

/* Whether f runs on a device that is not its caller's. */
static bool runs_elsewhere(const GlowFunction *f, const GlowFunction *caller) {
  return f->device && f->device != caller->device;
}

/* Whether Calls of f in `caller` can be replaced as far as the two functions tell. */
static bool can_inline(Inline *in, const GlowFunction *f, const GlowFunction *caller) {
  if (!f || f->kind != GLOW_FUNC || (in->keep && strcmp(f->name, in->keep) == 0) ||
      (!in->devices && runs_elsewhere(f, caller)))
    return false;
  const Function *known = info(in, f);
  return known->state == DONE && known->nodes <= in->left && !(known->saves && known->calls);
}

/* ---- One Call -------------------------------------------------------------------------------- */

static void remember_saved(Caller *c, GlowValue *storage, GlowValue *value) {
  for (uint32_t i = 0; i < c->saved.count; i++)
    if (c->saved.data[i].storage == storage) {
      c->saved.data[i].value = value;
      return;
    }
  Saved s = {storage, value};
  glow_vec_push(c->in->run->arena, &c->saved, s);
}

static GlowValue *mapped(const GlowMap *map, GlowValue *v) {
  GlowValue *to = v ? glow_map_get(map, v) : NULL;
  return to ? to : v;
}

static void expand(Caller *c, GlowNode *call, GlowFunction *callee) {
  GlowPassRun *run = c->in->run;
  GlowMap *map = glow_map_create(run->arena);
  for (uint32_t i = 0; i < call->noperands; i++)
    glow_map_set(map, callee->body->params[i], glow_node_in(call, i));
  for (uint32_t i = 0; i < c->saved.count; i++)
    glow_map_set(map, c->saved.data[i].storage, c->saved.data[i].value);
  GlowBuilder b = glow_builder_before(call);
  const GlowNode *end = glow_block_terminator(callee->body);
  for (const GlowNode *n = callee->body->first; n && n != end; n = n->next)
    if (n->op != GLOW_OP_SAVE)
      glow_node_renumber(glow_node_clone(&b, n, map));
  for (const GlowNode *n = callee->body->first; n && n != end; n = n->next)
    if (n->op == GLOW_OP_SAVE)
      remember_saved(c, glow_node_in(n, GLOW_SAVE_IN_STORAGE),
                     mapped(map, glow_node_in(n, GLOW_SAVE_IN_VALUE)));
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, call->nresults);
  for (uint32_t i = 0; i < call->nresults; i++)
    values[i] = mapped(map, end->operands[i].value);
  c->in->left -= info(c->in, callee)->nodes;
  if (runs_elsewhere(callee, c->function))
    glow_pass_changed(run, call, "inlined @%s, which is for device '%s'", callee->name,
                      callee->device);
  else
    glow_pass_changed(run, call, "inlined @%s", callee->name);
  glow_node_replace(call, values, call->nresults);
}

static void visit_call(Caller *c, GlowNode *call) {
  GlowFunction *callee = callee_of(call);
  GlowPassRun *run = c->in->run;
  bool in_region = call->block->owner == GLOW_BLOCK_REGION;
  if (!can_inline(c->in, callee, c->function)) {
    bool elsewhere = callee && runs_elsewhere(callee, c->function) && !c->in->devices;
    glow_pass_remark(run, glow_node_loc(call), "the Call of @%s stays%s%s%s",
                     callee ? callee->name : "", elsewhere ? ": it is for device '" : "",
                     elsewhere ? callee->device : "", elsewhere ? "'" : "");
    return;
  }
  if (info(c->in, callee)->saves && (in_region || c->keeps)) {
    glow_pass_remark(run, glow_node_loc(call), "the Call of @%s stays: it saves, %s", callee->name,
                     in_region ? "and stands in a region" : "and another Call stays");
    return;
  }
  expand(c, call, callee);
}

static void visit_block(Caller *c, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        visit_block(c, n->regions[i]);
    if (n->op == GLOW_OP_CALL)
      visit_call(c, n);
  }
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool saves_to(const GlowFunction *f, const GlowValue *storage) {
  for (const GlowUse *u = storage->uses; u; u = u->next)
    if (u->user->op == GLOW_OP_SAVE && u->user->block == f->body &&
        glow_node_in(u->user, GLOW_SAVE_IN_STORAGE) == storage &&
        u == &u->user->operands[GLOW_SAVE_IN_STORAGE])
      return true;
  return false;
}

/* Builds the Saves of inlined callees at the end, but for storage that the caller itself saves
 * to. */
static void save_at_end(Caller *c) {
  GlowBuilder b = glow_builder_at_end(c->function->body);
  for (uint32_t i = 0; i < c->saved.count; i++) {
    GlowValue *ins[] = {c->saved.data[i].value, c->saved.data[i].storage};
    if (!saves_to(c->function, ins[1]))
      glow_build(&b, GLOW_OP_SAVE, ins, 2, NULL, NULL);
  }
}

static void count_nodes(Function *known, const GlowFunction *f) {
  *known = (Function){.state = DONE};
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n)) {
    known->nodes++;
    known->calls |= n->op == GLOW_OP_CALL;
    known->saves |= n->op == GLOW_OP_SAVE;
  }
}

static void inline_calls(Inline *in, GlowFunction *f) {
  Function *known = info(in, f);
  if (known->state != UNSEEN)
    return;
  known->state = OPEN;
  Caller c = {.in = in, .function = f};
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n)) {
    GlowFunction *callee = n->op == GLOW_OP_CALL ? callee_of(n) : NULL;
    if (callee && callee->kind == GLOW_FUNC)
      inline_calls(in, callee);
    if (n->op == GLOW_OP_CALL && callee) {
      bool can = can_inline(in, callee, f), saves = can && info(in, callee)->saves;
      c.keeps |= !can || (saves && n->block->owner == GLOW_BLOCK_REGION);
    }
  }
  glow_pass_begin_batch(in->run); /* what callees save is saved at the end of the caller */
  visit_block(&c, f->body);
  save_at_end(&c);
  glow_pass_end_batch(in->run);
  count_nodes(known, f);
}

bool glow_pass_inline(GlowPassRun *run) {
  bool ok = true;
  Inline in = {.run = run, .functions = glow_map_create(run->arena)};
  in.keep = glow_pass_option(run, "keep");
  in.devices = glow_pass_option(run, "devices") != NULL;
  in.left = glow_pass_option_int(run, "limit", DEFAULT_LIMIT, &ok);
  unsigned errors = glow_context_error_count(run->ctx);
  for (GlowFunction *f = run->module->first_function; ok && f; f = f->next)
    if (f->kind == GLOW_FUNC)
      inline_calls(&in, f);
  return ok && glow_context_error_count(run->ctx) == errors;
}
