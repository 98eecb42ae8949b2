"""hostile.py FOLDER: files that do not fit rows.gg, and a function with two classes.
hostile.py --run COMMAND...: files that claim what they do not have, each refused within 64 MB of new memory, as samples
and as checkpoints.
hostile.py --times COMMAND...: the same, and how many milliseconds each takes: of 9 runs the fastest, less that of a run
that finds no file at all."""
import os
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

LIMIT = 64 << 20
CLASSES = """declare {
  placeholder @label : i64<2>
  placeholder @y : float<2>
  constant @table : float<2> = [1.0, 2.0]
}
func @train {
  %y = Gather(@table, @label) : float<2>
  Save(%y, @y)
}
"""


def misfits(d):
    np.save(f"{d}/short.npy", np.zeros(4, np.int64))
    np.save(f"{d}/few.npy", np.zeros((1, 2, 3), np.float32))
    np.save(f"{d}/one.npy", np.zeros(1, np.int64))
    np.save(f"{d}/zero.npy", np.zeros((0, 2, 3), np.float32))
    np.save(f"{d}/zero_l.npy", np.zeros(0, np.int64))
    np.save(f"{d}/half.npy", np.array([0, .5, 1, 1, 1]))
    open(f"{d}/bad.csv", "w").write("a,b\n1,2\n1,two\n1,2\n1,2\n1,2\n")
    open(f"{d}/classes.gg", "w").write(CLASSES)


def npy(shape, data=b""):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def header(text, data=b"", size=None):
    return struct.pack("<Q", len(text) if size is None else size) + text + data


HOSTILE = {
    "x": npy("(1000000000, 2, 3)"), "x.2": npy("(4611686018427387904, 2, 3)"), "x.3": npy("(5, 2, 3)", b"1234"),
    "x.4": npy("(5, 2, 3") + b"\x00" * 120, "x.5": b"\x93NUMPY\x01\x00\xff\xff{",
    "idx": bytes([0, 0, 8, 3]) + b"\xff" * 12, "idx.2": bytes([0, 0, 8, 3, 0, 0]), "idx.3": bytes([0, 0, 14, 8]) + b"\x7f" * 32,
    "s:x": header(b'{"x":{"dtype":"F32","shape":[999999999,2,3],"data_offsets":[0,23999999976]}}'),
    "s.2:x": header(b"{" * 5000), "s.3:x": header(b"{}", size=2**63), "s.4:x": header(b'{"__metadata__":' + b"[" * 5000),
    "c:0-5": b"1,2,3,4,5,6\n" * 3 + b'"' + b"1" * 100000, "c.2:0-5": b"," * 1000000, "c.3:0-1048575": b"1",
    "c.4:0-99999999999": b"1", "c.5:0-5": b"\x00" * 100000, "c.6:a": b"a\n", "c.7:0-5": b"",
    "t:window=99999999999": b"1", "t.2:window=6": b"", "t.3:window=": b"123", "nothing": b"\x00\x00",
}


CHECKPOINTS = ["s", "s.2", "s.3", "s.4", "c.5", "c.7", "t"]


def attempt(command):
    """Exit status, messages, KiB of memory and milliseconds of a run."""
    before = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = p.stderr.read().decode(errors="replace")
    _, status, use = os.wait4(p.pid, 0)
    return os.waitstatus_to_exitcode(status), text, use.ru_maxrss, (time.monotonic() - before) * 1000


def run(command, times):
    with tempfile.TemporaryDirectory() as d:
        command = command + ["--backend=interp", "--steps", "1", "--data", f"label={d}/l.npy", "--data"]
        np.save(f"{d}/ok.npy", np.zeros((5, 2, 3), np.float32))
        np.save(f"{d}/l.npy", np.zeros(5, np.int64))
        code, text, usual, _ = attempt(command + [f"x={d}/ok.npy"])
        if code:
            sys.exit(f"what is right is refused: {text}")
        with open(f"{d}/large.npy", "wb") as f:  # 300 MB, which lie in a hole of the file
            f.write(npy("(12500000, 2, 3)"))
            f.truncate(f.tell() + 300000000)
        np.save(f"{d}/many.npy", np.zeros(12500000, np.uint8))
        code, text, memory, _ = attempt([w.replace("/l.npy", "/many.npy") for w in command] + [f"x={d}/large.npy"])
        if code or (memory - usual) * 1024 > (100 << 20) + LIMIT:  # an order takes 8 bytes a sample
            sys.exit(f"300 MB of samples: status {code}, {memory} KiB\n{text}")
        least = min(attempt(command + [f"x={d}/none"])[3] for _ in range(9)) if times else 0
        for name, content in HOSTILE.items():
            open(f"{d}/{name.split(':')[0]}", "wb").write(content)
        trials = [(n, [f"x={d}/{n}"]) for n in HOSTILE]
        trials += [(f"{n} as checkpoint", [f"x={d}/ok.npy", "--resume", f"{d}/{n}"]) for n in CHECKPOINTS]
        for name, words in trials:
            results = [attempt(command + words) for _ in range(9 if times else 1)]
            code, text, memory, _ = results[0]
            if code != 1 or words[-1].split("=", 1)[-1].split(":")[0] not in text:
                sys.exit(f"{name}: status {code}\n{text}")
            if (memory - usual) * 1024 > LIMIT and not os.environ.get("ASAN_OPTIONS"):
                sys.exit(f"{name}: {memory} KiB")
            if times:
                print(f"{min(r[3] for r in results) - least:8.2f} ms  {name}")


if sys.argv[1] in ("--run", "--times"):
    run(sys.argv[2:], sys.argv[1] == "--times")
else:
    misfits(sys.argv[1])
