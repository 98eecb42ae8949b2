#!/usr/bin/env python3
"""extents.py FOLDER: runs open.gg and open.gir of the folder for some extents, and compares the files
that come out with those of the same texts after -bind. Leaves the inputs x<n>.npy and y<n>-<m>.npy."""
import itertools
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


def run(text, backend, n, m):
    """The bytes of the outputs."""
    out = f"{folder}/out"
    subprocess.run(["glow-run", text, f"--backend={backend}", "--input", f"x={folder}/x{n}.npy",
                    "--input", f"y={folder}/y{n}-{m}.npy", "--output-dir", out],
                   check=True, stdout=subprocess.DEVNULL)
    return [open(f"{out}/{name}.npy", "rb").read() for name in "rs"]


for n in 2, 3, 5, 8:
    save(f"{folder}/x{n}.npy", (n, 4))
    for m in 1, 3:
        save(f"{folder}/y{n}-{m}.npy", (n, m, 4))
for n, m, form in itertools.product((2, 5, 8), (1, 3), ("gg", "gir")):
    bound = f"{folder}/bound.{form}"
    subprocess.run(["glow-opt", f"{folder}/open.{form}", f"-bind=N={n};M={m}", "-o", bound],
                   check=True)
    for backend in "interp", "cpu":
        if run(f"{folder}/open.{form}", backend, n, m) != run(bound, backend, n, m):
            sys.exit(f"{form}: {backend} has other bits where N is {n} and M is {m}")
