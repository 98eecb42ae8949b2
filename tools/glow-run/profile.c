/* glow-run --profile: where the time of a run goes, by node and by kernel, and as a Chrome trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "ir/access.h"
#include "kernels/isa.h"
#include "ops/infer.h"
#include "runtime/peak.h"
#include "support/file.h"
#include "support/json.h"
#include "support/process.h"
#include "tools/glow-run/glow_run.h"

enum { MAX_RUNS = 10, MOST_RUNS = 100 };

/* A line of a table: a node, or all pieces of one kernel. */
typedef struct Row {
  const char *kernel;
  const GlowNode *node; /* NULL: of a kernel */
  double seconds;
  int64_t macs, bytes;
  uint32_t calls;
} Row;

static int by_time(const void *a, const void *b) {
  const Row *x = a, *y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* What an instruction's operands hold: each is touched at least once. */
static int64_t bytes_of(const GlowNode *n) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && glow_type_is_tensor(v->type) && glow_type_is_static(v->type))
      sum += glow_type_bytes(v->type);
  }
  return sum;
}

/* Adds a piece; the figures of a node belong to its main piece, once for each call. */
static void add(Row *row, const GlowProfilePiece *p) {
  row->seconds += p->seconds;
  row->calls += p->main || !row->node ? p->calls : 0;
  if (!p->main)
    return;
  int64_t macs = glow_macs_hooks[p->node->op] ? glow_macs_hooks[p->node->op](p->node) : 0;
  row->macs += macs > 0 ? macs * p->calls : 0;
  row->bytes += bytes_of(p->node) * p->calls;
}

/* Rows in order of time; `of_kernels`: one for each kernel, else one for each node. */
static Row *make_rows(GlowArena *arena, const GlowProfile *p, bool of_kernels, uint32_t *count) {
  Row *rows = GLOW_NEW_ARRAY(arena, Row, p->npieces);
  *count = 0;
  for (uint32_t i = 0; i < p->npieces; i++) {
    const GlowProfilePiece *piece = &p->pieces[i];
    uint32_t k = of_kernels || !*count ? 0 : *count - 1; /* a node's pieces follow each other */
    while (k < *count &&
           (of_kernels ? strcmp(rows[k].kernel, piece->kernel) != 0 : rows[k].node != piece->node))
      k++;
    if (k == *count)
      rows[(*count)++] = (Row){.kernel = piece->kernel, .node = of_kernels ? NULL : piece->node};
    if (piece->main && !of_kernels)
      rows[k].kernel = piece->kernel;
    add(&rows[k], piece);
  }
  qsort(rows, *count, sizeof *rows, by_time);
  return rows;
}

static void print_row(GlowText *out, const Row *r, double total, double peak) {
  double flops = 2.0 * (double)r->macs, seconds = r->seconds > 0 ? r->seconds : 1e-9;
  glow_text_printf(out, "%6.1f %10.3f %6u", 100 * r->seconds / total, r->seconds * 1e3, r->calls);
  if (r->macs)
    glow_text_printf(out, " %9.2f", flops / seconds * 1e-9);
  else
    glow_text_printf(out, " %9s", "-");
  if (r->macs && peak > 0)
    glow_text_printf(out, " %7.1f", 100 * flops / seconds / peak);
  else
    glow_text_printf(out, " %7s", "-");
  glow_text_printf(out, " %9.3f %7.2f  ", (double)r->bytes / (1 << 20),
                   (double)r->bytes / seconds * 1e-9);
}

/* The name that a person knows a node by: of the model's node, of its first output, or of its line.
 */
static void print_name(GlowText *out, const GlowNode *n) {
  GlowLoc loc = glow_node_loc(n);
  glow_text_puts(out, glow_node_desc(n)->instr);
  if (n->origin && n->origin->name)
    glow_text_printf(out, " %s", n->origin->name);
  else if (loc.line)
    glow_text_printf(out, " %s:%u", glow_path_base(loc.file), loc.line);
}

