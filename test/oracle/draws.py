"""Oracles of random numbers: Philox4x32-10 and the inverse normal distribution of Python's library."""
import statistics

import numpy as np

from oracle import FLOATS, Case, Result, Tensor, oracle

NEXT = statistics.NormalDist()


def philox(key, counter):
    """Four words; Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"."""
    mask = 2**32 - 1
    k0, k1 = key & mask, key >> 32
    c = [counter & mask, counter >> 32, 0, 0]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k0, b & mask, (a >> 32) ^ c[3] ^ k1, a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c


def bits(state, count, wide):
    """32 bits for each element, or 64."""
    out, per = [], 2 if wide else 4
    for i in range(count):
        words = philox(state[0], state[1] + i // per)
        out.append(words[2 * (i % 2)] << 32 | words[2 * (i % 2) + 1] if wide else words[i % 4])
    return out


def uniform(state, count, wide):
    return [(b >> 11) / 2**53 if wide else (b >> 8) / 2**24 for b in bits(state, count, wide)]


def advanced(state, count, wide):
    per = 2 if wide else 4
    return Result("u64", np.array([state[0], state[1] + -(-count // per)], np.uint64))


def draws(g):
    for kind in FLOATS:
        state = [g.integer(0, 2**62), g.integer(0, 2**40)]
        shape = g.shape(low=0, high=3)
        yield kind, state, Tensor("u64", state), shape, int(np.prod(shape, dtype=int)), kind == "double"


@oracle("RandomUniform")
def random_uniform(g):
    for kind, state, t, shape, n, wide in draws(g):
        u = np.array(uniform(state, n, wide), np.float64).reshape(shape)
        yield Case([g.tensor("i8", shape), t], [Result(kind, -2 + u * 5, scale=2 + u * 5), advanced(state, n, wide)],
                   members=f"low = -2.0, high = 3.0, kind = {kind}")


@oracle("RandomNormal")
def random_normal(g):
    for kind, state, t, shape, n, wide in draws(g):
        half = [((b >> 12) + 0.5) / 2**52 if wide else (b + 0.5) / 2**32 for b in bits(state, n, wide)]
        z = np.array([NEXT.inv_cdf(u) for u in half], np.float64).reshape(shape)
        # The library's own error, in double, is far below the tolerance of the other kinds.
        yield Case([g.tensor("bool", shape), t], [Result(kind, 1.5 + 2 * z), advanced(state, n, wide)],
                   members=f"mean = 1.5, scale = 2.0, kind = {kind}", ulps=64 if wide else 1)


@oracle("Bernoulli")
def bernoulli(g):
    for kind, state, t, shape, n, wide in draws(g):
        p = g.tensor(kind, shape, low=0, high=1)
        u = np.array(uniform(state, n, wide), np.float64).reshape(shape)
        to = g.pick(["bool", "float", "i32"])
        yield Case([p, t], [Result(to, (u < p.wide()).astype(np.float64)), advanced(state, n, wide)],
                   members=f"kind = {to}")


@oracle("Multinomial")
def multinomial(g):
    for kind, state, t, _, _, wide in draws(g):
        rows, classes, samples = g.integer(1, 3), g.integer(1, 6), g.integer(1, 9)
        x = g.tensor(kind, (rows, classes), low=-2, high=2)
        if classes > 1:
            x.data[0, 0] = -np.inf
        p = np.exp(x.wide().astype(np.float64) - x.wide().max(1, keepdims=True).astype(np.float64))
        u = np.array(uniform(state, rows * samples, wide)).reshape(rows, samples)
        total = np.cumsum(p, 1)
        want = [[int(np.argmax(total[r] > v * total[r][-1])) for v in u[r]] for r in range(rows)]
        to = g.pick(["i32", "i64"])
        yield Case([x, t], [Result(to, np.array(want)), advanced(state, rows * samples, wide)],
                   members=f"samples = {samples}, kind = {to}")
    two = [Result("i32", [[0]]), advanced([0, 0], 1, False)]
    for bad in ([[0.0, np.nan]], [[0.0, np.inf]], [[-np.inf, -np.inf]]):
        yield Case([Tensor("float", bad), t], two, error="Multinomial.*value of an operand")
    yield Case([Tensor("float", [0.0]), t], two, error="rank 2")
