"""Writes DIR/{tensor,columns}.onnx, bidirectional LSTMs with weights of 8 bits whose scales are one for a
direction or one for each column, their inputs, and what numpy makes of the definition; DIR/wrong-*.onnx."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../utils"))
import onnx_bytes as o  # noqa: E402

STEPS, BATCH, INPUTS, HIDDEN = 7, 2, 5, 3
out = sys.argv[1]
rng = np.random.default_rng(11)
draw = lambda *dims: rng.uniform(-1, 1, dims).astype(np.float32)
sigmoid = lambda v: 1 / (1 + np.exp(-v))
x, h0, c0, bias = draw(STEPS, BATCH, INPUTS), draw(2, BATCH, HIDDEN), draw(2, BATCH, HIDDEN), draw(2, 8 * HIDDEN)


def run(d, w, r, peepholes):
    """One direction, in double; gates in ONNX's order: input, output, forget, cell."""
    h, c, y = h0[d].astype(float), c0[d].astype(float), np.zeros((STEPS, BATCH, HIDDEN))
    pi, po, pf = np.split(peepholes[d].astype(float), 3)
    for t in reversed(range(STEPS)) if d else range(STEPS):
        gates = x[t] @ w[d] + h @ r[d] + bias[d].reshape(2, -1).sum(0, dtype=float)
        i, o_, f, g = np.split(gates, 4, axis=1)
        c, before = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * np.tanh(g), c
        h = y[t] = sigmoid(o_ + po * c) * np.tanh(c)
    return y, h, c


def model(name, kind, scale_shape, zeros, **changes):
    low = np.iinfo(kind).min
    codes = [rng.integers(low, low + 256, (2, k, 4 * HIDDEN)).astype(kind) for k in (INPUTS, HIDDEN)]
    scales = [rng.uniform(0.002, 0.01, scale_shape).astype(np.float32) for _ in codes]
    points = [rng.integers(low + 100, low + 156, scale_shape).astype(kind) if zeros else None for _ in codes]
    peepholes = draw(2, 3 * HIDDEN)
    real = [(q.astype(float) - (0 if z is None else z.reshape(2, 1, -1))) * s.reshape(2, 1, -1) for q, s, z in zip(codes, scales, points)]
    names, values = "x,w,r,b,,h,c,p,ws,wz,rs,rz", {"h": h0, "c": c0, "b": bias, "p": peepholes, "ws": scales[0], "rs": scales[1]}
    if not zeros:
        names = "x,w,r,b,,h,c,p,ws,,rs"
    type_of = o.I8 if kind == np.int8 else o.U8
    raw = lambda n, v: o.tensor(n, type_of, v.shape, fields=o.f(9, v.tobytes()))
    inits = [o.floats(n, v.shape, v.ravel()) for n, v in values.items()] + [raw("w", codes[0]), raw("r", codes[1])]
    inits += [raw("wz", points[0]), raw("rz", points[1])] if zeros else []
    n = o.node("DynamicQuantizeLSTM", changes.get("names", names), "y,yh,yc", "cell", domain="com.microsoft", direction="bidirectional",
               hidden_size=HIDDEN)
    g = o.graph([n], [o.value("x", o.FLOAT, x.shape)], [o.value(v, o.FLOAT) for v in ("y", "yh", "yc")], inits)
    open(f"{out}/{name}.onnx", "wb").write(o.model(g, 17, imports=[("com.microsoft", 1)]))
    results = [run(d, *real, peepholes) for d in (0, 1)]
    for k, v in zip(("y", "yh", "yc"), (np.stack([r[i] for r in results], 1 if i == 0 else 0) for i in range(3))):
        np.save(f"{out}/{name}.{k}.npy", v.astype(np.float32))


np.save(f"{out}/x.npy", x)
model("tensor", np.uint8, (2,), True)
model("columns", np.int8, (2, 4 * HIDDEN), True)
model("symmetric", np.int8, (2,), False)
model("wrong-scale", np.uint8, (2,), True, names="x,w,r,b,,h,c,p,ws,wz")
model("wrong-weights", np.uint8, (2,), True, names="x,b,r,b,,h,c,p,ws,wz,rs,rz")
model("wrong-rank", np.uint8, (2,), True, names="x,w,r,b,,h,c,p,w,wz,rs,rz")
