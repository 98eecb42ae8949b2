"""Writes into a folder: dense.gg, with affine chains that no convolution takes; their inputs; and the
expected results, computed in double precision with numpy. one.gg is the same for the second image
alone, with inputs one-x.npy and one-spread.npy.

dense.py FOLDER rows: whether row 1 of the results in FOLDER/all has the bits of those in FOLDER/one."""
import sys

import numpy as np

TEXT = """declare {
  placeholder @x : float<2 x 4 x 5 x 6>
  placeholder @spread : float<2 x 4 x 1 x 1>
  constant @scale : float<4> = $scale
  constant @bias : float<4> = $bias
  constant @mean : float<4> = $mean
  constant @var : float<4> = $var
  constant @s : float<4 x 1 x 1> = $s
  constant @t : float<1 x 4 x 1 x 1> = $t
  constant @w : float<3 x 4 x 3 x 3> = $w
  constant @half : float<> = 0.5
}
func @main() -> (float<2 x 3 x 5 x 6>, float<2 x 4 x 5 x 6>, float<2 x 4 x 5 x 6>) {
  %n = BatchNormalization(@x, @scale, @bias, @mean, @var) {epsilon = 0.001}
  %r = Relu(%n)
  %y = Convolution(%r, @w) {pads = [1, 1, 1, 1]}
  %a = Sub(@x, @t)
  %b = Div(%a, @s)
  %c = Add(@half, %b)
  %d = Mul(@t, %c)
  %e = Tanh(%d)
  %f = Div(@x, @spread)
  %g = Mul(%f, @s)
  %h = Sub(%g, @t)
  %i = Div(%h, @half)
  %j = Tanh(%i)
  return %y, %e, %j
}
"""

folder = sys.argv[1]
if sys.argv[2:] == ["rows"]:
    for i in "yej":
        rows = [np.load(f"{folder}/{which}/{i}.npy")[-1].view(np.uint32) for which in ("all", "one")]
        if not np.array_equal(*rows):
            sys.exit(f"result {i}: {np.count_nonzero(rows[0] != rows[1])} elements have other bits in a batch of one")
    sys.exit(0)
rng = np.random.default_rng(13)
shapes = {name: (4,) for name in ("scale", "bias", "mean", "var")}
shapes.update({"s": (4, 1, 1), "t": (1, 4, 1, 1), "w": (3, 4, 3, 3)})
f = {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}
for name in "s", "var":
    f[name] = (np.abs(f[name]) + 0.5).astype(np.float32)
text = TEXT
for name, value in f.items():
    text = text.replace(f"= ${name}\n", f"= {value.tolist()}\n")
open(f"{folder}/dense.gg", "w").write(text)
open(f"{folder}/one.gg", "w").write(text.replace("<2 x ", "<1 x "))
x = rng.normal(0, 2, (2, 4, 5, 6)).astype(np.float32)
spread = rng.uniform(0.5, 3, (2, 4, 1, 1)).astype(np.float32)
np.save(f"{folder}/x.npy", x)
np.save(f"{folder}/spread.npy", spread)
np.save(f"{folder}/one-x.npy", x[1:])
np.save(f"{folder}/one-spread.npy", spread[1:])
d = {name: value.astype(np.float64) for name, value in f.items()}
x, spread = x.astype(np.float64), spread.astype(np.float64)
scale, bias, mean, var = (d[name].reshape(-1, 1, 1) for name in ("scale", "bias", "mean", "var"))
relu = np.pad(np.maximum((x - mean) / np.sqrt(var + 0.001) * scale + bias, 0), ((0, 0), (0, 0), (1, 1), (1, 1)))
y = np.zeros((2, 3, 5, 6))
for i in range(3):
    for j in range(3):
        y += np.einsum("nchw,oc->nohw", relu[..., i:i + 5, j:j + 6], d["w"][..., i, j])
for i, value in enumerate([y, np.tanh(d["t"] * (0.5 + (x - d["t"]) / d["s"])),
                           np.tanh((x / spread * d["s"] - d["t"]) / 0.5)]):
    np.save(f"{folder}/{i}.npy", value.astype(np.float32))
