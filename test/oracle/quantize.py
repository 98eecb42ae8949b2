"""Oracles of the quantized operators. Integers are Python's, so that sums wrap only where the text
says so; divisions and products of scales are done in float, as the definitions have it."""
from fractions import Fraction

import numpy as np

from oracle import Case, Result, Tensor, largest, limits, oracle, round_to, shape_text

NARROW = ["i8", "u8", "i16", "u16", "i4", "u4", "i2", "u2"]
FLOAT8 = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
BYTES = ["i8", "u8"]


def spread(values, shape, axis, block):
    """Parameters as an array that broadcasts over `shape`."""
    values = np.asarray(values)
    if values.size == 1 and not block:
        return values.reshape([1] * len(shape))
    if not block:
        return values.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.repeat(values, block, axis=axis)[tuple(slice(0, d) for d in shape)]


def parameters(g, kind, shape, scale_kind="float"):
    """A scale and a zero point for one of the three granularities, axis and block."""
    axis = g.integer(0, len(shape) - 1) if shape else 0
    how = g.pick(["tensor", "axis", "block"]) if shape else "tensor"
    block = g.integer(1, 3) if how == "block" else 0
    dims = () if how == "tensor" else (shape[axis],)
    if how == "block":
        dims = tuple(-(-d // block) if i == axis else d for i, d in enumerate(shape))
    scale = g.tensor(scale_kind, dims, low=0.01, high=2.0)
    lo, hi = limits(kind) if kind not in FLOAT8 else (0, 0)
    zero = g.tensor(kind, dims, low=lo, high=hi)
    return scale, zero, axis, block


def narrow(kind, v):
    return round_to(kind, np.asarray(v, np.float64)).astype(np.float64)


def quantized(kind, x, scale, zero, precision="float"):
    """clamp(rint(x / scale) + zero), the quotient in `precision`; NaN counts as 0."""
    q = np.rint(narrow(precision, narrow(precision, x) / scale))
    lo, hi = limits(kind)
    q = np.where(np.isnan(q), 0, np.clip(q, -2.0**40, 2.0**40))
    return np.clip(q + zero, lo, hi).astype(np.int64)


@oracle("Quantize", "Dequantize")
def typed(g, op):
    """Both ways, with scale and offset in the type."""
    for kind in ("i8", "u8", "i16", "i32"):
        low, high = limits(kind)
        scale, offset = 2.0 ** -g.integer(0, 6) * g.pick([1, 3]), g.integer(max(low, -90), min(high, 90))
        x = g.tensor("float", g.shape())
        q = quantized(kind, x.wide(), scale, offset)
        to = "float" if kind == "i32" else g.pick(["float", "float16", "double"])
        note = f"{kind}[S:{scale!r} O:{offset}]{shape_text(x.shape)}"
        back = narrow("float", narrow("float", (q - offset).astype(np.float64)) * scale)
        yield Case([x], [Result(to, back)], ulps=0,
                   body=[f"%q = Quantize($0) : {note}", f"%r0 = Dequantize(%q) {{to = {to}}}"])
        q = quantized(kind, x.wide(), 1, offset)
        yield Case([x], [Result("double", (q - offset).astype(np.float64))], ulps=0,
                   body=[f"%q = Quantize($0) {{steps = true}} : {note}",
                         "%r0 = Dequantize(%q) {to = double, steps = true}"])
    plain = [f"%r0 = {op}($0) : float<3>"]
    yield Case([g.tensor("float", (3,))], [Result("float", [0.0] * 3)], body=plain, error=op)


@oracle("LookupTable")
def lookup_table(g):
    for kind in BYTES:
        for to in BYTES:
            x, table = g.tensor(kind, g.shape()), g.tensor(to, (256,))
            yield Case([x, table], [Result(to, table.data[x.data.astype(np.int64) & 255])], ulps=0)
    yield Case([Tensor("u8", [1, 2]), Tensor("u8", [0] * 255)], error="256 bytes")


@oracle("QuantizeLinear")
def quantize_linear(g):
    for kind in NARROW:
        precision = g.pick(["float", "float16", "bfloat16"])
        x = g.tensor(g.pick(["float", "float16", "bfloat16", "i32"]), g.shape(low=1, zero=False))
        scale, zero, axis, block = parameters(g, kind, x.shape, precision)
        s, z = (spread(p.wide(), x.shape, axis, block).astype(np.float64) for p in (scale, zero))
        wide = narrow("float", x.wide().astype(np.float64))
        want = quantized(kind, wide, s, z, precision)
        members = f"axis = {axis}, block = {block}"
        yield Case([x, scale, zero], [Result(kind, want)], members=members)
        want = quantized(kind, wide, s, 0, precision)
        yield Case([x, scale], [Result(kind, want)], members=members + f", kind = {kind}")
    for kind in FLOAT8:
        # Without `saturate`, as Cast's: infinity or NaN.
        x = g.tensor("float", g.shape(low=1, zero=False))
        scale, zero, axis, block = parameters(g, kind, x.shape)
        q = narrow("float", x.wide() / spread(scale.wide(), x.shape, axis, block))
        members = f"axis = {axis}, block = {block}, saturate = false"
        # -0 + 0 is +0
        yield Case([x, scale, zero], [Result(kind, round_to(kind, q + 0.0))], members=members, ulps=0)
    yield Case([x, Tensor("float", [1.0] * (x.shape[0] + 1))], members="axis = 0", error="Scale")
    yield Case([x, Tensor("float", 1.0), Tensor("i8", 0)], members="block = -1", error="block is -1")


@oracle("DequantizeLinear")
def dequantize_linear(g):
    for kind in NARROW + FLOAT8 + ["i32"]:
        x = g.tensor(kind, g.shape(low=1, zero=False), special=kind not in FLOAT8)  # the Cast saturates
        to = g.pick(["float", "float16", "bfloat16"])
        scale, zero, axis, block = parameters(g, kind, x.shape, to)
        s, z = (spread(p.wide(), x.shape, axis, block).astype(np.float64) for p in (scale, zero))
        difference = narrow("float", x.wide().astype(np.float64) - z)
        want = narrow("float", difference * s)
        yield Case([x, scale, zero], [Result(to, want)], members=f"axis = {axis}, block = {block}",
                   ulps=0)
    yield Case([Tensor("u8", [1, 2]), Tensor("float", 1.0), Tensor("i8", 0)], error="ZeroPoint")


@oracle("DynamicQuantizeLinear")
def dynamic_quantize_linear(g):
    x = g.tensor("float", g.shape(zero=False), low=-3, high=3)
    for data in (x.data, np.abs(x.data), -np.abs(x.data), np.zeros_like(x.data)):
        low, high = np.minimum(data.min(), np.float32(0)), np.maximum(data.max(), np.float32(0))
        scale = (high - low) / np.float32(255)
        zero = np.rint(np.clip(np.float32(0) - low / scale, 0, 255))
        zero = 0 if np.isnan(zero) else int(zero)
        want = quantized("u8", data.astype(np.float64), scale, zero)
        yield Case([Tensor("float", data)],
                   [Result("u8", want), Result("float", scale), Result("u8", np.array(zero))], ulps=0)


def range_state(data):
    """Bins, count, exponent, bits of the smallest and largest element, NaN, infinities, and two zeros."""
    data = np.asarray(data, np.float32).ravel()
    finite = data[np.isfinite(data)].astype(np.float64) + 0.0
    state = np.zeros(4104, np.int64)
    state[4100:4102] = np.isnan(data).sum(), np.isinf(data).sum()
    if not finite.size:
        return state
    e = next(e for e in range(-126, 129) if all(-2.0**e <= v < 2.0**e for v in finite))
    for v in finite:
        state[int(np.floor(np.ldexp(v, 11 - e))) + 2048] += 1
    ends = np.array([finite.min(), finite.max()], np.float32).view(np.uint32)
    state[4096:4100] = finite.size, e, ends[0], ends[1]
    return state


@oracle("ObserveRange")
def observe_range(g):
    """One tensor and then another; that the order does not count follows from the expectation."""
    zeros = Tensor("i64", np.zeros(4104, np.int64))
    for low, high in ((None, None), (-1e-3, 1e-3), (0.0, 3.0), (-2.0**100, 2.0**100), (-1e-40, 1e-40)):
        x, y = (g.tensor("float", g.shape(), low=low, high=high) for _ in range(2))
        want = range_state(np.concatenate([x.data.ravel(), y.data.ravel()]))
        yield Case([x, y, zeros], [Result("i64", want)],
                   body=["%s = ObserveRange($0, $2)", "%r0 = ObserveRange($1, %s)"])
    for edge in (2.0, -2.0, np.nextafter(np.float32(2), np.float32(0)), -0.0, 2.0**-149, -2.0**-126):
        x = Tensor("float", np.array([edge], np.float32))
        yield Case([x, zeros], [Result("i64", range_state(x.data))])
    bad = np.zeros(4104, np.int64)
    bad[4096:4098] = 1, 129
    yield Case([Tensor("float", np.ones(3)), Tensor("i64", bad)], error="value of an operand is not allowed")
    yield Case([Tensor("float", np.ones(3)), Tensor("i64", np.zeros(4096, np.int64))], error="State must have type")


def matrices(g):
    batch = [g.integer(1, 3) for _ in range(g.integer(0, 2))]
    m, k, n = (g.integer(1, 5) for _ in range(3))
    return (*batch, m, k), (*(batch if g.integer(0, 1) else []), k, n)


def lines(g, kind, shape, summed, **kw):
    """One number, one for each row or column, or that for each matrix."""
    line = shape[-1] if summed == -2 else shape[-2]
    full = tuple(1 if i - len(shape) == summed else d for i, d in enumerate(shape))
    dims = g.pick([(), (1,), (line,), full])
    t = g.tensor(kind, dims, **kw)
    wide = t.wide()
    return t, wide.reshape(-1, 1) if dims == (line,) and line > 1 and summed == -1 else wide


def wrapped(v):
    return (v.astype(object) + 2**31) % 2**32 - 2**31


@oracle("MatMulInteger")
def mat_mul_integer(g):
    for a_kind in BYTES:
        for b_kind in BYTES:
            a_shape, b_shape = matrices(g)
            a, b = g.tensor(a_kind, a_shape), g.tensor(b_kind, b_shape)
            azero, az = lines(g, a_kind, a_shape, -1)
            bzero, bz = lines(g, b_kind, b_shape, -2)
            want = (a.data.astype(np.int64) - az) @ (b.data.astype(np.int64) - bz)
            yield Case([a, b, azero, bzero], [Result("i32", want)])
            yield Case([a, b], [Result("i32", a.data.astype(np.int64) @ b.data.astype(np.int64))])
    vector = g.tensor("u8", (a_shape[-1],))
    yield Case([a, vector], [Result("i32", a.data.astype(np.int64) @ vector.data.astype(np.int64))])
    yield Case([a, b, None, Tensor(b_kind, [1] * (b_shape[-1] + 1))], error="BZero")
    yield Case([a, b, Tensor("u8" if a_kind == "i8" else "i8", 1)], error="AZero")


@oracle("MatMulNBits")
def mat_mul_nbits(g):
    for bits in (2, 4, 8):
        block, depth, columns = g.pick([16, 32, 48]), g.integer(1, 100), g.integer(1, 40)
        blocks, in_word = -(-depth // block), 32 // bits
        a = g.tensor("float", g.pick([(), (3,), (2, 2)]) + (depth,), low=-4, high=4)
        words = g.tensor("u32", (-(-depth // in_word), columns))
        scale = g.tensor("float", (blocks, columns), low=0.01, high=1)
        zero = g.tensor("u8", (blocks, columns))
        q = np.stack([words.data.astype(np.int64) >> (i * bits) & (1 << bits) - 1 for i in range(in_word)], 1)
        q = q.reshape(-1, columns)[:depth]
        for z in (zero, None):
            point = spread(zero.data.astype(np.int64), q.shape, 0, block) if z else 1 << bits - 1
            w = narrow("float", (q - point) * spread(scale.wide(), q.shape, 0, block).astype(np.float64))
            want = a.wide().astype(np.float64) @ w
            yield Case([a, words, scale] + [z] * bool(z), ulps=8, members=f"bits = {bits}, block = {block}",
                       results=[Result("float", want, scale=np.abs(a.wide().astype(np.float64)) @ np.abs(w))])
    yield Case([a, words, Tensor("float", [[1.0]] * (blocks + 1))], members=f"bits = {bits}, block = {block}", error="Scale")


@oracle("QLinearMatMul")
def qlinear_mat_mul(g):
    for kind in BYTES:
        a_shape, b_shape = matrices(g)
        a, b = g.tensor(g.pick(BYTES), a_shape), g.tensor(g.pick(BYTES), b_shape)
        scale_kind = g.pick(["float", "float16", "bfloat16"])
        azero, az = lines(g, a.kind, a_shape, -1)
        bzero, bz = lines(g, b.kind, b_shape, -2)
        ascale, s = lines(g, scale_kind, a_shape, -1, low=0.01, high=1)
        bscale, t = lines(g, scale_kind, b_shape, -2, low=0.01, high=1)
        yscale = g.tensor(scale_kind, (), low=0.1, high=10)
        yzero = g.tensor(kind, ())
        total = (a.data.astype(np.int64) - az) @ (b.data.astype(np.int64) - bz)
        product = narrow("float", narrow("float", total) * narrow("float", s * t))
        want = quantized(kind, product, yscale.wide(), yzero.wide().astype(np.int64))
        yield Case([a, ascale, azero, b, bscale, bzero, yscale, yzero], [Result(kind, want)])
    two = Tensor(scale_kind, [1.0, 2.0])
    yield Case([a, ascale, azero, b, bscale, bzero, two, yzero], error="YScale has type")
    yield Case([a, ascale, azero, b, bscale, bzero, yscale, Tensor("i8", [1, 2])],
               error="YZero has type")
    yield from small_float_products(g)


def small_float_products(g):
    """Small integers, so that sums are exact; what is too large becomes the largest number."""
    for kind in FLOAT8:
        a, b = (g.tensor(kind, s, low=-7, high=7) for s in matrices(g))
        a.data, b.data = np.rint(a.data), np.rint(b.data)
        ascale, bscale = (g.tensor("float", (), low=0.01, high=9) for _ in "ab")
        total = narrow("float", a.wide() @ b.wide()) * narrow("float", ascale.wide() * bscale.wide())
        yscale = g.tensor("float", (), low=0.1, high=2)
        top = largest(kind)
        want = np.clip(narrow("float", narrow("float", total) / yscale.wide()), -top, top)
        zero = Tensor(kind, 0.0)
        yield Case([a, ascale, zero, b, bscale, zero, yscale, zero],
                   [Result(kind, round_to(kind, want + 0.0))], ulps=0)


def convolution(x, w, group, stride, pad, dilation, fill=0):
    """2-D, with exact integers; `x` is padded with `fill`."""
    x = np.pad(x.astype(np.int64), [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=fill)
    w = w.astype(np.int64)
    n, c, h, wd = x.shape
    o, ci, k, _ = w.shape
    reach = dilation * (k - 1) + 1
    y = np.zeros((n, o, (h - reach) // stride + 1, (wd - reach) // stride + 1), np.int64)
    for f in range(o):
        first = f // (o // group) * ci
        for i in range(y.shape[2]):
            for j in range(y.shape[3]):
                top, left = i * stride, j * stride
                box = x[:, first:first + ci, top:top + reach:dilation, left:left + reach:dilation]
                y[:, f, i, j] = (box * w[f]).sum((1, 2, 3))
    return y


def windows(g):
    """The shapes of X and W, and what `convolution` takes behind them."""
    group, ci, o = g.pick([1, 1, 2, 3]), g.pick([1, 2, 17]), g.pick([1, 2, 18])
    k, dilation = g.integer(1, 3), g.integer(1, 2)
    reach = dilation * (k - 1) + 1
    return (g.integer(1, 2), group * ci, g.integer(reach, 6), g.integer(reach, 6)), \
        (group * o, ci, k, k), (group, g.integer(1, 2), g.integer(0, k - 1), dilation)


def window_members(group, stride, pad, dilation):
    return (f"group = {group}, strides = [{stride}, {stride}], pads = [{pad}, {pad}, {pad}, {pad}], "
            f"dilations = [{dilation}, {dilation}]")


def narrow_convolutions(g):
    """Convolution of X of 8 bits, plain or quantized (its stored integers), and W of 8 or 16; what
    taps outside of X read is any value of its kind."""
    for x_kind in BYTES:
        xs, ws, window = windows(g)
        x, w = g.tensor(x_kind, xs), g.tensor(g.pick(["i8", "i16"]), ws)
        b = g.tensor("i32", (ws[0],)) if g.integer(0, 1) else None
        low, high = limits(x_kind)
        pad, offset = g.pick([0, low, high, g.integer(low, high)]), g.integer(low, high)
        want = convolution(x.data, w.data, *window, pad)
        want = wrapped(want + (b.data.astype(np.int64).reshape(1, -1, 1, 1) if b else 0))
        members = window_members(*window) + f", pad = {pad}"
        yield Case([x, w, b], [Result("i32", want)], members=members)
        last = [0, 2, 3, 1]
        turned = [Tensor(t.kind, np.ascontiguousarray(t.data.transpose(last))) for t in (x, w)]
        yield Case([*turned, b], [Result("i32", want.transpose(last))],
                   members=members + ", layout = NHWC")
        steps = Tensor("float", x.data.astype(np.float64) - offset)
        yield Case([steps, w, b], [Result("i32", want)],
                   body=[f"%q = Quantize($0) {{steps = true}} : {x_kind}[S:0.5 O:{offset}]{shape_text(xs)}",
                         f"%r0 = Convolution(%q, $1{', $2' if b else ''}) {{{members}}}"])
    yield Case([x, w], members=members + ", strategy = winograd", error="strategy = winograd")
    yield Case([x, Tensor("float", w.data)], members=members, error="X has type")
    yield Case([x, w, Tensor("float", [0.0] * ws[0])], members=members, error="B has type")
    yield Case([x, w], members=window_members(*window) + f", pad = {high + 1}", error=f"pad is {high + 1}")


def narrow_products(g):
    """A and B of a product of bytes, and what it is in i32."""
    for a_kind in BYTES:
        for b_kind in ["i8", "i16"]:
            a_shape, b_shape = matrices(g)
            a, b = g.tensor(a_kind, a_shape), g.tensor(b_kind, b_shape)
            yield a, b, wrapped(a.data.astype(np.int64) @ b.data.astype(np.int64))


def deep_product(g):
    """One that wraps: 66,312 products of 255 and -128."""
    k = 66312
    a, b = Tensor("u8", np.full((2, k), 255)), Tensor("i8", np.full((k, 1), -128))
    return a, b, wrapped(np.full((2, 1), -255 * 128 * k, np.int64))


@oracle("Rescale")
def rescale(g):
    """From one quantized type to another: dequantized and quantized in float."""
    for kind in BYTES:
        to = g.pick(BYTES)
        (low, high), (least, most) = limits(kind), limits(to)
        s, t = (2.0 ** -g.integer(0, 6) * g.pick([1, 3]) for _ in "st")
        o, p = g.integer(low, high), g.integer(least, most)
        x = g.tensor("float", g.shape())
        q = quantized(kind, x.wide(), s, o)
        real = narrow("float", (q - o).astype(np.float64) * s)
        r = quantized(to, real, t, p)
        text = shape_text(x.shape)
        yield Case([x], [Result("float", (r - p).astype(np.float64))], ulps=0,
                   body=[f"%q = Quantize($0) : {kind}[S:{s!r} O:{o}]{text}",
                         f"%r = Rescale(%q) : {to}[S:{t!r} O:{p}]{text}",
                         "%r0 = Dequantize(%r) {steps = true}"])
    yield Case([x], [Result("float", x.data)], body=["%r0 = Rescale($0) : float<3>"], error="Rescale")


@oracle("ConvInteger")
def conv_integer(g):
    for x_kind in BYTES:
        xs, ws, window = windows(g)
        x, w = g.tensor(x_kind, xs), g.tensor(g.pick(BYTES), ws)
        members = window_members(*window)
        xzero = g.tensor(x_kind, g.pick([(), (1,)]))
        wzero = g.tensor(w.kind, g.pick([(), (1,), (ws[0],)]))
        want = convolution(x.data.astype(np.int64) - xzero.data,
                           w.data.astype(np.int64) - wzero.data.reshape(-1, 1, 1, 1), *window)
        yield Case([x, w, xzero, wzero], [Result("i32", want)], members=members)
        yield Case([x, w], [Result("i32", convolution(x.data, w.data, *window))],
                   members=members)
    yield Case([x, w, Tensor(x_kind, [1, 2])], members=members, error="XZero has type")


@oracle("QLinearConv")
def qlinear_conv(g):
    for kind in BYTES:
        xs, ws, window = windows(g)
        x, w = g.tensor(g.pick(BYTES), xs), g.tensor(g.pick(BYTES), ws)
        members = window_members(*window)
        per = g.pick([(), (ws[0],)])
        xzero, wzero, yzero = g.tensor(x.kind, ()), g.tensor(w.kind, per), g.tensor(kind, ())
        xscale, wscale = g.tensor("float", (), low=0.01, high=1), g.tensor("float", per, low=0.01, high=1)
        yscale, bias = g.tensor("float", (), low=0.1, high=10), g.tensor("i32", (ws[0],), low=-9, high=9)
        total = convolution(x.data.astype(np.int64) - xzero.data,
                            w.data.astype(np.int64) - wzero.data.reshape(-1, 1, 1, 1), *window)
        total = total + bias.data.reshape(1, -1, 1, 1)
        scale = narrow("float", xscale.wide() * wscale.wide()).reshape(1, -1, 1, 1)
        want = quantized(kind, narrow("float", narrow("float", total) * scale), yscale.wide(),
                         yzero.wide().astype(np.int64))
        yield Case([x, xscale, xzero, w, wscale, wzero, yscale, yzero, bias], [Result(kind, want)],
                   members=members)
    wrong = Tensor("float", [1.0] * (ws[0] + 1))
    yield Case([x, xscale, xzero, w, wrong, wzero, yscale, yzero], members=members,
               error="WScale has type")


def sums_state(x, axis):
    """Of each slice along the axis: the sum in units of 2^-149, in digits of 32 bits, the last one with the sign; the
    number of finite elements."""
    rows = np.moveaxis(np.asarray(x, np.float32), axis, 0)
    state = np.zeros((rows.shape[0], 10), np.int64)
    for place, row in zip(state, rows.reshape(rows.shape[0], -1)):
        finite = [Fraction(float(v)) for v in row if np.isfinite(v)]
        total = sum(finite, Fraction(0)) * 2**149
        assert total.denominator == 1
        place[:8] = [int(total) >> 32 * i & 0xFFFFFFFF for i in range(8)]
        place[8:] = int(total) >> 256, len(finite)
    return state


@oracle("ObserveSums")
def observe_sums(g):
    """One tensor and then another, as one; sums that cancel, ends of the kind, NaN and infinities."""
    for low, high in ((None, None), (-1e-3, 1e-3), (-2.0**127, 2.0**127), (-1e-40, 1e-40), (0.0, 3.4e38)):
        shape = g.shape(low=1, zero=False)
        axis = g.integer(-len(shape), len(shape) - 1)
        x, y = (g.tensor("float", shape, low=low, high=high) for _ in range(2))
        zeros = Tensor("i64", np.zeros((shape[axis], 10), np.int64))
        want = sums_state(np.stack([x.data, y.data], -1), axis % len(shape))
        yield Case([x, y, zeros], [Result("i64", want)],
                   body=[f"%s = ObserveSums($0, $2) {{axis = {axis}}}", f"%r0 = ObserveSums($1, %s) {{axis = {axis}}}"])
    ends = np.array([[2.0**-149, -(2.0**-126), np.inf, -0.0], [3.4028235e38, 3.4028235e38, np.nan, 3.4028235e38],
                     [-3.4028235e38, 2.0**-149, -3.4028235e38, 1]], np.float32)
    zeros = Tensor("i64", np.zeros((3, 10), np.int64))
    yield Case([Tensor("float", ends), zeros], [Result("i64", sums_state(ends, 0))], members="axis = 0")
    yield Case([Tensor("float", ends), zeros], members="axis = 1", error="State must have type i64<4 x 10>")
    yield Case([Tensor("float", ends), zeros], members="axis = 2", error="axis 2")
