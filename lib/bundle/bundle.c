/* The contents of a bundle: names in C, the layout of the weights, and where each program finds its
 * storage and its parameters.
 *
 * Constants that any program reads lie one after the other in the weights, then the first values of
 * variables, in the order of the memory that callers keep for them. The identity in their header is
 * a hash of all of it, which the code knows, so weights of another compile are refused. */
#include "bundle/bundle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/access.h"
#include "ir/remarks.h"

/* ---- Names ----------------------------------------------------------------------------------- */

/* Letters, digits and underscores; what else a name holds becomes an underscore. */
static char *identifier(GlowArena *arena, const char *prefix, const char *name, bool upper) {
  char *id = glow_arena_printf(arena, "%s%s%s", prefix, *prefix ? "_" : "", name);
  for (char *c = id; *c; c++) {
    if (!isalnum((unsigned char)*c))
      *c = '_';
    else if (upper)
      *c = (char)toupper((unsigned char)*c);
  }
  return isdigit((unsigned char)*id) ? glow_arena_printf(arena, "_%s", id) : id;
}

/* The other members of the struct, and the words of C and C++ that a name might be. */
static const char *const taken[] = {"arena",        "arena_size",
                                    "weights",      "weights_size",
                                    "variables",    "alignas",
                                    "alignof",      "and",
                                    "and_eq",       "asm",
                                    "auto",         "bitand",
                                    "bitor",        "bool",
                                    "break",        "case",
                                    "catch",        "char",
                                    "char16_t",     "char32_t",
                                    "char8_t",      "class",
                                    "co_await",     "co_return",
                                    "co_yield",     "compl",
                                    "concept",      "const",
                                    "const_cast",   "consteval",
                                    "constexpr",    "constinit",
                                    "continue",     "decltype",
                                    "default",      "delete",
                                    "do",           "double",
                                    "dynamic_cast", "else",
                                    "enum",         "explicit",
                                    "export",       "extern",
                                    "false",        "final",
                                    "float",        "for",
                                    "friend",       "goto",
                                    "if",           "inline",
                                    "int",          "long",
                                    "module",       "mutable",
                                    "namespace",    "new",
                                    "noexcept",     "not",
                                    "not_eq",       "nullptr",
                                    "operator",     "or",
                                    "or_eq",        "private",
                                    "protected",    "public",
                                    "register",     "reinterpret_cast",
                                    "requires",     "restrict",
                                    "return",       "short",
                                    "signed",       "sizeof",
                                    "static",       "static_assert",
                                    "static_cast",  "struct",
                                    "switch",       "template",
                                    "this",         "thread_local",
                                    "throw",        "true",
                                    "try",          "typedef",
                                    "typeid",       "typename",
                                    "typeof",       "typeof_unqual",
                                    "union",        "unsigned",
                                    "using",        "virtual",
                                    "void",         "volatile",
                                    "wchar_t",      "while",
                                    "xor",          "xor_eq"};

static bool is_taken(const GlowBundleBuffers *buffers, const char *field) {
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    if (strcasecmp(taken[i], field) == 0)
      return true;
  }
  for (uint32_t i = 0; i < buffers->count; i++) {
    if (strcasecmp(buffers->data[i].field, field) == 0)
      return true;
  }
  return false;
}

/* The name of a buffer: unlike what is taken, also as a part of macros, in capitals. */
static const char *field_name(GlowArena *arena, const GlowBundleBuffers *buffers,
                              const char *name) {
  const char *plain = identifier(arena, "", name, false), *field = plain;
  for (uint32_t number = 2; is_taken(buffers, field); number++)
    field = glow_arena_printf(arena, "%s_%u", plain, number);
  return field;
}

/* ---- Programs -------------------------------------------------------------------------------- */

static bool is_used(const GlowCpuPlan *p, uint32_t i) { return p->reads[i] || p->writes[i]; }

static bool is_in(const GlowNode *n, const GlowFunction *f) {
  const GlowBlock *b = n->block;
  while (b && b->owner == GLOW_BLOCK_REGION)
    b = b->of.node->block;
  return b && b->owner == GLOW_BLOCK_FUNCTION && b->of.function == f;
}

