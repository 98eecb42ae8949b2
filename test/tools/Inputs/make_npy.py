#!/usr/bin/env python3
"""Writes FILE.npy of floats, all 1, of the shape that the other arguments give."""
import struct
import sys

shape = tuple(int(extent) for extent in sys.argv[2:])
count = 1
for extent in shape:
    count *= extent
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(sys.argv[1], "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    f.write(struct.pack("<f", 1.0) * count)
