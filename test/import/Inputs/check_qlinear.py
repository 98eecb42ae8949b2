"""check_qlinear.py FOLDER: quantized operators of ONNX Runtime (com.microsoft) against what they say
of real numbers, in numpy. A quantized result may lie next to the answer where that is a tie."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import BOOL, FLOAT, I8, I32, U8, graph, model, node, value  # noqa: E402

MICROSOFT = "com.microsoft"
KIND = {np.dtype(np.float32): FLOAT, np.dtype(np.uint8): U8, np.dtype(np.int8): I8, np.dtype(np.int32): I32,
        np.dtype(bool): BOOL}
rng = np.random.default_rng(6)


def bytes_of(kind, *shape):
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max + 1, shape).astype(kind)


def scale(*shape):
    return rng.uniform(0.01, 0.1, shape).astype(np.float32)


def real(q, s, z):
    return (q.astype(np.float64) - z) * s


def quantized(y, s, z):
    info = np.iinfo(z.dtype)
    return np.clip(np.rint(y / s) + z, info.min, info.max).astype(z.dtype)


def triple(kind, *shape):
    return [bytes_of(kind, *shape), scale(), bytes_of(kind)]


def result(kind):
    return [np.float32(0.05), bytes_of(kind)]


def cases():
    """Operator, inputs (None: absent), attributes, and the expected result."""
    for kind in (np.uint8, np.int8):
        a, b, y = triple(kind, 2, 3, 4), triple(kind, 3, 1), result(kind)
        yield "QLinearAdd", a + b + y, {}, quantized(real(*a) + real(*b), *y)
        yield "QLinearMul", a + b + y, {}, quantized(real(*a) * real(*b), *y)
        none = kind(0)
        yield ("QLinearAdd", a[:2] + [None] + b[:2] + [None] + y[:1], {},
               quantized(real(a[0], a[1], 0) + real(b[0], b[1], 0), y[0], none))
        yield "QLinearSigmoid", a + [np.float32(1 / 256)] + y[1:], {}, \
            quantized(1 / (1 + np.exp(-real(*a))), 1 / 256, y[1])
        x = real(*a)
        yield "QLinearLeakyRelu", a + y, dict(alpha=0.25), quantized(np.where(x < 0, 0.25 * x, x), *y)
        yield "QLinearLeakyRelu", a + y, {}, quantized(np.where(x < 0, 0.01 * x, x), *y)
        p = triple(kind, 2, 5, 3, 4)
        yield "QLinearGlobalAveragePool", p + y, {}, quantized(real(*p).mean((2, 3), keepdims=True), *y)
        yield ("QLinearGlobalAveragePool", p + y, dict(channels_last=1),
               quantized(real(*p).mean((1, 2), keepdims=True), *y))
        image = real(*p)
        windows = np.stack([image[:, :, i:i + 2, j:j + 2] for i in (0, 1) for j in (0, 2)])
        mean = windows.mean((3, 4)).transpose(1, 2, 0).reshape(2, 5, 2, 2)
        yield "QLinearAveragePool", p + y, dict(kernel_shape=[2, 2], strides=[1, 2]), quantized(mean, *y)
        turned = [p[0].transpose(0, 2, 3, 1).copy(), *p[1:]]
        yield ("QLinearAveragePool", turned + y, dict(kernel_shape=[2, 2], strides=[1, 2], channels_last=1),
               quantized(mean.transpose(0, 2, 3, 1), *y))
        soft = lambda v, axes: np.exp(v) / np.exp(v).sum(axes, keepdims=True)
        fine = [np.float32(1 / 256), y[1]]
        yield "QLinearSoftmax", a + fine, dict(opset=13, axis=1), quantized(soft(x, 1), *fine)
        yield "QLinearSoftmax", a + fine, dict(opset=13), quantized(soft(x, 2), *fine)
        yield "QLinearSoftmax", a + fine, dict(opset=12), quantized(soft(x, 2), *fine)
        yield "QLinearSoftmax", a + fine, dict(opset=12, axis=1), quantized(soft(x, (1, 2)), *fine)
        c = triple(kind, 2, 3, 4)
        where = rng.integers(0, 2, (3, 1)).astype(bool)
        yield "QLinearWhere", [where] + a + c + y, {}, quantized(np.where(where, x, real(*c)), *y)
        c = triple(kind, 2, 2, 4)
        yield ("QLinearConcat", y + a + c, dict(axis=1), quantized(np.concatenate([real(*a), real(*c)], 1), *y))

        m, w = triple(np.uint8, 3, 5), triple(kind, 5, 4)
        bias, columns, zeros = scale(4), scale(4), bytes_of(kind, 4)
        yield ("MatMulIntegerToFloat", [m[0], w[0], m[1], columns, m[2], zeros, bias], {},
               real(*m) @ real(w[0], columns, zeros) + bias)
        yield "MatMulIntegerToFloat", [m[0], w[0], m[1], w[1]], {}, real(m[0], m[1], 0) @ real(w[0], w[1], 0)
        f = rng.normal(size=(2, 3, 5)).astype(np.float32)
        s = np.float32(f.max() - f.min()) / np.float32(255)
        z = np.uint8(np.rint(-f.min() / s))
        yield ("DynamicQuantizeMatMul", [f, w[0], columns, zeros, bias], {},
               real(quantized(f, s, z), s, z) @ real(w[0], columns, zeros) + bias)
        g, v = [m[0].T.copy(), *m[1:]], [w[0].T.copy(), *w[1:]]
        c = rng.integers(-99, 99, 4).astype(np.int32)
        product = real(*m) @ real(*w) + c * float(m[1]) * float(w[1])
        yield "QGemm", m + w + [c], {}, product
        o = result(kind)
        yield "QGemm", g + v + [c] + o, dict(transA=1, transB=1, alpha=0.5), quantized(0.5 * product, *o)


def run(folder, op, inputs, attributes, want):
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(inputs)]
    given = {n: np.asarray(v) for n, v in zip(names, inputs) if n}
    text = b"".join(b"\x0a" + bytes([len(n)]) + n.encode() for n in names)  # absent ones stay
    g = graph([text + node(op, "", "y", "n", MICROSOFT, **attributes)],
              [value(n, KIND[v.dtype], v.shape) for n, v in given.items()], [value("y")])
    with open(folder + "/model.onnx", "wb") as out:
        out.write(model(g, imports=[(MICROSOFT, 1)]))
    command = ["glow-run", folder + "/model.onnx", "--backend=interp", "-O0", "--output-dir", folder]
    for n, v in given.items():
        np.save(f"{folder}/{n}.npy", v)
        command += ["--input", f"{n}={folder}/{n}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"{op}: status {done.returncode}: {done.stderr}"
    got, whole = np.load(folder + "/y.npy"), want.dtype.kind in "iu"
    near = got.shape == want.shape and np.allclose(got, want, rtol=0 if whole else 1e-4, atol=1 if whole else 1e-4)
    exact = not whole or np.mean(got == want) > 0.9
    if not near or not exact or (whole and got.dtype != want.dtype):
        return f"{op} {attributes}: got\n{got!r}\nexpected\n{want!r}"
    return None


if __name__ == "__main__":
    path = os.path.join(sys.argv[1], "qlinear")
    os.makedirs(path, exist_ok=True)
    runs = [run(path, *case) for case in cases()]
    wrong = [p for p in runs if p]
    print("\n".join(wrong) or f"{len(runs)} nodes")
    sys.exit(bool(wrong))
