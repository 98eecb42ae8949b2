/* Modules, their storage and their functions: creation, look-up, order. */
#include <string.h>

#include "ir/ir_internal.h"
#include "tensor/form.h"

/* Called by the context when it is destroyed: a throw may have left modules behind. */
static void release_modules(GlowContext *ctx) {
  while (ctx->modules)
    glow_module_destroy(ctx->modules);
}

static void link_module(GlowContext *ctx, GlowModule *m) {
  m->older = ctx->modules;
  if (m->older)
    m->older->newer = m;
  ctx->modules = m;
  ctx->release_modules = release_modules;
}

static void unlink_module(GlowContext *ctx, GlowModule *m) {
  *(m->newer ? &m->newer->older : &ctx->modules) = m->older;
  if (m->older)
    m->older->newer = m->newer;
}

GlowModule *glow_module_create(GlowContext *ctx, GlowStr name) {
  GlowArena *arena = glow_arena_create(ctx);
  GlowModule *m = GLOW_NEW(arena, GlowModule);
  m->ctx = ctx;
  m->arena = arena;
  m->name = name;
  m->version = -1;
  m->names = glow_names_create(arena);
  m->functions = glow_names_create(arena);
  m->path_dir = glow_str(ctx, ".");
  link_module(ctx, m);
  return m;
}

void glow_module_destroy(GlowModule *m) {
  if (!m)
    return;
  unlink_module(m->ctx, m);
  glow_arena_destroy(m->arena);
}

GlowStorage *glow_module_storage(const GlowModule *m, GlowStr name) {
  return glow_names_find(m->names, name);
}

GlowFunction *glow_module_function(const GlowModule *m, GlowStr name) {
  return glow_names_find(m->functions, name);
}

const GlowExtent *glow_module_extent(const GlowModule *m, GlowStr symbol) {
  for (uint32_t i = 0; i < m->extents.count; i++)
    if (m->extents.data[i]->symbol == symbol)
      return m->extents.data[i];
  return NULL;
}

typedef struct ExtentList {
  GlowArena *arena;
  GlowExtents *extents;
} ExtentList;

/* Symbols stand before the definitions that name them. */
static void add_extent(void *list, const GlowExtent *e) {
  ExtentList *l = list;
  for (uint32_t i = 0; i < l->extents->count; i++)
    if (l->extents->data[i]->symbol == e->symbol)
      return;
  if (e->form)
    glow_form_symbols(e->form, add_extent, l);
  glow_vec_push(l->arena, l->extents, e);
}

static void add_type(ExtentList *l, const GlowType *t) {
  while (t->elem)
    t = t->elem;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].extent)
      add_extent(l, t->dims[i].extent);
}

static void add_size(void *list, GlowSize *size) {
  if (size->extent)
    add_extent(list, size->extent);
}

static void add_block(ExtentList *l, const GlowBlock *block) {
  for (uint32_t i = 0; i < block->nparams; i++)
    add_type(l, block->params[i]->type);
  for (const GlowNode *n = block->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->nresults; i++)
      add_type(l, n->results[i].type);
    glow_node_sizes(n, add_size, l);
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        add_block(l, n->regions[i]);
  }
}

void glow_module_add_extents(GlowModule *m, const GlowType *t) {
  add_type(&(ExtentList){m->arena, &m->extents}, t);
}

void glow_module_add_extent(GlowModule *m, const GlowExtent *e) {
  add_extent(&(ExtentList){m->arena, &m->extents}, e);
}

GlowExtents glow_module_extents(const GlowModule *m, GlowArena *arena) {
  GlowExtents all = {0};
  ExtentList l = {arena, &all};
  for (uint32_t i = 0; i < m->extents.count; i++)
    add_extent(&l, m->extents.data[i]);
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    add_type(&l, s->value.type);
  for (const GlowFunction *f = m->first_function; f; f = f->next) {
    add_block(&l, f->body);
    for (uint32_t i = 0; i < f->nresults; i++)
      add_type(&l, f->results[i]);
  }
  return all;
}

