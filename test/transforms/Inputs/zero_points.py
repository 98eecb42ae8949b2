"""Inputs and expected results of fold-zero-points.gg, in int64; of QLinear in one float step each."""
import sys

import numpy as np

F = np.float32
r = np.random.default_rng(2)
save = lambda name, a: np.save(f"{sys.argv[1]}/{name}.npy", a)
a = r.integers(0, 256, (3, 4), np.uint8)
w = np.array([[1, -2, 3], [4, 5, -6], [7, -8, 9], [-128, 127, 3]])
wz, az = np.array([1, 0, -5]), 77
save("a", a)
save("az", np.uint8(az))
save("fixed", ((a.astype(int) - 9) @ (w - wz)).astype("i4"))
save("given", ((a.astype(int) - az) @ w).astype("i4"))
x = r.integers(0, 256, (1, 1, 4, 4), np.uint8)
f = np.array([[[[1, -2], [3, 4]]], [[[5, 6], [-7, 8]]]])
p = np.pad(x.astype(int) - 200, ((0, 0), (0, 0), (1, 0), (0, 1)))
y = sum(f[:, 0, i, j][None, :, None, None] * p[:, :, i:i + 4, j:j + 4]
        for i in range(2) for j in range(2))
save("x", x)
save("conv", y.astype("i4"))
m = (F(0.05) * np.array([0.25, 0.125], F))[:, None, None]
y = (y + np.array([100, -50])[:, None, None]).astype(F)
save("q", np.clip(np.rint(y * m / F(0.3)) + 11, 0, 255).astype("u1"))
z = ((a.astype(int) - 9) @ w).astype(F) * (F(0.05) * F(0.5)) / F(0.7)
save("qm", np.clip(np.rint(z) - 4, -128, 127).astype("i1"))

x = r.integers(0, 256, (2, 3, 6, 7), np.uint8)
k = np.arange(72).reshape(4, 3, 3, 2)
u, uz = (k * 91 + 13) % 256, np.array([130, 0, 255, 128])[:, None, None, None]


def conv(zero, w):
    """Strides of 2 and 1, dilations of 1 and 2."""
    p = np.pad(x.astype(int) - zero, ((0, 0), (0, 0), (1, 2), (0, 1)))
    return sum(np.einsum("nchw,oc->nohw", p[:, :, i:i + 7:2, 2 * j:2 * j + 6], w[:, :, i, j])
               for i in range(3) for j in range(2)).astype("i4")


save("dx", x)
save("signed", conv(az, k * 37 % 256 - 128))
save("bytes", conv(az, u - uz))
save("known", conv(200, u - uz))
save("last", conv(az, u - uz).transpose(0, 2, 3, 1))
