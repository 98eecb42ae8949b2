"""Random nodes of com.microsoft on bytes, which integer-bytes compares: makers as it has them, of a
model `m` and a number `i`.

A result of bytes has a scale that leaves few of them at the ends. ONNX Runtime multiplies by
quotients of scales, so its bytes are other ones at ties."""


def scale(m, count=None):
    return m.np.exp(m.r.uniform(-5, -1, count)).astype("f4")


def shape(m, rank):
    return tuple(int(v) for v in m.r.integers(1, 12, rank))


def quantized(m, name, kind, dims, constant=False):
    """The names of a tensor of bytes, its scale and its zero point; and the scale."""
    s, stored = scale(m), m.stored(kind, dims)
    data = m.constant(name, kind, stored) if constant else m.input(name, kind, stored)
    return [data, m.constant(f"{name}.scale", "float", s), m.constant(f"{name}.zero", kind, m.zero(kind))], s


def result(m, i, kind, s):
    return [m.constant(f"ys{i}", "float", m.np.float32(s)), m.constant(f"yz{i}", kind, m.zero(kind))]


def node(m, op, ins, outs, **attrs):
    m.node(op, ins, outs, domain="com.microsoft", **attrs)


def binary(op, reach):
    def make(m, i):
        kind, dims = m.pick("u8", "i8"), shape(m, m.pick(1, 2, 3, 4))
        other = tuple(m.pick(d, d, 1) for d in dims[m.pick(0, len(dims) // 2):])
        (a, s), (b, t) = quantized(m, f"a{i}", kind, dims), quantized(m, f"b{i}", kind, other, m.pick(True, False))
        node(m, op, a + b + result(m, i, kind, reach(s, t)), [f"y{i}"])
    return make


def unary(op, reach, **attrs):
    def make(m, i):
        kind = m.pick("u8", "i8")
        a, s = quantized(m, f"a{i}", kind, shape(m, m.pick(1, 2, 3)))
        node(m, op, a + result(m, i, kind, reach(s)), [f"y{i}"], **attrs)
    return make


def global_pool(m, i):
    kind = m.pick("u8", "i8")
    a, s = quantized(m, f"a{i}", kind, shape(m, 4))
    node(m, "QLinearGlobalAveragePool", a + result(m, i, kind, s), [f"y{i}"], channels_last=m.pick(0, 1))


def average_pool(m, i):
    kind, kernel = m.pick("u8", "i8"), [m.pick(1, 2, 3) for _ in range(2)]
    pads = [int(m.r.integers(0, k)) for k in kernel * 2]
    image = [k + int(m.r.integers(0, 9)) for k in kernel]
    a, s = quantized(m, f"a{i}", kind, shape(m, 2) + tuple(image))
    node(m, "QLinearAveragePool", a + result(m, i, kind, s), [f"y{i}"], kernel_shape=kernel, pads=pads,
         strides=[m.pick(1, 2) for _ in range(2)], count_include_pad=m.pick(0, 1))


def softmax(m, i):
    kind, rank = m.pick("u8", "i8"), m.pick(2, 3)
    a, _ = quantized(m, f"a{i}", kind, tuple(d + 1 for d in shape(m, rank)))
    # With another zero point, or one element to a row, 1 wraps round in ONNX Runtime.
    to = [m.constant(f"ys{i}", "float", 1 / 256), m.constant(f"yz{i}", kind, 0 if kind == "u8" else -128)]
    node(m, "QLinearSoftmax", a + to, [f"y{i}"], opset=m.pick(12, 13),
         axis=int(m.r.integers(-rank, rank)))


def where(m, i):
    kind, dims = m.pick("u8", "i8"), shape(m, 3)
    (a, s), (b, t) = quantized(m, f"a{i}", kind, dims), quantized(m, f"b{i}", kind, dims[1:])
    picks = m.constant(f"c{i}", "bool", m.r.random(dims[:1] + (1, dims[2])) < 0.5)
    node(m, "QLinearWhere", [picks] + a + b + result(m, i, kind, max(s, t)), [f"y{i}"])


def concat(m, i):
    kind, dims, ins, most = m.pick("u8", "i8"), shape(m, 3), [], 0
    for k in range(m.pick(1, 2, 3)):
        a, s = quantized(m, f"a{i}.{k}", kind, (dims[0], int(m.r.integers(1, 9)), dims[2]))
        ins, most = ins + a, max(most, s)
    node(m, "QLinearConcat", result(m, i, kind, most) + ins, [f"y{i}"], axis=1)


def weights(m, i, k, n):
    """A matrix of bytes, its scales, one or one for each column, and as many zero points."""
    kind, each = m.pick("u8", "i8"), m.pick(None, None, n)
    return ([m.constant(f"w{i}", kind, m.stored(kind, (k, n))), m.constant(f"ws{i}", "float", scale(m, each)),
             m.constant(f"wz{i}", kind, m.np.full(() if each is None else (n,), m.zero(kind)))])


def real(m, dims):
    return m.np.asarray(m.r.normal(0, 1, dims), "f4")


def integer_to_float(m, i):
    rows, k, n = (int(v) for v in m.r.integers(1, 70, 3))
    a, _ = quantized(m, f"a{i}", "u8", (rows, k))
    w = weights(m, i, k, n)
    bias = [m.constant(f"b{i}", "float", real(m, n))] if m.pick(True, False) else []
    node(m, "MatMulIntegerToFloat", [a[0], w[0], a[1], w[1], a[2], w[2]] + bias, [f"y{i}"])


def dynamic_product(m, i):
    rows, k, n = (int(v) for v in m.r.integers(1, 70, 3))
    w = weights(m, i, k, n)
    bias = [m.constant(f"b{i}", "float", real(m, n))] if m.pick(True, False) else []
    node(m, "DynamicQuantizeMatMul", [m.input(f"x{i}", "float", real(m, (rows, k))), *w] + bias, [f"y{i}"])


def qgemm(m, i):
    rows, k, n = (int(v) for v in m.r.integers(1, 70, 3))
    turned = m.pick(0, 1)
    a, s = quantized(m, f"a{i}", "u8", (k, rows) if turned else (rows, k))
    w = weights(m, i, k, n)
    bias = m.constant(f"b{i}", "i32", m.r.integers(-20000, 20000, n))
    to = [] if m.pick(True, False) else result(m, i, "u8", 60 * s * k ** 0.5 / 30)
    node(m, "QGemm", a + w + [bias] + to, [f"y{i}"], transA=turned)


def attention(m, i):
    """Two sequences at most, of up to nine inputs; heads, masks of each form, past keys, a limit to earlier keys."""
    heads, size, batch, queries, before = (int(v) for v in m.r.integers(1, [5, 9, 3, 10, 6]))
    past, hidden = m.pick(True, False), heads * size
    keys = queries + before if past else queries
    inputs = int(m.r.integers(1, 40))
    a, _ = quantized(m, f"a{i}", "u8", (batch, queries, inputs))  # no other kind has a kernel there
    w = weights(m, i, inputs, 3 * hidden)
    bias = m.constant(f"b{i}", "float", real(m, 3 * hidden))
    form = m.pick("none", "ends", "both", "keys", "pairs")
    ends, starts = m.r.integers(1, keys + 1, batch), m.r.integers(0, keys, batch)
    mask = {"none": [], "ends": ends, "both": m.np.concatenate([ends, starts]),
            "keys": m.r.integers(0, 2, (batch, keys)), "pairs": m.r.integers(0, 2, (batch, queries, keys))}[form]
    name = m.constant(f"m{i}", "i32", mask) if form != "none" else ""
    ins = [a[0], w[0], bias, a[1], w[1], name, a[2], w[2]]
    outs = [f"y{i}"]
    if past:
        ins.append(m.input(f"p{i}", "float", real(m, (2, batch, heads, before, size))))
        outs.append(f"n{i}")
    node(m, "QAttention", ins, outs, num_heads=heads, unidirectional=m.pick(0, 1))


def lstm(m, i):
    steps, batch, inputs, hidden = (int(v) for v in m.r.integers(1, [9, 4, 20, 20]))
    directions = m.pick(1, 2)
    ins, more = [m.input(f"x{i}", "float", real(m, (steps, batch, inputs)))], []
    kind, each = m.pick("u8", "i8"), m.pick((directions,), (directions, 4 * hidden))
    for name, k in (("w", inputs), ("r", hidden)):
        ins.append(m.constant(f"{name}{i}", kind, m.stored(kind, (directions, k, 4 * hidden))))
        low = 128 if kind == "u8" else 0
        more += [m.constant(f"{name}s{i}", "float", m.r.uniform(0.002, 0.01, each)),
                 m.constant(f"{name}z{i}", kind, m.np.full(each, low))]
    ins += [m.constant(f"b{i}", "float", real(m, (directions, 8 * hidden))), "", "", "", ""]
    node(m, "DynamicQuantizeLSTM", ins + more, [f"y{i}", f"h{i}", f"c{i}"], hidden_size=hidden,
         direction="bidirectional" if directions == 2 else m.pick("forward", "reverse"))


def few_bits(m, i):
    """Weights of a few bits: blocks along k, zero points of bits, of floats, or none."""
    bits, block, (rows, k, n) = m.pick(4, 4, 8, 2), m.pick(16, 32, 64), (int(v) for v in m.r.integers(1, [9, 200, 70]))
    blocks = -(-k // block)
    ins = [m.input(f"x{i}", "float", real(m, (rows, k))),
           m.constant(f"w{i}", "u8", m.stored("u8", (n, blocks, block * bits // 8))),
           m.constant(f"ws{i}", "float", scale(m, n * blocks))]
    if m.pick(True, False):
        ins.append(m.constant(f"wz{i}", "u8", m.stored("u8", n * -(-blocks * bits // 8))))
    node(m, "MatMulNBits", ins, [f"y{i}"], K=k, N=n, bits=bits, block_size=block)


def bnb4(m, i):
    rows, k, n = int(m.r.integers(1, 9)), 2 * int(m.r.integers(1, 60)), int(m.r.integers(1, 70))
    block = m.pick(16, 32, 64)
    ins = [m.input(f"x{i}", "float", real(m, (rows, k))), m.constant(f"w{i}", "u8", m.stored("u8", k * n // 2)),
           m.constant(f"ws{i}", "float", scale(m, -(-k * n // block)))]
    node(m, "MatMulBnb4", ins, [f"y{i}"], K=k, N=n, block_size=block, quant_type=m.pick(0, 1))


def gather_rows(m, i):
    """Rows of a table of 4 bits, whose blocks run along them."""
    rows, blocks, block = int(m.r.integers(1, 40)), int(m.r.integers(1, 5)), m.pick(16, 32)
    columns = blocks * block
    picks = m.constant(f"k{i}", "i32", m.r.integers(0, rows, shape(m, 2)))
    ins = [m.constant(f"w{i}", "u8", m.stored("u8", (rows, columns // 2))), picks,
           m.constant(f"ws{i}", "float", scale(m, (rows, blocks)))]
    if m.pick(True, False):
        ins.append(m.constant(f"wz{i}", "u8", m.stored("u8", (rows, -(-blocks // 2)))))
    node(m, "GatherBlockQuantized", ins, [f"y{i}"], gather_axis=0, quantize_axis=1, block_size=block, bits=4)


MAKERS = {"QLinearAdd": binary("QLinearAdd", lambda s, t: s + t),
          "QLinearMul": binary("QLinearMul", lambda s, t: 100 * s * t),
          "QLinearSigmoid": unary("QLinearSigmoid", lambda s: 1 / 256),
          "QLinearLeakyRelu": unary("QLinearLeakyRelu", lambda s: s, alpha=0.25),
          "QLinearGlobalAveragePool": global_pool, "QLinearAveragePool": average_pool,
          "QLinearSoftmax": softmax, "QLinearWhere": where, "QLinearConcat": concat,
          "MatMulIntegerToFloat": integer_to_float, "DynamicQuantizeMatMul": dynamic_product,
          "QGemm": qgemm, "QAttention": attention, "DynamicQuantizeLSTM": lstm,
          "MatMulNBits": few_bits, "MatMulBnb4": bnb4, "GatherBlockQuantized": gather_rows}
FLOATS = {"DynamicQuantizeLSTM": 0.05}  # of what floats may differ by, of the largest one; else:
FLOAT = 2e-4


def agree(np, op, want, got):
    """Whether a result of a contributed operator is near enough."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    off = np.abs(want.astype("f8") - got)
    if want.dtype.kind in "iu":
        return off.max(initial=0) <= 1
    return off.max(initial=0) <= FLOATS.get(op, FLOAT) * max(1, np.abs(want).max(initial=0))
