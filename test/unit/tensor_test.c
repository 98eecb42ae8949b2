/* Tests of lib/tensor that need no tool: conversions of narrow floats, types, layouts, tensors,
 * file formats, comparison and random numbers. Each CHECK is one fact. The program links with
 * wrapped malloc functions, so that the last test can let each allocation fail in turn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "num/half.h"
#include "num/philox.h"
#include "tensor/blob.h"
#include "tensor/formats.h"
#include "test/unit/failing_malloc.h"
#include "test/unit/unit.h"

/* The last diagnostic's text. */
static char last_message[1024];

static void keep_diagnostic(void *user, const GlowDiagnostic *d) {
  (void)user;
  snprintf(last_message, sizeof last_message, "%s", d->message);
}

static bool said(const char *part) {
  bool found = strstr(last_message, part) != NULL;
  if (!found)
    printf("  said: %s\n", last_message);
  last_message[0] = 0;
  return found;
}

static GlowScalar number(double v) { return (GlowScalar){.f = v}; }
static GlowScalar integer(int64_t v) {
  return (GlowScalar){.is_int = true, .i = v, .f = (double)v};
}

static const GlowType *type_of(GlowContext *ctx, GlowKind kind, uint32_t rank, int64_t a, int64_t b,
                               int64_t c, int64_t d) {
  const int64_t dims[] = {a, b, c, d};
  return glow_type_exact(ctx, kind, rank, dims);
}

static bool prints(const GlowTensor *t, GlowContext *ctx, const char *want) {
  GlowText text;
  glow_text_init(&text, ctx);
  glow_tensor_print(&text, t);
  bool same = !strcmp(glow_text_cstr(&text), want);
  if (!same)
    printf("  printed: %s\n", text.data);
  glow_text_release(&text);
  return same;
}

/* ---- Narrow floats --------------------------------------------------------------------------- */

/* The slow reference: the value of a pattern by its definition. */
static double slow_value(uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  uint32_t e = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  uint32_t m = bits & ((1u << mantissa_bits) - 1);
  double v =
      e ? ldexp(1 + ldexp(m, -mantissa_bits), (int)e - bias) : ldexp(m, 1 - bias - mantissa_bits);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -v : v;
}

/* The pattern among 0..top nearest to |v|, ties to the even one; top + 1 if past its midpoint. */
static uint32_t slow_round(double v, uint32_t top, int exponent_bits, int mantissa_bits, int bias) {
  uint32_t low = 0, high = top + 1;
  v = fabs(v);
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (slow_value(middle, exponent_bits, mantissa_bits, bias) <= v)
      low = middle;
    else
      high = middle;
  }
  double a = slow_value(low, exponent_bits, mantissa_bits, bias);
  /* What would follow the largest number if there were room. */
  double b = low == top ? a + (a - slow_value(low - 1, exponent_bits, mantissa_bits, bias))
                        : slow_value(low + 1, exponent_bits, mantissa_bits, bias);
  if (v - a < b - v || (v - a == b - v && low % 2 == 0))
    return low;
  return low + 1;
}

static uint64_t random_bits(uint64_t i) {
  const uint32_t counter[4] = {(uint32_t)i, 0, 0, 0}, key[2] = {7, 9};
  uint32_t out[4];
  glow_philox4x32(counter, key, out);
  return (uint64_t)out[0] << 32 | out[1];
}

static void test_half(void) {
  unsigned bad = 0;
  for (uint32_t h = 0; h < 65536; h++) {
    float f = glow_half_to_float((uint16_t)h);
    bool nan = (h & 0x7fff) > 0x7c00;
    if (nan ? !isnan(f) : (h & 0x7fff) == 0x7c00 ? !isinf(f) : f != slow_value(h, 5, 10, 15))
      bad++;
    if (glow_half_from_float(f) != (nan ? h | 0x200 : h))
      bad++;
    float b = glow_bfloat_to_float((uint16_t)h);
    bool bnan = (h & 0x7fff) > 0x7f80;
    if (glow_bfloat_from_float(b) != (bnan ? h | 0x40 : h) || isnan(b) != bnan)
      bad++;
  }
  CHECK(bad == 0);

  /* Rounding: every midpoint between neighbours, its neighbours in float, and random numbers. */
  for (uint32_t h = 0; h < 0x7bff; h++) {
    float middle = (float)((slow_value(h, 5, 10, 15) + slow_value(h + 1, 5, 10, 15)) / 2);
    bad += glow_half_from_float(middle) != (h % 2 ? h + 1 : h);
    bad += glow_half_from_float(nextafterf(middle, 0)) != h;
    bad += glow_half_from_float(nextafterf(-middle, -INFINITY)) != (0x8000 | (h + 1));
    double precise = (slow_value(h, 5, 10, 15) + slow_value(h + 1, 5, 10, 15)) / 2;
    bad += glow_half_from_double(nextafter(precise, 0)) != h;
    bad += glow_half_from_double(nextafter(precise, 1e9)) != h + 1;
  }
  for (uint64_t i = 0; i < 20000; i++) {
    /* exponents from -30 to 33 */
    float v = glow_float_from_bits((uint32_t)(random_bits(i) & 0x1fffffff) + (97u << 23));
    if (v < 65520)
      bad += glow_half_from_float(v) != slow_round(v, 0x7bff, 5, 10, 15);
    else
      bad += glow_half_from_float(v) != 0x7c00;
    float w = glow_float_from_bits((uint32_t)(random_bits(i) >> 32) & 0x7f7fffff);
    if (w < 3.39e38f)
      bad += glow_bfloat_from_float(w) != slow_round(w, 0x7f7f, 8, 7, 127);
  }
  CHECK(bad == 0);
  CHECK(glow_half_from_float(65519.996f) == 0x7bff && glow_half_from_float(65520.0f) == 0x7c00);
  CHECK(glow_half_from_float(-INFINITY) == 0xfc00 && glow_half_from_float(-0.0f) == 0x8000);
  CHECK(glow_half_from_float(0x1p-25f) == 0 && glow_half_from_float(0x1.000002p-25f) == 1);
  CHECK(glow_half_from_float(0x1p-149f) == 0);
  CHECK(glow_bfloat_from_float(3.4028235e38f) == 0x7f80);
  CHECK(glow_half_from_double(1e300) == 0x7c00 && glow_half_from_double(1e-300) == 0);
  CHECK(glow_bfloat_from_double(-1e300) == 0xff80 && isnan(glow_float_odd(NAN)));
  /* Rounding to float first would make this a tie. */
  CHECK(glow_half_from_double(1 + 0x1p-11 + 0x1p-40) == 0x3c01);
}

static void check_small(const GlowSmallFloat *f, uint32_t patterns) {
  unsigned bad = 0;
  for (uint32_t b = 0; b < patterns; b++) {
    float v = glow_small_to_float(f, (uint8_t)b);
    if (isnan(v)) {
      bad += !isnan(glow_small_to_float(f, glow_small_from_float(f, v, true)));
      continue;
    }
    if (!isinf(v))
      bad += v != (float)slow_value(b, f->exponent, f->mantissa, f->bias);
    bad += glow_small_from_float(f, v, false) != b;
  }
  double top = slow_value(f->largest, f->exponent, f->mantissa, f->bias);
  for (uint64_t i = 0; i < 20000; i++) {
    float v = glow_float_from_bits((uint32_t)(random_bits(i) & 0x1fffffff) + (97u << 23));
    uint32_t want =
        v >= top ? f->largest : slow_round(v, f->largest, f->exponent, f->mantissa, f->bias);
    bad += glow_small_from_float(f, v, true) != want;
  }
  CHECK(bad == 0);
}

