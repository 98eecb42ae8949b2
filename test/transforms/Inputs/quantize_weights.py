"""Narrow weights for quantize-weights.test.

    quantize_weights.py make DIR          writes m.gg, x.npy, and what numpy computes: y4.npy, y8.npy
    quantize_weights.py check FILE BITS   compares the stored integers in a text with numpy's
"""
import re
import sys

import numpy as np

F = np.float32
RNG = np.random.default_rng(4)
W = RNG.normal(size=(10, 3)).astype(F)
W[4:8, 1] = 0
B = RNG.normal(size=3).astype(F)
X = RNG.normal(size=(6, 10)).astype(F)


def stored(bits, block=4):
    least = -8 if bits == 4 else -128
    parts = [W[i:i + block] for i in range(0, len(W), block)]
    ends = [np.take_along_axis(p, abs(p).argmax(0)[None], 0)[0] for p in parts]
    scales = np.array([np.where(abs(e) < -least * 2.0**-60, F(2.0**-60), e / F(least)) for e in ends], F)
    q = np.vstack([np.clip(np.rint(p / s), least, -least - 1) for p, s in zip(parts, scales)])
    assert (q == least).any() and (scales < 0).any() and (scales > 0).any()
    return q.astype(int), np.repeat(scales, block, 0)[:len(W)]


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(f"""declare {{
  placeholder @x : float<6 x 10>
  placeholder @y : float<6 x 3>
  placeholder @z : float<6 x 3>
  constant @w : float<10 x 3> = {W.astype(float).tolist()}
  constant @b : float<3> = {B.astype(float).tolist()}
  constant @few : float<3 x 3> = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
}}
func @main {{
  %f = FullyConnected(@x, @w, @b)
  Save(%f, @y)
  %m = MatMul(@x, @w)
  %n = MatMul(%m, @few)
  Save(%n, @z)
}}
""")
    np.save(f"{top}/x.npy", X)
    for bits in (4, 8):
        q, s = stored(bits)
        w = (q.astype(F) * s).astype(np.float64)
        np.save(f"{top}/y{bits}.npy", (X @ w + B).astype(F))
        np.save(f"{top}/z{bits}.npy", (X @ w).astype(F))


def check(path, bits):
    with open(path, encoding="utf-8") as f:
        found = re.search(rf"@w\.i{bits} : i{bits}<10 x 3> = (\[.*\])", f.read()).group(1)
    got = np.array(eval(found))  # pylint: disable=eval-used
    assert (got == stored(bits)[0]).all(), got


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2], int(sys.argv[3]))
