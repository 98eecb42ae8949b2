"""freeze.py PREFIX: a function with variables, checkpoints for it, and numpy's result."""
import json
import struct
import sys

import numpy as np


def write(path, tensors):
    header, data = {}, b""
    for name, a in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


TEXT = """declare {
  placeholder @x : float<4 x 2>
  placeholder @y : float<4 x 3>
  variable @w : float<2 x 3> = splat(0.0)
  variable @b : float<3> = splat(0.0)
  variable @count : i64<> = splat(0)
}
func @main {
  %0 = FullyConnected(@x, @w, @b) : float<4 x 3>
  Save(%0, @y)
SAVE}
"""
prefix = sys.argv[1]
rng = np.random.default_rng(1)
w, b, x = (rng.normal(size=s).astype("f4") for s in ((2, 3), (3,), (4, 2)))
write(prefix + ".safetensors", {"w": w, "b": b, "w.velocity": w})
write(prefix + ".wrong.safetensors", {"w": w.reshape(3, 2)})
np.save(prefix + ".x.npy", x)
np.save(prefix + ".y.npy", (x.astype("f8") @ w + b).astype("f4"))
for name, save in (("", ""), (".saves", "  Save(@b, @b)\n")):
    with open(prefix + name + ".gg", "w") as f:
        f.write(TEXT.replace("SAVE", save))