static void print_table(GlowText *out, GlowArena *arena, const GlowProfile *p, bool of_kernels,
                        double peak) {
  uint32_t count;
  const Row *rows = make_rows(arena, p, of_kernels, &count);
  glow_text_printf(out, "%6s %10s %6s %9s %7s %9s %7s  %s\n", "%", "ms", "calls", "GFLOP/s",
                   "% peak", "MiB", "GB/s", of_kernels ? "strategy" : "strategy, instruction");
  Row total = {.kernel = "all"};
  for (uint32_t i = 0; i < count; i++) {
    print_row(out, &rows[i], p->seconds, peak);
    glow_text_puts(out, rows[i].kernel);
    if (!of_kernels) {
      glow_text_printf(out, "%*s ", (int)(16 - strlen(rows[i].kernel)), "");
      print_name(out, rows[i].node);
    }
    glow_text_putc(out, '\n');
    total.macs += rows[i].macs;
    total.bytes += rows[i].bytes;
    total.calls += rows[i].calls;
  }
  total.seconds = p->seconds;
  print_row(out, &total, p->seconds, peak);
  glow_text_printf(out, "all\n");
}

/* ---- Chrome's trace format ------------------------------------------------------------------- */

static void put_event(GlowText *out, const GlowProfile *p, uint32_t i) {
  const GlowProfileEvent *e = &p->events[i];
  const GlowProfilePiece *piece = &p->pieces[e->piece];
  double begin = i ? e[-1].end : 0;
  GlowText name;
  glow_text_init(&name, out->ctx);
  GlowDefer defer;
  glow_defer_push(out->ctx, &defer, glow_text_release_fn, &name);
  print_name(&name, piece->node);
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

static GlowStatus report(GlowSession *s, GlowNetwork *n, const GlowRunCommand *c, double peak) {
  GlowText out;
  GlowDefer defer;
  GlowArena *arena = glow_arena_create(s->ctx);
  glow_text_init(&out, s->ctx);
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &out);
  print_table(&out, arena, n->profile, false, peak);
  glow_text_putc(&out, '\n');
  print_table(&out, arena, n->profile, true, peak);
  if (peak > 0)
    glow_text_printf(&out, "\n%% peak: of an FMA burst of %.1f GFLOP/s on %lld thread%s\n",
                     peak * 1e-9, (long long)c->model.threads, c->model.threads > 1 ? "s" : "");
  fwrite(out.data, 1, out.size, stdout);
  glow_defer_pop(s->ctx, &defer, true);
  glow_arena_destroy(arena);
  return c->trace ? write_trace(s, n->profile, c->trace) : GLOW_OK;
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

/* Runs until the last run is the best for some, so that the first one's page faults do not show. On
 * a busy machine any will do that was not interrupted for long. */
static GlowStatus run_warm(GlowNetwork *n) {
  double start = glow_clock(), best = 0;
  GlowStatus status = GLOW_OK;
  for (int i = 0; i < MOST_RUNS && status == GLOW_OK; i++) {
    status = n->run(n);
    double t = n->profile->seconds, passed = glow_clock() - start;
    if (i && t <= best * (i < MAX_RUNS ? 1.02 : 1.5) && (i > 2 || passed > 2))
      break;
    if (passed > 30)
      break;
    best = !i || t < best ? t : best;
  }
  return status;
}

static GlowStatus run_network(GlowSession *s, GlowNetwork *n, const GlowRunCommand *c) {
  const char *target = s->module->target;
  const GlowIsa *isa = target ? glow_isa_find(target) : glow_isa_host();
  double before = isa ? glow_fma_peak(isa) : 0;
  bool counted = c->steps || is_stateful(s);
  GlowStatus status = counted ? glow_model_run_network(s, n, c->steps ? c->steps : 1) : run_warm(n);
  double after = isa ? glow_fma_peak(isa) : 0, peak = before > after ? before : after;
  if (status == GLOW_OK)
    status = report(s, n, c, peak * (double)c->model.threads);
  if (status == GLOW_OK && !counted)
    glow_model_take_outputs(s, n);
  return status;
}

GlowStatus glow_run_profile(GlowSession *s, const GlowBackend *backend,
                            const GlowRunOptions *options, const GlowRunCommand *c) {
  if (!backend->prepare) {
    glow_error(s->ctx, GLOW_NOWHERE, "%s: backend %s does not compile",
               c->profile ? "--profile" : "--trace", backend->name);
    return GLOW_BAD_USAGE;
  }
  GlowRunOptions o = *options;
  o.profile = true;
  glow_session_set_variables(s);
  GlowNetwork *n = glow_backend_prepare(backend, s->entry, &s->inputs, &o);
  if (!n)
    return GLOW_BAD_INPUT;
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_network_destroy_fn, n);
  GlowStatus status = run_network(s, n, c);
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}
