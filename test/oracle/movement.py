"""Oracles of the operators that move elements."""
import itertools

import numpy as np

from oracle import DATA, Case, Result, Tensor, oracle

KINDS = DATA + ["complex64", "complex128", "i4", "u4", "i2", "u2", "float8e4m3fn", "float8e5m2", "string"]


def kinds(g):
    """A number kind and a rare one."""
    return [g.pick(DATA), g.pick(KINDS)]


def tensor(g, kind, shape=None):
    """Casts to 8 bits saturate, so those have no special values."""
    return g.tensor(kind, shape, special=not kind.startswith("float8"))


def moved(x, values, **more):
    return [Result(x.kind, values, **more)]


def zero_of(kind):
    return "" if kind == "string" else 0


@oracle("Identity")
def identity(g):
    for kind in kinds(g):
        x = tensor(g, kind)
        yield Case([x], moved(x, x.data), ulps=0)


@oracle("Barrier")
def barrier(g):
    for kind in kinds(g):
        x = tensor(g, kind)
        yield Case([x], moved(x, x.data), ulps=0)
        yield Case([x, tensor(g, "float"), tensor(g, "i32")], moved(x, x.data), ulps=0)


@oracle("Transpose")
def transpose(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(high=5))
        perm = [int(p) for p in g.rng.permutation(x.data.ndim)]
        yield Case([x], moved(x, x.data.transpose()), ulps=0)
        yield Case([x], moved(x, x.data.transpose(perm)), members=f"perm = {perm}", ulps=0)
    yield Case([g.tensor("float", (2, 3))], members="perm = [0, 0]", error="perm is no permutation: axis 0")
    yield Case([g.tensor("float", (2, 3))], members="perm = [1, 0, 2]", error="perm has 3 axes, X has 2")


@oracle("Flatten")
def flatten(g):
    x = tensor(g, g.pick(KINDS), g.shape())
    axis = g.integer(-x.data.ndim, x.data.ndim)
    at = axis + x.data.ndim if axis < 0 else axis
    dims = (int(np.prod(x.shape[:at])), int(np.prod(x.shape[at:])))
    yield Case([x], moved(x, x.data.reshape(dims)), members=f"axis = {axis}", ulps=0)
    yield Case([x], members=f"axis = {x.data.ndim + 1}", error="out of range")


@oracle("Squeeze")
def squeeze(g):
    for kind in kinds(g):
        x = tensor(g, kind, tuple(g.pick([1, 1, 2, 3]) for _ in range(g.integer(0, 5))))
        yield Case([x], moved(x, x.data.squeeze()), ulps=0)
        axes = [i - g.pick([0, x.data.ndim]) for i, d in enumerate(x.shape) if d == 1 and g.integer(0, 1)]
        yield Case([x, g.ints(axes).const()], moved(x, x.data.squeeze(tuple(axes))), ulps=0)
    yield Case([g.tensor("float", (1, 3)), Tensor("i64", [1]).const()], error="axis 1 has extent 3, not 1")


@oracle("Unsqueeze")
def unsqueeze(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(high=3))
        rank = x.data.ndim + g.integer(0, 3)
        axes = g.rng.permutation(rank)[:rank - x.data.ndim].astype(np.int64)
        yield Case([x, Tensor("i64", axes - g.pick([0, rank])).const()],
                   moved(x, np.expand_dims(x.data, tuple(int(a) for a in axes))), ulps=0)
    yield Case([g.tensor("float", (2,)), Tensor("i64", [0, -3]).const()], error="axis 0 is named twice")


@oracle("Concat")
def concat(g):
    for kind in kinds(g):
        shape = g.shape(low=1)
        axis = g.integer(-len(shape), len(shape) - 1)
        parts = []
        for _ in range(g.integer(1, 4)):
            dims = list(shape)
            dims[axis] = g.integer(0, 3)
            parts.append(tensor(g, kind, dims))
        yield Case(parts, moved(parts[0], np.concatenate([p.data for p in parts], axis)),
                   members=f"axis = {axis}", ulps=0)
    yield Case([g.tensor("float", (2, 3)), g.tensor("float", (2, 4))], members="axis = 0",
               error="operand 1 has extent 4 along axis 1, not 3")


