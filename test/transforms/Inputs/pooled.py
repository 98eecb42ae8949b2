"""Writes into a folder: pooled.gg, a convolution with bias and Relu, then a maximum pool; x.npy; and the expected
result y.npy, computed in double precision from the definition."""
import os
import sys

import numpy as np

IN, OUT, ROWS, COLUMNS = 16, 32, 14, 11


def main():
    folder, draws = sys.argv[1], np.random.default_rng(1)
    x = draws.standard_normal((2, IN, ROWS, COLUMNS)).astype(np.float32)
    w = (draws.standard_normal((OUT, IN, 3, 3)) / 12).astype(np.float32)
    b = draws.standard_normal(OUT).astype(np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    map_ = np.broadcast_to(b.astype(np.float64)[:, None, None], (2, OUT, ROWS, COLUMNS)).copy()
    for i in range(3):
        for j in range(3):
            map_ += np.einsum("nchw,oc->nohw", padded[:, :, i:i + ROWS, j:j + COLUMNS], w[:, :, i, j].astype(np.float64))
    map_ = np.maximum(map_, 0)
    windows = map_[:, :, :ROWS // 2 * 2, :COLUMNS // 2 * 2].reshape(2, OUT, ROWS // 2, 2, COLUMNS // 2, 2)
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "y.npy"), windows.max(axis=(3, 5)).astype(np.float32))
    with open(os.path.join(folder, "pooled.gg"), "w") as f:
        f.write(f"""declare {{
  placeholder @x : float<2 x {IN} x {ROWS} x {COLUMNS}>
  placeholder @y : float<2 x {OUT} x {ROWS // 2} x {COLUMNS // 2}>
  constant @w : float<{OUT} x {IN} x 3 x 3> = {w.tolist()}
  constant @b : float<{OUT}> = {b.tolist()}
}}
func @main {{
  %c = Convolution(@x, @w, @b) {{pads = [1, 1, 1, 1]}}
  %r = Relu(%c)
  %p, _ = MaxPool(%r) {{kernels = [2, 2], strides = [2, 2]}}
  Save(%p, @y)
}}
""")


main()
