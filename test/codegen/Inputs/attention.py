"""Inputs and, in double, results of tiled-attention.gir."""
import sys

import numpy as np

out = sys.argv[1] + "/"
g = np.random.default_rng(3)
save = lambda name, a: np.save(out + name + ".npy", a.astype("f4"))
x, k, v = (g.uniform(-2, 2, s).astype("f4") for s in ((2, 13, 4, 20), (2, 2, 70, 20), (2, 2, 70, 18)))
mask = np.where(g.uniform(0, 1, (2, 1, 13, 70)) < 0.4, -np.inf, g.uniform(-1, 1, (2, 1, 13, 70)))
mask[0, 0, 5] = -np.inf
mask[1, 0, 2, :40] = -np.inf
mask = mask.astype("f4")
for name, a in (("x", x), ("k", k), ("v", v), ("mask", mask)):
    save(name, a)


def attention(bias):
    q, keys, values = (a.astype("f8") for a in (x.transpose(0, 2, 1, 3), k, v))
    s = q @ np.repeat(keys, 2, 1).transpose(0, 1, 3, 2) * 0.25 + bias
    top = s.max(-1, keepdims=True)
    w = np.exp(s - np.where(np.isinf(top), 0, top))
    total = w.sum(-1, keepdims=True)
    return w / np.where(total == 0, 1, total) @ np.repeat(values, 2, 1)


save("y", attention(mask.astype("f8")).transpose(0, 2, 1, 3))
save("z", attention(0.0))
