"""Oracles of contractions and pooling: loops over windows in double, and numpy's einsum."""
import itertools

import numpy as np

import bf16
import quantize
from oracle import FLOATS, INTS, Case, Result, Tensor, limits, oracle

NUMS = FLOATS + INTS
WIDE = ["i32", "i64", "u32", "u64"]  # of which MatMul gives products in the same kind


def values(g, kind, shape, special=True):
    """Moderate values; for floats now and then a zero of either sign, NaN or an infinity."""
    if kind in INTS:
        return g.tensor(kind, shape)
    t = g.tensor(kind, shape, low=-2.0, high=2.0)
    if special and t.data.size and g.integer(0, 5) == 0:
        t.data.reshape(-1)[g.integer(0, t.data.size - 1)] = g.pick([0.0, -0.0, np.nan, np.inf])
    return t


def wrap(kind, v):
    """Integers of any size, wrapped to the kind."""
    low, high = limits(kind)
    span = high - low + 1
    return np.vectorize(lambda x: (int(x) - low) % span + low, otypes=[object])(v) if v.size else v


def wide(t):
    """Floats in a wider kind; integers in one that wraps at 64 bits."""
    return t.data.astype(np.int64) if t.kind in INTS else t.wide()


def contraction(kind, f, *operands):
    """Result of f (multilinear) and S, the same over absolute values."""
    with np.errstate(all="ignore"):
        y = np.asarray(f(*(wide(t) for t in operands)))
        if kind in INTS:
            return Result(kind, wrap(kind, y).astype(np.int64 if kind != "u64" else np.uint64))
        size = f(*(np.nan_to_num(np.abs(t.wide()), posinf=0) for t in operands))
    return Result(kind, y, scale=size)


# ---- products ------------------------------------------------------------------------------------


def matmul_shapes(g):
    m, k, n = g.integer(0, 9), g.integer(0, 40), g.integer(0, 20)
    if g.integer(0, 3) == 0:
        return ((k,), (k, n)) if g.integer(0, 1) else ((m, k), (k,))
    batch, full = g.broadcast_pair(low=0, high=2, extent=3)
    return batch + (m, k), full + (k, n)


@oracle("MatMul")
def mat_mul(g):
    for kind in FLOATS + [g.pick(WIDE), g.pick(WIDE)]:
        a, b = (values(g, kind, s) for s in matmul_shapes(g))
        yield Case([a, b], [contraction(kind, np.matmul, a, b)], ulps=8)
    yield from bf16.products(g)
    for a, b, want in [*quantize.narrow_products(g), quantize.deep_product(g)]:
        yield Case([a, b], [Result("i32", want)])
    yield Case([a, Tensor("u8", b.data % 2)], error="A has type")
    t = lambda *s: Tensor("float", np.zeros(s))
    yield Case([t(2, 3), t(2, 3)], error="A has 3 columns, but B 2 rows")
    yield Case([t(), t(2)], error="A has rank 0")


@oracle("FullyConnected")
def fully_connected(g):
    for kind in FLOATS:
        m, k, n = g.integer(0, 9), g.integer(0, 40), g.integer(1, 20)
        x, w, b = (values(g, kind, s) for s in ((m, k), (k, n), (n,)))
        with np.errstate(all="ignore"):
            r = contraction(kind, np.matmul, x, w)
            yield Case([x, w, b], [Result(kind, r.values + b.wide(), scale=np.nan_to_num(
                r.scale + np.abs(b.wide()), posinf=0))], ulps=8)
    for x, w, want in quantize.narrow_products(g):
        b = g.tensor("i32", (want.shape[-1],))
        yield Case([x, w, b], [Result("i32", quantize.wrapped(want + b.data))])
    t = lambda *s: Tensor("float", np.zeros(s))
    yield Case([t(2, 3), t(3, 4), t(3)], error="B has type")


def random_equation(g):
    """Terms of a few labels, their extents, and a result."""
    letters = [g.pick("ijkABz") for _ in range(4)]
    extent = {c: g.integer(0 if g.integer(0, 9) == 0 else 1, 4) for c in "ijkABz"}
    terms = [[g.pick(letters) for _ in range(g.integer(0, 3))] for _ in range(g.integer(1, 3))]
    dots = [g.integer(1, 3) for _ in range(g.integer(0, 2))]
    return letters, extent, terms, dots


@oracle("Einsum")
def einsum(g):
    for kind in FLOATS + [g.pick(INTS)]:
        _, extent, terms, dots = random_equation(g)
        with_dots = [bool(dots) and g.integer(0, 1) for _ in terms]
        operands = []
        for term, d in zip(terms, with_dots):
            lead = [1 if g.integer(0, 3) == 0 else e for e in dots] if d else []
            # Sums are taken apart, so that infinities may become NaN elsewhere.
            operands.append(values(g, kind, lead + [extent[c] for c in term], special=False))
        text = ",".join(("..." if d else "") + "".join(t) for t, d in zip(terms, with_dots))
        names = sorted(set(sum(terms, [])))
        if g.integer(0, 2):
            g.rng.shuffle(names)
            names = names[:g.integer(0, len(names))]
            text += "->" + ("..." if any(with_dots) else "") + "".join(names)
        f = lambda *a: np.einsum(text, *a)
        yield Case(operands, [contraction(kind, f, *operands)], ulps=12,
                   members=f'equation = "{text}"')
    t = lambda *s: Tensor("float", np.zeros(s))
    for equation, ops, why in (("ij->ijk", [t(2, 3)], "names 'k', which no operand has"),
                               ("ij->ii", [t(2, 3)], "names 'i' twice"),
                               ("i", [t(2, 3)], "term 0 has 1 labels, but operand 0 has rank 2"),
                               ("ij,jk", [t(2, 3)], "more terms than the 1 operands"),
                               ("ij,jk", [t(2, 3), t(2, 3)], "extent 2 for a label that has 3"),
                               ("ii", [t(2, 3)], "extents 2 and 3 for the same label"),
                               ("i1", [t(2, 3)], "'1' is no label"),
                               ("ij-", [t(2, 3)], "a '-' without '>'")):
        yield Case(ops, members=f'equation = "{equation}"', error=why)


