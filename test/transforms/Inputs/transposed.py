"""Writes into a folder: transposed.gg, with transposed convolutions between affine steps; their input;
and the expected results, computed in double precision with numpy by scattering each input."""
import sys

import numpy as np

TEXT = """declare {
  placeholder @x : float<2 x 4 x 3 x 5>
  placeholder @last : float<2 x 3 x 5 x 4>
  constant @w : float<4 x 6 x 3 x 2> = $w
  constant @g : float<4 x 3 x 3 x 2> = $g
  constant @l : float<4 x 3 x 2 x 3> = $l
  constant @b : float<6> = $b
  constant @scale : float<6> = $scale
  constant @shift : float<6> = $shift
  constant @mean : float<6> = $mean
  constant @var : float<6> = $var
  constant @s : float<4 x 1 x 1> = $s
  constant @half : float<> = 0.5
}
func @main() -> (float<2 x 6 x 7 x 9>, float<2 x 6 x 7 x 9>, float<2 x 7 x 9 x 6>) {
  %a = Mul(@x, @s)
  %c = ConvTranspose(%a, @w, @b) {strides = [2, 2], pads = [0, 1, 0, 0]}
  %y = BatchNormalization(%c, @scale, @shift, @mean, @var) {epsilon = 0.001}
  %a1 = Div(@x, @s)
  %c1 = ConvTranspose(%a1, @g) {group = 2, strides = [2, 2], pads = [0, 1, 0, 0]}
  %n1 = BatchNormalization(%c1, @scale, @shift, @mean, @var) {epsilon = 0.001}
  %y1 = Mul(%n1, @half)
  %a2 = Add(@last, @half)
  %c2 = ConvTranspose(%a2, @l) {group = 2, layout = NHWC, strides = [2, 2], pads = [0, 1, 0, 0]}
  %n2 = Mul(%c2, @scale)
  %y2 = Sub(%n2, @shift)
  return %y, %y1, %y2
}
"""


def transposed(x, w, group):
    """Strides of 2, the first column cut off; w[in][out / group][3][2]."""
    n, inputs, h, v = x.shape
    per = w.shape[1]
    y = np.zeros((n, per * group, 2 * h + 1, 2 * v))
    for c in range(inputs):
        first = c // (inputs // group) * per
        for i in range(h):
            for j in range(v):
                y[:, first:first + per, 2 * i:2 * i + 3, 2 * j:2 * j + 2] += x[:, c, i, j][:, None, None, None] * w[c]
    return y[..., 1:]


folder = sys.argv[1]
rng = np.random.default_rng(12)
shapes = {"w": (4, 6, 3, 2), "g": (4, 3, 3, 2), "l": (4, 3, 2, 3), "s": (4, 1, 1)}
shapes.update({name: (6,) for name in ("b", "scale", "shift", "mean", "var")})
f = {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}
for name in "s", "var":
    f[name] = (np.abs(f[name]) + 0.5).astype(np.float32)
text = TEXT
for name, value in f.items():
    text = text.replace(f"= ${name}\n", f"= {value.tolist()}\n")
open(f"{folder}/transposed.gg", "w").write(text)
x = rng.normal(0, 1, (2, 4, 3, 5)).astype(np.float32)
last = rng.normal(0, 1, (2, 3, 5, 4)).astype(np.float32)
np.save(f"{folder}/x.npy", x)
np.save(f"{folder}/last.npy", last)
d = {name: value.astype(np.float64) for name, value in f.items()}
x, last = x.astype(np.float64), last.astype(np.float64)
scale, shift, mean, b = (d[name].reshape(-1, 1, 1) for name in ("scale", "shift", "mean", "b"))
deviation = np.sqrt(d["var"] + 0.001).reshape(-1, 1, 1)
y = [(transposed(x * d["s"], d["w"], 1) + b - mean) / deviation * scale + shift,
     ((transposed(x / d["s"], d["g"], 2) - mean) / deviation * scale + shift) * 0.5,
     transposed(np.moveaxis(last, 3, 1) + 0.5, np.moveaxis(d["l"], 3, 1), 2) * scale - shift]
y[2] = np.moveaxis(y[2], 1, 3)
for i, value in enumerate(y):
    np.save(f"{folder}/{i}.npy", value.astype(np.float32))
