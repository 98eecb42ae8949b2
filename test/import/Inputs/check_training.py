"""check_training.py FOLDER: one step of each optimizer of ai.onnx.preview.training, for two tensors at
once, against the pseudo code of its definition in numpy, in double."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import FLOAT, I64, graph, model, node, value  # noqa: E402

DOUBLE, TRAINING = 11, "ai.onnx.preview.training"
KINDS = {FLOAT: np.float32, DOUBLE: np.float64}


def adagrad(r, t, x, g, h, norm_coefficient=0.0, decay_factor=0.0, epsilon=1e-6):
    g = norm_coefficient * x + g
    h = h + g * g
    return x - r / (1 + t * decay_factor) * g / (np.sqrt(h) + epsilon), h


def adam(r, t, x, g, v, h, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0,
         norm_coefficient_post=0.0):
    g = norm_coefficient * x + g
    v = alpha * v + (1 - alpha) * g
    h = beta * h + (1 - beta) * g * g
    r = r * np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
    return (1 - norm_coefficient_post) * (x - r * v / (np.sqrt(h) + epsilon)), v, h


def momentum(r, t, x, g, v, alpha, beta, mode, norm_coefficient):
    g = norm_coefficient * x + g
    v = alpha * v + (beta if t > 0 else 1) * g
    return x - r * (g + alpha * v if mode == "nesterov" else v), v


# Attributes are floats: what the function gets is their value.
CASES = [
    ("Adagrad", adagrad, 3, {}),
    ("Adagrad", adagrad, 3, dict(norm_coefficient=0.25, decay_factor=0.1, epsilon=0.5)),
    ("Adam", adam, 4, {}),
    ("Adam", adam, 4, dict(alpha=0.5, beta=0.75, epsilon=0.01, norm_coefficient=0.1,
                           norm_coefficient_post=0.3)),
    ("Momentum", momentum, 3, dict(alpha=0.9, beta=0.3, mode="standard", norm_coefficient=0.0)),
    ("Momentum", momentum, 3, dict(alpha=0.9, beta=0.3, mode="nesterov", norm_coefficient=0.2)),
]


def check(folder, rng, op, step, lists, attributes, kind, count):
    shapes = [(3, 2), (4,)]
    exact = {k: v if isinstance(v, str) else float(np.float32(v)) for k, v in attributes.items()}
    defaults = step.__defaults__ or ()
    exact = dict(zip(step.__code__.co_varnames[step.__code__.co_argcount - len(defaults):],
                     (float(np.float32(d)) for d in defaults))) | exact
    rate, t = np.array(0.1, KINDS[kind]), np.array([count], np.int64)
    tensors = [[np.abs(rng.normal(size=s)).astype(KINDS[kind]) if k == lists - 1 else
                rng.normal(size=s).astype(KINDS[kind]) for s in shapes] for k in range(lists)]
    given = {"r": rate, "t": t} | {f"i{k}{j}": v for k, l in enumerate(tensors) for j, v in enumerate(l)}
    wanted = {}
    for j in range(len(shapes)):
        wide = [np.float64(l[j]) for l in tensors]
        for k, v in enumerate(step(np.float64(rate), count, *wide, **exact)):
            wanted[f"o{k}{j}"] = v
    outs = [f"o{k}{j}" for k in range(lists - 1) for j in range(len(shapes))]
    path = os.path.join(folder, "training")
    os.makedirs(path, exist_ok=True)
    g = graph([node(op, ",".join(given), ",".join(outs), domain=TRAINING, **attributes)],
              [value(n, I64 if n == "t" else kind, v.shape) for n, v in given.items()],
              [value(n, kind, wanted[n].shape) for n in outs])
    with open(path + "/model.onnx", "wb") as out:
        out.write(model(g, imports=[(TRAINING, 1)]))
    command = ["glow-run", path + "/model.onnx", "--backend=interp", "-O0", "--output-dir", path]
    for n, v in given.items():
        np.save(f"{path}/{n}.npy", v)
        command += ["--input", f"{n}={path}/{n}.npy"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return f"{op}: status {run.returncode}: {run.stderr}"
    for n in outs:
        got = np.load(f"{path}/{n}.npy")
        slack = 1e-5 if kind == FLOAT else 1e-13
        if got.dtype != KINDS[kind] or not np.allclose(got, wanted[n], rtol=slack, atol=slack):
            return f"{op} {attributes}, step {count}: {n} is\n{got}\nexpected\n{wanted[n]}"
    return None


rng = np.random.default_rng(11)
runs = [check(sys.argv[1], rng, *case, kind, count) for case in CASES for kind in KINDS for count in (0, 1, 6)]
wrong = [p for p in runs if p]
print("\n".join(wrong) or f"{len(runs)} steps")
sys.exit(bool(wrong))
