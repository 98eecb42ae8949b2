"""Sweeps: operators with each choice of constant axes, starts, pads and repeats, many nodes in one module.

The oracles of the families draw a few such operands for each round; code that reads them when it
compiles has a branch for nearly every one. Values are small integers where sums shall be exact."""
import itertools

import numpy as np

from contract import Window, convolve
from oracle import Case, Result, Tensor, sweep


def whole(*shape):
    """Different small integers, negative ones among them, as floats."""
    n = int(np.prod(shape, dtype=np.int64))
    return Tensor("float", (np.arange(n, dtype=np.int64) * 7 % 23 - 9).reshape(shape))


def const(values, kind="i64"):
    return Tensor(kind, np.array(values, np.int64)).const()


def text(v):
    return str(v).lower() if isinstance(v, bool) else str(v)


class Module:
    """Nodes of one operator, which become one case."""

    def __init__(self, op, ulps=0):
        self.op, self.ulps = op, ulps
        self.inputs, self.results, self.lines = [], [], []

    def place(self, t):
        """The text of an operand; a tensor that came before is the same input."""
        if t is None:
            return "none"
        at = next((i for i, u in enumerate(self.inputs) if u is t), len(self.inputs))
        if at == len(self.inputs):
            self.inputs.append(t)
        return f"${at}"

    def add(self, operands, *wants, scale=None, **members):
        """A node and what its results must be: arrays of floats, booleans or 64-bit integers."""
        names = []
        for want in wants:
            want = np.asarray(want)
            names.append(f"%r{len(self.results)}")
            kind = {"b": "bool", "i": "i64"}.get(want.dtype.kind, "float")
            self.results.append(Result(kind, want, scale=scale))
        inner = ", ".join(f"{k} = {text(v)}" for k, v in members.items())
        self.lines.append(f"{', '.join(names)} = {self.op}({', '.join(map(self.place, operands))})"
                          + (f" {{{inner}}}" if inner else ""))

    def case(self):
        return Case(self.inputs, self.results, body=self.lines, ulps=self.ulps)


def subsets(n, least=0):
    return [s for k in range(least, n + 1) for s in itertools.combinations(range(n), k)]


# ---- reductions and scans ------------------------------------------------------------------------


@sweep("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
def reductions(op):
    f = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod}[op]
    for shape in (2, 3, 2, 4), (3, 1, 2, 2, 3):
        m, x = Module(op, ulps=1 if op == "ReduceMean" else 0), whole(*shape)
        if op == "ReduceProd":
            x = Tensor("float", np.where(x.data % 3 == 0, 2, np.sign(x.data) + (x.data == 0)))
        for axes in subsets(len(shape)):
            keep = sum(axes) % 2 == 0
            named = [a - len(shape) if i % 2 else a for i, a in enumerate(axes)]
            m.add([x, const(named)], f(x.wide(), axes or None, keepdims=keep), keep=keep)
        m.add([x, const([])], x.data, noop=True)
        yield m.case()


@sweep("CumSum", "CumProd")
def scans(op):
    m, x = Module(op), whole(3, 2, 4)
    if op == "CumProd":
        x = Tensor("float", np.where(x.data < 0, -1, 2))
    f, first = (np.cumsum, 0) if op == "CumSum" else (np.cumprod, 1)
    for axis, exclusive, reverse in itertools.product(range(-3, 3), (False, True), (False, True)):
        v = np.flip(x.wide(), axis) if reverse else x.wide()
        want = f(v, axis)
        if exclusive:
            want = np.concatenate([np.full_like(want.take([0], axis), first),
                                   want.take(range(want.shape[axis] - 1), axis)], axis)
        m.add([x, const(axis)], np.flip(want, axis) if reverse else want, exclusive=exclusive, reverse=reverse)
    yield m.case()


@sweep("ArgMax")
def extremes(op):
    m, x = Module(op), Tensor("float", whole(3, 4, 5).data % 4)  # with ties
    for axis, keep, last in itertools.product(range(-3, 3), (False, True), (False, True)):
        want = x.shape[axis] - 1 - np.flip(x.data, axis).argmax(axis) if last else x.data.argmax(axis)
        m.add([x], np.expand_dims(want, axis) if keep else want, axis=axis, keep=keep, last=last)
    yield m.case()


