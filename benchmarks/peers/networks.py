"""The networks that engines are compared on: fp32 ONNX with random weights, one input, one output, written as
protobuf bytes by ../models.py.

Beside NAME.onnx lie NAME.json (shapes, multiply-accumulates) and NAME.in (raw little-endian input).
Names are NETWORK_bBATCH. Residual branches end in smaller weights, so that values stay near 1 through
the whole depth.
"""
import json
import os

import numpy as np
from builder import Builder, Symbol, names
from other_networks import OTHERS


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


def matmul(batch, width=4096):
    b = Builder((batch, width))
    return b, b.product("x", b.normal((width, width), width ** -0.5))


def decoder(batch, layers=12, past=127, width=768):
    """One token of a decoder. Its input has the token, then the keys and values of each layer's past."""
    b = Builder((batch, 1 + 2 * layers * past, width))

    def rows(start, count):
        bounds = [b.model.integers(v) for v in (start, start + count, 1)]
        return b.node("Slice", ("x", *bounds), (batch, count, width))

    x = rows(0, 1)
    for i in range(layers):
        inside = b.normalize(x)
        q, k, v = (b.linear(inside, width, 0.036) for _ in range(3))
        k, v = (b.concat(rows(1 + (2 * i + j) * past, past), y) for j, y in enumerate((k, v)))
        x = b.add(x, b.linear(b.attention(q, k, v, 12), width, 0.036))
        x = b.add(x, b.linear(b.gelu(b.linear(b.normalize(x), 4 * width, 0.036)), width, 0.018))
    return b, b.normalize(x)


NETWORKS = {f.__name__: f for f in (resnet50, vgg19, mobilenetv2, bert, attention, matmul, decoder, *OTHERS)}


OPEN = {"bert": "tokens", "attention": "tokens"}  # what is open in a network; of the others the batch


def make_open(folder, network):
    """Writes NETWORK_open.onnx unless it is there; returns its path and the name of the symbol."""
    path, symbol = os.path.join(folder, f"{network}_open.onnx"), OPEN.get(network, "batch")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        tokens = {"tokens": Symbol("tokens", 128)} if symbol == "tokens" else {}
        b, y = NETWORKS[network](1 if tokens else Symbol("batch", 2), **tokens)
        b.model.write(path, "x", names(b.shape("x")), y, names(b.shape(y)))
    return path, symbol


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
