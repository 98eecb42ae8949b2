"""Oracles of the operators that select elements."""
import functools

import numpy as np

from oracle import DATA, FLOATS, NUMS, Case, Result, Tensor, is_float, oracle

KINDS = DATA + ["string", "complex64", "complex128"]


def before(a, b):
    """-1, 0 or 1: how two elements compare; NaN is above everything, and equal to itself."""
    if isinstance(a, (complex, np.complexfloating)):
        return before(a.real, b.real) or before(a.imag, b.imag)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    if a != a or b != b:
        return int(a != a) - int(b != b)
    return int(a > b) - int(a < b)


ORDER = functools.cmp_to_key(before)


@oracle("TopK")
def top_k(g):
    for kind in [g.pick(NUMS), g.pick(FLOATS)]:
        x = g.tensor(kind, g.shape(low=1))
        axis = g.integer(0, x.data.ndim - 1)
        k, largest = g.integer(0, x.shape[axis]), g.integer(0, 1)
        lines = np.moveaxis(x.data, axis, -1)
        picked = np.zeros(lines.shape[:-1] + (k,), np.int64)
        for i in np.ndindex(*lines.shape[:-1]):
            order = sorted(range(lines.shape[-1]), key=lambda j: ORDER(lines[i][j]), reverse=bool(largest))
            picked[i] = order[:k]  # sorted keeps the order of equals, also in reverse
        picked = np.moveaxis(picked, -1, axis)
        want = [Result(kind, np.take_along_axis(x.data, picked, axis)), Result("i64", picked)]
        flags = f"axis = {axis - g.pick([0, x.data.ndim])}, largest = {str(bool(largest)).lower()}"
        yield Case([x, Tensor("i64", [k]).const()], want, members=flags, ulps=0)
        claim = "<" + " x ".join(("..%d" if a == axis and d else "%d") % d for a, d in enumerate(x.shape)) + ">"
        for r in want:
            r.claim = claim
        yield Case([x, Tensor("i64", [k])], want, members=flags, ulps=0)
    x = g.tensor("float", (2, 3))
    two = [Result("float", x.data, claim="<2 x ..3>"), Result("i64", x.data, claim="<2 x ..3>")]
    for bad in (4, -1):
        yield Case([x, Tensor("i64", [bad]).const()], two, error=f"TopK: k is {bad}")
        yield Case([x, Tensor("i64", [bad])], two, error=f"case.gg:.*TopK: k is {bad}")


@oracle("ArgMax")
def arg_max(g):
    for kind in [g.pick(NUMS), g.pick(FLOATS)]:
        x = g.tensor(kind, g.shape(low=1, zero=False))
        axis, last, keep = g.integer(0, x.data.ndim - 1), g.integer(0, 1), g.integer(0, 1)
        lines = np.moveaxis(x.data, axis, -1)
        want = np.zeros(lines.shape[:-1], np.int64)
        for i in np.ndindex(*want.shape):
            places = range(lines.shape[-1])
            want[i] = max(reversed(places) if last else places, key=lambda j: ORDER(lines[i][j]))
        yield Case([x], [Result("i64", np.expand_dims(want, axis) if keep else want)],
                   members=f"axis = {axis}, keep = {str(bool(keep)).lower()}, last = {str(bool(last)).lower()}")
    yield Case([g.tensor("float", (2, 0))], members="axis = 1", error="axis 1 has no elements")
    yield Case([g.tensor("float", (2, 3))], members="axis = -3", error="axis -3 is out of range for rank 2")


@oracle("NonZero")
def non_zero(g):
    for kind in [g.pick(DATA), g.pick(KINDS)]:
        x = g.tensor(kind, g.shape(low=1))
        places = [i for i in np.ndindex(*x.shape) if x.data[i] != ("" if kind == "string" else 0)]
        want = np.array(places, np.int64).reshape(len(places), x.data.ndim).T
        n = x.data.size
        yield Case([x], [Result("i64", want, claim=f"<{x.data.ndim} x {'..' if n else ''}{n}>")])


