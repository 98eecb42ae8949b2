#!/usr/bin/env python3
"""Models for the benchmarks, written as protobuf bytes so that nothing but Python is needed.

    benchmarks/models.py chain OUT.onnx [--megabytes 100]
    benchmarks/models.py text OUT.gg [--nodes 100000]
    benchmarks/models.py transformer OUT.onnx [--layers 12] [--hidden 768] [--heads 12] [--tokens 128]

chain: 1x1 convolutions, each followed by a batch normalization, 4 MiB of weights each. text: sums in a
row, as .gg. transformer: an encoder after BERT, spelled in the arithmetic that PyTorch exports up to
opset 16: layer normalization by ReduceMean and Sqrt, GELU by Erf, attention by two products around
Softmax. Weights are normally distributed, from a fixed seed.
"""
import argparse
import array
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "utils"))
from onnx_bytes import FLOAT, I64, f, node, value, varint  # noqa: E402


class Model:
    """A graph of one input and one output, grown node by node."""

    def __init__(self, opset):
        self.opset, self.nodes, self.tensors, self.count = opset, [], [], 0

    def constant(self, kind, dims, data, name=None):
        """An initializer; data are its bytes, repeated and cut to the size."""
        self.count += 1
        name = name or f"c{self.count}"
        size = 4 if kind == FLOAT else 8
        for d in dims:
            size *= d
        self.tensors.append((name, kind, dims, data, size))
        return name

    def number(self, value):
        return self.constant(FLOAT, (), struct.pack("<f", value))

    def integer(self, value):
        return self.constant(I64, (), struct.pack("<q", value))

    def integers(self, *values):
        return self.constant(I64, (len(values),), struct.pack(f"<{len(values)}q", *values))

    def node(self, op, *inputs, name=None, outputs=(), **attributes):
        """Returns the name of the only output, unless there are `outputs`."""
        self.count += 1
        name = name or f"n{self.count}"
        self.nodes.append(f(1, node(op, ",".join(inputs), ",".join(outputs or (name,)), name, **attributes)))
        return name

    def write(self, path, x, x_dims, y, y_dims, x_kind=FLOAT):
        heads = []
        for name, kind, dims, _, size in self.tensors:
            head = b"".join(f(1, d) for d in dims) + f(2, kind) + f(8, name)
            head += varint(9 << 3 | 2) + varint(size)
            heads.append(varint(5 << 3 | 2) + varint(len(head) + size) + head)
        nodes = b"".join(self.nodes) + f(2, "benchmark")
        tail = f(11, value(x, x_kind, x_dims)) + f(12, value(y, FLOAT, y_dims))
        size = len(nodes) + sum(map(len, heads)) + sum(t[4] for t in self.tensors) + len(tail)
        with open(path, "wb") as out:
            out.write(f(1, 8) + f(8, f(1, "") + f(2, self.opset)) + varint(7 << 3 | 2) + varint(size))
            out.write(nodes)
            for head, (_, _, _, data, bytes_left) in zip(heads, self.tensors):
                out.write(head)
                while bytes_left:
                    out.write(data[:bytes_left])
                    bytes_left -= min(bytes_left, len(data))
            out.write(tail)


def chain(path, megabytes, channels=1024):
    m = Model(13)
    scale, zero = (m.constant(FLOAT, (channels,), struct.pack("<f", v)) for v in (1.0, 0.0))
    weights = struct.pack("<f", 1.0 / channels) * channels * channels
    y = "x"
    for _ in range(megabytes // 4):
        y = m.node("Conv", y, m.constant(FLOAT, (channels, channels, 1, 1), weights))
        y = m.node("BatchNormalization", y, scale, zero, zero, scale)
    dims = (1, channels, 4, 4)
    m.write(path, "x", dims, y, dims)


def text(path, nodes):
    with open(path, "w") as f:
        f.write("declare {\n  placeholder @x : float<8 x 16>\n  placeholder @y : float<8 x 16>\n}\nfunc @main {\n")
        f.write("  %0 = Relu(@x) : float<8 x 16>\n")
        for i in range(1, nodes - 1):
            f.write(f"  %{i} = Add(%{i - 1}, @x) : float<8 x 16>\n")
        f.write(f"  Save(%{nodes - 2}, @y)\n}}\n")


def transformer(path, layers=12, hidden=768, heads=12, tokens=128):
    m = Model(13)
    rng = random.Random(1)
    noise = array.array("f", (rng.gauss(0, 0.02) for _ in range(1 << 16))).tobytes()
    two, half, root, epsilon = (m.number(v) for v in (2.0, 0.5, 2.0 ** 0.5, 1e-5))
    one, scale = m.number(1.0), m.number((hidden // heads) ** 0.5)
    split = m.integers(1, tokens, heads, hidden // heads)
    merged = m.integers(1, tokens, hidden)

    def weights(*dims):
        return m.constant(FLOAT, dims, noise)

    def linear(x, n, k):
        return m.node("Add", m.node("MatMul", x, weights(n, k)), weights(k))

    def layer_norm(x):
        d = m.node("Sub", x, m.node("ReduceMean", x, axes=[2 ** 64 - 1]))
        variance = m.node("ReduceMean", m.node("Pow", d, two), axes=[2 ** 64 - 1])
        y = m.node("Div", d, m.node("Sqrt", m.node("Add", variance, epsilon)))
        y = m.node("Mul", y, m.constant(FLOAT, (hidden,), struct.pack("<f", 1.0)))
        return m.node("Add", y, weights(hidden))

    def gelu(x):
        y = m.node("Add", m.node("Erf", m.node("Div", x, root)), one)
        return m.node("Mul", m.node("Mul", x, y), half)

    def attention(x):
        q, k, v = (m.node("Reshape", linear(x, hidden, hidden), split) for _ in range(3))
        q, v = (m.node("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        scores = m.node("MatMul", q, m.node("Transpose", k, perm=[0, 2, 3, 1]))
        shares = m.node("Softmax", m.node("Div", scores, scale), axis=3)
        y = m.node("Transpose", m.node("MatMul", shares, v), perm=[0, 2, 1, 3])
        return linear(m.node("Reshape", y, merged), hidden, hidden)

    x = "x"
    for _ in range(layers):
        x = layer_norm(m.node("Add", attention(x), x))
        x = layer_norm(m.node("Add", linear(gelu(linear(x, hidden, 4 * hidden)), 4 * hidden, hidden), x))
    m.write(path, "x", (1, tokens, hidden), x, (1, tokens, hidden))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="kind", required=True)
    command = commands.add_parser("chain")
    command.add_argument("path")
    command.add_argument("--megabytes", type=int, default=100)
    command = commands.add_parser("text")
    command.add_argument("path")
    command.add_argument("--nodes", type=int, default=100_000)
    command = commands.add_parser("transformer")
    command.add_argument("path")
    for option, default in (("layers", 12), ("hidden", 768), ("heads", 12), ("tokens", 128)):
        command.add_argument("--" + option, type=int, default=default)
    options = vars(parser.parse_args())
    {"chain": chain, "text": text, "transformer": transformer}[options.pop("kind")](**options)


if __name__ == "__main__":
    main()
