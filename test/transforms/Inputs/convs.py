"""Writes x.npy, random numbers of the shape that is given, into a folder: convs.py FOLDER SEED EXTENT..."""
import sys

import numpy as np

folder, seed = sys.argv[1], int(sys.argv[2])
shape = tuple(int(a) for a in sys.argv[3:])
np.save(f"{folder}/x.npy", np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32))
