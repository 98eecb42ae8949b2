#!/usr/bin/env python3
"""make_bad.py DIR: writes files that lie about themselves, one per kind of fault."""
import json
import os
import struct
import sys
import zlib


def png(width, height, rows, depth=8, color=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def deflated_zeros(n):
    compress = zlib.compressobj(9)
    out, block = [], bytes(1 << 20)
    while n > 0:
        out.append(compress.compress(block[:min(n, len(block))]))
        n -= len(block)
    return b"".join(out) + compress.flush()


def npy(header, data=b"", version=1):
    text = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def jpeg(height, width):
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\xff\xd9"


def descr(shape, kind="<f4", order="False"):
    return "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n" % (kind, order, shape)


FILES = {
    "bomb.png": lambda: png(20000, 20000, deflated_zeros(20000 * 20001)),
    "lying.png": lambda: png(1000, 1000, zlib.compress(bytes(10))),
    "zero.png": lambda: png(0, 8, zlib.compress(b"")),
    "cut.png": lambda: png(8, 8, zlib.compress(bytes(72)))[:50],
    "lying.jpg": lambda: jpeg(60000, 60000),
    "empty.jpg": lambda: jpeg(8, 8),
    "zero.jpg": lambda: jpeg(0, 0),
    "lying.pgm": lambda: b"P5 60000 60000 255\n12",
    "short.pgm": lambda: b"P2 3 3 255\n1 2 3",
    "negative.pgm": lambda: b"P2 -3 3 255\n1 2 3",
    "huge.npy": lambda: npy(descr("(1099511627776, 1099511627776)")),
    "long.npy": lambda: npy(descr("(1000,)"), bytes(10)),
    "negative.npy": lambda: npy(descr("(-1, 4)"), bytes(16)),
    "deep.npy": lambda: npy(descr("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), bytes(4)),
    "dict.npy": lambda: npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", bytes(4)),
    "header.npy": lambda: b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
    "object.npy": lambda: npy(descr("(1,)", "|O"), b"\x80\x04N."),
    "lying.safetensors": lambda: struct.pack("<Q", 1 << 62) + b"{}",
    "offsets.safetensors": lambda: safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(4)),
    "product.safetensors": lambda: safetensors(
        {"w": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 8]}}, bytes(8)),
    "kind.safetensors": lambda: safetensors({"w": {"dtype": "F31", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
    "deep.safetensors": lambda: safetensors(b'{"w":' + b"[" * 100000, b""),
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, make in FILES.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(make())


main()