static void test_small_floats(void) {
  check_small(&glow_float8e4m3fn, 256);
  check_small(&glow_float8e4m3fnuz, 256);
  check_small(&glow_float8e5m2, 256);
  check_small(&glow_float8e5m2fnuz, 256);
  check_small(&glow_float4e2m1, 16);
  CHECK(glow_small_to_float(&glow_float8e4m3fn, 0x7e) == 448);
  CHECK(glow_small_to_float(&glow_float8e4m3fnuz, 0x7f) == 240);
  CHECK(glow_small_to_float(&glow_float8e5m2, 0x7b) == 57344);
  CHECK(isinf(glow_small_to_float(&glow_float8e5m2, 0xfc)));
  CHECK(isnan(glow_small_to_float(&glow_float8e4m3fnuz, 0x80)));
  CHECK(glow_small_from_float(&glow_float8e4m3fnuz, -0.0f, true) == 0);
  CHECK(glow_small_from_float(&glow_float8e4m3fn, INFINITY, true) == 0x7e);
  CHECK(glow_small_from_float(&glow_float8e4m3fn, -1e9f, false) == 0xff);
  CHECK(glow_small_from_float(&glow_float8e5m2, 1e9f, false) == 0x7c);
  CHECK(glow_small_from_float(&glow_float8e5m2fnuz, 1e9f, false) == 0x80);
  CHECK(glow_small_from_float(&glow_float4e2m1, -100, false) == 0xf);
  CHECK(glow_small_from_float(&glow_float4e2m1, 2.5f, true) == 4); /* tie: 2, not 3 */
  CHECK(glow_e8m0_to_float(127) == 1 && glow_e8m0_to_float(0) == 0x1p-127f);
  CHECK(isnan(glow_e8m0_to_float(255)) && glow_e8m0_from_float(NAN, true) == 255);
  CHECK(glow_e8m0_from_float(1.5f, true) == 128 && glow_e8m0_from_float(0, true) == 0);
  CHECK(glow_e8m0_from_float(INFINITY, true) == 254 && glow_e8m0_from_float(3e38f, false) == 255);
  for (int b = 0; b < 255; b++)
    if (glow_e8m0_from_float(glow_e8m0_to_float((uint8_t)b), true) != b)
      CHECK(!"float8e8m0 round trip");
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void test_kinds(void) {
  CHECK(glow_kind_from_name("bfloat16", 8) == GLOW_KIND_BFLOAT16);
  CHECK(glow_kind_from_name("bfloat", 6) == GLOW_KIND_COUNT);
  CHECK(glow_kind_from_onnx(9) == GLOW_KIND_BOOL && glow_kind_from_onnx(0) == GLOW_KIND_COUNT);
}

static void test_types(GlowContext *ctx) {
  const GlowType *a = type_of(ctx, GLOW_KIND_FLOAT, 2, 8, 24, 0, 0);
  CHECK(a == type_of(ctx, GLOW_KIND_FLOAT, 2, 8, 24, 0, 0));
  CHECK(a != type_of(ctx, GLOW_KIND_FLOAT, 2, 24, 8, 0, 0));
  CHECK(a != type_of(ctx, GLOW_KIND_I32, 2, 8, 24, 0, 0));
  CHECK(!strcmp(glow_type_str(ctx, a), "float<8 x 24>"));
  const GlowDim mixed[] = {GLOW_EXACT(8), GLOW_BOUND(24), GLOW_SYMBOL(glow_str(ctx, "N")),
                           GLOW_UNKNOWN};
  const GlowType *m = glow_type_tensor(ctx, GLOW_KIND_FLOAT, 4, mixed);
  CHECK(!strcmp(glow_type_str(ctx, m), "float<8 x ..24 x $N x ?>"));
  CHECK(glow_type_has_symbols(glow_type_opt(ctx, m)) && !glow_type_is_bounded(m));
  CHECK(!strcmp(glow_type_str(ctx, glow_type_scalar(ctx, GLOW_KIND_I64)), "i64<>"));
  CHECK(!strcmp(glow_type_str(ctx, glow_type_unranked(ctx, GLOW_KIND_I4)), "i4<*>"));
  CHECK(glow_type_unranked(ctx, GLOW_KIND_I4) != glow_type_scalar(ctx, GLOW_KIND_I4));
  const GlowType *seq = glow_type_seq(ctx, a, 16);
  CHECK(!strcmp(glow_type_str(ctx, seq), "seq<float<8 x 24>, 16>"));
  CHECK(seq == glow_type_seq(ctx, a, 16) && seq != glow_type_seq(ctx, a, -1));
  CHECK(glow_type_is_bounded(seq) && !glow_type_is_bounded(glow_type_seq(ctx, a, -1)));
  CHECK(!strcmp(glow_type_str(ctx, glow_type_opt(ctx, seq)), "opt<seq<float<8 x 24>, 16>>"));
  const GlowType *q =
      glow_type_with_quant(ctx, type_of(ctx, GLOW_KIND_I8, 2, 1, 112, 0, 0), true, 0.041f, -128);
  CHECK(!strcmp(glow_type_str(ctx, q), "i8[S:0.041 O:-128]<1 x 112>"));
  CHECK(!glow_type_with_kind(ctx, q, GLOW_KIND_I32)->quantized);
  CHECK(glow_type_with_dims(ctx, a, a->rank, a->dims) == a);

  CHECK(glow_type_is_static(a) && glow_type_elements(a) == 192 && glow_type_bytes(a) == 768);
  CHECK(glow_type_bytes(type_of(ctx, GLOW_KIND_I4, 1, 5, 0, 0, 0)) == 3);
  CHECK(glow_type_bytes(type_of(ctx, GLOW_KIND_U2, 1, 5, 0, 0, 0)) == 2);
  CHECK(glow_type_elements(type_of(ctx, GLOW_KIND_I8, 2, 0, INT64_C(1) << 39, 0, 0)) == 0);
  CHECK(glow_type_elements(m) == -1 && glow_type_bytes(m) == -1);

  const GlowDim big[] = {GLOW_EXACT(INT64_C(1) << 20), GLOW_EXACT(INT64_C(1) << 20)};
  const GlowDim over[] = {GLOW_EXACT(INT64_C(1) << 62), GLOW_EXACT(INT64_C(1) << 62),
                          GLOW_EXACT(0)};
  const GlowDim negative[] = {GLOW_BOUND(-1)};
  CHECK(!glow_type_check_dims(GLOW_KIND_FLOAT, 2, big));
  CHECK(glow_type_check_dims(GLOW_KIND_FLOAT, 3, over));
  CHECK(glow_type_check_dims(GLOW_KIND_FLOAT, 1, negative));
  CHECK(glow_type_check_dims(GLOW_KIND_FLOAT, 9, NULL));
  for (int64_t i = 0; i < 3000; i++) /* the table grows */
    if (type_of(ctx, GLOW_KIND_U8, 1, i, 0, 0, 0) != type_of(ctx, GLOW_KIND_U8, 1, i, 0, 0, 0))
      CHECK(!"interned");
}

static const GlowType *one_dim(GlowContext *ctx, GlowDim d) {
  return glow_type_tensor(ctx, GLOW_KIND_FLOAT, 1, &d);
}

/* Ranges of symbols, and how types that name them relate. */
static void test_ranges(GlowContext *ctx) {
  GlowStr n = glow_str(ctx, "N"), m = glow_str(ctx, "M");
  const GlowExtent *e = glow_extent(ctx, n, 2, 8, 3);
  CHECK(e == glow_extent(ctx, n, 2, 8, 3) && e != glow_extent(ctx, m, 2, 8, 3));
  CHECK(e != glow_extent(ctx, n, 2, 8, 2) && e != glow_extent(ctx, n, 2, 5, 3));
  CHECK(!strcmp(glow_extent_str(ctx, e), "2..8 step 3"));
  CHECK(!glow_extent_problem(0, 0, 5) && glow_extent_problem(-1, 4, 1));
  CHECK(glow_extent_problem(3, 2, 1) && glow_extent_problem(1, 4, 2) &&
        glow_extent_problem(1, 4, 0));
  static const char *const texts[] = {"2..8 step 3", "2..8  step\t3", "2..8",
                                      "2..8step 3",  "2..8 step",     "..8",
                                      "2..8 x",      "2.8",           "2..1"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const char *error, *end = texts[i] + strlen(texts[i]);
    const GlowExtent *read = glow_extent_parse(ctx, n, texts[i], end, &error);
    CHECK(i < 2 ? read == e : i == 2 ? read && read->step == 1 : !read);
    CHECK((error != NULL) == (i == 8));
  }
  const GlowDim d = glow_dim_ranged(e);
  for (int64_t i = -1; i < 10; i++)
    CHECK(glow_dim_allows(d, i) == (i == 2 || i == 5 || i == 8));
  const GlowType *s = one_dim(ctx, d), *bare = one_dim(ctx, GLOW_SYMBOL(n));
  const GlowType *other = one_dim(ctx, glow_dim_ranged(glow_extent(ctx, m, 2, 8, 3)));
  const GlowType *b1 = one_dim(ctx, GLOW_BOUND(1)), *b7 = one_dim(ctx, GLOW_BOUND(7));
  const GlowType *b8 = one_dim(ctx, GLOW_BOUND(8)), *e5 = one_dim(ctx, GLOW_EXACT(5));
  const GlowType *e6 = one_dim(ctx, GLOW_EXACT(6));
  CHECK(s != bare && s == glow_type_with_kind(ctx, s, GLOW_KIND_FLOAT));
  CHECK(glow_type_is_bounded(s) && !glow_type_is_static(s) && glow_type_bytes(s) == 32);
  CHECK(glow_type_has_symbols(s) && !glow_type_has_rangeless(s) && glow_type_has_rangeless(bare));
  CHECK(glow_type_room(ctx, s) == one_dim(ctx, GLOW_EXACT(8)));
  CHECK(glow_type_fit(s, e5) == GLOW_FIT_WIDER && glow_type_fit(e5, s) == GLOW_FIT_NARROWER);
  CHECK(glow_type_fit(s, e6) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(e6, s) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(s, b8) == GLOW_FIT_NARROWER && glow_type_fit(b8, s) == GLOW_FIT_WIDER);
  CHECK(glow_type_fit(b7, s) == GLOW_FIT_NARROWER && glow_type_fit(s, b1) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(s, bare) == GLOW_FIT_NARROWER && glow_type_fit(bare, s) == GLOW_FIT_WIDER);
  CHECK(glow_type_meet(ctx, s, b8) == s && glow_type_meet(ctx, e5, s) == e5);
  CHECK(glow_type_join(ctx, s, s) == s && glow_type_join(ctx, s, other) == b8);
  CHECK(glow_type_join(ctx, s, e5) == b8 && glow_type_join(ctx, s, bare) != s);
}

static void test_relations(GlowContext *ctx) {
  test_ranges(ctx);
  const GlowType *e8 = one_dim(ctx, GLOW_EXACT(8)), *e9 = one_dim(ctx, GLOW_EXACT(9));
  const GlowType *b8 = one_dim(ctx, GLOW_BOUND(8)), *b9 = one_dim(ctx, GLOW_BOUND(9));
  const GlowType *u = one_dim(ctx, GLOW_UNKNOWN);
  const GlowType *s = one_dim(ctx, GLOW_SYMBOL(glow_str(ctx, "N")));
  const GlowType *any = glow_type_unranked(ctx, GLOW_KIND_FLOAT);
  const GlowType *error = glow_type_error(ctx);
  CHECK(glow_type_fit(e8, e8) == GLOW_FIT_EQUAL && glow_type_fit(e8, error) == GLOW_FIT_EQUAL);
  CHECK(glow_type_fit(e8, e9) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(e8, b9) == GLOW_FIT_NARROWER && glow_type_fit(b9, e8) == GLOW_FIT_WIDER);
  CHECK(glow_type_fit(e9, b8) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(b8, e9) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(b8, b9) == GLOW_FIT_NARROWER && glow_type_fit(b9, b8) == GLOW_FIT_WIDER);
  CHECK(glow_type_fit(u, b8) == GLOW_FIT_WIDER && glow_type_fit(b8, u) == GLOW_FIT_NARROWER);
  CHECK(glow_type_fit(s, u) == GLOW_FIT_NARROWER && glow_type_fit(s, e8) == GLOW_FIT_WIDER);
  CHECK(glow_type_fit(any, e8) == GLOW_FIT_WIDER && glow_type_fit(e8, any) == GLOW_FIT_NARROWER);
  CHECK(glow_type_fit(e8, glow_type_seq(ctx, e8, -1)) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_fit(glow_type_seq(ctx, e8, 4), glow_type_seq(ctx, u, -1)) == GLOW_FIT_NARROWER);
  CHECK(glow_type_fit(glow_type_seq(ctx, u, 4), glow_type_seq(ctx, u, 3)) == GLOW_FIT_WIDER);
  const GlowDim nw[] = {GLOW_EXACT(8), GLOW_UNKNOWN}, wn[] = {GLOW_UNKNOWN, GLOW_EXACT(8)};
  CHECK(glow_type_fit(glow_type_tensor(ctx, GLOW_KIND_FLOAT, 2, nw),
                      glow_type_tensor(ctx, GLOW_KIND_FLOAT, 2, wn)) == GLOW_FIT_NARROWER);

  CHECK(glow_type_meet(ctx, e8, b9) == e8 && glow_type_meet(ctx, b9, e8) == e8);
  CHECK(glow_type_meet(ctx, b8, b9) == b8 && glow_type_meet(ctx, u, s) == s);
  CHECK(!glow_type_meet(ctx, e9, b8) && glow_type_meet(ctx, any, e8) == e8);
  CHECK(glow_type_meet(ctx, glow_type_tensor(ctx, GLOW_KIND_FLOAT, 2, nw),
                       glow_type_tensor(ctx, GLOW_KIND_FLOAT, 2, wn)) ==
        type_of(ctx, GLOW_KIND_FLOAT, 2, 8, 8, 0, 0));
  CHECK(glow_type_join(ctx, e8, e9) == b9 && glow_type_join(ctx, e8, b8) == b8);
  CHECK(glow_type_join(ctx, e8, s) == u && glow_type_join(ctx, s, s) == s);
  CHECK(glow_type_join(ctx, e8, glow_type_scalar(ctx, GLOW_KIND_FLOAT)) == any);
  CHECK(!glow_type_join(ctx, e8, glow_type_scalar(ctx, GLOW_KIND_I8)));
  CHECK(glow_type_join(ctx, glow_type_seq(ctx, e8, 4), glow_type_seq(ctx, e9, -1)) ==
        glow_type_seq(ctx, b9, -1));
}

static void test_layouts(GlowContext *ctx) {
  const char *error = NULL;
  const GlowLayout *l = glow_layout_parse(ctx, "NCHW16c", 7, 4, &error);
  CHECK(l && l == glow_layout_parse(ctx, "NCHW16c", 7, 4, &error) && l->blocks[0].axis == 1);
  static const char *const bad[] = {"",
                                    "NCH16c",
                                    "NCHW16",
                                    "NCHW16x",
                                    "NCHWc",
                                    "NCHW1c",
                                    "NCHH",
                                    "NCHW16C",
                                    "NCHW4194305c",
                                    "NCHW16c16n16h16w16c",
                                    "nchw",
                                    "NCHW016c",
                                    "NCHW99999999999999999999c"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    error = NULL;
    CHECK(!glow_layout_parse(ctx, bad[i], strlen(bad[i]), 4, &error) && error);
  }
  const GlowType *plain = type_of(ctx, GLOW_KIND_FLOAT, 4, 2, 20, 3, 5);
  const GlowType *t = glow_type_with_layout(ctx, plain, l);
  CHECK(!strcmp(glow_type_str(ctx, t), "float<2 x 20 x 3 x 5 | NCHW16c>"));
  CHECK(glow_type_elements(t) == 600 && glow_type_bytes(t) == 2 * 2 * 3 * 5 * 16 * 4);
  int64_t physical[GLOW_MAX_RANK + 4];
  const int64_t dims[] = {2, 20, 3, 5};
  CHECK(glow_layout_physical(l, 4, dims, physical) == 5 && physical[1] == 2 && physical[4] == 16);
  /* element [1, 18, 2, 3]: block 1, lane 2 */
  int64_t logical = ((1 * 20 + 18) * 3 + 2) * 5 + 3;
  CHECK(glow_type_physical_index(t, logical) == (((1 * 2 + 1) * 3 + 2) * 5 + 3) * 16 + 2);
  /* Nested blocks of one axis: c = (outer * 4 + middle) * 2 + inner */
  const GlowLayout *n = glow_layout_parse(ctx, "NC4c3n2c", 8, 2, &error);
  const GlowType *nested =
      glow_type_with_layout(ctx, type_of(ctx, GLOW_KIND_I8, 2, 5, 17, 0, 0), n);
  CHECK(n &&
        glow_type_physical_index(nested, 4 * 17 + 13) == ((((1 * 3 + 1) * 4 + 2) * 3 + 1) * 2 + 1));
  CHECK(glow_type_fit(t, plain) == GLOW_FIT_EQUAL);
  CHECK(glow_type_fit(plain, t) == GLOW_FIT_CONTRADICTS);
  CHECK(glow_type_meet(ctx, plain, t) == t && !glow_type_join(ctx, plain, t));
  CHECK(glow_type_with_dims(ctx, t, 4, t->dims) == plain);

  GlowTensor *a = glow_tensor_create(ctx, t);
  for (int64_t i = 0; i < 600; i++)
    glow_tensor_set(a, i, integer(i));
  double sum = 0;
  for (size_t i = 0; i < a->bytes / 4; i++)
    sum += ((float *)a->data)[i];
  CHECK(sum == 599 * 300); /* padding is zero */
  GlowTensor *b = glow_tensor_plain(ctx, a);
  CHECK(b->type == plain && ((float *)b->data)[logical] == (float)logical);
  CHECK(glow_tensor_same_bits(a, b) && glow_tensor_compare(ctx, a, b, 0, 0).ok);
  glow_tensor_free(a);
  glow_tensor_free(b);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static double stored(GlowContext *ctx, GlowKind kind, GlowScalar v) {
  GlowTensor *t = glow_tensor_create(ctx, glow_type_scalar(ctx, kind));
  glow_tensor_set(t, 0, v);
  double r = glow_tensor_get_double(t, 0);
  glow_tensor_free(t);
  return r;
}

static void test_elements(GlowContext *ctx) {
  CHECK(stored(ctx, GLOW_KIND_I8, number(300)) == 127);
  CHECK(stored(ctx, GLOW_KIND_I8, number(-300)) == -128);
  CHECK(stored(ctx, GLOW_KIND_I8, number(-128.7)) == -128);
  CHECK(stored(ctx, GLOW_KIND_I8, integer(300)) == 44);
  CHECK(stored(ctx, GLOW_KIND_U8, number(-1)) == 0 &&
        stored(ctx, GLOW_KIND_U8, number(1e9)) == 255);
  CHECK(stored(ctx, GLOW_KIND_I32, number(NAN)) == 0);
  CHECK(stored(ctx, GLOW_KIND_I64, number(1e30)) == 9223372036854775807.0);
  CHECK(stored(ctx, GLOW_KIND_U64, number(INFINITY)) == 18446744073709551615.0);
  CHECK(stored(ctx, GLOW_KIND_U64, integer(-1)) == 18446744073709551615.0);
  CHECK(stored(ctx, GLOW_KIND_BOOL, number(0.5)) == 1 &&
        stored(ctx, GLOW_KIND_BOOL, integer(0)) == 0);
  CHECK(stored(ctx, GLOW_KIND_I4, number(100)) == 7 && stored(ctx, GLOW_KIND_I4, integer(9)) == -7);
  CHECK(stored(ctx, GLOW_KIND_U2, integer(7)) == 3 && stored(ctx, GLOW_KIND_I2, number(-9)) == -2);
  CHECK(stored(ctx, GLOW_KIND_FLOAT, number(0.1)) == (double)0.1f);
  CHECK(stored(ctx, GLOW_KIND_FLOAT, integer((INT64_C(1) << 54) + (INT64_C(1) << 30) + 1)) ==
        (double)(float)((INT64_C(1) << 54) + (INT64_C(1) << 30) + 1));
  CHECK(stored(ctx, GLOW_KIND_FLOAT16, number(1e6)) == INFINITY);
  CHECK(stored(ctx, GLOW_KIND_FLOAT8E4M3FN, number(1e6)) == 448);
  CHECK(stored(ctx, GLOW_KIND_COMPLEX64, number(2.5)) == 2.5);
  CHECK(stored(ctx, GLOW_KIND_COMPLEX128, number(2.5)) == 2.5);

  for (int k = 0; k < GLOW_KIND_COUNT; k++) { /* every kind, three elements, unaligned */
    if (k == GLOW_KIND_STRING)
      continue;
    const GlowType *type = type_of(ctx, (GlowKind)k, 1, 3, 0, 0, 0);
    GlowTensor *t = glow_tensor_create(ctx, type);
    unsigned char bytes[64] = {0};
    glow_tensor_set(t, 0, integer(1));
    glow_tensor_set(t, 2, integer(1));
    memcpy(bytes + 1, t->data, t->bytes);
    GlowTensor *b = glow_tensor_borrow(ctx, type, bytes + 1, t->bytes);
    CHECK(glow_tensor_get_double(b, 2) == 1 && glow_tensor_get_int(b, 0) == 1);
    CHECK(glow_tensor_same_bits(t, b) && glow_tensor_compare(ctx, t, b, 0, 0).ok);
    GlowTensor *c = glow_tensor_copy(ctx, b);
    glow_tensor_fill(c, integer(1));
    CHECK(glow_tensor_get(c, 1).f == 1 && glow_tensor_get(c, 2).f == 1);
    CHECK(glow_tensor_get_int(t, 1) == 0);
    CHECK(!glow_tensor_same_bits(t, c) || k == GLOW_KIND_FLOAT8E8M0);
    glow_tensor_free(t);
    glow_tensor_free(b);
    glow_tensor_free(c);
  }
}

static void test_printing(GlowContext *ctx) {
  GlowTensor *t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_FLOAT, 2, 2, 2, 0, 0));
  for (int i = 0; i < 4; i++)
    glow_tensor_set(t, i, number(i + 0.1));
  CHECK(prints(t, ctx, "[[0.1, 1.1], [2.1, 3.1]]"));
  glow_tensor_free(t);
  t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_FLOAT16, 1, 4, 0, 0, 0));
  const double halves[] = {0.1, -65504, 6e-8, INFINITY};
  for (int i = 0; i < 4; i++)
    glow_tensor_set(t, i, number(halves[i]));
  CHECK(prints(t, ctx, "[0.1, -65500.0, 6e-08, inf]"));
  glow_tensor_free(t);
  t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_BOOL, 1, 2, 0, 0, 0));
  glow_tensor_set(t, 1, integer(1));
  CHECK(prints(t, ctx, "[false, true]"));
  glow_tensor_free(t);
  t = glow_tensor_create(ctx, glow_type_scalar(ctx, GLOW_KIND_U64));
  glow_tensor_set(t, 0, integer(-1));
  CHECK(prints(t, ctx, "18446744073709551615"));
  glow_tensor_free(t);
  t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_FLOAT, 2, 3, 0, 0, 0));
  CHECK(prints(t, ctx, "[]"));
  glow_tensor_free(t);
  t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_STRING, 1, 2, 0, 0, 0));
  glow_tensor_set_string(ctx, t, 0, "a\"b", 3);
  glow_tensor_set_string(ctx, t, 0, "c\"d", 3);
  CHECK(prints(t, ctx, "[\"c\\\"d\", \"\"]"));
  GlowTensor *copy = glow_tensor_copy(ctx, t);
  CHECK(glow_tensor_same_bits(t, copy));
  glow_tensor_set_string(ctx, copy, 1, "x", 1);
  CHECK(!glow_tensor_same_bits(t, copy) && glow_tensor_compare(ctx, copy, t, 1, 1).wrong == 1);
  GlowTensor *seq = glow_tensor_create(ctx, glow_type_seq(ctx, t->type, -1));
  glow_tensor_append(ctx, seq, t);
  glow_tensor_append(ctx, seq, copy);
  GlowTensor *opt = glow_tensor_create(ctx, glow_type_opt(ctx, seq->type));
  CHECK(prints(opt, ctx, "none"));
  glow_tensor_append(ctx, opt, glow_tensor_copy(ctx, seq));
  CHECK(prints(opt, ctx, "[[\"c\\\"d\", \"\"], [\"c\\\"d\", \"x\"]]"));
  CHECK(glow_tensor_same_bits(opt->items[0], seq));
  glow_tensor_free(seq);
  glow_tensor_free(opt);

  /* Every float16 prints digits that read back to it. */
  unsigned bad = 0;
  GlowText text;
  glow_text_init(&text, ctx);
  t = glow_tensor_create(ctx, glow_type_scalar(ctx, GLOW_KIND_FLOAT16));
  for (uint32_t h = 0; h < 65536; h += 7) {
    uint16_t bits = (uint16_t)h;
    memcpy(t->data, &bits, 2);
    text.size = 0;
    glow_tensor_print(&text, t);
    char *end;
    bad += (h & 0x7fff) <= 0x7c00 &&
           glow_half_from_float(glow_parse_float(glow_text_cstr(&text), &end)) != h;
  }
  CHECK(bad == 0);
  glow_tensor_free(t);
  glow_text_release(&text);
}