@sweep("TopK")
def top_k(op):
    m, x = Module(op), whole(2, 5, 4)
    for axis, k, most in itertools.product(range(-3, 3), (0, 1, 2), (False, True)):
        order = np.argsort(-x.data if most else x.data, axis, kind="stable").take(range(k), axis)
        m.add([x, const([k])], np.take_along_axis(x.data, order, axis), order, axis=axis, largest=most)
    yield m.case()


# ---- movement ------------------------------------------------------------------------------------


def sliced(n, start, end, step):
    """The indices that ONNX's Slice takes of an axis of n."""
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = min(max(start + n if start < 0 else start, 0), high)
    last = min(max(end + n if end < 0 else end, low), high)
    return list(range(first, last, step))


@sweep("Slice")
def slices(op):
    m, x = Module(op), whole(4)
    for start, end, step in itertools.product((-9, -4, -1, 0, 2, 3, 4, 9), (-9, -4, -1, 0, 3, 4, 9), (-2, -1, 1, 3)):
        m.add([x] + [const([v]) for v in (start, end, 0, step)], x.data[sliced(4, start, end, step)])
    yield m.case()
    m, x = Module(op), whole(3, 2, 4)
    for axes in subsets(3, 1):
        for start, step in (1, 1), (5, -1), (-1, -2):
            want = x.data
            end = 9 if step > 0 else -9
            for a in axes:
                want = want.take(sliced(x.shape[a], start, end, step), a)
            lists = [start] * len(axes), [end] * len(axes), [a - 3 for a in axes], [step] * len(axes)
            m.add([x, *map(const, lists)], want)
    yield m.case()


@sweep("Pad")
def pads(op):
    x, fill = whole(3, 4), Tensor("float", 77.0).const()
    m = Module(op)
    for t, l, b, r in itertools.product((-1, 0, 2), repeat=4):
        rows, columns = slice(max(-t, 0), 3 - max(-b, 0)), slice(max(-l, 0), 4 - max(-r, 0))
        around = [(max(t, 0), max(b, 0)), (max(l, 0), max(r, 0))]
        m.add([x, const([t, l, b, r]), fill], np.pad(x.data[rows, columns], around, constant_values=77))
    yield m.case()
    m = Module(op)
    for mode, t, l, b, r in itertools.product(("edge", "reflect", "wrap"), (0, 2), (0, 1), (0, 1), (0, 3)):
        m.add([x, const([t, l, b, r])], np.pad(x.data, [(t, b), (l, r)], mode), mode=mode)
    y = whole(2, 3, 2)
    for axes in subsets(3, 1):
        around = [(0, 0)] * 3
        for a in axes:
            around[a] = (a, 2)
        named = const([a - 3 * (a % 2) for a in axes])
        m.add([y, const([around[a][0] for a in axes] + [2] * len(axes)), None, named], np.pad(y.data, around))
    yield m.case()


@sweep("Tile")
def tiles(op):
    m, x, y = Module(op), whole(2, 3), whole(2, 1, 3)
    for t, *repeats in [(x, *r) for r in itertools.product(range(4), repeat=2)] + \
            [(y, *r) for r in itertools.product((1, 2), repeat=3)]:
        m.add([t, const(repeats)], np.tile(t.data, repeats))
    yield m.case()


@sweep("Expand")
def expansions(op):
    m = Module(op)
    for ones in subsets(3):
        x = whole(*(1 if a in ones else d for a, d in enumerate((2, 3, 4))))
        m.add([x, const([2, 3, 4])], np.broadcast_to(x.data, (2, 3, 4)))
        want = np.broadcast_shapes(x.shape, (2, 1, 3, 1))
        m.add([x, const([2, 1, 3, 1])], np.broadcast_to(x.data, want))
    yield m.case()


@sweep("Squeeze", "Unsqueeze")
def unit_axes(op):
    m, x, y = Module(op), whole(1, 2, 1, 1, 3), whole(2, 3)
    if op == "Squeeze":
        for axes in subsets(3, 1):
            axes = [(0, 2, 3)[a] for a in axes]
            m.add([x, const([a - 5 * (a % 2) for a in axes])], x.data.squeeze(tuple(axes)))
    else:
        for rank in (2, 3, 4, 5):
            for axes in itertools.combinations(range(rank), rank - 2):
                m.add([y, const([a - rank * (a % 2) for a in axes])], np.expand_dims(y.data, axes))
    yield m.case()


