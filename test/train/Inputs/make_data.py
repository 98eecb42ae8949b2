"""make_data.py FOLDER: 22 samples of y = x . (1, -2, 3) plus noise in x.npy and y.npy, 6 more in test_x.npy and test_y.npy."""
import os
import sys

import numpy as np

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
r = np.random.default_rng(1)
for name, n in ("", 22), ("test_", 6):
    x = r.uniform(-1, 1, (n, 3)).astype(np.float32)
    y = (x @ np.array([[1], [-2], [3]]) + 0.01 * r.standard_normal((n, 1))).astype(np.float32)
    np.save(f"{folder}/{name}x.npy", x)
    np.save(f"{folder}/{name}y.npy", y)
