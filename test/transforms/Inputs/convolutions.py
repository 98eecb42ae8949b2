"""Writes into a folder the case of a pass on convolutions: FOLDER/PASS.gg, with a function `main` of convolutions that
the pass changes and one of others, `kept`; their inputs x.npy and one.npy, a batch of one; and the expected results of
both, computed in double precision with numpy, tap by tap."""
import itertools
import sys

import numpy as np

# Input, filters, window, strides, padding before and after, dilations, groups, whether there is a bias.
CASES = {
    "conv-3d": ((6, 5, 4, 7), [
        ("x", 5, (3, 3, 3), (1, 1, 1), (1, 1, 1, 1, 1, 1), (1, 1, 1), 1, True),
        ("x", 3, (3, 1, 2), (2, 1, 1), (1, 0, 0, 0, 0, 1), (1, 1, 1), 1, False),
        ("one", 17, (2, 3, 3), (2, 2, 2), (0, 1, 1, 1, 1, 1), (2, 1, 1), 1, True),
        ("x", 6, (1, 3, 2), (1, 1, 1), (0, 1, 0, 0, 0, 0), (1, 1, 1), 2, True),
        ("x", 4, (1, 1, 1), (2, 2, 2), (0, 0, 0, 0, 0, 0), (1, 1, 1), 1, True),
    ], [("x", 6, (3, 3, 3), (1, 1, 1), (1, 1, 1, 1, 1, 1), (1, 1, 1), 2, True)]),
    "conv-3x3": ((32, 20, 18), [
        ("x", 32, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 1, True),
        ("one", 32, (3, 3), (1, 1), (3, 2, 1, 4), (2, 3), 1, False),
        ("one", 32, (3, 3), (1, 1), (0, 2, 1, 2), (2, 2), 1, True),
        ("x", 32, (5, 5), (1, 1), (2, 2, 2, 2), (1, 1), 1, True),
        ("one", 32, (3, 5), (1, 1), (1, 2, 0, 1), (1, 1), 1, True),
        ("one", 32, (5, 5), (1, 1), (4, 2, 4, 2), (2, 1), 1, False),
    ], [
        ("x", 4, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 1, True),
        ("one", 32, (3, 3), (1, 2), (2, 2, 2, 2), (2, 2), 1, True),
        ("one", 32, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 2, True),
        ("one", 32, (2, 2), (1, 1), (0, 0, 0, 0), (1, 1), 1, True),
        ("one", 32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, True),
    ]),
    "merge-groups": ((32, 5, 4), [
        ("x", 32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 8, True),
        ("one", 64, (1, 2), (2, 1), (0, 0, 0, 1), (1, 2), 4, False),
        ("x", 16, (2, 2), (1, 1), (0, 0, 0, 0), (1, 1), 2, True),
    ], [
        ("x", 32, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 8, True),
        ("x", 32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 32, True),
        ("x", 64, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 32, True),
        ("x", 32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2, True),
        ("x", 32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 4, True),
    ]),
}
NAMES = "strides", "pads", "dilations", "group"


def convolution(x, w, b, strides, pads, dilations, group):
    axes = len(strides)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:])])
    extents = [(e - (k - 1) * d - 1) // s + 1 for e, k, d, s in zip(x.shape[2:], w.shape[2:], dilations, strides)]
    y = np.zeros((len(x), len(w), *extents))
    for tap in itertools.product(*map(range, w.shape[2:])):
        cut = [slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, dilations, extents, strides)]
        for g in range(group):
            c, o = (slice(g * n // group, (g + 1) * n // group) for n in (x.shape[1], len(w)))
            y[:, o] += np.einsum("nc...,oc->no...", x[(slice(None), c, *cut)], w[(o, slice(None), *tap)])
    return y if b is None else y + b[(slice(None), *[None] * axes)]


def shape(dims):
    return "float<" + " x ".join(map(str, dims)) + ">"


folder, subject = sys.argv[1:]
SHAPE, MAIN, KEPT = CASES[subject]
rng = np.random.default_rng(5)
inputs = {"x": rng.normal(0, 1, (2, *SHAPE)).astype(np.float32), "one": rng.normal(0, 1, (1, *SHAPE)).astype(np.float32)}
storage, functions, number = [], [], 0
for name, values in inputs.items():
    np.save(f"{folder}/{name}.npy", values)
    storage.append(f"  placeholder @{name} : {shape(values.shape)}\n")
for name, cases in ("main", MAIN), ("kept", KEPT):
    lines, types, values = [], [], []
    for x, filters, window, strides, pads, dilations, group, bias in cases:
        w = rng.normal(0, 1, (filters, SHAPE[0] // group, *window)).astype(np.float32)
        b = rng.normal(0, 1, filters).astype(np.float32) if bias else None
        y = convolution(inputs[x].astype(np.float64), w.astype(np.float64), b, strides, pads, dilations, group)
        np.save(f"{folder}/{name}{len(values)}.npy", y.astype(np.float32))
        storage.append(f"  constant @w{number} : {shape(w.shape)} = {w.tolist()}\n")
        if bias:
            storage.append(f"  constant @b{number} : float<{filters}> = {b.tolist()}\n")
        operands = f"@{x}, @w{number}" + (f", @b{number}" if bias else "")
        members = ", ".join(f"{n} = {list(v) if isinstance(v, tuple) else v}"
                            for n, v in zip(NAMES, (strides, pads, dilations, group)))
        lines.append(f"  %y{number} = Convolution({operands}) {{{members}}}\n")
        types.append(shape(y.shape))
        values.append(f"%y{number}")
        number += 1
    functions.append(f"func @{name}() -> ({', '.join(types)}) {{\n{''.join(lines)}  return {', '.join(values)}\n}}\n")
with open(f"{folder}/{subject}.gg", "w") as out:
    out.write(f"declare {{\n{''.join(storage)}}}\n{''.join(functions)}")
