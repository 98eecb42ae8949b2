"""training_info.py FOLDER: a model with a TrainingInfoProto: y = x w, the loss (y - t)^2, its Gradient and a step of
Momentum; and numpy's weights after some steps."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import FLOAT, I64, f, floats, graph, ints, model, node, value  # noqa: E402

folder = sys.argv[1]
TRAINING = "ai.onnx.preview.training"
rng = np.random.default_rng(2)
w, half = rng.normal(size=(3, 2)).astype("f4"), np.float32(0.5)
x, t = (rng.normal(size=(40, n)).astype("f4") for n in (3, 2))


def entry(key, v):
    return f(1, key) + f(2, v)


def write(name, binding=("w", "w2"), first=("w", "w0"), more=(), also=()):
    net = graph([node("MatMul", "x,w", "y")], [value("x", FLOAT, [4, 3])], [value("y", FLOAT, [4, 2])],
                [floats("w", [3, 2], [0] * 6)])
    step = graph([node("Sub", "y,t", "d"), node("Mul", "d,d", "q"),
                  node("ReduceMean", "q", "loss", keepdims=0),
                  node("Gradient", "w", "dw", domain=TRAINING, xs=["w"], y="loss"),
                  node("Momentum", "rate,count,w,dw,v", "w2,v2", domain=TRAINING, alpha=0.75, beta=1.0, mode="standard",
                       norm_coefficient=0.0),
                  node("Add", "count,one", "count2")],
                 [value("t", FLOAT, [4, 2])],
                 [value(o, FLOAT, []) for o in ("loss",)] + [value("w2", FLOAT, [3, 2]), value("v2", FLOAT, [3, 2]),
                                                             value("count2", I64, [])],
                 [floats("rate", [], [0.25]), ints("count", [], [0]), ints("one", [], [1]),
                  floats("v", [3, 2], [0] * 6)])
    begin = graph([node("Mul", "a,half", "w0"), *more], [], [value("w0", FLOAT, [3, 2])],
                  [floats("a", [3, 2], w.reshape(-1)), floats("half", [], [0.5])])
    info = (f(1, begin) + f(2, step) + f(3, entry(*first)) + b"".join(f(3, entry(*e)) for e in also) + f(4, entry(*binding)) + f(4, entry("v", "v2"))
            + f(4, entry("count", "count2")))
    with open(f"{folder}/{name}.onnx", "wb") as out:
        out.write(model(net, opset=13, more=f(20, info), imports=[(TRAINING, 1)]))


write("step")
write("binding", binding=("y", "w2"))
write("value", binding=("w", "w3"))
write("random", first=("w", "n"), also=[("v", "m")], more=[
    node("RandomNormal", "", "r", shape=[3, 2], scale=0.5), node("RandomUniform", "", "u", shape=[3, 2], seed=7.0),
    node("Add", "r,w0", "n"), node("Sub", "n,w0", "m"), node("Neg", "u", "k")])
np.save(folder + "/x.npy", x)
np.save(folder + "/t.npy", t)
v, w = 0, w.astype("f8") * 0.5
for i in range(0, 40, 4):
    a, b = x[i:i + 4].astype("f8"), t[i:i + 4]
    v = 0.75 * v + a.T @ (2 * (a @ w - b)) / 8
    w = w - 0.25 * v
np.save(folder + "/y.npy", (x[:4].astype("f8") @ w).astype("f4"))