@sweep("Flatten")
def flattened(op):
    m, x = Module(op), whole(2, 3, 2, 2)
    for axis in range(-4, 5):
        rows = int(np.prod(x.shape[:axis + 4 if axis < 0 else axis], dtype=np.int64))
        m.add([x], x.data.reshape(rows, -1), axis=axis)
    yield m.case()


@sweep("Transpose")
def transposes(op):
    m, x, y = Module(op), whole(2, 3, 4, 2), whole(2, 1, 3)
    for t in x, y:
        for perm in itertools.permutations(range(t.data.ndim)):
            m.add([t], t.data.transpose(perm), perm=list(perm))
    yield m.case()


@sweep("Concat")
def concatenations(op):
    m = Module(op)
    for axis, extents in itertools.product(range(-3, 3), ((1, 2), (2, 0, 3), (1, 1, 1))):
        parts = [whole(*(e if a == axis % 3 else 2 for a in range(3))) for e in extents]
        m.add(parts, np.concatenate([p.data for p in parts], axis), axis=axis)
    yield m.case()


@sweep("Split")
def splits(op):
    m, x = Module(op), whole(6, 6, 6)
    for axis, sizes in itertools.product(range(-3, 3), ((1, 5), (2, 0, 4), (3, 1, 1, 1))):
        m.add([x, const(sizes)], *np.split(x.data, np.cumsum(sizes)[:-1], axis), axis=axis)
        m.add([x], *np.split(x.data, 3, axis), axis=axis)
    yield m.case()


@sweep("Gather", "GatherElements")
def gathers(op):
    m, x = Module(op), whole(2, 3, 4)
    for axis, which in itertools.product(range(-3, 3), ([0, 1], [1, 1, 0], [-1], [])):
        if op == "Gather":
            m.add([x, const(which)], x.data.take(which, axis), axis=axis)
        else:
            shape = [1, 1, 1]
            shape[axis] = len(which)
            indices = np.array(which, np.int64).reshape(shape)
            part = x.data[tuple(slice(None) if a == axis % 3 else slice(1) for a in range(3))]
            m.add([x, const(indices)], np.take_along_axis(part, indices, axis), axis=axis)
    yield m.case()


@sweep("ScatterElements")
def scatters(op):
    m, x = Module(op), whole(2, 3, 4)
    for axis, which in itertools.product(range(-3, 3), ([0, 1], [1, 0], [-1])):
        shape = [2, 3, 4]
        shape[axis] = len(which)
        indices = np.broadcast_to(np.array(which).reshape([-1 if a == axis % 3 else 1 for a in range(3)]), shape)
        want, updates = x.data.copy(), Tensor("float", 100 + np.arange(indices.size).reshape(shape))
        np.put_along_axis(want, indices, updates.data, axis)
        m.add([x, const(indices), updates], want, axis=axis)
    yield m.case()


@sweep("TensorScatter")
def updates_of_axes(op):
    m = Module(op)
    for axis, start in itertools.product((1, 2, -1, -2), (0, 1)):
        x, update = whole(2, 3, 4), whole(*(2 if a == axis % 3 else d for a, d in enumerate((2, 3, 4))))
        want = x.data.copy()
        want[tuple(slice(start, start + 2) if a == axis % 3 else slice(None) for a in range(3))] = update.data
        m.add([x, update, const([start, start])], want, axis=axis)
    yield m.case()


