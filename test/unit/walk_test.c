/* The walker of programs (rt/walk.c), on programs that are written by hand. Each piece appends its
 * mark and the numbers that its addresses hold to a log. */
#include "rt/walk.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

static char text[400];

static void note(const char *mark, void *const *ptrs, int count) {
  char *at = text + strlen(text);
  size_t room = sizeof text - strlen(text);
  int n = snprintf(at, room, "%s", mark);
  for (int i = 0; i < count; i++)
    n +=
        snprintf(at + n, room - (size_t)n, "%c%lld", i ? ',' : ' ', (long long)*(int64_t *)ptrs[i]);
  snprintf(at + n, room - (size_t)n, "; ");
}

static void one(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  (void)worker;
  note(begin == 0 && end == 1 ? "one" : "part", ptrs, 1);
}
static void two(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  (void)begin, (void)end, (void)worker;
  note("two", ptrs, 2);
}
/* Its second address is the fault. */
static void fails(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  (void)begin, (void)end, (void)worker;
  GlowFault *fault = ptrs[1];
  note("fails", ptrs, 1);
  fault->error = GLOW_FAULT_INDEX;
  fault->detail = 17;
}
/* Writes whether the round, its second operand, is below 2. */
static void below(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  (void)begin, (void)end, (void)worker;
  *(uint8_t *)ptrs[0] = *(int64_t *)ptrs[1] < 2;
}

enum { NONE = GLOW_SPACE_ABSENT };
static GlowAddress at(int64_t space, int64_t offset) {
  return offset * (1 << GLOW_SPACE_BITS) + space;
}
static GlowAddress in(int64_t storage) { return at(GLOW_SPACE_STORAGE + storage, 0); }

static void host(GlowFault *fault, int64_t instruction) {
  (void)fault;
  snprintf(text + strlen(text), sizeof text - strlen(text), "host %lld; ", (long long)instruction);
}
static int64_t late; /* the piece at which the hook ends the run */
static void hook(GlowFault *fault, int64_t piece) {
  snprintf(text + strlen(text), sizeof text - strlen(text), "(%lld) ", (long long)piece);
  fault->error = piece == late ? -2 : fault->error;
}

/* Hands out the first half, then the second. */
static void halves(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs,
                   int64_t units, int64_t shards) {
  (void)parallel, (void)shards;
  piece(ptrs, 0, units / 2, 0);
  piece(ptrs, units / 2, units, 1);
}

typedef struct Case {
  const char *want; /* the log */
  GlowStep steps[12];
  int64_t nsteps;
  GlowAddress addresses[12];
  int64_t naddresses;
  int64_t storage[4]; /* storage i holds one number */
  int64_t error, instruction;
  int hooked, parallel, apart;
} Case;

static GlowPieceFn *const pieces[] = {one, two, fails, below};
enum { ONE, TWO, FAILS, BELOW };

/* Adds addresses up before the run, or at each step. */
static void check_way(const Case *c, int ahead) {
  int64_t arena[8] = {100, 101, 102, 103, 104, 105, 106, 107}, numbers[4], rounds[4];
  void *storage[4], *pointers[2], *resolved[12] = {0};
  static const int64_t zeros = 0, params = 44;
  memcpy(numbers, c->storage, sizeof numbers);
  for (int i = 0; i < 4; i++)
    storage[i] = &numbers[i];
  GlowProgram p = {.steps = c->steps,
                   .addresses = c->addresses,
                   .pieces = pieces,
                   .params = &params,
                   .zeros = &zeros,
                   .nsteps = c->nsteps,
                   .naddresses = c->naddresses,
                   .loops = 2,
                   .scratch = 48};
  GlowParallel parallel = {halves, NULL, 2};
  GlowFault fault = {99, 99, 99};
  GlowRunContext run = {.arena = (uint8_t *)arena,
                        .storage = storage,
                        .parallel = c->parallel ? &parallel : NULL,
                        .fault = &fault,
                        .pointers = pointers,
                        .rounds = rounds,
                        .host = host,
                        .hook = c->hooked ? hook : NULL,
                        .apart = c->apart};
  *text = '\0';
  if (ahead) {
    glow_resolve(&p, &run, resolved);
    run.resolved = resolved;
  }
  int64_t error = glow_walk(&p, &run);
  EXPECT(strcmp(text, c->want) == 0, "wanted '%s', got '%s'", c->want, text);
  EXPECT(error == c->error && fault.error == c->error && fault.instruction == c->instruction,
         "%s: error %lld at %lld", c->want, (long long)error, (long long)fault.instruction);
  EXPECT(!c->error || c->error < 0 || fault.detail == 17, "%s: detail", c->want);
}

