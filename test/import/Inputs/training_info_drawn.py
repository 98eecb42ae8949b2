"""training_info_drawn.py CHECKPOINT: the first values of random.onnx, v = n - w0 of w = n: numbers of one draw."""
import json
import struct
import sys

import numpy as np

data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
w, v = (np.frombuffer(data[8 + size:][slice(*header[name]["data_offsets"])], "f4") for name in "wv")
half = np.random.default_rng(2).normal(size=(3, 2)).astype("f4").reshape(-1) * np.float32(0.5)
if not (np.abs(w - half - v) < 1e-6).all() or len(set(v)) < 6 or not (np.abs(v) < 2.5).all():
    sys.exit(f"{w} {v}")
