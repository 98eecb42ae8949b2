/* What analyses say of a module, as comments on stderr: print<uses>, print<liveness>,
 * print<memory>, print<cost>, print<saved>. Positions count the nodes of a function in text order, regions
 * included. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/cost.h"
#include "memplan/memplan.h"
#include "ops/infer.h"
#include "transforms/grad.h"
#include "transforms/programs.h"

typedef struct Printer {
  GlowPassRun *run;
  GlowText *out;
  uint32_t count; /* of the function's nodes */
  GLOW_VEC(GlowNode *) allocs;
} Printer;

static const char *value_name(const GlowValue *v) { return v->name ? v->name : "_"; }

static const char *op_name(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  return n->block->level == GLOW_LEVEL_GRAPH ? d->node : d->instr;
}

/* ---- Uses ------------------------------------------------------------------------------------ */

static int in_text_order(const void *a, const void *b) {
  const GlowNode *x = *(GlowNode *const *)a, *y = *(GlowNode *const *)b;
  return x->order < y->order ? -1 : x->order > y->order;
}

static void put_uses(const Printer *p, const GlowValue *v) {
  GLOW_VEC(GlowNode *) users = {0};
  for (const GlowUse *u = v->uses; u; u = u->next)
    glow_vec_push(p->run->arena, &users, u->user);
  if (users.count)
    qsort(users.data, users.count, sizeof *users.data, in_text_order);
  glow_text_printf(p->out, ";   %%%s: %u", value_name(v), users.count);
  const char *before = " (";
  for (uint32_t i = 0; i < users.count; i++) {
    const GlowNode *user = users.data[i];
    glow_text_printf(p->out, "%s%s", before, op_name(user));
    if (user->nresults && user->results[0].name)
      glow_text_printf(p->out, " %%%s", user->results[0].name);
    before = ", ";
  }
  glow_text_puts(p->out, users.count ? ")\n" : "\n");
}

static bool uses_of_node(GlowNode *n, void *arg) {
  for (uint32_t i = 0; i < n->nresults; i++)
    put_uses(arg, &n->results[i]);
  return true;
}

static void print_uses(Printer *p, GlowFunction *f) {
  for (uint32_t i = 0; i < f->body->nparams; i++)
    put_uses(p, f->body->params[i]);
  glow_block_walk(f->body, uses_of_node, p);
}

/* ---- Liveness -------------------------------------------------------------------------------- */

/* The bytes of a result of n, which has type t; of an alloc, those of its bounds. -1: not known. */
static int64_t bytes_of(const GlowNode *n, const GlowType *t) {
  if (n->op == GLOW_OP_ALLOC)
    return glow_buffer_bytes(t);
  return glow_type_is_tensor(t) && glow_type_is_static(t) ? glow_type_bytes(t) : -1;
}

static bool liveness_of_node(GlowNode *n, void *arg) {
  const Printer *p = arg;
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *v = &n->results[i];
    const GlowNode *end = n->op == GLOW_OP_ALLOC ? glow_buffer_dealloc(v) : NULL;
    uint32_t last = end ? end->order : glow_value_last_use(v, p->count);
    glow_text_printf(p->out, ";   %%%s: %u to %u", value_name(v), n->order, last);
    if (bytes_of(n, v->type) >= 0)
      glow_text_printf(p->out, ", %" PRId64 " bytes", bytes_of(n, v->type));
    glow_text_putc(p->out, '\n');
  }
  return true;
}

