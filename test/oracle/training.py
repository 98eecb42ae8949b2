"""Oracles of optimizers: the formulas of PyTorch's documentation, in double."""
import numpy as np

from oracle import FLOATS, Case, Result, Tensor, oracle


def state(g, kind, count):
    """Weight, gradient and moments of one shape, and a rate of some kind."""
    shape = g.shape(high=3)
    tensors = [g.tensor(kind, shape, low=-2, high=2) for _ in range(count)]
    return tensors + [g.tensor(g.pick(FLOATS), (), low=0.01, high=0.5)]


def number(v):
    return np.asarray(v.wide()).astype(np.float64)[()]


def refused(op, kind="float"):
    """What no optimizer takes: another shape, another kind, and several rates."""
    w, wrong, rate = Tensor(kind, np.zeros((2, 3))), Tensor(kind, np.zeros((3, 2))), Tensor(kind, 0.1)
    more = {"SGD": [], "Momentum": [w], "Adam": [w, w]}[op]
    step = [Tensor("i64", 1)] if op == "Adam" else []
    out = [Result(kind, w.data) for _ in range(1 + len(more))]
    yield Case([w, wrong, *more, rate, *step], out, error="Gradient has type .* expected the shape of Weight")
    yield Case([w, w, *more, Tensor(kind, [0.1, 0.2]), *step], out, error="Rate has type .* expected one number")
    yield Case([w, w, *more, rate, *step], out, members="decay = -0.5", error="decay is -0.5")
    yield Case([w, w, *more, rate, *step], out, members="decay = nan", error="decay is")


@oracle("SGD")
def sgd(g):
    for kind in FLOATS:
        w, d, rate = state(g, kind, 2)
        decay = g.pick([0, 0.125, 0.01])
        x, step = w.wide(), d.wide() + decay * w.wide()
        size = np.abs(x) + number(rate) * (np.abs(d.wide()) + decay * np.abs(x))
        yield Case([w, d, rate], [Result(kind, x - number(rate) * step, scale=size)],
                   members=f"decay = {decay}", ulps=4)
    yield from refused("SGD")


@oracle("Momentum")
def momentum(g):
    for kind in FLOATS:
        w, d, v, rate = state(g, kind, 3)
        decay, keep, nesterov = g.pick([0, 0.01]), g.pick([0, 0.9, 0.5]), g.integer(0, 1)
        x = w.wide()
        step = d.wide() + decay * x
        velocity = keep * v.wide() + step
        sizes = np.abs(d.wide()) + decay * np.abs(x)
        vsize = keep * np.abs(v.wide()) + sizes
        taken, tsize = (step + keep * velocity, sizes + keep * vsize) if nesterov else (velocity, vsize)
        yield Case([w, d, v, rate],
                   [Result(kind, x - number(rate) * taken, scale=np.abs(x) + number(rate) * tsize),
                    Result(kind, velocity, scale=vsize)],
                   members=f"decay = {decay}, momentum = {keep}, nesterov = {'true' if nesterov else 'false'}",
                   ulps=6)
    yield from refused("Momentum")
    w = Tensor("float", np.zeros(2))
    yield Case([w, w, w, Tensor("float", 0.1)], [Result("float", w.data)] * 2, members="momentum = 1.0",
               error="momentum is 1, expected at least 0 and less than 1")


@oracle("Adam")
def adam(g):
    for kind in FLOATS:
        w, d, m, _, rate = state(g, kind, 4)
        v = g.tensor(kind, w.shape, low=0.01, high=2)
        t = g.integer(1, 2000)
        decay, decoupled, hat = g.pick([0, 0.01]), g.integer(0, 1), g.integer(0, 1)
        beta1, beta2, epsilon = g.pick([0.9, 0.5, 0.0]), g.pick([0.999, 0.9]), g.pick([1e-8, 1e-3])
        x, r = w.wide(), number(rate)
        grad, gsize = d.wide(), np.abs(d.wide())
        if decoupled:
            x = x * (1 - r * decay)
        else:
            grad, gsize = grad + decay * x, gsize + decay * np.abs(x)
        mean = beta1 * m.wide() + (1 - beta1) * grad
        msize = np.abs(m.wide()) + gsize
        square = beta2 * v.wide() + (1 - beta2) * grad * grad
        c1, c2 = 1 - beta1**t, 1 - beta2**t
        if hat:
            below, factor = np.sqrt(square) + epsilon, r * np.sqrt(c2) / c1
        else:
            below, factor = np.sqrt(square / c2) + epsilon, r / c1
        size = np.abs(x) + factor * msize / below * (1 + gsize * gsize / square)
        yield Case([w, d, m, v, rate, Tensor("i64", t)],
                   [Result(kind, x - factor * mean / below, scale=size), Result(kind, mean, scale=msize),
                    Result(kind, square, scale=beta2 * v.wide() + (1 - beta2) * gsize * gsize)],
                   members=f"beta1 = {beta1}, beta2 = {beta2}, epsilon = {epsilon}, decay = {decay}, "
                           f"decoupled = {'true' if decoupled else 'false'}, hat = {'true' if hat else 'false'}",
                   ulps=10)
    yield from refused("Adam")
    w, rate, one = Tensor("float", np.zeros(2)), Tensor("float", 0.1), Tensor("i64", 1)
    for wrong in ("beta1 = 1.0", "beta2 = -0.1", "epsilon = -1.0", "epsilon = inf"):
        yield Case([w, w, w, w, rate, one], [Result("float", w.data)] * 3, members=wrong,
                   error=wrong.split()[0] + " is .*, expected")
    yield Case([w, w, w, w, rate, Tensor("float", 1)], [Result("float", w.data)] * 3, error="Step")


@oracle("Regression")
def regression(g):
    for kind in FLOATS:
        x = g.tensor(kind)
        yield Case([x, g.tensor(kind, x.shape)], [Result(kind, x.wide())], ulps=0)
    yield Case([Tensor("float", np.zeros(2)), Tensor("float", np.zeros(3))], [Result("float", np.zeros(2))],
               error="Expected has type .* expected the shape of X")
