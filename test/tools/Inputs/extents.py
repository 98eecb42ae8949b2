#!/usr/bin/env python3
"""extents.py FOLDER: runs open.gg, open.gir and open.digits.gir of the folder for some extents, and compares
the files that come out with those of the same texts after -bind. Leaves the inputs x<n>.npy and y<n>-<m>.npy."""
import itertools
import os
import random
import struct
import subprocess
import sys

folder = sys.argv[1]


def save(path, shape):
    count = 1
    for extent in shape:
        count *= extent
    draw = random.Random(path.rsplit("/", 1)[-1])
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{count}f", *(draw.gauss(0, 1) for _ in range(count))))


def run(text, inputs, outputs, *options):
    """The bytes of the outputs."""
    for name in inputs:
        options += "--input", f"{name}={folder}/{inputs[name]}.npy"
    subprocess.run(["glow-run", text, *options, "--output-dir", f"{folder}/out"], check=True,
                   stdout=subprocess.DEVNULL)
    return [open(f"{folder}/out/{name}.npy", "rb").read() for name in outputs]


def bind(form, what):
    """The file of open.FORM with extents in the places of its symbols."""
    bound = f"{folder}/bound.{form}"
    subprocess.run(["glow-opt", f"{folder}/open.{form}", f"-bind={what}", "-o", bound], check=True)
    return bound


for n in 2, 3, 5, 8:
    save(f"{folder}/x{n}.npy", (n, 4))
    for m in 1, 3:
        save(f"{folder}/y{n}-{m}.npy", (n, m, 4))
for n, m, form in itertools.product((2, 5, 8), (1, 3), ("gg", "gir")):
    bound = bind(form, f"N={n};M={m}")
    given = {"x": f"x{n}", "y": f"y{n}-{m}"}
    for backend in "--backend=interp", "--backend=cpu":
        if run(f"{folder}/open.{form}", given, "rsc", backend) != run(bound, given, "rsc", backend):
            sys.exit(f"{form}: {backend} has other bits where N is {n} and M is {m}")

# A model: one executable, which the second run finds in the cache, for batches of any size.
digits, cache = f"{folder}/open.digits.gir", f"{folder}/cache"
kept = []
for n in 1, 7, 32:
    save(f"{folder}/image{n}.npy", (n, 1, 8, 8))
    given, names = {"image": f"image{n}"}, ["logits"]
    want = run(bind("digits.gir", f"batch={n}"), given, names)
    if run(digits, given, names, f"--cache-dir={cache}") != want:
        sys.exit(f"digits-cnn has other bits for a batch of {n}")
    kept.append(sorted(os.listdir(cache)))
if not kept[0] or kept[1:] != kept[:-1]:
    sys.exit(f"batches have executables of their own: {kept}")
