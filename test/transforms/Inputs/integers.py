"""integers.py DIR TOOLS...: random QDQ contractions through the passes that make integers of them.

Writes module.gg, inputs and expected bytes to DIR, then runs each command of the rest, in which {m}
is the module and {io} its inputs and expectations. What is expected is computed in int64, then with
one rounding to float for each step: clamp(rint(float(sum) * float(float(sx * sw) / sy)) + zero)."""
import itertools
import subprocess
import sys

import numpy as np

F = np.float32
RANGE = {"u8": (0, 255), "i8": (-128, 127)}
NUMPY = {"u8": np.uint8, "i8": np.int8}


def text(a):
    return "[" + ", ".join(map(text, a)) + "]" if getattr(a, "ndim", 0) else repr(a.item())


def constant(name, kind, a):
    shape = " x ".join(map(str, a.shape))
    return f"  constant @{name} : {kind}<{shape}> = {text(a)}\n"


def convolve(x, w, pads, strides, dilations, groups):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    kh, kw = w.shape[2:]
    oh = (x.shape[2] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (x.shape[3] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], w.shape[0], oh, ow), np.int64)
    size, out = w.shape[1], w.shape[0] // groups
    for o, i, a, b in itertools.product(range(w.shape[0]), range(size), range(kh), range(kw)):
        part = x[:, o // out * size + i, a * dilations[0]:, b * dilations[1]:]
        y[:, o] += w[o, i, a, b] * part[:, ::strides[0], ::strides[1]][:, :oh, :ow]
    return y


def requantized(total, m, zero, kind):
    low, high = RANGE[kind]
    return np.clip(np.rint(total.astype(F) * m) + zero, low, high).astype(NUMPY[kind])


class Case:
    def __init__(self, r, i):
        self.i, self.r = i, r
        self.xk, self.wk, self.yk = (r.choice(["u8", "i8"]) for _ in range(3))
        self.conv = r.random() < 0.6
        self.each = r.random() < 0.5
        if self.conv:
            self.groups = int(r.choice([1, 1, 2, 3]))
            out, size = self.groups * int(r.integers(1, 4)), int(r.integers(1, 5))
            self.w = self.stored(self.wk, (out, size, int(r.integers(1, 4)), int(r.integers(1, 4))))
            self.x = self.stored(self.xk, (2, self.groups * size, 6, 5))
            self.pads = r.integers(0, 3, 4)
            self.strides, self.dilations = r.integers(1, 3, 2), r.integers(1, 3, 2)
        else:
            k, out = int(r.integers(1, 40)), int(r.integers(1, 9))
            self.w, self.x = self.stored(self.wk, (k, out)), self.stored(self.xk, (5, k))
        self.out = out
        self.sx, self.sy = F(r.uniform(0.001, 0.1)), F(r.uniform(0.5, 3))
        self.sw = r.uniform(0.001, 0.1, out if self.each else 1).astype(F)
        self.xz, self.yz = self.zero(self.xk), self.zero(self.yk)
        self.wz = 0 if self.wk == "i8" and r.random() < 0.7 else self.zero(self.wk)

    def stored(self, kind, shape):
        return self.r.integers(*RANGE[kind], shape, NUMPY[kind], True)

    def zero(self, kind):
        return int(self.r.choice([*RANGE[kind], self.r.integers(*RANGE[kind], endpoint=True)]))

    def expected(self, bias):
        x, w = self.x.astype(np.int64) - self.xz, self.w.astype(np.int64) - self.wz
        m = self.sx * self.sw / self.sy
        if not self.conv:
            return requantized(x @ w + bias, m, self.yz, self.yk)
        y = convolve(x, w, self.pads, self.strides, self.dilations, self.groups)
        return requantized(y + bias[:, None, None], m[:, None, None], self.yz, self.yk)

    def write(self, directory):
        i, axis = self.i, 0 if self.conv else 1
        bias = self.r.integers(-3000, 3000, self.out)
        y = self.expected(bias)
        bs = np.broadcast_to(self.sx * self.sw, self.out)
        wz = np.full(self.sw.shape, self.wz) if self.each else np.array(self.wz)
        sw = self.sw if self.each else self.sw[0]
        constants = (
            constant(f"w{i}", self.wk, self.w) + constant(f"sw{i}", "float", sw)
            + constant(f"wz{i}", self.wk, wz) + constant(f"sx{i}", "float", self.sx)
            + constant(f"xz{i}", self.xk, np.array(self.xz)) + constant(f"sy{i}", "float", self.sy)
            + constant(f"yz{i}", self.yk, np.array(self.yz)) + constant(f"b{i}", "i32", bias)
            + constant(f"bs{i}", "float", bs))
        op = f"FullyConnected(%a{i}, %v{i}, %c{i})"
        if self.conv:
            ints = {"group": self.groups, "strides": self.strides.tolist(),
                    "pads": self.pads.tolist(), "dilations": self.dilations.tolist()}
            members = ", ".join(f"{k} = {v}" for k, v in ints.items())
            op = f"Convolution(%a{i}, %v{i}, %c{i}) {{{members}}}"
        nodes = f"""  %a{i} = DequantizeLinear(%x{i}, @sx{i}, @xz{i})
  %v{i} = DequantizeLinear(@w{i}, @sw{i}, @wz{i}) {{axis = {axis}}}
  %c{i} = DequantizeLinear(@b{i}, @bs{i}) {{axis = 0}}
  %r{i} = {op}
  %y{i} = QuantizeLinear(%r{i}, @sy{i}, @yz{i}) {{kind = {self.yk}}}
"""
        np.save(f"{directory}/x{i}.npy", self.x)
        np.save(f"{directory}/y{i}.npy", y)
        shape = " x ".join(map(str, self.x.shape))
        return constants, f"%x{i} : {self.xk}<{shape}>", nodes, y


def main():
    directory, commands = sys.argv[1], sys.argv[2:]
    cases = [Case(np.random.default_rng(i), i).write(directory) for i in range(40)]
    types = [f"{'u8' if y.dtype == np.uint8 else 'i8'}<{' x '.join(map(str, y.shape))}>"
             for *_, y in cases]
    with open(f"{directory}/module.gg", "w") as f:
        f.write("declare {\n" + "".join(c for c, *_ in cases) + "}\n")
        results = ", ".join(f"%y{i} : {t}" for i, t in enumerate(types))
        f.write(f"func @main({', '.join(p for _, p, *_ in cases)}) -> ({results}) {{\n")
        f.write("".join(n for _, _, n, _ in cases))
        f.write(f"  return {', '.join(f'%y{i}' for i in range(len(cases)))}\n}}\n")
    io = " ".join(f"--input x{i}={directory}/x{i}.npy --expect y{i}={directory}/y{i}.npy"
                  for i in range(len(cases))) + " --rtol 0 --atol 0"
    for command in commands:
        subprocess.run(command.format(m=f"{directory}/module.gg", io=io), shell=True, check=True)


main()
