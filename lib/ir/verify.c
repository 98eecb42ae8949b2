/* The verifier: tables of rules for modules, storage, functions, blocks and nodes. docs/LangRef
 * states each rule; a message names the node, the operand, what was expected and what was found.
 *
 * Rules of a table run in order. Those of a node stop at its first violation, so that one mistake
 * gives one message; the walk goes on with the next node. Rules about buffers of programs are in
 * verify_program.c and verify_plan.c. */
#include <string.h>

#include "ir/ir_internal.h"

typedef struct Verifier {
  GlowModule *module;
  GlowContext *ctx;
  GlowArena *scratch;
  GlowMap *seen;   /* storage declared so far */
  GlowMap *saved;  /* in the function at hand: storage -> its Save */
  GlowBlock *eval; /* the eval initializer at hand, or NULL */
  uint32_t depth;  /* of nested regions */
  bool ok;
} Verifier;

static bool is_program(const GlowFunction *f) { return f->kind == GLOW_PROGRAM; }

/* ---- Visibility ------------------------------------------------------------------------------ */
/* The node in block `home` that is n or holds n in its regions. NULL if `home` does not enclose n,
 * or if a scalar body or an initializer lies between them. */
static const GlowNode *ancestor_in(const GlowNode *n, const GlowBlock *home) {
  while (n && n->block != home) {
    const GlowBlock *b = n->block;
    n = b->owner == GLOW_BLOCK_REGION && !b->scalar ? b->of.node : NULL;
  }
  return n;
}

static bool is_visible(const GlowNode *user, const GlowValue *v) {
  const GlowBlock *home = glow_value_block(v);
  const GlowNode *at = home ? ancestor_in(user, home) : NULL;
  return at && (v->kind == GLOW_VALUE_PARAM || v->def.node->order < at->order);
}

static bool check_operand(const Verifier *v, const GlowNode *n, const GlowValue *value) {
  if (!value)
    return true;
  if (value->kind == GLOW_VALUE_STORAGE) {
    if (value->def.storage->module != v->module)
      return glow_verify_error(n, "uses '@%s' of another module", value->name);
    if (n->block->scalar)
      return glow_verify_error(n, "uses '@%s', but a scalar body captures nothing", value->name);
    return true;
  }
  if (is_visible(n, value))
    return true;
  glow_verify_error(n, "uses '%%%s', which is not defined before it in a block that encloses it",
                    value->name ? value->name : "_");
  glow_note_value(n, value);
  return false;
}

static bool rule_operands_are_visible(Verifier *v, GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (!check_operand(v, n, n->operands[i].value))
      return false;
  return check_operand(v, n, n->pred.value);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */
static bool rule_fits_description(Verifier *v, GlowNode *n) {
  (void)v;
  return glow_node_check(n);
}

static bool rule_names(Verifier *v, GlowNode *n) {
  (void)v;
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *r = &n->results[i];
    if (r->name && glow_str_length(r->name) > GLOW_MAX_NAME)
      return glow_verify_error(n, "the name of result %u is too long", i);
    if (r->name ? glow_names_find(n->block->names, r->name) != r : r->uses != NULL)
      return glow_verify_error(n, "result %u has no name of its own", i);
  }
  return true;
}

static bool rule_qualifiers(Verifier *v, GlowNode *n) {
  static const char *const spelled[] = {"no qualifier", "@in", "@out", "@inout"};
  (void)v;
  const GlowOpDesc *d = glow_node_desc(n);
  bool qualified = glow_node_is_instr(n) && !GLOW_HAS(d, SYNTAX);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowQual want = qualified ? GLOW_QUAL_IN : GLOW_QUAL_NONE;
    if (i < n->nouts)
      want = glow_op_out_port(d, i)->flags & GLOW_PORT_INOUT ? GLOW_QUAL_INOUT : GLOW_QUAL_OUT;
    if (n->operands[i].qual != want)
      return glow_verify_error(n, "operand %u has %s, expected %s", i, spelled[n->operands[i].qual],
                               spelled[want]);
  }
  return true;
}

static bool rule_types(Verifier *v, GlowNode *n) {
  (void)v;
  if (GLOW_HAS(glow_node_desc(n), TERMINATOR))
    return true;
  bool small[16];
  bool *claimed = n->nresults <= 16 ? small : glow_arena_alloc(v->scratch, n->nresults);
  memset(claimed, true, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++)
    if (glow_type_is_error(n->results[i].type))
      return glow_verify_error(n, "result %u has no type", i);
  if (!glow_node_resolve(n, claimed))
    return false;
  return !glow_node_is_instr(n) || glow_instr_check_outputs(n);
}

