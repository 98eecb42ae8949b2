/* The public builder: texts become types, initializers and members, the rest is handed to the IR's
 * own builder. Each function is one glow_protect around a request. */
#include "glow/build.h"

#include <string.h>

#include "ir/ir_internal.h"

/* The arguments of a function here, each as that function needs it, and its answers. */
typedef struct Request {
  GlowModule *module;
  GlowBlock *block;
  const char *name, *type, *initializer, *members;
  const GlowNodeArgs *args;
  const void *data;
  size_t bytes;
  GlowStorageClass cls;
  GlowLevel level;
  bool scalar;
  GlowValue *const *values;
  size_t count;
  GlowOp op;
  /* answers */
  GlowValue *value;
  GlowBlock *made;
  GlowNode *node;
  bool ok;
} Request;

/* Runs fn unless the module is broken already; breaks it if fn fails. */
static GlowStatus request(GlowModule *m, void (*fn)(GlowContext *, void *), Request *r) {
  if (m->broken)
    return GLOW_BAD_INPUT;
  r->module = m;
  GlowStatus status = glow_protect(m->ctx, fn, r);
  if (status == GLOW_OK && !r->ok)
    status = GLOW_BAD_INPUT;
  m->broken = status != GLOW_OK;
  return status;
}

static GlowLoc place(GlowContext *ctx, const char *name) {
  return glow_loc_file(ctx, name ? name : "builder");
}

static GlowStr optional_name(GlowContext *ctx, const char *name) {
  return name ? glow_str(ctx, name) : NULL;
}

typedef struct NewModule {
  const char *name;
  GlowModule *module;
} NewModule;

static void new_module(GlowContext *ctx, void *arg) {
  NewModule *n = arg;
  n->module = glow_module_create(ctx, optional_name(ctx, n->name));
}

GlowModule *glow_module_new(GlowContext *ctx, const char *name) {
  NewModule n = {.name = name};
  return glow_protect(ctx, new_module, &n) == GLOW_OK ? n.module : NULL;
}

/* ---- Storage --------------------------------------------------------------------------------- */
static bool take_data(GlowContext *ctx, const Request *r, const GlowType *type, GlowInit *init) {
  bool plain = glow_type_is_tensor(type) && glow_type_is_static(type) &&
               type->kind != GLOW_KIND_STRING && !type->layout;
  int64_t bytes = plain ? glow_type_bytes(type) : -1;
  if (bytes < 0 || (uint64_t)bytes != r->bytes) {
    glow_error(ctx, place(ctx, r->name), "%zu bytes of data for %s", r->bytes,
               glow_type_str(ctx, type));
    return false;
  }
  void *copy = glow_arena_copy(ctx->arena, r->data, r->bytes);
  bool small = r->bytes <= GLOW_MAX_INLINE_BYTES;
  init->kind = small ? GLOW_INIT_LIST : GLOW_INIT_PAYLOAD;
  init->tensor = glow_tensor_in_context(ctx, type, copy, r->bytes);
  return true;
}

static void add_extent(GlowContext *ctx, void *arg) {
  Request *r = arg;
  (void)ctx;
  r->ok = glow_extent_declare(r->module, "extent", r->type);
}

GlowStatus glow_add_extent(GlowModule *m, const char *declaration) {
  return request(m, add_extent, &(Request){.type = declaration});
}

static void add_storage(GlowContext *ctx, void *arg) {
  Request *r = arg;
  const char *what = r->name ? r->name : "builder";
  const GlowType *type = glow_type_parse(r->module, what, r->type);
  GlowInit init = {.kind = GLOW_INIT_NONE};
  if (!type || (r->initializer && !glow_init_parse(r->module, what, r->initializer, type, &init)) ||
      (r->data && !take_data(ctx, r, type, &init)))
    return;
  GlowStorage *s =
      glow_storage_create(r->module, r->cls, glow_str(ctx, r->name ? r->name : "0"), type, init);
  if (s->init.kind == GLOW_INIT_PAYLOAD)
    s->init.key = s->value.name;
  r->value = &s->value;
  r->ok = true;
}

