/* -bisect-limit: which runs of passes take place. Every run of a pass on a function has a number.
 *
 *   12        runs 1 to 12
 *   12:3      the same, run 12 with its first three rewrites only
 *   1-8,10-   runs 1 to 8, and from 10 on
 *
 * Passes that later ones or other tools cannot do without (REQUIRED in their row) run always,
 * whole unless 12:3 names them. Each run prints a line on stderr. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pass/pass_internal.h"

typedef struct Interval {
  uint64_t first, last;
} Interval;

struct GlowBisect {
  GLOW_VEC(Interval) intervals;
  uint64_t last_run, rewrites; /* of N:R: run N makes its first R rewrites; else zeros */
};

static bool bad(GlowContext *ctx, const char *limit, const char *why) {
  glow_error(ctx, GLOW_NOWHERE, "-bisect-limit=%s: %s; expected N, N:R or intervals as 1-8,10-",
             limit, why);
  return false;
}

static bool number(const char **at, uint64_t *value) {
  if (!isdigit((unsigned char)**at))
    return false;
  char *end;
  unsigned long long v = strtoull(*at, &end, 10);
  *at = end;
  *value = v;
  return v < UINT32_MAX;
}

/* N, or N:R. */
static bool parse_limit(const char *at, GlowBisect *b, Interval *i) {
  *i = (Interval){.first = 1};
  if (!number(&at, &i->last))
    return false;
  if (*at == ':') {
    at++;
    b->last_run = i->last;
    if (!number(&at, &b->rewrites))
      return false;
  }
  return !*at;
}

bool glow_bisect_begin(GlowContext *ctx, const char *limit, GlowBisect **bisect) {
  *bisect = NULL;
  if (!limit)
    return true;
  GlowBisect *b = *bisect = GLOW_NEW(ctx->arena, GlowBisect);
  Interval i;
  if (!strpbrk(limit, "-,")) {
    if (!parse_limit(limit, b, &i))
      return bad(ctx, limit, "this is no number");
    glow_vec_push(ctx->arena, &b->intervals, i);
    return true;
  }
  const char *at = limit;
  do {
    if (!number(&at, &i.first))
      return bad(ctx, limit, "an interval begins with a number");
    i.last = i.first;
    if (*at == '-') {
      at++;
      i.last = UINT64_MAX;
      if (*at && *at != ',' && !number(&at, &i.last))
        return bad(ctx, limit, "an interval ends with a number, or is open");
    }
    if (i.last < i.first)
      return bad(ctx, limit, "an interval ends before it begins");
    glow_vec_push(ctx->arena, &b->intervals, i);
  } while (*at == ',' && *++at);
  return !*at || bad(ctx, limit, "unexpected text after an interval");
}

bool glow_bisect_allows(const GlowBisect *b, const GlowPassCall *call, uint64_t *rewrites) {
  *rewrites = UINT64_MAX;
  if (!b)
    return true;
  if (call->number == b->last_run)
    *rewrites = b->rewrites;
  if (call->item->pass->required)
    return true;
  for (uint32_t i = 0; i < b->intervals.count; i++)
    if (b->intervals.data[i].first <= call->number && call->number <= b->intervals.data[i].last)
      return true;
  return false;
}

void glow_bisect_report(const GlowBisect *b, const GlowPassCall *call, const GlowPassRun *run) {
  if (!b)
    return;
  const GlowPass *pass = call->item->pass;
  const char *f = call->function ? call->function->name : NULL;
  fflush(stdout);
  fprintf(stderr, "; bisect: %" PRIu32 " %s%s%s: ", call->number, pass->name, f ? " on @" : "",
          f ? f : "");
  if (!run) {
    fprintf(stderr, "left out\n");
    return;
  }
  fprintf(stderr, "%" PRIu64 " rewrites%s", run->changes, pass->required ? ", required" : "");
  if (run->limit != UINT64_MAX && run->changes && run->last)
    fprintf(stderr, "; the last: %s", run->last);
  fputc('\n', stderr);
}
