"""Oracle of contractions with strategy = bf16: each operation on exact fractions, one at a time."""
from fractions import Fraction

import numpy as np

from oracle import Case, Result, Tensor

CHUNK = 32  # products of two chains
TINY = Fraction(1, 2 ** 126)  # smaller magnitudes are zeros


def rounded(v, digits):
    """The nearest number with so many binary digits, ties to even, whatever its exponent; v > 0."""
    shift = v.numerator.bit_length() - v.denominator.bit_length() - digits
    while v / Fraction(2) ** shift >= 2 ** digits:
        shift += 1
    while v / Fraction(2) ** shift < 2 ** (digits - 1):
        shift -= 1
    return round(v / Fraction(2) ** shift) * Fraction(2) ** shift


def real(v, negative):
    """A float: v rounded to 24 digits, but a zero of its sign where that is below 2^-126."""
    if v:
        size = rounded(abs(v), 24)
        if size >= Fraction(2) ** 128:
            return np.inf if v > 0 else -np.inf
        return float(size if v > 0 else -size) if size >= TINY else (0.0 if v > 0 else -0.0)
    return -0.0 if negative else 0.0


def plus(a, b, c):
    """a * b + c with one rounding."""
    if not all(map(np.isfinite, (a, b, c))):
        with np.errstate(all="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
    v = Fraction(a) * Fraction(b) + Fraction(c)
    below = [bool(np.signbit(x)) for x in (a, b, c)]
    return real(v, below[0] != below[1] and below[2])


def narrowed(x, order="tile"):
    """Floats rounded to bfloat16; denormals are zeros, with order = pair before they are rounded, too."""
    v = np.asarray(x, np.float32)
    out = np.empty(v.shape)
    for i in np.ndindex(v.shape):
        a = float(v[i])
        if order == "pair" and abs(a) < 2.0 ** -126:
            a = float(np.copysign(0.0, a))
        if np.isfinite(a) and a:
            size = rounded(Fraction(abs(a)), 8) if abs(a) >= 2.0 ** -126 else \
                round(Fraction(abs(a)) * 2 ** 133) * Fraction(1, 2 ** 133)
            size = np.inf if size >= Fraction(2) ** 128 else float(size)
            a = float(np.copysign(size if size >= 2.0 ** -126 else 0.0, a))
        out[i] = a
    return out


def pairs(x, w, start):
    """The same with order = pair: one chain from `start` on, the odd step of each two first."""
    s = plus(1.0, float(start), -0.0)
    for k in range(0, len(x), 2):
        s = plus(x[k], w[k], plus(x[k + 1], w[k + 1], s))
    return s


def total(x, w):
    """The sum of products: x and w are lists of steps, an even number."""
    fill = [0.0] * (-len(x) % CHUNK)
    x, w, s = list(x) + fill, list(w) + fill, 0.0
    for at in range(0, len(x), CHUNK):
        chains = [0.0, 0.0]
        for k in range(at, at + CHUNK):
            chains[k % 2] = plus(x[k], w[k], chains[k % 2])
        s = plus(1.0, s, plus(1.0, chains[0], chains[1]))
    return s


def paired(v):
    """Zeros behind the last axis up to a whole pair."""
    return np.concatenate([v, np.zeros(v.shape[:-1] + (v.shape[-1] % 2,))], axis=-1)


def judged(y, x, w):
    """y, checked against the bound of -use-bf16 where no number is near to the least one."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    size = np.abs(x) @ np.abs(w)
    near = min([np.abs(v[v != 0]).min() for v in (x, w) if v.any()], default=1)
    if np.isfinite(size).all() and near > 2.0 ** -60:
        assert (np.abs(y - x @ w) <= (2.0 ** -7 + 2.0 ** -23 * x.shape[-1]) * size).all()
    return y


def floats(g, shape):
    """Numbers of one size; now and then tiny ones, whose products are denormal, or special ones."""
    low = g.pick([0, 0, 0, -62, -70])
    v = np.ldexp(g.tensor("float", shape, low=-2.0, high=2.0).data.astype(np.float64), low)
    if v.size and g.integer(0, 3) == 0:
        for special in (0.0, -0.0, np.inf, np.nan, 2.0 ** -126, -(2.0 ** -127), 1 + 2.0 ** -8):
            if g.integer(0, 2) == 0:
                v.reshape(-1)[g.integer(0, v.size - 1)] = special
    return v.astype(np.float32)


def matrix(x, w, order="tile"):
    add = (lambda a, b: pairs(a, b, 0.0)) if order == "pair" else lambda a, b: total(a, b) + 0.0
    return np.array([[add(a, b) for b in paired(narrowed(w, order).T)] for a in paired(narrowed(x, order))],
                    np.float64).reshape(x.shape[0], w.shape[1])


def products(g):
    m, k, n = g.integer(1, 4), g.pick([1, 2, 7, 31, 32, 33, 70]), g.integer(1, 5)
    x, w = floats(g, (m, k)), floats(g, (k, n))
    for order in ("tile", "pair"):
        y = judged(matrix(x, w, order), x, w)
        for kind in ("float", "bfloat16"):
            b = Tensor(kind, w if kind == "float" else narrowed(w, order))
            yield Case([Tensor("float", x), b], [Result("float", y)],
                       members=f"order = {order}, strategy = bf16", ulps=0)
    batch = floats(g, (2, m, k))
    yield Case([Tensor("float", batch), Tensor("float", w)],
               [Result("float", np.stack([matrix(a, w) for a in batch]))],
               members="strategy = bf16", ulps=0)
    # The exact sum lies between the two smallest floats of 24 digits about 2^-126, or on their middle.
    a, b = np.float32([[2.0 ** -126, -1.0]]), np.float32([[1.0], [0.0]])
    for low in (2.0 ** -151, 1.5 * 2.0 ** -151, 2.0 ** -150, -(2.0 ** -130)):
        x = np.float32([[2.0 ** -63, 0, 2.0 ** -75, 0]])
        w = np.float32([[2.0 ** -63], [0], [-low * 2.0 ** 75], [0]])
        for order in ("tile", "pair"):
            yield Case([Tensor("float", x), Tensor("float", w)],
                       [Result("float", matrix(x, w, order))],
                       members=f"order = {order}, strategy = bf16", ulps=0)
    # Rounded first, the largest denormal number would be 2^-126.
    x, w = np.float32([[2.0 ** -126 - 2.0 ** -149]]), np.float32([[2.0 ** 60]])
    for order, y in (("tile", 2.0 ** -66), ("pair", 0.0)):
        assert matrix(x, w, order) == y
        yield Case([Tensor("float", x), Tensor("float", w)], [Result("float", np.array([[y]]))],
                   members=f"order = {order}, strategy = bf16", ulps=0)
    t = lambda kind, *s: Tensor(kind, np.zeros(s))
    yield Case([t("double", 2, 3), t("double", 3, 2)], members="strategy = bf16",
               error="A has type double<2 x 3>, expected float with strategy = bf16")
    yield Case([t("float", 2, 3), t("bfloat16", 3, 2)],
               error="their element kinds differ with strategy = bf16 alone")
    yield Case([t("float", 2, 3), t("float", 3, 2)], members="order = pair",
               error="only strategy = bf16 has an order")


def convolution(g, rows, filters, taps):
    """Of rows [images, places, taps, channels] of numbers of X: filters [filters, channels, taps], a
    bias or None, and the result of each order, [images, filters, places]."""
    channels = rows.shape[-1]
    w = floats(g, (filters, channels, taps))
    b = g.tensor("float", (filters,), low=-2.0, high=2.0) if g.integer(0, 1) else None
    if b is not None and g.integer(0, 3) == 0:
        b.data[0] = 2.0 ** -130
    starts, y = np.zeros(filters) if b is None else b.data, {}
    for order in ("tile", "pair"):
        columns = paired(np.moveaxis(narrowed(w, order), 1, 2))
        add = pairs if order == "pair" else lambda x, w, start: total(x, w)
        s = np.array([[[add(r.reshape(-1), c.reshape(-1), start) for r in image]
                       for c, start in zip(columns, starts)]
                      for image in paired(narrowed(rows, order))])
        with np.errstate(all="ignore"):
            s = s.astype(np.float32) + (0.0 if order == "pair" else starts.reshape(1, -1, 1))
        y[order] = s.astype(np.float32)
    return w, b, y
