"""Two models, samples and labels for judge.test, and what numpy says of them.

    judge.py make DIR         writes a.gg, b.gg, other.gg, x.npy, labels.npy and others
    judge.py check FILE       compares what glow-run printed of a.gg against b.gg
"""
import re
import sys

import numpy as np

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 3)).astype(np.float32)
A = RNG.normal(size=(3, 8)).astype(np.float32)
B = (A + RNG.normal(size=(3, 8)) * 0.4).astype(np.float32)
X[4] = 0
LABELS = np.where(RNG.integers(0, 3, 30), (X @ A).argmax(1), RNG.integers(0, 8, 30))


def model(w, name="y", columns=8):
    rows = ", ".join("[" + ", ".join(repr(float(v)) for v in row[:columns]) + "]" for row in w)
    return f"""declare {{
  placeholder @x : float<$N x 3>
  placeholder @{name} : float<$N x {columns}>
  placeholder @sum : float<>
  constant @axes : i64<2> = [0, 1]
  constant @w : float<3 x {columns}> = [{rows}]
}}
func @main {{
  %y = MatMul(@x, @w)
  Save(%y, @{name})
  %s = ReduceSum(%y, @axes) {{keep = false}}
  Save(%s, @sum)
}}
"""


def make(top):
    for name, text in (("a", model(A)), ("b", model(B)), ("other", model(B, "z")), ("narrow", model(B, "y", 5))):
        with open(f"{top}/{name}.gg", "w", encoding="utf-8") as f:
            f.write(text)
    np.save(f"{top}/x.npy", X)
    np.save(f"{top}/labels.npy", LABELS.astype(np.int32))
    np.save(f"{top}/few.npy", LABELS[:29])
    np.save(f"{top}/eight.npy", np.full(30, 8))


def check(path):
    with open(path, encoding="utf-8") as f:
        first, second = f.read().splitlines()
    got, want = X.astype(np.float64) @ A, X.astype(np.float64) @ B
    order = np.argsort(-got, axis=1, kind="stable")
    right = int((order[:, 0] == LABELS).sum())
    near = int((order[:, :5] == LABELS[:, None]).any(1).sum())
    assert first == f"y: {right} of 30 labels right ({right / 30:.4f}), {near} among the best five", first
    agree = int((got.argmax(1) == want.argmax(1)).sum())
    norms = np.linalg.norm(got, axis=1) * np.linalg.norm(want, axis=1)
    cosine = np.where(norms > 0, (got * want).sum(1) / np.where(norms > 0, norms, 1), 1)
    noise = ((got - want)**2).sum()
    form = r"y: (\d+) of 30 agree \(([\d.]+)\), cosine at least (\S+), mean (\S+), SQNR (\S+) dB, largest error (\S+)"
    numbers = [float(v) for v in re.fullmatch(form, second).groups()]
    exact = [agree, agree / 30, cosine.min(), cosine.mean(), 10 * np.log10((want**2).sum() / noise),
             abs(got - want).max()]
    np.testing.assert_allclose(numbers, exact, rtol=1e-5, atol=0.006)
    np.testing.assert_allclose(numbers[2:4], exact[2:4], atol=1e-6)


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2])
