/* The memory plan: every alloc gets an offset in one arena (lib/memplan), and the program says how
 * large the arena is and how it must be aligned. A remark, or a note on request, compares the plan
 * with its lower bound and says what greedy placement and search gave. */
#include "memplan/memplan.h"
#include "transforms/programs.h"

typedef struct Plan {
  GlowPassRun *run;
  GLOW_VEC(GlowNode *) allocs;
  GLOW_VEC(GlowPlanBuffer) buffers;
  bool ok;
} Plan;

static bool collect(GlowNode *n, void *arg) {
  Plan *p = arg;
  if (n->op != GLOW_OP_ALLOC)
    return true;
  const GlowNode *end = glow_buffer_dealloc(&n->results[0]);
  GlowPlanBuffer b = {.size = glow_buffer_bytes(n->results[0].type), .start = n->order};
  GLOW_CHECK(p->run->ctx, end && b.size >= 0, "an alloc without an end or a size");
  b.end = end->order;
  glow_vec_push(p->run->arena, &p->allocs, n);
  glow_vec_push(p->run->arena, &p->buffers, b);
  return true;
}

int64_t glow_program_live_bytes(GlowPassRun *run) {
  Plan p = {.run = run};
  glow_function_number(run->function);
  glow_block_walk(run->function->body, collect, &p);
  return glow_memplan_lower_bound(run->arena, p.buffers.data, p.buffers.count, 1);
}

static bool read_align(GlowPassRun *run, int64_t *align) {
  bool ok = true;
  *align = glow_pass_option_int(run, "align", 64, &ok);
  if (!ok)
    return false;
  if (*align >= 1 && *align <= 1 << 20 && (*align & (*align - 1)) == 0)
    return true;
  glow_error(run->ctx, GLOW_NOWHERE, "plan-memory: align=%lld is not a power of two up to %d",
             (long long)*align, 1 << 20);
  return false;
}

/* The bytes of the plan, their ratio to the lower bound, and what the search did, if greedy
 * placement did not reach the bound. */
static const char *describe(GlowPassRun *run, const GlowFunction *f, const GlowPlanReport *r) {
  const char *search = "";
  if (r->greedy != r->bound)
    search = glow_arena_printf(run->arena, "; greedy %lld, then %lld steps of search%s",
                               (long long)r->greedy, (long long)r->steps,
                               r->exact ? "" : ", which ran out");
  return glow_arena_printf(run->arena, "@%s: bytes %lld, lower bound %lld, ratio %.3f%s", f->name,
                           (long long)r->best, (long long)r->bound,
                           r->bound ? (double)r->best / (double)r->bound : 1.0, search);
}

bool glow_pass_plan_memory(GlowPassRun *run) {
  GlowFunction *f = run->function;
  Plan p = {.run = run};
  int64_t align;
  if (!read_align(run, &align))
    return false;
  glow_function_number(f);
  glow_block_walk(f->body, collect, &p);
  GlowPlanReport r;
  int64_t bytes = glow_memplan(run->arena, p.buffers.data, p.buffers.count, align, &r);
  if (bytes < 0) {
    glow_error(run->ctx, f->src, "plan-memory: @%s needs more than 2^63 bytes", f->name);
    return false;
  }
  glow_pass_begin_batch(run); /* a plan has all offsets or none */
  for (uint32_t i = 0; i < p.allocs.count; i++) {
    GlowAllocMembers *m = p.allocs.data[i]->members;
    if (m->at == p.buffers.data[i].offset)
      continue;
    m->at = p.buffers.data[i].offset;
    glow_pass_changed(run, NULL, NULL);
  }
  f->arena = bytes;
  f->align = align;
  glow_pass_end_batch(run);
  const char *figures = describe(run, f, &r);
  if (glow_pass_option(run, "print"))
    glow_note(run->ctx, f->src, "plan-memory: %s", figures);
  else
    glow_pass_remark(run, f->src, "%s", figures);
  return true;
}
