"""Oracles of the operators that read or set shapes."""
import numpy as np

from oracle import DATA, Case, Result, Tensor, oracle


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
