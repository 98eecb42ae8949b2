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


def attention(heads, x, w, bias, hide, past=None, causal=False):
    """What X W + bias, both real, comes to; `hide` is added to scores. The result, and present keys and values."""
    batch, queries, _ = x.shape
    q, k, v = np.split((x @ w + bias).reshape(batch, queries, 3 * heads, -1).transpose(0, 2, 1, 3), 3, axis=1)
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + hide
    if causal:
        seen = np.tri(queries, k.shape[2], k.shape[2] - queries, dtype=bool)
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    return y.transpose(0, 2, 1, 3).reshape(batch, queries, -1), np.stack([k, v])


def attention_cases():
    """QAttention: 2 sequences of 4, 3 heads of 2, 5 inputs."""
    for kind in (np.uint8, np.int8):
        x, w = triple(kind, 2, 4, 5), triple(kind, 5, 18)
        bias, columns, zeros = scale(18), scale(18), bytes_of(kind, 18)
        start, heads = [x[0], w[0], bias, x[1]], dict(num_heads=3)
        past = rng.normal(size=(2, 2, 3, 3, 2)).astype(np.float32)
        plain = lambda hide, **more: attention(3, real(*x), real(*w), bias, hide, **more)
        yield "QAttention", start + [w[1], None, x[2], w[2]], heads, plain(0)[0]
        yield ("QAttention", start + [columns, None, x[2], zeros], heads,
               attention(3, real(*x), real(w[0], columns, zeros), bias, 0)[0])
        yield "QAttention", start + [w[1]], heads, attention(3, real(*x[:2], 0), real(*w[:2], 0), bias, 0)[0]
        keys, cut = np.arange(7), np.float32(-3)
        hidden = lambda bad: (cut * bad)[:, None, None]
        more = dict(num_heads=3, mask_filter_value=float(cut))
        ends = np.array([5, 7], np.int32)
        yield ("QAttention", start + [w[1], ends, x[2], w[2], past], more,
               plain(hidden(keys >= ends[:, None]), past=past)[0])
        both = np.array([5, 7, 1, 4], np.int32)
        yield ("QAttention", start + [w[1], both, x[2], w[2], past], more,
               plain(hidden((keys >= ends[:, None]) | (keys < both[2:, None])), past=past)[0])
        raw = rng.integers(-1, 2, (2, 7)).astype(np.int32)
        yield ("QAttention", start + [w[1], raw, x[2], w[2], past], dict(unidirectional=1, **more),
               plain(hidden(raw <= 0), past=past, causal=True)[0])
        each = rng.integers(0, 2, (2, 4, 4)).astype(np.int32)
        yield ("QAttention", start + [w[1], each, x[2], w[2]], dict(unidirectional=1, **more),
               plain((cut * (each <= 0))[:, None], causal=True)[0])
        yield "QAttention", start + [w[1], None, x[2], w[2], past], heads, plain(0, past=past)


def run(folder, op, inputs, attributes, want):
    """What is wrong with the results of a node, or None; `want` is its result, or several."""
    want = want if isinstance(want, tuple) else (want,)
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(inputs)]
    outs = [f"y{k}" for k in range(len(want))]
    given = {n: np.asarray(v) for n, v in zip(names, inputs) if n}
    text = b"".join(b"\x0a" + bytes([len(n)]) + n.encode() for n in names)  # absent ones stay
    g = graph([text + node(op, "", ",".join(outs), "n", MICROSOFT, **attributes)],
              [value(n, KIND[v.dtype], v.shape) for n, v in given.items()], [value(n) for n in outs])
    with open(folder + "/model.onnx", "wb") as out:
        out.write(model(g, imports=[(MICROSOFT, 1)]))
    command = ["glow-run", folder + "/model.onnx", "--backend=interp", "-O0", "--output-dir", folder]
    for n, v in given.items():
        np.save(f"{folder}/{n}.npy", v)
        command += ["--input", f"{n}={folder}/{n}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"{op}: status {done.returncode}: {done.stderr}"
    for n, expected in zip(outs, want):
        got, whole = np.load(f"{folder}/{n}.npy"), expected.dtype.kind in "iu"
        near = got.shape == expected.shape and \
            np.allclose(got, expected, rtol=0 if whole else 1e-4, atol=1 if whole else 1e-4)
        exact = not whole or np.mean(got == expected) > 0.9
        if not near or not exact or (whole and got.dtype != expected.dtype):
            return f"{op} {attributes}: {n} is\n{got!r}\nexpected\n{expected!r}"
    return None


if __name__ == "__main__":
    path = os.path.join(sys.argv[1], "qlinear")
    os.makedirs(path, exist_ok=True)
    runs = [run(path, *case) for cases_of in (cases, attention_cases) for case in cases_of()]
    wrong = [p for p in runs if p]
    print("\n".join(wrong) or f"{len(runs)} nodes")
    sys.exit(bool(wrong))
