"""digits_int8.py GOT WANT: rms difference at most 0.03, the same class for all images, and at most 1 % of logits further off than 1e-3."""
import sys

import numpy as np

got, want = (np.load(path) for path in sys.argv[1:])
off = np.abs(got - want)
assert got.shape == (360, 10)
assert (off ** 2).mean() ** 0.5 <= 0.03, (off ** 2).mean() ** 0.5
assert (got.argmax(1) == want.argmax(1)).all()
assert (off > 1e-3).mean() <= 0.01, (off > 1e-3).mean()