/* ---- The entry ------------------------------------------------------------------------------- */

/* The set of functions that some function calls. */
static GlowMap *called_functions(const GlowModule *m, GlowArena *arena) {
  GlowMap *called = glow_map_create(arena);
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (GlowNode *n = f->body ? f->body->first : NULL; n; n = glow_next_in_walk(n)) {
      GlowFunction *callee =
          n->op == GLOW_OP_CALL
              ? glow_module_function(m, ((const GlowCallMembers *)n->members)->callee)
              : NULL;
      if (callee)
        glow_map_set(called, callee, callee);
    }
  return called;
}

/* Functions for a device were split off another function, which calls them unless the calls were
 * inlined. */
GlowFunctions glow_module_entries(const GlowModule *m, GlowArena *arena) {
  GlowMap *called = called_functions(m, arena);
  GlowFunctions found = {0};
  int least = 0;
  for (GlowFunction *f = m->first_function; f; f = f->next) {
    if (f->kind == GLOW_GRADIENT)
      continue;
    int distance = glow_map_get(called, f) ? 2 : f->device ? 1 : 0;
    if (found.count && distance > least)
      continue;
    if (distance < least)
      found.count = 0;
    glow_vec_push(arena, &found, f);
    least = distance;
  }
  return found;
}

static GlowFunction *only_function(const GlowModule *m) {
  GlowArena *arena = glow_arena_create(m->ctx);
  GlowFunctions found = glow_module_entries(m, arena);
  GlowFunction *first = found.count ? found.data[0] : NULL;
  GlowFunction *last = found.count > 1 ? found.data[found.count - 1] : NULL;
  glow_arena_destroy(arena);
  if (!first)
    glow_error(m->ctx, GLOW_NOWHERE, "the module has no function to run");
  if (!last)
    return first;
  glow_error(m->ctx, last->src, "the module has several functions; choose one with --entry");
  glow_note(m->ctx, first->src, "one is '@%s'", first->name);
  glow_note(m->ctx, last->src, "another is '@%s'", last->name);
  return NULL;
}

GlowFunction *glow_module_entry(const GlowModule *m, const char *name) {
  if (name) {
    GlowFunction *f = glow_module_function(m, glow_str(m->ctx, name));
    if (f && f->kind != GLOW_GRADIENT)
      return f;
    GlowStr near = f ? NULL : glow_names_nearest(m->functions, name);
    if (f)
      glow_error(m->ctx, f->src, "@%s is a gradient declaration: it has no body to run", name);
    else if (near)
      glow_error(m->ctx, GLOW_NOWHERE, "no function '@%s'; did you mean '@%s'?", name, near);
    else
      glow_error(m->ctx, GLOW_NOWHERE, "no function '@%s'", name);
    return NULL;
  }
  return only_function(m);
}

bool glow_module_has_level(const GlowModule *m, GlowLevel level) {
  for (const GlowFunction *f = m->first_function; f; f = f->next)
    if ((f->kind == GLOW_PROGRAM) == (level == GLOW_LEVEL_PROGRAM))
      return true;
  return false;
}

/* ---- Storage --------------------------------------------------------------------------------- */
static void link_storage(GlowStorage *s, GlowStorage *before) {
  GlowModule *m = s->module;
  s->next = before;
  s->prev = before ? before->prev : m->last_storage;
  *(s->prev ? &s->prev->next : &m->first_storage) = s;
  *(before ? &before->prev : &m->last_storage) = s;
}

static void unlink_storage(GlowStorage *s) {
  GlowModule *m = s->module;
  *(s->prev ? &s->prev->next : &m->first_storage) = s->next;
  *(s->next ? &s->next->prev : &m->last_storage) = s->prev;
  s->prev = s->next = NULL;
}

/* Rounds the value of a splat to an element of its type, as parsing its text would. So printing and
 * comparison see one form, whoever made the splat. */
