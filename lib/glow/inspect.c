/* The public functions that read a module. Only those that make a text can fail. */
#include "glow/inspect.h"

#include <string.h>

#include "ir/print_internal.h"

/* ---- Functions and storage ------------------------------------------------------------------- */
static const GlowFunction *function_at(const GlowModule *m, size_t i) {
  const GlowFunction *f = m ? m->first_function : NULL;
  while (f && i--)
    f = f->next;
  return f;
}

size_t glow_count_functions(const GlowModule *m) {
  size_t count = 0;
  for (const GlowFunction *f = function_at(m, 0); f; f = f->next)
    count++;
  return count;
}

GlowBlock *glow_get_function(const GlowModule *m, size_t i, const char **name) {
  const GlowFunction *f = function_at(m, i);
  if (name)
    *name = f ? f->name : NULL;
  return f ? f->body : NULL;
}

const char *glow_get_function_kind(const GlowModule *m, size_t i) {
  static const char *const kinds[] = {"func", "program", "gradient"};
  const GlowFunction *f = function_at(m, i);
  return f ? kinds[f->kind] : NULL;
}

size_t glow_count_storage(const GlowModule *m) {
  size_t count = 0;
  for (const GlowStorage *s = m ? m->first_storage : NULL; s; s = s->next)
    count++;
  return count;
}

GlowValue *glow_get_storage(const GlowModule *m, size_t i) {
  GlowStorage *s = m ? m->first_storage : NULL;
  while (s && i--)
    s = s->next;
  return s ? &s->value : NULL;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */
size_t glow_count_params(const GlowBlock *b) { return b ? b->nparams : 0; }

GlowValue *glow_get_param(const GlowBlock *b, size_t i) {
  return b && i < b->nparams ? b->params[i] : NULL;
}

GlowNode *glow_get_first_node(const GlowBlock *b) { return b ? b->first : NULL; }
GlowNode *glow_get_next_node(const GlowNode *n) { return n ? n->next : NULL; }

/* ---- Nodes ----------------------------------------------------------------------------------- */
const char *glow_get_op(const GlowNode *n) {
  if (!n)
    return NULL;
  const GlowOpDesc *d = glow_node_desc(n);
  if (GLOW_HAS(d, TERMINATOR))
    return n->op == GLOW_OP_RETURN ? "return" : "yield";
  return glow_node_is_instr(n) ? d->instr : d->node;
}

size_t glow_count_ins(const GlowNode *n) { return n ? n->noperands - n->nouts : 0; }

GlowValue *glow_get_in(const GlowNode *n, size_t i) {
  return i < glow_count_ins(n) ? n->operands[n->nouts + i].value : NULL;
}

size_t glow_count_outs(const GlowNode *n) { return !n ? 0 : n->nouts ? n->nouts : n->nresults; }

GlowValue *glow_get_out(const GlowNode *n, size_t i) {
  return i < glow_count_outs(n) ? glow_node_out(n, (uint32_t)i) : NULL;
}

size_t glow_count_regions(const GlowNode *n) { return n ? n->nregions : 0; }

GlowBlock *glow_get_region(const GlowNode *n, size_t i) {
  return n && i < n->nregions ? n->regions[i] : NULL;
}

/* ---- Texts ----------------------------------------------------------------------------------- */
typedef struct Request {
  const GlowNode *node;   /* of whose member `name` the text is wanted; NULL: */
  const GlowValue *value; /* the type of this value */
  const char *name;
  char *copy;
  GlowStatus status;
} Request;

static void print(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &text);
  r->status = GLOW_OK;
  if (!r->node)
    glow_type_print(&text, r->value->type);
  else if (!glow_node_print_member(&text, r->node, r->name))
    r->status = GLOW_BAD_USAGE;
  if (r->status == GLOW_OK) {
    r->copy = glow_malloc(ctx, text.size + 1);
    memcpy(r->copy, glow_text_cstr(&text), text.size);
  }
  glow_defer_pop(ctx, &release, true);
}

static GlowStatus take_text(GlowContext *ctx, Request *r, char **text) {
  GlowStatus thrown = glow_protect(ctx, print, r);
  *text = r->copy;
  return thrown == GLOW_OK ? r->status : thrown;
}

GlowStatus glow_get_member(const GlowNode *n, const char *name, char **text) {
  if (text)
    *text = NULL;
  if (!n || !n->block || !name || !text)
    return GLOW_BAD_USAGE;
  return take_text(n->block->module->ctx, &(Request){.node = n, .name = name}, text);
}

GlowStatus glow_get_type(const GlowValue *v, char **text) {
  if (text)
    *text = NULL;
  if (!v || !text)
    return GLOW_BAD_USAGE;
  const GlowBlock *b = glow_value_block(v);
  const GlowModule *m = b ? b->module : v->def.storage->module;
  return take_text(m->ctx, &(Request){.value = v}, text);
}

const char *glow_get_name(const GlowValue *v) { return v ? v->name : NULL; }

const char *glow_get_value_kind(const GlowValue *v) {
  static const char *const storage[] = {"placeholder", "variable", "constant"};
  if (!v)
    return NULL;
  if (v->kind == GLOW_VALUE_STORAGE)
    return storage[v->def.storage->cls];
  return v->kind == GLOW_VALUE_PARAM ? "parameter" : "result";
}
