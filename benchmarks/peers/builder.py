"""Grows a network for benchmarks: fp32 ONNX with random weights of He scale, one input, one output."""
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import models  # noqa: E402


class Symbol(int):
    """An extent that the model leaves open: a name, and the number that it counts as while the model grows."""

    def __new__(cls, name, value):
        symbol = super().__new__(cls, value)
        symbol.name = name
        return symbol


def names(shape):
    """The shape as the model's file has it."""
    return [d.name if isinstance(d, Symbol) else d for d in shape]


def each(size, rank):
    """A window, stride or padding for each axis; a number stands for all."""
    return (size,) * rank if isinstance(size, int) else tuple(size)


class Builder:
    """A model that knows the shapes of its values and counts multiply-accumulates."""

    def __init__(self, shape):
        self.model, self.random, self.macs = models.Model(17), np.random.default_rng(1), 0
        self.shapes, self.count = {"x": tuple(shape)}, 0

    def shape(self, value):
        return self.shapes[value]

    def node(self, op, inputs, shape, **attributes):
        y = self.model.node(op, *inputs, **attributes)
        self.shapes[y] = tuple(shape)
        return y

    def nodes(self, op, inputs, shapes, **attributes):
        """The same for a node of several results."""
        self.count += 1
        names = [f"m{self.count}.{i}" for i in range(len(shapes))]
        self.model.node(op, *inputs, outputs=names, **attributes)
        self.shapes.update(zip(names, map(tuple, shapes)))
        return names

    def unary(self, op, x, **attributes):
        return self.node(op, (x,), self.shape(x), **attributes)

    def constant(self, values):
        """An array of numpy, as float."""
        name = self.model.constant(models.FLOAT, values.shape, values.astype("<f4").tobytes())
        self.shapes[name] = values.shape
        return name

    def normal(self, dims, deviation):
        return self.constant(self.random.standard_normal(dims, dtype=np.float32) * np.float32(deviation))

    def ones(self, n):
        return self.model.constant(models.FLOAT, (n,), struct.pack("<f", 1.0))

    # Layers of convolutional networks. A window of zero-padded convolutions is centred unless there is a `pad`.

    def convolution(self, x, channels, window, stride=1, groups=1, gain=2.0, pad=None):
        n, c, *sizes = self.shape(x)
        window, stride = (each(v, len(sizes)) for v in (window, stride))
        pad = tuple(w // 2 for w in window) if pad is None else each(pad, len(sizes))
        terms = c // groups * int(np.prod(window))
        sizes = [(size + 2 * p - w) // s + 1 for size, w, s, p in zip(sizes, window, stride, pad)]
        weights = self.normal((channels, c // groups, *window), (gain / terms) ** 0.5)
        bias = self.normal((channels,), 0.05)
        self.macs += n * channels * int(np.prod(sizes)) * terms
        return self.node("Conv", (x, weights, bias), (n, channels, *sizes), kernel_shape=list(window),
                         strides=list(stride), pads=list(pad) * 2, group=groups)

    def transposed(self, x, channels, window, stride, pad=0, gain=2.0):
        """A transposed convolution; each result is a sum of window / stride products of an axis."""
        n, c, h, w = self.shape(x)
        terms = c * max(1, window // stride) ** 2
        weights = self.normal((c, channels, window, window), (gain / terms) ** 0.5)
        self.macs += n * c * h * w * channels * window * window
        h, w = ((size - 1) * stride - 2 * pad + window for size in (h, w))
        return self.node("ConvTranspose", (x, weights, self.normal((channels,), 0.05)), (n, channels, h, w),
                         kernel_shape=[window] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def batch_norm(self, x):
        """Scales near 1, means near 0, variances of 1."""
        c = self.shape(x)[1]
        inputs = x, self.ones(c), self.normal((c,), 0.1), self.normal((c,), 0.1), self.ones(c)
        return self.node("BatchNormalization", inputs, self.shape(x))

    def relu(self, x):
        return self.unary("Relu", x)

    def relu6(self, x):
        return self.node("Clip", (x, self.model.number(0.0), self.model.number(6.0)), self.shape(x))

    def add(self, a, b):
        return self.node("Add", (a, b), self.shape(a))

    def concat(self, *parts, axis=1):
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        return self.node("Concat", parts, shape, axis=axis)

    def pool(self, op, x, window, stride, pad=0):
        n, c, *sizes = self.shape(x)
        window, stride, pad = (each(v, len(sizes)) for v in (window, stride, pad))
        sizes = [(size + 2 * p - w) // s + 1 for size, w, s, p in zip(sizes, window, stride, pad)]
        return self.node(op, (x,), (n, c, *sizes), kernel_shape=list(window), strides=list(stride), pads=list(pad) * 2)

    def max_pool(self, x, window, stride, pad):
        return self.pool("MaxPool", x, window, stride, pad)

    def average(self, x):
        n, c, *sizes = self.shape(x)
        return self.flatten(self.node("GlobalAveragePool", (x,), (n, c, *(1 for _ in sizes))))

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
        y = self.product(x, self.normal((self.shape(x)[-1], outputs), deviation))
        return self.node("Add", (y, self.normal((outputs,), 0.02)), self.shape(y))

    def scalar(self, op, x, value):
        return self.node(op, (x, self.model.number(value)), self.shape(x))

    def reshape(self, x, shape):
        """Open extents stay where they are."""
        return self.node("Reshape", (x, self.model.integers(*(0 if isinstance(d, Symbol) else d for d in shape))), shape)

    def transpose(self, x, order):
        return self.node("Transpose", (x,), [self.shape(x)[i] for i in order], perm=list(order))

    def attention(self, q, k, v, heads):
        n, tokens, width = self.shape(q)
        past = n, self.shape(k)[1], heads, width // heads
        q = self.transpose(self.reshape(q, (n, tokens, heads, width // heads)), (0, 2, 1, 3))
        k = self.transpose(self.reshape(k, past), (0, 2, 3, 1))
        v = self.transpose(self.reshape(v, past), (0, 2, 1, 3))
        scores = self.scalar("Div", self.product(q, k), (width // heads) ** 0.5)
        shares = self.node("Softmax", (scores,), self.shape(scores), axis=3)
        return self.reshape(self.transpose(self.product(shares, v), (0, 2, 1, 3)), (n, tokens, width))

    def normalize(self, x):
        width, last = self.shape(x)[-1], len(self.shape(x)) - 1
        inputs = x, self.ones(width), self.normal((width,), 0.02)
        return self.node("LayerNormalization", inputs, self.shape(x), axis=last, epsilon=1e-12)

    def gelu(self, x):
        e = self.node("Erf", (self.scalar("Div", x, 2 ** 0.5),), self.shape(x))
        return self.scalar("Mul", self.node("Mul", (x, self.scalar("Add", e, 1.0)), self.shape(x)), 0.5)
