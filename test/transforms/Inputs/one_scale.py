"""Inputs and expected results of tie-scales.gg and fold-rescale.gg: one rounding each, in float."""
import sys

import numpy as np

F = np.float32
r = np.random.default_rng(6)


def save(name, a):
    np.save(f"{sys.argv[1]}/{name}.npy", a)


def rounded(x, s, o, low=0):
    return ((np.clip(np.rint(x / F(s)) + o, low, low + 255) - o) * F(s)).astype(F)


x, y = (r.uniform(-3, 16, (2, 3)).astype(F) for _ in range(2))
c = np.array([[True, False, True], [False, True, False]])
save("x", x)
save("y", y)
save("c", c)
save("cat", np.concatenate([rounded(x, 0.05, 0), rounded(y, 0.05, 0)]))
save("max", np.maximum(rounded(x, 0.1, 100), rounded(y, 0.1, 100)))
save("where", np.where(c, rounded(x, 0.2, 0, -128), rounded(y, 0.2, 0, -128)))
save("last", rounded(x, 0.04, 0))
save("relu", rounded(np.clip(x, 0, F(12.75)), 0.1, 128))
save("first", rounded(x, 0.05, 0))
save("limit", np.clip(rounded(x, 0.05, 0), 0, F(5.1)))
