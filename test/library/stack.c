/* Element-wise instructions of any operator and kind, and stacks of some. */
#include "test/library/cases.h"

#include "ops/op.h"

static const GlowKindSet numbers = NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL);
static const GlowKindSet smalls =
    GLOW_KIND_BIT(GLOW_KIND_FLOAT8E4M3FN) | GLOW_KIND_BIT(GLOW_KIND_FLOAT8E4M3FNUZ) |
    GLOW_KIND_BIT(GLOW_KIND_FLOAT8E5M2) | GLOW_KIND_BIT(GLOW_KIND_FLOAT8E5M2FNUZ) |
    GLOW_KIND_BIT(GLOW_KIND_FLOAT8E8M0);
static const GlowKindSet wide = GLOW_KIND_BIT(GLOW_KIND_I32) | GLOW_KIND_BIT(GLOW_KIND_U32);
static const GlowKindSet quantized =
    INTEGERS & ~(GLOW_KIND_BIT(GLOW_KIND_I64) | GLOW_KIND_BIT(GLOW_KIND_U64));

/* An operand that is repeated along some axes, or lacks the first ones. */
static Shape draw_operand(Program *p, const Shape *y, GlowKind kind) {
  Shape s = *y;
  s.kind = kind;
  if (draw(p, 2))
    return s;
  int lacks = draw_in(p, 0, y->rank);
  s.rank -= lacks;
  for (int a = 0; a < s.rank; a++)
    s.dims[a] = draw(p, 3) ? y->dims[a + lacks] : 1;
  return s;
}

static Shape draw_result(Program *p, GlowKind kind) {
  Shape s = draw_shape(p, kind, 0, 5, 5);
  if (s.rank)
    s.dims[s.rank - 1] = draw_in(p, 1, 70);
  return s;
}

/* ---- Operators ------------------------------------------------------------------------------- */

/* One with a scalar body. */
static const GlowOpDesc *draw_operator(Program *p) {
  const GlowOpDesc *d;
  do
    d = &glow_op_desc[draw(p, GLOW_OP_COUNT)];
  while (!d->has_scalar || GLOW_HAS(d, NODE_ONLY) || d->nout != 1 || !d->lanes ||
         (d->nvars && !(d->vars[0].kinds & numbers)));
  return d;
}

/* The kind of a port; `kinds` by type variable. */
static GlowKind kind_of(const GlowOpPort *port, const GlowKind *kinds) {
  return port->type == GLOW_PORT_VAR ? kinds[port->var] : (GlowKind)port->var;
}

/* Operand i: the first is as large as the result, optional ones are one number. */
static void put_operand(Program *p, const GlowOpDesc *d, uint32_t i, GlowKind kind,
                        const Shape *y) {
  bool optional = d->in[i].flags & GLOW_PORT_OPTIONAL;
  Shape s = *y;
  s.kind = kind;
  if (optional)
    s.rank = 0;
  else if (i && d->infer == GLOW_INFER_BROADCAST)
    s = draw_operand(p, y, kind);
  if (optional && draw(p, 3) == 0)
    put(p, ", @in none");
  else
    put(p, ", @in @v%d", declare(p, &s));
}

/* Another value than the default. */
static void put_member(Program *p, const GlowMember *m) {
  static const char *const values[] = {"0.5", "-1.5", "0.0", "2.0"};
  if (m->array || m->instr_only || draw(p, 2))
    return;
  if (m->type == GLOW_MEMBER_BOOL)
    put(p, "%s = true, ", m->name);
  else if (m->type == GLOW_MEMBER_FLOAT)
    put(p, "%s = %s, ", m->name, values[draw(p, 4)]);
  else if (m->type == GLOW_MEMBER_ENUM)
    put(p, "%s = %s, ", m->name, m->enumeration->values[draw(p, m->enumeration->count)]);
}

static void put_operator(Program *p) {
  const GlowOpDesc *d = draw_operator(p);
  GlowKind kinds[8];
  for (uint32_t i = 0; i < d->nvars; i++)
    kinds[i] = draw_kind(p, d->vars[i].kinds & numbers);
  Shape y = draw_result(p, kind_of(&d->out[0], kinds));
  int out = declare(p, &y);
  bool in_place = d->ninplace && !d->inplace[0].in && draw(p, 4) == 0;
  put(p, "  %s @out @v%d", d->instr, out);
  if (in_place)
    put(p, ", @in @v%d", out);
  for (uint32_t i = in_place; i < d->nin; i++)
    put_operand(p, d, i, kind_of(&d->in[i], kinds), &y);
  put(p, " {");
  for (uint32_t i = 0; i < d->nmembers; i++)
    put_member(p, &d->members[i]);
  put_shards(p);
}

