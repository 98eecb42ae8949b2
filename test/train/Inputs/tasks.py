"""tasks.py FOLDER: the tasks of Glow's MLTest, small networks that learn something from the shell. Writes each
network, its data, and a script `run` that trains all of them and requires what the original requires, or more."""
import os
import sys

import numpy as np

rng = np.random.default_rng(11)
f4 = lambda a: np.asarray(a, "f4")


def layers(*sizes, act="Tanh", x="@x", last=None):
    """Variables, nodes and the last value of a multilayer perceptron."""
    declare, body, value = "", "", x
    for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
        declare += f"  variable @w{i} : float<{n} x {m}> = splat(0.0)\n  variable @b{i} : float<{m}> = splat(0.0)\n"
        body += f"  %l{i} = FullyConnected({value}, @w{i}, @b{i})\n"
        value = f"%l{i}"
        kind = act if i + 2 < len(sizes) else last
        if kind:
            body += f"  %a{i} = {kind}(%l{i})\n"
            value = f"%a{i}"
    return declare, body, value


def net(inputs, outputs, declare, body, value):
    ports = "".join(f"  placeholder @{n} : {t}\n" for n, t in {**inputs, "y": outputs}.items())
    return f"declare {{\n{ports}{declare}}}\nfunc @net {{\n{body}  Save({value}, @y)\n}}\n"


def within(error, elements):
    """The mean of squares below which no element is off by more than `error`."""
    return f"loss<={error**2 / elements:.3g}"


TASKS = {}


def task(name, text, data, options, steps, require, initialize="kind=xavier;seed=1", epochs=False):
    TASKS[name] = (text, data, options, steps, require, initialize, epochs)


SQUARED = "loss=SquaredLoss;"
ADAM = SQUARED + "optimizer=Adam;"
CLASSES = "loss=SoftmaxCrossEntropyLoss;optimizer=Adam;"

# A number whose square is 2, within 0.01.
task("sqrt2", "declare {\n  placeholder @x : float<1 x 1>\n  placeholder @y : float<1 x 1>\n"
     "  variable @a : float<1> = splat(1.0)\n}\nfunc @net {\n  %0 = Mul(@a, @a)\n  %1 = Mul(%0, @x)\n  Save(%1, @y)\n}\n",
     {"x": f4([[1]]), "label": f4([[2]])}, SQUARED + "rate=0.03", 100, within(0.02, 1), None)

# One sample through two layers, within 0.05.
d, b, v = layers(4, 10, 4, act="Sigmoid", last="Sigmoid")
task("simple", net({"x": "float<1 x 4>"}, "float<1 x 4>", d, b, v),
     {"x": f4([[0.15] * 4]), "label": f4([[0.9, 0.1, 0.7, 0.3]])}, SQUARED + "rate=4", 200, within(0.05, 4))

# y = x + 1 through one layer, within 0.1.
d, b, v = layers(4, 10, 4, act="Relu")
x = f4(rng.uniform(0, 1, (8, 4)))
task("regression", net({"x": "float<8 x 4>"}, "float<8 x 4>", d, b, v), {"x": x, "label": x + 1},
     ADAM + "rate=0.05", 300, within(0.1, 32))

d, b, v = layers(2, 6, 1, act="Tanh", last="Sigmoid")
task("xor", net({"x": "float<4 x 2>"}, "float<4 x 1>", d, b, v),
     {"x": f4([[0, 0], [0, 1], [1, 0], [1, 1]]), "label": f4([[0], [1], [1], [0]])}, ADAM + "rate=0.1", 300,
     within(0.05, 4))

# log(x) between 0.5 and 5, within 0.05 everywhere.
x = np.linspace(0.5, 5, 32)[:, None]
d, b, v = layers(1, 8, 1, act="Sigmoid")
task("log", net({"x": "float<32 x 1>"}, "float<32 x 1>", d, b, v), {"x": f4(x), "label": f4(np.log(x))},
     ADAM + "rate=0.05", 2000, within(0.05, 32))

# Whether a point of a square lies in a circle.
x = rng.uniform(-1, 1, (320, 2))
x = x[np.abs(np.hypot(*x.T) - 0.6) > 0.05][:256]
d, b, v = layers(2, 8, 2)
task("circle", net({"x": "float<64 x 2>"}, "float<64 x 2>", d, b, v), {"x": f4(x), "label": np.hypot(*x.T) < 0.6},
     CLASSES + "rate=0.03", 100, "accuracy>=0.99", epochs=True)