static bool rule_hook(Verifier *v, GlowNode *n) {
  (void)v;
  return glow_node_check_hook(n);
}

/* Kernels without support for blocked layouts would read elements at wrong places. Operators that
 * only pass values on may do so in any layout. */
static bool rule_layouts(Verifier *v, GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (GLOW_HAS(d, ANY_LAYOUT) || GLOW_HAS(d, ASSIGN_LAYOUT) || GLOW_HAS(d, BLOCKS) ||
      GLOW_HAS(d, SYNTAX) || GLOW_HAS(d, CONTROL) || GLOW_HAS(d, WRITES) || GLOW_HAS(d, TERMINATOR))
    return true;
  for (uint32_t i = 0; i < n->noperands + n->nresults; i++) {
    const GlowValue *o = i < n->noperands ? n->operands[i].value : &n->results[i - n->noperands];
    if (!o || !glow_type_is_tensor(o->type) || !o->type->layout)
      continue;
    glow_verify_error(n, "works on plain values only, not on %s", glow_type_str(v->ctx, o->type));
    glow_note_value(n, o);
    return false;
  }
  return true;
}

/* The type whose first axis has a flag of the predicate for each row: that of the first result, of
 * the first buffer that an instruction writes, or of the value that a Save stores. NULL for control
 * flow without results. */
static const GlowType *predicated_type(const GlowNode *n) {
  const GlowValue *v = n->op == GLOW_OP_SAVE ? glow_node_in(n, GLOW_SAVE_IN_VALUE) : NULL;
  for (uint32_t i = 0; !v && i < (n->nouts ? n->nouts : n->nresults); i++)
    v = glow_node_out(n, i);
  return v ? v->type : NULL;
}

/* Whether two dims may be the same extent. */
static bool may_be_as_long(GlowDim a, GlowDim b) {
  if (b.kind == GLOW_DIM_EXACT)
    return glow_dim_allows(a, b.size);
  return a.kind != GLOW_DIM_EXACT || glow_dim_allows(b, a.size);
}

static bool rule_predicate(Verifier *v, GlowNode *n) {
  const GlowValue *p = n->pred.value;
  if (!p)
    return true;
  const GlowType *t = p->type, *rows = predicated_type(n);
  bool flags = glow_type_is_tensor(t) && t->kind == GLOW_KIND_BOOL && (t->unranked || t->rank <= 1);
  bool open = !rows || t->unranked || t->rank == 0 || (glow_type_is_tensor(rows) && rows->unranked);
  if (!flags)
    glow_verify_error(n, "the predicate has type %s, expected bool<> or a vector of bool",
                      glow_type_str(v->ctx, t));
  else if (open || (glow_type_is_tensor(rows) && rows->rank > 0 &&
                    may_be_as_long(t->dims[0], rows->dims[0])))
    return true;
  else
    glow_verify_error(n, "the predicate has type %s, expected bool<> or a flag for each row of %s",
                      glow_type_str(v->ctx, t), glow_type_str(v->ctx, rows));
  glow_note_value(n, p);
  return false;
}

/* A function reads storage as it was at entry, and a Save takes effect at exit. So a Save must
 * stand at the top level of the function, and a storage may have one only. */
static bool rule_save(Verifier *v, GlowNode *n) {
  if (n->op != GLOW_OP_SAVE)
    return true;
  if (n->block->owner != GLOW_BLOCK_FUNCTION)
    return glow_verify_error(n,
                             "stands inside a region; it belongs to the top level of a function");
  const GlowValue *storage = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  const GlowNode *other = glow_map_get(v->saved, storage);
  if (!other) {
    glow_map_set(v->saved, storage, n);
    return true;
  }
  glow_verify_error(n, "a second Save into '@%s'", storage->name);
  glow_note(v->ctx, glow_node_loc(other), "the first one is here");
  return false;
}

static bool is_rank0(const GlowType *t) {
  return glow_type_is_tensor(t) && !t->unranked && t->rank == 0 && !t->layout;
}

