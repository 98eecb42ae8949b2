"""training.py FOLDER: a model with batch normalization and dropout as exporters write it for inference, and numpy's
numbers in double for training."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import FLOAT, floats, graph, model, node, value  # noqa: E402

folder = sys.argv[1]
rng = np.random.default_rng(3)
x = rng.normal(size=(4, 3, 5)).astype("f4")
scale, bias, mean = (rng.normal(size=3).astype("f4") for _ in range(3))
var = rng.uniform(0.5, 2, size=3).astype("f4")


def write(name, nodes, outputs, more=(), opset=13):
    parameters = [floats(n, [3], v) for n, v in (("scale", scale), ("bias", bias), ("mean", mean), ("var", var))]
    g = graph(nodes, [value("x", FLOAT, [4, 3, 5])], [value(o, FLOAT, [4, 3, 5]) for o in outputs],
              parameters + list(more))
    with open(f"{folder}/{name}.onnx", "wb") as f:
        f.write(model(g, opset=opset))


bn = node("BatchNormalization", "x,scale,bias,mean,var", "y", epsilon=1e-3, momentum=0.75)
drop = node("Dropout", "y,ratio", "z", name="drop")
ratio = floats("ratio", [], [0.25])
write("bn", [bn], ["y"])
write("drop", [bn, drop], ["y", "z"], [ratio])
write("drop10", [bn, node("Dropout", "y", "z", ratio=0.25)], ["y", "z"], opset=10)
write("shared", [bn, node("BatchNormalization", "y,scale,bias,mean,var", "z")], ["z"])
w = x.astype("f8")
m = w.mean((0, 2))
v = w.var((0, 2))
y = (w - m[:, None]) / np.sqrt(v + np.float32(1e-3))[:, None] * scale[:, None] + bias[:, None]
np.save(folder + "/x.npy", x)
np.save(folder + "/y.npy", y.astype("f4"))
np.save(folder + "/mean.npy", (0.75 * mean + 0.25 * m).astype("f4"))
np.save(folder + "/var.npy", (0.75 * var + 0.25 * v).astype("f4"))
np.save(folder + "/infer.npy", ((w - mean[:, None]) / np.sqrt(var + np.float32(1e-3))[:, None] * scale[:, None]
                                + bias[:, None]).astype("f4"))
