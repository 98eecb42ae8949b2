/* Machine code hands out each instruction in as many pieces as its text says, of whatever family it
 * is, and in the interpreter's bits. */
#include <string.h>

#include "backend/backends.h"
#include "glow/rt.h"
#include "test/unit/unit.h"

/* One instruction of one piece of work each; all can be cut at least nine times. */
static const char declarations[] =
    "declare {\n"
    "  constant @x : float<64 x 1024> = random {kind = xavier, fan = 4.0, seed = 1}\n"
    "  constant @left : float<16 x 64 x 32> = random {kind = xavier, fan = 4.0, seed = 6}\n"
    "  constant @w : float<16 x 32 x 64> = random {kind = xavier, fan = 4.0, seed = 2}\n"
    "  constant @image : float<2 x 12 x 16 x 16> = random {kind = xavier, fan = 4.0, seed = 3}\n"
    "  constant @filter : float<24 x 12 x 3 x 3> = random {kind = xavier, fan = 4.0, seed = 4}\n"
    "  constant @q : float<2 x 6 x 32 x 16> = random {kind = xavier, fan = 4.0, seed = 5}\n"
    "  constant @axis : i64<1> = [1]\n"
    "  constant @last : i64<> = 1\n"
    "  constant @rows : i64<40> = splat(-3)\n"
    "  constant @size : i64<4> = [2, 12, 40, 40]\n"
    "  placeholder @stack : float<64 x 1024>\n"
    "  placeholder @product : float<16 x 64 x 64>\n"
    "  placeholder @conv : float<2 x 24 x 14 x 14>\n"
    "  placeholder @pool : float<2 x 12 x 8 x 8>\n"
    "  placeholder @sums : float<64>\n"
    "  placeholder @places : i64<64>\n"
    "  placeholder @scan : float<64 x 1024>\n"
    "  placeholder @turned : float<1024 x 64>\n"
    "  placeholder @picked : float<40 x 1024>\n"
    "  placeholder @large : float<2 x 12 x 40 x 40>\n"
    "  placeholder @attention : float<2 x 6 x 32 x 16>\n"
    "}\n";
static const struct {
  const char *instr, *members;
} work[] = {
    {"relu @out @stack, @in @x", ""},
    {"mat_mul @out @product, @in @left, @in @w", ""},
    {"convolution @out @conv, @in @image, @in @filter", ""},
    {"max_pool @out @pool, @in @image", "kernels = [2, 2], strides = [2, 2], "},
    {"reduce_sum @out @sums, @in @x, @in @axis", "keep = false, "},
    {"arg_max @out @places, @in @x", "axis = 1, keep = false, "},
    {"cum_sum @out @scan, @in @x, @in @last", ""},
    {"transpose @out @turned, @in @x", "perm = [1, 0], "},
    {"gather @out @picked, @in @x, @in @rows", ""},
    {"resize @out @large, @in @image, @in none, @in none, @in @size", "mode = linear, "},
    {"tiled_attention @out @attention, @in @q, @in @q, @in @q", "kv_tile = 16, scale = 0.25, "},
};
enum { CASES = sizeof work / sizeof *work };

/* The text must live as long as the context. */
static GlowFunction *parse(GlowContext *ctx, GlowText *text, int shards) {
  glow_text_puts(text, declarations);
  glow_text_puts(text, "program @main {\n");
  for (int i = 0; i < CASES; i++)
    glow_text_printf(text, "  %s {%sshards = %d}\n", work[i].instr, work[i].members, shards);
  glow_text_puts(text, "}\n");
  size_t size = text->size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(text), size);
  CHECK(m && glow_module_verify(m));
  return m ? glow_module_entry(m, NULL) : NULL;
}

typedef struct Count {
  int64_t jobs, pieces, most;
} Count;

/* Threads that share work, on one thread, the last piece first. */
static void count_run(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs,
                      int64_t units, int64_t shards) {
  Count *c = parallel->pool;
  c->jobs++;
  c->pieces += shards;
  c->most = shards > c->most ? shards : c->most;
  EXPECT(shards <= units, "%d units in %d pieces", (int)units, (int)shards);
  for (int64_t i = shards; i-- > 0;)
    piece(ptrs, units * i / shards, units * (i + 1) / shards, i % parallel->workers);
}

static void same_outputs(const GlowBindings *want, const GlowBindings *got, int shards) {
  CHECK(want->count == got->count);
  for (uint32_t i = 0; i < want->count && i < got->count; i++) {
    const GlowTensor *a = want->data[i].tensor, *b = got->data[i].tensor;
    EXPECT(want->data[i].name == got->data[i].name && a->bytes == b->bytes &&
               memcmp(a->data, b->data, a->bytes) == 0,
           "%s in %d pieces", want->data[i].name, shards);
  }
}

static void check_pieces(GlowFunction *f, int shards) {
  GlowBindings in = {0}, want = {0};
  Count count = {0};
  GlowParallel parallel = {count_run, &count, 3};
  CHECK(glow_interp_run(f, &in, &want, &(GlowRunOptions){0}) == GLOW_OK);
  GlowRunnable *r =
      glow_backend_prepare(glow_backend_find(f->module->ctx, &glow_backends, "cpu"), f, &in,
                           &(GlowRunOptions){.parallel = &parallel, .tier = GLOW_TIER_LIBRARY});
  CHECK(r && glow_runnable_run(r) == GLOW_OK);
  int64_t jobs = shards > 1 ? CASES : 0; /* what is one piece is nobody's job */
  EXPECT(count.jobs == jobs && count.pieces == jobs * shards && count.most == (jobs ? shards : 0),
         "shards = %d: %d jobs in %d pieces, %d at most", shards, (int)count.jobs,
         (int)count.pieces, (int)count.most);
  if (r) {
    same_outputs(&want, &r->outputs, shards);
    glow_runnable_destroy(r);
  }
  for (uint32_t i = 0; i < want.count; i++)
    glow_tensor_free(want.data[i].tensor);
}

static void check(int shards) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  GlowFunction *f = parse(ctx, &text, shards);
  if (f)
    check_pieces(f, shards);
  glow_context_destroy(ctx);
  glow_text_release(&text);
}

int main(void) {
  static const int shards[] = {1, 2, 3, 7};
  for (size_t i = 0; i < sizeof shards / sizeof *shards; i++)
    check(shards[i]);
  return unit_finish();
}
