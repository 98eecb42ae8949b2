"""check_weights.py FOLDER [--onnxruntime]: ONNX Runtime's operators with weights of a few bits against numpy, which
does what their documentation says of real numbers; with the option, numpy against ONNX Runtime itself, too."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import FLOAT, I32, I64, U8, graph, model, node, tensor, value  # noqa: E402

MICROSOFT = "com.microsoft"
KIND = {"f4": FLOAT, "u1": U8, "i4": I32, "i8": I64}
U4, I4 = 21, 22
NF4 = [-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1]
FP4 = [0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25]
FP4 += [-v for v in FP4]
rng = np.random.default_rng(11)


class Narrow:
    """A constant of elements of 4 bits, as ONNX stores them."""

    def __init__(self, q, kind):
        self.shape, self.kind, self.bytes = q.shape, kind, pack((q & 15).reshape(-1), 4).tobytes()


def pack(q, bits):
    """Elements of the last axis in bytes, the first in the lowest bits."""
    count = 8 // bits
    padded = np.zeros(q.shape[:-1] + (-(-q.shape[-1] // count) * count,), np.uint8)
    padded[..., :q.shape[-1]] = q
    parts = padded.reshape(padded.shape[:-1] + (-1, count))
    return sum(parts[..., i] << (i * bits) for i in range(count)).astype(np.uint8)


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def product(k, n, bits, block, zero=None, bias=False, flat=False, rows=3):
    blocks = -(-k // block)
    q = rng.integers(0, 1 << bits, (n, blocks * block)).astype(np.uint8)
    scale, a = rng.uniform(0.01, 0.1, (n, blocks)).astype(np.float32), floats(2, rows, k)
    points = {None: np.full((n, blocks), 1 << (bits - 1)), "u1": rng.integers(0, 1 << bits, (n, blocks)).astype(np.uint8),
              "f4": floats(n, blocks) + 3}[zero]
    w = (q.reshape(n, blocks, block).astype(np.float64) - points[..., None]) * scale[..., None]
    inputs = [a, pack(q, bits).reshape(n, blocks, -1), scale]
    b = floats(n)
    given = {None: None, "u1": pack(points.astype(np.uint8), bits) if zero == "u1" else None, "f4": points}[zero]
    if flat:
        inputs[2], given = scale.reshape(-1), None if given is None else given.reshape(-1)
    inputs += [given, None, b if bias else None] if bias else [given] if zero else []
    want = a @ w.reshape(n, -1)[:, :k].T + (b if bias else 0)
    return "MatMulNBits", inputs, dict(K=k, N=n, bits=bits, block_size=block), want


def bnb4(k, n, block, kind):
    q = rng.integers(0, 16, n * k).astype(np.uint8)
    padded = np.append(q, np.zeros(q.size % 2, np.uint8)).reshape(-1, 2)
    largest, a = rng.uniform(0.1, 2, -(-q.size // block)).astype(np.float32), floats(4, k)
    w = np.array([FP4, NF4][kind])[q] * np.repeat(largest, block)[:q.size]
    bytes_ = (padded[:, 0] << 4 | padded[:, 1]).astype(np.uint8)
    return "MatMulBnb4", [a, bytes_, largest], dict(K=k, N=n, block_size=block, quant_type=kind), a @ w.reshape(n, k).T


def rows(shape, bits, block, indices, zero=False):
    q = rng.integers(0, 1 << bits, shape).astype(np.uint8)
    blocks = shape[:-1] + (-(-shape[-1] // block),)
    scale = rng.uniform(0.01, 0.1, blocks).astype(np.float32)
    points = rng.integers(0, 1 << bits, blocks).astype(np.uint8) if zero else np.full(blocks, 1 << (bits - 1), np.uint8)
    real = (q.astype(np.float64) - np.repeat(points, block, -1)[..., :shape[-1]]) * np.repeat(scale, block, -1)[..., :shape[-1]]
    inputs = [pack(q, bits), indices, scale] + [pack(points, bits)] * zero
    return "GatherBlockQuantized", inputs, dict(bits=bits, block_size=block, quantize_axis=len(shape) - 1), real[indices]


def typed_rows(kind, along, picked, zero):
    """A table of kind i4 or u4, with blocks of 16 along one axis, of which another one is picked."""
    low, high = {U4: (0, 16), I4: (-8, 8)}[kind]
    shape = [3, 4, 5]
    shape[along] = 32
    q = rng.integers(low, high, shape)
    shape[along] = 2
    scale, points = rng.uniform(0.01, 0.1, shape).astype(np.float32), rng.integers(low, high, shape)
    whole = lambda v: np.repeat(v, 16, along)
    real = (q - whole(points) * zero) * whole(scale).astype(np.float64)
    ids = np.array([2, 0, -1, 1], np.int64)
    inputs = [Narrow(q, kind), ids, scale] + [Narrow(points, kind)] * zero
    return ("GatherBlockQuantized", inputs, dict(block_size=16, gather_axis=picked, quantize_axis=along),
            np.take(real, ids, picked))


def cases():
    """Operator, inputs (None: absent), attributes, and the expected result."""
    for bits in (2, 4, 8):
        yield product(64, 5, bits, 16)
        yield product(64, 5, bits, 32, "u1")
        yield product(80, 3, bits, 16, "u1", bias=True)
    yield product(70, 4, 4, 32, "u1")
    yield product(70, 4, 4, 32, bias=True)
    yield product(64, 4, 4, 32, "f4")
    yield product(96, 4, 4, 32, "u1", flat=True)
    yield product(32, 1, 8, 32, rows=1)
    for bits in (2, 4, 8):  # so large that MatMulNBits of Glow computes them
        yield product(300, 258, bits, 32, rows=1)
        yield product(256, 321, bits, 16, "u1", bias=True, rows=2)
    for kind in (0, 1):
        yield bnb4(64, 3, 16, kind)
        yield bnb4(33, 3, 32, kind)
    ids = np.array([[3, 0, 2], [1, 1, -1]], np.int64)
    yield rows((5, 64), 4, 16, ids)
    yield rows((5, 64), 4, 32, ids.astype(np.int32), True)
    yield rows((5, 48), 4, 16, ids, True)
    yield rows((5, 64), 8, 32, ids, True)
    yield rows((5, 2, 32), 4, 16, ids[0], True)
    for kind in (U4, I4):
        yield typed_rows(kind, 2, 0, True)
        yield typed_rows(kind, 0, 1, False)
        yield typed_rows(kind, 1, -1, True)


def write(path, op, inputs, attributes, constants):
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(inputs)]
    given = {n: v for n, v in zip(names, inputs) if n}
    text = b"".join(b"\x0a" + bytes([len(n)]) + n.encode() for n in names)  # absent ones stay
    kind = lambda v: v.kind if isinstance(v, Narrow) else KIND[v.dtype.str[1:]]
    data = lambda v: v.bytes if isinstance(v, Narrow) else v.tobytes()
    constants = [n for n, v in given.items() if n in constants or isinstance(v, Narrow)]
    inits = [tensor(n, kind(given[n]), given[n].shape, data(given[n])) for n in constants]
    g = graph([text + node(op, "", "y", "n", MICROSOFT, **attributes)],
              [value(n, kind(v), v.shape) for n, v in given.items() if n not in constants],
              [value("y", FLOAT)], inits)
    with open(path, "wb") as out:
        out.write(model(g, 21, imports=[(MICROSOFT, 1)]))
    return {n: v for n, v in given.items() if n not in constants}


def glow(folder, op, inputs, attributes, constants, options):
    given = write(folder + "/model.onnx", op, inputs, attributes, constants)
    command = ["glow-run", folder + "/model.onnx", *options, "--output-dir", folder]
    for n, v in given.items():
        np.save(f"{folder}/{n}.npy", v)
        command += ["--input", f"{n}={folder}/{n}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else np.load(folder + "/y.npy")


def onnxruntime(folder, op, inputs, attributes):
    import onnxruntime as ort
    given = write(folder + "/model.onnx", op, inputs, attributes, ())
    session = ort.InferenceSession(folder + "/model.onnx", providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]


def check(what, got, want):
    if isinstance(got, str) or got.shape != want.shape or not np.allclose(got, want, rtol=1e-4, atol=1e-4):
        return f"{what}: got\n{got}\nexpected\n{want}"
    return None


def main(folder, compare):
    os.makedirs(folder, exist_ok=True)
    wrong, count = [], 0
    for op, inputs, attributes, want in cases():
        what = f"{op} {attributes} {[None if v is None else v.shape for v in inputs]}"
        if compare:
            wrong.append(check("onnxruntime: " + what, onnxruntime(folder, op, inputs, attributes), want))
        else:
            weights = [f"i{k}" for k in range(1, len(inputs)) if op != "GatherBlockQuantized" or k != 1]
            for constants, options in ((), ["--backend=interp", "-O0"]), (weights, ["--tier=library", "-O2"]):
                wrong.append(check(what, glow(folder, op, inputs, attributes, constants, options), want))
        count += 1
    wrong = [w for w in wrong if w]
    print("\n".join(wrong) or f"{count} nodes")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(os.path.join(sys.argv[1], "weights"), "--onnxruntime" in sys.argv))