/* Whether the first instruction that touches an outer value writes all of it. Orders are valid:
 * planning has numbered the program. */
static bool is_output(const GlowValue *v, const GlowFunction *f) {
  const GlowUse *first = NULL;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    bool earlier = !first || u->user->order < first->user->order ||
                   (u->user == first->user && u->qual != GLOW_QUAL_OUT);
    if (is_in(u->user, f) && earlier)
      first = u;
  }
  return first && first->qual == GLOW_QUAL_OUT && first->user->block == f->body;
}

/* The instructions in a list of work, and inside of it, that the interpreter runs. */
static void collect_hosted(GlowArena *arena, const GlowWork *work, uint32_t count,
                           GlowCpuNotes *notes) {
  for (uint32_t i = 0; i < count; i++) {
    const GlowWork *w = &work[i];
    GlowCpuNote note = {glow_cpu_node(w->source), NULL};
    if (w->kind == GLOW_WORK_HOST)
      glow_vec_push(arena, notes, note);
    collect_hosted(arena, w->then.data, w->then.count, notes);
    collect_hosted(arena, w->otherwise.data, w->otherwise.count, notes);
  }
}

static bool refuse_hosted(const GlowBundle *b, const GlowBundleEntry *e) {
  GlowContext *ctx = b->module->ctx;
  GlowCpuNotes notes = {0};
  collect_hosted(b->arena, e->plan.work, e->plan.count, &notes);
  if (!notes.count)
    return true;
  glow_error(ctx, e->function->src,
             "program @%s cannot be compiled ahead of time: instructions whose extents are known "
             "only when it runs (%u)",
             e->function->name, notes.count);
  glow_note(ctx, glow_node_loc(notes.data[0].node),
            "'%s' is the first that takes or makes one; open dimensions get extents by "
            "-bind='NAME=EXTENT' before -irgen",
            glow_node_desc(notes.data[0].node)->instr);
  return false;
}

static bool plan_entry(GlowBundle *b, GlowBundleEntry *e, GlowFunction *f) {
  const GlowIsa *isa = b->options->code.isa;
  e->function = f;
  e->symbol = identifier(b->arena, b->name, f->name, false);
  for (uint32_t i = 0; i < b->nentries; i++) {
    if (strcasecmp(b->entries[i].symbol, e->symbol) == 0) {
      glow_error(b->module->ctx, f->src, "programs @%s and @%s are both called %s in C", f->name,
                 b->entries[i].function->name, e->symbol);
      return false;
    }
  }
  if (!glow_cpu_plan(b->arena, f, isa, &e->plan) || !refuse_hosted(b, e) ||
      !glow_cpu_fits(f, &e->plan, 1, b->options->max_memory))
    return false;
  for (uint32_t i = 0; i < e->plan.nouter; i++) {
    const GlowValue *v = e->plan.outer[i];
    if (glow_outer_class(v) != GLOW_PLACEHOLDER || !is_used(&e->plan, i))
      continue;
    GlowBundleBuffer buffer = {v, field_name(b->arena, &e->buffers, v->name),
                               e->plan.reads[i] && !is_output(v, f), e->plan.writes[i]};
    glow_vec_push(b->arena, &e->buffers, buffer);
  }
  return true;
}

static bool plan_entries(GlowBundle *b) {
  uint32_t count = 0;
  for (GlowFunction *f = b->module->first_function; f; f = f->next, count++) {
    if (f->kind != GLOW_PROGRAM) {
      glow_error(b->module->ctx, f->src,
                 "@%s is a graph; glow-irgen turns graphs into programs, which can be compiled",
                 f->name);
      return false;
    }
  }
  if (!count)
    glow_error(b->module->ctx, GLOW_NOWHERE, "the module has no program");
  b->entries = GLOW_NEW_ARRAY(b->arena, GlowBundleEntry, count);
  for (GlowFunction *f = b->module->first_function; f; f = f->next, b->nentries++) {
    if (!plan_entry(b, &b->entries[b->nentries], f))
      return false;
  }
  return count > 0;
}

