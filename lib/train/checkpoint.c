/* See checkpoint.h. */
#include "train/checkpoint.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/access.h"
#include "backend/interp/interp.h"
#include "driver/state.h"
#include "support/checksum.h"
#include "train/checkpoint_internal.h"

/* ---- Names ----------------------------------------------------------------------------------- */

/* How long the name of a path is without its extension. */
static size_t stem_length(const char *path) {
  const char *base = glow_path_base(path), *dot = strrchr(base, '.');
  return dot && dot > base ? (size_t)(dot - path) : strlen(path);
}

/* STEM-WHAT.EXT of the last checkpoint's path. */
static const char *sibling(const GlowCheckpoints *c, const char *what) {
  size_t stem = stem_length(c->path);
  return glow_str_printf(c->session->ctx, "%.*s-%s%s", (int)stem, c->path, what, c->path + stem);
}

/* The step in a name of the form STEM-STEP.EXT; -1: it has another form. */
static int64_t step_of(const char *name, const char *base) {
  size_t stem = stem_length(base), n = strlen(name), extension = strlen(base + stem);
  if (n <= stem + 1 + extension || strncmp(name, base, stem) != 0 || name[stem] != '-' ||
      strcmp(name + n - extension, base + stem) != 0)
    return -1;
  int64_t step = 0;
  for (const char *p = name + stem + 1; p < name + n - extension; p++) {
    if (*p < '0' || *p > '9' || step > INT64_MAX / 100)
      return -1;
    step = 10 * step + (*p - '0');
  }
  return step;
}

/* ---- Variables ------------------------------------------------------------------------------- */

/* Whether an entry of the session, or one of the others, saves a variable. */
static bool is_written(const GlowSession *s, GlowArena *arena, const GlowStorage *st) {
  bool written = glow_function_accesses(s->entry, arena).of[st->value.id].written;
  for (uint32_t i = 0; i < s->others.count; i++) {
    GlowFunction *f = glow_module_function(s->module, s->others.data[i]);
    written |= f && glow_function_accesses(f, arena).of[st->value.id].written;
  }
  return written;
}

/* A copy of the value that a variable begins with. NULL after a diagnostic. */
static GlowTensor *first_value(GlowSession *s, GlowValues *values, GlowStorage *st) {
  const GlowTensor *given = glow_bindings_find(&s->variables, st->value.name);
  const GlowTensor *t = given ? given : glow_values_get(values, st);
  return t ? glow_tensor_copy(s->ctx, t) : NULL;
}

static bool declare(GlowCheckpoints *c, GlowValues *values, GlowStorage *st) {
  GlowSession *s = c->session;
  GlowArena *arena = glow_arena_create(s->ctx);
  GlowDeclared d = {.name = st->value.name, .type = st->value.type};
  d.written = is_written(s, arena, st);
  glow_arena_destroy(arena);
  if (d.type->kind == GLOW_KIND_STRING) {
    glow_error(s->ctx, st->src, "a checkpoint cannot hold variable '%s', which is of strings",
               d.name);
    return false;
  }
  glow_vec_push(s->ctx->arena, &c->variables, d);
  GlowDeclared *last = &c->variables.data[c->variables.count - 1];
  if (!d.written && !(last->value = first_value(s, values, st)))
    return false;
  return true;
}

