"""Initial weights and data of training steps, drawn from fixed seeds, so that all engines begin alike."""
import os

import numpy as np
from networks import STEPS, residual_blocks, resnet50_blocks

BATCHES = 5  # of data, taken in turns


class Weights:
    """Draws parameters, in the order of the calls."""

    def __init__(self):
        self.random, self.all = np.random.default_rng(1), {}

    def normal(self, name, dims, deviation):
        self.all[name] = self.random.standard_normal(dims, dtype=np.float32) * np.float32(deviation)

    def constant(self, name, dims, value):
        self.all[name] = np.full(dims, value, np.float32)

    def conv(self, name, o, i, window, bias=True):
        self.normal(name + ".weight", (o, i, window, window), (2 / (i * window * window)) ** 0.5)
        if bias:
            self.constant(name + ".bias", o, 0)

    def linear(self, name, o, i, gain=1.0):
        self.normal(name + ".weight", (o, i), gain / i ** 0.5)
        self.constant(name + ".bias", o, 0)

    def norm(self, name, n):
        self.constant(name + ".weight", n, 1)
        self.constant(name + ".bias", n, 0)

    def batch_norm(self, name, n):
        self.norm(name, n)
        self.constant(name + ".running_mean", n, 0)
        self.constant(name + ".running_var", n, 1)

    def lstm(self, name, hidden, inputs):
        """PyTorch's: gates in the order i, f, g, o."""
        for which, n in (("ih", inputs), ("hh", hidden)):
            self.normal(f"{name}.weight_{which}", (4 * hidden, n), 1 / n ** 0.5)
            self.constant(f"{name}.bias_{which}", 4 * hidden, 0)


def weights(step):
    w = Weights()
    if step == "digits":
        w.conv("conv1", 8, 1, 3)
        w.conv("conv2", 16, 8, 3)
        w.linear("fc1", 64, 256)
        w.linear("fc2", 10, 64)
    elif step == "lenet":
        w.conv("conv1", 6, 1, 5)
        w.conv("conv2", 16, 6, 5)
        w.linear("fc1", 120, 400)
        w.linear("fc2", 84, 120)
        w.linear("fc3", 10, 84)
    elif step == "resnet18":
        w.conv("conv1", 64, 3, 3, bias=False)
        w.batch_norm("bn1", 64)
        for name, width, before, stride in residual_blocks():
            w.conv(name + ".conv1", width, before, 3, bias=False)
            w.batch_norm(name + ".bn1", width)
            w.conv(name + ".conv2", width, width, 3, bias=False)
            w.batch_norm(name + ".bn2", width)
            if stride > 1 or width != before:
                w.conv(name + ".down", width, before, 1, bias=False)
                w.batch_norm(name + ".bn3", width)
        w.linear("fc", 10, 512)
    elif step == "resnet50":
        w.conv("conv1", 64, 3, 7, bias=False)
        w.batch_norm("bn1", 64)
        for name, width, before, stride in resnet50_blocks():
            for which, o, i, window in ((1, width, before, 1), (2, width, width, 3), (3, 4 * width, width, 1)):
                w.conv(f"{name}.conv{which}", o, i, window, bias=False)
                w.batch_norm(f"{name}.bn{which}", o)
            if before != 4 * width:
                w.conv(name + ".down", 4 * width, before, 1, bias=False)
                w.batch_norm(name + ".bn4", 4 * width)
        w.linear("fc", 1000, 2048)
    elif step == "lstm":
        w.lstm("lstm1", 128, 32)
        w.lstm("lstm2", 128, 128)
        w.linear("fc", 10, 128)
    else:
        w.normal("token.weight", (256, 128), 0.02)
        w.normal("place.weight", (64, 128), 0.02)
        for layer in range(4):
            name = f"block{layer}"
            w.norm(name + ".norm1", 128)
            w.linear(name + ".qkv", 384, 128)
            w.linear(name + ".project", 128, 128, 0.35)
            w.norm(name + ".norm2", 128)
            w.linear(name + ".up", 512, 128)
            w.linear(name + ".down", 128, 512, 0.35)
        w.norm("norm", 128)
        w.linear("head", 256, 128)
    return w.all


def data(step):
    """x and labels of all batches, one behind the other."""
    s, random = STEPS[step], np.random.default_rng(2)
    n = BATCHES * s.batch
    if s.tokens:
        text = random.integers(0, s.classes, (n, s.tokens + 1), dtype=np.int32)
        return {"x": text[:, :-1].copy(), "label": text[:, 1:].copy()}
    labels = random.integers(0, s.classes, n, dtype=np.int32)
    return {"x": random.standard_normal((n, *s.image), dtype=np.float32), "label": labels}


def make(folder, step):
    """Writes STEP.safetensors (weights) and STEP.data.safetensors unless they are there."""
    from safetensors.numpy import save_file
    path = os.path.join(folder, step)
    if not os.path.exists(path + ".data.safetensors"):  # written last
        os.makedirs(folder, exist_ok=True)
        save_file(weights(step), path + ".safetensors")
        save_file(data(step), path + ".data.safetensors")
    return path