@sweep("CenterCropPad")
def centred(op):
    m, x = Module(op), whole(3, 4)
    for axes in subsets(2, 1):
        for extents in itertools.product((1, 2, 5, 6), repeat=len(axes)):
            want = x.data
            for a, n in zip(axes, extents):
                have = x.shape[a]
                sides = [(0, 0), (0, 0)]
                if n <= have:
                    want = want.take(range((have - n) // 2, (have - n) // 2 + n), a)
                else:
                    sides[a] = ((n - have) // 2, n - have - (n - have) // 2)
                    want = np.pad(want, sides)
            m.add([x, const(extents)], want, axes=[a - 2 for a in axes])
    yield m.case()


@sweep("Compress")
def compressed(op):
    m, x = Module(op), whole(3, 2, 4)
    for axis, keep in itertools.product(range(-3, 3), ([True, False], [False, True], [True, True])):
        m.add([x, Tensor("bool", keep).const()], x.data.compress(keep, axis), axis=axis)
    yield m.case()


@sweep("OneHot")
def one_hot(op):
    m, x, off_on = Module(op), const([[0, 2], [-1, 3]]), Tensor("float", [5.0, 7.0]).const()
    for axis in range(-3, 3):
        hot = (x.data[..., None] % 3 == np.arange(3)) & (x.data[..., None] < 3)
        m.add([x, const(3), off_on], np.moveaxis(np.where(hot, 7.0, 5.0), -1, axis), axis=axis)
    yield m.case()


@sweep("Unique")
def unique(op):
    m, x = Module(op), Tensor("float", [[2, 1, 2], [0, 1, 0], [2, 1, 2]]).const()
    for axis in range(-2, 2):
        y, first, back, count = np.unique(x.data, True, True, True, axis)
        m.add([x], y, first, back.reshape(-1), count, axis=axis)
    yield m.case()


# ---- normalization and transforms ----------------------------------------------------------------


def softmax(v, axis):
    e = np.exp(v - v.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@sweep("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def along_an_axis(op):
    m, x = Module(op, ulps=24), whole(3, 2, 4)
    for axis in range(-3, 3):
        v = x.wide()
        if op == "Hardmax":
            want = np.zeros(v.shape)
            np.put_along_axis(want, np.expand_dims(v.argmax(axis), axis), 1, axis)
        elif op == "LpNormalization":
            want = v / np.sqrt((v * v).sum(axis, keepdims=True))
        else:
            want = softmax(v, axis) if op == "Softmax" else np.log(softmax(v, axis))
        m.add([x], want, scale=np.abs(v) if op == "LogSoftmax" else None, axis=axis)
    yield m.case()


@sweep("LayerNormalization", "RMSNormalization")
def from_an_axis(op):
    m, x = Module(op, ulps=64), whole(3, 2, 5)
    for axis in range(-3, 3):
        axes, v = tuple(range(axis % 3, 3)), x.wide()
        scale = Tensor("float", 1 + np.arange(np.prod(x.shape[axis % 3:])).reshape(x.shape[axis % 3:])).const()
        mean = v.mean(axes, keepdims=True) if op == "LayerNormalization" else 0
        want = (v - mean) / np.sqrt(((v - mean) ** 2).mean(axes, keepdims=True) + 1e-5) * scale.data
        m.add([x, scale], want, axis=axis)
    yield m.case()


@sweep("MeanVarianceNormalization")
def mean_variance(op):
    m, x = Module(op, ulps=64), whole(3, 2, 5, 2)
    for axes in subsets(4, 1):
        if axes == (1,):  # two values: no digits are left of some
            continue
        v = x.wide() - x.wide().mean(axes, keepdims=True)
        m.add([x], v / (np.sqrt((v * v).mean(axes, keepdims=True)) + 1e-9), axes=[a - 4 * (a % 2) for a in axes])
    yield m.case()


@sweep("DFT")
def transforms(op):
    m, x = Module(op, ulps=8), whole(2, 3, 4, 2)
    v = x.wide()[..., 0] + 1j * x.wide()[..., 1]
    for axis, inverse in itertools.product((-4, -3, -2, 0, 1, 2), (False, True)):
        at = axis % 4
        want = (np.fft.ifft if inverse else np.fft.fft)(v, axis=at)
        m.add([x], np.stack([want.real, want.imag], -1), scale=np.abs(v).sum(), axis=axis, inverse=inverse)
    yield m.case()


# ---- quantization and resampling -----------------------------------------------------------------


@sweep("DequantizeLinear")
def dequantized(op):
    m = Module(op)
    x = Tensor("i8", whole(2, 3, 4).data)
    for axis in range(-3, 3):
        n = x.shape[axis]
        line = [-1 if a == axis % 3 else 1 for a in range(3)]
        scale, zero = Tensor("float", 0.5 * (1 + np.arange(n))).const(), Tensor("i8", np.arange(n) - 1).const()
        m.add([x, scale, zero], (x.data.astype(float) - zero.data.reshape(line)) * scale.data.reshape(line), axis=axis)
    yield m.case()


@sweep("Resize")
def resized(op):
    m, x = Module(op), whole(2, 3, 2)
    for axes in subsets(3, 1):
        want, sizes = x.data, []
        for a in axes:
            want = want.repeat(2 + a, a)
            sizes.append(x.shape[a] * (2 + a))
        m.add([x, None, None, const(sizes)], want, axes=list(axes), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    yield m.case()


# ---- windows -------------------------------------------------------------------------------------


def window_of(size, kernel, stride, pads):
    w = Window.__new__(Window)
    w.rank, w.size, w.kernel, w.stride = len(size), list(size), list(kernel), list(stride)
    w.dilation, w.reach = [1] * w.rank, list(kernel)
    w.pads = [list(pads[:w.rank]), list(pads[w.rank:])]
    return w


SIDES = list(itertools.product((0, 1), repeat=4))


def pooled(op, x, w, ceil, include):
    """Each element from the list of what its window reads."""
    out = w.out(ceil)
    y = np.zeros(x.shape[:2] + tuple(out))
    for place in np.ndindex(*y.shape):
        taps = [w.at(place[2:], tap) for tap in w.taps()]
        read = [x[place[:2] + index] for index, inside in taps if inside]
        counted = sum(inside or (include and all(i < n + p for i, n, p in zip(index, w.size, w.pads[1])))
                      for index, inside in taps)
        y[place] = max(read) if op == "MaxPool" else sum(read) / counted if op == "AveragePool" else sum(map(abs, read))
    return y


@sweep("MaxPool", "AveragePool", "LpPool")
def pools(op):
    for kernel, stride in ((2, 3), (1, 1)), ((3, 2), (2, 2)):
        m, x = Module(op, ulps=1), whole(1, 2, 5, 6)
        for pads, ceil, include in itertools.product(SIDES, (False, True), (False, True)):
            if include and op != "AveragePool":
                continue
            w = window_of(x.shape[2:], kernel, stride, pads)
            more = {"AveragePool": {"count_include_pad": include}, "LpPool": {"p": 1.0}, "MaxPool": {}}[op]
            m.add([x], pooled(op, x.data, w, ceil, include), kernels=list(kernel), strides=list(stride),
                  pads=list(pads), ceil=ceil, **more)
        yield m.case()


@sweep("Convolution")
def convolutions(op):
    for channels, filters, kernel in (16, 16, (3, 3)), (3, 16, (3, 2)), (2, 3, (2, 3)):
        m, x = Module(op), whole(1, channels, 4, 5)
        weights, bias = whole(filters, channels, *kernel).const(), whole(filters).const()
        for pads, stride in itertools.product(SIDES, ((1, 1), (2, 2))):
            w = window_of((4, 5), kernel, stride, pads)
            want = convolve(x.wide(), weights.wide(), bias.wide(), w, 1)
            m.add([x, weights, bias], want, strides=list(stride), pads=list(pads))
        yield m.case()


@sweep("ConvTranspose")
def transposed(op):
    m, x, weights = Module(op), whole(1, 2, 3, 4), whole(2, 3, 2, 3).const()
    for pads, stride in itertools.product(SIDES, ((1, 1), (2, 2))):
        full = np.zeros((1, 3, 2 * stride[0] + 2, 3 * stride[1] + 3))
        for i, j in np.ndindex(3, 4):
            full[:, :, i * stride[0]:i * stride[0] + 2, j * stride[1]:j * stride[1] + 3] += np.einsum(
                "nc,cfab->nfab", x.wide()[:, :, i, j], weights.wide())
        t, l, b, r = pads
        m.add([x, weights], full[:, :, t:full.shape[2] - b, l:full.shape[3] - r], strides=list(stride), pads=list(pads))
    yield m.case()


@sweep("FilterGradient")
def filter_gradients(op):
    m, x, kernel = Module(op), whole(2, 2, 4, 5), (2, 3)
    for pads, stride in itertools.product(SIDES, ((1, 1), (2, 2))):
        w = window_of((4, 5), kernel, stride, pads)
        t, l, b, r = pads
        padded = np.pad(x.wide(), ((0, 0), (0, 0), (t, b), (l, r)))
        dy, (rows, columns) = whole(2, 3, *w.out()), w.out()
        want = np.zeros((3, 2, *kernel))
        for i, j in np.ndindex(*kernel):
            part = padded[:, :, i:i + stride[0] * rows:stride[0], j:j + stride[1] * columns:stride[1]]
            want[:, :, i, j] = np.einsum("nfab,ncab->fc", dy.wide(), part[:, :, :rows, :columns])
        m.add([x, dy.const()], want, kernels=list(kernel), strides=list(stride), pads=list(pads))
    yield m.case()
