/* Packing constants: the bytes of element by element moves, by any number of threads, where memory
 * or time runs out, too. Also built for the thread sanitizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/interp/values.h"
#include "support/deadline.h"
#include "test/unit/failing_malloc.h"
#include "test/unit/unit.h"

enum { THREADS = 4 };

static char message[1024];
static unsigned errors;

static void note(void *user, const GlowDiagnostic *d) {
  (void)user;
  errors++;
  snprintf(message, sizeof message, "%s", d->message);
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * UINT64_C(0x9E3779B97F4A7C15);
}

typedef struct Run {
  GlowContext *ctx;
  GlowModule *module;
  GlowValues *values;
} Run;

/* Constants that are packed in one step, and the same values plain. The large ones are cut. */
static const char packed_text[] =
    "declare { constant @w : float<1030 x 2304> = elided  constant @v : float<1030 x 40> = elided\n"
    "  constant @f : float<70 x 20 x 3 x 3> = elided\n"
    "  constant @g : float<512 x 128 x 3 x 3> = elided\n"
    "  constant @r : float<1030 x 2304 | KN512k32n> = eval { %0 = Relayout(@w) : float<1030 x 2304 "
    "| KN512k32n>  yield %0 }\n"
    "  constant @t : float<2304 x 1030 | KN512k32n> = eval { %0 = Transpose(@w) {perm = [1, 0]}\n"
    "    %1 = Relayout(%0) : float<2304 x 1030 | KN512k32n>  yield %1 }\n"
    "  constant @c : float<1030 x 2344 | KN384k32n> = eval { %0 = Concat(@v, @w) {axis = 1}\n"
    "    %1 = Relayout(%0) : float<1030 x 2344 | KN384k32n>  yield %1 }\n"
    "  constant @u : float<6 x 6 x 70 x 20 | HWOI16i32o> = eval { %0 = WinogradFilter(@f)\n"
    "    %1 = Relayout(%0) : float<6 x 6 x 70 x 20 | HWOI16i32o>  yield %1 }\n"
    "  constant @s : float<4 x 4 x 512 x 128 | HWOI16i32o> = eval { %0 = WinogradFilter(@g) "
    "{results = 2}\n"
    "    %1 = Relayout(%0) : float<4 x 4 x 512 x 128 | HWOI16i32o>  yield %1 }\n"
    "  constant @rows : float<1030 x 1> = elided  constant @columns : float<2304> = elided\n"
    "  constant @each : float<512 x 1 x 1 x 1> = elided\n"
    "  constant @wr : float<1030 x 2304 | KN512k32n> = eval { %0 = Neg(@rows)  %1 = Mul(%0, @w)\n"
    "    %2 = Relayout(%1) : float<1030 x 2304 | KN512k32n>  yield %2 }\n"
    "  constant @wc : float<1030 x 2304 | KN512k32n> = eval { %0 = Mul(@w, @columns)\n"
    "    %1 = Relayout(%0) : float<1030 x 2304 | KN512k32n>  yield %1 }\n"
    "  constant @gs : float<4 x 4 x 512 x 128 | HWOI16i32o> = eval { %0 = Abs(@each)\n"
    "    %1 = Mul(@g, %0)  %2 = WinogradFilter(%1) {results = 2}\n"
    "    %3 = Relayout(%2) : float<4 x 4 x 512 x 128 | HWOI16i32o>  yield %3 }\n"
    "  constant @d : float<2 x 1030 x 2304> = elided  constant @first : i32<> = 0\n"
    "  constant @last : i64<> = -1  constant @none : i64<> = 2\n"
    "  constant @dr : float<1030 x 2304 | KN512k32n> = eval { %0 = Gather(@d, @first)\n"
    "    %1 = Relayout(%0) : float<1030 x 2304 | KN512k32n>  yield %1 }\n"
    "  constant @dt : float<2304 x 1030 | KN512k32n> = eval { %0 = Gather(@d, @last)\n"
    "    %1 = Transpose(%0) {perm = [1, 0]}\n"
    "    %2 = Relayout(%1) : float<2304 x 1030 | KN512k32n>  yield %2 }\n"
    "  constant @dc : float<1030 x 2344 | KN384k32n> = eval { %0 = Gather(@d, @last)\n"
    "    %1 = Concat(@v, %0) {axis = 1}\n"
    "    %2 = Relayout(%1) : float<1030 x 2344 | KN384k32n>  yield %2 }\n"
    "  constant @no : float<1030 x 2304 | KN512k32n> = eval { %0 = Gather(@d, @none)\n"
    "    %1 = Relayout(%0) : float<1030 x 2304 | KN512k32n>  yield %1 }\n"
    "  constant @dr.plain : float<1030 x 2304> = eval { %0 = Gather(@d, @first)  yield %0 }\n"
    "  constant @dt.plain : float<2304 x 1030> = eval { %0 = Gather(@d, @last)\n"
    "    %1 = Transpose(%0) {perm = [1, 0]}  yield %1 }\n"
    "  constant @dc.plain : float<1030 x 2344> = eval { %0 = Gather(@d, @last)\n"
    "    %1 = Concat(@v, %0) {axis = 1}  yield %1 }\n"
    "  constant @wr.plain : float<1030 x 2304> = eval { %0 = Neg(@rows)  %1 = Mul(%0, @w)  yield "
    "%1 }\n"
    "  constant @wc.plain : float<1030 x 2304> = eval { %0 = Mul(@w, @columns)  yield %0 }\n"
    "  constant @gs.plain : float<4 x 4 x 512 x 128> = eval { %0 = Abs(@each)  %1 = Mul(@g, %0)\n"
    "    %2 = WinogradFilter(%1) {results = 2}  yield %2 }\n"
    "  constant @t.plain : float<2304 x 1030> = eval { %0 = Transpose(@w) {perm = [1, 0]}  yield "
    "%0 "
    "}\n"
    "  constant @c.plain : float<1030 x 2344> = eval { %0 = Concat(@v, @w) {axis = 1}  yield %0 }\n"
    "  constant @u.plain : float<6 x 6 x 70 x 20> = eval { %0 = WinogradFilter(@f)  yield %0 }\n"
    "  constant @s.plain : float<4 x 4 x 512 x 128> = eval { %0 = WinogradFilter(@g) {results = 2} "
    " "
    "yield %0 } }\n"
    "func @main() -> (float<>) { %0 = Splat() {value = 0.0} : float<>  return %0 }\n";