static bool rule_scalar_body(Verifier *v, GlowNode *n) {
  if (!n->block->scalar || GLOW_HAS(glow_node_desc(n), TERMINATOR))
    return true;
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) || !GLOW_HAS(d, ANY_LAYOUT) || d->nregions)
    return glow_verify_error(n, "is not element-wise; a scalar body holds element-wise nodes only");
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!is_rank0(n->results[i].type))
      return glow_verify_error(n, "result %u has type %s; values of a scalar body have rank 0", i,
                               glow_type_str(v->ctx, n->results[i].type));
  return true;
}

/* eval runs at compile time: it reads constants declared earlier and has no effects. */
static bool rule_eval(Verifier *v, GlowNode *n) {
  if (!v->eval)
    return true;
  const GlowOpDesc *d = glow_node_desc(n);
  if (GLOW_HAS(d, WRITES) || GLOW_HAS(d, READS) || n->op == GLOW_OP_CALL)
    return glow_verify_error(n, "cannot stand in an eval initializer: it has effects");
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *o = n->operands[i].value;
    if (!o || o->kind != GLOW_VALUE_STORAGE)
      continue;
    const GlowStorage *s = o->def.storage;
    if (s->cls != GLOW_CONSTANT) {
      glow_verify_error(n, "reads '@%s', which is no constant: its value may change", o->name);
      glow_note_value(n, o);
      return false;
    }
    if (!glow_map_get(v->seen, s)) {
      glow_verify_error(n, "reads '@%s', which is declared later", o->name);
      glow_note_value(n, o);
      return false;
    }
  }
  return true;
}

typedef bool NodeRule(Verifier *v, GlowNode *n);
static NodeRule *const node_rules[] = {rule_operands_are_visible,
                                       rule_fits_description,
                                       rule_names,
                                       rule_qualifiers,
                                       rule_types,
                                       rule_layouts,
                                       rule_hook,
                                       rule_predicate,
                                       rule_eval,
                                       rule_save,
                                       rule_scalar_body};

/* ---- Blocks ---------------------------------------------------------------------------------- */
static bool rule_terminators(Verifier *v, GlowBlock *b) {
  (void)v;
  bool ok = true;
  for (const GlowNode *n = b->first; n; n = n->next) {
    if (!GLOW_HAS(glow_node_desc(n), TERMINATOR))
      continue;
    bool returns = n->op == GLOW_OP_RETURN;
    if (n->next)
      ok = glow_verify_error(n, "must be the last of its block");
    else if (b->level == GLOW_LEVEL_PROGRAM)
      ok = glow_verify_error(n, "instructions write buffers; blocks of a program end without it");
    else if (returns != (b->owner == GLOW_BLOCK_FUNCTION))
      ok = glow_verify_error(n, returns ? "ends functions; regions end with yield"
                                        : "ends regions; functions end with return");
  }
  return ok;
}

static bool rule_scalar_params(Verifier *v, GlowBlock *b) {
  for (uint32_t i = 0; b->scalar && i < b->nparams; i++)
    if (!is_rank0(b->params[i]->type))
      return glow_verify_error(b->of.node, "parameter %%%s of ^%s has type %s, expected rank 0",
                               b->params[i]->name, b->label,
                               glow_type_str(v->ctx, b->params[i]->type));
  return true;
}

/* Each parameter of a scalar body has the element kind of its operand, and each yielded value the
 * kind of its output. */
static bool rule_scalar_kinds(Verifier *v, GlowBlock *b) {
  if (!b->scalar)
    return true;
  const GlowNode *n = b->of.node, *end = glow_block_terminator(b);
  uint32_t first = glow_node_desc(n)->body ? n->nouts : 0;
  for (uint32_t i = 0; i < b->nparams; i++) {
    /* An epilogue has a parameter for the computed element of each output, then the extras. */
    uint32_t at = first || i < n->nouts ? first + i : i - n->nouts + n->noperands - n->nextra;
    bool computed = !glow_node_desc(n)->body && i < n->nouts;
    const GlowValue *o = at < n->noperands ? n->operands[at].value : NULL;
    if (!o || computed || !glow_type_is_tensor(o->type) ||
        o->type->kind == b->params[i]->type->kind)
      continue;
    return glow_verify_error(
        n, "%%%s of ^%s has type %s, but its operand has %s", b->params[i]->name, b->label,
        glow_type_str(v->ctx, b->params[i]->type), glow_type_str(v->ctx, o->type));
  }
  for (uint32_t i = 0; end && i < end->noperands && i < n->nouts; i++) {
    const GlowValue *y = end->operands[i].value, *o = n->operands[i].value;
    if (y && o && glow_type_is_tensor(o->type) && glow_type_is_tensor(y->type) &&
        y->type->kind != o->type->kind)
      return glow_verify_error(n, "^%s yields %s for an output of type %s", b->label,
                               glow_type_str(v->ctx, y->type), glow_type_str(v->ctx, o->type));
  }
  return true;
}

