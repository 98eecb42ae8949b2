/* Products of matrices, and attention. */
#include <stdio.h>

#include "ops/op.h"
#include "test/library/cases.h"

/* A matrix with batch axes before it, or `turned`: a view of its transpose. The operand's text. */
static void put_matrix(Program *p, const Shape *s, bool turned, char operand[16]) {
  Shape stored = *s;
  int rows = s->rank - 2, strides[MOST_DIMS], stride = 1;
  if (turned) {
    stored.dims[rows] = s->dims[rows + 1];
    stored.dims[rows + 1] = s->dims[rows];
  }
  int v = declare(p, &stored);
  snprintf(operand, 16, "%cv%d", turned ? '%' : '@', v);
  if (!turned)
    return;
  for (int i = s->rank; i-- > 0; stride *= stored.dims[i])
    strides[i] = stride;
  strides[rows] = 1;
  strides[rows + 1] = s->dims[rows];
  put(p, "  %%v%d = tensorview @v%d {strides = ", v, v);
  put_list(p, s->rank, strides);
  put(p, "} : ");
  put_type(&p->body, s);
  put(p, "\n");
}

/* A product with up to two batch axes, which B may lack or repeat along. */
typedef struct Product {
  Shape a, b, c;
} Product;

static Product draw_product(Program *p, GlowKind kind, int most) {
  int batch = draw(p, 2) ? 0 : draw_in(p, 1, 2), m = draw_in(p, 1, most),
      n = draw_in(p, 1, 2 * most);
  int k = draw_in(p, 1, most), lacks = draw(p, 3) ? 0 : batch;
  Product t = {.a = {.kind = kind, .rank = batch + 2},
               .b = {.kind = kind, .rank = batch + 2 - lacks}};
  if (draw(p, 8) == 0)
    n = 1;
  for (int i = 0; i < batch; i++) {
    t.a.dims[i] = draw_in(p, 1, 3);
    if (i >= lacks)
      t.b.dims[i - lacks] = draw(p, 4) ? t.a.dims[i] : 1;
  }
  t.c = t.a;
  t.a.dims[batch] = t.c.dims[batch] = m;
  t.a.dims[batch + 1] = t.b.dims[t.b.rank - 2] = k;
  t.b.dims[t.b.rank - 1] = t.c.dims[batch + 1] = n;
  return t;
}

void case_matmul(Program *p) {
  char layout[32], a[16], b[16];
  Product t = draw_product(p, GLOW_KIND_FLOAT, 24);
  int rows = t.a.rank - 2;
  if (draw(p, 16) == 0) /* several chunks of k, and sometimes blocks of rows */
    t.a.dims[rows + 1] = t.b.dims[t.b.rank - 2] = draw_in(p, 257, 600);
  if (t.a.dims[rows + 1] > 256 && t.a.rank == 2 && draw(p, 4) == 0)
    t.a.dims[0] = t.c.dims[0] = draw_in(p, 100, 300);
  if (draw(p, 8) == 0) { /* one row by a few registers or several panels */
    t.a.dims[rows] = t.c.dims[rows] = 1;
    t.b.dims[t.b.rank - 1] = t.c.dims[rows + 1] =
        draw(p, 2) ? draw_in(p, 1, 130) : draw_in(p, 60, 300);
  }
  bool packed = t.b.rank == 2 && t.b.dims[0] > 1 && draw(p, 2);
  if (packed) {
    snprintf(layout, sizeof layout, "KN%dk%un", (int)glow_isa_chunk(p->isa, t.b.dims[0]),
             p->isa->vl * p->isa->tile_vectors);
    t.b.layout = layout;
  }
  Epilogue e = draw_epilogue(p);
  put_matrix(p, &t.a, draw(p, 3) == 0, a);
  put_matrix(p, &t.b, !packed && draw(p, 3) == 0, b);
  put(p, "  mat_mul @out @v%d, @in %s, @in %s", declare(p, &t.c), a, b);
  put_epilogue_operands(p, &e, &t.c, rows + 1);
  put(p, " {");
  put_shards(p);
  put_epilogue(p, &e);
}

void case_product(Program *p) {
  char a[16], b[16];
  const GlowKindSet kinds = glow_op_desc[GLOW_OP_MAT_MUL].vars[0].kinds;
  Product t = draw_product(p, draw_kind(p, kinds & ~GLOW_KIND_BIT(GLOW_KIND_FLOAT)), 12);
  if (draw(p, 8) == 0) /* sums that stand in C meanwhile */
    t.a.dims[t.a.rank - 1] = t.b.dims[t.b.rank - 2] = draw_in(p, 30, 100);
  put_matrix(p, &t.a, draw(p, 3) == 0, a);
  put_matrix(p, &t.b, draw(p, 3) == 0, b);
  put(p, "  mat_mul @out @v%d, @in %s, @in %s {", declare(p, &t.c), a, b);
  put_shards(p);
}

/* A zero point: none, one number, or a list of `lines`. */
static void put_zeros(Program *p, GlowKind kind, int lines) {
  const Shape one = shape(kind, NULL, 0), list = shape(kind, NULL, 1, lines);
  const int which = draw(p, 4);
  if (which == 0)
    put(p, ", @in none");
  else
    put(p, ", @in @v%d", declare(p, which == 1 ? &list : &one));
}

static const GlowKindSet BYTES = GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8);

