"""Networks between QuantizeLinear and DequantizeLinear whose scales are hostile, for hostile-scales.test.

    hostile_scales.py DIR     writes m.gg, a function for each scale of x and each scale of w, x.npy, and for each
                              function dN.npy, cN.npy: what ONNX's definitions say, computed by numpy
"""
import sys

import numpy as np

F = np.float32
RNG = np.random.default_rng(8)
X = RNG.normal(size=(5, 6)).astype(F) * F(3)
X[0, :3] = [0, 1e30, -1e30]
W = RNG.integers(-127, 128, (6, 4)).astype(np.int8)
B = RNG.normal(size=4).astype(F)
SCALES = ["0.0", "-0.5", "1e-45", "1.17549435e-38", "3e38", "inf", "-inf", "nan", "0.05"]


def quantized(x, s, z):
    q = np.rint((x / s).astype(F)).astype(np.float64) + z
    return np.where(np.isnan(q), z, np.clip(q, 0, 255)).astype(np.uint8)


def network(s, w):
    with np.errstate(all="ignore"):
        q = quantized(X, F(s), 7)
        d = (q.astype(F) - F(7)) * F(s)
        c = d.astype(np.float64) @ (W.astype(F) * F(w)).astype(np.float64) + B
        return d, c.astype(F)


with open(f"{sys.argv[1]}/m.gg", "w", encoding="utf-8") as f:
    pairs = [(s, "0.05") for s in SCALES] + [("0.05", s) for s in SCALES]
    consts = "".join(f"  constant @s{i} : float<> = {s}\n  constant @w{i} : float<> = {w}\n" for i, (s, w) in enumerate(pairs))
    f.write(f"""declare {{
  constant @z : u8<> = 7
  constant @w : i8<6 x 4> = {W.tolist()}
  constant @b : float<4> = {B.astype(float).tolist()}
  placeholder @x : float<5 x 6>
{consts}""")
    for i in range(len(pairs)):
        f.write(f"  placeholder @d{i} : float<5 x 6>\n  placeholder @c{i} : float<5 x 4>\n")
    f.write("}\nfunc @main {\n")
    for i, (s, w) in enumerate(pairs):
        f.write(f"""  %q{i} = QuantizeLinear(@x, @s{i}, @z)
  %d{i} = DequantizeLinear(%q{i}, @s{i}, @z)
  %e{i} = DequantizeLinear(@w, @w{i})
  %c{i} = FullyConnected(%d{i}, %e{i}, @b)
  Save(%d{i}, @d{i})
  Save(%c{i}, @c{i})
""")
        d, c = network(s, w)
        np.save(f"{sys.argv[1]}/d{i}.npy", d)
        np.save(f"{sys.argv[1]}/c{i}.npy", c)
    f.write("}\n")
np.save(f"{sys.argv[1]}/x.npy", X)
with open(f"{sys.argv[1]}/expect", "w", encoding="utf-8") as f:
    f.write(" ".join(f"--expect {n}{i}={sys.argv[1]}/{n}{i}.npy" for i in range(len(pairs)) for n in "dc"))
