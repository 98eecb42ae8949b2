"""Writes into a folder: affine.gg, with convolutions followed by affine steps per channel; x.npy; and
the expected results y.npy and z.npy, computed in double precision with plain loops."""
import random
import struct
import sys


def npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join(f"{d}, " for d in shape)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(struct.pack(f"<{len(values)}f", *values))


def f32(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def conv(x, w, b, c, h, wd, m, group):
    """3x3, pad 1: x[c][h][wd], w[m][c/group][3][3]."""
    per, out = c // group, []
    for o in range(m):
        first = o // (m // group) * per
        for i in range(h):
            for j in range(wd):
                acc = b[o]
                for k in range(per):
                    for di in range(3):
                        for dj in range(3):
                            y, z = i + di - 1, j + dj - 1
                            if 0 <= y < h and 0 <= z < wd:
                                acc += x[((first + k) * h + y) * wd + z] * w[((o * per + k) * 3 + di) * 3 + dj]
                out.append(acc)
    return out


def nest(values, shape):
    if len(shape) == 1:
        return repr(values)
    size = len(values) // shape[0]
    return "[" + ", ".join(nest(values[i * size:(i + 1) * size], shape[1:]) for i in range(shape[0])) + "]"


TEXT = """declare {
  placeholder @x : float<1 x 4 x 5 x 6>
  placeholder @y : float<1 x 6 x 5 x 6>
  placeholder @z : float<1 x 6 x 5 x 6>
  constant @w : float<6 x 4 x 3 x 3> = $w
  constant @wg : float<6 x 2 x 3 x 3> = $wg
  constant @bias : float<6> = $bias
  constant @scale : float<6> = $scale
  constant @shift : float<6> = $shift
  constant @mean : float<6> = $mean
  constant @var : float<6> = $var
  constant @half : float<> = 0.5
  constant @shape : i64<3> = [6, 1, 1]
}
func @main {
  %c = Convolution(@x, @w, @bias) {pads = [1, 1, 1, 1]}
  %y = BatchNormalization(%c, @scale, @shift, @mean, @var) {epsilon = 0.001}
  %g = Convolution(@x, @wg) {group = 2, pads = [1, 1, 1, 1]}
  %mean = Reshape(@mean, @shape)
  %shift = Reshape(@shift, @shape)
  %scale = Reshape(@scale, @shape)
  %g1 = Sub(%g, %mean)
  %g2 = Mul(@half, %g1)
  %g3 = Add(%g2, %shift)
  %g4 = Div(%g3, %scale)
  Save(%y, @y)
  Save(%g4, @z)
}
"""


def main(folder):
    draw = random.Random(7)
    c, h, wd, m = 4, 5, 6, 6
    x = [f32(draw.uniform(-1, 1)) for _ in range(c * h * wd)]
    npy(f"{folder}/x.npy", (1, c, h, wd), x)
    w = [f32(draw.gauss(0, 0.3)) for _ in range(m * c * 9)]
    wg = [f32(draw.gauss(0, 0.3)) for _ in range(m * 2 * 9)]
    vectors = {
        "bias": [0.5, -0.25, 0.0, 1.0, 0.125, -1.0],
        "scale": [1.0, 0.5, -2.0, 1.5, 0.25, 3.0],
        "shift": [0.0, 1.0, -1.0, 0.5, 2.0, -0.5],
        "mean": [0.25, -0.5, 0.0, 1.0, 0.5, 0.75],
        "var": [1.0, 0.5, 2.0, 0.25, 4.0, 0.125],
    }
    text = TEXT
    for name, values in vectors.items():
        text = text.replace(f"${name}", repr(values))
    text = text.replace("$wg", nest(wg, (m, 2, 3, 3))).replace("$w", nest(w, (m, c, 3, 3)))
    with open(f"{folder}/affine.gg", "w") as f:
        f.write(text)
    bias, scale, shift, mean, var = vectors.values()
    plain, grouped = conv(x, w, bias, c, h, wd, m, 1), conv(x, wg, [0.0] * m, c, h, wd, m, 2)
    y, z = [], []
    for i, (p, g) in enumerate(zip(plain, grouped)):
        o = i // (h * wd)
        y.append((p - mean[o]) / (var[o] + f32(1e-3)) ** 0.5 * scale[o] + shift[o])
        z.append(((g - mean[o]) * 0.5 + shift[o]) / scale[o])
    npy(f"{folder}/y.npy", (1, m, h, wd), y)
    npy(f"{folder}/z.npy", (1, m, h, wd), z)


main(sys.argv[1])
