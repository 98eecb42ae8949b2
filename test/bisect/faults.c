/* Places of faults. The pick is a hash of the seed, so that neighbouring seeds lie far apart. */
#include "faults.h"

#include "tensor/element.h"

typedef struct Places {
  GlowArena *arena;
  bool (*fits)(const GlowNode *n);
  bool values; /* nodes of graphs with one result, static floats */
  GLOW_VEC(GlowNode *) list;
} Places;

static bool is_value(const GlowNode *n) {
  const GlowType *t = n->nresults == 1 && !glow_node_is_instr(n) ? n->results[0].type : NULL;
  bool plain = t && t->cls == GLOW_TYPE_TENSOR && t->kind == GLOW_KIND_FLOAT && !t->quantized;
  return plain && glow_type_is_static(t) && !n->pred.value && n->results[0].uses;
}

static bool collect(GlowNode *n, void *arg) {
  Places *p = arg;
  if ((!p->values || is_value(n)) && p->fits(n))
    glow_vec_push(p->arena, &p->list, n);
  return true;
}

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static GlowStr name_of(const GlowNode *n) {
  const GlowValue *v = glow_node_out(n, 0);
  return v && v->name ? v->name : "_";
}

/* The place that is picked is *spoilt; false after a diagnostic. */
static bool find_places(GlowPassRun *run, Places *p, uint32_t *spoilt) {
  bool ok = true;
  uint64_t seed = (uint64_t)glow_pass_option_int(run, "seed", 1, &ok);
  glow_block_walk(run->function->body, collect, p);
  *spoilt = p->list.count ? (uint32_t)(mix(seed) % p->list.count) : 0;
  return ok;
}

bool glow_fault_run(GlowPassRun *run, bool (*fits)(const GlowNode *n), bool (*spoil)(GlowNode *n)) {
  Places p = {.arena = run->arena, .fits = fits};
  uint32_t spoilt;
  bool ok = find_places(run, &p, &spoilt);
  for (uint32_t i = 0; ok && i < p.list.count; i++) {
    GlowNode *n = p.list.data[i];
    glow_pass_changed(run, n, i == spoilt ? "planted at '%s'" : "kept '%s'", name_of(n));
    ok = i != spoilt || spoil(n);
  }
  return ok;
}

GlowNode *glow_fault_copy(GlowBuilder *b, const GlowNode *n) {
  GlowArena *arena = glow_arena_create(b->module->ctx);
  GlowNode *copy = glow_node_clone(b, n, glow_map_create(arena));
  glow_arena_destroy(arena);
  return copy;
}

bool glow_fault_replace(GlowPassRun *run, bool (*fits)(const GlowNode *n),
                        GlowValue *(*build)(GlowBuilder *b, GlowNode *n)) {
  Places p = {.arena = run->arena, .fits = fits, .values = true};
  uint32_t spoilt;
  bool ok = find_places(run, &p, &spoilt);
  for (uint32_t i = 0; ok && i < p.list.count; i++) {
    GlowNode *n = p.list.data[i];
    GlowStr name = name_of(n);
    glow_pass_changed(run, n, i == spoilt ? "planted at '%s'" : "kept '%s'", name);
    GlowBuilder b = glow_builder_before(n);
    GlowValue *by = i == spoilt ? build(&b, n) : &glow_fault_copy(&b, n)->results[0];
    if (!by)
      return false;
    glow_node_replace(n, &by, 1);
    glow_value_set_name(by, name);
  }
  return ok;
}

static GlowValue *amount(GlowBuilder *b, int64_t v) {
  GlowInit init = {.kind = GLOW_INIT_SPLAT, .splat = glow_scalar_int(v)};
  GlowModule *m = b->module;
  GlowStorage *s = glow_storage_create(m, GLOW_CONSTANT, glow_str(m->ctx, "fault"),
                                       glow_type_parse(m, "fault", "i64<1>"), init);
  return &s->value;
}

GlowValue *glow_fault_slice(GlowBuilder *b, GlowValue *x, uint32_t axis, int64_t start,
                            int64_t end) {
  GlowValue *ins[] = {x, amount(b, start), amount(b, end), amount(b, axis)};
  GlowNode *n = glow_build(b, GLOW_OP_SLICE, ins, 4, NULL, NULL);
  return n ? &n->results[0] : NULL;
}