typedef bool BlockRule(Verifier *v, GlowBlock *b);
static BlockRule *const block_rules[] = {rule_terminators, rule_scalar_params, rule_scalar_kinds};

static void verify_block(Verifier *v, GlowBlock *b);

static void verify_regions(Verifier *v, const GlowNode *n) {
  if (n->nregions && v->depth >= GLOW_MAX_REGION_DEPTH) {
    glow_verify_error(n, "regions nest more than %d deep", GLOW_MAX_REGION_DEPTH);
    v->ok = false;
    return;
  }
  v->depth++;
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i])
      verify_block(v, n->regions[i]);
  v->depth--;
}

static void verify_block(Verifier *v, GlowBlock *b) {
  for (size_t i = 0; i < sizeof block_rules / sizeof *block_rules; i++)
    if (!block_rules[i](v, b))
      v->ok = false;
  for (GlowNode *n = b->first; n && !v->ctx->too_many_errors; n = n->next) {
    verify_regions(v, n);
    for (size_t i = 0; i < sizeof node_rules / sizeof *node_rules; i++)
      if (!node_rules[i](v, n)) {
        v->ok = false;
        break;
      }
  }
}

static void number(GlowBlock *b) {
  uint32_t count = 0;
  for (GlowNode *n = b->first; n; n = glow_next_in_walk(n))
    n->order = count++;
}

/* ---- Storage --------------------------------------------------------------------------------- */
static bool storage_error(const Verifier *v, const GlowStorage *s, const char *what) {
  glow_error(v->ctx, glow_value_loc(&s->value), "'@%s' %s", s->value.name, what);
  return false;
}

static bool rule_initializer(Verifier *v, GlowStorage *s) {
  if (s->cls == GLOW_PLACEHOLDER)
    return s->init.kind == GLOW_INIT_NONE ||
           storage_error(v, s, "is a placeholder, which has no initializer");
  if (s->init.kind == GLOW_INIT_NONE)
    return storage_error(v, s, "needs an initializer: only placeholders are bound by the caller");
  if (glow_type_is_static(s->value.type))
    return true;
  if (s->cls == GLOW_VARIABLE && glow_type_grows(s->value.type))
    return s->init.kind == GLOW_INIT_SPLAT ||
           storage_error(v, s, "grows, so its initializer must be a splat");
  glow_error(v->ctx, glow_value_loc(&s->value),
             "'@%s' has an initializer, so its type must be a tensor with exact extents, not %s",
             s->value.name, glow_type_str(v->ctx, s->value.type));
  return false;
}

static bool rule_data(Verifier *v, GlowStorage *s) {
  const GlowTensor *t = s->init.tensor;
  switch (s->init.kind) {
  case GLOW_INIT_LIST:
  case GLOW_INIT_RESOURCE:
  case GLOW_INIT_PAYLOAD:
    if (!t)
      return storage_error(v, s, "has an initializer without data");
    return t->type == s->value.type || storage_error(v, s, "has data of another type");
  case GLOW_INIT_RANDOM:
    return (glow_kind_is_float(s->value.type->kind) && !s->value.type->quantized) ||
           storage_error(v, s, "has a random initializer, which gives floating-point values");
  default:
    return true;
  }
}

static bool rule_payload_keys(Verifier *v, GlowStorage *s) {
  if (s->init.kind != GLOW_INIT_PAYLOAD || !s->init.key || !s->init.tensor)
    return true;
  const GlowStorage *other = glow_map_get(v->seen, s->init.key);
  if (!other) {
    glow_map_set(v->seen, s->init.key, s);
    return true;
  }
  if (other->init.tensor->data == s->init.tensor->data ||
      glow_tensor_same_bits(other->init.tensor, s->init.tensor))
    return true;
  glow_error(v->ctx, glow_value_loc(&s->value),
             "'@%s' and '@%s' have the payload key \"%s\" for "
             "different data",
             other->value.name, s->value.name, s->init.key);
  return false;
}