static void check(const Case *c) {
  check_way(c, 0);
  check_way(c, 1);
}

#define PIECE(which, where) .kind = GLOW_STEP_PIECE, .piece = which, .address = where

int main(void) {
  late = 1000;
  /* Every space; the arena and scratch memory with offsets. */
  check(&(Case){.want = "two 101,106; (1) two 0,7; (1) one 44; (0) host 9; (5) ",
                .steps = {{PIECE(TWO, 0), .number = 1},
                          {PIECE(TWO, 2), .number = 1},
                          {PIECE(ONE, 4), .number = 1},
                          {.kind = GLOW_STEP_HOST, .piece = 5, .instruction = 9, .address = 5}},
                .nsteps = 4,
                .addresses = {at(GLOW_SPACE_ARENA, 8), at(GLOW_SPACE_SCRATCH, 0),
                              at(GLOW_SPACE_ZEROS, 0), in(1), at(GLOW_SPACE_PARAMS, 0)},
                .naddresses = 5,
                .storage = {5, 7},
                .hooked = 1,
                .instruction = -1});
  /* Shards are for threads, if there are any. */
  for (int parallel = 0; parallel < 2; parallel++)
    check(&(Case){.want = parallel ? "part 5; part 5; one 5; " : "part 5; one 5; ",
                  .steps = {{PIECE(ONE, 0), .number = 8, .shards = 4},
                            {PIECE(ONE, 1), .number = 1, .shards = 1}},
                  .nsteps = 2,
                  .addresses = {in(0), in(0)},
                  .naddresses = 2,
                  .storage = {5},
                  .parallel = parallel,
                  .instruction = -1});
  /* Bands: pieces take turns, but not with threads, or if they are to run apart. */
  for (int way = 0; way < 4; way++)
    check(&(Case){
        .want =
            (const char *const[]){"part 5; two 5,6; part 5; two 5,6; one 6; ",
                                  "part 5; (0) two 5,6; (1) part 5; (0) two 5,6; (1) one 6; (0) ",
                                  "part 5; part 5; two 5,6; two 5,6; one 6; ",
                                  "part 5; two 5,6; one 6; "}[way],
        .steps = {{.kind = GLOW_STEP_BANDS, .number = 2, .shards = 2},
                  {PIECE(ONE, 0), .number = 8, .shards = 4},
                  {PIECE(TWO, 1), .number = 4, .shards = 2},
                  {PIECE(ONE, 3), .number = 1}},
        .nsteps = 4,
        .addresses = {in(0), in(0), in(1), in(1)},
        .naddresses = 4,
        .storage = {5, 6},
        .hooked = way == 1,
        .parallel = way == 2,
        .apart = way == 3,
        .instruction = -1});
  /* A fault ends the run within a band. */
  check(&(Case){.want = "fails 5; ",
                .steps = {{.kind = GLOW_STEP_BANDS, .number = 2, .shards = 2, .instruction = 3},
                          {PIECE(FAILS, 0), .number = 2},
                          {PIECE(ONE, 2), .number = 2}},
                .nsteps = 3,
                .addresses = {in(0), at(GLOW_SPACE_FAULT, 0), in(0)},
                .naddresses = 3,
                .storage = {5},
                .error = GLOW_FAULT_INDEX,
                .instruction = 3});
  /* If: both ways. */
  for (int way = 0; way < 2; way++)
    check(&(Case){.want = way ? "one 1; (0) two 1,2; (1) " : "two 2,0; (1) two 0,2; (1) ",
                  .steps = {{.kind = GLOW_STEP_IF, .address = 0, .number = 3},
                            {PIECE(ONE, 1), .number = 1},
                            {.kind = GLOW_STEP_JUMP, .address = 2, .number = 4},
                            {PIECE(TWO, 2), .number = 1},
                            {PIECE(TWO, 4), .number = 1}},
                  .nsteps = 5,
                  .addresses = {in(0), in(0), in(1), in(0), in(0), in(1)},
                  .naddresses = 6,
                  .storage = {way, 2},
                  .hooked = 1,
                  .instruction = -1});
  /* A loop of three rounds, each with a loop of two; the hook sees pieces and rounds. */
  check(&(Case){
      .want = "two 0,0; (1) (-1) two 0,1; (1) (-1) (-1) two 1,0; (1) (-1) two 1,1; (1) (-1) (-1) ",
      .steps = {{.kind = GLOW_STEP_LOOP, .piece = 0, .address = 0},
                {.kind = GLOW_STEP_TEST, .piece = 0, .address = 1, .number = 7},
                {.kind = GLOW_STEP_LOOP, .piece = 1, .address = 3},
                {.kind = GLOW_STEP_TEST, .piece = 1, .address = 4, .number = 6},
                {PIECE(TWO, 6), .number = 1},
                {.kind = GLOW_STEP_AGAIN, .piece = 1, .address = 8, .number = 3},
                {.kind = GLOW_STEP_AGAIN, .piece = 0, .address = 8, .number = 1}},
      .nsteps = 7,
      .addresses = {in(0), NONE, in(1), in(0), NONE, in(2), in(1), in(2)},
      .naddresses = 8,
      .storage = {2, 50, 60},
      .hooked = 1,
      .instruction = -1});
  /* No trip count: a condition, which the body computes, ends the loop; and one that ends before
   * its first round. */
  check(&(Case){.want = "one 0; one 1; one 2; ",
                .steps = {{.kind = GLOW_STEP_LOOP, .address = 0},
                          {.kind = GLOW_STEP_TEST, .address = 1, .number = 5},
                          {PIECE(ONE, 3), .number = 1},
                          {PIECE(BELOW, 4), .number = 1},
                          {.kind = GLOW_STEP_AGAIN, .address = 6, .number = 1}},
                .nsteps = 5,
                .addresses = {NONE, in(0), in(1), in(1), in(0), in(1)},
                .naddresses = 6,
                .storage = {1},
                .instruction = -1});
  check(&(Case){.want = "",
                .steps = {{.kind = GLOW_STEP_LOOP, .address = 0},
                          {.kind = GLOW_STEP_TEST, .address = 1, .number = 4},
                          {PIECE(ONE, 3), .number = 1},
                          {.kind = GLOW_STEP_AGAIN, .address = 4, .number = 1}},
                .nsteps = 4,
                .addresses = {in(0), NONE, in(1), in(1)},
                .naddresses = 4,
                .storage = {0},
                .instruction = -1});
  /* An error ends the run, of a piece as of the hook. */
  check(&(Case){
      .want = "fails 5; ",
      .steps = {{PIECE(FAILS, 0), .number = 1, .instruction = 3}, {PIECE(ONE, 2), .number = 1}},
      .nsteps = 2,
      .addresses = {in(0), at(GLOW_SPACE_FAULT, 0), in(0)},
      .naddresses = 3,
      .storage = {5},
      .hooked = 1,
      .error = GLOW_FAULT_INDEX,
      .instruction = 3});
  late = TWO;
  check(&(Case){.want = "one 5; (0) two 5,6; (1) ",
                .steps = {{PIECE(ONE, 0), .number = 1},
                          {PIECE(TWO, 1), .number = 1, .instruction = 8},
                          {PIECE(ONE, 3), .number = 1}},
                .nsteps = 3,
                .addresses = {in(0), in(0), in(1), in(0)},
                .naddresses = 4,
                .storage = {5, 6},
                .hooked = 1,
                .error = -2,
                .instruction = 8});
  return unit_finish();
}