@oracle("Split")
def split(g):
    for kind in kinds(g):
        axis, sizes = g.integer(-3, 2), [g.integer(0, 3) for _ in range(g.integer(1, 4))]
        dims = [g.integer(1, 3) for _ in range(3)]
        dims[axis] = sum(sizes)
        x = tensor(g, kind, dims)
        pieces = np.split(x.data, np.cumsum(sizes)[:-1], axis)
        yield Case([x, g.ints(sizes).const()], [Result(kind, p) for p in pieces],
                   members=f"axis = {axis}", ulps=0)
        dims[axis] = 6
        x = tensor(g, kind, dims)
        yield Case([x], [Result(kind, p) for p in np.split(x.data, 3, axis)], members=f"axis = {axis}",
                   ulps=0)
    x = g.tensor("float", (4, 2))
    two = [Result("float", x.data[:2]), Result("float", x.data[2:])]
    yield Case([x, Tensor("i64", [2, 3]).const()], two, error="the sizes add up to 5, the axis has extent 4")
    yield Case([x, Tensor("i64", [-1, 5]).const()], two, error="size 0 is -1")


@oracle("Slice")
def slice_(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(low=1))
        naxes = g.integer(1, x.data.ndim)
        axes = [int(a) for a in g.rng.permutation(x.data.ndim)[:naxes]]
        box, lists = [slice(None)] * x.data.ndim, [[], [], [], []]
        for a in axes:
            start, end = g.integer(-7, 7), g.integer(-7, 7)
            step = g.pick([1, 1, 2, 3, -1, -2])
            n = x.shape[a]
            # As ONNX says: clamped to [0, n], or to [0, n - 1] and [-1, n - 1] going backwards.
            low, high = (0, n) if step > 0 else (-1, n - 1)
            first = min(max(start + n if start < 0 else start, 0), high)
            last = min(max(end + n if end < 0 else end, low), high)
            box[a] = [int(i) for i in range(first, last, step)] if n else []
            for values, v in zip(lists, (start, end, a - g.pick([0, x.data.ndim]), step)):
                values.append(v)
        want = x.data
        for a, picked in enumerate(box):
            want = want if isinstance(picked, slice) else np.take(want, picked, a)
        const = [Tensor("i64", v).const() for v in lists]
        yield Case([x] + const, moved(x, want), ulps=0)
        runtime = [Tensor("i64", v) for v in lists]
        yield Case([x] + runtime[:2] + const[2:], moved(x, want, claim=bounds(x.shape, axes)), ulps=0)
    yield Case([g.tensor("float", (3,))] + [Tensor("i64", [v]).const() for v in (0, 3, 0, 0)],
               error="step 0 is 0")
    yield Case([g.tensor("float", (3,))] + [Tensor("i64", [v]) for v in (0, 3, 0, 0)],
               moved(Tensor("float", [0]), np.zeros(3), claim="<..3>"), error="Slice.*step 0 is 0")
    two = Tensor("i64", [0, 0]).const()
    yield Case([g.tensor("float", (3, 3)), two, two, two], error="axis 0 is named twice")


def bounds(shape, axes):
    """The shape in the text where some axes are bounded."""
    return "<" + " x ".join(("..%d" if a in axes and d else "%d") % d for a, d in enumerate(shape)) + ">"


@oracle("Pad")
def pad(g):
    for kind, mode in itertools.product(kinds(g), ("constant", "edge", "reflect", "wrap")):
        x = tensor(g, kind, g.shape(low=1, zero=mode == "constant"))
        rank = x.data.ndim
        axes = [int(a) for a in g.rng.permutation(rank)[:g.integer(1, rank)]]
        most = [x.shape[a] - 1 if mode == "reflect" else 4 for a in range(rank)]
        before, after = [0] * rank, [0] * rank
        for a in axes:
            before[a], after[a] = g.integer(0, most[a]), g.integer(0, most[a])
        fill = tensor(g, kind, ()) if g.integer(0, 1) else None
        value = {"constant_values": fill.data if fill else zero_of(kind)} if mode == "constant" else {}
        if mode == "wrap":  # older versions of numpy repeat large pads in another order
            want = x.data[np.ix_(*[np.arange(-b, d + a) % d for b, a, d in zip(before, after, x.shape)])]
        else:
            want = np.pad(x.data, list(zip(before, after)), mode, **value)
        pads = [before[a] for a in axes] + [after[a] for a in axes]
        yield Case([x, Tensor("i64", pads).const(), fill, Tensor("i64", axes).const()], moved(x, want),
                   members=f"mode = {mode}", ulps=0)
        yield Case([x, Tensor("i64", before + after).const(), fill], moved(x, want),
                   members=f"mode = {mode}", ulps=0)
    # Negative pads crop, also on the side across from one that adds.
    x = tensor(g, g.pick(KINDS), (5, 4))
    want = np.pad(x.data[2:, :3], ((0, 1), (2, 0)), constant_values=zero_of(x.kind))
    yield Case([x, Tensor("i64", [-2, 2, 1, -1]).const()], moved(x, want), ulps=0)
    yield Case([x, Tensor("i64", [-3, 0, -3, 0]).const()], error="axis 0 of extent 5 is cropped by 6")
    yield Case([x, Tensor("i64", [2**63 - 1, 0, 1, 0]).const()], error="axis 0: the padding is too large")
    yield Case([x, Tensor("i64", [5, 0, 0, 0]).const()], members="mode = reflect",
               error="axis 0 of extent 5 is too small for a padding of 5")
    yield Case([x, Tensor("i64", [1, 1]).const()], error="2 pads for 2 axes; two for each are needed")