@oracle("Compress")
def compress(g):
    for kind in [g.pick(DATA), g.pick(KINDS)]:
        x = g.tensor(kind, g.shape(low=1, zero=False))
        axis = g.integer(0, x.data.ndim - 1)
        for flat in (False, True):
            n = x.data.size if flat else x.shape[axis]
            cond = g.tensor("bool", (g.integer(1, n + 2),))
            kept = [i for i in range(min(n, cond.data.size)) if cond.data[i]]
            want = x.data.reshape(-1)[kept] if flat else np.take(x.data, kept, axis)
            dims = ["%d" % d for d in want.shape]
            dims[0 if flat else axis] = f"..{min(n, cond.data.size)}"
            yield Case([x, cond], [Result(kind, want, claim="<" + " x ".join(dims) + ">")],
                       members="flat = true" if flat else f"axis = {axis}", ulps=0)
            yield Case([x, cond.const()], [Result(kind, want)],
                       members="flat = true" if flat else f"axis = {axis}", ulps=0)
    yield Case([g.tensor("float", (2,)), g.tensor("bool", (2, 1))], error="Cond must have rank 1")
    yield Case([g.tensor("float", (2,)), g.tensor("bool", (2,))], members="axis = 1", error="axis 1 is out of range")


@oracle("Unique")
def unique(g):
    for kind in [g.pick(DATA), g.pick(FLOATS), g.pick(KINDS)]:
        x = g.tensor(kind, g.shape(low=1, extent=4))
        for flat in (False, True):
            axis, ascending = g.integer(0, x.data.ndim - 1), g.integer(0, 1)
            slices = list(x.data.reshape(-1)) if flat else list(np.moveaxis(x.data, axis, 0))
            keys = [tuple(ORDER(v) for v in np.ravel(np.array(s, x.data.dtype))) for s in slices]
            first = [i for i, k in enumerate(keys) if k not in keys[:i]]
            if ascending:
                first.sort(key=lambda i: keys[i])
            inverse = [[keys[i] for i in first].index(k) for k in keys]
            y = x.data.reshape(-1)[first] if flat else np.take(x.data, first, axis)
            n = len(slices)
            few = f"<{'..' if n > 1 else ''}{n}>"
            dims = [f"{d}" for d in y.shape]
            dims[0 if flat else axis] = few[1:-1]
            counts = [inverse.count(i) for i in range(len(first))]
            results = [Result(kind, y, claim="<" + " x ".join(dims) + ">"),
                       Result("i64", np.array(first, np.int64), claim=few),
                       Result("i64", np.array(inverse, np.int64)),
                       Result("i64", np.array(counts, np.int64), claim=few)]
            yield Case([x], results[:g.pick([1, 2, 3, 4])],
                       members=("flat = true" if flat else f"axis = {axis}") +
                       f", sorted = {str(bool(ascending)).lower()}", ulps=0)
    yield Case([g.tensor("float", (2,))], members="axis = 1", error="axis 1 is out of range")


@oracle("OneHot")
def one_hot(g):
    for kind in [g.pick(NUMS), "i64"]:
        depth = g.integer(0, 6)
        shape = g.shape(high=3)
        low, high = (-8, 8) if kind[0] != "u" else (0, 8)
        where = g.tensor(kind, shape, low=low, high=high)
        value_kind = g.pick(KINDS)
        values = g.tensor(value_kind, (2,))
        axis = g.integer(-len(shape) - 1, len(shape))
        at = axis + len(shape) + 1 if axis < 0 else axis
        want = np.empty(shape[:at] + (depth,) + shape[at:], values.data.dtype)
        for i in np.ndindex(*want.shape):
            v = int(where.data[i[:at] + i[at + 1:]])  # towards 0
            want[i] = values.data[int(v == i[at] or v + depth == i[at])]
        depth_kind = g.pick(["i64", "i32", "u8", "float", "double"])
        yield Case([where, Tensor(depth_kind, depth).const(), values], [Result(value_kind, want)],
                   members=f"axis = {axis}", ulps=0)
        dims = ["%d" % d for d in want.shape]
        dims[at] = "?"
        yield Case([where, Tensor(depth_kind, [depth]), values],
                   [Result(value_kind, want, claim="<" + " x ".join(dims) + ">")],
                   members=f"axis = {axis}", ulps=0, graph_only=True)
    x, two = g.tensor("i64", (3,)), g.tensor("float", (2,))
    yield Case([x, Tensor("i64", -1).const(), two], error="Depth is -1")
    yield Case([x, Tensor("i64", -1), two], [Result("float", x.data, claim="<3 x ?>")], error="OneHot.*Depth is -1")
    yield Case([x, Tensor("i64", [1, 2]).const(), two], error="Depth must have one element")
    yield Case([x, Tensor("i64", 2).const(), g.tensor("float", (3,))], error="Values must be two values")
    yield Case([x, Tensor("i64", 2).const(), two], members="axis = 2", error="axis 2 is out of range for rank 2")
