"""losses.py data FOLDER: numbers for each loss.
losses.py check FOLDER NAME: the loss, its derivative by the logits, and how many are right, against numpy in double."""
import sys

import numpy as np

SHAPES = {"softmax": (4, 3), "places": (2, 3, 5), "last": (2, 5, 3), "binary": (6, 1), "squared": (4, 3), "absolute": (4, 3),
          "huber": (4, 3)}


def numbers(name):
    rng = np.random.default_rng(sorted(SHAPES).index(name))
    shape = SHAPES[name]
    x = rng.normal(size=shape) * 2
    if name in ("softmax", "places", "last"):
        axis = -1 if name == "last" else 1
        label = rng.integers(0, 3, np.delete(shape, axis))
    else:
        label = rng.integers(0, 2, shape).astype("f8") if name == "binary" else rng.normal(size=shape)
    return x, label


def cross_entropy(x, label, axis):
    x = np.moveaxis(x, axis, -1)
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    hot = np.eye(x.shape[-1])[label]
    same = x.argmax(-1) == label
    return (-np.log((p * hot).sum(-1)).mean(), np.moveaxis((p - hot) / label.size, -1, axis),
            same.sum() if label.ndim == 1 else same.mean())


def expected(name, x, t):
    if name in ("softmax", "places", "last"):
        return cross_entropy(x, t, -1 if name == "last" else 1)
    if name == "binary":
        p = 1 / (1 + np.exp(-x))
        return -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean(), (p - t) / x.size, ((x > 0) == (t > 0.5)).sum()
    d, a = x - t, np.abs(x - t)
    if name == "squared":
        return (d * d).mean(), 2 * d / x.size, None
    if name == "absolute":
        return a.mean(), np.sign(d) / x.size, None
    return (np.where(a < 0.75, a * a / 2, 0.75 * (a - 0.375)).mean(), np.where(a < 0.75, d, 0.75 * np.sign(d)) / x.size, None)


def data(folder):
    for name in SHAPES:
        x, label = numbers(name)
        np.save(f"{folder}/{name}.x.npy", x)
        np.save(f"{folder}/{name}.label.npy", label)
        kind = "x".join(map(str, x.shape)).replace("x", " x ")
        with open(f"{folder}/{name}.gg", "w") as f:
            f.write(f"declare {{\n  placeholder @x : double<{kind}>\n  placeholder @y : double<{kind}>\n"
                    f"  variable @w : double<{kind}> = splat(0.0)\n}}\n"
                    "func @net {\n  %y = Add(@x, @w)\n  Save(%y, @y)\n}\n")


def check(folder, name):
    x, label = numbers(name)
    loss, slope, right = expected(name, x, label)
    load = lambda what: np.load(f"{folder}/{name}.out/{what}.npy")
    np.testing.assert_allclose(load("loss"), loss, rtol=1e-14)
    # SGD at rate 1 leaves minus the derivative in @w, which began with zeros.
    np.testing.assert_allclose(load("y"), x - slope, rtol=1e-13, atol=1e-15)
    if right is not None:
        assert load("right") == right if label.ndim == 1 or name == "binary" else abs(load("right") - right) < 1e-7
    print(name, "fits")


{"data": data, "check": check}[sys.argv[1]](*sys.argv[2:])
