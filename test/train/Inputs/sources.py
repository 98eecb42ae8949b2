"""sources.py FOLDER: the same five samples of 2 x 3 numbers and a label in every form that glow-train reads.
sources.py --check CHECKPOINT FORM: the batch that a checkpoint of rows.gg has, samples 2 and 3, is right."""
import json
import os
import struct
import sys

import numpy as np

BYTES = (np.arange(30) * 7 % 256).reshape(5, 2, 3).astype(np.uint8)
LABELS = np.array([2, 0, 1, 2, 1])
MEAN, STD = 100, 50


def safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, a) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def idx(path, code, a):
    open(path, "wb").write(bytes([0, 0, code, a.ndim]) + struct.pack(f">{a.ndim}I", *a.shape) + a.tobytes())


def make(d):
    os.makedirs(d)
    numbers = BYTES.astype(np.float32)
    for kind in "u1", "f4", "f8", "i2", "u8":
        np.save(f"{d}/x_{kind}.npy", BYTES.astype(kind))
    np.save(f"{d}/x_one.npy", numbers.reshape(5, 1, 2, 1, 3))
    for kind in "u1", "i8", "f4", "i4":
        np.save(f"{d}/l_{kind}.npy", LABELS.astype(kind))
    safetensors(f"{d}/all.st", {"x": ("F32", numbers), "bytes": ("U8", BYTES), "l": ("I32", LABELS.astype("<i4"))})
    idx(f"{d}/x.idx", 0x08, BYTES)
    idx(f"{d}/x4.idx", 0x0d, BYTES.astype(">f4"))
    idx(f"{d}/l.idx", 0x08, LABELS.astype(np.uint8))
    idx(f"{d}/l4.idx", 0x0c, LABELS.astype(">i4"))
    rows = [[str(v) for v in sample.ravel()] + [str(label)] for sample, label in zip(BYTES, LABELS)]
    plain = "".join(",".join(r) + "\n" for r in rows)
    open(f"{d}/plain.csv", "w").write(plain)
    open(f"{d}/dos.csv", "w").write(plain.replace("\n", "\r\n") + "\r\n\r\n")
    open(f"{d}/torn.csv", "w").write(plain[:-1])
    heading = 'a,b,"c, ""or"" d",d,e,f,label\n'
    open(f"{d}/named.csv", "w").write(heading + "".join(
        ",".join([f' {r[0]}', f'"{r[1]}"', r[2] + ".0", f"{int(r[3])}e0"] + r[4:]) + "\n" for r in rows))
    open(f"{d}/text", "wb").write(BYTES.tobytes() + b"!")
    for c in "cat", "ant", "bee":
        os.makedirs(f"{d}/pictures/{c}")
    # ant is 0, bee 1, cat 2: the order of the samples is that of the classes, so names tell the sample
    open(f"{d}/pictures/.hidden", "w").write("no class")
    open(f"{d}/pictures/readme", "w").write("no folder")
    for i, (sample, label) in enumerate(zip(BYTES, LABELS)):
        c = ["ant", "bee", "cat"][label]
        open(f"{d}/pictures/{c}/{i}.pgm", "wb").write(b"P5 3 2 255\n" + sample.tobytes())


def check(path, form):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    got = {n: np.frombuffer(data[8 + size:][slice(*header[n]["data_offsets"])], k)
           for n, k in (("seen", "<f4"), ("seen.label", "<i8"))}
    chosen = [2, 3]
    if form == "pictures":  # sorted by class, then by name
        chosen = sorted(range(5), key=lambda i: (LABELS[i], i))[2:4]
    want = BYTES[chosen].astype(np.float32).ravel()
    if form in ("scaled", "pictures"):
        want = ((want - MEAN) / STD).astype(np.float32)
    labels = LABELS[chosen]
    if form == "text":
        want, labels = BYTES.ravel()[12:24].astype(np.float32), None
    if form == "next":
        want, labels = np.append(BYTES.ravel(), ord("!"))[13:25].astype(np.float32), None
    if not (got["seen"] == want).all() or labels is not None and not (got["seen.label"] == labels).all():
        sys.exit(f"{form}: {got} is not {want}, {labels}")


if sys.argv[1] == "--check":
    check(*sys.argv[2:])
else:
    make(sys.argv[1])
