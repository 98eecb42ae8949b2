"""Samples and a model for ranges.test, and what numpy says of their ranges.

    ranges.py make DIR            writes m.gg, all.npy, a file for each sample, lists, labels
    ranges.py check FILE DIR      compares a file of ranges with numpy
"""
import json
import sys

import numpy as np

MODEL = """declare {
  placeholder @x : float<$N x 3>
  placeholder @y : float<$N x 3>
  constant @c : float<3> = [1.5, -40.0, 0.001]
}
func @main {
  %a = Mul(@x, @c)
  %b = Relu(%a)
  %empty = Div(%b, 0.0)
  %z = Sub(%a, %b)
  %s = Min(%z, %empty)
  Save(%s, @y)
}
"""


def samples():
    x = np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32)
    x[3] = 0
    x[7, 1] = 1000
    x[8, 2] = -1e-42
    return x


def values(x):
    with np.errstate(all="ignore"):
        a = x * np.array([1.5, -40, 0.001], np.float32)
        b = np.maximum(a, np.float32(0))
        return {"@x": ("placeholder", x), "a": ("Mul", a), "b": ("Relu", b), "empty": ("Div", b / np.float32(0)),
                "z": ("Sub", a - b), "s": None}


def expected(name, op, v):
    flat = v.astype(np.float64).ravel() + 0.0
    line = {"value": name, "op": op, "type": "float<$N x 3>", "nan": int(np.isnan(flat).sum()),
            "inf": int(np.isinf(flat).sum())}
    flat = flat[np.isfinite(flat)]
    if flat.size:
        e = next(e for e in range(-126, 129) if all(-2.0**e <= f < 2.0**e for f in flat))
        places, counts = np.unique(np.floor(np.ldexp(flat, 11 - e)).astype(int) + 2048, return_counts=True)
        line |= {"min": flat.min(), "max": flat.max(), "exponent": e,
                 "bins": [[int(p), int(c)] for p, c in zip(places, counts)]}
    return line


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(MODEL)
    x = samples()
    np.save(f"{top}/all.npy", x)
    paths = [f"{top}/one{i:02}.npy" for i in range(40)]
    for i, path in enumerate(paths):
        np.save(path, x[i:i + 1])
    for name, order in (("list", range(40)), ("shuffled", np.random.default_rng(1).permutation(40))):
        with open(f"{top}/{name}", "w", encoding="utf-8") as f:
            f.writelines(paths[i] + "\n" for i in order)


def check(path):
    with open(path, encoding="utf-8") as f:
        head, *lines = [json.loads(line) for line in f]
    assert len(head.pop("text")) == 16
    assert head == {"glow": "ranges", "version": 1, "function": "main", "samples": 40}, head
    want = [expected(name, *v) for name, v in values(samples()).items() if v]
    assert [line["value"] for line in lines] == ["@x", "a", "b", "empty", "z", "s"]
    for got, exact in zip(lines, want):
        for key in ("min", "max"):
            if key in got:
                got[key] = float(np.float32(got[key]))
        assert got == exact, (got, exact)


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2])