GlowValue *glow_add_placeholder(GlowModule *m, const char *name, const char *type) {
  Request r = {.name = name, .type = type, .cls = GLOW_PLACEHOLDER};
  return request(m, add_storage, &r) == GLOW_OK ? r.value : NULL;
}

GlowValue *glow_add_variable(GlowModule *m, const char *name, const char *type,
                             const char *initializer) {
  Request r = {.name = name, .type = type, .initializer = initializer, .cls = GLOW_VARIABLE};
  return request(m, add_storage, &r) == GLOW_OK ? r.value : NULL;
}

GlowValue *glow_add_constant(GlowModule *m, const char *name, const char *type,
                             const char *initializer) {
  Request r = {.name = name, .type = type, .initializer = initializer, .cls = GLOW_CONSTANT};
  return request(m, add_storage, &r) == GLOW_OK ? r.value : NULL;
}

GlowValue *glow_add_constant_data(GlowModule *m, const char *name, const char *type,
                                  const void *data, size_t bytes) {
  Request r = {.name = name, .type = type, .data = data, .bytes = bytes, .cls = GLOW_CONSTANT};
  return request(m, add_storage, &r) == GLOW_OK ? r.value : NULL;
}

/* ---- Functions and regions ------------------------------------------------------------------- */
static void add_function(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowFunctionKind kind = r->level == GLOW_LEVEL_PROGRAM ? GLOW_PROGRAM : GLOW_FUNC;
  r->made = glow_function_create(r->module, kind, glow_str(ctx, r->name ? r->name : "main"))->body;
  r->ok = true;
}

GlowBlock *glow_add_func(GlowModule *m, const char *name) {
  Request r = {.name = name, .level = GLOW_LEVEL_GRAPH};
  return request(m, add_function, &r) == GLOW_OK ? r.made : NULL;
}

GlowBlock *glow_add_program(GlowModule *m, const char *name) {
  Request r = {.name = name, .level = GLOW_LEVEL_PROGRAM};
  return request(m, add_function, &r) == GLOW_OK ? r.made : NULL;
}

static void add_param(GlowContext *ctx, void *arg) {
  Request *r = arg;
  const GlowType *type = glow_type_parse(r->module, r->name ? r->name : "parameter", r->type);
  if (!type)
    return;
  r->value = glow_block_add_param(r->block, optional_name(ctx, r->name), type);
  r->ok = true;
}

GlowValue *glow_add_param(GlowBlock *block, const char *name, const char *type) {
  Request r = {.block = block, .name = name, .type = type};
  return block && request(block->module, add_param, &r) == GLOW_OK ? r.value : NULL;
}

static void add_region(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowLevel level = r->scalar ? GLOW_LEVEL_GRAPH : r->block->level;
  r->made = glow_block_create(r->module, level, r->scalar ? NULL : r->block->names,
                              glow_str(ctx, r->name));
  r->made->scalar = r->scalar;
  r->ok = true;
}

GlowBlock *glow_add_region(GlowBlock *block, const char *label) {
  Request r = {.block = block, .name = label};
  return block && request(block->module, add_region, &r) == GLOW_OK ? r.made : NULL;
}

GlowBlock *glow_add_scalar_body(GlowBlock *block, const char *label) {
  Request r = {.block = block, .name = label, .scalar = true};
  return block && request(block->module, add_region, &r) == GLOW_OK ? r.made : NULL;
}

/* `return` also completes the signature of its function. */
static void set_results(Request *r) {
  GlowFunction *f = r->block->of.function;
  f->has_results = true;
  f->nresults = (uint32_t)r->count;
  f->results = GLOW_NEW_ARRAY(r->module->arena, const GlowType *, r->count);
  for (size_t i = 0; i < r->count; i++)
    f->results[i] = r->values[i]->type;
}

