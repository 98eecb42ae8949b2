"""Writes into a folder: subpixel.gg, with a function of transposed convolutions that become convolutions, one of those
that become products, one of those of few results of many channels and one of others; their inputs x.npy, with three
spatial axes v.npy, with one place p.npy and q.npy, with many channels m.npy and n.npy; and the expected results of all, computed in double precision with numpy by scattering each input."""
import itertools
import sys

import numpy as np

# Filters, window, strides, padding before and after, groups, other members, whether there is a bias.
CASES = [
    (3, (4, 4), (2, 2), (1, 1, 1, 1), 1, "", True),
    (20, (3, 3), (2, 2), (1, 1, 0, 0), 1, "", True),
    (20, (3, 3), (2, 2), (1, 1, 1, 1), 1, ", output_padding = [1, 1]", False),
    (17, (2, 2), (2, 2), (0, 0, 0, 0), 1, "", True),
    (4, (2, 3), (3, 2), (0, 1, 0, 0), 1, "", False),
    (5, (3, 2), (1, 1), (2, 0, 1, 1), 1, "", True),
    (18, (2, 3, 2), (2, 2, 1), (0, 1, 0, 0, 1, 1), 1, "", True),
]
KEPT = [
    (6, (3, 3), (2, 2), (1, 1, 1, 1), 2, "", True),
    (6, (2, 2), (2, 2), (0, 1, 0, 0), 1, ", dilations = [2, 2]", True),
    (3, (3, 3), (2, 2), (2, 2, 2, 2), 1, "", False),
]
PRODUCTS = [
    (5, (3, 4), (1, 1), (0, 0, 0, 0), 1, "", True),
    (3, (4, 3), (2, 3), (1, 0, 0, 2), 1, "", False),
    (2, (2, 3), (3, 2), (0, 1, 0, 0), 1, ", output_padding = [1, 1]", True),
    (2, (2, 1, 3), (1, 1, 2), (0, 0, 1, 0, 0, 0), 1, "", True),
]
FOLDED = [
    (3, (4, 4), (2, 2), (1, 1, 1, 1), 1, "", True),
    (1, (3, 3), (2, 2), (1, 0, 0, 1), 1, ", output_padding = [1, 1]", False),
    (1, (2, 3, 2), (2, 2, 1), (0, 1, 0, 0, 1, 1), 1, "", True),
]
N = 2
CHANNELS = {"main": 6, "kept": 6, "product": 6, "folded": 16}
INPUTS = {"main": (("x", (3, 4)), ("v", (2, 3, 4))), "product": (("p", (1, 1)), ("q", (1, 1, 1))),
          "folded": (("m", (3, 4)), ("n", (2, 3, 4)))}
INPUTS["kept"] = INPUTS["main"]


def transposed(x, w, b, strides, pads, group, spread, more):
    """w[in][out / group][..]; `more` places at the end."""
    channels, per, extents, axes = *w.shape[:2], x.shape[2:], len(strides)
    reach = [(k - 1) * spread + 1 for k in w.shape[2:]]
    y = np.zeros((N, per * group, *((e - 1) * s + k + more for e, s, k in zip(extents, strides, reach))))
    for c in range(channels):
        first = c // (channels // group) * per
        for at in itertools.product(*map(range, extents)):
            cut = [slice(s * i, s * i + r, spread) for s, i, r in zip(strides, at, reach)]
            y[(slice(None), slice(first, first + per), *cut)] += np.multiply.outer(x[(slice(None), c, *at)], w[c])
    y = y[(slice(None), slice(None), *(slice(p, e - q) for p, q, e in zip(pads, pads[axes:], y.shape[2:])))]
    return y if b is None else y + b[(slice(None), *[None] * axes)]


folder = sys.argv[1]
rng = np.random.default_rng(3)
storage, functions, number = [], [], 0
inputs = {}
for function in "main", "product", "folded":
    for name, extents in INPUTS[function]:
        inputs[name] = rng.normal(0, 1, (N, CHANNELS[function], *extents)).astype(np.float32)
        np.save(f"{folder}/{name}.npy", inputs[name])
        storage.append(f"  placeholder @{name} : float<{' x '.join(map(str, inputs[name].shape))}>\n")
for name, cases in ("main", CASES), ("kept", KEPT), ("product", PRODUCTS), ("folded", FOLDED):
    lines, types, values = [], [], []
    for filters, window, strides, pads, group, members, bias in cases:
        name_of_x = INPUTS[name][len(window) - 2][0]
        x = inputs[name_of_x]
        w = rng.normal(0, 1, (CHANNELS[name], filters // group, *window)).astype(np.float32)
        b = rng.normal(0, 1, filters).astype(np.float32) if bias else None
        y = transposed(x.astype(np.float64), w.astype(np.float64), b, strides, pads, group, 2 if "dil" in members else 1,
                       1 if "output" in members else 0)
        np.save(f"{folder}/{name}{len(values)}.npy", y.astype(np.float32))
        shape = " x ".join(map(str, w.shape))
        storage.append(f"  constant @w{number} : float<{shape}> = {w.tolist()}\n")
        if bias:
            storage.append(f"  constant @b{number} : float<{filters}> = {b.tolist()}\n")
        operands = f"@{name_of_x}, @w{number}" + (f", @b{number}" if bias else "")
        lines.append(f"  %y{number} = ConvTranspose({operands}) {{group = {group}, strides = {list(strides)}, "
                     f"pads = {list(pads)}{members}}}\n")
        types.append(f"float<{' x '.join(map(str, y.shape))}>")
        values.append(f"%y{number}")
        number += 1
    functions.append(f"func @{name}() -> ({', '.join(types)}) {{\n{''.join(lines)}  return {', '.join(values)}\n}}\n")
with open(f"{folder}/subpixel.gg", "w") as out:
    out.write(f"declare {{\n{''.join(storage)}}}\n{''.join(functions)}")
