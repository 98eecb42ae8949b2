"""reference.py FOLDER SEED|none EPOCHS CHECKPOINT LOG: what linear.gg learns, computed again in doubles by numpy: the
order of the samples, the loss of each step, what is judged after each epoch, and the variables at the end."""
import json
import struct
import sys

import numpy as np

folder, seed, epochs, checkpoint, log = sys.argv[1:]
BATCH, M0, M1, W0, W1 = 4, 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85


def philox(key, counter):
    """The first word of Philox4x32-10 (Salmon et al., 2011) of a 64-bit counter."""
    k0, k1, c = key & 0xffffffff, key >> 32, [counter & 0xffffffff, counter >> 32, 0, 0]
    for _ in range(10):
        a, b = c[0] * M0, c[2] * M1
        c = [b >> 32 ^ c[1] ^ k0, b & 0xffffffff, a >> 32 ^ c[3] ^ k1, a & 0xffffffff]
        k0, k1 = k0 + W0 & 0xffffffff, k1 + W1 & 0xffffffff
    return c[0]


x, y, test_x, test_y = (np.load(f"{folder}/{n}.npy").astype(float) for n in ("x", "y", "test_x", "test_y"))
w, v, want = np.zeros((3, 1)), np.zeros((3, 1)), []
for epoch in range(int(epochs)):
    order = np.arange(len(x))
    if seed != "none":
        order = sorted(order, key=lambda j: (philox(int(seed), (epoch << 32) + int(j)), j))
    for at in range(0, len(x) // BATCH * BATCH, BATCH):
        batch = order[at:at + BATCH]
        d = x[batch] @ w - y[batch]
        v = 0.5 * v + x[batch].T @ d
        want.append({"step": len([s for s in want if "eval" not in s]) + 1, "epoch": epoch, "loss": (d * d).mean()})
        w = w - v / 32
    error = abs(test_x @ w - test_y).mean()
    want.append({"step": want[-1]["step"], "epoch": epoch + 1, "eval": {"loss": error, "error": error}})


def near(a, b):
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in b)
    return abs(a - b) <= 1e-5 * abs(b) + 1e-6


lines = [json.loads(line) for line in open(log, encoding="utf-8")]
for line in lines:
    if line.pop("seconds") < 0:
        sys.exit("negative time")
if len(lines) != len(want) or not all(near(a, b) for a, b in zip(lines, want)):
    sys.exit(next((f"{a} is not {b}" for a, b in zip(lines, want) if not near(a, b)), "another number of lines"))

data = open(checkpoint, "rb").read()
size, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
meta = header.pop("__metadata__")
got = {n: np.frombuffer(data[8 + size:][slice(*e["data_offsets"])], {"F32": "<f4", "I64": "<i8"}[e["dtype"]])
       .reshape(e["shape"]) for n, e in header.items()}
if list(got) != ["w", "w.velocity", "spare"] or got["spare"].tolist() != [3, 4]:
    sys.exit(f"the variables are {got}")
if not (np.allclose(got["w"], w, 1e-5, 1e-6) and np.allclose(got["w.velocity"], v, 1e-5, 1e-6)):
    sys.exit(f"{got} is not {w}, {v}")
plain = {k: meta[k] for k in ("step", "epoch", "seed", "samples", "batch")}
if plain != {"step": str(lines[-1]["step"]), "epoch": epochs, "seed": seed, "samples": str(len(x)), "batch": str(BATCH)}:
    sys.exit(f"the metadata are {meta}")
