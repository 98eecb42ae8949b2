"""Oracles of losses by classes."""
import numpy as np

from oracle import FLOATS, MANTISSA, Case, Result, Tensor, oracle


def places(g, kind, special):
    """X [N, C, ...], Target [N, ...] with the ignored class in it, Weight or None."""
    n, c = g.integer(1, 4), g.integer(2, 5)
    rest = g.shape(high=3, extent=4, zero=False)
    x = g.tensor(kind, (n, c, *rest), special=special, **({} if special else {"low": -3, "high": 3}))
    ignore = g.pick([None, -1, 0, c + 7])
    target = g.rng.integers(0, c, (n, *rest))
    if ignore is not None:
        target = np.where(g.rng.integers(0, 3, target.shape) == 0, ignore, target)
    weight = g.tensor(kind, (c,), low=0.25, high=2) if g.integer(0, 1) else None
    return x, Tensor(g.pick(["i32", "i64"]), target), weight, ignore


def losses(x, target, weight, ignore):
    """The loss of each place, its absolute value in the sense of docs/Numerics, and its weight."""
    taken = target != ignore if ignore is not None else np.ones(target.shape, bool)
    index = np.where(taken, target, 0)
    picked = np.take_along_axis(x, np.expand_dims(index, 1), 1).squeeze(1)
    w = np.where(taken, 1.0 if weight is None else weight[index], 0.0)
    return np.where(taken, -picked * w, 0.0), w


def cases(x, log, target, weight, ignore, slack, more=()):
    """`log` is in double; `slack` how far X's own rounding may move it, in units of its scale."""
    loss, w = losses(log, target.data, None if weight is None else weight.wide(), ignore)
    size = np.maximum(np.abs(loss), slack * w)
    members = "" if ignore is None else f", ignore_index = {ignore}"
    inputs = [x, target] + ([weight] if weight else [])
    yield Case(inputs, [Result(x.kind, loss, scale=size), *more],
               members="reduction = none" + members, ulps=8)
    total = size.sum()
    yield Case(inputs, [Result(x.kind, loss.sum(), scale=total)], members="reduction = sum" + members,
               ulps=16)
    parts = w.sum()
    yield Case(inputs, [Result(x.kind, loss.sum() / parts, scale=total / parts)],
               members="reduction = mean" + members, ulps=32)


def refused(x, target, weight):
    classes = x.shape[1]
    for wrong in (classes, -1):
        data = target.data.copy()
        data[(0,) * data.ndim] = wrong
        yield Case([x, Tensor("i64", data)], error="out of range")
    yield Case([x, Tensor("i64", target.data[..., None])], error="Target has type")
    yield Case([x, target, Tensor(x.kind, [1.0] * (classes + 1))], error="Weight has type")
    if x.kind == "float":
        yield Case([x, target, Tensor("double", [1.0] * classes)], error="Weight has type")


@oracle("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(g):
    for kind in FLOATS:
        x, target, weight, ignore = places(g, kind, special=False)
        yield from cases(x, x.wide(), target, weight, ignore, 0)
    yield from refused(x, Tensor("i64", np.zeros(target.shape)), weight)


@oracle("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(g):
    for kind in FLOATS:
        x, target, weight, ignore = places(g, kind, special=False)
        wide = x.wide()
        shifted = wide - wide.max(1, keepdims=True)
        log = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        scale = np.abs(shifted) + 2
        more = [Result(kind, log, scale=np.broadcast_to(scale, log.shape))]
        yield from cases(x, log, target, weight, ignore, float(scale.max()), more)
    yield from refused(x, Tensor("i64", np.zeros(target.shape)), weight)
