"""Whether two arrays are equal to 1e-5 of the largest element, but for 1 in 100."""
import sys

import numpy as np

got, want = (np.load(path) for path in sys.argv[1:])
far = abs(got - want) > 1e-5 * abs(want).max()
assert got.shape == want.shape and far.mean() <= 0.01, (far.sum(), got.size)
