/* The search. With all passes the command must be bad, with none good. Halving between them leads
 * to one run of a pass, and halving the rewrites of that run to one rewrite. Limits without a
 * verdict are stepped over. */
#include "bisect/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "bisect/trial.h"
#include "support/diag.h"

typedef struct Search {
  GlowContext *ctx;
  const GlowBisectCommand *command;
  uint64_t run;    /* limits are `run`:R; 0: limits are N */
  GlowTrial trial; /* the last one that was bad */
} Search;

static GlowLoc here(const Search *s) { return glow_loc_file(s->ctx, "glow-bisect"); }

static const char *limit_text(const Search *s, uint64_t n) {
  return s->run ? glow_str_printf(s->ctx, "%" PRIu64 ":%" PRIu64, s->run, n)
                : glow_str_printf(s->ctx, "%" PRIu64, n);
}

static GlowTrial try_limit(const Search *s, uint64_t n) {
  return glow_trial_run(s->ctx, s->command, limit_text(s, n));
}

/* Between a limit that is good and one that is bad: narrows to neighbours. False if it cannot. */
static bool halve(Search *s, uint64_t *good, uint64_t *bad) {
  uint64_t low = *good, high = *bad; /* no limit between low and high is known to be unjudged */
  while (*bad - *good > 1) {
    if (high - low <= 1) {
      glow_error(s->ctx, here(s), "no verdict between -bisect-limit=%s (good) and %s (bad)",
                 limit_text(s, *good), limit_text(s, *bad));
      return false;
    }
    uint64_t middle = low + (high - low) / 2;
    GlowTrial t = try_limit(s, middle);
    if (t.judgement == GLOW_NO_TRIAL)
      return false;
    if (t.judgement == GLOW_UNJUDGED) { /* go towards what is bad, then what is good */
      if (middle + 1 < high)
        low = middle;
      else
        high = middle, low = *good;
      continue;
    }
    if (t.judgement == GLOW_BAD) {
      *bad = middle;
      s->trial = t;
    } else {
      *good = middle;
    }
    low = *good;
    high = *bad;
  }
  return true;
}

/* ---- Both ends ------------------------------------------------------------------------------- */

static bool fail(const Search *s, const char *message) {
  glow_error(s->ctx, here(s), "%s", message);
  return false;
}

/* With every pass: bad, and it says which passes ran. */
static bool check_all(Search *s) {
  s->trial = glow_trial_run(s->ctx, s->command, "1-");
  switch (s->trial.judgement) {
  case GLOW_NO_TRIAL:
    return false;
  case GLOW_GOOD:
    return fail(s, "the command succeeds with every pass: there is nothing to find");
  case GLOW_UNJUDGED:
    return fail(s, "the command gives no verdict with every pass (exit status 125)");
  case GLOW_BAD:
    break;
  }
  if (s->trial.runs.count == 0) {
    fail(s, "the command fails, but printed no line '; bisect: ...'");
    glow_note(s->ctx, here(s),
              "it must give -bisect-limit=%%limit (or $GLOW_BISECT) to a Glow tool whose stderr "
              "stays as it is");
    return false;
  }
  return !s->trial.repeated ||
         fail(s, "the command gives the limit to more than one tool: run numbers occur twice");
}

static bool check_none(const Search *s) {
  GlowTrial t = try_limit(s, 0);
  switch (t.judgement) {
  case GLOW_NO_TRIAL:
    return false;
  case GLOW_UNJUDGED:
    return fail(s, "the command gives no verdict without passes (exit status 125)");
  case GLOW_BAD:
    return fail(s, "the command fails with every optional pass left out: the fault is in a "
                   "required pass, in the input or in the command");
  case GLOW_GOOD:
    break;
  }
  return true;
}

/* ---- The search ------------------------------------------------------------------------------ */

static void print_rewrite(const Search *s, uint64_t good, uint64_t bad, uint64_t count) {
  printf("rewrite: %" PRIu64 " of %" PRIu64 "\n", bad, count);
  const GlowTrialRun *run = glow_trial_find(&s->trial, s->run);
  if (run && run->last)
    printf("remark: %s\n", run->last);
  printf("good: -bisect-limit=%s\n", limit_text(s, good));
  printf("bad: -bisect-limit=%s\n", limit_text(s, bad));
}

/* The one rewrite of run number `bad`. */
static bool find_rewrite(Search *s, uint64_t good, uint64_t bad, const GlowTrialRun *run) {
  uint64_t none = 0, all = run->rewrites, count = all;
  s->run = bad;
  GlowTrial t = count ? try_limit(s, 0) : (GlowTrial){.judgement = GLOW_BAD};
  if (t.judgement == GLOW_NO_TRIAL)
    return false;
  if (t.judgement == GLOW_GOOD) {
    if (!halve(s, &none, &all))
      return false;
    if (all == count) /* only a limit makes the tool tell of its last rewrite */
      s->trial = try_limit(s, all);
    print_rewrite(s, none, all, count);
    return true;
  }
  s->run = 0;
  printf(count ? "rewrite: none of its %" PRIu64 "; it is bad before the first\n"
               : "rewrite: none; it made %" PRIu64 "\n",
         count);
  printf("good: -bisect-limit=%s\n", limit_text(s, good));
  printf("bad: -bisect-limit=%s\n", limit_text(s, bad));
  return true;
}

static bool search(Search *s) {
  if (!check_all(s) || !check_none(s))
    return false;
  uint64_t good = 0, bad = s->trial.runs.data[s->trial.runs.count - 1].number;
  if (!halve(s, &good, &bad))
    return false;
  const GlowTrialRun *run = glow_trial_find(&s->trial, bad);
  if (!run || !run->ran)
    return fail(s, "the runs of passes are not the same each time: is the command's input?");
  printf("pass: %s, run %" PRIu64 "\n", run->what, bad);
  return find_rewrite(s, good, bad, run);
}

GlowStatus glow_bisect_command(GlowContext *ctx, const GlowBisectCommand *command) {
  Search s = {.ctx = ctx, .command = command};
  return search(&s) ? GLOW_OK : GLOW_BAD_INPUT;
}
