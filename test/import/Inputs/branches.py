"""Writes DIR/branches.onnx: like a voice detector for two rates, an If whose branches take windows of different
lengths, so that one has no types for a given length. DIR/broken.onnx has an attribute that is missing in a branch.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../utils"))
import onnx_bytes as o  # noqa: E402

out = sys.argv[1]


def branch(name, length):
    """Frames of the signal, each times a window, and their sums: [1, 4]."""
    nodes = [o.node("Reshape", f"x,{name}shape", f"{name}frames", f"{name}frame"),
             o.node("Mul", f"{name}frames,{name}window", f"{name}product", f"{name}mul"),
             o.node("ReduceSum", f"{name}product,axis", f"{name}sums", f"{name}sum", keepdims=0)]
    window = [i + 1.0 for i in range(length)]
    return o.graph(nodes, outs=[o.value(f"{name}sums")],
                   inits=[o.ints(f"{name}shape", [3], [1, 4, -1]), o.floats(f"{name}window", [length], window)])


def write(name, then, other, length=32):
    nodes = [o.node("Equal", "rate,fast", "is_fast"), o.node("If", "is_fast", "y", "choose", then_branch=then, else_branch=other)]
    g = o.graph(nodes, [o.value("x", o.FLOAT, [1, "length"]), o.value("rate", o.I64, [])], [o.value("y", o.FLOAT, [1, 4])],
                [o.ints("fast", [], [16000]), o.ints("axis", [1], [2])])
    open(f"{out}/{name}.onnx", "wb").write(o.model(g, 17))


write("branches", branch("a", 8), branch("b", 4))
write("broken", branch("a", 8), o.graph([o.node("Cast", "x", "c", "cast")], outs=[o.value("c")]))
x = np.arange(32, dtype=np.float32)[None]
np.save(f"{out}/x32.npy", x)
np.save(f"{out}/x16.npy", x[:, :16])
for n in (32, 16):
    frames = x[:, :n].reshape(1, 4, -1)
    np.save(f"{out}/y{n}.npy", (frames * np.arange(1, n // 4 + 1)).sum(2).astype(np.float32))
np.save(f"{out}/fast.npy", np.array(16000, np.int64))
np.save(f"{out}/slow.npy", np.array(8000, np.int64))