static void print_liveness(Printer *p, GlowFunction *f) {
  glow_block_walk(f->body, liveness_of_node, p);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static bool collect_alloc(GlowNode *n, void *arg) {
  Printer *p = arg;
  if (n->op == GLOW_OP_ALLOC)
    glow_vec_push(p->run->arena, &p->allocs, n);
  return true;
}

static int64_t offset_of(const GlowNode *alloc) {
  return ((const GlowAllocMembers *)alloc->members)->at;
}

static int by_offset(const void *a, const void *b) {
  const GlowNode *x = *(GlowNode *const *)a, *y = *(GlowNode *const *)b;
  if (offset_of(x) != offset_of(y))
    return offset_of(x) < offset_of(y) ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static void print_memory(Printer *p, GlowFunction *f) {
  p->allocs.count = 0;
  glow_block_walk(f->body, collect_alloc, p);
  if (p->allocs.count)
    qsort(p->allocs.data, p->allocs.count, sizeof *p->allocs.data, by_offset);
  GlowPlanBuffer *buffers = GLOW_NEW_ARRAY(p->run->arena, GlowPlanBuffer, p->allocs.count + 1);
  for (uint32_t i = 0; i < p->allocs.count; i++) {
    const GlowNode *n = p->allocs.data[i], *end = glow_buffer_dealloc(&n->results[0]);
    int64_t bytes = bytes_of(n, n->results[0].type);
    buffers[i] = (GlowPlanBuffer){.size = bytes < 0 ? 0 : bytes, .start = n->order};
    buffers[i].end = end ? end->order : p->count;
    glow_text_putc(p->out, ';');
    if (offset_of(n) >= 0)
      glow_text_printf(p->out, " %10" PRId64, offset_of(n));
    else
      glow_text_puts(p->out, "  unplanned");
    glow_text_printf(p->out, " %10" PRId64 " bytes, %u to %u: %%%s\n", buffers[i].size,
                     buffers[i].start, buffers[i].end, value_name(&n->results[0]));
  }
  int64_t align = f->align > 0 ? f->align : 1;
  int64_t bound = glow_memplan_lower_bound(p->run->arena, buffers, p->allocs.count, align);
  if (f->arena >= 0)
    glow_text_printf(p->out, ";   arena %" PRId64 " bytes, ", f->arena);
  else
    glow_text_puts(p->out, ";   no arena yet, ");
  glow_text_printf(p->out, "lower bound %" PRId64 "\n", bound);
}

/* ---- Cost ------------------------------------------------------------------------------------ */

static bool cost_of_node(GlowNode *n, void *arg) {
  const Printer *p = arg;
  int64_t macs = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
  const GlowValue *out = n->nouts || n->nresults ? glow_node_out(n, 0) : NULL;
  if (macs)
    glow_text_printf(p->out, ";   %s%s: %s, ", out && out->kind == GLOW_VALUE_STORAGE ? "@" : "%",
                     out ? value_name(out) : "_", op_name(n));
  if (macs > 0)
    glow_text_printf(p->out, "%" PRId64 " multiply-accumulates\n", macs);
  else if (macs < 0)
    glow_text_puts(p->out, "multiply-accumulates not known\n");
  return true;
}

static void print_cost(Printer *p, GlowFunction *f) {
  glow_block_walk(f->body, cost_of_node, p);
  GlowCost cost = glow_function_cost(f);
  glow_text_printf(p->out, ";   %" PRId64 " multiply-accumulates, %" PRId64 " bytes alive%s\n",
                   cost.macs, cost.peak_bytes, cost.open ? ", besides what is not known" : "");
}

/* ---- The pass -------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*print)(Printer *p, GlowFunction *f);
  GlowFunctionKind only; /* GLOW_GRADIENT: of both kinds */
} analyses[] = {{"uses", print_uses, GLOW_GRADIENT},
                {"liveness", print_liveness, GLOW_GRADIENT},
                {"memory", print_memory, GLOW_PROGRAM},
                {"cost", print_cost, GLOW_GRADIENT}};
enum { ANALYSES = sizeof analyses / sizeof *analyses };

bool glow_pass_print(GlowPassRun *run) {
  GlowText out;
  GlowDefer release;
  if (!run->noptions) {
    glow_error(run->ctx, GLOW_NOWHERE,
               "print: of which analysis? print<uses>, print<liveness>, "
               "print<memory>, print<cost>, print<saved>");
    return false;
  }
  glow_text_init(&out, run->ctx);
  glow_defer_push(run->ctx, &release, glow_text_release_fn, &out);
  for (int i = 0; i < ANALYSES; i++)
    for (GlowFunction *f = run->module->first_function;
         glow_pass_option(run, analyses[i].name) && f; f = f->next) {
      if (f->kind == GLOW_GRADIENT ||
          (analyses[i].only != GLOW_GRADIENT && analyses[i].only != f->kind))
        continue;
      Printer p = {.run = run, .out = &out, .count = glow_function_number(f)};
      glow_text_printf(&out, "; %s of @%s\n", analyses[i].name, f->name);
      analyses[i].print(&p, f);
    }
  bool ok = !glow_pass_option(run, "saved") || glow_grad_print_saved(run, &out);
  fflush(stdout);
  fwrite(out.data, 1, out.size, stderr);
  glow_defer_pop(run->ctx, &release, true);
  return ok;
}
