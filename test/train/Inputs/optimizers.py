"""optimizers.py data FOLDER: random gradients of 100 steps.
optimizers.py check FOLDER NAME: weights after 100 steps against PyTorch's algorithms, as its documentation states them,
in numpy's double."""
import json
import math
import sys

import numpy as np

STEPS, SHAPE = 100, (5, 3)


def initial():
    return np.linspace(-1, 1, 15).reshape(SHAPE), np.linspace(0.5, 2, 3)


def data(folder):
    rng = np.random.default_rng(5)
    np.save(folder + "/g.npy", rng.normal(size=(STEPS, *SHAPE)) * rng.uniform(0.1, 3, (STEPS, 1, 1)))
    np.save(folder + "/h.npy", rng.normal(size=(STEPS, 3)))


def sgd(w, g, state, t, lr, decay=0, momentum=None, nesterov=False):
    g = g + decay * w
    if momentum is not None:
        state["b"] = g if t == 1 else momentum * state["b"] + g
        g = g + momentum * state["b"] if nesterov else state["b"]
    return w - lr * g


def adam(w, g, state, t, lr, decay=0, decoupled=False, b1=0.9, b2=0.999, epsilon=1e-8, hat=False):
    if decoupled:
        w = w - lr * decay * w
    else:
        g = g + decay * w
    state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
    state["v"] = b2 * state.get("v", 0) + (1 - b2) * g**2
    if hat:
        return w - lr * math.sqrt(1 - b2**t) / (1 - b1**t) * state["m"] / (np.sqrt(state["v"]) + epsilon)
    return w - lr * (state["m"] / (1 - b1**t)) / (np.sqrt(state["v"] / (1 - b2**t)) + epsilon)


def clip(gradients, norm):
    total = math.sqrt(sum((g**2).sum() for g in gradients))
    return [g * min(1, norm / (total + 1e-6)) for g in gradients]


def cosine(s):
    return (s + 1) / 10 if s < 10 else (1 + math.cos(math.pi * (s - 10) / 90)) / 2


# name: the step, what happens to gradients before, the factor of the rate at step s from 0
CONFIGS = {
    "sgd": (lambda *a: sgd(*a, decay=0.01), None, lambda s: 1),
    "momentum": (lambda *a: sgd(*a, momentum=0.9), None, lambda s: 0.1**(s // 30)),
    "nesterov": (lambda *a: sgd(*a, momentum=0.85, nesterov=True, decay=0.001), None, cosine),
    "adam": (lambda *a: adam(*a, decay=0.02), None, lambda s: 1 - min(s, 120) / 120),
    "adamw": (lambda *a: adam(*a, decay=0.01, decoupled=True), lambda g: clip(g, 2.5), lambda s: 1),
    "hat": (lambda *a: adam(*a, b1=0.8, b2=0.95, epsilon=1e-3, hat=True),
            lambda g: [np.clip(x, -0.75, 0.75) for x in g], lambda s: 1),
}


def check(folder, name):
    step, before, factor = CONFIGS[name]
    weights, states = list(initial()), [{}, {}]
    for s, gradients in enumerate(zip(np.load(folder + "/g.npy"), np.load(folder + "/h.npy"))):
        if before:
            gradients = before(gradients)
        weights = [step(w, g, state, s + 1, 0.05 * factor(s)) for w, g, state in zip(weights, gradients, states)]
    with open(f"{folder}/{name}.safetensors", "rb") as f:
        file = f.read()
    n = int.from_bytes(file[:8], "little")
    header = json.loads(file[8:8 + n])
    for key, want in zip(("w", "b"), weights):
        got = np.frombuffer(file[8 + n:][slice(*header[key]["data_offsets"])]).reshape(want.shape)
        worst = np.abs(got - want).max() / np.abs(want).max()
        print(f"{name} {key}: {worst:.1e}")
        assert worst <= 1e-14, worst
        assert np.abs(want - initial()[key == "b"]).max() > 0.01


{"data": data, "check": check}[sys.argv[1]](*sys.argv[2:])
