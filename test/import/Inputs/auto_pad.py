"""Writes DIR/auto-pad.onnx, convolutions and pools with auto_pad over open extents, and for two extents of
the input what numpy makes of them, by the definition: DIR/{x,conv,...}.{HxW}.npy."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../utils"))
import onnx_bytes as o  # noqa: E402

out = sys.argv[1]
rng = np.random.default_rng(5)
small = lambda *dims: rng.integers(-4, 5, dims).astype(np.float32)
w3, w2, wt = small(3, 2, 3, 3), small(2, 2, 2, 2), small(2, 2, 3, 2)


def windows(x, kernel, strides, dilations, lower, fill):
    """The windows of auto_pad = SAME_*, [taps, n, c, places...], and which taps lie in x."""
    pads, outs = [(0, 0), (0, 0)], []
    for axis in (0, 1):
        extent, s, reach = x.shape[2 + axis], strides[axis], (kernel[axis] - 1) * dilations[axis] + 1
        outs.append(-(-extent // s))
        total = max((outs[axis] - 1) * s + reach - extent, 0)
        less, more = total // 2, total - total // 2
        pads.append((more, less) if lower else (less, more))
    padded, inside = np.pad(x, pads, constant_values=fill), np.pad(np.ones_like(x), pads)
    taps = lambda a: np.array([a[:, :, i * dilations[0]:, j * dilations[1]:][:, :, ::strides[0], ::strides[1]]
                               [:, :, :outs[0], :outs[1]] for i in range(kernel[0]) for j in range(kernel[1])])
    return taps(padded), taps(inside)


def conv(x, w, strides, dilations, lower):
    taps, _ = windows(x, w.shape[2:], strides, dilations, lower, 0)
    return np.einsum("tnchw,oct->nohw", taps, w.reshape(w.shape[0], w.shape[1], -1))


def transposed(x, w, strides):
    """auto_pad = SAME_UPPER: of the whole result, extents times strides; the odd place is cut behind."""
    kernel = w.shape[2:]
    full = np.zeros((1, w.shape[1], *[(e - 1) * s + max(k, s) for e, s, k in zip(x.shape[2:], strides, kernel)]))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows, columns = slice(i, i + (x.shape[2] - 1) * strides[0] + 1, strides[0]), slice(j, j + (x.shape[3] - 1) * strides[1] + 1, strides[1])
            full[:, :, rows, columns] += np.einsum("nchw,co->nohw", x, w[:, :, i, j])
    first = [(full.shape[2 + a] - x.shape[2 + a] * strides[a]) // 2 for a in (0, 1)]
    return full[:, :, first[0]:first[0] + x.shape[2] * strides[0], first[1]:first[1] + x.shape[3] * strides[1]]


def pool_of(x, kernel, strides, how, lower):
    taps, inside = windows(x, kernel, strides, (1, 1), lower, -np.inf if how == "max" else 0)
    return {"max": lambda: taps.max(0), "mean": lambda: taps.sum(0) / inside.sum(0), "padded": lambda: taps.mean(0),
            "norm": lambda: np.sqrt((taps ** 2).sum(0))}[how]()


up, low = {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}
nodes = [o.node("Conv", "x,w3", "conv", strides=[2, 2], **up), o.node("Conv", "x,w3", "low", strides=[2, 3], dilations=[2, 1], **low),
         o.node("Conv", "x,w2", "dense", **up), o.node("MaxPool", "x", "max", kernel_shape=[3, 2], strides=[2, 3], **up),
         o.node("AveragePool", "x", "mean", kernel_shape=[3, 3], strides=[2, 2], **low),
         o.node("AveragePool", "x", "padded", kernel_shape=[3, 3], strides=[2, 2], count_include_pad=1, **up),
         o.node("LpPool", "x", "norm", kernel_shape=[2, 3], strides=[3, 2], **up),
         o.node("ConvTranspose", "x,wt", "grown", strides=[2, 3], **up)]
graph = o.graph(nodes, [o.value("x", o.FLOAT, [1, 2, "H", "W"])], [o.value(n) for n in "conv low dense max mean padded norm grown".split()],
                [o.floats(n, v.shape, v.ravel()) for n, v in (("w3", w3), ("w2", w2), ("wt", wt))])
open(f"{out}/auto-pad.onnx", "wb").write(o.model(graph, 18))
argmax = o.graph([o.node("MaxPool", "x", "y,i", "m", kernel_shape=[3], strides=[2], **up)], [o.value("x", o.FLOAT, [1, 2, "L"])],
                 [o.value("y"), o.value("i", o.I64)])
open(f"{out}/auto-pad-argmax.onnx", "wb").write(o.model(argmax, 18))
u8 = lambda name, *v: o.tensor(name, o.U8, [1, 1, len(v)] if len(v) > 1 else [], fields=o.f(9, bytes(v)))
integer = o.graph([o.node("ConvInteger", "q,wq,zero", "whole", "c", strides=[2], **up),
                   o.node("QLinearConv", "q,unit,zero,wq,unit,none,quarter,zero", "small", strides=[2], **low)], [o.value("q", o.U8, [1, 1, "L"])],
                  [o.value("whole"), o.value("small")], [u8("wq", 1, 2, 4), u8("zero", 7), u8("none", 0), o.floats("unit", [], [1.0]), o.floats("quarter", [], [4.0])])
open(f"{out}/auto-pad-integer.onnx", "wb").write(o.model(integer, 18))
q = np.array([9, 5, 7, 200, 3, 80], np.uint8)
np.save(f"{out}/q.npy", q[None, None])
centred = lambda before, after: np.pad(q.astype(np.int32) - 7, (before, after))
whole, low_sums = (np.array([[[c[i:i + 3] @ [1, 2, 4] for i in (0, 2, 4)]]]) for c in (centred(0, 1), centred(1, 0)))
np.save(f"{out}/whole.npy", whole.astype(np.int32))
np.save(f"{out}/small.npy", np.clip(np.rint(low_sums / 4) + 7, 0, 255).astype(np.uint8))
pool = o.graph([o.node("QLinearAveragePool", "q,s,z,s,z", "y", "p", domain="com.microsoft", kernel_shape=[3], strides=[2], **up)],
               [o.value("q", o.U8, [1, 1, "L"])], [o.value("y")], [o.floats("s", [], [1.0]), u8("z", 3)])
open(f"{out}/auto-pad-quantized.onnx", "wb").write(o.model(pool, 18, imports=[("com.microsoft", 1)]))
for shape in ((6, 7), (9, 11)):
    x = small(1, 2, *shape)
    results = {"x": x, "conv": conv(x, w3, (2, 2), (1, 1), False), "low": conv(x, w3, (2, 3), (2, 1), True),
               "dense": conv(x, w2, (1, 1), (1, 1), False), "max": pool_of(x, (3, 2), (2, 3), "max", False),
               "mean": pool_of(x, (3, 3), (2, 2), "mean", True), "padded": pool_of(x, (3, 3), (2, 2), "padded", False),
               "norm": pool_of(x, (2, 3), (3, 2), "norm", False), "grown": transposed(x, wt, (2, 3))}
    for name, value in results.items():
        np.save(f"{out}/{name}.{shape[0]}x{shape[1]}.npy", value.astype(np.float32))