static void add_terminator(GlowContext *ctx, void *arg) {
  Request *r = arg;
  bool is_return = r->op == GLOW_OP_RETURN;
  bool fits = is_return == (r->block->owner == GLOW_BLOCK_FUNCTION && r->block->of.function);
  for (size_t i = 0; i < r->count && fits; i++)
    fits = r->values[i] != NULL;
  if (!fits || glow_block_terminator(r->block) || r->count > UINT32_MAX) {
    glow_error(ctx, place(ctx, NULL), "%s does not fit here", is_return ? "return" : "yield");
    return;
  }
  glow_build_terminator(r->block, r->op, r->values, (uint32_t)r->count);
  if (is_return)
    set_results(r);
  r->ok = true;
}

static GlowStatus terminate(GlowBlock *block, GlowOp op, GlowValue *const *values, size_t count) {
  Request r = {.block = block, .op = op, .values = values, .count = count};
  return block ? request(block->module, add_terminator, &r) : GLOW_BAD_INPUT;
}

GlowStatus glow_add_return(GlowBlock *block, GlowValue *const *values, size_t count) {
  return terminate(block, GLOW_OP_RETURN, values, count);
}

GlowStatus glow_add_yield(GlowBlock *block, GlowValue *const *values, size_t count) {
  return terminate(block, GLOW_OP_YIELD, values, count);
}

/* ---- Nodes and instructions ------------------------------------------------------------------ */
static GlowOp find_op(GlowContext *ctx, const Request *r) {
  const char *name = r->args->op;
  bool instr = r->block->level == GLOW_LEVEL_PROGRAM;
  GlowOp op = instr ? glow_op_from_instr_name(name, strlen(name))
                    : glow_op_from_node_name(name, strlen(name));
  /* Operators with syntax of their own are accepted as instructions only. */
  if (op != GLOW_OP_COUNT && (instr || !GLOW_HAS(&glow_op_desc[op], SYNTAX)))
    return op;
  const char *what = instr ? "instruction" : "operator", *near = glow_op_nearest(name, instr);
  if (near)
    glow_error(ctx, place(ctx, name), "unknown %s '%s'; did you mean '%s'?", what, name, near);
  else
    glow_error(ctx, place(ctx, name), "unknown %s '%s'", what, name);
  return GLOW_OP_COUNT;
}

/* Claims and names of results, from text. */
static bool read_results(GlowContext *ctx, const Request *r, GlowNodeSpec *spec) {
  const GlowNodeArgs *a = r->args;
  const GlowType **types = GLOW_NEW_ARRAY(ctx->arena, const GlowType *, a->nresults);
  GlowStr *names = GLOW_NEW_ARRAY(ctx->arena, GlowStr, a->nresults);
  for (size_t i = 0; i < a->nresults; i++) {
    names[i] = a->names ? optional_name(ctx, a->names[i]) : NULL;
    if (!a->types || !a->types[i])
      continue;
    types[i] = glow_type_parse(r->module, a->op, a->types[i]);
    if (!types[i])
      return false;
  }
  spec->nresults = (uint32_t)a->nresults;
  spec->types = types;
  spec->names = a->nresults ? names : NULL;
  return true;
}

/* How many operands an epilogue takes beyond the accumulators. */
static uint32_t count_extras(const GlowNodeSpec *spec) {
  const GlowBlock *body = spec->nregions ? spec->regions[spec->nregions - 1] : NULL;
  if (!body || !body->scalar || glow_op_desc[spec->op].epilogue < 0 || body->nparams < spec->nouts)
    return 0;
  uint32_t extra = body->nparams - spec->nouts;
  return extra < spec->nins ? extra : spec->nins;
}

