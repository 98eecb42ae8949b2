"""The networks that engines are compared on: fp32 ONNX with random weights of He scale, one input, one
output, written as protobuf bytes by ../models.py.

Beside NAME.onnx lie NAME.json (shapes, multiply-accumulates) and NAME.in (raw little-endian input).
Names are NETWORK_bBATCH. Residual branches end in smaller weights, so that values stay near 1 through
the whole depth.
"""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import models  # noqa: E402


class Builder:
    """A model that knows the shapes of its values and counts multiply-accumulates."""

    def __init__(self, shape):
        self.model, self.random, self.macs = models.Model(17), np.random.default_rng(1), 0
        self.shapes = {"x": tuple(shape)}

    def shape(self, value):
        return self.shapes[value]

    def node(self, op, inputs, shape, **attributes):
        y = self.model.node(op, *inputs, **attributes)
        self.shapes[y] = tuple(shape)
        return y

    def normal(self, dims, deviation):
        values = self.random.standard_normal(dims, dtype=np.float32) * np.float32(deviation)
        return self.model.constant(models.FLOAT, dims, values.tobytes())

    def ones(self, n):
        return self.model.constant(models.FLOAT, (n,), struct.pack("<f", 1.0))

    # Layers of convolutional networks.

    def convolution(self, x, channels, window, stride=1, groups=1, gain=2.0):
        n, c, h, w = self.shape(x)
        pad, terms = window // 2, c // groups * window * window
        h, w = ((size + 2 * pad - window) // stride + 1 for size in (h, w))
        weights = self.normal((channels, c // groups, window, window), (gain / terms) ** 0.5)
        bias = self.normal((channels,), 0.05)
        self.macs += n * channels * h * w * terms
        return self.node("Conv", (x, weights, bias), (n, channels, h, w), kernel_shape=[window] * 2,
                         strides=[stride] * 2, pads=[pad] * 4, group=groups)

    def relu(self, x):
        return self.node("Relu", (x,), self.shape(x))

    def relu6(self, x):
        return self.node("Clip", (x, self.model.number(0.0), self.model.number(6.0)), self.shape(x))

    def add(self, a, b):
        return self.node("Add", (a, b), self.shape(a))

    def max_pool(self, x, window, stride, pad):
        n, c, h, w = self.shape(x)
        h, w = ((size + 2 * pad - window) // stride + 1 for size in (h, w))
        return self.node("MaxPool", (x,), (n, c, h, w), kernel_shape=[window] * 2, strides=[stride] * 2,
                         pads=[pad] * 4)

    def average(self, x):
        n, c = self.shape(x)[:2]
        return self.flatten(self.node("GlobalAveragePool", (x,), (n, c, 1, 1)))

    def flatten(self, x):
        n, *rest = self.shape(x)
        return self.node("Flatten", (x,), (n, int(np.prod(rest))), axis=1)

    def dense(self, x, outputs, gain=1.0):
        n, c = self.shape(x)
        self.macs += n * c * outputs
        weights = self.normal((outputs, c), (gain / c) ** 0.5)
        return self.node("Gemm", (x, weights, self.normal((outputs,), 0.05)), (n, outputs), transB=1)

    # Layers of transformers.

    def product(self, a, b):
        left, right = self.shape(a), self.shape(b)
        self.macs += int(np.prod(left)) * right[-1]
        return self.node("MatMul", (a, b), left[:-1] + right[-1:])

    def linear(self, x, outputs, deviation):
        weights = self.normal((self.shape(x)[-1], outputs), deviation)
        self.shapes[weights] = (self.shape(x)[-1], outputs)
        y = self.product(x, weights)
        return self.node("Add", (y, self.normal((outputs,), 0.02)), self.shape(y))

    def scalar(self, op, x, value):
        return self.node(op, (x, self.model.number(value)), self.shape(x))

    def reshape(self, x, shape):
        return self.node("Reshape", (x, self.model.integers(*shape)), shape)

    def transpose(self, x, order):
        return self.node("Transpose", (x,), [self.shape(x)[i] for i in order], perm=list(order))

    def attention(self, q, k, v, heads):
        n, tokens, width = self.shape(q)
        split = n, tokens, heads, width // heads
        q = self.transpose(self.reshape(q, split), (0, 2, 1, 3))
        k = self.transpose(self.reshape(k, split), (0, 2, 3, 1))
        v = self.transpose(self.reshape(v, split), (0, 2, 1, 3))
        scores = self.scalar("Div", self.product(q, k), (width // heads) ** 0.5)
        shares = self.node("Softmax", (scores,), self.shape(scores), axis=3)
        return self.reshape(self.transpose(self.product(shares, v), (0, 2, 1, 3)), (n, tokens, width))

    def normalize(self, x):
        width = self.shape(x)[-1]
        inputs = x, self.ones(width), self.normal((width,), 0.02)
        return self.node("LayerNormalization", inputs, self.shape(x), axis=2, epsilon=1e-12)

    def gelu(self, x):
        e = self.node("Erf", (self.scalar("Div", x, 2 ** 0.5),), self.shape(x))
        return self.scalar("Mul", self.node("Mul", (x, self.scalar("Add", e, 1.0)), self.shape(x)), 0.5)


def resnet50(batch):
    b = Builder((batch, 3, 224, 224))
    x = b.max_pool(b.relu(b.convolution("x", 64, 7, 2)), 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = b.relu(b.convolution(x, width, 1))
            y = b.relu(b.convolution(y, width, 3, stride))
            y = b.convolution(y, 4 * width, 1, gain=0.3)
            skip = x if block else b.convolution(x, 4 * width, 1, stride, gain=1.0)
            x = b.relu(b.add(y, skip))
    return b, b.dense(b.average(x), 1000)


def vgg19(batch):
    b, x = Builder((batch, 3, 224, 224)), "x"
    for width, layers in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
        for _ in range(layers):
            x = b.relu(b.convolution(x, width, 3))
        x = b.max_pool(x, 2, 2, 0)
    x = b.flatten(x)
    for _ in range(2):
        x = b.relu(b.dense(x, 4096, 2.0))
    return b, b.dense(x, 1000)


def mobilenetv2(batch):
    b = Builder((batch, 3, 224, 224))
    x = b.relu6(b.convolution("x", 32, 3, 2))
    stages = (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
    for expand, channels, blocks, first in stages:
        for block in range(blocks):
            stride, inside = 1 if block else first, b.shape(x)[1] * expand
            y = b.relu6(b.convolution(x, inside, 1)) if expand > 1 else x
            y = b.relu6(b.convolution(y, inside, 3, stride, groups=inside))
            y = b.convolution(y, channels, 1, gain=0.7)
            x = b.add(x, y) if b.shape(x) == b.shape(y) else y
    return b, b.dense(b.average(b.relu6(b.convolution(x, 1280, 1))), 1000)


def bert(batch, layers=12, tokens=128, width=768):
    b, x = Builder((batch, tokens, width)), "x"
    for _ in range(layers):
        q, k, v = (b.linear(x, width, 0.036) for _ in range(3))
        x = b.normalize(b.add(x, b.linear(b.attention(q, k, v, 12), width, 0.036)))
        inside = b.gelu(b.linear(x, 4 * width, 0.036))
        x = b.normalize(b.add(x, b.linear(inside, width, 0.018)))
    return b, x


def attention(batch, tokens=2048, width=768):
    """Queries, keys and values side by side in, as one projection leaves them."""
    b = Builder((batch, tokens, 3 * width))
    b.shapes["q"] = b.shapes["k"] = b.shapes["v"] = (batch, tokens, width)
    b.model.node("Split", "x", b.model.integers(width, width, width), outputs=("q", "k", "v"), axis=2)
    return b, b.attention("q", "k", "v", 12)


NETWORKS = {f.__name__: f for f in (resnet50, vgg19, mobilenetv2, bert, attention)}


def make(folder, name):
    """Writes NAME.onnx, .in and .json unless they are there; returns the path of the model."""
    path = os.path.join(folder, name)
    if os.path.exists(path + ".json"):  # written last
        return path + ".onnx"
    os.makedirs(folder, exist_ok=True)
    network, batch = name.rsplit("_b", 1)
    b, y = NETWORKS[network](int(batch))
    b.model.write(path + ".onnx", "x", b.shape("x"), y, b.shape(y))
    np.random.default_rng(7).standard_normal(b.shape("x"), dtype=np.float32).astype("<f4").tofile(path + ".in")
    with open(path + ".json", "w") as f:
        json.dump({"input": b.shape("x"), "output": b.shape(y), "gmac": b.macs / 1e9}, f)
    return path + ".onnx"
