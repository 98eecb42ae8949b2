"""Oracles of the operators that read or set shapes."""
import numpy as np

from oracle import DATA, FLOATS, SINTS, Case, Result, Tensor, oracle


@oracle("Shape")
def shape(g):
    x = g.tensor(g.pick(DATA), g.shape(high=5))
    yield Case([x], [Result("i64", np.array(x.shape, np.int64))])
    rank = len(x.shape)
    start, end = g.integer(-rank - 2, rank + 2), g.integer(-rank - 2, rank + 2)
    yield Case([x], [Result("i64", np.array(x.shape[start:end], np.int64))],
               members=f"start = {start}, end = {end}")


@oracle("Size")
def size(g):
    x = g.tensor(g.pick(DATA), g.shape(high=5))
    yield Case([x], [Result("i64", np.array(x.data.size, np.int64))])


@oracle("Reshape")
def reshape(g):
    x = g.tensor(g.pick(DATA), g.shape(low=1, zero=False))
    dims = list(x.shape)
    g.rng.shuffle(dims)
    want = [Result(x.kind, x.data.reshape(dims))]
    yield Case([x, Tensor("i64", dims).const()], want, ulps=0)
    if dims:
        inferred = [-1 if i == 0 else d for i, d in enumerate(dims)]
        yield Case([x, Tensor("i64", inferred).const()], want, ulps=0)
    yield Case([x, Tensor("i64", [x.data.size + 1]).const()], error="elements")


@oracle("ConstantOfShape")
def constant_of_shape(g):
    for kind in DATA:
        v = g.tensor(kind, (), low=0, high=1) if kind != "bool" else g.tensor(kind, ())
        text = str(v.data[()]).lower() if kind == "bool" else str(v.data[()])
        shape = g.shape(high=5)
        yield Case([Tensor("i64", np.array(shape, np.int64)).const()],
                   [Result(kind, np.full(shape, v.data[()]))], ulps=0,
                   members=f"value = {text}, kind = {kind}")
    both = [Result("float", np.zeros((1, 1)))]
    yield Case([Tensor("i64", [2, -1]).const()], both, error="extent 1 is -1")


@oracle("Splat")
def splat(g):
    for kind in DATA:
        v = g.tensor(kind, ())
        text = str(v.data[()]).lower()
        yield Case([], [Result(kind, np.full(g.shape(high=5), v.data[()]))], ulps=0, annotate=True,
                   members=f"value = {text}")


@oracle("Range")
def range_(g):
    for kind in FLOATS + SINTS:
        if kind in FLOATS:  # eighths, so that the count is exact
            start, delta = g.integer(-80, 80) / 8, g.pick([-1, 1]) * g.integer(1, 20) / 8
            limit = start + delta * (g.integer(-2, 9) + g.pick([0, 0.5]))
        else:
            start, delta = g.integer(-50, 50), g.pick([-7, -1, 1, 3])
            limit = start + g.integer(-20, 60)
        want = np.arange(start, limit, delta)
        # start + i * delta, each of the two rounded in the kind; these are exact but in bfloat16.
        yield Case([Tensor(kind, np.array(v)).const() for v in (start, limit, delta)],
                   [Result(kind, want)], ulps=2)
    t = lambda v: Tensor("i64", np.array(v)).const()
    yield Case([t(0), t(3), t(0)], [Result("i64", np.zeros(3))], error="Delta is 0")
    yield Case([t(0), t([1, 2]), t(1)], [Result("i64", np.zeros(3))], error="must have one element")
