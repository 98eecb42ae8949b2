"""Writes DIR/grids.onnx, the end of a detector as exporters write it for open heights and widths: maps at two
strides, the centres of their cells from Range over floats, boxes around them, and a map that is scaled to a size
from float arithmetic. Inputs and what numpy makes of them: DIR/*.{8x12}.npy and a second size."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../utils"))
import onnx_bytes as o  # noqa: E402

out = sys.argv[1]
rng = np.random.default_rng(2)
w2 = rng.uniform(-1, 1, (4, 3, 2, 2)).astype(np.float32)
nodes, inits = [], [o.floats("w2", w2.shape, w2.ravel()), o.ints("two", [], [2]), o.ints("three", [], [3]), o.ints("axis0", [1], [0]),
                    o.ints("last", [1], [-1]), o.ints("flat", [1], [-1]), o.ints("pairs", [2], [-1, 2]), o.ints("one", [1], [1]),
                    o.floats("zero", [], [0.0]), o.floats("unit", [], [1.0]), o.floats("half", [], [0.5]),
                    o.ints("rows", [2], [-1, 1]), o.ints("map", [3], [0, 0, -1]), o.floats("grow", [], [1.5])]
add = nodes.append


def extent(x, index, name):
    """A scalar: an extent of x."""
    add(o.node("Shape", x, f"{name}.shape"))
    add(o.node("Gather", f"{name}.shape,{index}", name))


def centres(count, name):
    """0.5, 1.5, ...: Range over floats."""
    add(o.node("Cast", count, f"{name}.float", to=o.FLOAT))
    add(o.node("Range", f"zero,{name}.float,unit", f"{name}.range"))
    add(o.node("Add", f"{name}.range,half", name))


def level(x, tag, stride):
    extent(x, "two", f"h{tag}")
    extent(x, "three", f"w{tag}")
    centres(f"w{tag}", f"sx{tag}")
    centres(f"h{tag}", f"sy{tag}")
    add(o.node("Unsqueeze", f"h{tag},axis0", f"h{tag}.1"))
    add(o.node("Unsqueeze", f"w{tag},axis0", f"w{tag}.1"))
    add(o.node("Concat", f"h{tag}.1,w{tag}.1", f"grid{tag}", axis=0))
    add(o.node("Reshape", f"sy{tag},rows", f"column{tag}"))
    for a, v in (("gx", f"sx{tag}"), ("gy", f"column{tag}")):
        add(o.node("Expand", f"{v},grid{tag}", f"{a}{tag}"))
        add(o.node("Unsqueeze", f"{a}{tag},last", f"{a}{tag}.1"))
    add(o.node("Concat", f"gx{tag}.1,gy{tag}.1", f"points{tag}.2", axis=-1))
    add(o.node("Reshape", f"points{tag}.2,pairs", f"points{tag}"))
    add(o.node("Mul", f"h{tag},w{tag}", f"cells{tag}"))
    add(o.node("Reshape", f"cells{tag},flat", f"cells{tag}.1"))
    add(o.node("Concat", f"cells{tag}.1,one", f"steps{tag}.shape", axis=0))
    add(o.node("ConstantOfShape", f"steps{tag}.shape", f"steps{tag}", value=o.floats("", [1], [float(stride)])))
    add(o.node("Reshape", f"{x},map", f"flat{tag}"))


add(o.node("Conv", "x,w2", "p", "conv1", strides=[2, 2]))
add(o.node("MaxPool", "p", "q", "pool", kernel_shape=[2, 2], strides=[2, 2]))
level("p", "0", 2)
level("q", "1", 4)
for name in ("points", "steps"):
    add(o.node("Concat", f"{name}0,{name}1", name, axis=0))
add(o.node("Concat", "flat0,flat1", "boxes.all", axis=2))
add(o.node("Transpose", "points", "points.t", perm=[1, 0]))
add(o.node("Transpose", "steps", "steps.t", perm=[1, 0]))
# the sides' distances: half of the channels, by integer arithmetic on the shape
extent("boxes.all", "axis.one", "c")
inits += [o.ints("axis.one", [], [1]), o.ints("add.one", [], [1]), o.ints("start", [1], [0]), o.ints("axes1", [1], [1])]
add(o.node("Add", "c,add.one", "c.up"))
add(o.node("Div", "c.up,two", "c.half"))
add(o.node("Reshape", "c.half,flat", "c.half.1"))
add(o.node("Slice", "boxes.all,start,c.half.1,axes1", "lt"))
add(o.node("Reshape", "c,flat", "c.1"))
add(o.node("Slice", "boxes.all,c.half.1,c.1,axes1", "rb"))
add(o.node("Sub", "points.t,lt", "first"))
add(o.node("Add", "points.t,rb", "second"))
add(o.node("Concat", "first,second", "corners", axis=1))
add(o.node("Mul", "corners,steps.t", "boxes"))
# a map scaled to floor(1.5 * extent)
for a, c in (("h", "h1"), ("w", "w1")):
    add(o.node("Cast", c, f"{a}.f", to=o.FLOAT))
    add(o.node("Mul", f"{a}.f,grow", f"{a}.g"))
    add(o.node("Floor", f"{a}.g", f"{a}.floor"))
    add(o.node("Cast", f"{a}.floor", f"{a}.i", to=o.I64))
    add(o.node("Reshape", f"{a}.i,flat", f"{a}.i1"))
add(o.node("Slice", "h1.shape,start,pair,axis0", "front"))
inits.append(o.ints("pair", [1], [2]))
add(o.node("Concat", "front,h.i1,w.i1", "sizes", axis=0))
add(o.node("Resize", "q,,,sizes", "scaled", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
graph = o.graph(nodes, [o.value("x", o.FLOAT, ["batch", 3, "height", "width"])], [o.value("boxes"), o.value("scaled")], inits)
open(f"{out}/grids.onnx", "wb").write(o.model(graph, 17))

for height, width in ((8, 12), (20, 4)):
    x = rng.uniform(-1, 1, (1, 3, height, width)).astype(np.float32)
    p = np.einsum("nchiwj,ocij->nohw", x.reshape(1, 3, height // 2, 2, width // 2, 2).astype(float), w2)
    q = p.reshape(1, 4, height // 4, 2, width // 4, 2).max((3, 5))
    points, steps, flat = [], [], []
    for m, stride in ((p, 2), (q, 4)):
        gy, gx = np.meshgrid(np.arange(m.shape[2]) + 0.5, np.arange(m.shape[3]) + 0.5, indexing="ij")
        points.append(np.stack([gx, gy]).reshape(2, -1))
        steps.append(np.full(gx.size, stride))
        flat.append(m.reshape(1, 4, -1))
    points, steps, flat = np.concatenate(points, 1), np.concatenate(steps), np.concatenate(flat, 2)
    boxes = np.concatenate([points - flat[:, :2], points + flat[:, 2:]], 1) * steps
    rows, columns = (np.arange(int(1.5 * e)) * e // int(1.5 * e) for e in q.shape[2:])
    for name, value in (("x", x), ("boxes", boxes), ("scaled", q[:, :, rows][:, :, :, columns])):
        np.save(f"{out}/{name}.{height}x{width}.npy", np.ascontiguousarray(value, np.float32))
