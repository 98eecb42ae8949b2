/* Runs that keep their values. */
#include "bisect/record.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Entries --------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash_bytes(const void *data, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const unsigned char *p = data; size; size--)
    hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
  return hash;
}

static void add(GlowRecord *r, const GlowNode *n, const GlowValue *v, GlowStr name,
                const GlowTensor *t) {
  GlowRecordEntry e = {.node = n, .value = v, .name = name};
  if (name) {
    uintptr_t count = (uintptr_t)glow_map_get(r->counts, name);
    e.occurrence = (uint32_t)count;
    glow_map_set(r->counts, name, (void *)(count + 1)); /* NOLINT: a number, not an address */
  }
  if (t && t->type->cls == GLOW_TYPE_TENSOR) {
    e.tensor = glow_tensor_plain(r->ctx, t);
    if (t->type->kind != GLOW_KIND_STRING)
      e.hash = hash_bytes(e.tensor->data, e.tensor->bytes);
  }
  glow_vec_push(r->arena, &r->entries, e);
}

static void trace(void *user, const GlowNode *n, GlowTensor *const *results) {
  GlowRecord *r = user;
  for (uint32_t i = 0; i < n->nresults; i++)
    add(r, n, &n->results[i], n->results[i].name, results[i]);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

typedef struct Probe {
  GlowNode *node;
  GlowValue *value;
  GlowStorage *storage;
} Probe;

typedef struct Probes {
  GlowArena *arena;
  GLOW_VEC(Probe) list;
} Probes;

static bool collect(GlowNode *n, void *arg) {
  Probes *p = arg;
  for (uint32_t i = 0; i < n->nouts && glow_node_is_instr(n); i++) {
    GlowValue *v = n->operands[i].value;
    if (v && v->type->cls == GLOW_TYPE_TENSOR)
      glow_vec_push(p->arena, &p->list, ((Probe){n, v, NULL}));
  }
  return true;
}

/* Several outputs of one instruction get their probes in order. */
static void insert(GlowModule *m, Probes *p) {
  for (uint32_t i = p->list.count; i-- > 0;) {
    Probe *q = &p->list.data[i];
    q->storage = glow_storage_create(m, GLOW_PLACEHOLDER, glow_str(m->ctx, "probe"), q->value->type,
                                     (GlowInit){0});
    GlowBuilder b = glow_builder_at_end(q->node->block);
    b.before = q->node->next;
    GlowValue *to = &q->storage->value;
    glow_build_instr(&b, GLOW_OP_COPY, &to, 1, &q->value, 1, NULL);
  }
}

static bool is_probe(const Probes *p, GlowStr name) {
  for (uint32_t i = 0; i < p->list.count; i++)
    if (p->list.data[i].storage && p->list.data[i].storage->value.name == name)
      return true;
  return false;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void release(void *record) {
  GlowRecord *r = record;
  for (uint32_t i = 0; i < r->entries.count; i++)
    glow_tensor_free(r->entries.data[i].tensor);
  for (uint32_t i = 0; i < r->outputs.count; i++)
    glow_tensor_free(r->outputs.data[i].tensor);
  if (r->module)
    glow_module_destroy(r->module);
  glow_arena_destroy(r->arena);
}

/* Sorts the outputs of a run into values that probes took and outputs of the module. */
static void keep(GlowRecord *r, const Probes *p, GlowBindings *all, bool values) {
  for (uint32_t i = 0; i < p->list.count; i++)
    add(r, p->list.data[i].node, p->list.data[i].value, p->list.data[i].value->name,
        glow_bindings_find(all, p->list.data[i].storage->value.name));
  for (uint32_t i = 0; i < all->count; i++) {
    GlowBinding *b = &all->data[i];
    if (is_probe(p, b->name)) {
      glow_tensor_free(b->tensor);
    } else {
      if (values)
        add(r, NULL, NULL, b->name, b->tensor);
      glow_vec_push(r->arena, &r->outputs, *b);
    }
  }
}

bool glow_record_begin(GlowRecord *r, const GlowModule *m, GlowStr entry,
                       const GlowBindings *inputs, const GlowRecordOptions *how) {
  *r = (GlowRecord){.ctx = m->ctx, .arena = glow_arena_create(m->ctx)};
  glow_defer_push(m->ctx, &r->release, release, r);
  r->counts = glow_map_create(r->arena);
  r->module = glow_module_clone(m);
  GlowFunction *f = glow_module_entry(r->module, entry);
  r->function = f;
  if (!f)
    return false;
  glow_function_number(f);
  Probes probes = {.arena = r->arena};
  r->program = f->kind == GLOW_PROGRAM;
  if (how->values && r->program) {
    glow_block_walk(f->body, collect, &probes);
    insert(r->module, &probes);
  }
  GlowRunOptions options = {.trace = how->values ? trace : NULL,
                            .trace_user = r,
                            .primitives = how->primitives,
                            .tier = how->tier,
                            .poison = how->poison};
  GlowBindings all = {0};
  GlowStatus status = how->run(f, inputs, &all, &options);
  if (status == GLOW_NO_MEMORY)
    glow_throw(r->ctx, status);
  if (status != GLOW_OK)
    return false;
  keep(r, &probes, &all, how->values);
  return true;
}

void glow_record_end(GlowRecord *r) { glow_defer_pop(r->ctx, &r->release, true); }

/* ---- Memory that nobody has written ---------------------------------------------------------- */

static bool same_outputs(const GlowBindings *a, const GlowBindings *b) {
  for (uint32_t i = 0; i < a->count; i++) {
    const GlowTensor *other = glow_bindings_find(b, a->data[i].name);
    if (!other || !glow_tensor_same_bits(a->data[i].tensor, other))
      return false;
  }
  return true;
}

bool glow_record_is_settled(const GlowModule *m, GlowStr entry, const GlowBindings *inputs,
                            bool *ran) {
  static const unsigned char bytes[] = {0x3c, 0xc5}; /* as floats 0.0115 and -6328 */
  GlowRecord first, second;
  *ran = glow_record_begin(&first, m, entry, inputs,
                           &(GlowRecordOptions){.run = glow_interp_run, .poison = &bytes[0]});
  *ran &= glow_record_begin(&second, m, entry, inputs,
                            &(GlowRecordOptions){.run = glow_interp_run, .poison = &bytes[1]});
  bool same = *ran && same_outputs(&first.outputs, &second.outputs);
  glow_record_end(&second);
  glow_record_end(&first);
  return same;
}

/* ---- Printing -------------------------------------------------------------------------------- */

void glow_record_print_entry(const GlowNumericBisect *b, const char *what, const GlowRecordEntry *e,
                             const GlowRecordEntry *was) {
  GlowContext *ctx = b->session->ctx;
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  glow_text_printf(&t, "%s: ", what);
  if (e->node) {
    const GlowOpDesc *d = glow_node_desc(e->node);
    bool instr = glow_node_is_instr(e->node);
    GlowLoc loc = glow_node_loc(e->node);
    glow_text_printf(&t, "'%s' of %s", e->name ? e->name : "_", instr ? d->instr : d->node);
    const GlowOrigin *o = e->node->origin;
    if (o && o->name)
      glow_text_printf(&t, ", loc(\"%s\":\"%s\")", o->file, o->name);
    else if (loc.file && loc.line)
      glow_text_printf(&t, ", %s:%u:%u", loc.file, loc.line, loc.col);
  } else {
    glow_text_printf(&t, "output '%s'", e->name);
  }
  glow_text_puts(&t, "\n  ");
  GlowCompare c = glow_tensor_compare(ctx, e->tensor, was->tensor, b->rtol, b->atol);
  glow_compare_print(&t, e->name ? e->name : "_", was->tensor, &c);
  fwrite(t.data, 1, t.size, stdout);
  glow_defer_pop(ctx, &release, true);
}
