/* glow-bench-memplan [FILE.csv ...]: what the memory planner makes of buffers with known lifetimes;
 * without files, of the hard cases of MiniMalloc in this folder. For each: buffers, the lower
 * bound, the arenas of greedy placement and of the planner in bytes, their ratio to the bound,
 * steps of search and seconds of processor time. `*` marks a plan that is proved to be the
 * smallest. The status is 1 if a plan is wrong or larger than the capacity in the file's name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memplan/memplan.h"
#include "support/context.h"

enum { MAX_BUFFERS = 1 << 16 };

typedef struct Case {
  const char *path;
  GlowPlanBuffer buffers[MAX_BUFFERS];
  uint32_t count;
} Case;

/* Lines of id,lower,upper,size below a heading. */
static bool read_case(Case *c) {
  char line[256];
  FILE *f = fopen(c->path, "r");
  c->count = 0;
  if (!f)
    return false;
  while (fgets(line, sizeof line, f)) {
    GlowPlanBuffer b = {0};
    if (sscanf(line, "%*[^,],%" SCNu32 ",%" SCNu32 ",%" SCNd64, &b.start, &b.end, &b.size) == 3 &&
        b.size >= 0 && c->count < MAX_BUFFERS)
      c->buffers[c->count++] = b;
  }
  fclose(f);
  return c->count > 0;
}

/* Whether no two buffers that live at one time overlap, and all end by `arena`. */
static bool is_legal(const Case *c, int64_t arena) {
  for (uint32_t i = 0; i < c->count; i++) {
    const GlowPlanBuffer *a = &c->buffers[i];
    if (a->offset < 0 || a->offset + a->size > arena)
      return false;
    for (uint32_t k = 0; k < i; k++) {
      const GlowPlanBuffer *b = &c->buffers[k];
      if (a->start < b->end && b->start < a->end && a->offset < b->offset + b->size &&
          b->offset < a->offset + a->size)
        return false;
    }
  }
  return true;
}

/* A.1048576.csv: 1048576. */
static int64_t capacity(const char *name) {
  const char *dot = strchr(name, '.');
  int64_t bytes = dot ? strtoll(dot + 1, NULL, 10) : 0;
  return bytes ? bytes : INT64_MAX;
}

static bool run_case(GlowContext *ctx, Case *c) {
  const char *slash = strrchr(c->path, '/'), *name = slash ? slash + 1 : c->path;
  if (!read_case(c)) {
    printf("%s: no buffers can be read\n", c->path);
    return false;
  }
  GlowArena *arena = glow_arena_create(ctx);
  GlowPlanReport r;
  clock_t start = clock();
  int64_t bytes = glow_memplan(arena, c->buffers, c->count, 1, &r);
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  bool ok = is_legal(c, bytes) && bytes >= r.bound && bytes <= capacity(name);
  double bound = r.bound ? (double)r.bound : 1;
  printf("%-16.16s %7" PRIu32 " %10" PRId64 " %10" PRId64 " %10" PRId64 "%c %7.3f %7.3f %11" PRIu64
         " %6.2f%s\n",
         name, c->count, r.bound, r.greedy, r.best, r.exact ? '*' : ' ', (double)r.greedy / bound,
         (double)bytes / bound, r.steps, seconds, ok ? "" : "  WRONG OR TOO LARGE");
  glow_arena_destroy(arena);
  return ok;
}

int main(int argc, char **argv) {
  GlowContext *ctx = glow_context_create();
  Case *c = malloc(sizeof *c);
  bool ok = ctx && c;
  printf("case             buffers      bound     greedy       plan   gr/bnd plan/bnd      steps   "
         "   s\n");
  for (int i = 1; ok && i < argc; i++) {
    c->path = argv[i];
    ok = run_case(ctx, c) && ok;
  }
  for (char letter = 'A'; c && ctx && argc == 1 && letter <= 'K'; letter++) {
    char path[] = GLOW_CASES "/A.1048576.csv";
    path[sizeof GLOW_CASES] = letter;
    c->path = path;
    ok = run_case(ctx, c) && ok;
  }
  free(c);
  if (ctx)
    glow_context_destroy(ctx);
  return !ok;
}
