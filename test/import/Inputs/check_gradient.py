"""check_gradient.py FOLDER: models with a Gradient node, in double; their results against central differences
of the same function in numpy. test/autodiff has a case for each operator."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import BOOL, I64, graph, ints, model, node, tensor, value  # noqa: E402

DOUBLE, TRAINING = 11, "ai.onnx.preview.training"
sigmoid = lambda x: 1 / (1 + np.exp(-x))
A, B = (2, 3), (3,)
# name: nodes from a, b, c to y; the function; the shapes; further operator sets
CASES = {
    "add": ([node("Add", "a,b", "y")], lambda a, b: a + b, (A, B)),
    "sub": ([node("Sub", "b,a", "y")], lambda a, b: b - a, (A, B)),
    "mul": ([node("Mul", "a,b", "y")], lambda a, b: a * b, ((2, 1, 4), (3, 1))),
    "div": ([node("Div", "a,b", "y")], lambda a, b: a / b, (A, (2, 1))),
    "max": ([node("Max", "a,b", "y")], np.maximum, (A, B)),
    "min": ([node("Min", "a,b", "y")], np.minimum, (A, B)),
    "neg": ([node("Neg", "a", "y")], lambda a: -a, (A,)),
    "sqrt": ([node("Mul", "a,a", "s"), node("Sqrt", "s", "y")], np.abs, (A,)),
    "exp": ([node("Exp", "a", "y")], np.exp, (A,)),
    "log": ([node("Exp", "a", "e"), node("Add", "e,e", "f"), node("Log", "f", "y")],
            lambda a: np.log(2 * np.exp(a)), (A,)),
    "tanh": ([node("Tanh", "a", "y")], np.tanh, (A,)),
    "sigmoid": ([node("Sigmoid", "a", "y")], sigmoid, (A,)),
    "relu": ([node("Relu", "a", "y")], lambda a: np.maximum(a, 0), ((5, 4),)),
    "clip": ([node("Clip", "a,low,high", "y")], lambda a: np.clip(a, -0.5, 0.75), ((5, 4),)),
    "clip-below": ([node("Clip", "a,low", "y")], lambda a: np.maximum(a, -0.5), ((5, 4),)),
    "matmul": ([node("MatMul", "a,b", "y")], np.matmul, (A, (3, 4))),
    "matmul-batch": ([node("MatMul", "a,b", "y")], np.matmul, ((2, 1, 2, 3), (5, 3, 4))),
    "matmul-row": ([node("MatMul", "a,b", "y")], np.matmul, ((3,), (2, 3, 4))),
    "matmul-column": ([node("MatMul", "a,b", "y")], np.matmul, ((2, 4, 3), (3,))),
    "matmul-dot": ([node("MatMul", "a,b", "y")], np.dot, ((3,), (3,))),
    # A value with several users, and one on the way that does not depend on a.
    "layers": ([node("MatMul", "a,b", "h"), node("Add", "h,c", "i"), node("Tanh", "i", "j"),
                node("Exp", "c", "k"), node("Mul", "j,k", "l"), node("Sub", "l,h", "y")],
               lambda a, b, c: np.tanh(a @ b + c) * np.exp(c) - a @ b, (A, (3, 4), (4,))),
    # The derivative of a derivative, which the importer hands on by an Identity.
    "second": ([node("Mul", "a,a", "s"), node("Mul", "s,a", "t"), node("Identity", "t", "u"),
                node("Gradient", "a", "y", domain=TRAINING, xs=["a"], y="u")], lambda a: 3 * a * a, (A,)),
    "independent": ([node("Exp", "b", "y"), node("Neg", "a", "unused")], lambda a, b: np.exp(b), (A, B)),
}


def inside(nodes, names, *, loop=False):
    """A Gradient of y by `names` in a branch of an If, or in a body of a Loop of three iterations that adds up what
    comes; `nodes`, which compute y, stand there, too."""
    outs = ["i" + n for n in names]
    slope = node("Gradient", ",".join(names), ",".join(outs), "inner", domain=TRAINING, xs=list(names), y="y")
    if not loop:
        other = graph([node("Neg", n, "e" + n) for n in names], outs=[value("e" + n) for n in names])
        return node("If", "yes", ",".join("d" + n for n in names), "if",
                    then_branch=graph([*nodes, slope], outs=[value(o) for o in outs]), else_branch=other)
    sums = [node("Add", f"s{n},i{n}", f"t{n}") for n in names]
    shapes = dict(zip("ab", (A, B)))
    carried = [value(f"s{n}", DOUBLE, shapes[n]) for n in names]
    body = graph([*nodes, slope, *sums, node("Identity", "go", "more")],
                 [value("i", I64, []), value("go", BOOL, []), *carried],
                 [value("more", BOOL, []), *[value(f"t{n}", DOUBLE, shapes[n]) for n in names]])
    return node("Loop", "three,yes," + ",".join("z" + n for n in names), ",".join("d" + n for n in names), "loop", body=body)


# What stands around an If or Loop and in it; the function whose derivatives come out.
OUTER = [node("Tanh", "a", "h"), node("Mul", "h,b", "k")]
INSIDE = {
    "branch": ([*OUTER, inside([node("Exp", "k", "e"), node("Mul", "e,h", "y")], "ab")],
               lambda a, b: np.exp(np.tanh(a) * b) * np.tanh(a)),
    "branch-outer": ([*OUTER, node("Exp", "k", "y"), inside([], "ab")], lambda a, b: np.exp(np.tanh(a) * b)),
    "loop": ([node("Sub", "a,a", "za"), node("Sub", "b,b", "zb"), *OUTER,
              inside([node("Cast", "i", "n", to=DOUBLE), node("Mul", "k,n", "m"), node("Sin", "m", "y")], "ab", loop=True)],
             lambda a, b: sum(np.sin(np.tanh(a) * b * i) for i in range(3))),
    "loop-nested": ([node("Sub", "a,a", "za"), node("Sub", "b,b", "zb"), *OUTER,
                     inside([node("If", "yes", "y", "nested", then_branch=graph([node("Sin", "k", "r")], outs=[value("r")]),
                                  else_branch=graph([node("Cos", "k", "q")], outs=[value("q")]))], "ab", loop=True)],
                    lambda a, b: 3 * np.sin(np.tanh(a) * b)),
}


def differences(f, values, i, step=1e-5):
    """The derivatives of f's sum by values[i]."""
    out = np.empty(values[i].shape)
    for at in np.ndindex(out.shape):
        both = []
        for sign in (1, -1):
            moved = [v.copy() for v in values]
            moved[i][at] += sign * step
            both.append(f(*moved).sum())
        out[at] = (both[0] - both[1]) / (2 * step)
    return out