@oracle("Expand")
def expand(g):
    for kind in kinds(g):
        small, full = g.broadcast_pair(high=4)
        x = tensor(g, kind, small)
        want = np.broadcast_to(x.data, np.broadcast_shapes(small, full))
        yield Case([x, Tensor("i64", np.array(full, np.int64)).const()], moved(x, want), ulps=0)
    yield Case([g.tensor("float", (3,)), Tensor("i64", [2]).const()],
               error="extent 3 of X cannot be expanded to 2")
    yield Case([g.tensor("float", (3,)), Tensor("i64", [-3]).const()], error="extent 0 is -3")


@oracle("Tile")
def tile(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape())
        repeats = [g.integer(0, 3) for _ in x.shape]
        yield Case([x, Tensor("i64", np.array(repeats, np.int64)).const()],
                   moved(x, np.tile(x.data, repeats)), ulps=0)
    yield Case([g.tensor("float", (3,)), Tensor("i64", [-1]).const()], error="axis 0 is repeated -1 times")
    yield Case([g.tensor("float", (3,)), Tensor("i64", [1, 1]).const()], error="2 repeats for 1 axes")


def indices(g, shape, extent):
    """Valid indices, some counted from the end, of either kind."""
    return g.tensor(g.pick(["i32", "i64"]), shape, low=-extent, high=extent - 1)


@oracle("Gather")
def gather(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(low=1, zero=False))
        axis = g.integer(-x.data.ndim, x.data.ndim - 1)
        which = indices(g, g.shape(high=3), x.shape[axis])
        yield Case([x, which], moved(x, np.take(x.data, which.data, axis)), members=f"axis = {axis}", ulps=0)
    for bad in (3, -4):
        yield Case([g.tensor("float", (3, 2)), Tensor("i64", [0, bad])], moved(Tensor("float", 0), np.zeros((2, 2))),
                   error=f"case.gg:.*Gather 'r0': Indices is out of range: {bad}")


@oracle("GatherElements")
def gather_elements(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(low=1, zero=False))
        axis = g.integer(-x.data.ndim, x.data.ndim - 1)
        dims = [g.integer(0, d) for d in x.shape]
        dims[axis] = g.integer(0, 6)
        which = indices(g, dims, x.shape[axis])
        part = x.data[tuple(slice(0, d) if a != axis % x.data.ndim else slice(None) for a, d in enumerate(dims))]
        yield Case([x, which], moved(x, np.take_along_axis(part, which.data.astype(np.int64), axis)),
                   members=f"axis = {axis}", ulps=0)
    x = g.tensor("float", (3, 2))
    want = moved(x, np.zeros((1, 2)))
    for bad in (3, -4):
        yield Case([x, Tensor("i32", [[0, bad]])], want,
                   error=f"case.gg:.*GatherElements 'r0': Indices is out of range: {bad}")
    yield Case([x, g.tensor("i32", (2, 3))], error="Indices has extent 3 along axis 1, but X has 2")
    yield Case([x, g.tensor("i32", (2,))], error="Indices has rank 1, but X has 2")


