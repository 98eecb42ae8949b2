"""Models of com.microsoft GroupQueryAttention with inputs and results by numpy: grouped_attention.py FOLDER

FOLDER/CASE.onnx, FOLDER/CASE.NAME.npy for each input, FOLDER/CASE.want.NAME.npy for each output."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
import onnx_bytes as o  # noqa: E402

HEADS, KV, SIZE, PAST, NEW = 6, 2, 16, 5, 3
TOTAL = PAST + NEW


def rotate(x, cos, sin, interleaved):
    """x [1, heads, tokens, size] by the rows of cos and sin, of which one row is for each token."""
    half = cos.shape[1]
    rotated, rest = x[..., :2 * half], x[..., 2 * half:]
    a, b = (rotated[..., 0::2], rotated[..., 1::2]) if interleaved else (rotated[..., :half], rotated[..., half:])
    y = [cos * a - sin * b, sin * a + cos * b]
    y = np.stack(y, -1).reshape(rotated.shape) if interleaved else np.concatenate(y, -1)
    return np.concatenate([y, rest], -1)


def split(x, heads):
    return x.reshape(1, -1, heads, SIZE).transpose(0, 2, 1, 3)


def attention(q, k, v, scale, window, softcap, bias):
    """q [1, HEADS, NEW, SIZE] over k and v [1, KV, TOTAL, SIZE]; the last query stands at the last key."""
    k, v = (np.repeat(x, HEADS // KV, axis=1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    distance = np.arange(TOTAL)[None] - (PAST + np.arange(NEW))[:, None]
    hidden = (distance > 0) | ((distance <= -window) if window else False)
    scores = np.where(hidden, -np.inf, scores + bias)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    return y.transpose(0, 2, 1, 3).reshape(1, NEW, HEADS * SIZE)


def case(folder, name, packed=False, rotary=0, window=0, softcap=0.0, scale=0.0, interleaved=0, bias=False, places=False):
    random = np.random.default_rng(len(name))
    draw = lambda *dims: random.standard_normal(dims, dtype=np.float32)  # noqa: E731
    inputs = {"query": draw(1, NEW, HEADS * SIZE), "key": draw(1, NEW, KV * SIZE), "value": draw(1, NEW, KV * SIZE),
              "past_key": draw(1, KV, PAST, SIZE), "past_value": draw(1, KV, PAST, SIZE)}
    q, k, v = split(inputs["query"], HEADS), split(inputs["key"], KV), split(inputs["value"], KV)
    order = list(inputs) + ["lengths", "total"]
    if packed:
        inputs["query"] = np.concatenate([inputs["query"], inputs.pop("key"), inputs.pop("value")], -1)
        order[1:3] = ["", ""]
    inputs["lengths"], inputs["total"] = np.array([TOTAL - 1], np.int32), np.array(TOTAL, np.int32)
    if rotary or bias:
        order += ["", ""]
    if rotary:
        angles = np.outer(np.arange(16), 10000.0 ** (-np.arange(rotary // 2) / (rotary // 2)))
        inputs["cos"], inputs["sin"] = (f(angles).astype(np.float32) for f in (np.cos, np.sin))
        order[7:9] = ["cos", "sin"]
        at = PAST + np.arange(NEW)
        if places:
            at = at + 2
            inputs["positions"] = at[None].astype(np.int64)
            order += ["positions"]
        q, k = (rotate(x, inputs["cos"][at], inputs["sin"][at], interleaved) for x in (q, k))
    if bias:
        inputs["bias"] = draw(1, 1, NEW, TOTAL)
        order += ([""] if len(order) == 9 else []) + ["bias"]
    k, v = (np.concatenate([inputs[p], x], 2) for p, x in (("past_key", k), ("past_value", v)))
    y = attention(q, k, v, scale or SIZE ** -0.5, window, softcap, inputs.get("bias", np.float32(0)))
    wants = {"y": y, "present_key": k, "present_value": v}
    more = {"local_window_size": window} if window else {}
    more.update({"softcap": softcap} if softcap else {})
    more.update({"scale": scale} if scale else {})
    more.update({"do_rotary": 1, "rotary_interleaved": interleaved} if rotary else {})
    node = o.node("GroupQueryAttention", ",".join(order), ",".join(wants), "g", "com.microsoft", num_heads=HEADS,
                  kv_num_heads=KV, **more)
    kinds = {np.dtype(np.float32): o.FLOAT, np.dtype(np.int32): o.I32, np.dtype(np.int64): o.I64}
    ins = [o.value(n, kinds[a.dtype], a.shape) for n, a in inputs.items()]
    outs = [o.value(n, o.FLOAT, a.shape) for n, a in wants.items()]
    with open(f"{folder}/{name}.onnx", "wb") as out:
        out.write(o.model(o.graph([node], ins, outs), imports=[("com.microsoft", 1)]))
    for n, a in inputs.items():
        np.save(f"{folder}/{name}.{n}.npy", a)
    for n, a in wants.items():
        np.save(f"{folder}/{name}.want.{n}.npy", a.astype(np.float32))


CASES = {
    "plain": {},
    "packed": {"packed": True},
    "scaled": {"scale": 0.5, "softcap": 2.0},
    "window": {"window": 3},
    "rotary": {"rotary": SIZE},
    "places": {"rotary": SIZE, "places": True, "interleaved": 1},
    "bias": {"bias": True},
    "all": {"packed": True, "rotary": SIZE // 2, "window": 2, "scale": 0.3},
}

def refused(folder, name, dims, operands="query,key,value,,,lengths,total", op="GroupQueryAttention", **more):
    """A model of one node that is read in part only, or not at all; operands are given by `dims`, the others exist."""
    kinds = {"lengths": (o.I32, [1]), "total": (o.I32, []), "at": (o.I64, [1, NEW]), "cos": (o.FLOAT, [9, 8]),
             "sin": (o.FLOAT, [9, 8]), "some": (o.BOOL, [NEW]), "key": (o.FLOAT, [1, NEW, 32]), "value": (o.FLOAT, [1, NEW, 32])}
    kinds.update({n: (kinds.get(n, (o.FLOAT,))[0], d) for n, d in dims.items()})
    grouped = op == "GroupQueryAttention"
    attributes = {"num_heads": HEADS, "kv_num_heads": KV, **more} if grouped else more
    names, nodes, tensors = [n for n in operands.split(",") if n], [], []
    if "rows" in dims:  # an unknown number of them are the queries
        names = ["rows", "some"] + names[1:]
        nodes = [o.node("Compress", "rows,some", "chosen", axis=0), o.node("Unsqueeze", "chosen,first", "query")]
        tensors = [o.ints("first", [1], [0])]
    ins = [o.value(n, *kinds[n]) for n in names]
    node = o.node(op, operands, "y,pk,pv" if grouped else "y", "g", "com.microsoft", **attributes)
    with open(f"{folder}/{name}.onnx", "wb") as out:
        out.write(o.model(o.graph(nodes + [node], ins, [o.value("y")], tensors), imports=[("com.microsoft", 1)]))


def main(folder):
    for name, options in CASES.items():
        case(folder, name, **options)
    query = {"query": [1, NEW, 96]}
    refused(folder, "batch", {"query": [2, NEW, 96]})
    refused(folder, "smooth", query, smooth_softmax=1)
    refused(folder, "heads", query, kv_num_heads=4)
    refused(folder, "lengths", query, "query,key,value,,,,total")
    refused(folder, "caches", query, do_rotary=1)
    refused(folder, "columns", {"query": [1, NEW, 95]}, "query,,,,,lengths,total")
    refused(folder, "rank", {"query": [NEW, 96]})
    refused(folder, "queries", {"rows": [NEW, 96]}, "query,key,value,,,lengths,total,cos,sin", do_rotary=1)
    rotary = {"x": [1, NEW, 96]}
    refused(folder, "rotary-heads", rotary, "x,at,cos,sin", "RotaryEmbedding", interleaved=1)
    refused(folder, "rotary-scale", rotary, "x,at,cos,sin", "RotaryEmbedding", scale=2.0)
    refused(folder, "rotary-offset", {**rotary, "at": [1]}, "x,at,cos,sin", "RotaryEmbedding")
    refused(folder, "rotary-size", {**rotary, "cos": [9, 7]}, "x,at,cos,sin", "RotaryEmbedding")
    refused(folder, "rotary-packed", rotary, "x,at,cos,sin", "RotaryEmbedding", is_packed_batching=1)


if __name__ == "__main__":
    main(sys.argv[1])