static void add_node(GlowContext *ctx, void *arg) {
  Request *r = arg;
  const GlowNodeArgs *a = r->args;
  GlowOp op = find_op(ctx, r);
  if (op == GLOW_OP_COUNT)
    return;
  const GlowOpDesc *d = &glow_op_desc[op];
  char *members = glow_arena_alloc(ctx->arena, d->member_size);
  if (d->member_size)
    memcpy(members, d->member_defaults, d->member_size);
  bool instr = r->block->level == GLOW_LEVEL_PROGRAM;
  GlowNodeSpec spec = {.op = op,
                       .ins = a->ins,
                       .nins = (uint32_t)a->nins,
                       .outs = a->outs,
                       .nouts = (uint32_t)a->nouts,
                       .members = d->member_size ? members : NULL,
                       .regions = a->regions,
                       .nregions = (uint32_t)a->nregions};
  if (!glow_members_parse(r->module, a->op, op, instr, a->members ? a->members : "", members,
                          &spec.shards) ||
      !read_results(ctx, r, &spec))
    return;
  spec.nextra = count_extras(&spec);
  spec.nins -= spec.nextra;
  spec.extras = spec.nextra ? a->ins + spec.nins : NULL;
  GlowBuilder b = glow_builder_at_end(r->block);
  b.src = place(ctx, a->op);
  b.pred = a->pred;
  r->node = glow_node_create(&b, &spec);
  r->ok = r->node != NULL;
}

GlowStatus glow_add_node(GlowBlock *block, const GlowNodeArgs *args, GlowValue **results,
                         size_t count) {
  for (size_t i = 0; results && i < count; i++)
    results[i] = NULL;
  Request r = {.block = block, .args = args};
  GlowStatus status = block ? request(block->module, add_node, &r) : GLOW_BAD_INPUT;
  for (size_t i = 0; status == GLOW_OK && results && i < count && i < r.node->nresults; i++)
    results[i] = &r.node->results[i];
  return status;
}

GlowValue *glow_add_op(GlowBlock *block, const char *name, const char *op, const char *members,
                       GlowValue *const *ins, size_t nins) {
  GlowValue *result;
  GlowNodeArgs args = {
      .op = op, .members = members, .ins = ins, .nins = nins, .names = &name, .nresults = 1};
  return glow_add_node(block, &args, &result, 1) == GLOW_OK ? result : NULL;
}

GlowStatus glow_add_save(GlowBlock *block, GlowValue *value, GlowValue *storage) {
  GlowNodeArgs args = {.op = "Save", .ins = (GlowValue *[]){value, storage}, .nins = 2};
  return glow_add_node(block, &args, NULL, 0);
}

GlowValue *glow_add_alloc(GlowBlock *block, const char *name, const char *type) {
  GlowValue *result;
  GlowNodeArgs args = {.op = "alloc", .names = &name, .types = &type, .nresults = 1};
  return glow_add_node(block, &args, &result, 1) == GLOW_OK ? result : NULL;
}

GlowStatus glow_add_dealloc(GlowBlock *block, GlowValue *buffer) {
  return glow_add_node(block, &(GlowNodeArgs){.op = "dealloc", .ins = &buffer, .nins = 1}, NULL, 0);
}

GlowValue *glow_add_view(GlowBlock *block, const char *name, GlowValue *base, const char *members,
                         const char *type) {
  GlowValue *result;
  GlowNodeArgs args = {.op = "tensorview",
                       .ins = &base,
                       .nins = 1,
                       .members = members,
                       .names = &name,
                       .types = &type,
                       .nresults = 1};
  return glow_add_node(block, &args, &result, 1) == GLOW_OK ? result : NULL;
}

GlowStatus glow_add_instruction(GlowBlock *block, const char *op, const char *members,
                                GlowValue *const *outs, size_t nouts, GlowValue *const *ins,
                                size_t nins) {
  GlowNodeArgs args = {
      .op = op, .members = members, .outs = outs, .nouts = nouts, .ins = ins, .nins = nins};
  return glow_add_node(block, &args, NULL, 0);
}