@oracle("GatherND")
def gather_nd(g):
    for kind in kinds(g):
        batch = g.shape(high=2, zero=False)
        rest = g.shape(low=1, high=3, zero=False)
        length = g.integer(0, len(rest))
        x = tensor(g, kind, batch + rest)
        outer = batch + g.shape(high=2)
        which = np.stack([g.rng.integers(-d, d, outer) for d in rest[:length]], -1) if length \
            else np.zeros(outer + (0,), np.int64)
        tail = rest[length:]
        want = np.empty(outer + tail, x.data.dtype)
        for i in np.ndindex(*outer):
            want[i] = x.data[i[:len(batch)] + tuple(which[i])]
        if len(want.shape) <= 8:
            yield Case([x, Tensor(g.pick(["i32", "i64"]), which)], moved(x, want),
                       members=f"batch_dims = {len(batch)}", ulps=0)
    x = g.tensor("float", (2, 3))
    for bad in (3, -4):
        yield Case([x, Tensor("i64", [[0, bad]])], moved(x, np.zeros(1)),
                   error=f"case.gg:.*GatherND 'r0': Indices is out of range: {bad}")
    yield Case([x, g.tensor("i64", (1, 3))], error="Indices has vectors of 3, but X has 2 axes")
    yield Case([x, g.tensor("i64", (3, 1))], members="batch_dims = 1",
               error="X has extent 2 along axis 0, expected 3")
    yield Case([x, g.tensor("i64", ())], error="Indices is a scalar")


# ---- Scatter -------------------------------------------------------------------------------------


def combine(kind, reduction, a, b):
    """One update, in the arithmetic of the kind; sums and products of floats are rounded once."""
    if reduction == "none":
        return b
    if kind == "bool":
        return {"add": a | b, "mul": a & b, "max": a | b, "min": a & b}[reduction]
    return {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction](a, b)


def scatter_kinds(g, reduction):
    return kinds(g) if reduction == "none" else [g.pick([k for k in DATA if k != "bfloat16"]), "bool", "float16"]


REDUCTIONS = ["none", "add", "mul", "max", "min"]


@oracle("ScatterElements")
def scatter_elements(g):
    for reduction in REDUCTIONS:
        for kind in scatter_kinds(g, reduction):
            x = tensor(g, kind, g.shape(low=1, zero=False))
            axis = g.integer(-x.data.ndim, x.data.ndim - 1)
            dims = [g.integer(0, d) for d in x.shape]
            dims[axis] = g.integer(0, 6)
            which, updates = indices(g, dims, x.shape[axis]), tensor(g, kind, dims)
            want = x.data.copy()
            for i in np.ndindex(*dims):
                at = list(i)
                at[axis] = which.data[i]
                want[tuple(at)] = combine(kind, reduction, want[tuple(at)], updates.data[i])
            yield Case([x, which, updates], moved(x, want), members=f"axis = {axis}, reduction = {reduction}",
                       ulps=0 if reduction == "none" else 1)
    x = g.tensor("float", (3, 2))
    for bad in (3, -4):
        yield Case([x, Tensor("i64", [[bad, 0]]), g.tensor("float", (1, 2))], moved(x, x.data),
                   error=f"case.gg:.*ScatterElements 'r0': Indices is out of range: {bad}")
    yield Case([x, g.tensor("i64", (1, 2)), g.tensor("float", (1, 1))],
               error="Updates has extent 1 along axis 1, expected 2")
    s = g.tensor("complex64", (3,))
    yield Case([s, g.tensor("i64", (1,)), g.tensor("complex64", (1,))], members="reduction = add",
               error="elements of complex64 cannot be combined")


@oracle("ScatterND")
def scatter_nd(g):
    for reduction in REDUCTIONS:
        for kind in scatter_kinds(g, reduction):
            x = tensor(g, kind, g.shape(low=1, high=3, zero=False))
            length = g.integer(0, x.data.ndim)
            outer = g.shape(high=2)
            which = np.stack([g.rng.integers(-d, d, outer) for d in x.shape[:length]], -1) if length \
                else np.zeros(outer + (0,), np.int64)
            updates = tensor(g, kind, outer + x.shape[length:])
            want = x.data.copy()
            for i in np.ndindex(*outer):
                at = tuple(which[i])
                want[at] = combine(kind, reduction, want[at], updates.data[i])
            yield Case([x, Tensor(g.pick(["i32", "i64"]), which), updates], moved(x, want),
                       members=f"reduction = {reduction}",
                       ulps=0 if reduction == "none" else 1)
    x = g.tensor("float", (2, 3))
    for bad in (3, -4):
        yield Case([x, Tensor("i64", [[0, bad]]), g.tensor("float", (1,))], moved(x, x.data),
                   error=f"case.gg:.*ScatterND 'r0': Indices is out of range: {bad}")
    yield Case([x, g.tensor("i64", (1, 3)), g.tensor("float", (1,))],
               error="Indices has vectors of 3, but X has 2 axes")
    yield Case([x, g.tensor("i64", (1, 1)), g.tensor("float", (1, 2))],
               error="Updates has extent 2 along axis 1, expected 3")


