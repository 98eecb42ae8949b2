"""Oracles of the recurrent cells: their equations, one sequence and one step at a time."""
import numpy as np

from oracle import Case, Result, Tensor, oracle


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


# Name: function of value, alpha, beta; and the defaults, where it takes them.
FUNCTIONS = {
    "Relu": (lambda v, a, b: np.maximum(v, 0), None, None),
    "Tanh": (lambda v, a, b: np.tanh(v), None, None),
    "Sigmoid": (lambda v, a, b: sigmoid(v), None, None),
    "Affine": (lambda v, a, b: a * v + b, 1.0, 0.0),
    "LeakyRelu": (lambda v, a, b: np.where(v >= 0, v, a * v), float(np.float32(0.01)), None),
    "ThresholdedRelu": (lambda v, a, b: np.where(v >= a, v, 0), 1.0, None),
    "ScaledTanh": (lambda v, a, b: a * np.tanh(b * v), 1.0, 1.0),
    "HardSigmoid": (lambda v, a, b: np.clip(a * v + b, 0, 1), float(np.float32(0.2)), 0.5),
    "Elu": (lambda v, a, b: np.where(v >= 0, v, a * np.expm1(v)), 1.0, None),
    "Softsign": (lambda v, a, b: v / (1 + np.abs(v)), None, None),
    "Softplus": (lambda v, a, b: np.log1p(np.exp(v)), None, None),
}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def step(op, o, d, x, h, c):
    """One step of one sequence: the new h and c."""
    hidden = len(h)
    w, r = o["W"][d].reshape(-1, hidden, len(x)), o["R"][d].reshape(-1, hidden, hidden)
    wb, rb = o["B"][d].reshape(2, -1, hidden)
    f = o["functions"][d]

    def gate(i, extra=0.0, state=h, which=0):
        return f[which](o["clip"](w[i] @ x + r[i] @ state + wb[i] + rb[i] + extra))

    if op == "RNN":
        return gate(0), None
    if op == "GRU":
        z, reset = gate(0), gate(1)
        if o["linear_before_reset"]:
            n = f[1](o["clip"](w[2] @ x + reset * (r[2] @ h + rb[2]) + wb[2]))
        else:
            n = gate(2, state=reset * h, which=1)
        return (1 - z) * n + z * h, None
    p = o["P"][d].reshape(3, hidden)
    i = gate(0, p[0] * c)
    forget = 1 - i if o["input_forget"] else gate(2, p[2] * c)
    c = forget * c + i * gate(3, which=1)
    return gate(1, p[1] * c) * f[2](c), c


def run(op, o, x, lengths, h0, c0):
    """Y [steps, directions, batch, hidden] and the last states [directions, batch, hidden]."""
    steps, batch = x.shape[:2]
    y = np.zeros((steps,) + h0.shape)
    h_last, c_last = h0.copy(), c0.copy()
    for d in range(len(h0)):
        for b in range(batch):
            h, c = h0[d, b], c0[d, b]
            order = range(lengths[b])
            for t in reversed(order) if d == 1 or o["reverse"] else order:
                h, c = step(op, o, d, x[t, b], h, c)
                y[t, d, b] = h
            h_last[d, b] = h
            c_last[d, b] = 0 if c is None else c
    return y, h_last, c_last


def activations(g, op, directions, members):
    """The functions of each direction; the members that say so are added to `members`."""
    names, alphas, betas = DEFAULTS[op] * directions, [], []
    if g.integer(0, 1):
        names = [g.pick(sorted(FUNCTIONS)) for _ in names]
        members.append(f"activations = [{', '.join(names)}]")
    given, functions = g.integer(0, 1), []
    for name in names:
        f, a, b = FUNCTIONS[name]
        if given and a is not None:
            a = float(np.float32(g.rng.uniform(0.1, 0.9)))
            alphas.append(a)
        if given and b is not None:
            b = float(np.float32(g.rng.uniform(0.1, 0.9)))
            betas.append(b)
        functions.append(lambda v, f=f, a=a, b=b: f(v, a, b))
    for label, values in (("alpha", alphas), ("beta", betas)):
        if values:
            members.append(f"{label} = [{', '.join(map(repr, values))}]")
    n = len(functions) // directions
    return [functions[i * n:(i + 1) * n] for i in range(directions)]


