"""Which of five nodes costs accuracy, for rank.test.

    rank.py make DIR     writes m.gg, x.npy; one weight of the second product is far larger than the others
    rank.py check TABLE  compares what glow-bisect --rank printed with numpy, and the order with the figures
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../transforms/Inputs"))
from quantize_numbers import listed, rounded, weights  # noqa: E402

F = np.float32
RNG = np.random.default_rng(21)
X = RNG.normal(size=(40, 12)).astype(F)
W = [RNG.normal(size=s).astype(F) for s in ((12, 16), (16, 16), (16, 5))]
W[0][:, 3] *= F(1e-3)  # what the large weight reads is small
W[1][3, 2] = 200
NAMES = ["first", "relu,1", "Relu", "third[0]", "second"]


def product(x, w):
    return (x.astype(np.float64) @ w).astype(F)


def weight(w):
    q, s = weights(w, "pairs", True)
    return (q * s.astype(np.float64)).astype(F)


def network(alone=""):
    """The network with one node rounded: what it reads, and its weights."""
    v = X
    for i, (name, relu) in enumerate((("first", "relu,1"), ("second", "Relu"), ("third[0]", ""))):
        w = W[i]
        if alone == name:
            v, w = rounded(v, "asymmetric", "u8"), weight(w)
        v = product(v, w)
        if relu:
            v = np.maximum(v, F(0))
        if relu and alone == relu:  # Relu reads what is limited as its result is
            v = rounded(v, "asymmetric", "u8")
    return v


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(f"""declare {{
  placeholder @x : float<1 x 12>
  placeholder @y : float<1 x 5>
  constant @w0 : float<12 x 16> = {listed(W[0])}
  constant @w1 : float<16 x 16> = {listed(W[1])}
  constant @w2 : float<16 x 5> = {listed(W[2])}
}}
func @main {{
  %first = MatMul(@x, @w0)
  %"relu,1" = Relu(%first)
  %second = MatMul(%"relu,1", @w1)
  %Relu = Relu(%second)
  %"third[0]" = MatMul(%Relu, @w2)
  Save(%"third[0]", @y)
}}
""")
    np.save(f"{top}/x.npy", X)


def check(path):
    want = network().astype(np.float64)
    with open(path, encoding="utf-8") as f:
        rows = [line.split(maxsplit=5) for line in f.read().splitlines()[1:7]]
    assert rows[0][5] == "all of them"
    got = {r[5].split("'")[1]: (float(r[0]), float(r[1])) for r in rows[1:]}
    assert sorted(got) == sorted(NAMES), got
    assert [v[0] for v in got.values()] == sorted(v[0] for v in got.values())
    for name, (sqnr, cosine) in got.items():
        have = network(name).astype(np.float64)
        noise = 10 * np.log10((want**2).sum() / ((have - want)**2).sum())
        least = ((want * have).sum(1) / np.linalg.norm(want, axis=1) / np.linalg.norm(have, axis=1)).min()
        assert abs(noise - sqnr) < 0.05 and abs(least - cosine) < 1e-4, (name, noise, sqnr, least, cosine)
    assert next(iter(got)) == "second"


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
