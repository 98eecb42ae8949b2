"""last_block_torch.py GRAPH RESULT: the derivatives of last-block by PyTorch, in float64 and in float32.

GRAPH, a pickle, has nodes (operator, inputs, output, attributes), constants, weights, and of each photo the image and the
label. RESULT.npz then has PHOTO/BITS/WEIGHT."""
import pickle
import sys

import numpy as np
import torch
import torch.nn.functional as F


def convolve(x, w, b, strides, group, pads=(0, 0, 0, 0), **_):
    return F.conv2d(F.pad(x, (pads[1], pads[3], pads[0], pads[2])), w, b, strides, groups=group)


OPS = {
    "Conv": convolve,
    "Clip": lambda x, low, high: torch.clamp(x, low, high),
    "Pad": lambda x, amounts, value, **_: F.pad(
        x, [int(n) for axis in reversed(range(x.dim())) for n in (amounts[axis], amounts[axis + x.dim()])], value=float(value)),
    "Add": torch.add,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
    "Reshape": lambda x, shape, **_: x.reshape([int(d) for d in shape]),
    "Gemm": lambda x, w, b, **_: x @ w.T + b,
}


def typed(array, dtype):
    t = torch.from_numpy(np.array(array))
    return t.to(dtype) if t.is_floating_point() else t


with open(sys.argv[1], "rb") as f:
    nodes, constants, weights, photos = pickle.load(f)
results = {}
for bits, dtype in ((64, torch.float64), (32, torch.float32)):
    known = {name: typed(c, dtype) for name, c in constants.items()}
    for name, (image, label) in photos.items():
        varied = {n: typed(w, dtype).requires_grad_() for n, w in weights.items()}
        values = {"image": typed(image, dtype), **known, **varied}
        for op, ins, out, members in nodes:
            values[out] = OPS[op](*(values[i] for i in ins), **members)
        F.cross_entropy(values["logits"], torch.tensor([label])).backward()
        results.update({f"{name}/{bits}/{n}": w.grad.numpy() for n, w in varied.items()})
np.savez(sys.argv[2], **results)