/* ---- Comparison ------------------------------------------------------------------------------ */

static GlowTensor *floats(GlowContext *ctx, int64_t n, const float *v) {
  GlowTensor *t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_FLOAT, 1, n, 0, 0, 0));
  memcpy(t->data, v, (size_t)n * 4);
  return t;
}

static void test_compare(GlowContext *ctx) {
  const float w[] = {1, 2, NAN, INFINITY, -0.0f, 100}, g[] = {1, 2.5f, NAN, INFINITY, 0, 100.05f};
  GlowTensor *want = floats(ctx, 6, w), *got = floats(ctx, 6, g);
  GlowCompare c = glow_tensor_compare(ctx, got, want, 1e-3, 1e-7);
  CHECK(!c.ok && c.wrong == 1 && c.elements == 6 && c.worst == 1 && c.worst_got == 2.5);
  CHECK(c.max_abs == 0.5 && c.max_rel == 0.25 && c.max_ulp == 1 << 21 && c.first_nan == -1);
  CHECK(glow_tensor_compare(ctx, got, want, 0.3, 0).ok);
  CHECK(!glow_tensor_same_bits(got, want)); /* -0 and 0 */
  GlowText text;
  glow_text_init(&text, ctx);
  glow_compare_print(&text, "y", want, &c);
  CHECK(!strcmp(glow_text_cstr(&text),
                "y: 1 of 6 elements differ\n"
                "  worst at [1]: got 2.5, want 2.0\n"
                "  largest error: absolute 0.5, relative 0.25, 2097152 ULP\n"));
  glow_text_release(&text);
  ((float *)got->data)[0] = NAN;
  ((float *)got->data)[3] = 5;
  c = glow_tensor_compare(ctx, got, want, 10, 10);
  CHECK(c.wrong == 2 && c.first_nan == 0 && c.worst == 0);
  glow_tensor_free(got);
  got = floats(ctx, 5, g);
  c = glow_tensor_compare(ctx, got, want, 1, 1);
  CHECK(!c.ok && c.mismatch && !strcmp(c.mismatch, "got float<5>, want float<6>"));
  glow_tensor_free(got);
  glow_tensor_free(want);

  want = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_I64, 1, 2, 0, 0, 0));
  got = glow_tensor_copy(ctx, want);
  glow_tensor_set(want, 1, integer(INT64_MIN));
  glow_tensor_set(got, 1, integer(INT64_MAX));
  c = glow_tensor_compare(ctx, got, want, 1, 1e30);
  CHECK(c.wrong == 1 && c.max_ulp == UINT64_MAX && c.worst == 1);
  glow_tensor_free(got);
  glow_tensor_free(want);
}

