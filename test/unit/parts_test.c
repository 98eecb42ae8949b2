/* Parts of a program, made by threads: the image is the same whatever their number, remarks come in
 * the order of the program, and what a part reports or throws comes out as if there were no parts. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "codegen/parts.h"
#include "exec/tables.h"
#include "test/unit/unit.h"

/* Pieces of several kinds, the first two of them equal. */
static const char text[] = "declare {\n"
                           "  placeholder @a : float<8 x 24>\n  placeholder @b : float<24 x 40>\n"
                           "  placeholder @c : float<8 x 40>\n  placeholder @d : float<8 x 40>\n"
                           "  placeholder @e : float<8 x 40>\n  placeholder @f : float<40>\n"
                           "  placeholder @g : float<40 x 8>\n  placeholder @h : float<8 x 8>\n"
                           "}\n"
                           "program @main {\n"
                           "  mat_mul @out @c, @in @a, @in @b\n"
                           "  mat_mul @out @d, @in @a, @in @b\n"
                           "  add @out @e, @in @c, @in @d\n"
                           "  exp @out @d, @in @e\n"
                           "  sqrt @out @e, @in @d\n"
                           "  transpose @out @g, @in @e { perm = [1, 0] }\n"
                           "  mat_mul @out @h, @in @e, @in @g\n"
                           "}\n";

typedef struct Heard {
  uint32_t count;
  char text[64][128];
} Heard;
static Heard heard;

static void hear(const GlowWorkSource *source, const char *remark) {
  (void)source;
  CHECK(heard.count < 64);
  snprintf(heard.text[heard.count++], sizeof *heard.text, "%s", remark);
}

static void make_image(GlowContext *ctx, uint32_t threads, GlowText *image, Heard *remarks) {
  GlowModule *m = glow_module_parse(ctx, "parts.gir", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  GlowCpuPlan plan;
  GlowCodegenOptions o = {.isa = &glow_isa[GLOW_ISA_X86_64_V3], .threads = threads, .remark = hear};
  const char *unlinked;
  heard.count = 0;
  CHECK(glow_cpu_plan(ctx->arena, m->first_function, o.isa, &plan));
  const GlowProgramData *data = glow_cpu_program(ctx->arena, &plan, NULL);
  GlowParts parts;
  glow_parts_divide(ctx, ctx->arena, data, &(GlowCodegenOptions){.isa = o.isa}, &parts);
  EXPECT(parts.count > 1, "%u parts", parts.count);
  glow_text_init(image, ctx);
  CHECK(glow_codegen_emit_image(ctx, data, &o, &unlinked, image, NULL) && !unlinked);
  *remarks = heard;
}

static void check_threads(void) {
  static const uint32_t threads[] = {1, 2, 3, 8};
  static Heard first, other;
  GlowContext *ctx = glow_context_create();
  GlowText one, many;
  make_image(ctx, 1, &one, &first);
  CHECK(first.count > 0);
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    make_image(ctx, threads[i], &many, &other);
    EXPECT(one.size == many.size && memcmp(one.data, many.data, one.size) == 0,
           "%u threads make another image", threads[i]);
    EXPECT(memcmp(&first, &other, sizeof first) == 0, "%u threads: other remarks", threads[i]);
    glow_text_release(&many);
  }
  glow_text_release(&one);
  glow_context_destroy(ctx);
}

/* Parts that fail, throw or succeed by their number. */
typedef struct Parts {
  const char *what; /* a letter each: s, f, m (throws NO_MEMORY), i (INTERNAL, after a report) */
  atomic_uint made;
} Parts;

static bool make(GlowContext *ctx, uint32_t i, void *arg) {
  Parts *p = arg;
  atomic_fetch_add(&p->made, 1u << i);
  free(glow_malloc(ctx, 0));
  switch (p->what[i]) {
  case 'f':
    return false;
  case 'm':
    glow_throw(ctx, GLOW_NO_MEMORY);
  case 'i':
    glow_error(ctx, GLOW_NOWHERE, "nobody hears this");
    glow_throw(ctx, GLOW_INTERNAL);
  default:
    return true;
  }
}

static void check_failures(void) {
  static const struct {
    const char *what;
    GlowStatus status;
    uint32_t failed;
  } cases[] = {{"ssssssss", GLOW_OK, 8},         {"sssfssss", GLOW_OK, 3},
               {"sfsfssmi", GLOW_OK, 1},         {"smffffff", GLOW_NO_MEMORY, 1},
               {"ssssssis", GLOW_INTERNAL, 6},   {"iiiiiiii", GLOW_INTERNAL, 0},
               {"sssssssm", GLOW_NO_MEMORY, 7}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    for (uint32_t threads = 1; threads <= 8; threads++) {
      GlowContext *ctx = glow_context_create();
      Parts p = {.what = cases[k].what};
      uint32_t at;
      GlowStatus status = glow_parts_run(ctx, 8, threads, make, &p, &at);
      EXPECT(status == cases[k].status && (at == cases[k].failed || status != GLOW_OK),
             "%s by %u threads: status %d, part %u", p.what, threads, status, at);
      EXPECT(ctx->errors == 0, "%s: %u errors", p.what, ctx->errors);
      unsigned below = (1u << cases[k].failed) - 1;
      EXPECT((p.made & below) == below, "%s: parts %x were made", p.what, p.made);
      glow_context_destroy(ctx);
    }
  }
}

int main(void) {
  check_threads();
  check_failures();
  return unit_finish();
}
