/* glow-run --profile: where the time of a run goes, by node and by kernel, and as a Chrome trace.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/access.h"
#include "driver/backend.h"
#include "driver/peak.h"
#include "driver/profile.h"
#include "support/file.h"
#include "support/json.h"
#include "target/cpu/isa.h"
#include "tools/glow-run/glow_run.h"

/* ---- Chrome's trace format ------------------------------------------------------------------- */

static void put_event(GlowText *out, const GlowProfile *p, uint32_t i) {
  const GlowProfileEvent *e = &p->events[i];
  const GlowProfilePiece *piece = &p->pieces[e->piece];
  double begin = i ? e[-1].end : 0;
  GlowText name;
  glow_text_init(&name, out->ctx);
  GlowDefer defer;
  glow_defer_push(out->ctx, &defer, glow_text_release_fn, &name);
  glow_profile_name(&name, piece->node);
  glow_text_puts(out, i ? ",\n{\"name\": " : "{\"name\": ");
  glow_json_string(out, name.data, name.size);
  glow_text_puts(out, ", \"cat\": ");
  glow_json_string(out, piece->kernel, strlen(piece->kernel));
  glow_text_printf(out, ", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": %.3f, \"dur\": %.3f}",
                   begin * 1e6, (e->end - begin) * 1e6);
  glow_defer_pop(out->ctx, &defer, true);
}

static GlowStatus write_trace(GlowSession *s, const GlowProfile *p, const char *path) {
  GlowText out;
  GlowDefer defer;
  glow_text_init(&out, s->ctx);
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &out);
  glow_text_puts(&out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
  uint32_t kept = p->nevents < p->capacity ? (uint32_t)p->nevents : p->capacity;
  for (uint32_t i = 0; i < kept; i++)
    put_event(&out, p, i);
  glow_text_puts(&out, "\n]}\n");
  bool ok = glow_output_write(s->ctx, path, &(GlowBytes){out.data, out.size}, 1);
  glow_defer_pop(s->ctx, &defer, true);
  if (ok && kept < p->nevents)
    glow_warning(s->ctx, GLOW_NOWHERE, "the trace has the first %u of %llu calls", kept,
                 (unsigned long long)p->nevents);
  return ok ? GLOW_OK : GLOW_IO;
}

/* ---- Running --------------------------------------------------------------------------------- */

static GlowStatus report(GlowSession *s, GlowRunnable *r, const GlowRunCommand *c, double peak) {
  GlowText out;
  GlowDefer defer;
  glow_text_init(&out, s->ctx);
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &out);
  glow_profile_print(&out, r->execution->profile, false, peak);
  glow_text_putc(&out, '\n');
  glow_profile_print(&out, r->execution->profile, true, peak);
  if (peak > 0)
    glow_text_printf(&out, "\n%% peak: of an FMA burst of %.1f GFLOP/s on %lld thread%s\n",
                     peak * 1e-9, (long long)c->model.threads, c->model.threads > 1 ? "s" : "");
  fwrite(out.data, 1, out.size, stdout);
  glow_defer_pop(s->ctx, &defer, true);
  return c->trace ? write_trace(s, r->execution->profile, c->trace) : GLOW_OK;
}

/* Whether a further run computes something else than the one before. */
static bool is_stateful(const GlowSession *s) {
  GlowArena *arena = glow_arena_create(s->ctx);
  const GlowAccess *access = glow_function_accesses(s->entry, arena).of;
  bool stateful = false;
  for (const GlowStorage *st = s->module->first_storage; st; st = st->next)
    stateful |= st->cls == GLOW_VARIABLE && access[st->value.id].written;
  glow_arena_destroy(arena);
  return stateful;
}

GlowStatus glow_run_profile(GlowSession *s, GlowRunnable *r, const GlowRunCommand *c) {
  const char *target = s->module->target;
  const GlowIsa *isa = target ? glow_isa_find(target) : glow_isa_host();
  double before = isa ? glow_fma_peak(isa) : 0;
  bool counted = c->steps || is_stateful(s);
  GlowStatus status =
      counted ? glow_model_run_steps(s, r, c->steps ? c->steps : 1) : glow_model_run_warm(r);
  double after = isa ? glow_fma_peak(isa) : 0, peak = before > after ? before : after;
  if (status == GLOW_OK)
    status = report(s, r, c, peak * (double)c->model.threads);
  if (status == GLOW_OK && !counted)
    glow_runnable_take(r, &s->outputs);
  return status;
}