def random_case(g, op, kind, steps, batch, inputs, hidden):
    direction = g.pick(["forward", "reverse", "bidirectional"])
    d, gates, members = 1 + (direction == "bidirectional"), GATES[op], [f"direction = {direction}"]
    o = {"reverse": direction == "reverse", "functions": activations(g, op, d, members),
         "clip": lambda v: v, "linear_before_reset": False, "input_forget": False}
    if g.integer(0, 1):
        members.append("clip = 0.75")
        o["clip"] = lambda v: np.clip(v, -0.75, 0.75)
    for name, owner in (("linear_before_reset", "GRU"), ("input_forget", "LSTM")):
        if op == owner and g.integer(0, 1):
            o[name] = True
            members.append(f"{name} = true")
    batch_first = g.integer(0, 1)
    if batch_first:
        members.append("batch_first = true")
    turn = (lambda a, *axes: a.transpose(axes).copy()) if batch_first else (lambda a, *axes: a)

    def part(*shape):
        return g.tensor(kind, shape, low=-0.8, high=0.8)

    def maybe(*shape):
        t = part(*shape) if g.integer(0, 1) else None
        return t, np.zeros(shape) if t is None else t.wide().astype(np.float64)

    def swapped(t, *axes):
        return t and Tensor(kind, turn(t.data, *axes))

    x, w, r = part(steps, batch, inputs), part(d, gates * hidden, inputs), part(d, gates * hidden, hidden)
    b, o["B"] = maybe(d, 2 * gates * hidden)
    h0, h = maybe(d, batch, hidden)
    c0, c = maybe(d, batch, hidden)
    p, o["P"] = maybe(d, 3 * hidden)
    o["W"], o["R"] = w.wide().astype(np.float64), r.wide().astype(np.float64)
    counts = [g.integer(0, steps) for _ in range(batch)]
    lengths = g.ints(counts, g.pick(["i32", "i64"])) if g.integer(0, 1) else None
    y, hn, cn = run(op, o, x.wide().astype(np.float64), counts if lengths else [steps] * batch, h, c)
    operands = [swapped(x, 1, 0, 2), w, r, b, lengths, swapped(h0, 1, 0, 2)]
    values = [turn(y, 2, 0, 1, 3), turn(hn, 1, 0, 2)]
    if op == "LSTM":
        operands += [swapped(c0, 1, 0, 2), p]
        values.append(turn(cn, 1, 0, 2))
    results = [Result(kind, v, scale=np.ones_like(v)) for v in values]
    return Case(operands, results, members=", ".join(members), ulps=64)


@oracle("RNN", "GRU", "LSTM")
def cells(g, op):
    for kind in ("float", "float", "double", "double", "float16", "bfloat16"):
        yield random_case(g, op, kind, g.integer(1, 5), g.integer(1, 4), g.integer(1, 4),
                          g.integer(1, 4))
    yield random_case(g, op, "float", 0, 2, 3, 2)
    yield random_case(g, op, "float", 3, 0, 3, 2)
    x, w, r = (g.tensor("float", s) for s in [(2, 3, 4), (1, GATES[op] * 5, 4), (1, GATES[op] * 5, 5)])
    for lengths in ([1, 3, 2], [1, -1, 2]):
        yield Case([x, w, r, None, Tensor("i32", lengths)], error="sequence 1 has length")
    many = g.tensor("float", (2, 300, 4))
    for wrong in (3, -1):
        lengths = Tensor("i64", np.full(300, wrong))
        yield Case([many, w, r, None, lengths], error="Gather.*out of range: 3")
