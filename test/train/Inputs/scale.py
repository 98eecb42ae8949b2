"""scale.py CHECKPOINT W0 W1 SCALE GOOD STEP: exact values of variables."""
import json
import sys

import numpy as np

with open(sys.argv[1], "rb") as f:
    data = f.read()
n = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + n])
get = lambda name, kind: np.frombuffer(data[8 + n:][slice(*header[name]["data_offsets"])], kind).tolist()
got = get("w", "f4") + get("train.scale", "f4") + get("train.good", "i8") + get("train.step", "i8")
assert got == [float(v) for v in sys.argv[2:]], got
