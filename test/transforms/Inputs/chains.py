"""Writes into a folder: chains.gg, with chains and sums of matrix products; inputs; and the expected results,
computed in double precision with numpy."""
import sys

import numpy as np

TEXT = """declare {
  placeholder @a : float<40 x 3>
  placeholder @b : float<3 x 50>
  placeholder @c : float<50 x 1>
  placeholder @x : float<4 x 8>
  placeholder @h : float<4 x 5>
  placeholder @chain : float<40 x 1>
  placeholder @cell : float<4 x 16>
  constant @w : float<8 x 16> = $w
  constant @u : float<5 x 16> = $u
  constant @bw : float<16> = $bw
  constant @bu : float<16> = $bu
}
func @main {
  %ab = MatMul(@a, @b)
  %abc = MatMul(%ab, @c)
  Save(%abc, @chain)
  %xw = FullyConnected(@x, @w, @bw)
  %hu = MatMul(@h, @u)
  %biased = Add(%hu, @bu)
  %sum = Add(%xw, %biased)
  %y = Tanh(%sum)
  Save(%y, @cell)
}
"""

folder = sys.argv[1]
rng = np.random.default_rng(5)


def draw(*shape):
    return rng.uniform(-1, 1, shape).astype("f4")


def text(v):
    return "[" + ", ".join(text(x) if x.ndim else repr(float(x)) for x in v) + "]"


a, b, c, x, h = draw(40, 3), draw(3, 50), draw(50, 1), draw(4, 8), draw(4, 5)
w, u, bw, bu = draw(8, 16), draw(5, 16), draw(16), draw(16)
module = TEXT
for name, value in (("bw", bw), ("bu", bu), ("w", w), ("u", u)):
    module = module.replace("$" + name + "\n", text(value) + "\n")
with open(folder + "/chains.gg", "w") as f:
    f.write(module)
wide = [v.astype("d") for v in (a, b, c, x, h, w, u, bw, bu)]
a64, b64, c64, x64, h64, w64, u64, bw64, bu64 = wide
expected = {"chain": a64 @ b64 @ c64, "cell": np.tanh(x64 @ w64 + bw64 + h64 @ u64 + bu64)}
for name, value in dict(a=a, b=b, c=c, x=x, h=h, **expected).items():
    np.save(f"{folder}/{name}.npy", value.astype("f4"))
