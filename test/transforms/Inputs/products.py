"""Writes into a folder: products.gg, with matrix products and what follows them; x.npy; and the expected
results, computed in double precision with numpy."""
import sys

import numpy as np

TEXT = """declare {
  placeholder @x : float<2 x 3 x 4>
  constant @w : float<4 x 5> = $w
  constant @q : float<4 x 4> = $q
  constant @k : float<4 x 3> = $k
  constant @v : float<4 x 6> = $v
  constant @left : float<2 x 4> = $left
  constant @right : float<5 x 4> = $right
  constant @m : float<4 x 3> = $m
  constant @b : float<5> = $b
  constant @s : float<5> = $s
  constant @bq : float<4> = $bq
  constant @bk : float<3> = $bk
  constant @bv : float<6> = $bv
  constant @t : float<> = 0.5
}
; Scaled and shifted columns.
func @chain() -> (float<2 x 3 x 5>, float<2 x 3 x 5>, float<2 x 3 x 5>) {
  %p = MatMul(@x, @w)
  %p1 = Mul(%p, @s)
  %p2 = Add(%p1, @b)
  %p3 = Mul(%p2, @t)
  %f = FullyConnected(@x, @w, @b)
  %f1 = Sub(%f, @s)
  %f2 = Div(%f1, @s)
  %r = MatMul(@x, @w)
  %r1 = Div(%r, @s)
  return %p3, %f2, %r1
}
; The projections of attention.
func @qkv() -> (float<2 x 3 x 4>, float<2 x 3 x 3>, float<2 x 3 x 6>) {
  %q = MatMul(@x, @q)
  %q1 = Add(%q, @bq)
  %k = MatMul(@x, @k)
  %k1 = Add(@bk, %k)
  %v = MatMul(@x, @v)
  %v1 = Add(%v, @bv)
  return %q1, %k1, %v1
}
func @rows(%x: float<4 x 3>) -> (float<2 x 3>, float<5 x 3>) {
  %a = MatMul(@left, %x)
  %b = MatMul(@right, %x)
  return %a, %b
}
"""


def main(folder):
    rng = np.random.default_rng(3)
    shapes = {"w": (4, 5), "q": (4, 4), "k": (4, 3), "v": (4, 6), "left": (2, 4), "right": (5, 4), "m": (4, 3),
              "b": (5,), "s": (5,), "bq": (4,), "bk": (3,), "bv": (6,)}
    c = {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    x = rng.normal(0, 1, (2, 3, 4)).astype(np.float32)
    text = TEXT
    for name in sorted(c, key=len, reverse=True):
        text = text.replace(f"= ${name}\n", f"= {c[name].tolist()}\n")
    open(f"{folder}/products.gg", "w").write(text)
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/m.npy", c["m"])
    d = {name: value.astype(np.float64) for name, value in c.items()}
    z = x.astype(np.float64)
    results = {
        "chain0": ((z @ d["w"]) * d["s"] + d["b"]) * 0.5,
        "chain1": (z @ d["w"] + d["b"] - d["s"]) / d["s"],
        "chain2": (z @ d["w"]) / d["s"],
        "q": z @ d["q"] + d["bq"],
        "k": z @ d["k"] + d["bk"],
        "v": z @ d["v"] + d["bv"],
        "rows0": d["left"] @ d["m"],
        "rows1": d["right"] @ d["m"],
    }
    for name, value in results.items():
        np.save(f"{folder}/{name}.npy", value.astype(np.float32))


main(sys.argv[1])