@oracle("TensorScatter")
def tensor_scatter(g):
    for mode in ("linear", "circular"):
        for kind in kinds(g):
            shape = g.shape(low=2, zero=False)
            axis = g.integer(1, len(shape) - 1)
            room = shape[axis]
            length = g.integer(0, room)
            x, update = tensor(g, kind, shape), tensor(g, kind, shape[:axis] + (length,) + shape[axis + 1:])
            starts = [g.integer(0, room - length) if mode == "linear" else g.integer(-9, 9)
                      for _ in range(shape[0])]
            given = g.integer(0, 3) > 0
            want = x.data.copy()
            for i in np.ndindex(*shape[:axis]):
                for k in range(length):
                    want[i + (((starts[i[0]] if given else 0) + k) % room,)] = update.data[i + (k,)]
            yield Case([x, update, g.ints(starts) if given else None], moved(x, want),
                       members=f"axis = {axis - g.pick([0, len(shape)])}, mode = {mode}", ulps=0)
    x, u = g.tensor("float", (2, 4)), g.tensor("float", (2, 2))
    for bad in (3, -1, 2**62):
        yield Case([x, u, Tensor("i64", [0, bad])], moved(x, x.data), members="axis = 1",
                   error=f"case.gg:.*TensorScatter 'r0': WriteIndices is out of range: {bad}")
    yield Case([x, u], error="axis 0 is that of the batch")
    yield Case([x, g.tensor("float", (2, 5))], members="axis = 1", error="Update has extent 5 along axis 1, but X has 4")
    yield Case([x, u, Tensor("i64", [0])], members="axis = 1", error="WriteIndices has 1 values for a batch of 2")


@oracle("ReverseSequence")
def reverse_sequence(g):
    for kind in kinds(g):
        shape = g.shape(low=2)
        batch, time = (int(a) for a in g.rng.permutation(len(shape))[:2])
        x = tensor(g, kind, shape)
        lengths = [g.integer(0, shape[time]) for _ in range(shape[batch])]
        want = np.moveaxis(x.data, (batch, time), (0, 1)).copy()
        for b, n in enumerate(lengths):
            want[b, :n] = want[b, :n][::-1]
        want = np.moveaxis(want, (0, 1), (batch, time))
        yield Case([x, g.ints(lengths)], moved(x, want), members=f"batch_axis = {batch}, time_axis = {time}", ulps=0)
    x = g.tensor("float", (3, 2))
    for bad in (4, -1):
        yield Case([x, Tensor("i64", [0, bad])], moved(x, x.data),
                   error=f"case.gg:.*ReverseSequence 'r0': Lengths is out of range: {bad}")
    yield Case([x, Tensor("i64", [1, 1, 1])], error="Lengths has 3 values for a batch of 2")
    yield Case([x, Tensor("i64", [1, 1])], members="time_axis = 1",
               error="axis 1 is that of the batch and that of time")


# ---- Matrices and blocks -------------------------------------------------------------------------


@oracle("Trilu")
def trilu(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(low=2))
        upper = bool(g.integer(0, 1))
        k = g.pick([None, -2**63, 2**63 - 1] + list(range(-6, 7)))
        row, column = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
        diagonal = max(min(k or 0, 100), -100)
        kept = column - row >= diagonal if upper else column - row <= diagonal
        want = np.where(kept, x.data, zero_of(kind)).astype(x.data.dtype)
        yield Case([x] + ([] if k is None else [g.ints(k)]), moved(x, want),
                   members=f"upper = {str(upper).lower()}", ulps=0)
    yield Case([g.tensor("float", (3,))], error="X must have two axes, but has type float<3>")


