"""Two layers for quantize-numbers.test, and what numpy makes of their quantized form.

    quantize_numbers.py make DIR             writes m.gg, x.npy and for each way y-WAY.npy
    quantize_numbers.py check FILE WAY   compares the weights and biases in a text with numpy's
"""
import re
import sys

import numpy as np

F = np.float32
RNG = np.random.default_rng(11)
X = RNG.uniform(-1, 2, (50, 5)).astype(F)
W = [RNG.normal(size=(5, 6)).astype(F), RNG.normal(size=(6, 4)).astype(F)]
W[0][:, 2] = 0
W[0][0:2, 3] = 1
B = [RNG.normal(size=6).astype(F), RNG.normal(size=4).astype(F)]
WAYS = {"plain": ("asymmetric", "u8", "pairs", False), "symmetric": ("symmetric", "i8", "8", False),
        "power2": ("power2", "u8", "7", True), "bytes": ("symmetric-uint8", "u8", "pairs", True)}


def parameters(scheme, kind, low, high):
    least = 0 if kind == "u8" else -128
    low, high = min(float(low), 0), max(float(high), 0)
    if scheme == "symmetric" or (scheme == "symmetric-uint8" and low < 0):
        return F(max(-low, high) / 127), 128 if kind == "u8" else 0, least
    s = F((high - low) / 255)
    if scheme == "power2":
        s = F(2.0 ** np.ceil(np.log2(float(s))))
    return s, int(np.clip(np.rint(least - low / float(s)), least, least + 255)), least


def rounded(v, scheme, kind):
    s, o, least = parameters(scheme, kind, v.min(), v.max())
    return (np.clip(np.rint(v / s) + o, least, least + 255) - o).astype(F) * s


def weights(w, bits, tensor):
    top = abs(w).max(0)
    if bits == "pairs":
        even = np.vstack([w, np.zeros((w.shape[0] % 2, w.shape[1]), F)]).reshape(-1, 2, w.shape[1])
        for sign in (1, -1):
            top = np.maximum(top, np.maximum(even * F(sign), 0).sum(1).max(0))
    top = np.full_like(top, top.max()) if tensor else top
    s = np.maximum(top / F(63 if bits == "7" else 127), F(2.0**-60))
    q = np.rint(w / s)
    assert abs(q).max() <= 127
    if bits == "pairs":
        pairs = np.vstack([q, np.zeros((q.shape[0] % 2, q.shape[1]))]).reshape(-1, 2, q.shape[1])
        assert np.maximum(pairs, 0).sum(1).max() <= 128 and np.minimum(pairs, 0).sum(1).min() >= -128
    return q.astype(int), s


def biases(bits, tensor):
    """Each takes what rounding the weights takes from results, in the mean of what they multiply."""
    hidden = np.maximum(X.astype(np.float64) @ W[0] + B[0], 0)  # the profile is that of float
    q = [weights(w, bits, tensor) for w in W]
    return [B[i] + v.astype(np.float64).mean(0) @ (W[i] - q[i][0] * q[i][1].astype(np.float64))
            for i, v in enumerate((X, hidden))]


def layers(scheme, kind, bits, tensor):
    hidden = np.maximum(X.astype(np.float64) @ W[0] + B[0], 0).astype(F)
    q, b = [weights(w, bits, tensor) for w in W], biases(bits, tensor)
    x = rounded(X, scheme, kind).astype(np.float64)
    h = np.maximum(x @ (q[0][0] * q[0][1].astype(np.float64)) + b[0], 0).astype(F)
    s, o, least = parameters(scheme, kind, hidden.min(), hidden.max())
    h = (np.clip(np.rint(h / s) + o, least, least + 255) - o).astype(np.float64) * s
    return h @ (q[1][0] * q[1][1].astype(np.float64)) + b[1]


def listed(v):
    return "[" + ", ".join(map(listed, v)) + "]" if v.ndim else repr(float(v))


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write(f"""declare {{
  placeholder @x : float<1 x 5>
  placeholder @y : float<1 x 4>
  constant @w0 : float<5 x 6> = {listed(W[0])}
  constant @w1 : float<6 x 4> = {listed(W[1])}
  constant @b : float<6> = {listed(B[0])}
  constant @c : float<1 x 4> = {listed(B[1][None])}
}}
func @main {{
  %h = FullyConnected(@x, @w0, @b)
  %r = Relu(%h)
  %m = MatMul(%r, @w1)
  %o = Add(@c, %m)
  Save(%o, @y)
}}
""")
    np.save(f"{top}/x.npy", X)
    for name, way in WAYS.items():
        np.save(f"{top}/y-{name}.npy", layers(*way).astype(F))


def constant(path, name):
    with open(path, encoding="utf-8") as f:
        return np.array(eval(re.search(rf"@{name} : \w+<.*> = (\[.*\])", f.read()).group(1)))  # pylint: disable=eval-used


def check(path, wanted):
    """Compares the weights in a text, those of each layer, with the wanted ones."""
    for i, want in enumerate(wanted):
        got = constant(path, f"w{i}.i8")
        assert (got == want).all(), (got, want)


def check_biases(path, wanted):
    for name, before, want in zip(("h", "m"), B, wanted):
        got = constant(path, f"{name}.bias").ravel()
        assert np.allclose(got, want, rtol=0, atol=1e-6) and not np.allclose(got, before, rtol=0, atol=1e-4), (got, want)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        _, _, BITS, TENSOR = WAYS[sys.argv[3]]
        check(sys.argv[2], [weights(w, BITS, TENSOR)[0] for w in W])
        check_biases(sys.argv[2], biases(BITS, TENSOR))