# ---- windows -------------------------------------------------------------------------------------


class Window:
    """Extents of a convolution or pool over `rank` spatial axes; pads stay below the window."""

    def __init__(self, g, rank, largest=6):
        self.rank = rank
        self.size = [g.integer(1, largest) for _ in range(rank)]
        self.kernel = [g.integer(1, 3) for _ in range(rank)]
        self.stride = [g.integer(1, 3) for _ in range(rank)]
        self.dilation = [g.pick([1, 1, 2]) for _ in range(rank)]
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        self.pads = [[g.integer(0, r - 1) for r in self.reach] for _ in range(2)]
        for i in range(rank):  # the window fits
            lack = self.reach[i] - self.size[i] - self.pads[0][i] - self.pads[1][i]
            self.size[i] += max(0, lack)

    def out(self, ceil=False):
        counts = []
        for n, r, s, a, b in zip(self.size, self.reach, self.stride, *self.pads):
            room = n + a + b - r
            count = room // s + 1
            if ceil and room % s and count * s < n + a:
                count += 1
            counts.append(count)
        return counts

    def taps(self):
        return itertools.product(*(range(k) for k in self.kernel))

    def at(self, place, tap):
        """The index that a tap of the window at `place` reads, and whether it is inside."""
        index = tuple(o * s + k * d - p for o, s, k, d, p in
                      zip(place, self.stride, tap, self.dilation, self.pads[0]))
        return index, all(0 <= i < n for i, n in zip(index, self.size))

    def members(self):
        return f"strides = {self.stride}, dilations = {self.dilation}, " \
               f"pads = {self.pads[0] + self.pads[1]}"


def to_channels_last(a):
    return np.moveaxis(a, 1, -1).copy()


def shaped(kind, r, nhwc):
    """A Result of [batch, channels, ...] in the logical order of the case."""
    if not nhwc:
        return r
    return Result(kind, to_channels_last(r.values),
                  scale=None if r.scale is None else to_channels_last(r.scale))


def given(t, nhwc):
    return Tensor(t.kind, to_channels_last(t.data)) if nhwc else t


def convolve(x, w, b, window, group):
    """Convolution of arrays [batch, channels, ...]; padding takes part as zeros."""
    out = window.out()
    y = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    each, filters = x.shape[1] // group, w.shape[0] // group
    for place in itertools.product(*(range(n) for n in out)):
        for tap in window.taps():
            index, inside = window.at(place, tap)
            for k in range(group):
                f = slice(k * filters, (k + 1) * filters)
                v = x[(slice(None), slice(k * each, (k + 1) * each)) + index] if inside else \
                    np.zeros((x.shape[0], each), x.dtype)
                # Products one by one: a matrix product may lose NaN.
                y[(slice(None), f) + place] += (
                    v[:, None, :] * w[(f, slice(None)) + tap][None]).sum(-1)
    return y if b is None else y + b.reshape((-1,) + (1,) * window.rank)


@oracle("Convolution")
def convolution(g):
    for kind in FLOATS:
        window, nhwc = Window(g, g.integer(1, 3), 5), g.integer(0, 1)
        group, each, filters = g.pick([1, 1, 2, 3]), g.pick([1, 2, 19]), g.integer(1, 3)
        x = values(g, kind, (g.integer(0, 2), group * each, *window.size))
        w = values(g, kind, (group * filters, each, *window.kernel))
        b = values(g, kind, (group * filters,)) if g.integer(0, 1) else None
        f = lambda *a: convolve(a[0], a[1], a[2] if b else None, window, group)
        r = contraction(kind, f, *([x, w] + ([b] if b else [])))
        members = window.members() + f", group = {group}" + (", layout = NHWC" if nhwc else "")
        yield Case([given(x, nhwc), given(w, nhwc), b], [shaped(kind, r, nhwc)], members=members,
                   ulps=12)
    t = lambda *s: Tensor("float", np.zeros(s))
    for x, w, members, why in (
            (t(1, 4, 5), t(2, 4, 3), "strides = [0]", "strides must be positive"),
            (t(1, 4, 5), t(2, 3, 3), "", "X has 4 channels, but W takes 3"),
            (t(1, 4, 5), t(3, 2, 3), "group = 2", "3 filters cannot be divided into 2 groups"),
            (t(1, 4, 5), t(2, 4, 6), "", "is larger than spatial axis 0"),
            (t(1, 4, 5), t(2, 4, 0), "", "the window is empty"),
            (t(1, 4, 5), t(2, 4, 3), "pads = [1]", "pads has 1 values, expected 2"),
            (t(1, 4, 5), t(2, 4, 3), "group = 0", "group is 0"),
            (t(1, 4), t(2, 4), "", "at least 3")):
        yield Case([x, w], members=members, error=why)
    yield Case([t(1, 4, 5), t(2, 4, 3)], members="pad = 1", error="only integers have a pad")
    yield from quantize.narrow_convolutions(g)
    yield from winograd_cases(g)
    yield from bf16_cases(g)