# Two inputs, side by side.
d, b, v = layers(4, 4, x="%c", last="Tanh")
task("concat", net({"l": "float<1 x 2>", "r": "float<1 x 2>"}, "float<1 x 4>", d,
                   "  %c = Concat(@l, @r) {axis = 1}\n" + b, v),
     {"l": f4([[0.15, 0.15]]), "r": f4([[0.5, 0.3]]), "label": f4([[0.9, -0.4, 0.2, 0.6]])}, SQUARED + "rate=0.5", 100,
     within(0.05, 4))

# Each cell reads a number twice and says another one after each step; batches lie along the first axis.
for cell, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    results = "%all, _, _" if cell == "LSTM" else "%all, _"
    more = ", float<1 x 2 x 5>" if cell == "LSTM" else ""
    declare = (f"  variable @w : float<1 x {5 * gates} x 1> = splat(0.0)\n"
               f"  variable @r : float<1 x {5 * gates} x 5> = splat(0.0)\n"
               f"  variable @b : float<1 x {10 * gates}> = splat(0.0)\n"
               "  variable @w0 : float<5 x 1> = splat(0.0)\n  variable @b0 : float<1> = splat(0.0)\n"
               "  constant @rows : i64<2> = [6, 5]\n  constant @back : i64<3> = [3, 2, 1]\n")
    body = ("  %t = Transpose(@x) {perm = [1, 0, 2]}\n"
            f"  {results} = {cell}(%t, @w, @r, @b) : float<3 x 1 x 2 x 5>, float<1 x 2 x 5>{more}\n"
            "  %m = Reshape(%all, @rows)\n  %l = FullyConnected(%m, @w0, @b0)\n  %s = Reshape(%l, @back)\n"
            "  %v = Transpose(%s) {perm = [1, 0, 2]}\n")
    task(cell.lower(), net({"x": "float<2 x 3 x 1>"}, "float<2 x 3 x 1>", declare, body, "%v"),
         {"x": f4([[0.8, 0.2, 0.5], [0.1, 0.9, 0.4]])[..., None], "label": f4([[0.4, 0.1, 0.7], [0.6, -0.2, 0.3]])[..., None]},
         ADAM + "rate=0.05", 300, within(0.05, 6), "kind=torch;seed=2")

# A line through points with noise: slope and offset within 0.05 of those of least squares.
x = rng.uniform(-2, 3, (64, 1))
noisy = 3 * x + 6 + rng.normal(size=x.shape) / 4
slope, offset = np.polyfit(x[:, 0], noisy[:, 0], 1)
left = float(((noisy - slope * x - offset)**2).mean())
d, b, v = layers(1, 1)
task("line", net({"x": "float<64 x 1>"}, "float<64 x 1>", d, b, v), {"x": f4(x), "label": f4(noisy)},
     SQUARED + "rate=0.05", 300, f"loss<={left + 0.0005:.6g}")

# Players of two sports by height and weight.
n = 200
x = np.concatenate([rng.normal([2.0, 1.0], 0.1, (n, 2)), rng.normal([1.7, 0.7], 0.1, (n, 2))])
shuffled = rng.permutation(2 * n)
d, b, v = layers(2, 2)
task("sport", net({"x": "float<40 x 2>"}, "float<40 x 2>", d, b, v),
     {"x": f4(x[shuffled]), "label": (np.arange(2 * n) >= n)[shuffled]}, CLASSES + "rate=0.1", 200, "accuracy>=0.97", epochs=True)

x = np.linspace(-np.pi, np.pi, 64)[:, None]
d, b, v = layers(1, 10, 1)
task("sine", net({"x": "float<64 x 1>"}, "float<64 x 1>", d, b, v), {"x": f4(x), "label": f4(np.sin(x))},
     ADAM + "rate=0.03", 1500, within(0.2, 64))

# Two spirals.
t = np.sqrt(rng.uniform(0.05, 1, 256)) * 4
sign = np.where(np.arange(256) % 2, 1, -1)
x = (np.stack([np.cos(t), np.sin(t)], 1) * t[:, None] * sign[:, None]) / 4
d, b, v = layers(2, 16, 16, 2)
task("spirals", net({"x": "float<64 x 2>"}, "float<64 x 2>", d, b, v), {"x": f4(x), "label": sign > 0},
     CLASSES + "rate=0.02", 150, "accuracy>=0.98", epochs=True)

# Pictures of a cross, a line or a frame, with noise.
pictures = np.zeros((3, 8, 8))
pictures[0, range(8), range(8)] = pictures[0, range(8), range(7, -1, -1)] = 1
pictures[1, 3] = 1
pictures[2, [0, -1]] = pictures[2, :, [0, -1]] = 1
label = np.arange(96) % 3
x = pictures[label] + rng.normal(size=(96, 8, 8)) * 0.3
declare = ("  variable @k : float<4 x 1 x 3 x 3> = splat(0.0)\n  variable @kb : float<4> = splat(0.0)\n"
           "  constant @flat : i64<2> = [32, 64]\n")
