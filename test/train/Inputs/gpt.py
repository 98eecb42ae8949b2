"""gpt.py LAYERS WIDTH HEADS TOKENS BATCH: writes a GPT over bytes as a text: @gpt from @x, i64<batch x tokens>, to
@y, logits float<batch x tokens x 256>.
gpt.py bigram TRAIN TEST: the bits a byte of a bigram model, smoothed as suits the test best."""
import sys

import numpy as np


class Text:
    def __init__(self, layers, width, heads, tokens, batch):
        self.width, self.heads = width, heads
        self.declare = [f"placeholder @x : i64<{batch} x {tokens}>", f"placeholder @y : float<{batch} x {tokens} x 256>",
                        "constant @above : i64<> = 1", f"constant @heads : i64<4> = [{batch}, {tokens}, {heads}, {width // heads}]",
                        f"constant @rows : i64<3> = [{batch}, {tokens}, {width}]",
                        f"constant @future : float<{tokens} x {tokens}> = eval {{\n"
                        f"    %0 = Splat() {{value = -1e9}} : float<{tokens} x {tokens}>\n"
                        f"    %1 = Trilu(%0, @above)\n    yield %1\n  }}"]
        self.body = []
        self.variable("table", 256, width)
        self.variable("places", tokens, width)
        self.node("bytes", "Gather(@table, @x)")
        h = self.node("h", "Add(%bytes, @places)")
        for i in range(layers):
            h = self.block(f"l{i}.", h)
        self.node("", f"Save({self.linear('head', self.norm('last', h), 256)}, @y)")

    def variable(self, name, *dims):
        self.declare.append(f"variable @{name} : float<{' x '.join(map(str, dims))}> = splat(0.0)")
        self.sizes = {**getattr(self, "sizes", {}), name: dims}

    def node(self, name, text):
        self.body.append(f"%{name} = {text}" if name else text)
        return "%" + name

    def linear(self, name, x, m, n=None):
        self.variable(name + ".weight", n or self.width, m)
        self.variable(name + ".bias", m)
        self.node(name + ".product", f"MatMul({x}, @{name}.weight)")
        return self.node(name, f"Add(%{name}.product, @{name}.bias)")

    def norm(self, name, x):
        self.variable(name + ".scale", self.width)
        self.variable(name + ".bias", self.width)
        return self.node(name, f"LayerNormalization({x}, @{name}.scale, @{name}.bias)")

    def head(self, name, x, perm):
        y = self.node(name + ".split", f"Reshape({self.linear(name, x, self.width)}, @heads)")
        return self.node(name + ".turned", f"Transpose({y}) {{perm = {perm}}}")

    def attention(self, p, x):
        q, k, v = (self.head(p + n, x, perm) for n, perm in (("q", "[0, 2, 1, 3]"), ("k", "[0, 2, 3, 1]"), ("v", "[0, 2, 1, 3]")))
        s = self.node(p + "scores", f"MatMul({q}, {k})")
        s = self.node(p + "scaled", f"Mul({s}, {(self.heads / self.width)**0.5})")
        s = self.node(p + "weights", f"Softmax({self.node(p + 'seen', f'Add({s}, @future)')})")
        o = self.node(p + "turned", f"Transpose({self.node(p + 'mixed', f'MatMul({s}, {v})')}) {{perm = [0, 2, 1, 3]}}")
        return self.linear(p + "out", self.node(p + "joined", f"Reshape({o}, @rows)"), self.width)

    def block(self, p, h):
        h = self.node(p + "h1", f"Add({h}, {self.attention(p, self.norm(p + 'n1', h))})")
        up = self.node(p + "gelu", f"Gelu({self.linear(p + 'up', self.norm(p + 'n2', h), 4 * self.width)})")
        return self.node(p + "h2", f"Add({h}, {self.linear(p + 'down', up, self.width, 4 * self.width)})")

    def __str__(self):
        lines = "\n  ".join
        return f"declare {{\n  {lines(self.declare)}\n}}\nfunc @gpt {{\n  {lines(self.body)}\n}}"


def bigram(train, test):
    a, b = (np.frombuffer(open(p, "rb").read(), "u1") for p in (train, test))
    pairs = np.zeros((256, 256))
    np.add.at(pairs, (a[:-1], a[1:]), 1)
    single = (np.bincount(a, minlength=256) + 0.5) / (len(a) + 128)
    smoothed = [(pairs + k * single) / (pairs.sum(1, keepdims=True) + k) for k in (0.1, 0.3, 1, 3, 10)]
    return min(-np.log2(p[b[:-1], b[1:]]).mean() for p in smoothed)


if __name__ == "__main__":
    if sys.argv[1] == "bigram":
        print(f"{bigram(*sys.argv[2:]):.4f}")
    else:
        print(Text(*map(int, sys.argv[1:])))
