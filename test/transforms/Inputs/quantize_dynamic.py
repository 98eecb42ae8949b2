"""Two layers for quantize-dynamic.test, and what numpy makes of them: floats step by step, sums in int64.

    quantize_dynamic.py make DIR             writes m.gg, inputs CASE.npy, and WAY-CASE-y.npy, WAY-CASE-z.npy
    quantize_dynamic.py check FILE DIR WAY   compares the weights in a text with numpy's
"""
import sys

import numpy as np

from quantize_numbers import check, listed, weights

F = np.float32
RNG = np.random.default_rng(5)
W = [RNG.normal(size=(7, 6)).astype(F), RNG.normal(size=(6, 3)).astype(F)]
W[0][:, 4] = 0
B = RNG.normal(size=6).astype(F)
X = RNG.normal(size=(2, 4, 7)).astype(F)
CASES = {"mixed": X, "positive": abs(X) + F(1), "negative": -abs(X) - F(1), "zero": 0 * X, "large": X * F(1e30)}
WAYS = {"pairs": ("pairs", False), "eight": ("8", False), "seven": ("7", True)}


def product(x, w, way):
    """The exact sum and its scale."""
    low, high = min(x.min(), F(0)), max(x.max(), F(0))
    s = (high - low) / F(255)
    with np.errstate(invalid="ignore"):
        z = int(np.nan_to_num(np.rint(np.clip(F(0) - low / s, F(0), F(255)))))
        q = np.clip(np.nan_to_num(np.rint(x / s)) + z, 0, 255).astype(np.int64)
    assert q.dtype == np.int64 and s.dtype == F
    stored, ws = weights(w, *WAYS[way])
    return ((q - z) @ stored).astype(F), s * ws


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(f"""declare {{
  placeholder @x : float<2 x 4 x 7>
  placeholder @y : float<2 x 4 x 6>
  placeholder @z : float<2 x 4 x 3>
  constant @w0 : float<7 x 6> = {listed(W[0])}
  constant @w1 : float<6 x 3> = {listed(W[1])}
  constant @b : float<6> = {listed(B)}
}}
func @main {{
  %y = FullyConnected(@x, @w0, @b)
  Save(%y, @y)
  %z = MatMul(%y, @w1)
  Save(%z, @z)
}}
""")
    for case, x in CASES.items():
        np.save(f"{top}/{case}.npy", x)
        for way in WAYS:
            a, m = product(x, W[0], way)
            y = (a.astype(np.float64) * m + B).astype(F)  # one FMA: the product is exact in double
            a, m = product(y, W[1], way)
            np.save(f"{top}/{way}-{case}-y.npy", y)
            np.save(f"{top}/{way}-{case}-z.npy", a * m)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        check(sys.argv[2], [weights(w, *WAYS[sys.argv[3]])[0] for w in W])
