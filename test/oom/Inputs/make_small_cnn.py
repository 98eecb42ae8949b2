#!/usr/bin/env python3
"""Writes small-cnn/model.onnx (under 4 kB) and its input: convolution, batch normalization, relu,
pooling, reshape by a computed shape, matrix product, softmax, and an If with captured values."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def varint(n):
    out = b""
    while True:
        out += bytes([n & 127 | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, values, kind="f"):
    number = {"f": 1, "q": 7, "?": 9}[kind]
    raw = struct.pack("<%d%s" % (len(values), kind), *values)
    return b"".join(field(1, d) for d in dims) + field(2, number) + (field(8, name) if name else b"") + field(9, raw)


def value(name, dims, kind=1):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def attribute(name, v):
    if isinstance(v, list):
        return field(1, name) + b"".join(field(8, x) for x in v) + field(20, 7)
    if isinstance(v, int):
        return field(1, name) + field(3, v) + field(20, 2)
    return field(1, name) + field(6, v) + field(20, 5)  # a graph


def node(op, inputs, outputs, name, **attributes):
    body = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    body += field(3, name) + field(4, op)
    return field(1, body + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


def graph(name, nodes, initializers=(), inputs=(), outputs=()):
    return (b"".join(nodes) + field(2, name) + b"".join(field(5, i) for i in initializers)
            + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))


def main():
    ramp = lambda n: [((i * 7) % 11 - 5) / 8 for i in range(n)]
    then = graph("then", [node("Exp", ["p"], ["t"], "exp")], outputs=[value("t", [1, 5])])
    other = graph("else", [node("Neg", ["p"], ["e"], "neg")], outputs=[value("e", [1, 5])])
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("BatchNormalization", ["c", "s", "o", "m", "v"], ["n"], "bn"),
        node("Relu", ["n"], ["r"], "relu"),
        node("MaxPool", ["r"], ["q"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["q"], ["shape"], "shape"),
        node("Gather", ["shape", "zero"], ["batch"], "batch", axis=0),
        node("Concat", ["batch", "minus"], ["target"], "target", axis=0),
        node("Reshape", ["q", "target"], ["f"], "flat"),
        node("MatMul", ["f", "k"], ["l"], "fc"),
        node("Softmax", ["l"], ["p"], "softmax", axis=1),
        node("If", ["yes"], ["y"], "choose", then_branch=then, else_branch=other),
    ]
    initializers = [
        tensor("w", [4, 1, 3, 3], ramp(36)), tensor("b", [4], ramp(4)), tensor("s", [4], [1.0, 2.0, 0.5, 1.5]),
        tensor("o", [4], ramp(4)), tensor("m", [4], ramp(4)), tensor("v", [4], [1.0, 0.5, 2.0, 4.0]),
        tensor("zero", [1], [0], "q"), tensor("minus", [1], [-1], "q"), tensor("k", [16, 5], ramp(80)),
        tensor("yes", [], [True], "?"),
    ]
    model = field(1, 8) + field(8, field(1, "") + field(2, 13)) + field(
        7, graph("small", nodes, initializers, [value("x", [1, 1, 4, 4])], [value("y", [1, 5])]))
    assert len(model) < 4096
    with open(os.path.join(HERE, "small-cnn", "model.onnx"), "wb") as f:
        f.write(model)
    with open(os.path.join(HERE, "small-cnn", "test_data_set_0", "input_0.pb"), "wb") as f:
        f.write(tensor("x", [1, 1, 4, 4], ramp(16)))


main()
