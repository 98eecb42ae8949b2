"""Samples and a model for ranges-channels.test, and what numpy says of the ends of channels.

    ranges_channels.py make DIR     writes m.gg, x.npy, v.npy
    ranges_channels.py check FILE   compares a file of ranges with numpy
"""
import json
import sys

import numpy as np

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 3, 2, 2)).astype(np.float32) * np.array([1, 10, 0.1], np.float32)[None, :, None, None]
X[:, 2] = -abs(X[:, 2])
V = RNG.normal(size=(24, 4)).astype(np.float32)
V[:, 1] = -0.0
V[5, 2] = np.inf
W = RNG.normal(size=(2, 3, 1, 1)).astype(np.float32)


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(f"""declare {{
  placeholder @x : float<$N x 3 x 2 x 2>
  placeholder @v : float<$N x 4>
  placeholder @y : float<$N x 2 x 2 x 2>
  placeholder @z : float<$N x 5>
  constant @w : float<2 x 3 x 1 x 1> = {W.astype(float).tolist()}
  constant @k : float<2 x 2 x 1 x 1> = splat(1.0)
  constant @m : float<4 x 5> = splat(1.0)
  constant @o : float<5 x 5> = splat(1.0)
}}
func @main {{
  %c = Convolution(@x, @w)
  %r = Relu(%c)
  %d = Convolution(%r, @k)
  Save(%d, @y)
  %n = Neg(@v)
  %f = Clip(%n, -9.0, 9.0)
  %g = MatMul(%f, @m)
  %h = MatMul(@v, @m)
  %i = Min(%g, %h)
  Save(%i, @z)
}}
""")
    np.save(f"{top}/x.npy", X)
    np.save(f"{top}/v.npy", V)


def check(path):
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    got = {line["value"]: line for line in lines if "channels" in line}
    r = np.maximum(np.einsum("bchw,oc->bohw", X.astype(np.float64), W[:, :, 0, 0]), 0)
    want = {"@x": X, "r": r, "f": np.clip(-V, -9, 9)}
    finite = np.where(np.isfinite(V), V, np.nan).astype(np.float64)
    infinite = got.pop("@v")  # an end is no number
    assert set(infinite) == {"value", "channels", "mean"}
    assert np.allclose(infinite["mean"], np.nanmean(finite, 0), rtol=1e-6, atol=0), infinite
    assert list(got) == list(want), list(got)
    for name, v in want.items():
        line, axes = got[name], tuple(i for i in range(v.ndim) if i != 1)
        assert line["channels"] == 1 and set(line) == {"value", "channels", "mean", "min", "max"}
        assert np.allclose(line["mean"], v.astype(np.float64).mean(axes), rtol=1e-6, atol=1e-12), (name, line["mean"])
        for key, ends in (("min", np.minimum(v.min(axes), 0)), ("max", np.maximum(v.max(axes), 0))):
            assert np.allclose(line[key], ends, rtol=1e-6, atol=0), (name, line[key], ends)
            assert not np.signbit([e for e in line[key] if e == 0]).any(), line[key]
    plain = [line for line in lines if "channels" not in line]
    assert [line.get("value") for line in plain] == [None, "@x", "@v", "c", "r", "d", "n", "f", "g", "h", "i"]


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
