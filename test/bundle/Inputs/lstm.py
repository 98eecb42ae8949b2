"""Writes DIR/lstm.onnx, a bidirectional LSTM of 16 steps, its input and what numpy makes of it."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../utils"))
import onnx_bytes as o  # noqa: E402

STEPS, BATCH, INPUTS, HIDDEN = 16, 2, 12, 20
out = sys.argv[1]
rng = np.random.default_rng(7)
draw = lambda *dims: rng.uniform(-0.5, 0.5, dims).astype(np.float32)
x = draw(STEPS, BATCH, INPUTS)
w, r, b = draw(2, 4 * HIDDEN, INPUTS), draw(2, 4 * HIDDEN, HIDDEN), draw(2, 8 * HIDDEN)
sigmoid = lambda v: 1 / (1 + np.exp(-v))


def run(d):
    """One direction, in double; gates in ONNX's order: input, output, forget, cell."""
    h = c = np.zeros((BATCH, HIDDEN))
    y = np.zeros((STEPS, BATCH, HIDDEN))
    for t in reversed(range(STEPS)) if d else range(STEPS):
        gates = x[t] @ w[d].T.astype(float) + h @ r[d].T.astype(float) + b[d].reshape(2, -1).sum(0, dtype=float)
        i, o, f, g = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = y[t] = sigmoid(o) * np.tanh(c)
    return y


graph = o.graph([o.node("LSTM", "x,w,r,b", "y", direction="bidirectional", hidden_size=HIDDEN)],
                [o.value("x", o.FLOAT, x.shape)], [o.value("y", o.FLOAT, (STEPS, 2, BATCH, HIDDEN))],
                [o.floats(name, v.shape, v.ravel()) for name, v in (("w", w), ("r", r), ("b", b))])
open(f"{out}/lstm.onnx", "wb").write(o.model(graph))
np.save(f"{out}/x.npy", x)
x.tofile(f"{out}/x.bin")
np.save(f"{out}/want.npy", np.stack([run(0), run(1)], 1).astype(np.float32))
