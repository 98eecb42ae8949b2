"""Writes into a folder inputs, and what normalization and attention give for them, computed in double
precision with numpy. Usage: norms.py norm|attention FOLDER."""
import sys

import numpy as np

which, folder = sys.argv[1:]
rng = np.random.default_rng(11)


def save(name, value):
    np.save(f"{folder}/{name}.npy", np.asarray(value, dtype=np.float32))
    return np.asarray(value, dtype=np.float32).astype(np.float64)


def draw(name, *shape):
    return save(name, rng.normal(0.5, 1.5, shape))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


if which == "norm":
    x, s, t = draw("x", 3, 4, 6), draw("s", 6), draw("t", 6)
    d = x - x.mean(-1, keepdims=True)
    y = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    save("bare", y)
    save("scaled", y * s)
    save("full", y * s + t)
    save("rms", x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s)
else:
    q, k, v = draw("q", 2, 3, 4, 5), draw("k", 2, 3, 4, 5), draw("v", 2, 3, 4, 6)
    mask = draw("mask", 2, 1, 4, 4)
    scores = q @ k.swapaxes(-1, -2)
    save("plain", softmax(scores * 0.25) @ v)
    save("masked", softmax(scores * 0.25 + mask) @ v)
    save("causal", softmax(np.where(np.tri(4, dtype=bool), scores * 0.25, -np.inf)) @ v)
