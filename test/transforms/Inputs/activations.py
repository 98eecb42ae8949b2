"""Writes into a folder: x.npy, and what activation functions give for it, computed in double precision from
their definitions. Usage: activations.py gelu|others FOLDER."""
import math
import sys

import numpy as np

GELU = {
    "erf": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
}
OTHERS = {
    "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "hardsigmoid": lambda x: min(max(x + 3, 0), 6) / 6,
    "swish": lambda x: x / (1 + math.exp(-x)),
    "quick": lambda x: x / (1 + math.exp(-1.702 * x)),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "prelu": lambda x: x if x >= 0 else 0.25 * x,
}

which, folder = sys.argv[1:]
x = np.random.default_rng(5).normal(0, 3, (4, 16)).astype(np.float32)
np.save(f"{folder}/x.npy", x)
for name, f in (GELU if which == "gelu" else OTHERS).items():
    np.save(f"{folder}/{name}.npy", np.vectorize(f)(x.astype(np.float64)).astype(np.float32))