def check_inside(folder, rng, name, nodes, f):
    limits = [tensor("yes", BOOL, [], b"\1"), ints("three", [], [3])]
    return run(folder, name, nodes, f, [rng.normal(size=s) for s in (A, B)], limits)


def check_carried(folder):
    """By a carried value, the step of a descent; by a value around the loop, what depends on a carried one."""
    slope = lambda x, w: node("Gradient", x, "g", "inner", domain=TRAINING, xs=[x], y="y")
    failures = []
    for x, wants in (("s", None), ("a", "by a value outside of a loop, of one that the loop carries")):
        body = graph([node("Mul", "s,a", "p"), node("Tanh", "p", "y"), slope(x, "y"), node("Sub", "s,g", "t"),
                      node("Identity", "go", "more")],
                     [value("i", I64, []), value("go", BOOL, []), value("s", DOUBLE, A)],
                     [value("more", BOOL, []), value("t", DOUBLE, A)])
        g = graph([node("Loop", "three,yes,a", "r", "loop", body=body)], [value("a", DOUBLE, A)], [value("r", DOUBLE, A)],
                  [tensor("yes", BOOL, [], b"\1"), ints("three", [], [3])])
        path = os.path.join(folder, "carried-" + x)
        os.makedirs(path, exist_ok=True)
        with open(path + "/model.onnx", "wb") as out:
            out.write(model(g, imports=[(TRAINING, 1)]))
        a = np.random.default_rng(5).normal(size=A)
        np.save(path + "/a.npy", a)
        s = a
        for _ in range(3):
            s = s - a * (1 - np.tanh(s * a)**2)
        ran = subprocess.run(["glow-run", path + "/model.onnx", "--input", f"a={path}/a.npy", "--output-dir", path],
                             capture_output=True, text=True)
        if wants is None and (ran.returncode or not np.allclose(np.load(path + "/r.npy"), s, rtol=1e-12)):
            failures.append(f"carried: {ran.stderr}")
        if wants and wants not in ran.stderr:
            failures.append(f"carried: {ran.stderr}")
    return failures


def check(folder, rng, name, nodes, f, shapes, *sets):
    names = "abc"[:len(shapes)]
    values = [rng.normal(size=s) for s in shapes]
    outs = ["d" + n for n in names]
    nodes = nodes + [node("Gradient", ",".join(names), ",".join(outs), domain=TRAINING,
                          xs=list(names), y="y")]
    limits = [tensor(n, DOUBLE, [], np.float64(v).tobytes()) for n, v in (("low", -0.5), ("high", 0.75))]
    return run(folder, name, nodes, f, values, limits, *sets)


def run(folder, name, nodes, f, values, limits, *sets):
    names, shapes = "abc"[:len(values)], [v.shape for v in values]
    outs = ["d" + n for n in names]
    g = graph(nodes, [value(n, DOUBLE, s) for n, s in zip(names, shapes)],
              [value(o, DOUBLE, s) for o, s in zip(outs, shapes)], limits)
    path = os.path.join(folder, f"check-{name}")
    os.makedirs(path, exist_ok=True)
    command = ["glow-run", path + "/model.onnx", "--backend=interp", "--output-dir", path]
    with open(path + "/model.onnx", "wb") as out:
        out.write(model(g, imports=[(TRAINING, 1), *sets]))
    for n, v in zip(names, values):
        np.save(f"{path}/{n}.npy", v)
        command += ["--input", f"{n}={path}/{n}.npy"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return f"{name}: status {ran.returncode}: {ran.stderr}"
    for i, o in enumerate(outs):
        got, want = np.load(f"{path}/{o}.npy"), differences(f, values, i)
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-6, atol=1e-7):
            return f"{name}: {o} is\n{got}\nthe differences are\n{want}"
    return None


rng = np.random.default_rng(4)
wrong = [p for p in (check(sys.argv[1], rng, name, *case) for name, case in CASES.items()) if p]
wrong += [p for p in (check_inside(sys.argv[1], rng, name, *case) for name, case in INSIDE.items()) if p]
wrong += check_carried(sys.argv[1])
print("\n".join(wrong) or f"{len(CASES) + len(INSIDE) + 2} functions")
sys.exit(bool(wrong))