static GlowInit normal_form(GlowContext *ctx, GlowInit init, const GlowType *type) {
  if (init.kind != GLOW_INIT_SPLAT || !glow_type_is_tensor(type) || type->kind == GLOW_KIND_STRING)
    return init;
  GlowTensor *one = glow_tensor_create(ctx, glow_type_scalar(ctx, type->kind));
  glow_tensor_set(one, 0, init.splat);
  init.splat = glow_tensor_get(one, 0);
  glow_tensor_free(one);
  return init;
}

GlowStorage *glow_storage_create(GlowModule *m, GlowStorageClass cls, GlowStr name,
                                 const GlowType *type, GlowInit init) {
  GlowStorage *s = GLOW_NEW(m->arena, GlowStorage);
  s->value = (GlowValue){.kind = GLOW_VALUE_STORAGE, .id = m->next_id++, .type = type};
  s->value.def.storage = s;
  s->value.name = glow_names_add_unique(m->names, name, s);
  s->cls = cls;
  s->init = normal_form(m->ctx, init, type);
  s->module = m;
  if (init.eval) {
    init.eval->owner = GLOW_BLOCK_EVAL;
    init.eval->of.storage = s;
  }
  link_storage(s, NULL);
  return s;
}

void glow_storage_move(GlowStorage *s, GlowStorage *before) {
  if (s == before)
    return;
  unlink_storage(s);
  link_storage(s, before);
}

void glow_storage_drop_initializer(GlowStorage *s) {
  while (s->init.eval && s->init.eval->last)
    glow_node_remove(s->init.eval->last);
  s->init = (GlowInit){.kind = GLOW_INIT_SPLAT, .splat = {.is_int = true}};
}

void glow_storage_remove(GlowStorage *s) {
  GLOW_CHECK(s->module->ctx, !s->value.uses, "removed storage is in use");
  glow_storage_drop_initializer(s);
  glow_names_remove(s->module->names, s->value.name, s);
  unlink_storage(s);
}

/* ---- Functions ------------------------------------------------------------------------------- */
static void link_function(GlowFunction *f, GlowFunction *before) {
  GlowModule *m = f->module;
  f->next = before;
  f->prev = before ? before->prev : m->last_function;
  *(f->prev ? &f->prev->next : &m->first_function) = f;
  *(before ? &before->prev : &m->last_function) = f;
}

static void unlink_function(GlowFunction *f) {
  GlowModule *m = f->module;
  *(f->prev ? &f->prev->next : &m->first_function) = f->next;
  *(f->next ? &f->next->prev : &m->last_function) = f->prev;
  f->prev = f->next = NULL;
}

GlowFunction *glow_function_create(GlowModule *m, GlowFunctionKind kind, GlowStr name) {
  GlowFunction *f = GLOW_NEW(m->arena, GlowFunction);
  f->kind = kind;
  f->module = m;
  f->arena = f->align = -1;
  GlowLevel level = kind == GLOW_PROGRAM ? GLOW_LEVEL_PROGRAM : GLOW_LEVEL_GRAPH;
  f->body = glow_block_create(m, level, NULL, NULL);
  f->body->owner = GLOW_BLOCK_FUNCTION;
  f->body->of.function = f;
  f->name = glow_names_add_unique(m->functions, name, f);
  link_function(f, NULL);
  return f;
}

static void release_body(GlowFunction *f) {
  while (f->body->last)
    glow_node_remove(f->body->last);
}

void glow_function_remove(GlowFunction *f) {
  release_body(f);
  glow_names_remove(f->module->functions, f->name, f);
  unlink_function(f);
}

void glow_function_replace(GlowFunction *old_one, GlowFunction *new_one) {
  GlowNames *functions = old_one->module->functions;
  GlowStr name = old_one->name;
  unlink_function(new_one);
  link_function(new_one, old_one);
  glow_function_remove(old_one);
  if (new_one->name != name) {
    glow_names_remove(functions, new_one->name, new_one);
    new_one->name = glow_names_add_unique(functions, name, new_one);
  }
}

uint32_t glow_function_number(GlowFunction *f) {
  uint32_t count = 0;
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
    n->order = count++;
  return count;
}