/* ---- Random numbers -------------------------------------------------------------------------- */

static void test_random(GlowContext *ctx) {
  const uint32_t zero[4] = {0}, ones[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  const uint32_t want0[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const uint32_t want1[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  const uint32_t pikey[2] = {0xa4093822, 0x299f31d0};
  const uint32_t want2[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  uint32_t out[4];
  glow_philox4x32(zero, zero, out);
  CHECK(!memcmp(out, want0, sizeof out));
  glow_philox4x32(ones, ones, out);
  CHECK(!memcmp(out, want1, sizeof out));
  glow_philox4x32(pi, pikey, out);
  CHECK(!memcmp(out, want2, sizeof out));

  enum { N = 100000 };
  GlowTensor *t = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_FLOAT, 1, N, 0, 0, 0));
  float *v = t->data;
  GlowRandom r = {.kind = GLOW_RANDOM_UNIFORM, .low = -1, .high = 3, .seed = 1};
  glow_tensor_fill_random(t, &r);
  double sum = 0, squares = 0, least = 9, most = -9;
  for (int i = 0; i < N; i++) {
    sum += v[i];
    least = fmin(least, v[i]);
    most = fmax(most, v[i]);
  }
  CHECK(fabs(sum / N - 1) < 0.02 && least >= -1 && least < -0.99 && most > 2.99 && most <= 3);
  r = (GlowRandom){.kind = GLOW_RANDOM_NORMAL, .mean = 2, .scale = 3, .seed = UINT64_C(1) << 40};
  glow_tensor_fill_random(t, &r);
  unsigned tail = 0;
  for (sum = 0; tail < N; tail++)
    sum += v[tail];
  tail = 0;
  for (int i = 0; i < N; i++) {
    squares += (v[i] - 2.0) * (v[i] - 2.0);
    tail += fabs(v[i] - 2.0) > 3 * 1.959964;
  }
  CHECK(fabs(sum / N - 2) < 0.04 && fabs(sqrt(squares / N) - 3) < 0.03);
  CHECK(fabs(tail / (double)N - 0.05) < 0.003);
  r = (GlowRandom){.kind = GLOW_RANDOM_XAVIER, .fan = 12, .seed = 1};
  glow_tensor_fill_random(t, &r);
  CHECK(v[0] ==
        (float)(-0.5 + (glow_philox4x32(zero, (uint32_t[2]){1, 0}, out), out[0] >> 8) * 0x1p-24));
  glow_tensor_free(t);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void test_npy(GlowContext *ctx) {
  static const GlowKind kinds[] = {GLOW_KIND_FLOAT, GLOW_KIND_I64, GLOW_KIND_BOOL,
                                   GLOW_KIND_FLOAT16, GLOW_KIND_COMPLEX64};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    for (uint32_t rank = 0; rank <= 3; rank++) {
      GlowTensor *t = glow_tensor_create(ctx, type_of(ctx, kinds[k], rank, 3, 1, 2, 0));
      glow_tensor_fill(t, integer(1));
      GlowText text;
      glow_text_init(&text, ctx);
      CHECK(glow_npy_can_hold(t->type));
      glow_npy_write(&text, t);
      CHECK((text.size - t->bytes) % 64 == 0);
      GlowTensor *back = glow_npy_read(ctx, "x.npy", text.data, text.size);
      CHECK(back && back->type == t->type && glow_tensor_same_bits(back, t));
      glow_tensor_free(back);
      for (size_t n = 0; n < text.size; n++) { /* every prefix is refused */
        char *prefix = malloc(n + 1);
        memcpy(prefix, text.data, n);
        if (glow_npy_read(ctx, "x.npy", prefix, n))
          CHECK(!"a prefix was read");
        free(prefix);
      }
      glow_text_release(&text);
      glow_tensor_free(t);
    }
  }
  CHECK(!glow_npy_can_hold(glow_type_scalar(ctx, GLOW_KIND_BFLOAT16)));
}

static bool npy_says(GlowContext *ctx, const char *dict, size_t data, const char *message) {
  unsigned char file[512] = "\x93NUMPY\1";
  size_t n = strlen(dict);
  file[8] = (unsigned char)n;
  memcpy(file + 10, dict, n);
  GlowTensor *t = glow_npy_read(ctx, "x.npy", file, 10 + n + data);
  glow_tensor_free(t);
  return message ? !t && said(message) : t != NULL;
}

static void test_npy_headers(GlowContext *ctx) {
#define NPY(descr, order, shape)                                                                   \
  "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }  \n"
  CHECK(npy_says(ctx, NPY("<f4", "False", "(2, 3)"), 24, NULL));
  CHECK(npy_says(ctx, NPY("<u1", "True", "(2L,)"), 2, NULL));
  CHECK(npy_says(ctx, "{\"shape\":(),\"descr\":\"<f4\",\"fortran_order\":False}", 4, NULL));
  CHECK(npy_says(ctx, NPY(">f4", "False", "(2, 3)"), 24, "big-endian"));
  CHECK(npy_says(ctx, NPY("<f4", "True", "(2, 3)"), 24, "Fortran"));
  CHECK(npy_says(ctx, NPY("<U4", "False", "(2, 3)"), 24, "element type"));
  CHECK(npy_says(ctx, NPY("", "False", "(2, 3)"), 24, "element type"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(2, 3)"), 25, "needs 24 bytes of data"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(2, 3"), 24, "malformed"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(-2, 3)"), 24, "malformed"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(2 3)"), 24, "malformed"));
  CHECK(npy_says(ctx, NPY("<f4", "Falsy", "(2, 3)"), 24, "malformed"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), 4, "rank"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(99999999999999999999,)"), 4, "too large"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(4611686018427387904, 4)"), 0, "2^40"));
  CHECK(npy_says(ctx, "{'descr': [('a', '<f4')]}", 4, "structured"));
  CHECK(npy_says(ctx, "{'descr': '<f4', 'shape': (1,)}", 4, "malformed"));
  CHECK(npy_says(ctx, "{'descr': '<f4', 'descr': '<f4'}", 4, "malformed"));
  CHECK(npy_says(ctx, NPY("<f4", "False", "(1,)") "x", 4, "malformed"));
}

