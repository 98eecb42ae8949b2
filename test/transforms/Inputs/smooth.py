"""A network whose channels differ much, for smooth.test.

    smooth.py make DIR               writes m.gg, samples x.npy and image.npy, others test-*.npy
    smooth.py check RANGES FILE      compares the constants of the smoothed text FILE with numpy: NAME.even is NAME times
                                     or over 2^round(log2(a^alpha / w^(1 - alpha))), alpha 0.5
"""
import json
import re
import sys

import numpy as np

from quantize_numbers import listed

F = np.float32
RNG = np.random.default_rng(12)


def spread(n):
    return F(2.0) ** RNG.uniform(-6, 6, n).astype(F)


# Channels of large numbers meet small weights, so all of them count.
GAIN, MAPS, LAST = spread(8), spread(6), spread(4)
normal = lambda *shape: RNG.normal(size=shape).astype(F)
C = {
    "gamma": GAIN, "beta": normal(8) * GAIN, "q": normal(8, 8) / GAIN[:, None], "k": normal(8, 8) / GAIN[:, None],
    "add": normal(8), "last": normal(8, 5), "f": normal(6, 2, 3, 3) * MAPS[:, None, None, None], "fb": normal(6) * MAPS,
    "g": normal(4, 6, 2, 2) / MAPS[:, None, None], "gain": LAST[:, None, None], "h": normal(3, 4, 1, 1) / LAST[:, None, None],
    "t": normal(4, 1, 1, 1), "six": F(6), "low": F(-2), "zero": F(0),
    "i": normal(6, 2, 3, 3) * MAPS[:, None, None, None], "v": normal(3, 6, 1, 1) / MAPS[:, None, None],
    "j": normal(6, 2, 3, 3) * MAPS[:, None, None, None], "o": normal(3, 6, 1, 1) / MAPS[:, None, None],
}
C["q"][2] = 0  # nothing reads this channel but k
C["last"][4] = 0  # nor this one
C["k"][2] *= 3
MODEL = """func @main {
  %n = LayerNormalization(@x, @gamma, @beta) {axis = -1}
  %q = MatMul(%n, @q)
  %k = FullyConnected(%n, @k)
  %s = Add(%q, %k)
  %w = MatMul(%s, @k)
  %a = Add(%w, @add)
  %r = Relu(%a)
  %o = MatMul(%r, @last)
  Save(%o, @y)
  %f = Convolution(@image, @f, @fb) {pads = [1, 1, 1, 1]}
  %e = LeakyRelu(%f) {alpha = 0.25}
  %p, %_ = MaxPool(%e) {kernels = [2, 2], strides = [2, 2]}
  %g = Convolution(%p, @g)
  %m = Mul(%g, @gain)
  %t = Convolution(%m, @t) {group = 4}
  %u = Relu(%t)
  %h = Convolution(%u, @h)
  Save(%h, @z)
  %i = Convolution(@image, @i)
  %c = Clip(%i, @low, @six)
  %v = Convolution(%c, @v)
  %j = Convolution(@image, @j)
  %d = Clip(%j, @zero, @six)
  %o2 = Convolution(%d, @o)
  %l = Add(%v, %o2)
  Save(%l, @l)
}
"""
# What is divided, what computes the values between, and what is multiplied along an axis.
MOVES = [("n", ["gamma", "beta"], [("q", 0), ("k", 0)]), ("r", ["add", "k"], [("last", 0)]),
         ("p", ["f", "fb"], [("g", 1)]), ("m", ["gain"], [("t", 0)]),
         ("u", [], [("h", 1)]), ("c", ["i", "low", "six"], [("v", 1)]),
         ("d", ["j", "six"], [("o", 1)])]
# A constant that two of them divide has a second name for the second.
AGAIN = {("r", "k"): "k.even.1", ("d", "six"): "six.even.1"}


def make(top):
    with open(f"{top}/m.gg", "w", encoding="utf-8") as f:
        f.write("declare {\n  placeholder @x : float<1 x 7 x 8>\n  placeholder @image : float<1 x 2 x 6 x 6>\n"
                "  placeholder @y : float<1 x 7 x 5>\n  placeholder @z : float<1 x 3 x 2 x 2>\n"
                "  placeholder @l : float<1 x 3 x 4 x 4>\n")
        for name, v in C.items():
            f.write(f"  constant @{name} : float<{' x '.join(map(str, v.shape))}> = {listed(v)}\n")
        f.write("}\n" + MODEL)
    for name, count in (("", 60), ("test-", 40)):
        np.save(f"{top}/{name}x.npy", RNG.normal(size=(count, 7, 8)).astype(F))
        np.save(f"{top}/{name}image.npy", RNG.normal(size=(count, 2, 6, 6)).astype(F))


def constants(path):
    """Constants by their names: lists in the text, and the payload behind it, which is safetensors."""
    with open(path, "rb") as f:
        text, _, payload = f.read().partition(b"\npayload ")
    found = {}
    for name, value in re.findall(r"constant @(\S+) : float<[^>]*> = (.*)", text.decode()):
        key = re.match(r'payload\("(.*)"\)', value)
        if not key and value[0] == "[":
            found[name] = np.array(eval(value), F)  # pylint: disable=eval-used
        elif key:
            data = payload.partition(b"\n")[2]
            size = int.from_bytes(data[:8], "little")
            entry = json.loads(data[8:8 + size])[key.group(1)]
            start, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[8 + size + start:8 + size + end], F).reshape(entry["shape"])
    return found


def check(ranges, path):
    with open(ranges, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    ends = {v["value"]: np.maximum(-np.array(v["min"], F), np.array(v["max"], F)) for v in lines if "channels" in v}
    have = constants(path)
    factors = {}
    for value, divided, read in MOVES:
        large = np.max([abs(np.moveaxis(C[name], axis, 0)).reshape(len(ends[value]), -1).max(1) for name, axis in read],
                       axis=0).astype(np.float64)
        with np.errstate(divide="ignore"):
            k = np.rint(np.log2(ends[value].astype(np.float64)) / 2 - np.log2(large) / 2)
        s = np.where(large > 0, 2.0 ** np.clip(k, -24, 24), 1)
        assert len(set(s)) > 2, s
        factors[value] = s
        for name, axis in read:
            along = s.reshape([-1 if i == axis else 1 for i in range(C[name].ndim)])
            assert (have[f"{name}.even"] == C[name] * along).all(), name
        for name in divided:
            behind = {"f": 3, "i": 3, "j": 3, "gain": 2, "low": 2, "six": 2}.get(name, 0)
            name_of = AGAIN.get((value, name), f"{name}.even")
            assert (have[name_of] == C[name] / s.reshape([-1] + [1] * behind)).all(), name
    # A filter for each channel takes the factors of what it reads, and gives those of its results.
    twice = factors["m"] / factors["u"]
    assert (have["t.even.even"] == C["t"] * twice.reshape(4, 1, 1, 1)).all()


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2], sys.argv[3])