void case_dot(Program *p) {
  char layout[32], a[16], b[16];
  Product t = draw_product(p, draw_kind(p, BYTES), 40);
  const int rows = t.a.rank - 2;
  t.b.kind = draw_kind(p, BYTES);
  t.c.kind = GLOW_KIND_I32;
  if (draw(p, 4) == 0) /* whole squares of 64 steps, and what is left of them */
    t.a.dims[rows + 1] = t.b.dims[t.b.rank - 2] = 64 * draw_in(p, 1, 3) - draw(p, 3);
  if (t.a.rank == 2 && draw(p, 8) == 0) /* several blocks of rows and groups of columns */
    t.a.dims[0] = t.c.dims[0] = draw_in(p, 100, 1500);
  const bool packed = t.b.rank == 2 && draw(p, 2);
  if (packed) {
    snprintf(layout, sizeof layout, "KN%dk16n4k", (t.b.dims[0] + 63) / 64 * 16);
    t.b.layout = layout;
  }
  put_matrix(p, &t.a, draw(p, 3) == 0, a);
  put_matrix(p, &t.b, !packed && draw(p, 3) == 0, b);
  put(p, "  mat_mul_integer @out @v%d, @in %s, @in %s", declare(p, &t.c), a, b);
  put_zeros(p, t.a.kind, t.a.dims[rows]);
  put_zeros(p, t.b.kind, t.b.dims[t.b.rank - 1]);
  put(p, " {");
  put_shards(p);
}

void case_few_bits(Program *p) {
  const int bits = 2 << draw(p, 3), block = 16 * draw_in(p, 1, 3), k = draw_in(p, 1, 200);
  const int words = (k * bits + 31) / 32, blocks = (k + block - 1) / block;
  int n = draw_in(p, 1, 100);
  bool packed = words > 1 && blocks > 1 && n > 1 && draw(p, 2);
  char w_layout[32], layout[32];
  snprintf(w_layout, sizeof w_layout, "KN%dk32n", words);
  snprintf(layout, sizeof layout, "KN%dk32n", blocks);
  if (!packed)
    n = 32 * draw_in(p, 1, 4);
  Shape a = draw_shape(p, GLOW_KIND_FLOAT, 1, 3, 3), c = a;
  a.dims[a.rank - 1] = k;
  c.dims[c.rank - 1] = n;
  const Shape w = shape(GLOW_KIND_U32, packed ? w_layout : NULL, 2, words, n);
  const Shape scale = shape(GLOW_KIND_FLOAT, packed ? layout : NULL, 2, blocks, n);
  const Shape zero = shape(GLOW_KIND_U8, packed ? layout : NULL, 2, blocks, n);
  put(p, "  mat_mul_nbits @out @v%d, @in @v%d", declare(p, &c), declare(p, &a));
  put(p, ", @in @v%d", declare(p, &w));
  put(p, ", @in @v%d", declare(p, &scale));
  if (draw(p, 2))
    put(p, ", @in @v%d", declare(p, &zero));
  else
    put(p, ", @in none");
  put(p, " {bits = %d, block = %d, ", bits, block);
  put_shards(p);
}

void case_matmul_stored(Program *p) {
  const int k = draw_in(p, 2, 300), n = draw_in(p, 2, 150), rows = draw_in(p, 1, 7);
  const int width = (int)(p->isa->vl * p->isa->tile_vectors);
  const bool batch = draw(p, 3) == 0;
  char layout[32];
  snprintf(layout, sizeof layout, "KN%dk%dn", draw(p, 2) ? k : draw_in(p, 2, k), width);
  const Shape a = batch ? shape(GLOW_KIND_FLOAT, NULL, 3, rows, 1, k)
                        : shape(GLOW_KIND_FLOAT, NULL, 2, rows, k);
  const Shape c = batch ? shape(GLOW_KIND_FLOAT, NULL, 3, rows, 1, n)
                        : shape(GLOW_KIND_FLOAT, NULL, 2, rows, n);
  const Shape b = shape(draw(p, 2) ? GLOW_KIND_FLOAT16 : GLOW_KIND_BFLOAT16, layout, 2, k, n);
  const Epilogue e = draw(p, 2) ? draw_epilogue(p) : (Epilogue){0};
  put(p, "  mat_mul @out @v%d, @in @v%d", declare(p, &c), declare(p, &a));
  put(p, ", @in @v%d", declare(p, &b));
  put_epilogue_operands(p, &e, &c, c.rank - 1);
  put(p, " {");
  put_shards(p);
  put_epilogue(p, &e);
}

void case_attention(Program *p) {
  int batch = draw_in(p, 1, 2), shared = draw_in(p, 1, 2), heads = shared * draw_in(p, 1, 3);
  int queries = draw_in(p, 1, 20), keys = draw_in(p, 1, 50), size = draw_in(p, 1, 24);
  int v_size = draw_in(p, 1, 40);
  const Shape q = shape(GLOW_KIND_FLOAT, NULL, 4, batch, heads, queries, size);
  const Shape k = shape(GLOW_KIND_FLOAT, NULL, 4, batch, heads / shared, keys, size);
  const Shape v = shape(GLOW_KIND_FLOAT, NULL, 4, batch, heads / shared, keys, v_size);
  const Shape y = shape(GLOW_KIND_FLOAT, NULL, 4, batch, heads, queries, v_size);
  char turned[16];
  put_matrix(p, &q, draw(p, 3) == 0, turned);
  put(p, "  tiled_attention @out @v%d, @in %s", declare(p, &y), turned);
  put(p, ", @in @v%d, @in @v%d, @in ", declare(p, &k), declare(p, &v));
  if (draw(p, 2)) {
    const Shape mask = shape(GLOW_KIND_FLOAT, NULL, 4, draw(p, 2) ? batch : 1,
                             draw(p, 2) ? heads : 1, queries, keys);
    put(p, "@v%d", declare(p, &mask));
  } else {
    put(p, "none");
  }
  put(p, " {scale = 0.25, kv_tile = %d, ", 16 * draw_in(p, 1, 4));
  put_shards(p);
}
