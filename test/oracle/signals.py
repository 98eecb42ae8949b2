"""Oracles of transforms, windows and filter banks."""
import numpy as np

from oracle import FLOATS, NUMS, Case, Result, Tensor, is_float, limits, oracle


def spectrum(x, n, inverse=False):
    """The transform of complex x along its last axis, cut or padded to n: the sum by definition."""
    x = np.pad(x[..., :n], [(0, 0)] * (x.ndim - 1) + [(0, max(0, n - x.shape[-1]))])
    k = np.arange(n)
    turns = np.exp((2j if inverse else -2j) * np.pi * (np.outer(k, k) % n) / n)
    return x @ turns / (n if inverse else 1)


def pairs(z):
    return np.stack([z.real, z.imag], -1)


@oracle("DFT")
def dft(g):
    for kind in FLOATS:
        inverse, onesided = bool(g.integer(0, 1)), bool(g.integer(0, 1))
        shape = [g.integer(1, 3) for _ in range(g.integer(1, 3))]
        axis = g.integer(0, len(shape) - 1)
        shape[axis] = g.pick([g.integer(2, 17), g.integer(18, 140)])
        parts = 2 if inverse and onesided else 1 if onesided else g.integer(1, 2)
        x = g.tensor(kind, (*shape, parts), special=False)
        v = x.wide().astype(np.float64)
        z = np.moveaxis(v[..., 0] + (1j * v[..., 1] if parts == 2 else 0), axis, -1)
        n = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
        length = None
        if g.integer(0, 1):
            n = g.pick([g.integer(1, 20), g.integer(21, 140)])
            length = Tensor("i64", n).const()
        if inverse and onesided:
            z = z[..., :n // 2 + 1]
            full = np.zeros((*z.shape[:-1], n), complex)
            full[..., :z.shape[-1]] = z
            for k in range(n // 2 + 1, n):
                full[..., k] = full[..., n - k].conj()
            y = spectrum(full, n, True).real[..., None]
        else:
            y = pairs(spectrum(z, n, inverse)[..., :n // 2 + 1 if onesided else n])
        y = np.moveaxis(y, -2, axis)
        flags = "".join(f", {f} = true" for f, on in (("inverse", inverse), ("onesided", onesided)) if on)
        scale = np.full(y.shape, max(1.0, np.abs(v).sum()))
        counted = axis - len(shape) - 1 if g.integer(0, 1) else axis
        yield Case([x, length], [Result(kind, y, scale=scale)], members=f"axis = {counted}{flags}",
                   ulps=16 if kind == "double" else 1)
    yield Case([Tensor("float", np.zeros((0, 4, 1)))], [Result("float", np.zeros((0, 4, 2)))])
    yield Case([Tensor("float", np.zeros((2, 0, 1)))], error="extent 0")
    yield Case([Tensor("float", np.ones((2, 4, 3)))], error="last axis of X has extent 3")
    yield Case([Tensor("float", np.ones((2, 4, 2)))], error="expected 1", members="onesided = true")
    yield Case([Tensor("float", np.ones((2, 4, 1)))], error="last axis holds", members="axis = 2")
    yield Case([Tensor("float", np.ones((2, 4, 1))), g.ints(0)], error="Length is 0")


@oracle("STFT")
def stft(g):
    for kind in ("float", "double", "float16"):
        onesided = bool(g.integer(0, 1))
        batch, samples, length, step = g.integer(0, 2), g.integer(8, 30), g.integer(1, 8), g.integer(1, 9)
        parts = 1 if onesided else g.integer(1, 2)
        x = g.tensor(kind, (batch, samples, parts), special=False, low=-1, high=1)
        window = g.tensor(kind, (length,), low=0, high=1) if g.integer(0, 1) else None
        given = Tensor("i64", length).const() if not window or g.integer(0, 1) else None
        v = x.wide().astype(np.float64)
        w = np.ones(length) if window is None else window.wide().astype(np.float64)
        frames = []
        for start in range(0, samples - length + 1, step):
            f = v[:, start:start + length] * w[:, None]
            z = spectrum(f[..., 0] + (1j * f[..., 1] if parts == 2 else 0), length)
            frames.append(pairs(z[:, :length // 2 + 1 if onesided else length]))
        y = np.stack(frames, 1)
        yield Case([x, Tensor("i64", step).const(), window, given],
                   [Result(kind, y, scale=np.full(y.shape, float(2 * length)))],
                   members=f"onesided = {str(onesided).lower()}", ulps=16 if kind == "double" else 2)
    x = g.tensor("float", (1, 8, 1))
    for step, window, length, why in ((0, None, 4, "Step is 0"), (1, None, 9, "a frame has 9 samples"),
                                      (1, 3, 4, "Length is 4, but Window has 3"),
                                      (1, None, -1, "Length is -1")):
        yield Case([x, g.ints(step), window and g.tensor("float", (window,)), g.ints(length)], error=why)


def stored(kind, v):
    """v in double as an element of an integer kind: truncated and saturated."""
    if is_float(kind):
        return v
    lo, hi = limits(kind)
    return np.array([min(max(int(e), lo), hi) for e in v.ravel()], Tensor(kind, [0]).data.dtype
                    ).reshape(v.shape)


@oracle("CosineWindow")
def cosine_window(g):
    for shape, a in (("hann", [0.5, 0.5, 0]), ("hamming", [25 / 46, 21 / 46, 0]),
                     ("blackman", [0.42, 0.5, 0.08])):
        size, periodic = g.integer(0, 40), bool(g.integer(0, 1))
        n = np.arange(size) / max(1, size if periodic else size - 1)
        v = a[0] - a[1] * np.cos(2 * np.pi * n) + a[2] * np.cos(4 * np.pi * n)
        kind = g.pick(FLOATS)
        members = f"shape = {shape}, periodic = {str(periodic).lower()}, kind = {kind}"
        yield Case([Tensor("i64", size).const()], [Result(kind, v, scale=np.ones(size))],
                   members=members, ulps=16 if kind == "double" else 1)
    # Whole numbers survive truncation only where rounding cannot reach them.
    kind = g.pick([k for k in NUMS if not is_float(k)])
    yield Case([Tensor("i64", 3).const()], [Result(kind, stored(kind, np.array([0.08, 0.77, 0.77])))],
               members=f"shape = hamming, kind = {kind}")
    yield Case([g.ints(-1)], error="Size is -1")


@oracle("MelWeightMatrix")
def mel_weight_matrix(g):
    for kind in ("float", "double", "float16", "bfloat16"):
        filters, length = g.integer(0, 12), g.integer(2, 64)
        rate, low, high = g.pick([8000, 16000, 44100]), g.pick([0.0, 20.0, 300.0]), g.pick([3000.0, 4000.0])
        mel = np.linspace(np.log1p(low / 700), np.log1p(high / 700), filters + 3)[:filters + 2]
        bins = (length + 1) * 700 * np.expm1(mel) / rate
        if np.any(np.abs(bins - np.rint(bins)) < 1e-9 * (bins > 0)):
            continue  # the last bits decide which bin it is
        bins = np.floor(bins).astype(int)
        y = np.zeros((length // 2 + 1, filters))
        for j in range(filters):
            left, center, right = bins[j:j + 3]
            for i in range(length // 2 + 1):
                if i == center:
                    y[i, j] = 1
                elif left <= i < center:
                    y[i, j] = (i - left) / (center - left)
                elif center < i < right:
                    y[i, j] = (right - i) / (right - center)
        counts = [Tensor("i64", v).const() for v in (filters, length, rate)]
        edges = [Tensor("float", v) for v in (low, high)]
        yield Case(counts + edges, [Result(kind, y)], members=f"kind = {kind}", ulps=1)
    counts = [Tensor("i64", v).const() for v in (4, 16, 8000)]
    yield Case(counts + [Tensor("float", 500.0).const(), Tensor("float", 100.0).const()],
               error="above High")
    yield Case(counts[:2] + [g.ints(0), Tensor("float", 0.0), Tensor("float", 100.0)],
               error="Rate is 0")
    yield Case(counts + [Tensor("float", -5.0).const(), Tensor("float", 100.0)], error="Low is -5")
