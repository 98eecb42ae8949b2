"""Writes into a folder: before.gg, with affine steps before contractions; their inputs; and the expected
results, computed in double precision with numpy."""
import sys

import numpy as np

TEXT = """declare {
  placeholder @x : float<2 x 4 x 5 x 5>
  placeholder @z : float<3 x 4>
  constant @w : float<6 x 4 x 3 x 3> = $w
  constant @g : float<6 x 2 x 3 x 3> = $g
  constant @m : float<4 x 5> = $m
  constant @b : float<6> = $b
  constant @s : float<4 x 1 x 1> = $s
  constant @t : float<1 x 4 x 1 x 1> = $t
  constant @r : float<4> = $r
  constant @half : float<> = 0.5
}
func @main() -> (float<2 x 6 x 3 x 3>, float<2 x 6 x 3 x 3>, float<2 x 6 x 5 x 5>, float<3 x 5>) {
  %a = Mul(@x, @s)
  %a1 = Sub(%a, @t)
  %y = Convolution(%a1, @w, @b)
  %c = Add(@t, @x)
  %c1 = Div(%c, @s)
  %c2 = Add(%c1, @half)
  %y1 = Convolution(%c2, @g) {group = 2}
  %d = Add(@x, @t)
  %d1 = Mul(%d, @s)
  %y2 = Convolution(%d1, @w, @b) {pads = [1, 1, 1, 1]}
  %e = Sub(@z, @r)
  %e1 = Mul(%e, @half)
  %y3 = MatMul(%e1, @m)
  return %y, %y1, %y2, %y3
}
"""


def conv(x, w, b, pad=0, group=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, _, h, v = x.shape
    m, per = w.shape[:2]
    y = np.zeros((n, m, h - 2, v - 2)) + b.reshape(-1, 1, 1)
    for o in range(m):
        first = o // (m // group) * per
        for i in range(h - 2):
            for j in range(v - 2):
                y[:, o, i, j] += (x[:, first:first + per, i:i + 3, j:j + 3] * w[o]).sum((1, 2, 3))
    return y


folder = sys.argv[1]
rng = np.random.default_rng(9)
shapes = {"w": (6, 4, 3, 3), "g": (6, 2, 3, 3), "m": (4, 5), "b": (6,), "s": (4, 1, 1), "t": (1, 4, 1, 1), "r": (4,)}
f = {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}
f["s"] = (np.abs(f["s"]) + 0.5).astype(np.float32)
text = TEXT
for name, value in f.items():
    text = text.replace(f"= ${name}\n", f"= {value.tolist()}\n")
open(f"{folder}/before.gg", "w").write(text)
x, z = rng.normal(0, 1, (2, 4, 5, 5)).astype(np.float32), rng.normal(0, 1, (3, 4)).astype(np.float32)
np.save(f"{folder}/x.npy", x)
np.save(f"{folder}/z.npy", z)
d = {name: value.astype(np.float64) for name, value in f.items()}
x, z, none = x.astype(np.float64), z.astype(np.float64), np.zeros(6)
for i, y in enumerate([
        conv(x * d["s"] - d["t"], d["w"], d["b"]),
        conv((x + d["t"]) / d["s"] + 0.5, d["g"], none, group=2),
        conv((x + d["t"]) * d["s"], d["w"], d["b"], pad=1),
        (z - d["r"]) * 0.5 @ d["m"]]):
    np.save(f"{folder}/{i}.npy", y.astype(np.float32))