d, b, v = layers(64, 3, x="%f")
body = ("  %c = Convolution(@x, @k, @kb) {strides = [1, 1], pads = [1, 1, 1, 1]}\n  %r = Relu(%c)\n"
        "  %p = AveragePool(%r) {kernels = [2, 2], strides = [2, 2]}\n  %f = Reshape(%p, @flat) : float<32 x 64>\n")
task("pictures", net({"x": "float<32 x 1 x 8 x 8>"}, "float<32 x 3>", declare + d, body + b, v),
     {"x": f4(x)[:, None], "label": label}, CLASSES + "rate=0.01", 60, "accuracy>=1", epochs=True)

# Where the bright pixel of a picture is: row and column within 0.3.
x = np.zeros((100, 10, 10))
rows, columns = np.divmod(np.arange(100), 10)
x[range(100), rows, columns] = 1
shuffled = rng.permutation(100)
d, b, v = layers(100, 6, 2)
task("pixel", net({"x": "float<50 x 100>"}, "float<50 x 2>", d, b, v),
     {"x": f4(x.reshape(100, 100)[shuffled]), "label": f4(np.stack([rows, columns], 1)[shuffled])},
     ADAM + "rate=0.05;schedule=linear;steps=1200", 600, within(0.3, 200), epochs=True)

# Whether one matrix of signs is another one, turned.
first = rng.choice([-1.0, 1.0], (240, 3, 3))
turned = np.arange(240) % 2 == 0
second = np.where(turned[:, None, None], np.rot90(first, axes=(1, 2)), rng.choice([-1.0, 1.0], (240, 3, 3)))
d, b, v = layers(18, 32, 2)
task("rotation", net({"x": "float<60 x 18>"}, "float<60 x 2>", d, b, v),
     {"x": f4(np.concatenate([first, second], 1).reshape(240, 18)), "label": turned}, CLASSES + "rate=0.01", 200,
     "accuracy>=0.99", epochs=True)

# Embeddings whose sums, or weighted sums, are given.
ids = np.array([[0, 1, 2], [3, 4, 5], [0, 5, 7], [6, 1, 1]])
table, weights = rng.normal(size=(8, 4)), rng.uniform(0.5, 1.5, (4, 3, 1))
axis = "  constant @axis : i64<1> = [1]\n  variable @table : float<8 x 4> = splat(0.0)\n"
task("embeddings", net({"ids": "i64<4 x 3>"}, "float<4 x 4>", axis,
                       "  %g = Gather(@table, @ids)\n  %s = ReduceSum(%g, @axis) {keep = false}\n", "%s"),
     {"ids": ids, "label": f4(table[ids].sum(1))}, SQUARED + "rate=1", 100, within(0.02, 16))
task("weighted", net({"ids": "i64<4 x 3>", "weights": "float<4 x 3 x 1>"}, "float<4 x 4>", axis,
                     "  %g = Gather(@table, @ids)\n  %m = Mul(%g, @weights)\n"
                     "  %s = ReduceSum(%m, @axis) {keep = false}\n", "%s"),
     {"ids": ids, "weights": f4(weights), "label": f4((table[ids] * weights).sum(1))}, SQUARED + "rate=1", 100,
     within(0.02, 16))

folder = sys.argv[1]
lines = ["set -e"]
for name, (text, data, options, steps, require, initialize, epochs) in TASKS.items():
    at = f"{folder}/{name}"
    os.makedirs(at, exist_ok=True)
    with open(at + "/net.gg", "w") as f:
        f.write(text)
    for key, value in data.items():
        value = np.asarray(value)
        np.save(f"{at}/{key}.npy", value.astype("i8") if value.dtype.kind in "bi" else value)
    sources = " ".join(f"--data {k}={at}/{k}.npy --eval {k}={at}/{k}.npy" for k in data)
    first = f"-initialize='{initialize}' " if initialize else ""
    lines.append(f"glow-opt {first}-train='{options}' -grad {at}/net.gg -o {at}/step.gg")
    count = f"--epochs {steps} --shuffle 3" if epochs else f"--steps {steps} --epochs {steps}"
    lines.append(f"line=$(glow-train {at}/step.gg {sources} {count} --require '{require}')")
    lines.append(f"echo {name}: $line")
with open(folder + "/run", "w") as f:
    f.write("\n".join(lines) + "\n")
print(len(TASKS))
