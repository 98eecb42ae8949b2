"""Rows of numbers, and what tf-idf.gir counts in them."""
import sys

import numpy as np

folder = sys.argv[1]


def times(row, gram, skips):
    steps = range(1, 2 if len(gram) == 1 else skips + 2)
    reach = [[start + step * i for i in range(len(gram))] for step in steps for start in range(len(row))]
    return sum(at[-1] < len(row) and list(row[at]) == gram for at in reach)


x = np.array([[7, 7, -3, 5, 7, -3, 5, 0, 7], [-3] * 9, [7, 0, 7, 0, -3, 1, 5, 7, 5]], np.int64)
pool = [([7], 4, 0.5), ([-3], 0, 2.0), ([7, 7], 2, 3.0), ([-3, 5], 0, 0.25), ([7, -3, 5], 1, 8.0)]
y = np.zeros((3, 5), np.float32)
for r, row in enumerate(x):
    for gram, to, weight in pool:
        y[r, to] += np.float32(times(row, gram, 2)) * np.float32(weight)
n = np.array([1, 1, 2, 1, 2, 3, 2, 9], np.int32)
z = np.array([min(times(n, gram, 0), 1) for gram in ([1, 2], [9, 2])], np.float32)
for name, value in (("x", x), ("n", n), ("y", y), ("z", z)):
    np.save(f"{folder}/{name}.npy", value)
