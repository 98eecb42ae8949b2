"""A model for quantize-bias.test, and what numpy says of its corrected biases.

    quantize_bias.py make DIR           writes m.gg and x.npy
    quantize_bias.py check RANGES FILE  compares the biases in a text
"""
import json
import sys

import numpy as np

from quantize_numbers import constant

RNG = np.random.default_rng(4)


def listed(v):
    return "[" + ", ".join(map(listed, v)) + "]" if v.ndim else repr(float(v))


SHAPES = {"wa": (6, 2, 3, 3), "ba": (6,), "wd": (6, 1, 3, 3), "we": (4, 6, 1, 1), "be": (4,), "k": (4, 3), "last": (3, 3), "c": (1, 3)}
NUMBERS = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
GROUPS = {"a": 2, "d": 6}


def make(top):
    constants = "".join(f"  {'variable' if name == 'be' else 'constant'} @{name} : float<{' x '.join(map(str, v.shape))}> = {listed(v)}\n"
                        for name, v in NUMBERS.items())
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(f"""declare {{
  placeholder @x : float<1 x 4 x 5 x 5>
  placeholder @y : float<1 x 3>
  placeholder @z : float<1 x 3>
{constants}}}
func @main {{
  %a = Convolution(@x, @wa, @ba) {{group = 2, pads = [1, 1, 1, 1]}}
  %ra = Relu(%a)
  %d = Convolution(%ra, @wd) {{group = 6}}
  %rd = Relu(%d)
  %e = Convolution(%rd, @we, @be)
  %re = Relu(%e)
  %p = GlobalAveragePool(%re)
  %f = Flatten(%p)
  %m = MatMul(%f, @k)
  %o = Add(%m, @c)
  %q = Relu(%o)
  %n = MatMul(%q, @last)
  Save(%n, @y)
  %t = FullyConnected(%q, @last)
  Save(%t, @z)
}}
""")
    np.save(f"{top}/x.npy", RNG.uniform(-1, 3, (12, 4, 5, 5)).astype(np.float32))


def check(ranges, path):
    with open(ranges, encoding="utf-8") as f:
        means = {line["value"]: np.array(line["mean"]) for line in map(json.loads, f) if "mean" in line}
    with open(path, encoding="utf-8") as f:
        text = f.read()
    # What has a bias, its weights, what they read, and the bias before.
    for name, weights, read, bias in (("a", "wa", "@x", "ba"), ("d", "wd", "ra", None), ("m", "k", "f", "c"), ("t", "last", "q", None)):
        w, stored, scale = NUMBERS[weights], constant(path, f"{weights}.i8"), constant(path, f"{weights}.scale")
        product = w.ndim == 2
        lost = w - stored * (scale if product else scale.reshape(-1, 1, 1, 1))
        if product:
            want = means[read] @ lost
        else:
            groups = GROUPS[name]
            each = np.repeat(means[read].reshape(groups, -1), w.shape[0] // groups, 0)
            want = np.einsum("oihw,oi->o", lost, each)
        want = want + (NUMBERS[bias] if bias else 0)
        assert np.allclose(constant(path, f"{name}.bias"), want, rtol=0, atol=1e-6), (name, want)
    assert "e.bias" not in text and "n.bias" not in text


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