def bf16_cases(g):
    window, nhwc = Window(g, g.integer(1, 2), 4), g.integer(0, 1)
    channels, filters = g.pick([1, 2, 3, 17]), g.integer(1, 3)
    x = bf16.floats(g, (g.integer(1, 2), channels, *window.size))
    places = list(itertools.product(*(range(n) for n in window.out())))
    rows = np.zeros((x.shape[0], len(places), int(np.prod(window.kernel)), channels), np.float32)
    for i, place in enumerate(places):
        for j, tap in enumerate(window.taps()):
            index, inside = window.at(place, tap)
            if inside:
                rows[:, i, j] = x[(slice(None), slice(None)) + index]
    w, b, y = bf16.convolution(g, rows, filters, rows.shape[2])
    w = Tensor("float", w.reshape(filters, channels, *window.kernel))
    x = Tensor("float", x)
    members = window.members() + ", strategy = bf16" + (", layout = NHWC" if nhwc else "")
    for order, kind in itertools.product(("tile", "pair"), ("float", "bfloat16")):
        r = Result("float", y[order].reshape(x.data.shape[0], filters, *window.out()))
        stored = w if kind == "float" else Tensor(kind, bf16.narrowed(w.data, order))
        yield Case([given(x, nhwc), given(stored, nhwc), b], [shaped("float", r, nhwc)],
                   members=f"{members}, order = {order}", ulps=0)
    t = lambda kind, *s: Tensor(kind, np.zeros(s))
    yield Case([t("float", 1, 4, 5), t("float", 2, 2, 3)], members="group = 2, strategy = bf16",
               error="group is 2, expected 1 with strategy = bf16")
    yield Case([t("float16", 1, 4, 5), t("float16", 2, 4, 3)], members="strategy = bf16",
               error="X has type float16<1 x 4 x 5>, expected float with strategy = bf16")
    yield Case([t("double", 1, 4, 5), t("bfloat16", 2, 4, 3)],
               error="their element kinds differ with strategy = bf16 alone")


# ---- Winograd's convolution ----------------------------------------------------------------------

# By results of a tile along an axis; and infinity.
POINTS = {4: [0.0, 0.625, -0.625, 1.5, -1.5], 2: [0.0, 1.0, -1.0]}


def winograd_matrices(side):
    """A', G and B' of F(side, 3) by Lagrange's interpolation of polynomials (low degrees first).
    At 0 the factor of g0 is positive, so that signs move to B'."""
    points = POINTS[side]
    at = np.array([[p ** i for p in points] + [float(i == side - 1)] for i in range(side)])
    scale = [np.prod([p - q for q in points if q != p]) for p in points]
    bt = np.array([np.append(np.poly([q for q in points if q != p])[::-1], 0) for p in points] +
                  [np.poly(points)[::-1]])
    bt[0] *= np.sign(scale[0])
    scale[0] = abs(scale[0])
    g = np.array([[p ** k / s for k in range(3)] for p, s in zip(points, scale)] + [[0, 0, 1]])
    return at, g, bt