static void test_safetensors(GlowContext *ctx) {
  GlowTensor *a = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_FLOAT, 2, 2, 3, 0, 0));
  GlowTensor *b = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_I8, 1, 3, 0, 0, 0));
  GlowTensor *c = glow_tensor_create(ctx, type_of(ctx, GLOW_KIND_BFLOAT16, 2, 0, 7, 0, 0));
  glow_tensor_fill(a, number(0.5));
  glow_tensor_fill(b, number(-3));
  const GlowNamedTensor all[] = {
      {glow_str(ctx, "a"), a}, {glow_str(ctx, "b \"\n"), b}, {glow_str(ctx, "c"), c}};
  GlowText text;
  glow_text_init(&text, ctx);
  glow_safetensors_write(&text, all, 3);
  CHECK((text.size - a->bytes - b->bytes) % 64 == 0);
  CHECK(!glow_safetensors_can_hold(glow_type_scalar(ctx, GLOW_KIND_I4)));
  GlowBlob *blob = glow_blob_from_safetensors(ctx, "<payload>", text.data, text.size, GLOW_NOWHERE);
  CHECK(blob && blob->nentries == 3);
  for (int i = 0; blob && i < 3; i++) {
    const GlowBlobEntry *e = glow_blob_find(blob, all[i].name);
    const GlowTensor *t = all[i].tensor;
    CHECK(e && e->kind == t->type->kind && e->rank == t->type->rank && e->bytes == t->bytes);
    CHECK(e && !memcmp(e->data, t->data, t->bytes));
  }
  CHECK(blob && !glow_blob_find(blob, glow_str(ctx, "d")));
  for (size_t n = 0; n < text.size; n++) {
    char *prefix = malloc(n + 1);
    memcpy(prefix, text.data, n);
    if (glow_blob_from_safetensors(ctx, "p", prefix, n, GLOW_NOWHERE))
      CHECK(!"a prefix was read");
    free(prefix);
  }

  char path[] = "/tmp/glow_tensor_test_XXXXXX";
  int fd = mkstemp(path);
  CHECK(fd >= 0 && write(fd, text.data, text.size) == (ssize_t)text.size);
  close(fd);
  GlowBlob *file = glow_blob_open(ctx, path, GLOW_NOWHERE);
  CHECK(file && file->nentries == 3 && glow_blob_open(ctx, path, GLOW_NOWHERE) == file);
  char link_path[64];
  snprintf(link_path, sizeof link_path, "%s.link", path);
  CHECK(symlink(path, link_path) == 0 && glow_blob_open(ctx, link_path, GLOW_NOWHERE) == file);
  unlink(link_path);
  unlink(path);
  CHECK(!glow_blob_open(ctx, "/nonexistent/x.safetensors", GLOW_NOWHERE));
  glow_text_release(&text);
  glow_tensor_free(a);
  glow_tensor_free(b);
  glow_tensor_free(c);
}

