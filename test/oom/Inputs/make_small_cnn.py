#!/usr/bin/env python3
"""Writes small-cnn/model.onnx (under 4 kB) and its input: convolution, batch normalization, relu,
pooling, reshape by a computed shape, matrix product, softmax, and an If with captured values."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "utils"))
from onnx_bytes import BOOL, FLOAT, floats, graph, ints, model, node, tensor, value  # noqa: E402


def main():
    ramp = lambda n: [((i * 7) % 11 - 5) / 8 for i in range(n)]
    then = graph([node("Exp", "p", "t", "exp")], [], [value("t", FLOAT, [1, 5])], name="then")
    other = graph([node("Neg", "p", "e", "neg")], [], [value("e", FLOAT, [1, 5])], name="else")
    nodes = [
        node("Conv", "x,w,b", "c", "conv", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("BatchNormalization", "c,s,o,m,v", "n", "bn"),
        node("Relu", "n", "r", "relu"),
        node("MaxPool", "r", "q", "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", "q", "shape", "shape"),
        node("Gather", "shape,zero", "batch", "batch", axis=0),
        node("Concat", "batch,minus", "target", "target", axis=0),
        node("Reshape", "q,target", "f", "flat"),
        node("MatMul", "f,k", "l", "fc"),
        node("Softmax", "l", "p", "softmax", axis=1),
        node("If", "yes", "y", "choose", then_branch=then, else_branch=other),
    ]
    initializers = [
        floats("w", [4, 1, 3, 3], ramp(36)), floats("b", [4], ramp(4)), floats("s", [4], [1.0, 2.0, 0.5, 1.5]),
        floats("o", [4], ramp(4)), floats("m", [4], ramp(4)), floats("v", [4], [1.0, 0.5, 2.0, 4.0]),
        ints("zero", [1], [0]), ints("minus", [1], [-1]), floats("k", [16, 5], ramp(80)),
        tensor("yes", BOOL, [], b"\1"),
    ]
    small = model(graph(nodes, [value("x", FLOAT, [1, 1, 4, 4])], [value("y", FLOAT, [1, 5])], initializers, "small"), 13)
    assert len(small) < 4096
    with open(os.path.join(HERE, "small-cnn", "model.onnx"), "wb") as out:
        out.write(small)
    with open(os.path.join(HERE, "small-cnn", "test_data_set_0", "input_0.pb"), "wb") as out:
        out.write(floats("x", [1, 1, 4, 4], ramp(16)))


main()