def winograd(x, u, b, pads, absolute):
    """Convolution with U, [s + 2, s + 2, out, in], by tiles of s x s results; `absolute`: with the
    matrices' sizes."""
    s = u.shape[0] - 2
    at, _, bt = (np.abs(m) if absolute else m for m in winograd_matrices(s))
    n, c, h, w = x.shape
    out = h + pads[0] + pads[2] - 2, w + pads[1] + pads[3] - 2
    down, across = (-(-e // s) for e in out)
    full = np.zeros((n, c, s * down + 2, s * across + 2), x.dtype)
    # The last tiles may end before the last row and column of the input.
    full[:, :, pads[0]:pads[0] + h, pads[1]:pads[1] + w] = \
        x[:, :, :full.shape[2] - pads[0], :full.shape[3] - pads[1]]
    y = np.zeros((n, u.shape[2], s * down, s * across), x.dtype)
    for i, j in itertools.product(range(0, s * down, s), range(0, s * across, s)):
        d = full[:, :, i:i + s + 2, j:j + s + 2]
        v = np.einsum("pk,nckl,ql->pqnc", bt, d, bt)
        m = np.einsum("pqnc,pqoc->pqno", v, u)
        y[:, :, i:i + s, j:j + s] = np.einsum("ip,pqno,jq->noij", at, m, at)
    y = y[:, :, :out[0], :out[1]]
    return y if b is None else y + b.reshape(-1, 1, 1)


def winograd_operands(g, kind):
    """X, W and B, pads and members of a convolution of 3x3 windows."""
    size, pads = [g.integer(1, 9) for _ in "hw"], [g.integer(0, 3) for _ in range(4)]
    for i in range(2):  # the window fits
        size[i] += max(0, 3 - size[i] - pads[i] - pads[i + 2])
    each, filters = g.pick([1, 2, 19, 33]), g.pick([1, 3, 17])
    x = values(g, kind, (g.integer(1, 2), each, *size), special=False)
    w = values(g, kind, (filters, each, 3, 3), special=False)
    b = values(g, kind, (filters,), special=False) if g.integer(0, 1) else None
    return x, w, b, pads, f"strategy = winograd, pads = {pads}"


def winograd_cases(g):
    t = lambda *s: Tensor("float", np.zeros(s))
    for kind, side in itertools.product(FLOATS, POINTS):
        x, w, b, pads, members = winograd_operands(g, kind)
        m = winograd_matrices(side)[1]
        u = Tensor(kind, np.einsum("pk,ockl,ql->pqoc", m, w.wide().astype(float), m))
        args = [a.wide() if a else None for a in (x, u, b)]
        y = winograd(*args, pads, False)
        size = winograd(*(None if a is None else np.abs(a) for a in args), pads, True)
        yield Case([x, u, b], [Result(kind, y, scale=size)], members=members, ulps=12)
    # With the transform, it is the convolution.
    x, w, b, pads, members = winograd_operands(g, "double")
    window = Window(g, 2)
    window.size, window.kernel, window.stride = x.shape[2:], [3, 3], [1, 1]
    window.dilation, window.reach, window.pads = [1, 1], [3, 3], [pads[:2], pads[2:]]
    y = convolve(x.wide(), w.wide(), b.wide() if b else None, window, 1)
    most = 9 * w.shape[1] * np.max(np.abs(x.wide())) * np.max(np.abs(w.wide())) + 2
    for results in ("", " {results = 2}"):
        yield Case([x, w, b], [Result("double", y, scale=np.full(y.shape, most))], ulps=1000, body=[
            f"%u = WinogradFilter($1){results}",
            f"%r0 = Convolution($0, %u, {'$2' if b else 'none'}) {{{members}}}"])
    u, strategy = t(6, 6, 2, 4), "strategy = winograd"
    for x, u, members, why in (
            (t(1, 4, 5, 5), u, "strides = [1, 2]", "strides and dilations of 1"),
            (t(1, 4, 5, 5), u, "dilations = [2, 1]", "strides and dilations of 1"),
            (t(1, 4, 5, 5), u, "group = 2", "one group"),
            (t(1, 5, 5, 4), u, "layout = NHWC", "takes layout NCHW"),
            (t(1, 4, 5, 5), t(2, 4, 3, 3), "pads = [0, 0, 0, 0]", r"W is \[6, 6, out, in\] or"),
            (t(1, 4, 5, 5), t(4, 6, 2, 4), "group = 1", r"or \[4, 4, out, in\]"),
            (t(1, 3, 5, 5), t(4, 4, 2, 4), "group = 1", "X has 3 channels, but W takes 4"),
            (t(1, 4, 5, 5), t(6, 6, 2), "group = 1", "X has four axes"),
            (t(1, 4, 5), u, "group = 1", "X has four axes"),
            (t(1, 3, 5, 5), u, "group = 1", "X has 3 channels, but W takes 4"),
            (t(1, 4, 2, 5), u, "group = 1", "is larger than spatial axis 0"),
            (Tensor("i32", np.zeros((1, 4, 5, 5))), Tensor("i32", np.zeros((6, 6, 2, 4))), "group = 1",
             "is for floating point, but X has i32")):
        yield Case([x, u], members=f"{strategy}, {members}", error=why)


@oracle("WinogradFilter")
def winograd_filter(g):
    for kind, side in itertools.product(FLOATS, POINTS):
        w = values(g, kind, (g.integer(0, 40), g.integer(0, 70), 3, 3), special=False)
        m = winograd_matrices(side)[1]
        f = lambda v, m: np.einsum("pk,ockl,ql->pqoc", m, v, m)
        yield Case([w], [Result(kind, f(w.wide(), m), scale=f(np.abs(w.wide()), np.abs(m)))],
                   members=f"results = {side}",
                   ulps=8 if kind == "double" else 2)  # in double, then rounded
    t = lambda *s: Tensor("float", np.zeros(s))
    for w in (t(2, 3, 3), t(2, 3, 3, 5), t(2, 3, 1, 3)):
        yield Case([w], error="expected .out, in, 3, 3.")
    yield Case([t(2, 3, 3, 3)], members="results = 3", error="results is 3, expected 4 or 2")


def scatter(x, w, b, window, group, extra):
    """Transposed convolution: each input adds its filter to the result."""
    n, out = x.shape[0], [(i - 1) * s + r + e - p - q for i, s, r, e, p, q in
                          zip(window.size, window.stride, window.reach, extra, *window.pads)]
    filters, each = w.shape[1], x.shape[1] // group
    y = np.zeros((n, group * filters, *out), x.dtype)
    for place in itertools.product(*(range(i) for i in window.size)):
        for tap in window.taps():
            to = tuple(i * s + k * d - p for i, s, k, d, p in
                       zip(place, window.stride, tap, window.dilation, window.pads[0]))
            if not all(0 <= t < o for t, o in zip(to, out)):
                continue
            for k in range(group):
                c = slice(k * each, (k + 1) * each)
                y[(slice(None), slice(k * filters, (k + 1) * filters)) + to] += (
                    x[(slice(None), c) + place][:, :, None] * w[(c, slice(None)) + tap][None]).sum(1)
    return y if b is None else y + b.reshape((-1,) + (1,) * window.rank)


def transposed_case(g, kind, window, group, each, filters, extra, batch=2):
    """A ConvTranspose of random values; pads are cut where they would take everything."""
    for i, s in enumerate(window.size):
        room = (s - 1) * window.stride[i] + window.reach[i] + extra[i]
        if window.pads[0][i] + window.pads[1][i] > room:
            window.pads[0][i], window.pads[1][i] = min(window.pads[0][i], room), 0
    nhwc = g.integer(0, 1)
    x = values(g, kind, (batch, group * each, *window.size))
    w = values(g, kind, (group * each, filters, *window.kernel))
    b = values(g, kind, (group * filters,)) if g.integer(0, 1) else None
    f = lambda *a: scatter(a[0], a[1], a[2] if b else None, window, group, extra)
    r = contraction(kind, f, *([x, w] + ([b] if b else [])))
    members = window.members() + f", group = {group}, output_padding = {extra}" + \
        (", layout = NHWC" if nhwc else "")
    return Case([given(x, nhwc), given(w, nhwc), b], [shaped(kind, r, nhwc)], members=members,
                ulps=12)


@oracle("ConvTranspose")
def conv_transpose(g):
    for kind in FLOATS:
        window = Window(g, g.integer(1, 3), 9)
        yield transposed_case(g, kind, window, g.pick([1, 1, 2, 3]), g.pick([1, 2, 19]),
                              g.pick([1, 2, 18]), [g.integer(0, s) for s in window.stride],
                              g.integer(0, 2))
    # Each combination of what the members say, along each axis.
    for group, stride, dilation, pad, extra in itertools.product((1, 2), (1, 3), (1, 2), (0, 1),
                                                                 (0, 2)):
        window = Window(g, 2, 3)
        window.stride, window.dilation = [stride, 4 - stride], [dilation, 3 - dilation]
        window.reach = [(k - 1) * d + 1 for k, d in zip(window.kernel, window.dilation)]
        window.pads = [[pad, 0], [0, pad]]
        yield transposed_case(g, "float", window, group, 2, 3, [extra, 2 - extra])
    # Nothing to add up: the bias, or zeros.
    for size, each, filters in (([0, 3], 2, 2), ([2, 2], 0, 2), ([2, 2], 2, 0)):
        window = Window(g, 2)
        window.size, window.kernel, window.stride = size, [3, 2], [2, 1]
        window.dilation, window.reach, window.pads = [1, 1], [3, 2], [[0, 0], [0, 0]]
        yield transposed_case(g, "float", window, 1, each, filters, [0, 0])
    t = lambda *s: Tensor("float", np.zeros(s))
    for x, w, members, why in (
            (t(1, 4, 5), t(4, 2, 3), "strides = [0]", "strides must be positive"),
            (t(1, 4, 5), t(3, 2, 3), "", "X has 4 channels, but W takes 3"),
            (t(1, 3, 5), t(3, 2, 3), "group = 2", "3 channels cannot be divided into 2 groups"),
            (t(1, 4, 5), t(4, 2, 0), "", "the window is empty"),
            (t(1, 4, 5), t(4, 2, 3), "pads = [4, 4]", "pads are larger than the result"),
            (t(1, 4, 5), t(4, 2, 3), "output_padding = [1, 1]", "2 values, expected 1"),
            (t(1, 4, 5, 5), t(4, 2, 3, 3), "strides = [4294967295, 4294967295]", "in its result")):
        yield Case([x, w], members=members, error=why)


def filter_gradient_of(x, dy, window, group):
    """Each place of dy adds what a filter there reads: [channels of dy, channels of a group of x, window]."""
    each, filters = x.shape[1] // group, dy.shape[1] // group
    w = np.zeros((dy.shape[1], each, *window.kernel), x.dtype)
    for place in itertools.product(*(range(n) for n in window.out())):
        for tap in window.taps():
            index, inside = window.at(place, tap)
            for k in range(group):
                f = slice(k * filters, (k + 1) * filters)
                v = x[(slice(None), slice(k * each, (k + 1) * each)) + index] if inside else \
                    np.zeros((x.shape[0], each), x.dtype)
                w[(f, slice(None)) + tap] += (dy[(slice(None), f) + place][:, :, None] * v[:, None, :]).sum(0)
    return w


@oracle("FilterGradient")
def filter_gradient(g):
    for kind in FLOATS:
        window, group, batch = Window(g, g.integer(1, 3), 7), g.pick([1, 1, 2, 3]), g.integer(0, 3)
        x = values(g, kind, (batch, group * g.pick([1, 2, 5]), *window.size))
        dy = values(g, kind, (batch, group * g.pick([1, 3, 18]), *window.out()))
        f = lambda x, dy: filter_gradient_of(x, dy, window, group)
        yield Case([x, dy], [contraction(kind, f, x, dy)], ulps=12,
                   members=window.members() + f", group = {group}, kernels = {window.kernel}")
    # Nothing to add up: zeros.
    for channels, filters in ((0, 2), (2, 0)):
        x, dy = (values(g, "float", (2, n, 3)) for n in (channels, filters))
        yield Case([x, dy], [Result("float", np.zeros((filters, channels, 1)))], members="kernels = [1]")
    t = lambda *s: Tensor("float", np.zeros(s))
    for x, dy, members, why in (
            (t(2, 4, 5), t(2, 3, 3), "kernels = [3], strides = [0]", "strides must be positive"),
            (t(2, 4, 5), t(2, 3, 4), "kernels = [3]", "DY has 4 places along spatial axis 0, but X has 3 windows"),
            (t(2, 4, 5), t(2, 3, 1), "kernels = [3], group = 3", "4 channels of X cannot be divided into 3 groups"),
            (t(2, 4, 5), t(3, 3, 3), "kernels = [3]", "X has 2 images, but DY 3"),
            (t(2, 4, 5), t(2, 3, 3), "kernels = [3, 3]", "kernels has 2 values, expected 1")):
        yield Case([x, dy], members=members, error=why)


# ---- pools ---------------------------------------------------------------------------------------


def pool_case(g, kind):
    """A window, an operand and what a pool's members say of it: nhwc, ceil."""
    window = Window(g, g.integer(1, 3), 5)
    x = values(g, kind, (g.integer(0, 2), g.integer(1, 3), *window.size))
    nhwc, ceil = bool(g.integer(0, 1)), bool(g.integer(0, 1))
    members = window.members() + f", kernels = {window.kernel}" + \
        (", layout = NHWC" if nhwc else "") + (", ceil = true" if ceil else "")
    return window, x, nhwc, ceil, members


@oracle("MaxPool")
def max_pool(g):
    for kind in NUMS:
        window, x, nhwc, ceil, members = pool_case(g, kind)
        column_major, out = bool(g.integer(0, 1)), window.out(ceil)
        low = -np.inf if kind in FLOATS else limits(kind)[0]
        y = np.full(x.shape[:2] + tuple(out), low, x.data.dtype)
        where = np.zeros(y.shape, np.int64)
        for place in itertools.product(*(range(n) for n in y.shape)):
            best = None
            for tap in window.taps():
                index, inside = window.at(place[2:], tap)
                if not inside:
                    continue
                v = x.data[place[:2] + index]
                if best is None or v > best or (v != v and best == best):
                    best, space, size = v, 0, int(np.prod(window.size))
                    for i in range(window.rank)[::-1 if column_major else 1]:
                        space = space * window.size[i] + index[i]
                    channels = x.shape[1]
                    y[place] = v
                    where[place] = (place[0] * size + space) * channels + place[1] if nhwc else \
                        (place[0] * channels + place[1]) * size + space
        yield Case([given(x, nhwc)], [shaped(kind, Result(kind, y), nhwc),
                                      shaped("i64", Result("i64", where), nhwc)], ulps=0,
                   members=members + (", column_major = true" if column_major else ""))
    t = lambda *s: Tensor("float", np.zeros(s))
    for members, why in (("kernels = [2], strides = [0]", "strides must be positive"),
                         ("kernels = [0]", "the window is empty"),
                         ("kernels = [2], pads = [0, 2]", "pads 1 is as large as the window"),
                         ("kernels = [2, 2]", "kernels has 2 values, expected 1"),
                         ("kernels = [9]", "is larger than spatial axis 0")):
        yield Case([t(1, 1, 4)], members=members, error=why)


@oracle("AveragePool")
def average_pool(g):
    for kind in FLOATS:
        for include in (False, True):
            window, x, nhwc, ceil, members = pool_case(g, kind)
            out, shape = window.out(ceil), x.shape[:2]
            total, size = (np.zeros(shape + tuple(out), x.wide().dtype) for _ in range(2))
            for place in itertools.product(*(range(n) for n in out)):
                at, count = (slice(None), slice(None)) + place, 0
                for tap in window.taps():
                    index, inside = window.at(place, tap)
                    # Padding counts, but not what ceil mode adds behind it.
                    count += inside or (include and all(
                        i < n + p for i, n, p in zip(index, window.size, window.pads[1])))
                    if inside:
                        v = x.wide()[(slice(None), slice(None)) + index]
                        total[at] += v
                        size[at] += np.abs(v)
                total[at], size[at] = total[at] / np.float64(count), size[at] / np.float64(count)
            r = Result(kind, total, scale=np.nan_to_num(size, posinf=0))
            yield Case([given(x, nhwc)], [shaped(kind, r, nhwc)], ulps=12,
                       members=members + (", count_include_pad = true" if include else ""))
    yield Case([Tensor("float", np.zeros((1, 1, 4)))], members="kernels = [2], dilations = [0]",
               error="dilations must be positive")


@oracle("GlobalAveragePool", "GlobalMaxPool")
def global_pool(g, op):
    for kind in FLOATS if op == "GlobalAveragePool" else NUMS:
        nhwc, space = g.integer(0, 1), g.shape(low=0, high=3, zero=False)
        x = values(g, kind, (g.integer(0, 2), g.integer(1, 3), *space))
        axes = tuple(range(2, 2 + len(space)))
        v = x.wide()
        if op == "GlobalMaxPool":
            r = Result(kind, v.max(axes, keepdims=True))
        else:
            r = Result(kind, v.mean(axes, keepdims=True), scale=np.nan_to_num(
                np.abs(v).mean(axes, keepdims=True), posinf=0))
        yield Case([given(x, nhwc)], [shaped(kind, r, nhwc)],
                   members="layout = NHWC" if nhwc else "", ulps=12)
    yield Case([Tensor("float", np.zeros(3))], error="X must have rank 2 at least")


# ---- norms, and what undoes windows --------------------------------------------------------------


@oracle("LpPool")
def lp_pool(g):
    for kind in FLOATS:
        for p in (1.0, 2.0, g.pick([0.5, 1.5, 3.0])):
            window, ceil, nhwc = Window(g, g.integer(1, 3)), g.integer(0, 1), g.integer(0, 1)
            x = values(g, kind, (g.integer(0, 2), g.integer(1, 3), *window.size))
            wide_x, out = x.wide(), window.out(ceil)
            y = np.zeros(x.shape[:2] + tuple(out), wide_x.dtype)
            for place in itertools.product(*(range(n) for n in out)):
                for tap in window.taps():
                    index, inside = window.at(place, tap)
                    if inside:
                        y[(slice(None), slice(None)) + place] += np.abs(
                            wide_x[(slice(None), slice(None)) + index]) ** p
            members = window.members() + f", kernels = {window.kernel}, p = {p}" + \
                (", ceil = true" if ceil else "") + (", layout = NHWC" if nhwc else "")
            # The root's relative error is that of the sum of up to 27 powers, divided by p.
            yield Case([given(x, nhwc)], [shaped(kind, Result(kind, y ** (1 / p)), nhwc)],
                       members=members, ulps=64 if p < 1 else 32)
    t = lambda *s: Tensor("float", np.zeros(s))
    yield Case([t(1, 1, 4)], members="kernels = [2], p = 0.0", error="p is 0")
    yield Case([t(1, 1, 4)], members="kernels = [2], strides = [0]", error="strides must be positive")


@oracle("GlobalLpPool")
def global_lp_pool(g):
    for kind in FLOATS:
        p, nhwc = g.pick([1.0, 2.0, 3.0]), g.integer(0, 1)
        x = values(g, kind, (g.integer(0, 2), g.integer(1, 3)) + g.shape(low=0, high=2, zero=False))
        axes = tuple(range(2, x.data.ndim))
        y = (np.abs(x.wide()) ** p).sum(axes, keepdims=True) ** (1 / p)
        yield Case([given(x, nhwc)], [shaped(kind, Result(kind, y), nhwc)],
                   members=f"p = {p}" + (", layout = NHWC" if nhwc else ""), ulps=32)
    yield Case([Tensor("float", np.zeros((1, 1, 4)))], members="p = -1.0", error="p is -1")


@oracle("MaxUnpool")
def max_unpool(g):
    for kind in NUMS:
        rank = g.integer(1, 3)
        lead = (g.integer(0, 2), g.integer(1, 2))
        size = [g.integer(1, 3) for _ in range(rank)]
        kernel, stride = [g.integer(1, 3) for _ in size], [g.integer(1, 3) for _ in size]
        pads = [[g.integer(0, k - 1) for k in kernel] for _ in range(2)]
        implied = [(n - 1) * s + k - a - b for n, s, k, a, b in
                   zip(size, stride, kernel, *pads)]
        if min(implied) < 0:
            pads, implied = [[0] * rank] * 2, [(n - 1) * s + k for n, s, k in
                                               zip(size, stride, kernel)]
        x = g.tensor(kind, (*lead, *size))
        flat = np.zeros(int(np.prod(lead)) * int(np.prod(implied)), x.data.dtype)
        if x.data.size and not flat.size:
            continue
        # Places may repeat: the later element stays.
        places = g.tensor("i64", x.shape, low=0, high=max(0, flat.size - 1))
        for at, v in zip(places.data.reshape(-1), x.data.reshape(-1)):
            flat[at] = v
        y = flat.reshape(*lead, *implied)
        operands = [x, places]
        if g.integer(0, 1):
            shape = [n + g.integer(0, 2) for n in y.shape]
            larger = np.zeros(shape, flat.dtype)
            larger[tuple(slice(0, n) for n in y.shape)] = y
            y = larger
            operands.append(Tensor("i64", np.array(shape)).const())
        yield Case(operands, [Result(kind, y)], ulps=0,
                   members=f"kernels = {kernel}, strides = {stride}, pads = {pads[0] + pads[1]}")
    t = lambda *s: Tensor("float", np.zeros(s))
    i = lambda *v: Tensor("i64", np.array(v).reshape(1, 1, -1))
    yield Case([t(1, 1, 2), i(0, 4)], members="kernels = [2], strides = [2]",
               results=[Result("float", np.zeros((1, 1, 4)))], error="Indices is out of range: 4")
    yield Case([t(1, 1, 2), i(0)], members="kernels = [2]", error="must have the shape of X")


@oracle("Col2Im")
def col2im(g):
    for kind in FLOATS + [g.pick(INTS), g.pick(INTS)]:
        window = Window(g, g.integer(1, 3), 5)
        counts, channels = window.out(), g.integer(0 if g.integer(0, 5) == 0 else 1, 2)
        taps, blocks = int(np.prod(window.kernel)), int(np.prod(counts))
        x = values(g, kind, (g.integer(0, 2), channels * taps, blocks))

        def fold(a):
            y = np.zeros((a.shape[0], channels, *window.size), a.dtype)
            a = a.reshape(a.shape[0], channels, taps, blocks)
            for b, place in enumerate(itertools.product(*(range(n) for n in counts))):
                for k, tap in enumerate(window.taps()):
                    index, inside = window.at(place, tap)
                    if inside:
                        y[(slice(None), slice(None)) + index] += a[:, :, k, b]
            return y
        yield Case([x, g.ints(window.size).const(), g.ints(window.kernel).const()],
                   [contraction(kind, fold, x)], members=window.members(), ulps=12)
    t = lambda *s: Tensor("float", np.zeros(s))
    i = lambda *v: Tensor("i64", np.array(v)).const()
    for x, image, block, members, why in (
            (t(1, 4, 4), i(3, 3), i(2, 2), "strides = [0, 1]", "strides must be positive"),
            (t(1, 4, 5), i(3, 3), i(2, 2), "", "X has 5 blocks, but the image 4"),
            (t(1, 5, 4), i(3, 3), i(2, 2), "", "X has 5 rows"),
            (t(1, 4, 4), i(3, 3), i(4, 2), "", "is larger than spatial axis 0"),
            (t(1, 4, 4), i(3, 3), i(0, 2), "", "BlockShape has extent 0")):
        yield Case([x, image, block], members=members, error=why)


@oracle("Det")
def det(g):
    for kind in FLOATS:
        n = g.integer(0, 6)
        x = values(g, kind, g.shape(low=0, high=2, extent=3) + (n, n), special=False)
        if n > 1 and x.data.size and g.integer(0, 1):  # a column of zeros to look past
            x.data[..., 0, 0] = 0
        a = x.wide()
        y = np.zeros(a.shape[:-2], a.dtype)
        scale = np.zeros(a.shape[:-2], a.dtype)
        for order in itertools.permutations(range(n)):  # Leibniz
            sign = (-1) ** sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
            term = np.ones(a.shape[:-2], a.dtype)
            for i, j in enumerate(order):
                term = term * a[..., i, j]
            y, scale = y + sign * term, scale + np.abs(term)
        yield Case([x], [Result(kind, y, scale=scale)], ulps=16)
    for m, v in (([[np.nan, 1], [1, 1]], np.nan), ([[np.inf, 0], [0, 2]], np.inf),
                 ([[0, 0], [0, 0]], 0.0), ([[0, 3], [2, 0]], -6.0)):
        yield Case([Tensor("float", np.array(m))], [Result("float", np.array(v))], ulps=0)
    yield Case([Tensor("float", np.zeros((2, 3)))], error="must end in square matrices")


def read_between(x, place):
    """x [channels, ...] at fractional places [axes], linearly; 0 outside."""
    y = np.zeros(x.shape[0], x.dtype)
    if np.isnan(place).any():
        return y * np.nan
    if any(p <= -1 or p >= n for p, n in zip(place, x.shape[1:])):
        return y
    low = np.floor(place).astype(int)
    for corner in itertools.product((0, 1), repeat=len(place)):
        index = low + corner
        weight = np.prod([p - l if c else 1 - (p - l) for p, l, c in zip(place, low, corner)])
        if weight and all(0 <= i < n for i, n in zip(index, x.shape[1:])):
            y += weight * x[(slice(None), *index)]
    return y


@oracle("DeformConv")
def deform_conv(g):
    for kind in FLOATS:
        window = Window(g, g.integer(1, 3), 4)
        group, each, filters = g.pick([1, 2]), g.pick([2, 4, 18]), g.integer(1, 2)
        groups, out = g.pick([1, 2]), window.out()
        taps = int(np.prod(window.kernel))
        if np.prod(out) * taps * each > 2000:
            each = 2
        batch = g.integer(0, 2)
        x = values(g, kind, (batch, group * each, *window.size), special=False)
        w = values(g, kind, (group * filters, each, *window.kernel), special=False)
        offset = g.tensor(kind, (batch, groups * taps * window.rank, *out), low=-2.0, high=2.0)
        # Quarters, so that places are exact in all kinds; whole ones, NaN and far ones among them.
        offset = Tensor(kind, np.rint(np.asarray(offset.data, np.float64) * 4) / 4)
        if offset.data.size and g.integer(0, 1):
            offset.data.reshape(-1)[g.integer(0, offset.data.size - 1)] = g.pick(
                [np.nan, np.inf, -np.inf, -1.0, 1000.0])
        mask = values(g, kind, (batch, groups * taps, *out), special=False) \
            if g.integer(0, 1) else None
        b = values(g, kind, (group * filters,)) if g.integer(0, 1) else None

        def f(x, w, offset, *rest):
            rest = list(rest)
            m = rest.pop(0) if mask else np.ones((batch, groups * taps, *out), x.dtype)
            columns = np.zeros((batch, x.shape[1], taps, *out), x.dtype)
            share = x.shape[1] // groups
            for n, k, (t, tap), place in itertools.product(
                    range(batch), range(groups), enumerate(window.taps()),
                    itertools.product(*(range(o) for o in out))):
                row = k * taps + t
                moved = offset[(n, slice(row * window.rank, (row + 1) * window.rank)) + place]
                c = slice(k * share, (k + 1) * share)
                at = np.array(window.at(place, tap)[0]) + moved
                columns[(n, c, t) + place] = read_between(x[n, c], at) * m[(n, row) + place]
            y = [np.einsum("ct,nct...->n...", w[i].reshape(each, taps), columns[
                :, i // filters * each:(i // filters + 1) * each]) for i in range(len(w))]
            y = np.stack(y, 1)
            return y + rest[0].reshape((-1,) + (1,) * window.rank) if rest else y
        given_values = [x, w, offset] + [t for t in (mask, b) if t]
        with np.errstate(all="ignore"):
            y = f(*(t.wide() for t in given_values))
            size = f(*(t.wide() if t is offset else np.nan_to_num(np.abs(t.wide()), posinf=0)
                       for t in given_values))
        yield Case([x, w, offset, b, mask], [Result(kind, y, scale=np.nan_to_num(size))], ulps=12,
                   members=window.members() + f", group = {group}, offset_group = {groups}")
    t = lambda *s: Tensor("float", np.zeros(s))
    for w, offset, members, why in (
            (t(2, 4, 3), t(1, 3, 3), "strides = [0]", "strides must be positive"),
            (t(2, 4, 3), t(1, 3, 2), "", "expected 3 channels over the result"),
            (t(2, 4, 3), t(1, 3, 3), "offset_group = 2", "expected 6 channels over the result"),
            (t(2, 4, 3), t(1, 3, 3), "offset_group = 3", "cannot be divided into 3 groups"),
            (t(2, 3, 3), t(1, 3, 3), "", "X has 4 channels, but W takes 3")):
        yield Case([t(1, 4, 5), w, offset], members=members, error=why)


@oracle("CausalConvWithState")
def causal_conv_with_state(g):
    for kind in FLOATS:
        n, c, k = g.integer(0, 2), g.integer(0 if g.integer(0, 5) == 0 else 1, 3), g.integer(1, 4)
        x = values(g, kind, (n, c, g.integer(0, 6)), special=False)
        w, b = values(g, kind, (c, 1, k), special=False), values(g, kind, (c,), special=False)
        b = b if g.integer(0, 1) else None
        past = values(g, kind, (n, c, k - 1), special=False) if g.integer(0, 1) else None
        zeros = np.zeros((n, c, k - 1), x.data.dtype)
        all_data = np.concatenate([past.data if past else zeros, x.data], 2)
        padded, length = Tensor(kind, all_data), x.shape[2]

        def f(x, w, *bias):
            y = sum(x[:, :, i:i + length] * w[:, 0, i, None] for i in range(k))
            return y + bias[0][:, None] if bias else y
        r = contraction(kind, f, *([padded, w] + ([b] if b else [])))
        y, activation = r.values, g.pick(["none", "silu", "swish"])
        if activation != "none":
            y = y / (1 + np.exp(-y))
        yield Case([x, w, b, past], [Result(kind, y, scale=r.scale),
                                     Result(kind, all_data[:, :, length:])],
                   members=f"activation = {activation}", ulps=8)
    t = lambda *s: Tensor("float", np.zeros(s))
    both = [Result("float", np.zeros((1, 2, 3))), Result("float", np.zeros((1, 2, 1)))]
    yield Case([t(1, 2, 3), t(3, 1, 2)], both, error="W has type float<3 x 1 x 2>, expected 2 x 1")
    yield Case([t(1, 2, 3), t(2, 1, 0)], both, error="the window is empty")
