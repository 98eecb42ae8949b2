"""Writes DIR/m.npy, z.npy, x.npy and what numpy makes of the Scan of scan.test: last, rows, back; the same
for 5 steps, with the suffix .5."""
import sys

import numpy as np

out = sys.argv[1]
rng = np.random.default_rng(3)
x = rng.integers(-8, 8, 2).astype(np.float32)
np.save(f"{out}/x.npy", x)
for steps, suffix in ((9, ""), (5, ".5")):
    m = rng.integers(-8, 8, (2, steps)).astype(np.float32)
    z = rng.integers(-8, 8, (steps, 2)).astype(np.float32)
    state, rows, back = x, [], []
    for i in range(steps):
        column = m[:, steps - 1 - i]
        state = state - column
        rows.append(state * z[i])
        back.insert(0, column)
    for name, value in (("m", m), ("z", z), ("last", state), ("rows", np.stack(rows, 1)), ("back", np.stack(back))):
        np.save(f"{out}/{name}{suffix}.npy", value)
np.save(f"{out}/z.6.npy", np.zeros((6, 2), np.float32))