GlowStatus glow_checkpoints_begin(GlowCheckpoints *c, GlowSession *s) {
  c->session = s;
  if (c->path) {
    glow_output_clean(c->path);
    glow_output_clean(sibling(c, "best"));
  }
  c->hash = glow_checkpoint_hash(s->module);
  GlowValues *values = glow_values_create(s->module);
  GlowDefer destroy;
  glow_defer_push(s->ctx, &destroy, glow_values_destroy_fn, values);
  bool ok = true;
  for (GlowStorage *st = s->module->first_storage; st && ok; st = st->next)
    ok = st->cls != GLOW_VARIABLE || declare(c, values, st);
  glow_defer_pop(s->ctx, &destroy, true);
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

void glow_checkpoints_close(GlowCheckpoints *c) {
  for (uint32_t i = 0; i < c->variables.count; i++)
    glow_tensor_free(c->variables.data[i].value);
  c->variables.count = 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The value of a variable now. */
static const GlowTensor *value_now(const GlowCheckpoints *c, const GlowState *state,
                                   const GlowDeclared *d) {
  if (!d->written)
    return d->value;
  const GlowExecutable *e = state->executable;
  for (uint32_t i = 0; i < e->nstorage; i++)
    if (e->entries->values[i].name == d->name && state->values[i])
      return state->values[i];
  GlowStorage *st = glow_session_variable(c->session, d->name); /* no run has written it yet */
  return st ? glow_values_get(c->session->values, st) : NULL;
}

static bool collect(const GlowCheckpoints *c, const GlowState *state, GlowStateFile *f) {
  for (uint32_t i = 0; i < c->variables.count; i++) {
    const GlowDeclared *d = &c->variables.data[i];
    const GlowTensor *value = value_now(c, state, d);
    if (!value) {
      glow_error(f->ctx, GLOW_NOWHERE, "passes have left out variable '%s', so it has no value",
                 d->name);
      return false;
    }
    if (!glow_state_put(f, d->name, value))
      return false;
  }
  return true;
}

static uint64_t hash_values(const GlowStateFile *f) {
  GlowChecksum sum = glow_checksum_begin(0);
  for (uint32_t i = 0; i < f->values.count; i++)
    glow_checksum_add(&sum, f->values.data[i].tensor->data, f->values.data[i].tensor->bytes);
  return glow_checksum_end(&sum);
}

/* `score`: NULL: there is none. */
static GlowStatus write_file(const GlowCheckpoints *c, const GlowState *state, int64_t step,
                             const double *score, const char *path) {
  GlowContext *ctx = c->session->ctx;
  GlowStateFile f = {.ctx = ctx, .arena = glow_arena_create(ctx)};
  GlowStatus status = GLOW_BAD_INPUT;
  if (collect(c, state, &f)) {
    const GlowOrder *o = &c->order;
    char digits[48] = "";
    if (score)
      digits[glow_format_double(digits, *score)] = 0;
#define NUMBER(n) glow_arena_printf(f.arena, "%lld", (long long)(n))
#define SUM(n) glow_arena_printf(f.arena, "%016" PRIx64, (n))
    const GlowBlobText all[] = {
        {"step", NUMBER(step)},
        {"epoch", NUMBER(step / glow_order_steps(o))},
        {"seed", o->shuffled ? glow_arena_printf(f.arena, "%" PRIu64, o->seed) : "none"},
        {"samples", NUMBER(o->samples)},
        {"batch", NUMBER(o->batch)},
        {"variables", SUM(c->hash)},
        {"data", SUM(hash_values(&f))},
        {"score", digits}};
#undef NUMBER
#undef SUM
    status = glow_state_write(&f, path, all, sizeof all / sizeof *all - !score, true);
  }
  glow_arena_destroy(f.arena);
  return status;
}

/* ---- Which ones stay --------------------------------------------------------------------------
 */

typedef GLOW_VEC(int64_t) Steps;

static int falling(const void *pa, const void *pb) {
  int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
  return (a < b) - (a > b);
}

static void close_folder(void *dir) { closedir(dir); }

/* Removes older ones beyond those that are kept beside the last one. */
static void remove_old(const GlowCheckpoints *c) {
  GlowContext *ctx = c->session->ctx;
  DIR *dir = opendir(glow_path_dir(ctx, c->path));
  if (!dir)
    return;
  GlowDefer close;
  glow_defer_push(ctx, &close, close_folder, dir);
  GlowArena *arena = glow_arena_create(ctx);
  Steps steps = {0};
  for (const struct dirent *e; (e = readdir(dir));) {
    int64_t step = step_of(e->d_name, glow_path_base(c->path));
    if (step >= 0)
      glow_vec_push(arena, &steps, step);
  }
  if (steps.count)
    qsort(steps.data, steps.count, sizeof *steps.data, falling);
  for (uint32_t i = (uint32_t)c->keep - 1; i < steps.count; i++)
    unlink(sibling(c, glow_arena_printf(arena, "%lld", (long long)steps.data[i])));
  glow_arena_destroy(arena);
  glow_defer_pop(ctx, &close, true);
}

GlowStatus glow_checkpoint_write(GlowCheckpoints *c, const GlowState *state, int64_t step) {
  GlowContext *ctx = c->session->ctx;
  if (c->keep > 1 && c->last >= 0 && c->last != step) {
    const char *old = sibling(c, glow_str_printf(ctx, "%lld", (long long)c->last));
    unlink(old);
    if (link(c->path, old) != 0) /* a file system without links */
      rename(c->path, old);
  }
  GlowStatus status = write_file(c, state, step, NULL, c->path);
  if (status != GLOW_OK)
    return status;
  c->last = step;
  if (c->keep > 1)
    remove_old(c);
  return GLOW_OK;
}

GlowStatus glow_checkpoint_write_best(const GlowCheckpoints *c, const GlowState *state,
                                      int64_t step, double score) {
  return write_file(c, state, step, &score, sibling(c, "best"));
}

bool glow_checkpoint_best(const GlowCheckpoints *c, double *score) {
  GlowContext *ctx = c->session->ctx;
  const char *path = sibling(c, "best");
  struct stat st;
  if (stat(path, &st) != 0)
    return false;
  GlowHold hold;
  glow_hold_begin(ctx, &hold);
  const GlowBlob *blob = glow_state_open(ctx, path);
  glow_hold_end(&hold);
  const char *text = blob ? glow_checkpoint_text(blob, "score") : NULL;
  char *end = NULL;
  *score = text ? glow_parse_double(text, &end) : 0;
  return text && end != text && !*end;
}
