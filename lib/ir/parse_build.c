/* Grammar actions: module header, functions, blocks and nodes. Operands are resolved as they are
 * read: storage must be declared before its use, and a value must be defined before its use, in a
 * block that encloses the use. Only members name functions, so a function may come later. */
#include <string.h>

#include "ir/grammar.h"
#include "ir/parse_internal.h"

static GlowScope *top(GlowParser *p) {
  return p->scopes.count ? &p->scopes.data[p->scopes.count - 1] : NULL;
}

static bool is_underscore(const GlowParser *p, const GlowToken *t) {
  return *glow_token_text(p, t) == '_';
}

/* ---- Module header --------------------------------------------------------------------------- */
typedef struct HeaderText {
  int64_t version;
  GlowStr target, base, producer;
} HeaderText;

static const int64_t no_int = -1;
static const GlowStr no_string = NULL;
#define ROW(T, n, k, d)                                                                            \
  { .name = #n, .type = GLOW_MEMBER_##k, .offset = offsetof(T, n), .initial = &d }
static const GlowMember header_members[] = {
    ROW(HeaderText, version, I64, no_int), ROW(HeaderText, target, STR, no_string),
    ROW(HeaderText, base, STR, no_string), ROW(HeaderText, producer, STR, no_string)};

void glow_parse_header(GlowParser *p, const GlowToken *t, const GlowToken *name) {
  GlowModule *m = p->module;
  m->src = glow_parse_loc(p, t);
  HeaderText h = {.version = -1};
  if (name)
    m->name = glow_parse_string(p, name);
  GlowToken first = p->anchor;
  bool any = p->items.count > 0;
  glow_parse_members(p, "module", t, &(GlowAttributes){header_members, 4, &h, true, NULL});
  if (any && h.version != -1 && h.version != GLOW_IR_VERSION)
    glow_parse_fatal(p, &first,
                     "version %lld of the language is not known; this program reads version %d",
                     (long long)h.version, GLOW_IR_VERSION);
  m->version = h.version;
  m->target = h.target;
  m->base = h.base;
  m->producer = h.producer;
  if (h.base)
    m->path_dir = glow_path_join(p->ctx, m->path_dir, h.base);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */
static void push_scope(GlowParser *p, const GlowToken *t, GlowBlock *block) {
  GlowScope s = {.block = block, .braces = t->braces, .names = p->names.count, .open = *t};
  glow_vec_push(p->arena, &p->scopes, s);
}

void glow_parse_open_section(GlowParser *p, const GlowToken *t) { push_scope(p, t, NULL); }

static void take_params(GlowParser *p, GlowBlock *b) {
  for (uint32_t i = 0; i < p->params.count; i++) {
    const GlowParamText *param = &p->params.data[i];
    GlowStr name = glow_parse_name(p, &param->name);
    if (name && glow_names_find(b->names, name)) {
      glow_parse_error(p, &param->name, "'%%%s' is defined twice", name);
      const GlowValue *old = glow_names_find(b->names, name);
      if (old != p->error_value)
        glow_note(p->ctx, glow_value_loc(old), "it is defined here");
    }
    glow_block_add_param(b, name, param->type);
  }
  p->params.count = 0;
}

/* A region of the node at hand. If there is no node (unknown operator), nobody owns the region. */
static GlowBlock *make_region(GlowParser *p, bool scalar) {
  GlowScope *s = top(p);
  GlowNode *n = s->node;
  const GlowBlock *outer = s->block;
  GlowStr label = glow_str_n(p->ctx, glow_token_text(p, &p->label) + 1, p->label.length - 1);
  GlowBlock *b = glow_block_create(p->module, scalar ? GLOW_LEVEL_GRAPH : outer->level,
                                   scalar ? NULL : outer->names, label);
  b->scalar = scalar;
  b->owner = GLOW_BLOCK_REGION;
  if (!n)
    return b;
  const GlowOpDesc *d = glow_node_desc(n);
  uint32_t slot = glow_op_region_slot(d, label, scalar);
  if (slot >= n->nregions)
    glow_parse_error(p, &p->label, "%s has no %s ^%s", outer->level ? d->instr : d->node,
                     scalar ? "scalar body" : "region", label);
  else if (n->regions[slot])
    glow_parse_error(p, &p->label, "region ^%s is given twice", label);
  else
    glow_node_attach_region(n, slot, b);
  return b;
}

void glow_parse_region(GlowParser *p, const GlowToken *label) { p->label = *label; }

void glow_parse_open_block(GlowParser *p, const GlowToken *t, GlowOpening opening) {
  GlowBlock *b = NULL;
  if (p->scopes.count > GLOW_MAX_REGION_DEPTH)
    glow_parse_fatal(p, t, "regions nest more than %d deep", GLOW_MAX_REGION_DEPTH);
  switch (opening) {
  case GLOW_OPEN_FUNCTION:
    b = p->function->body;
    break;
  case GLOW_OPEN_EVAL:
    b = glow_block_create(p->module, GLOW_LEVEL_GRAPH, NULL, NULL);
    b->owner = GLOW_BLOCK_EVAL;
    break;
  case GLOW_OPEN_REGION:
  case GLOW_OPEN_SCALAR:
    b = make_region(p, opening == GLOW_OPEN_SCALAR);
    take_params(p, b);
    break;
  }
  push_scope(p, t, b);
}

GlowBlock *glow_parse_close(GlowParser *p) {
  GlowBlock *b = top(p)->block;
  p->scopes.count--;
  return b;
}

/* ---- Names of values ------------------------------------------------------------------------- */
static void define(GlowParser *p, const GlowToken *t, GlowValue *value) {
  GlowNames *names = top(p)->block->names;
  GlowStr name = glow_parse_name(p, t);
  if (!name)
    return;
  const GlowValue *old = glow_names_find(names, name);
  if (!old) {
    glow_names_add(names, name, value);
    if (value != p->error_value)
      value->name = name;
    return;
  }
  if (old == p->error_value)
    return;
  glow_parse_error(p, t, "'%%%s' is defined twice", name);
  glow_note(p->ctx, glow_value_loc(old), "it is defined here");
}

/* Gives the statement's result names to n's results; if n is NULL, to the error value. */
static void define_results(GlowParser *p, GlowNode *n) {
  uint32_t base = top(p)->names;
  for (uint32_t i = base; i < p->names.count; i++) {
    const GlowToken *t = &p->names.data[i];
    if (!is_underscore(p, t))
      define(p, t, n ? &n->results[i - base] : p->error_value);
  }
  p->names.count = base;
}

void glow_parse_result_name(GlowParser *p, const GlowToken *t) {
  glow_vec_push(p->arena, &p->names, *t);
}

static bool is_visible(const GlowParser *p, const GlowValue *v) {
  const GlowBlock *home = glow_value_block(v);
  for (uint32_t i = p->scopes.count; i > 0; i--)
    if (p->scopes.data[i - 1].block == home)
      return true;
  return false;
}

static GlowValue *unknown(GlowParser *p, const GlowToken *t, char sigil, GlowStr name,
                          const GlowNames *names) {
  const GlowBlock *b = top(p)->block;
  char other = sigil == '@' ? '%' : '@';
  bool has_other = !b->scalar && glow_names_find(other == '@' ? p->module->names : b->names, name);
  GlowStr near = has_other ? name : glow_names_nearest(names, name);
  const char *hint = b->scalar ? "; a scalar body captures nothing" : "";
  if (near)
    glow_parse_error(p, t, "unknown %s '%c%s'; did you mean '%c%s'?",
                     sigil == '@' ? "storage" : "value", sigil, name, has_other ? other : sigil,
                     near);
  else
    glow_parse_error(p, t, "unknown %s '%c%s'%s", sigil == '@' ? "storage" : "value", sigil, name,
                     hint);
  return p->error_value;
}

GlowValue *glow_parse_ref(GlowParser *p, const GlowToken *t, char sigil) {
  GlowStr name = glow_parse_name(p, t);
  const GlowBlock *b = top(p)->block;
  if (!name)
    return p->error_value;
  if (sigil == '@') {
    if (b->scalar) {
      glow_parse_error(p, t, "'@%s': a scalar body captures nothing", name);
      return p->error_value;
    }
    GlowStorage *s = glow_module_storage(p->module, name);
    return s ? &s->value : unknown(p, t, sigil, name, p->module->names);
  }
  GlowValue *v = glow_names_find(b->names, name);
  if (!v)
    return unknown(p, t, sigil, name, b->names);
  if (v == p->error_value || is_visible(p, v))
    return v;
  glow_parse_error(p, t, "'%%%s' is not visible here: it belongs to another region", name);
  glow_note(p->ctx, glow_value_loc(v), "it is defined here");
  return p->error_value;
}

/* ---- Statements ------------------------------------------------------------------------------ */
static void drop_statement(GlowParser *p) {
  glow_parse_drop_items(p);
  p->types.count = 0;
  p->operands.count = 0;
  p->params.count = 0;
  p->results.count = 0;
  p->refs.count = 0;
  p->clauses = (GlowFunction){0};
  p->pred = NULL;
  p->origin = NULL;
  p->has_results = false;
  p->init = (GlowInit){0};
  p->at = -1;
}

void glow_parse_sync(GlowParser *p) {
  drop_statement(p);
  GlowScope *s = top(p);
  if (s && s->block) {
    s->node = NULL;
    define_results(p, NULL);
  }
}

void glow_parse_operand(GlowParser *p, const GlowToken *qual, GlowValue *value) {
  GlowOperandText o = {value, GLOW_QUAL_NONE};
  if (qual) {
    const char *s = glow_token_text(p, qual);
    o.qual = s[1] == 'o' ? GLOW_QUAL_OUT : qual->length == 3 ? GLOW_QUAL_IN : GLOW_QUAL_INOUT;
    if (o.qual != GLOW_QUAL_IN && p->operands.count &&
        p->operands.data[p->operands.count - 1].qual == GLOW_QUAL_IN)
      glow_parse_error(p, qual, "operands that are written come before those that are read");
  }
  glow_vec_push(p->arena, &p->operands, o);
}

void glow_parse_origin(GlowParser *p, const GlowToken *file, const GlowToken *name,
                       const GlowToken *line, const GlowToken *col) {
  GlowOrigin *o = GLOW_NEW(p->module->arena, GlowOrigin);
  int64_t l = 0, c = 0;
  o->file = glow_parse_string(p, file);
  if (name)
    o->name = glow_parse_string(p, name);
  else if (glow_parse_i64(p, line, 1, UINT32_MAX, "the line", &l))
    glow_parse_i64(p, col, 1, UINT32_MAX, "the column", &c);
  o->line = (uint32_t)l;
  o->col = (uint32_t)c;
  if (o->file)
    p->origin = o;
}

static GlowOp find_op(GlowParser *p, const GlowToken *t, bool instr) {
  const char *s = glow_token_text(p, t);
  GlowOp op = instr ? glow_op_from_instr_name(s, t->length) : glow_op_from_node_name(s, t->length);
  if (op != GLOW_OP_COUNT && GLOW_HAS(&glow_op_desc[op], SYNTAX))
    op = GLOW_OP_COUNT; /* yield, alloc and the like are keywords */
  if (op != GLOW_OP_COUNT)
    return op;
  GlowStr word = glow_parse_word(p, t);
  const char *near = word ? glow_op_nearest(word, instr) : NULL;
  const char *what = instr ? "instruction" : "operator";
  if (near)
    glow_parse_error(p, t, "unknown %s '%s'; did you mean '%s'?", what, word, near);
  else if (word)
    glow_parse_error(p, t, "unknown %s '%s'", what, word);
  return GLOW_OP_COUNT;
}

static void take_operands(GlowParser *p, GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    glow_use_set(&n->operands[i], p->operands.data[i].value);
    n->operands[i].qual = p->operands.data[i].qual;
  }
}

/* The numbers of outputs and inputs that are written, without trailing `none` at optional ports. */
static GlowNodeShape operand_shape(GlowParser *p, const GlowOpDesc *d) {
  GlowNodeShape shape = {0};
  uint32_t count = p->operands.count;
  while (shape.nouts < count && p->operands.data[shape.nouts].qual > GLOW_QUAL_IN)
    shape.nouts++;
  uint32_t nins = count - shape.nouts;
  while (nins && nins <= d->nin && !p->operands.data[shape.nouts + nins - 1].value &&
         (d->in[nins - 1].flags & GLOW_PORT_OPTIONAL))
    nins--;
  shape.nins = nins;
  return shape;
}

static void take_claims(GlowParser *p, const GlowToken *at, GlowNode *n) {
  if (p->types.count == 0)
    return;
  if (p->types.count != n->nresults)
    glow_parse_error(p, at, "%u type%s for %u result%s", p->types.count,
                     p->types.count == 1 ? "" : "s", n->nresults, n->nresults == 1 ? "" : "s");
  for (uint32_t i = 0; i < n->nresults && i < p->types.count; i++)
    n->results[i].type = p->types.data[i];
}

void glow_parse_node(GlowParser *p, const GlowToken *start, const GlowToken *op, bool instr) {
  GlowScope *s = top(p);
  GlowOp o = find_op(p, op, instr);
  s->node = NULL;
  if (o != GLOW_OP_COUNT) {
    const GlowOpDesc *d = &glow_op_desc[o];
    GlowNodeShape shape = operand_shape(p, d);
    shape.nresults = p->names.count - s->names;
    shape.nregions = glow_op_region_slots(d, instr && glow_op_scalar_label(d));
    GlowNode *n = glow_node_new(p->module, o, shape);
    n->src = glow_parse_loc(p, start);
    n->origin = p->origin;
    glow_node_insert(n, s->block, NULL);
    take_operands(p, n);
    glow_use_set(&n->pred, p->pred);
    take_claims(p, op, n);
    GlowAttributes a = glow_attributes_of(o, instr, n->members, &n->shards);
    if (d->member_size || p->items.count)
      glow_parse_members(p, instr ? d->instr : d->node, op, &a);
    s->node = n;
  }
  drop_statement(p);
}

void glow_parse_node_end(GlowParser *p) {
  GlowScope *s = top(p);
  GlowNode *n = s->node;
  if (n) {
    const GlowBlock *body = glow_node_epilogue(n);
    if (n->nregions && !n->regions[n->nregions - 1] && n->nregions > glow_node_desc(n)->nregions)
      n->nregions--;
    if (body && glow_node_desc(n)->epilogue >= 0 && body->nparams > n->nouts) {
      uint32_t extra = body->nparams - n->nouts, ins = n->noperands - n->nouts;
      n->nextra = extra < ins ? extra : ins;
    }
  }
  define_results(p, n);
  s->node = NULL;
}

void glow_parse_node_abandon(GlowParser *p) {
  GlowScope *s = top(p);
  if (!s || !s->block)
    return;
  define_results(p, NULL);
  s->node = NULL;
}

void glow_parse_terminator(GlowParser *p, const GlowToken *t, GlowOp op) {
  GlowBlock *b = top(p)->block;
  GlowNode *n = glow_node_new(p->module, op, (GlowNodeShape){.nins = p->operands.count});
  n->src = glow_parse_loc(p, t);
  n->origin = p->origin;
  glow_node_insert(n, b, NULL);
  take_operands(p, n);
  drop_statement(p);
}

/* ---- alloc, tensorview, dealloc -------------------------------------------------------------- */
static GlowNode *syntax_node(GlowParser *p, const GlowToken *t, GlowOp op, GlowNodeShape shape) {
  GlowNode *n = glow_node_new(p->module, op, shape);
  n->src = glow_parse_loc(p, t);
  n->origin = p->origin;
  glow_node_insert(n, top(p)->block, NULL);
  return n;
}

void glow_parse_alloc(GlowParser *p, const GlowToken *name, const GlowType *type) {
  GlowNode *n = syntax_node(p, name, GLOW_OP_ALLOC, (GlowNodeShape){.nresults = 1});
  ((GlowAllocMembers *)n->members)->at = p->at;
  n->results[0].type = type;
  define(p, name, &n->results[0]);
  drop_statement(p);
}

void glow_parse_view(GlowParser *p, const GlowToken *name, const GlowToken *t, GlowValue *base,
                     const GlowType *type) {
  GlowNode *n = syntax_node(p, name, GLOW_OP_TENSORVIEW, (GlowNodeShape){.nins = 1, .nresults = 1});
  glow_use_set(&n->operands[0], base);
  GlowAttributes a = glow_attributes_of(n->op, true, n->members, &n->shards);
  glow_parse_members(p, glow_node_desc(n)->instr, t, &a);
  n->results[0].type = type;
  define(p, name, &n->results[0]);
  drop_statement(p);
}

void glow_parse_dealloc(GlowParser *p, const GlowToken *t, GlowValue *buffer) {
  GlowNode *n = syntax_node(p, t, GLOW_OP_DEALLOC, (GlowNodeShape){.nins = 1});
  glow_use_set(&n->operands[0], buffer);
  drop_statement(p);
}

/* ---- Functions ------------------------------------------------------------------------------- */
void glow_parse_param(GlowParser *p, const GlowToken *name, const GlowType *type) {
  GlowParamText param = {*name, type};
  glow_vec_push(p->arena, &p->params, param);
}

void glow_parse_result(GlowParser *p, const GlowToken *name, const GlowType *type) {
  GlowParamText result = {name ? *name : (GlowToken){0}, type};
  glow_vec_push(p->arena, &p->results, result);
}

/* Gives f the results of its signature. */
static void take_results(GlowParser *p, GlowFunction *f) {
  uint32_t count = p->results.count;
  f->has_results = p->has_results;
  f->nresults = count;
  f->results = GLOW_NEW_ARRAY(p->module->arena, const GlowType *, count);
  for (uint32_t i = 0; i < count; i++) {
    const GlowParamText *r = &p->results.data[i];
    f->results[i] = r->type;
    if (!r->name.length)
      continue;
    if (!f->result_names)
      f->result_names = GLOW_NEW_ARRAY(p->module->arena, GlowStr, count);
    f->result_names[i] = glow_parse_name(p, &r->name);
  }
}

static GlowFunction *make_function(GlowParser *p, GlowFunctionKind kind, const GlowToken *name) {
  GlowStr wanted = glow_parse_name(p, name);
  const GlowFunction *old = wanted ? glow_module_function(p->module, wanted) : NULL;
  if (old) {
    glow_parse_error(p, name, "function '@%s' is defined twice", wanted);
    glow_note(p->ctx, old->src, "it is defined here");
  }
  GlowFunction *f = glow_function_create(p->module, kind, wanted);
  f->src = glow_parse_loc(p, name);
  take_results(p, f);
  take_params(p, f->body);
  return f;
}

void glow_parse_function(GlowParser *p, GlowFunctionKind kind, const GlowToken *name) {
  p->function = make_function(p, kind, name);
  drop_statement(p);
}

typedef struct WithText {
  int64_t arena, align;
  GlowStr device;
  bool inline_always;
} WithText;

static const bool no = false;
static const GlowMember with_members[] = {ROW(WithText, arena, I64, no_int),
                                          ROW(WithText, align, I64, no_int),
                                          ROW(WithText, device, STR, no_string),
                                          {.name = "inline",
                                           .type = GLOW_MEMBER_BOOL,
                                           .offset = offsetof(WithText, inline_always),
                                           .initial = &no}};

void glow_parse_with(GlowParser *p, const GlowToken *t) {
  WithText w = {.arena = -1, .align = -1};
  GlowFunction *f = p->function;
  glow_parse_members(p, "with", t, &(GlowAttributes){with_members, 4, &w, true, NULL});
  f->arena = w.arena;
  f->align = w.align;
  f->device = w.device;
  f->inline_always = w.inline_always;
}

/* ---- Gradient declarations ------------------------------------------------------------------- */
void glow_parse_gradient_ref(GlowParser *p, const GlowToken *t, char sigil) {
  GlowGradientRef ref = {.is_storage = sigil == '@'};
  int64_t index = 0;
  if (sigil == '#')
    glow_parse_i64(p, t, 0, UINT32_MAX, "a result's index", &index);
  else
    ref.name = glow_parse_name(p, t);
  ref.index = (uint32_t)index;
  if (sigil == '#' || ref.name)
    glow_vec_push(p->arena, &p->refs, ref);
}

static void set_clause(GlowParser *p, const GlowToken *t, GlowGradientRef **refs, uint32_t *count) {
  if (*count)
    glow_parse_error(p, t, "this clause is given twice");
  *refs = glow_arena_copy(p->module->arena, p->refs.data, p->refs.count * sizeof *p->refs.data);
  *count = p->refs.count;
}

void glow_parse_gradient_clause(GlowParser *p, const GlowToken *t, char clause) {
  GlowFunction *c = &p->clauses;
  if (clause == 'f')
    set_clause(p, t, &c->from, &c->nfrom);
  else if (clause == 'w')
    set_clause(p, t, &c->wrt, &c->nwrt);
  else if (clause == 'k')
    set_clause(p, t, &c->keeping, &c->nkeeping);
  else if (clause == 't' ? c->forward : c->seedable)
    glow_parse_error(p, t, "this clause is given twice");
  else if (c->forward || c->seedable)
    glow_parse_error(p, t, "'forward' takes tangents instead of seeds, so it excludes 'seedable'");
  else
    *(clause == 't' ? &c->forward : &c->seedable) = true;
  for (uint32_t i = 0; clause == 'w' && i < c->nwrt; i++)
    if (!c->wrt[i].name)
      glow_parse_error(p, t, "'wrt' names parameters and storage, not results");
  p->refs.count = 0;
}

void glow_parse_gradient(GlowParser *p, const GlowToken *name, const GlowToken *primal) {
  GlowFunction *f = make_function(p, GLOW_GRADIENT, name);
  f->primal = glow_parse_name(p, primal);
  f->from = p->clauses.from;
  f->nfrom = p->clauses.nfrom;
  f->wrt = p->clauses.wrt;
  f->nwrt = p->clauses.nwrt;
  f->keeping = p->clauses.keeping;
  f->nkeeping = p->clauses.nkeeping;
  f->seedable = p->clauses.seedable;
  f->forward = p->clauses.forward;
  drop_statement(p);
}