/* ---- Conversions ----------------------------------------------------------------------------- */

static void put_cast(Program *p) {
  GlowKind from = draw_kind(p, numbers | smalls), to = draw_kind(p, numbers | smalls);
  Shape x = draw_result(p, from), y = x;
  y.kind = to;
  put(p, "  cast @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, " {to = %s, overflow = %s, ", glow_kind_info[to].name, draw(p, 2) ? "true" : "false");
  put_shards(p);
}

static void put_rescale(Program *p) {
  Shape x = draw_result(p, draw_kind(p, quantized)), y = x;
  y.kind = draw_kind(p, quantized);
  x.quantized = "S:0.05 O:3";
  y.quantized = "S:0.75 O:101";
  put(p, "  rescale @out @v%d", declare(p, &y));
  put(p, ", @in @v%d {", declare(p, &x));
  put_shards(p);
}

/* Quantize, or Dequantize; or Rescale. */
static void put_quantize(Program *p) {
  if (draw(p, 4) == 0) {
    put_rescale(p);
    return;
  }
  bool quantizes = draw(p, 2);
  Shape real = draw_result(p, draw_kind(p, FLOATS)), stored = real;
  stored.kind = draw_kind(p, quantized);
  stored.quantized = "S:0.05 O:3";
  const Shape *x = quantizes ? &real : &stored, *y = quantizes ? &stored : &real;
  put(p, "  %s @out @v%d", quantizes ? "quantize" : "dequantize", declare(p, y));
  put(p, ", @in @v%d {", declare(p, x));
  if (!quantizes)
    put(p, "to = %s, ", glow_kind_info[real.kind].name);
  put(p, "steps = %s, ", draw(p, 2) ? "true" : "false");
  put_shards(p);
}

/* QuantizeLinear, or DequantizeLinear, with a scale for all or for each slice of an axis. */
static void put_linear(Program *p) {
  bool quantizes = draw(p, 2), each = draw(p, 2);
  const GlowKindSet narrow = quantized & ~wide, reals = FLOATS & ~GLOW_KIND_BIT(GLOW_KIND_DOUBLE);
  Shape real = draw_shape(p, draw_kind(p, reals), 1, 4, 12), stored = real;
  stored.kind = draw_kind(p, quantizes ? narrow : narrow | GLOW_KIND_BIT(GLOW_KIND_I32));
  int axis = (int)draw(p, (uint32_t)real.rank);
  const Shape scale = shape(real.kind, NULL, each, real.dims[axis]);
  const Shape zero = shape(stored.kind, NULL, each, real.dims[axis]);
  const Shape *x = quantizes ? &real : &stored, *y = quantizes ? &stored : &real;
  put(p, "  %s @out @v%d", quantizes ? "quantize_linear" : "dequantize_linear", declare(p, y));
  put(p, ", @in @v%d, @in @v%d", declare(p, x), declare(p, &scale));
  if (draw(p, 2) || stored.kind != GLOW_KIND_U8)
    put(p, ", @in @v%d", declare(p, &zero));
  else
    put(p, ", @in none");
  put(p, " {axis = %d, ", axis);
  put_shards(p);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* In blocks of channels too, whose padding stays zero. What is the same for all elements, or for a
 * row, is the first operand of a step, too, and all that one reads. */
static void put_stack(Program *p) {
  Shape y = draw_result(p, GLOW_KIND_FLOAT), s;
  if (draw(p, 3) == 0)
    y = shape(GLOW_KIND_FLOAT, "NCHW16c", 4, draw_in(p, 1, 2), draw_in(p, 1, 36), 3,
              draw_in(p, 1, 5));
  s = y.layout ? y : draw_operand(p, &y, GLOW_KIND_FLOAT);
  int first = declare(p, &y), second = declare(p, &y);
  put(p, "  stack @out @v%d, @out @v%d", first, second);
  put(p, ", @in @v%d, @in @v%d {", draw(p, 3) ? declare(p, &y) : first, declare(p, &s));
  put_shards(p);
  put(p, "    ^body(%%x : float<>, %%s : float<>) = {\n"
         "      %%0 = Exp(%%x) : float<>\n"
         "      %%half = Splat() {value = 0.5} : float<>\n"
         "      %%1 = Mul(%%half, %%0) : float<>\n"
         "      %%2 = Exp(%%s) : float<>\n"
         "      %%3 = Sub(%%2, %%1) : float<>\n"
         "      %%4 = Max(%%s, %%x) : float<>\n"
         "      yield %%3, %%4\n    }\n");
}

/* Two steps of arithmetic, of which the second reads the first as either operand. */
static void put_pair(Program *p) {
  static const char *const operators[] = {"Add", "Sub", "Mul", "Div"};
  const GlowKindSet whole = GLOW_KIND_BIT(GLOW_KIND_I32) | GLOW_KIND_BIT(GLOW_KIND_I64);
  const GlowKindSet real = GLOW_KIND_BIT(GLOW_KIND_FLOAT) | GLOW_KIND_BIT(GLOW_KIND_DOUBLE);
  const GlowKind kind = draw_kind(p, draw(p, 3) ? real : whole);
  const char *name = glow_kind_info[kind].name;
  const Shape y = draw_result(p, kind);
  const Shape b = draw_operand(p, &y, kind), c = draw_operand(p, &y, kind);
  const int out = declare(p, &y), ins[] = {declare(p, &y), declare(p, &b), declare(p, &c)};
  const char *first = operators[draw(p, 3)];
  const char *second = operators[draw(p, GLOW_KIND_BIT(kind) & real ? 4 : 3)];
  put(p, "  stack @out @v%d, @in @v%d, @in @v%d, @in @v%d {", out, ins[0], ins[1], ins[2]);
  put_shards(p);
  put(p, "    ^body(%%a : %s<>, %%b : %s<>, %%c : %s<>) = {\n", name, name, name);
  put(p, "      %%0 = %s(%s) : %s<>\n", first, draw(p, 2) ? "%a, %b" : "%b, %a", name);
  put(p, "      %%1 = %s(%s) : %s<>\n", second, draw(p, 2) ? "%0, %c" : "%c, %0", name);
  put(p, "      yield %%1\n    }\n");
}

/* The sum or difference of two products. At times something else reads one of them, or they are
 * doubles. */
static void put_products(Program *p) {
  const GlowKind kind = draw(p, 4) ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
  const char *name = glow_kind_info[kind].name;
  const Shape y = draw_result(p, kind), b = draw_operand(p, &y, kind),
              c = draw_operand(p, &y, kind);
  const bool two = draw(p, 4) == 0;
  const int out = declare(p, &y), other = two ? declare(p, &y) : 0;
  put(p, "  stack @out @v%d", out);
  if (two)
    put(p, ", @out @v%d", other);
  put(p, ", @in @v%d, @in @v%d", draw(p, 4) ? declare(p, &y) : out, declare(p, &b));
  put(p, ", @in @v%d {", declare(p, &c));
  put_shards(p);
  put(p, "    ^body(%%a : %s<>, %%b : %s<>, %%c : %s<>) = {\n", name, name, name);
  put(p, "      %%0 = Mul(%s) : %s<>\n", draw(p, 2) ? "%a, %b" : "%b, %c", name);
  put(p, "      %%1 = Mul(%s) : %s<>\n", draw(p, 2) ? "%c, %a" : "%b, %b", name);
  put(p, "      %%2 = %s(%%0, %%1) : %s<>\n", draw(p, 2) ? "Add" : "Sub", name);
  put(p, "      yield %%2%s\n    }\n", two ? ", %0" : "");
}

/* A cell of a recurrent network, whose state may be updated in place, and which rows of a few
 * registers take without calls. */
static void put_cell(Program *p) {
  const Shape y = draw_result(p, GLOW_KIND_FLOAT), b = draw_operand(p, &y, GLOW_KIND_FLOAT);
  const int state = declare(p, &y), out = declare(p, &y), gate = declare(p, &y);
  put(p, "  stack @out @v%d, @out @v%d", state, out);
  put(p, ", @in @v%d, @in @v%d", draw(p, 2) ? state : declare(p, &y), gate);
  put(p, ", @in @v%d {", draw(p, 2) ? declare(p, &b) : gate);
  put_shards(p);
  put(p,
      "    ^body(%%c : float<>, %%f : float<>, %%i : float<>) = {\n"
      "      %%0 = Sigmoid(%%f) : float<>\n"
      "      %%1 = Mul(%%0, %%c) : float<>\n"
      "      %%2 = %s(%%i) : float<>\n",
      draw(p, 2) ? "Tanh" : "Relu");
  put(p, "      %%3 = Mul(%%i, %%2) : float<>\n"
         "      %%4 = Add(%%1, %%3) : float<>\n"
         "      %%one = Splat() {value = 1.0} : float<>\n"
         "      %%5 = Exp(%%4) : float<>\n"
         "      %%6 = Sub(%%one, %%0) : float<>\n"
         "      %%7 = Mul(%%6, %%5) : float<>\n"
         "      yield %%4, %%7\n    }\n");
}

/* A cube in double; at times the square, or the sum of all powers. */
static void put_cube(Program *p) {
  const Shape y = draw_result(p, GLOW_KIND_FLOAT), x = draw_operand(p, &y, GLOW_KIND_FLOAT);
  const int out = declare(p, &y);
  put(p, "  stack @out @v%d, @in @v%d, @in @v%d {", out, declare(p, &x), declare(p, &y));
  put_shards(p);
  put(p, "    ^body(%%x : float<>, %%s : float<>) = {\n"
         "      %%0 = Cast(%%x) {to = double} : double<>\n"
         "      %%1 = Mul(%%0, %%0) : double<>\n"
         "      %%2 = Mul(%%1, %%0) : double<>\n");
  const int last = draw(p, 3) ? 2 : draw_in(p, 1, 3);
  if (last == 3)
    put(p, "      %%6 = Add(%%0, %%2) : double<>\n      %%3 = Add(%%1, %%6) : double<>\n");
  put(p, "      %%4 = Cast(%%%d) {to = float} : float<>\n", last);
  put(p, "      %%5 = Sub(%%4, %%s) : float<>\n      yield %%5\n    }\n");
}

/* A stack with two operands, up to its body. */
static void begin_stack(Program *p, const Shape *y, const Shape *a, const Shape *b) {
  put(p, "  stack @out @v%d", declare(p, y));
  put(p, ", @in @v%d, @in @v%d {", declare(p, a), declare(p, b));
  put_shards(p);
}

/* What sums of bytes become: floats, times a scale, or quantized. */
static void put_scale(Program *p) {
  static const GlowKind kinds[] = {GLOW_KIND_FLOAT, GLOW_KIND_I8, GLOW_KIND_U8, GLOW_KIND_I16};
  Shape y = draw_result(p, kinds[draw(p, 4)]);
  const Shape x = draw_operand(p, &y, GLOW_KIND_I32), s = draw_operand(p, &y, GLOW_KIND_FLOAT);
  const bool plain = y.kind == GLOW_KIND_FLOAT;
  if (!plain)
    y.quantized = "S:0.05 O:3";
  begin_stack(p, &y, &x, &s);
  put(p, "    ^body(%%a : i32<>, %%s : float<>) = {\n"
         "      %%0 = Cast(%%a) {to = float} : float<>\n");
  put(p, "      %%1 = Mul(%s) : float<>\n", draw(p, 2) ? "%0, %s" : "%s, %0");
  if (!plain)
    put(p, "      %%2 = Quantize(%%1) : %s[S:0.05 O:3]<>\n", glow_kind_info[y.kind].name);
  put(p, "      yield %s\n    }\n", plain ? "%1" : "%2");
}

/* The sum of three doubles as a float, of which one may be a product. */
static void put_sum(Program *p) {
  const Shape y = draw_result(p, GLOW_KIND_FLOAT);
  const Shape a = draw_operand(p, &y, GLOW_KIND_DOUBLE), b = draw_operand(p, &y, GLOW_KIND_DOUBLE);
  const Shape c = draw_operand(p, &y, GLOW_KIND_DOUBLE);
  put(p, "  stack @out @v%d", declare(p, &y));
  put(p, ", @in @v%d, @in @v%d", declare(p, &a), declare(p, &b));
  put(p, ", @in @v%d {", declare(p, &c));
  put_shards(p);
  put(p, "    ^body(%%a : double<>, %%b : double<>, %%c : double<>) = {\n");
  put(p, "      %%0 = Mul(%%a, %%%s) : double<>\n", draw(p, 2) ? "b" : "c");
  const char *both = draw(p, 2) ? "%0, %b" : "%b, %0";
  put(p, "      %%1 = Add(%s) : double<>\n", draw(p, 3) ? both : "%a, %b");
  put(p, "      %%2 = Add(%s) : double<>\n", draw(p, 2) ? "%1, %c" : "%c, %1");
  put(p, "      %%3 = Cast(%%2) {to = float} : float<>\n      yield %%3\n    }\n");
}

/* An exponential of a difference, which something else reads at times. */
static void put_exponential(Program *p) {
  const Shape y = draw_result(p, GLOW_KIND_FLOAT), m = draw_operand(p, &y, GLOW_KIND_FLOAT);
  begin_stack(p, &y, &y, &m);
  put(p, "    ^body(%%x : float<>, %%m : float<>) = {\n");
  put(p, "      %%0 = Sub(%s) : float<>\n", draw(p, 2) ? "%x, %m" : "%m, %x");
  put(p, "      %%1 = Exp(%%0) : float<>\n");
  put(p, "      %%2 = Mul(%%1, %s) : float<>\n", draw(p, 3) ? "%m" : "%0");
  put(p, "      yield %s\n    }\n", draw(p, 2) ? "%1" : "%2");
}

/* Indices from the end, or what is nearly so: another number than 0, or another value. */
static void put_wrap(Program *p) {
  const Shape y = draw_result(p, GLOW_KIND_I64), n = draw_operand(p, &y, GLOW_KIND_I64);
  begin_stack(p, &y, &y, &n);
  put(p, "    ^body(%%x : i64<>, %%n : i64<>) = {\n");
  put(p, "      %%zero = Splat() {value = %s} : i64<>\n", draw(p, 4) ? "0" : "3");
  put(p, "      %%0 = Less(%s, %%zero) : bool<>\n", draw(p, 4) ? "%x" : "%n");
  put(p, "      %%1 = %s(%%x, %%n) : i64<>\n", draw(p, 2) ? "Add" : "Sub");
  put(p, "      %%2 = Where(%%0, %%1, %s) : i64<>\n", draw(p, 4) ? "%x" : "%n");
  put(p, "      yield %%2\n    }\n");
}

void case_stack(Program *p) {
  static Case *const cases[] = {put_stack,    put_cast,     put_quantize,    put_linear,
                                put_pair,     put_scale,    put_products,    put_cube,
                                put_sum,      put_cell,     put_exponential, put_wrap,
                                put_operator, put_operator, put_operator,    put_operator,
                                put_operator};
  cases[draw(p, sizeof cases / sizeof *cases)](p);
}

void case_logic(Program *p) {
  static const char *const names[] = {"and", "or", "xor", "not"};
  const int name = (int)draw(p, 4);
  Shape x = draw_shape(p, GLOW_KIND_BOOL, 0, 3, 6);
  if (draw(p, 2))
    x = shape(GLOW_KIND_BOOL, NULL, 1, draw_in(p, 1, 9000));
  put(p, "  %s @out @v%d", names[name], declare(p, &x));
  put(p, ", @in @v%d", declare(p, &x));
  if (name < 3)
    put(p, ", @in @v%d", declare(p, &x));
  put(p, " {");
  put_shards(p);
}

void case_lookup(Program *p) {
  const GlowKindSet bytes = GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8);
  Shape x = draw_shape(p, draw_kind(p, bytes), 0, 4, 9), y;
  if (draw(p, 2))
    x = shape(x.kind, NULL, 1, draw_in(p, 1, 9000));
  else if (draw(p, 2))
    x = shape(x.kind, "NCHW16c", 4, draw_in(p, 1, 3), draw_in(p, 1, 40), 3, 5);
  y = x;
  y.kind = draw_kind(p, bytes);
  const Shape table = shape(y.kind, NULL, 1, 256);
  put(p, "  lookup_table @out @v%d", declare(p, &y));
  put(p, ", @in @v%d", declare(p, &x));
  put(p, ", @in @v%d {", declare(p, &table));
  put_shards(p);
}