static GlowStorage *storage_named(const Run *r, const char *name) {
  return glow_module_storage(r->module, glow_str(r->ctx, name));
}

/* Gives a constant random numbers, `shift` bytes behind an aligned place. */
static void give_data(const Run *r, const char *name, size_t shift) {
  GlowStorage *s = storage_named(r, name);
  size_t bytes = (size_t)glow_type_bytes(s->value.type);
  char *data = (char *)glow_arena_alloc(r->ctx->arena, bytes + 8) + shift;
  for (size_t i = 0; i < bytes / sizeof(float); i++) {
    float x = (float)(int64_t)draw() * 0x1p-63f;
    memcpy(data + i * sizeof x, &x, sizeof x);
  }
  s->init = (GlowInit){.kind = GLOW_INIT_PAYLOAD};
  s->init.tensor = glow_tensor_borrow(r->ctx, s->value.type, data, bytes);
}

static void free_data(const Run *r) {
  static const char *const names[] = {"w", "v", "f", "g", "d", "rows", "columns", "each"};
  for (int i = 0; i < 8; i++)
    glow_tensor_free((GlowTensor *)(uintptr_t)storage_named(r, names[i])->init.tensor);
}

static Run begin_packed(size_t shift) {
  Run r = {.ctx = glow_context_create()};
  glow_context_set_diagnostic_fn(r.ctx, note, NULL);
  errors = 0;
  r.module = glow_module_parse(r.ctx, "test.gg", packed_text, strlen(packed_text));
  if (!r.module || !glow_module_verify(r.module)) {
    printf("the text is wrong: %s\n", message);
    exit(1);
  }
  r.values = glow_values_create(r.module);
  give_data(&r, "w", shift);
  give_data(&r, "v", 0);
  give_data(&r, "f", shift);
  give_data(&r, "g", shift);
  give_data(&r, "d", shift);
  give_data(&r, "rows", shift);
  give_data(&r, "columns", shift);
  give_data(&r, "each", shift);
  return r;
}

static void end(Run *r) {
  free_data(r);
  glow_values_destroy(r->values);
  glow_module_destroy(r->module);
  glow_context_destroy(r->ctx);
}