static bool header_says(GlowContext *ctx, const char *json, const char *message) {
  size_t n = strlen(json);
  unsigned char *file = calloc(1, 8 + n + 16);
  file[0] = (unsigned char)n;
  file[1] = (unsigned char)(n >> 8);
  memcpy(file + 8, json, n);
  GlowBlob *b = glow_blob_from_safetensors(ctx, "f", file, 8 + n + 16, GLOW_NOWHERE);
  free(file); /* entries are not read any more */
  return message ? !b && said(message) : b != NULL;
}

static void test_safetensors_headers(GlowContext *ctx) {
#define ENTRY(dtype, shape, offsets)                                                               \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define GOOD ENTRY("F32", "[2,2]", "[0,16]")
  CHECK(header_says(ctx, "{}", NULL));
  CHECK(header_says(ctx, "{\"a\":" GOOD "}   ", NULL));
  CHECK(header_says(ctx, "{\"__metadata__\":{\"a\":\"b\"},\"a\":" GOOD "}", NULL));
  CHECK(header_says(ctx, "{\"a\":" GOOD ",\"__metadata__\":7}", NULL));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F64", "[]", "[8,16]") "}", NULL));
  CHECK(header_says(ctx, "{\"a\":" GOOD ",\"a\":" GOOD "}", "'a': the name appears twice"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[2,2]", "[0,15]") "}", "hold 15 bytes"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[2,2]", "[4,20]") "}", "outside the file"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[0]", "[16,0]") "}", "outside the file"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[2,2]", "[0,16,3]") "}", "not two numbers"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[2,2]", "[0]") "}", "not two numbers"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[-2,-2]", "[0,16]") "}", "negative"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[2.0,2]", "[0,16]") "}", "value where none"));
  CHECK(
      header_says(ctx, "{\"a\":" ENTRY("F32", "[[2]]", "[0,16]") "}", "not an object of tensors"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "4", "[0,16]") "}", "number where none"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "\"4\"", "[0,16]") "}", "string where none"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F33", "[4]", "[0,16]") "}", "dtype 'F33'"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32\\u0000", "[4]", "[0,16]") "}", "unknown dtype"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1,4]", "[0,16]") "}", "rank"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[4611686018427387904,4]", "[0,0]") "}", "2^40"));
  CHECK(header_says(ctx, "{\"a\":" ENTRY("F32", "[99999999999999999999]", "[0,0]") "}", "f: "));
  CHECK(header_says(ctx, "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "appears twice"));
  CHECK(header_says(ctx, "{\"a\":{\"dtype\":\"F32\"}}", "missing"));
  CHECK(header_says(ctx, "{\"a\":{\"x\":1}}", "other than"));
  CHECK(header_says(ctx, "{\"\":" GOOD "}", "name"));
  CHECK(header_says(ctx, "{\"a\\u0000b\":" GOOD "}", "name"));
  CHECK(header_says(ctx, "{\"a\":[1]}", "not an object of tensors"));
  CHECK(header_says(ctx, "[]", "not an object of tensors"));
  CHECK(header_says(ctx, "7", "malformed header"));
  CHECK(header_says(ctx, "", "malformed header"));
  CHECK(header_says(ctx, "{\"a\":" GOOD "} x", "malformed header"));
  CHECK(header_says(ctx, "{\"a\":" GOOD, "malformed header"));
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static GlowTensor *picture(GlowContext *ctx, const void *data, size_t size,
                           const GlowImageOptions *o) {
  return glow_image_read(ctx, "x.png", data, size, o);
}

/* 2 x 2, 8-bit RGB: red, green; blue, white. */
static const unsigned char png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
    0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd,
    0xd4, 0x9a, 0x73, 0x00, 0x00, 0x00, 0x12, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8,
    0xcf, 0xc0, 0xc0, 0x00, 0xc2, 0x0c, 0xff, 0x81, 0x00, 0x00, 0x1f, 0xee, 0x05, 0xfb, 0xf1,
    0xab, 0xba, 0x77, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

/* 8 x 8, grey, every sample 128. */
static const unsigned char jpeg[] = {
    0xff, 0xd8, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x08, 0x00, 0x08,
    0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x3f, 0xff, 0xd9,
};

static void test_png(GlowContext *ctx) {
  GlowImageOptions o = {0};
  GlowTensor *t = picture(ctx, png, sizeof png, &o);
  CHECK(t && t->type == type_of(ctx, GLOW_KIND_FLOAT, 4, 1, 3, 2, 2));
  CHECK(t && prints(t, ctx,
                    "[[[[255.0, 0.0], [0.0, 255.0]], [[0.0, 255.0], [0.0, 255.0]], "
                    "[[0.0, 0.0], [255.0, 255.0]]]]"));
  glow_tensor_free(t);
  o = (GlowImageOptions){.nhwc = true, .bgr = true, .mean = {255, 0, 0}, .std = {255, 1, 51}};
  t = picture(ctx, png, sizeof png, &o);
  CHECK(t && prints(t, ctx,
                    "[[[[0.0, 0.0, 0.0], [0.0, 255.0, -1.0]], "
                    "[[5.0, 0.0, -1.0], [5.0, 255.0, 0.0]]]]"));
  glow_tensor_free(t);
  o = (GlowImageOptions){.channels = 1};
  t = picture(ctx, png, sizeof png, &o);
  CHECK(t && prints(t, ctx, "[[[[76.0, 150.0], [29.0, 255.0]]]]"));
  glow_tensor_free(t);
  o = (GlowImageOptions){.width = 1, .height = 1};
  t = picture(ctx, png, sizeof png, &o);
  CHECK(t && prints(t, ctx, "[[[[127.5]], [[127.5]], [[127.5]]]]"));
  glow_tensor_free(t);
  o = (GlowImageOptions){.width = 4, .crop = 0.5}; /* the crop is one pixel */
  t = picture(ctx, png, sizeof png, &o);
  CHECK(t && t->type == type_of(ctx, GLOW_KIND_FLOAT, 4, 1, 3, 1, 4));
  glow_tensor_free(t);
  o = (GlowImageOptions){.width = UINT32_MAX, .height = UINT32_MAX};
  CHECK(!picture(ctx, png, sizeof png, &o) && said("2^26"));
  o = (GlowImageOptions){0};
  for (size_t n = 0; n < sizeof png; n++) { /* all rows but not the checksum: a warning */
    unsigned char *prefix = malloc(n + 1);
    memcpy(prefix, png, n);
    t = picture(ctx, prefix, n, &o);
    if (t && n < sizeof png - 12 - 4 - 4) /* IEND, CRC, Adler */
      CHECK(!"a prefix was read");
    glow_tensor_free(t);
    free(prefix);
  }
}

static void test_jpeg(GlowContext *ctx) {
  GlowImageOptions o = {.width = 1, .height = 2, .mean = {28, 0, 0}, .std = {2, 0, 0}};
  GlowTensor *t = picture(ctx, jpeg, sizeof jpeg, &o);
  CHECK(t && prints(t, ctx, "[[[[50.0], [50.0]]]]"));
  glow_tensor_free(t);
  o = (GlowImageOptions){.channels = 3};
  t = picture(ctx, jpeg, sizeof jpeg, &o);
  CHECK(t && t->type == type_of(ctx, GLOW_KIND_FLOAT, 4, 1, 3, 8, 8));
  CHECK(t && glow_tensor_get_double(t, 3 * 64 - 1) == 128);
  glow_tensor_free(t);
  for (size_t n = 0; n < sizeof jpeg; n++) { /* may be read with a warning; must not crash */
    unsigned char *prefix = malloc(n + 1);
    memcpy(prefix, jpeg, n);
    glow_tensor_free(picture(ctx, prefix, n, &o));
    free(prefix);
  }
}

static void test_pnm(GlowContext *ctx) {
  GlowImageOptions o = {.std = {16, 0, 0}};
  static const char p2[] = "P2\n# digits\n2 2 16\n0 4\n8 16\n";
  GlowTensor *t = picture(ctx, p2, sizeof p2 - 1, &o);
  CHECK(t && prints(t, ctx, "[[[[0.0, 0.25], [0.5, 1.0]]]]"));
  glow_tensor_free(t);
  o = (GlowImageOptions){.nhwc = true};
  static const char p3[] = "P3 1 1 999 1 22 999";
  t = picture(ctx, p3, sizeof p3 - 1, &o);
  CHECK(t && prints(t, ctx, "[[[[1.0, 22.0, 999.0]]]]"));
  glow_tensor_free(t);
  static const char p5[] = "P5 2 1 65535\n\1\2\0\377";
  t = picture(ctx, p5, sizeof p5 - 1, &o);
  CHECK(t && prints(t, ctx, "[[[[258.0], [255.0]]]]"));
  glow_tensor_free(t);
  static const char p6[] = "P6\n1 1\n255\n\1\2\3";
  t = picture(ctx, p6, sizeof p6 - 1, &o);
  CHECK(t && prints(t, ctx, "[[[[1.0, 2.0, 3.0]]]]"));
  glow_tensor_free(t);
  static const char *const bad[] = {"P5 2 2 255\n\1\2\3",
                                    "P2 2 2 255 1 2 3 ",
                                    "P2 1 1 9 10",
                                    "P5 100000 100000 255\n",
                                    "P2 0 1 1 1",
                                    "P5 1 1 0 x",
                                    "P5 1 1 70000 xxxx",
                                    "P2 9999999999 1 1",
                                    "P5",
                                    "P2 1 1 255#",
                                    "P4 1 1 1",
                                    "P5 2 3 255"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    CHECK(!picture(ctx, bad[i], strlen(bad[i]), &o));
}

/* ---- Running out of memory ------------------------------------------------------------------- */

/* Uses most of the library once. Owns what it makes through defers, as callers must. */
static void use_everything(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowDefer text_defer, tensor_defer, image_defer;
  GlowText text;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &text_defer, glow_text_release_fn, &text);
  const GlowType *type = type_of(ctx, GLOW_KIND_FLOAT, 2, 2, 3, 0, 0);
  GlowTensor *t = glow_tensor_create(ctx, glow_type_seq(ctx, type, -1));
  glow_defer_push(ctx, &tensor_defer, glow_tensor_free_fn, t);
  for (int i = 0; i < 3; i++)
    glow_tensor_append(ctx, t, glow_tensor_create(ctx, type));
  const GlowNamedTensor named[] = {{glow_str(ctx, "a"), t->items[0]},
                                   {glow_str(ctx, "b"), t->items[1]}};
  glow_safetensors_write(&text, named, 2);
  glow_blob_from_safetensors(ctx, "p", text.data, text.size, GLOW_NOWHERE);
  GlowImageOptions o = {0};
  GlowTensor *image = picture(ctx, png, sizeof png, &o);
  glow_defer_push(ctx, &image_defer, glow_tensor_free_fn, image);
  glow_tensor_print(&text, image);
  glow_defer_pop(ctx, &image_defer, true);
  glow_tensor_free(picture(ctx, jpeg, sizeof jpeg, &o));
  glow_defer_pop(ctx, &tensor_defer, true);
  glow_defer_pop(ctx, &text_defer, true);
}

/* Lets the first, the second, ... allocation fail, until all succeed. */
static void test_no_memory(void) {
  GlowStatus status = GLOW_NO_MEMORY;
  for (long n = 0; status == GLOW_NO_MEMORY && n < 10000; n++) {
    GlowContext *ctx = glow_context_create();
    glow_context_set_diagnostic_fn(ctx, keep_diagnostic, NULL);
    allowance = n;
    status = glow_protect(ctx, use_everything, NULL);
    allowance = -1;
    if (glow_protect(ctx, use_everything, NULL) != GLOW_OK) /* the context still works */
      CHECK(!"used again");
    glow_context_destroy(ctx);
  }
  CHECK(status == GLOW_OK);
}

static void run(GlowContext *ctx, void *arg) {
  (void)arg;
  test_half();
  test_small_floats();
  test_kinds();
  test_types(ctx);
  test_relations(ctx);
  test_layouts(ctx);
  test_elements(ctx);
  test_printing(ctx);
  test_compare(ctx);
  test_random(ctx);
  test_npy(ctx);
  test_npy_headers(ctx);
  test_safetensors(ctx);
  test_safetensors_headers(ctx);
  test_png(ctx);
  test_jpeg(ctx);
  test_pnm(ctx);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return 3;
  glow_context_set_diagnostic_fn(ctx, keep_diagnostic, NULL);
  ctx->error_limit = 0;
  CHECK(glow_protect(ctx, run, NULL) == GLOW_OK);
  glow_context_destroy(ctx);
  test_no_memory();
  return unit_finish();
}
