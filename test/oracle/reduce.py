"""Oracles of reductions and scans."""
import numpy as np

from oracle import FLOATS, INTS, MANTISSA, NUMS, Case, Result, Tensor, is_float, oracle


def axes_of(g, rank):
    """Some axes, or None for all; as an operand, and as numpy takes them."""
    if g.integer(0, 3) == 0:
        return None, tuple(range(rank))
    axes = [int(a) for a in g.rng.permutation(rank)[:g.integer(1, rank)]] if rank else []
    return Tensor("i64", np.array([a - g.pick([0, rank]) for a in axes], np.int64)).const(), \
        tuple(axes) or tuple(range(rank))


def wrapped(kind, values):
    """Python's integers in the width of a kind."""
    bits = np.iinfo(kind_dtype(kind)).bits
    v = np.asarray(np.asarray(values, object) & (2**bits - 1), object)
    low = 2**(bits - 1) if kind[0] == "i" else 2**bits
    return np.asarray(np.where(v >= low, v - 2**bits, v)).astype(kind_dtype(kind))


def kind_dtype(kind):
    return {"i": "int", "u": "uint"}[kind[0]] + kind[1:]


def numbers(g, kind, shape):
    """Numbers whose sums and products do not overflow on the way, some of them special."""
    x = g.tensor(kind, shape, special=not is_float(kind))
    if is_float(kind) and x.data.size:
        x.data.reshape(-1)[g.integer(0, x.data.size - 1)] = g.pick([np.nan, np.inf, -np.inf, -0.0, 1.0, 1.0])
    return x


def bool_text(b):
    return str(bool(b)).lower()


def members_of(keep, noop=False):
    return f"keep = {bool_text(keep)}, noop = {bool_text(noop)}"


def extremes(g, op):
    worst = {"ReduceMax": min, "ReduceMin": max}[op]
    for kind in [g.pick(NUMS), g.pick(FLOATS), "bool"]:
        x = g.tensor(kind, g.shape())
        axes, reduced = axes_of(g, x.data.ndim)
        keep = g.integer(0, 1)
        f = np.maximum if op == "ReduceMax" else np.minimum
        if is_float(kind):
            first = -np.inf if op == "ReduceMax" else np.inf
        elif kind == "bool":
            first = op == "ReduceMin"
        else:
            info = np.iinfo(kind_dtype(kind))
            first = worst(int(info.min), int(info.max)) if kind != "bool" else False
        want = x.data if x.data.ndim == 0 else f.reduce(x.data, reduced, keepdims=bool(keep), initial=first)
        # The sign of a zero among zeros is not told.
        yield Case([x, axes], [Result(kind, want)], members=members_of(keep), ulps=1 if is_float(kind) else 0)


@oracle("ReduceMax", "ReduceMin")
def reduce_extreme(g, op):
    yield from extremes(g, op)
    x = g.tensor("float", (2, 3))
    yield Case([x, Tensor("i64", [0, -2]).const()], error="axis 0 is named twice")
    yield Case([x, Tensor("i64", [2]).const()], error="axis 2 is out of range for rank 2")
    yield Case([x, Tensor("i64", [2])], [Result("float", np.zeros((1, 1)), claim="<..2 x ..3>")],
               error=op + ".*axis 2 is out of range")