/* The packed value has the bytes of the plain one, moved element by element; padding is zero. */
static void check_packed(const Run *r, const char *name, const char *plain) {
  GlowStorage *s = storage_named(r, name), *p = storage_named(r, plain);
  const GlowTensor *want =
      p->init.kind == GLOW_INIT_PAYLOAD ? p->init.tensor : glow_values_get(r->values, p);
  GlowTensor *moved = glow_tensor_in_layout(r->ctx, want, s->value.type->layout);
  const GlowTensor *got = glow_values_held(r->values, s);
  EXPECT(got && got->bytes == moved->bytes && !memcmp(got->data, moved->data, moved->bytes),
         "@%s is not @%s, packed", name, plain);
  glow_tensor_free(moved);
}

static void pack(GlowContext *ctx, void *run) {
  static const char *const names[] = {"w",  "r",  "t",  "c",  "u",  "s", "wr",
                                      "wc", "gs", "dr", "dt", "dc", "no"};
  GlowStorage *all[13];
  (void)ctx;
  for (int i = 0; i < 13; i++)
    all[i] = storage_named(run, names[i]);
  glow_values_pack(((Run *)run)->values, all, 13, THREADS);
}

static void test_packed(void) {
  for (size_t shift = 0; shift < 4; shift += 3) {
    Run r = begin_packed(shift);
    CHECK(glow_protect(r.ctx, pack, &r) == GLOW_OK);
    CHECK(!glow_values_held(r.values, storage_named(&r, "w")));
    check_packed(&r, "r", "w");
    check_packed(&r, "t", "t.plain");
    check_packed(&r, "c", "c.plain");
    check_packed(&r, "u", "u.plain");
    check_packed(&r, "s", "s.plain");
    check_packed(&r, "wr", "wr.plain");
    check_packed(&r, "wc", "wc.plain");
    check_packed(&r, "gs", "gs.plain");
    check_packed(&r, "dr", "dr.plain");
    check_packed(&r, "dt", "dt.plain");
    check_packed(&r, "dc", "dc.plain");
    const float *w = storage_named(&r, "w")->init.tensor->data;
    const GlowTensor *t = glow_values_held(r.values, storage_named(&r, "t"));
    float x;
    memcpy(&x, (const char *)w + (1029 * 2304 + 2303) * sizeof x, sizeof x);
    CHECK(glow_tensor_get_double(t, 2303 * 1030 + 1029) == (double)x);
    CHECK(errors == 0);
    end(&r);
  }
}

/* What cannot be packed is left to the walk, which has the message. */
static void test_no_slice(void) {
  Run r = begin_packed(0);
  GlowStorage *no = storage_named(&r, "no");
  CHECK(glow_protect(r.ctx, pack, &r) == GLOW_OK && errors == 0);
  CHECK(!glow_values_held(r.values, no) && !glow_values_get(r.values, no));
  EXPECT(errors == 1 && strstr(message, "out of range"), "%s", message);
  end(&r);
}

static void test_packed_out_of_memory(void) {
  GlowStatus status = GLOW_NO_MEMORY;
  long n = 0;
  Run r = begin_packed(3);
  for (; status == GLOW_NO_MEMORY && n < 20000; n++) {
    allowance = n;
    status = glow_protect(r.ctx, pack, &r);
    allowance = -1;
    CHECK(status == GLOW_NO_MEMORY || status == GLOW_OK);
    CHECK(status == GLOW_OK || !glow_values_held(r.values, storage_named(&r, "r")));
  }
  CHECK(status == GLOW_OK && n > 5);
  check_packed(&r, "s", "s.plain");
  end(&r);
}

static void pack_one(GlowContext *ctx, void *run) {
  GlowStorage *r = storage_named(run, "r");
  (void)ctx;
  glow_values_pack(((Run *)run)->values, &r, 1, THREADS);
}

static void test_late(void) {
  Run r = begin_packed(0);
  glow_deadline_begin(r.ctx, "1ms", -1);
  CHECK(glow_protect(r.ctx, pack_one, &r) == GLOW_BAD_INPUT);
  EXPECT(errors == 1 && strstr(message, "the time limit of 1ms ran out at '@r'"), "%s", message);
  CHECK(!glow_values_held(r.values, storage_named(&r, "r")));
  end(&r);
}

int main(void) {
  test_packed();
  test_no_slice();
  test_packed_out_of_memory();
  test_late();
  return unit_finish();
}