/* ---- Weights --------------------------------------------------------------------------------- */

static int64_t align_up(int64_t n) { return (n + GLOW_BUNDLE_ALIGN - 1) & -GLOW_BUNDLE_ALIGN; }

/* Gives every storage of one class that a program uses an offset from *end on. */
static void place_class(GlowBundle *b, GlowStorageClass cls, int64_t *offsets, int64_t *end) {
  const GlowCpuPlan *first = &b->entries[0].plan; /* all begin with the same storage */
  for (uint32_t i = 0; i < first->nouter; i++) {
    const GlowValue *v = first->outer[i];
    bool used = false;
    if (glow_outer_class(v) != cls)
      continue;
    for (uint32_t k = 0; k < b->nentries; k++)
      used = used || is_used(&b->entries[k].plan, i);
    if (!used)
      continue;
    offsets[i] = *end;
    *end = align_up(*end + glow_type_bytes(v->type));
  }
}

/* Two hashes of 64 bits over the bytes, a multiple of 8. Not against forgery: it tells compiles
 * apart. */
static void identify(const uint8_t *bytes, int64_t size, int64_t identity[2]) {
  uint64_t a = UINT64_C(0x9e3779b97f4a7c15), b = UINT64_C(0xc2b2ae3d27d4eb4f);
  for (int64_t i = 0; i < size; i += 8) {
    uint64_t v;
    memcpy(&v, bytes + i, 8);
    a = (a ^ v) * UINT64_C(0xff51afd7ed558ccd);
    b = (b + v) * UINT64_C(0xc4ceb9fe1a85ec53);
    a ^= a >> 29;
    b ^= b >> 31;
  }
  identity[0] = (int64_t)a;
  identity[1] = (int64_t)b;
}

static bool copy_values(GlowBundle *b, GlowValues *values, const int64_t *offsets) {
  const GlowCpuPlan *p = &b->entries[0].plan;
  for (uint32_t i = 0; i < p->nouter; i++) {
    GlowValue *v = p->outer[i];
    if (offsets[i] < 0)
      continue;
    const GlowTensor *t = glow_values_get(values, v->def.storage);
    if (!t)
      return false;
    bool variable = glow_outer_class(v) == GLOW_VARIABLE;
    int64_t at = offsets[i] + (variable ? b->header.variables : 0);
    memcpy(b->weights + at, t->data, t->bytes);
  }
  return true;
}

static void list_variables(GlowBundle *b, const int64_t *offsets) {
  const GlowCpuPlan *p = &b->entries[0].plan;
  for (uint32_t i = 0; i < p->nouter; i++) {
    GlowBundleVariable v = {p->outer[i], offsets[i]};
    if (glow_outer_class(v.value) == GLOW_VARIABLE && v.offset >= 0)
      glow_vec_push(b->arena, &b->variables, v);
  }
}

/* Lays out and fills the weights; offsets of variables count from the first of them. */
static bool collect_weights(GlowBundle *b, int64_t *offsets) {
  int64_t end = sizeof(GlowWeightsHeader), variables = 0;
  for (uint32_t i = 0; i < b->entries[0].plan.nouter; i++)
    offsets[i] = -1;
  place_class(b, GLOW_CONSTANT, offsets, &end);
  place_class(b, GLOW_VARIABLE, offsets, &variables);
  list_variables(b, offsets);
  if (end == (int64_t)sizeof(GlowWeightsHeader) && !variables)
    return true;
  b->header = (GlowWeightsHeader){.magic = GLOW_BUNDLE_MAGIC,
                                  .size = end + variables,
                                  .variables = end,
                                  .variables_size = variables};
  b->weights = glow_malloc(b->module->ctx, (size_t)b->header.size);
  memset(b->weights, 0, (size_t)b->header.size);
  GlowDefer defer;
  GlowValues *values = glow_values_create(b->module);
  glow_defer_push(b->module->ctx, &defer, glow_values_destroy_fn, values);
  bool ok = copy_values(b, values, offsets);
  glow_defer_pop(b->module->ctx, &defer, true);
  if (!ok)
    return false;
  identify(b->weights + sizeof b->header, b->header.size - (int64_t)sizeof b->header,
           b->header.identity);
  memcpy(b->weights, &b->header, sizeof b->header);
  return true;
}

