"""Writes a network of networks.py as ONNX, with its initial weights: what Glow makes a training step of.

    make_model.py STEP FOLDER     prints the path of the model
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import numpy as np  # noqa: E402
from models import FLOAT, I64, Model  # noqa: E402
from networks import STEPS  # noqa: E402
from start import make  # noqa: E402


class Engine:
    """An engine whose values are names of ONNX."""

    def __init__(self, model, weights, batch):
        self.model, self.weights, self.batch, self.shapes = model, weights, batch, {}

    def weight(self, name, change=lambda w: w):
        w = np.ascontiguousarray(change(self.weights[name]), "<f4")
        self.shapes[name] = w.shape
        if all(t[0] != name for t in self.model.tensors):
            self.model.constant(FLOAT, w.shape, w.tobytes(), name)
        return name

    def node(self, op, *inputs, shape, **attributes):
        y = self.model.node(op, *inputs, **attributes)
        self.shapes[y] = tuple(shape)
        return y

    def conv(self, x, name, stride, pad):
        inputs = [x, self.weight(name + ".weight")]
        if name + ".bias" in self.weights:
            inputs.append(self.weight(name + ".bias"))
        n, _, h, w = self.shapes[x]
        o, _, kh, kw = self.shapes[inputs[1]]
        out = [(size + 2 * pad - k) // stride + 1 for size, k in ((h, kh), (w, kw))]
        return self.node("Conv", *inputs, shape=(n, o, *out), kernel_shape=[kh, kw], strides=[stride] * 2,
                         pads=[pad] * 4)

    def batch_norm(self, x, name):
        keys = ("weight", "bias", "running_mean", "running_var")
        return self.node("BatchNormalization", x, *(self.weight(f"{name}.{key}") for key in keys),
                         shape=self.shapes[x], epsilon=1e-5, momentum=0.9)

    def relu(self, x):
        return self.node("Relu", x, shape=self.shapes[x])

    def gelu(self, x):
        return self.node("Gelu", x, shape=self.shapes[x])

    def add(self, x, y):
        return self.node("Add", x, y, shape=self.shapes[x])

    def max_pool(self, x, window=2, pad=0):
        n, c, h, w = self.shapes[x]
        return self.node("MaxPool", x, shape=(n, c, h // 2, w // 2), kernel_shape=[window] * 2, strides=[2, 2],
                         pads=[pad] * 4)

    def mean_space(self, x):
        n, c, _, _ = self.shapes[x]
        return self.flatten(self.node("GlobalAveragePool", x, shape=(n, c, 1, 1)))

    def flatten(self, x):
        n, *rest = self.shapes[x]
        return self.node("Flatten", x, shape=(n, int(np.prod(rest))), axis=1)

    def linear(self, x, name):
        *outer, _ = self.shapes[x]
        if len(outer) == 1:
            w, b = self.weight(name + ".weight"), self.weight(name + ".bias")
            return self.node("Gemm", x, w, b, shape=(*outer, self.shapes[w][0]), transB=1)
        w, b = self.weight(name + ".weight", np.transpose), self.weight(name + ".bias")
        shape = *outer, self.shapes[w][1]
        return self.node("Add", self.node("MatMul", x, w, shape=shape), b, shape=shape)

    def layer_norm(self, x, name):
        return self.node("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"),
                         shape=self.shapes[x], axis=-1, epsilon=1e-5)

    def lstm(self, x, name):
        """ONNX has the gates in the order i, o, f, g, and time first."""
        n, t, _ = self.shapes[x]
        hidden = self.weights[name + ".weight_hh"].shape[1]

        def turned(w):
            i, f_, g, o = np.split(w, 4)
            return np.concatenate([i, o, f_, g])[None]
        w = self.weight(name + ".weight_ih", turned)
        r = self.weight(name + ".weight_hh", turned)
        self.weights[name + ".bias"] = np.concatenate(
            [turned(self.weights[f"{name}.bias_{which}"]) for which in ("ih", "hh")], 1)
        b = self.weight(name + ".bias")
        x = self.node("Transpose", x, shape=(t, n, 0), perm=[1, 0, 2])
        y = name + ".y"
        self.model.node("LSTM", x, w, r, b, outputs=(y,), hidden_size=hidden)
        y = self.node("Squeeze", y, self.model.integers(1), shape=(t, n, hidden))
        return self.node("Transpose", y, shape=(n, t, hidden), perm=[1, 0, 2])

    def last(self, x):
        n, t, c = self.shapes[x]
        return self.node("Gather", x, self.model.integer(t - 1), shape=(n, c), axis=1)

    def embed(self, ids, name):
        w = self.weight(name + ".weight")
        return self.node("Gather", w, ids, shape=(*self.shapes[ids], self.shapes[w][1]), axis=0)

    def place(self, x, name):
        return self.node("Add", x, self.weight(name + ".weight"), shape=self.shapes[x])

    def attention(self, x, heads):
        n, t, c = self.shapes[x]
        c, size = c // 3, c // 3 // heads
        parts = [f"{x}.{part}" for part in "qkv"]
        self.model.node("Split", x, outputs=parts, axis=2, num_outputs=3)
        rows = self.model.integers(n, t, heads, size)
        q, k, v = (self.node("Transpose", self.model.node("Reshape", part, rows), shape=(n, heads, t, size), perm=perm)
                   for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = self.model.node("Mul", self.model.node("MatMul", q, k), self.model.number(size ** -0.5))
        if "causal" not in self.shapes:
            mask = np.where(np.tril(np.ones((t, t), bool)), 0, -np.inf).astype("<f4")
            self.model.constant(FLOAT, mask.shape, mask.tobytes(), "causal")
            self.shapes["causal"] = mask.shape
        y = self.model.node("MatMul", self.model.node("Softmax", self.model.node("Add", scores, "causal"), axis=3), v)
        y = self.model.node("Transpose", y, perm=[0, 2, 1, 3])
        return self.node("Reshape", y, self.model.integers(n, t, c), shape=(n, t, c))


def write(path, name):
    from safetensors.numpy import load_file
    step = STEPS[name]
    model = Model(21)
    engine = Engine(model, load_file(path + ".safetensors"), step.batch)
    engine.shapes["x"] = (step.batch, *step.image)
    y = step.network(engine, "x")
    kind = I64 if step.tokens else FLOAT
    model.write(path + ".onnx", "x", engine.shapes["x"], y, engine.shapes[y], kind)


if __name__ == "__main__":
    made = make(sys.argv[2], sys.argv[1])
    write(made, sys.argv[1])
    print(made)