@oracle("ReduceSum", "ReduceMean", "ReduceProd")
def reduce_sum(g, op):
    for kind in [g.pick(FLOATS), "float", g.pick(INTS)]:
        x = numbers(g, kind, g.shape(extent=3 if op == "ReduceProd" else 7))
        axes, reduced = axes_of(g, x.data.ndim)
        keep = g.integer(0, 1)
        v = x.wide() if is_float(kind) else x.data.astype(object)
        count = int(np.prod([x.shape[a] for a in reduced], dtype=np.int64))
        if x.data.ndim == 0:
            want, size = v, np.abs(v)
        elif op == "ReduceProd":
            want = np.multiply.reduce(v, reduced, keepdims=bool(keep), initial=1)
            size = np.abs(want)
        else:
            want = np.add.reduce(v, reduced, keepdims=bool(keep), initial=0)
            size = np.add.reduce(np.abs(v), reduced, keepdims=bool(keep), initial=0)
        if not is_float(kind):
            want = wrapped(kind, want)
            if op == "ReduceMean":  # a quotient truncates; without elements it is 0
                want = wrapped(kind, [int(abs(int(a)) // count) * (1 if a >= 0 else -1) if count else 0
                                      for a in np.ravel(want)]).reshape(np.shape(want))
        elif op == "ReduceMean":
            want, size = want / count if count else want * np.nan, size / max(count, 1)
        limit = 3 + count if is_float(kind) else 0
        yield Case([x, axes], [Result(kind, want, scale=size)] if is_float(kind) else [Result(kind, want)],
                   members=members_of(keep), ulps=limit)
    x = g.tensor("float", (2, 3))
    none = Tensor("i64", np.zeros(0, np.int64)).const()
    yield Case([x, none], [Result("float", x.data)], members=members_of(1, True), ulps=1)
    yield Case([x, Tensor("i64", [0, 0]).const()], error="axis 0 is named twice")
    yield Case([x, Tensor("i64", [-3]).const()], error="axis -3 is out of range for rank 2")


@oracle("CumSum", "CumProd")
def scans(g, op):
    f, first = (np.add, 0) if op == "CumSum" else (np.multiply, 1)
    for kind in [g.pick(FLOATS), "float", g.pick(INTS)]:
        x = numbers(g, kind, g.shape(low=1, extent=6))
        axis, exclusive, reverse = g.integer(0, x.data.ndim - 1), g.integer(0, 1), g.integer(0, 1)
        v = x.wide() if is_float(kind) else x.data.astype(object)
        v = np.moveaxis(v, axis, 0)[::-1 if reverse else 1]
        if exclusive:
            v = np.concatenate([np.full_like(v[:1], first), v[:-1]])
        want, size = f.accumulate(v, 0), f.accumulate(np.abs(v), 0)
        want, size = (np.moveaxis(a[::-1 if reverse else 1], 0, axis) for a in (want, size))
        result = Result(kind, want, scale=size) if is_float(kind) else Result(kind, wrapped(kind, want))
        yield Case([x, g.ints(axis - g.pick([0, x.data.ndim]))], [result],
                   members=f"exclusive = {bool_text(exclusive)}, reverse = {bool_text(reverse)}",
                   ulps=3 + x.shape[axis] if is_float(kind) else 0)
    # More elements than a row of the kernel; sums of small integers are exact in every order.
    x = g.tensor("float", (2, 600), low=1, high=1)
    yield Case([x, Tensor("i64", 1)], [Result("float", f.accumulate(x.wide(), 1))], ulps=0)
    for bad in (2, -3):
        yield Case([x, Tensor("i64", bad)], [Result("float", x.data)],
                   error=f"case.gg:.*{op}: axis {bad} is out of range for rank 2")


@oracle("Hardmax")
def hardmax(g):
    for kind in FLOATS:
        x = g.tensor(kind, g.shape(low=1))
        axis = g.integer(-x.data.ndim, x.data.ndim - 1)
        v = np.where(np.isnan(x.wide()), np.inf, x.wide())
        # NaN is above infinity: where there is one, only NaNs compete.
        v = np.where(np.isnan(x.wide()).any(axis, keepdims=True), np.isnan(x.wide()), v) if v.size else v
        want = np.zeros(x.shape)
        if want.size:
            np.put_along_axis(want, np.expand_dims(np.argmax(v, axis), axis), 1, axis)
        yield Case([x], [Result(kind, want)], members=f"axis = {axis}", ulps=0)
    yield Case([g.tensor("float", (2, 3))], members="axis = 2", error="Hardmax.*axis 2 is out of range for rank 2")