@oracle("EyeLike")
def eye_like(g):
    x, kind = g.tensor(g.pick(DATA), (g.integer(0, 5), g.integer(0, 5))), g.pick(DATA)
    k = g.integer(-6, 6)
    yield Case([x], [Result(kind, np.eye(*x.shape, k))], members=f"k = {k}, kind = {kind}", ulps=0)
    yield Case([x], [Result(kind, np.zeros(x.shape))], members=f"k = {2**63 - 1}, kind = {kind}", ulps=0)
    yield Case([g.tensor("float", (3,))], error="X must have two axes, but has type float<3>")
    yield Case([g.tensor("float", (3, 3))], members="kind = string", error="there is no string one")


def blocks(g):
    return g.integer(0, 2), g.integer(1, 3), g.integer(1, 3), g.integer(1, 3), g.integer(1, 3)


def space_of(depth, n, c, b, h, w, mode):
    """depth[n, channels, h, w] as [n, c, h * b, w * b], an element at a time."""
    space = np.empty((n, c, h * b, w * b), depth.dtype)
    for i, k, y, x in np.ndindex(*space.shape):
        inner = y % b * b + x % b
        space[i, k, y, x] = depth[i, inner * c + k if mode == "DCR" else k * b * b + inner, y // b, x // b]
    return space


@oracle("DepthToSpace")
def depth_to_space(g):
    for mode in ("DCR", "CRD"):
        n, c, b, h, w = blocks(g)
        x = tensor(g, g.pick(KINDS), (n, c * b * b, h, w))
        yield Case([x], moved(x, space_of(x.data, n, c, b, h, w, mode)), members=f"blocksize = {b}, mode = {mode}",
                   ulps=0)
    x = g.tensor("float", (1, 6, 1, 1))
    yield Case([x], members="blocksize = 2", error="extent 6 of axis 1 is no multiple of 4")
    yield Case([x], members="blocksize = 0", error="blocksize is 0")
    yield Case([g.tensor("float", (1, 4, 1))], members="blocksize = 2", error="X must have 4 axes")


@oracle("SpaceToDepth")
def space_to_depth(g):
    for mode in ("DCR", "CRD"):
        n, c, b, h, w = blocks(g)
        x = tensor(g, g.pick(KINDS), (n, c, h * b, w * b))
        want = np.empty((n, c * b * b, h, w), x.data.dtype)
        places = np.arange(want.size).reshape(want.shape)
        want.reshape(-1)[space_of(places, n, c, b, h, w, mode).reshape(-1)] = x.data.reshape(-1)
        yield Case([x], moved(x, want), members=f"blocksize = {b}, mode = {mode}", ulps=0)
    x = g.tensor("float", (1, 1, 4, 3))
    yield Case([x], members="blocksize = 2", error="extent 3 of axis 3 is no multiple of 2")
    yield Case([x], members="blocksize = 0", error="blocksize is 0")


@oracle("CenterCropPad")
def center_crop_pad(g):
    for kind in kinds(g):
        x = tensor(g, kind, g.shape(low=1))
        rank = x.data.ndim
        axes = [int(a) for a in g.rng.permutation(rank)[:g.integer(1, rank)]]
        named = g.integer(0, 1)
        axes = axes if named else list(range(rank))
        shape = [g.integer(0, 7) for _ in axes]
        want = x.data
        for a, n in zip(axes, shape):
            have = want.shape[a]
            if n <= have:
                want = np.take(want, range((have - n) // 2, (have - n) // 2 + n), a)
            else:
                sides = [(0, 0)] * rank
                sides[a] = ((n - have) // 2, n - have - (n - have) // 2)
                want = np.pad(want, sides, constant_values=zero_of(kind))
        members = f"axes = {[a - g.pick([0, rank]) for a in axes]}" if named else ""
        yield Case([x, Tensor("i64", shape).const()], moved(x, want), members=members, ulps=0)
        yield Case([x, Tensor("i64", shape)], moved(x, want, claim="<" + " x ".join(
            "?" if a in axes else str(d) for a, d in enumerate(x.shape)) + ">"), members=members, ulps=0,
            graph_only=True)
    x = g.tensor("float", (3, 3))
    yield Case([x, Tensor("i64", [1]).const()], error="Shape has 1 extents for 2 axes")
    yield Case([x, Tensor("i64", [1, -1]).const()], error="extent 1 is -1")
    yield Case([x, Tensor("i64", [1, 1]).const()], members="axes = [0, 0]", error="axis 0 is named twice")