/* Where an entry finds each outer value. */
static void fill_slots(GlowBundle *b, GlowBundleEntry *e, const int64_t *offsets) {
  const GlowCpuPlan *p = &e->plan;
  int64_t buffer = 0;
  bool variables = false;
  e->slots = GLOW_NEW_ARRAY(b->arena, GlowBundleSlot, p->nouter);
  for (uint32_t i = 0; i < p->nouter; i++) {
    GlowStorageClass cls = glow_outer_class(p->outer[i]);
    if (!is_used(p, i))
      continue;
    variables = variables || cls == GLOW_VARIABLE;
    int64_t offset = cls == GLOW_PLACEHOLDER ? buffer++ : offsets[i];
    e->slots[i] = offset * GLOW_BUNDLE_SOURCES + (cls == GLOW_PLACEHOLDER ? GLOW_BUNDLE_BUFFER
                                                  : cls == GLOW_CONSTANT  ? GLOW_BUNDLE_WEIGHTS
                                                                          : GLOW_BUNDLE_VARIABLES);
  }
  e->params = (GlowBundleParams){.weights = b->header,
                                 .arena = p->arena,
                                 .align = p->align,
                                 .worker = p->scratch,
                                 .variables = variables,
                                 .nbuffers = buffer,
                                 .nstorage = p->nouter};
}

/* ---- Bundles --------------------------------------------------------------------------------- */

GlowBundle *glow_bundle_create(GlowModule *m, const GlowBundleOptions *options) {
  GlowArena *arena = glow_arena_create(m->ctx);
  GlowBundle *b = GLOW_NEW(arena, GlowBundle);
  *b = (GlowBundle){.arena = arena, .module = m, .options = options};
  GlowDefer defer;
  glow_defer_push(m->ctx, &defer, glow_bundle_destroy_fn, b);
  b->name = identifier(arena, "", options->name, false);
  b->macro = identifier(arena, "", options->name, true);
  bool ok = plan_entries(b);
  if (ok) {
    int64_t *offsets = GLOW_NEW_ARRAY(arena, int64_t, b->entries[0].plan.nouter);
    ok = collect_weights(b, offsets);
    for (uint32_t i = 0; ok && i < b->nentries; i++)
      fill_slots(b, &b->entries[i], offsets);
  }
  glow_defer_pop(m->ctx, &defer, !ok);
  return ok ? b : NULL;
}

void glow_bundle_destroy(GlowBundle *b) {
  if (!b)
    return;
  free(b->weights);
  glow_arena_destroy(b->arena);
}

void glow_bundle_destroy_fn(void *bundle) { glow_bundle_destroy(bundle); }

bool glow_bundle_code(const GlowBundle *b, GlowCodeForm form, GlowText *out) {
  GlowUnitEntry *entries = GLOW_NEW_ARRAY(b->arena, GlowUnitEntry, b->nentries);
  for (uint32_t i = 0; i < b->nentries; i++) {
    const GlowBundleEntry *e = &b->entries[i];
    entries[i] = (GlowUnitEntry){.symbol = e->symbol,
                                 .data = glow_cpu_bare_program(b->arena, &e->plan),
                                 .program = e->function->src,
                                 .params = &e->params,
                                 .slots = e->slots};
  }
  GlowUnit unit = {.entries = entries, .nentries = b->nentries};
  if (b->options->link_weights) {
    unit.weights = b->weights;
    unit.weights_size = (size_t)b->header.size;
  }
  if (b->header.variables_size)
    unit.reset = glow_arena_printf(b->arena, "%s_reset_variables", b->name);
  GlowCodegenOptions code = b->options->code;
  code.remark = glow_remarks_heard(b->module->ctx) ? glow_cpu_remark : NULL;
  return glow_codegen_unit(b->module->ctx, &unit, &code, form, out);
}