static bool rule_eval_block(Verifier *v, GlowStorage *s) {
  if (s->init.kind != GLOW_INIT_EVAL)
    return true;
  GlowBlock *b = s->init.eval;
  v->eval = b;
  v->saved = glow_map_create(v->scratch);
  number(b);
  verify_block(v, b);
  v->eval = NULL;
  const GlowNode *end = glow_block_terminator(b);
  if (!glow_node_is(end, GLOW_OP_YIELD) || end->noperands != 1 || !end->operands[0].value)
    return storage_error(v, s, "has an eval initializer that must end by yielding one value");
  const GlowType *found = end->operands[0].value->type;
  GlowFit fit = glow_type_fit(s->value.type, found);
  if (glow_type_is_error(found) || fit == GLOW_FIT_EQUAL || fit == GLOW_FIT_NARROWER)
    return true;
  glow_error(v->ctx, glow_node_loc(end), "eval yields %s, but '@%s' has type %s",
             glow_type_str(v->ctx, found), s->value.name, glow_type_str(v->ctx, s->value.type));
  glow_note(v->ctx, glow_value_loc(&s->value), "'@%s' is declared here", s->value.name);
  return false;
}

typedef bool StorageRule(Verifier *v, GlowStorage *s);
static StorageRule *const storage_rules[] = {rule_initializer, rule_data, rule_payload_keys,
                                             rule_eval_block};

/* ---- Functions ------------------------------------------------------------------------------- */
static bool function_error(const Verifier *v, const GlowFunction *f, const char *what) {
  glow_error(v->ctx, f->src, "@%s: %s", f->name, what);
  return false;
}

static bool rule_signature(Verifier *v, GlowFunction *f) {
  if (f->kind == GLOW_GRADIENT) {
    if (f->body->first)
      return function_error(v, f, "a gradient declaration has no body");
    return glow_gradient_signature(f);
  }
  if (is_program(f))
    return !f->has_results || function_error(v, f, "a program has no results; it writes storage");
  const GlowNode *end = glow_block_terminator(f->body);
  if (!end)
    return f->nresults == 0 || function_error(v, f, "a function with results must end with return");
  if (end->noperands != f->nresults) {
    glow_error(v->ctx, glow_node_loc(end), "@%s returns %u value%s, but its signature has %u",
               f->name, end->noperands, end->noperands == 1 ? "" : "s", f->nresults);
    return false;
  }
  for (uint32_t i = 0; i < f->nresults; i++) {
    const GlowValue *r = end->operands[i].value;
    if (!r || glow_type_is_error(r->type) ||
        glow_type_fit(r->type, f->results[i]) != GLOW_FIT_CONTRADICTS)
      continue;
    glow_error(v->ctx, glow_node_loc(end), "@%s returns %s as result %u, expected %s", f->name,
               glow_type_str(v->ctx, r->type), i, glow_type_str(v->ctx, f->results[i]));
    glow_note_value(end, r);
    return false;
  }
  return true;
}

/* Callers know parameters, results and placeholders by name, so these names must differ. */
static bool rule_result_names(Verifier *v, GlowFunction *f) {
  static const char parameter[] = "a parameter", result[] = "another result";
  GlowMap *taken = glow_map_create(v->scratch);
  for (uint32_t i = 0; i < f->body->nparams; i++)
    glow_map_set(taken, f->body->params[i]->name, (void *)(uintptr_t)parameter);
  for (uint32_t i = 0; f->result_names && i < f->nresults; i++) {
    GlowStr name = f->result_names[i];
    const GlowStorage *s = name ? glow_module_storage(v->module, name) : NULL;
    const char *owner = name ? glow_map_get(taken, name) : NULL;
    if (!owner && s && s->cls == GLOW_PLACEHOLDER)
      owner = "a placeholder";
    if (owner) {
      glow_error(v->ctx, f->src, "@%s: result %u is called %%%s, as %s is", f->name, i, name,
                 owner);
      return false;
    }
    if (name)
      glow_map_set(taken, name, (void *)(uintptr_t)result);
  }
  return true;
}

