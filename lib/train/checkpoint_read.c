/* Reading checkpoints, and why one is refused. See checkpoint.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/state.h"
#include "support/checksum.h"
#include "train/checkpoint_internal.h"

uint64_t glow_checkpoint_hash(const GlowModule *m) {
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

const char *glow_checkpoint_text(const GlowBlob *blob, const char *key) {
  for (uint32_t i = 0; i < blob->nmetadata; i++)
    if (!strcmp(blob->metadata[i].key, key))
      return blob->metadata[i].text;
  return NULL;
}

/* A number in the metadata that is not negative. */
static bool read_number(GlowContext *ctx, GlowLoc at, const GlowBlob *blob, const char *key,
                        uint64_t *number) {
  const char *text = glow_checkpoint_text(blob, key);
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
  const char *text = glow_checkpoint_text(blob, key);
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
  const char *seed = glow_checkpoint_text(blob, "seed");
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
  if (!fits || !has_sum(ctx, at, blob, "variables", glow_checkpoint_hash(s->module)) ||
      !has_sum(ctx, at, blob, "data", hash_entries(blob)))
    return GLOW_BAD_INPUT;
  if (!reset && !has_order(ctx, at, blob, &c->order))
    return GLOW_BAD_INPUT;
  if (steps > INT64_MAX) {
    glow_error(ctx, at, "'%s' is no step", glow_checkpoint_text(blob, "step"));
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
