/* See checkpoint.h. */
#include "train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
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

static const char *sibling(const GlowCheckpoints *c, const char *what);

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

/* A checksum of the names and types of all variables, in the order of the module. */
static uint64_t hash_variables(const GlowModule *m) {
  GlowChecksum sum = glow_checksum_begin(0);
  for (const GlowStorage *st = m->first_storage; st; st = st->next) {
    if (st->cls != GLOW_VARIABLE)
      continue;
    const char *type = glow_type_str(m->ctx, st->value.type);
    glow_checksum_add(&sum, st->value.name, strlen(st->value.name));
    glow_checksum_add(&sum, ":", 1);
    glow_checksum_add(&sum, type, strlen(type));
    glow_checksum_add(&sum, "\n", 1);
  }
  return glow_checksum_end(&sum);
}

GlowStatus glow_checkpoints_begin(GlowCheckpoints *c, GlowSession *s) {
  c->session = s;
  if (c->path) {
    glow_output_clean(c->path);
    glow_output_clean(sibling(c, "best"));
  }
  c->hash = hash_variables(s->module);
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

/* ---- Reading --------------------------------------------------------------------------------- */

static const char *metadata(const GlowBlob *blob, const char *key) {
  for (uint32_t i = 0; i < blob->nmetadata; i++)
    if (!strcmp(blob->metadata[i].key, key))
      return blob->metadata[i].text;
  return NULL;
}

/* A number in the metadata that is not negative. */
static bool read_number(GlowContext *ctx, GlowLoc at, const GlowBlob *blob, const char *key,
                        uint64_t *number) {
  const char *text = metadata(blob, key);
  char *end = NULL;
  errno = 0;
  *number = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
  if (end && !*end && !errno)
    return true;
  if (text)
    glow_error(ctx, at, "'%s' is no %s", text, key);
  else
    glow_error(ctx, at, "this is no checkpoint: its metadata have no '%s'", key);
  return false;
}

/* Whether a checksum in the metadata, if there is one, is this one. */
static bool has_sum(GlowContext *ctx, GlowLoc at, const GlowBlob *blob, const char *key,
                    uint64_t sum) {
  const char *text = metadata(blob, key);
  char wanted[17];
  snprintf(wanted, sizeof wanted, "%016" PRIx64, sum);
  if (!text || !strcmp(text, wanted))
    return true;
  glow_error(ctx, at, "the file is damaged: the checksum of its %s is %s, not %s", key, wanted,
             text);
  return false;
}

static bool has_order(GlowContext *ctx, GlowLoc at, const GlowBlob *blob, const GlowOrder *wanted) {
  GlowOrder o = {0};
  uint64_t samples, batch;
  const char *seed = metadata(blob, "seed");
  o.shuffled = !seed || strcmp(seed, "none") != 0;
  if (!read_number(ctx, at, blob, "samples", &samples) ||
      !read_number(ctx, at, blob, "batch", &batch) ||
      (o.shuffled && !read_number(ctx, at, blob, "seed", &o.seed)))
    return false;
  if (o.shuffled == wanted->shuffled && (!o.shuffled || o.seed == wanted->seed) &&
      samples == (uint64_t)wanted->samples && batch == (uint64_t)wanted->batch)
    return true;
  const char *now = wanted->shuffled ? glow_str_printf(ctx, "%" PRIu64, wanted->seed) : "none";
  glow_error(ctx, at,
             "it was made in another order: seed %s, %" PRIu64 " samples, batches of %" PRIu64
             "; here they are seed %s, %lld samples, batches of %lld",
             seed, samples, batch, now, (long long)wanted->samples, (long long)wanted->batch);
  glow_note(ctx, GLOW_NOWHERE, "--reset-order takes the new order from this step on");
  return false;
}

/* Says of each variable that the file lacks. */
static bool has_all(GlowSession *s, GlowLoc at, const GlowBlob *blob) {
  bool ok = true;
  for (const GlowStorage *st = s->module->first_storage; st; st = st->next) {
    if (st->cls != GLOW_VARIABLE || glow_blob_find(blob, st->value.name))
      continue;
    glow_error(s->ctx, at, "it has no variable '%s', which is %s", st->value.name,
               glow_type_str(s->ctx, st->value.type));
    ok = false;
  }
  return ok;
}

static uint64_t hash_entries(const GlowBlob *blob) {
  GlowChecksum sum = glow_checksum_begin(0);
  for (uint32_t i = 0; i < blob->nentries; i++)
    glow_checksum_add(&sum, blob->entries[i].data, blob->entries[i].bytes);
  return glow_checksum_end(&sum);
}

GlowStatus glow_checkpoint_take(const GlowCheckpoints *c, GlowSession *s, const GlowBlob *blob,
                                GlowLoc at, bool reset, int64_t *step) {
  GlowContext *ctx = s->ctx;
  uint64_t steps;
  if (!read_number(ctx, at, blob, "step", &steps))
    return GLOW_BAD_INPUT;
  bool fits = glow_state_take(s, blob, at);
  fits = has_all(s, at, blob) && fits;
  if (!fits || !has_sum(ctx, at, blob, "variables", hash_variables(s->module)) ||
      !has_sum(ctx, at, blob, "data", hash_entries(blob)))
    return GLOW_BAD_INPUT;
  if (!reset && !has_order(ctx, at, blob, &c->order))
    return GLOW_BAD_INPUT;
  if (steps > INT64_MAX) {
    glow_error(ctx, at, "'%s' is no step", metadata(blob, "step"));
    return GLOW_BAD_INPUT;
  }
  *step = (int64_t)steps;
  return GLOW_OK;
}

GlowStatus glow_checkpoint_read(GlowCheckpoints *c, GlowSession *s, const char *path, bool reset,
                                int64_t *step) {
  const GlowBlob *blob = glow_state_open(s->ctx, path);
  return blob ? glow_checkpoint_take(c, s, blob, glow_loc_file(s->ctx, path), reset, step)
              : GLOW_BAD_INPUT;
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
  const char *text = blob ? metadata(blob, "score") : NULL;
  char *end = NULL;
  *score = text ? glow_parse_double(text, &end) : 0;
  return text && end != text && !*end;
}