static bool rule_with(Verifier *v, GlowFunction *f) {
  if (!is_program(f) && (f->arena >= 0 || f->align >= 0))
    return function_error(v, f, "'arena' and 'align' belong to programs");
  if (f->align == 0 || (f->align > 0 && (f->align & (f->align - 1))))
    return function_error(v, f, "'align' must be a power of two");
  if (f->inline_always && f->kind != GLOW_FUNC)
    return function_error(v, f, "'inline' belongs to functions");
  return true;
}

static bool rule_body(Verifier *v, GlowFunction *f) {
  v->saved = glow_map_create(v->scratch);
  number(f->body);
  bool before = v->ok;
  v->ok = true;
  verify_block(v, f->body);
  if (v->ok && f->kind != GLOW_GRADIENT)
    v->ok = glow_verify_rows(f);
  if (v->ok && is_program(f)) {
    glow_verify_buffers(f, &v->ok);
    glow_verify_plan(f, &v->ok);
  }
  bool ok = v->ok;
  v->ok = before;
  return ok;
}

typedef bool FunctionRule(Verifier *v, GlowFunction *f);
static FunctionRule *const function_rules[] = {rule_signature, rule_result_names, rule_with,
                                               rule_body};

/* ---- Calls ----------------------------------------------------------------------------------- */
/* A depth-first walk over calls with a stack of its own: a chain of calls may be long. */
typedef struct CallFrame {
  GlowFunction *function;
  GlowNode *next; /* the next call to follow, or NULL */
} CallFrame;

static GlowNode *next_call(GlowNode *n) {
  while (n && n->op != GLOW_OP_CALL)
    n = glow_next_in_walk(n);
  return n;
}

static char active, done; /* only their addresses are used, as marks of functions */

static void verify_calls_from(Verifier *v, GlowFunction *f, GlowMap *marks) {
  GLOW_VEC(CallFrame) stack = {0};
  CallFrame first = {f, next_call(f->body->first)};
  glow_vec_push(v->scratch, &stack, first);
  glow_map_set(marks, f, &active);
  while (stack.count) {
    CallFrame *top = &stack.data[stack.count - 1];
    GlowNode *call = top->next;
    if (!call) {
      glow_map_set(marks, top->function, &done);
      stack.count--;
      continue;
    }
    top->next = next_call(glow_next_in_walk(call));
    GlowStr name = ((const GlowCallMembers *)call->members)->callee;
    GlowFunction *callee = name ? glow_module_function(v->module, name) : NULL;
    const void *mark = callee ? glow_map_get(marks, callee) : &done;
    if (mark == &active) {
      glow_verify_error(call, "@%s calls itself through @%s; recursion is refused", callee->name,
                        stack.data[stack.count - 1].function->name);
      v->ok = false;
    } else if (!mark) {
      CallFrame frame = {callee, next_call(callee->body->first)};
      glow_map_set(marks, callee, &active);
      glow_vec_push(v->scratch, &stack, frame);
    }
  }
}

/* ---- Modules --------------------------------------------------------------------------------- */
static void verify_storage(Verifier *v) {
  v->seen = glow_map_create(v->scratch);
  for (GlowStorage *s = v->module->first_storage; s && !v->ctx->too_many_errors; s = s->next) {
    for (size_t i = 0; i < sizeof storage_rules / sizeof *storage_rules; i++)
      if (!storage_rules[i](v, s)) {
        v->ok = false;
        break;
      }
    glow_map_set(v->seen, s, s);
  }
}

static void verify_functions(Verifier *v) {
  GlowMap *marks = glow_map_create(v->scratch);
  for (GlowFunction *f = v->module->first_function; f && !v->ctx->too_many_errors; f = f->next)
    for (size_t i = 0; i < sizeof function_rules / sizeof *function_rules; i++)
      if (!function_rules[i](v, f))
        v->ok = false;
  for (GlowFunction *f = v->module->first_function; f && v->ok; f = f->next)
    if (!glow_map_get(marks, f))
      verify_calls_from(v, f, marks);
}

bool glow_module_verify(GlowModule *m) {
  Verifier v = {.module = m, .ctx = m->ctx, .scratch = glow_arena_create(m->ctx), .ok = true};
  if (m->version >= 0 && m->version != GLOW_IR_VERSION) {
    glow_error(m->ctx, GLOW_NOWHERE,
               "version %lld of the language is not known; this is version %d",
               (long long)m->version, GLOW_IR_VERSION);
    v.ok = false;
  }
  verify_storage(&v);
  verify_functions(&v);
  glow_arena_destroy(v.scratch);
  return v.ok;
}
