"""Compares operators with oracles: numpy in double precision, written independently of the kernels.

    oracle.py --tools BUILD/bin [--op NAME]... [--cases N] [--seed N] [--keep DIR] [--planted] [--cpu]
              [--slice K/N]
    oracle.py --tools BUILD/bin --unknown [--op NAME]... [--cases N] [--seed N] [--keep DIR]
    oracle.py --complete BUILD/gen/ops/Ops.md

Each file beside this one holds a family. An oracle is a generator of cases:

    @oracle("Softplus")
    def softplus(g):
        for kind in FLOATS:
            x = g.tensor(kind, g.shape())          # specials are in it: ±0, NaN, inf, denormals, ties
            yield Case([x], [Result(kind, np.logaddexp(0, x.wide()))], ulps=2)

A Case is one node `%r... = OP(inputs) {members}`, or the lines of `body`, which calls its inputs $0,
$1, ... and its results %r0, %r1, ... An input is a Tensor (given at run time), a Tensor with
.const() (an inline constant), or None (absent). A Result is a kind and the expected
values, in double or better; `scale` is S of docs/Numerics, the expression over absolute values, where
the error of a sum is judged by c*u*S. Integers, booleans and strings are compared exactly, and so
is everything with ulps=0. Each case runs on the graph walker and, unless graph_only, as a program
(-O0), and on primitives alone, which must give the same bits. Case(..., error="regex") must be refused with exit status 1 and
a message that matches. An oracle is called --cases times with another random state.

sweep.py adds cases that are not random: @sweep("Pad") generates them, once for each operator.

--complete reads the generated page of operators: each node on it must have an oracle, or a reason in
EXCEPTIONS why it has none, and not both; and one that takes axes, starts, pads or repeats a sweep, or a
reason in NOT_SWEPT.

--cpu compares with machine code instead of the program and the primitives: with library code, and with
compiled code in the first round and in sweeps, since LLVM takes most of the time. Sweeps also run as what -O2
-exact makes of them.

--unknown runs nothing: each case that is right must also verify, with the same types written at its results,
where less is known of all of its operands or of one: `..N` or `?` for each extent, `<*>` for the shape, or constants that
are parameters.

--planted changes one element of every expectation; then every operator must be reported.

Kinds that .npy cannot hold travel as wider ones between two Casts; strings are inline."""
import argparse
import concurrent.futures
import glob
import importlib
import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import slices  # noqa: E402

FLOATS = ["float", "double", "float16", "bfloat16"]
SINTS = ["i8", "i16", "i32", "i64"]
UINTS = ["u8", "u16", "u32", "u64"]
INTS = SINTS + UINTS
NUMS = FLOATS + INTS
DATA = NUMS + ["bool"]
DTYPE = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_,
         "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
         "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "complex64": np.complex64,
         "complex128": np.complex128, "string": object}
# Kinds without a numpy type: the kind that carries them, and for floats exponent and mantissa bits,
# bias and largest finite value.
CARRIED = {"bfloat16": "float", "float8e4m3fn": "float", "float8e4m3fnuz": "float",
           "float8e5m2": "float", "float8e5m2fnuz": "float", "i4": "i8", "u4": "u8", "i2": "i8",
           "u2": "u8"}
SMALL = {"bfloat16": (8, 7, 127, 3.3895313892515355e38), "float8e4m3fn": (4, 3, 7, 448.0),
         "float8e4m3fnuz": (4, 3, 8, 240.0), "float8e5m2": (5, 2, 15, 57344.0),
         "float8e5m2fnuz": (5, 2, 16, 57344.0)}
MANTISSA = {"float": 23, "double": 52, "float16": 10, "bfloat16": 7, "float8e4m3fn": 3,
            "float8e4m3fnuz": 3, "float8e5m2": 2, "float8e5m2fnuz": 2}
LEAST = {"float": 2.0**-149, "double": 2.0**-1074, "float16": 2.0**-24, "bfloat16": 2.0**-133,
         "float8e4m3fn": 2.0**-9, "float8e4m3fnuz": 2.0**-10, "float8e5m2": 2.0**-16,
         "float8e5m2fnuz": 2.0**-17}
BITS = {"i4": (-8, 7), "u4": (0, 15), "i2": (-2, 1), "u2": (0, 3)}


def is_float(kind):
    return kind in MANTISSA


def limits(kind):
    """The smallest and largest value of an integer kind."""
    if kind in BITS:
        return BITS[kind]
    info = np.iinfo(DTYPE[kind])
    return int(info.min), int(info.max)


def largest(kind):
    """The largest finite value of a floating-point kind."""
    return SMALL[kind][3] if kind in SMALL else float(np.finfo(DTYPE[kind]).max)


def round_to(kind, values):
    """`values` (double) rounded to nearest even in `kind`, as the array that carries the kind."""
    if kind not in SMALL:
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(DTYPE[kind])
    _, mantissa, bias, top = SMALL[kind]
    v = np.asarray(values, np.float64)
    finite = np.isfinite(v)
    _, exponent = np.frexp(np.where(finite, v, 0))
    step = np.ldexp(1.0, np.maximum(exponent - 1, 1 - bias) - mantissa)
    r = np.where(finite, np.rint(np.where(finite, v, 0) / step) * step, v)
    over = np.nan if kind != "bfloat16" and kind != "float8e5m2" else np.inf
    r = np.where(np.abs(r) > top, np.copysign(over, r), r)
    if kind.endswith("fnuz"):
        r = r + 0.0  # there is no -0
    return r.astype(np.float32)


class Tensor:
    """A value of an element kind; `data` is its numpy array (of the carrying kind)."""

    def __init__(self, kind, data, constant=False):
        self.kind = kind
        if kind in SMALL:
            data = round_to(kind, data)
        self.data = np.asarray(data, dtype=DTYPE[CARRIED.get(kind, kind)])
        self.constant = constant

    shape = property(lambda self: self.data.shape)

    def const(self):
        return Tensor(self.kind, self.data, constant=True)

    def wide(self):
        """The values as double, double itself as long double; integers as Python's, exactly."""
        if self.kind == "double":
            return self.data.astype(np.longdouble)
        if is_float(self.kind):
            return self.data.astype(np.float64)
        return self.data


class Result:
    """What a result must be; `claim` is the shape in the text where it is not the expected one."""

    def __init__(self, kind, values, scale=None, claim=None):
        self.kind, self.values, self.scale = kind, np.asarray(values), scale
        self.claim = claim


class Case:
    """One node, or the lines of `body`, with what must come out; see above."""

    def __init__(self, inputs, results=(), members="", ulps=None, error=None, graph_only=False,
                 annotate=False, run_args=(), body=()):
        self.inputs, self.results, self.members = inputs, list(results), members
        self.ulps, self.error, self.graph_only = ulps, error, graph_only
        self.annotate = annotate  # the node's result types must be written (infer says "free")
        self.run_args = list(run_args)
        self.body = list(body)
        self.swept = False
        self.compiled = True  # with --cpu: by compiled code, too


class Random:
    """Shapes and values of one round."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.round = seed[-1] if isinstance(seed, (list, tuple)) else seed

    def integer(self, low, high):
        """Uniform in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, choices):
        return choices[self.integer(0, len(choices) - 1)]

    def shape(self, low=0, high=4, extent=5, zero=True):
        """A shape of rank low to high; one in eight has an extent of 0 where `zero` allows."""
        dims = [self.integer(1, extent) for _ in range(self.integer(low, high))]
        if zero and dims and self.integer(0, 7) == 0:
            dims[self.integer(0, len(dims) - 1)] = 0
        return tuple(dims)

    def broadcast_pair(self, **kw):
        """Two shapes that broadcast."""
        full = self.shape(**kw)
        def weaken(s):
            s = tuple(1 if self.integer(0, 3) == 0 else d for d in s)
            return s[self.integer(0, len(s)):] if self.integer(0, 2) == 0 and s else s
        return (weaken(full), full) if self.integer(0, 1) else (full, weaken(full))

    def tensor(self, kind, shape=None, special=True, low=None, high=None):
        """Random values: floats with special ones among them unless bounded, integers with their
        extremes."""
        shape = self.shape() if shape is None else tuple(shape)
        n = int(np.prod(shape, dtype=np.int64))
        if kind == "bool":
            return Tensor(kind, self.rng.integers(0, 2, shape).astype(bool))
        if kind == "string":
            words = ["", "a", "B", "Glow", "ß", "Ünï", "x y", "1.5", "z" * 20]
            return Tensor(kind, np.array([self.pick(words) for _ in range(n)], object).reshape(shape))
        if is_float(kind):
            return Tensor(kind, self._floats(kind, n, special, low, high).reshape(shape))
        if kind.startswith("complex"):
            return Tensor(kind, (self.rng.normal(size=n) + 1j * self.rng.normal(size=n)).reshape(shape))
        lo, hi = limits(kind)
        if low is not None:
            return Tensor(kind, self.rng.integers(low, high, n, endpoint=True).reshape(shape))
        values = [self.pick([lo, hi, 0, 1, max(lo, -1)]) if special and self.integer(0, 3) == 0
                  else self.integer(max(lo, -100), min(hi, 100)) for _ in range(n)]
        return Tensor(kind, np.array(values, dtype=DTYPE[CARRIED.get(kind, kind)]).reshape(shape))

    def _floats(self, kind, n, special, low, high):
        if low is not None:
            return self.rng.uniform(low, high, n)
        v = self.rng.normal(size=n) * 2.0 ** self.rng.integers(-3, 4, n)
        if special:
            least, top = LEAST[kind], largest(kind)
            tiny = 2.0 ** -(2 ** 3 - 2) if kind.startswith("float8") else least * 2.0 ** MANTISSA[kind]
            rare = [0.0, -0.0, np.nan, np.inf, -np.inf, least, -least, tiny, -tiny * 0.5, top, -top,
                    0.5, 1.5, 2.5, -0.5, -1.5, 1.0, -1.0]
            for i in range(n):
                if self.integer(0, 3) == 0:
                    v[i] = self.pick(rare)
        return v

    def ints(self, values, kind="i64"):
        """A run-time tensor or an inline constant of these integers, by chance."""
        t = Tensor(kind, np.array(values, dtype=np.int64))
        return t.const() if self.integer(0, 1) else t


ORACLES = {}
# Operators without an oracle, and why.
EXCEPTIONS = {
    "Call": "control flow: infer/control.gg, irgen/control.gg, the corpus",
    "Fail": "has no result: irgen/fail.gg",
    "If": "control flow: infer/control.gg, irgen/control.gg, the corpus",
    "Loop": "control flow: infer/control.gg, irgen/control.gg, the corpus",
    "Scan": "control flow: infer/control.gg, irgen/control.gg, the corpus",
    "Return": "ends a function",
    "Yield": "ends a region",
    "Save": "every case ends in one",
    "Relayout": "no file holds other layouts: kernels_test.c and interp_test.c",
}


SWEEPS = {}
# Operators with axes, starts, pads or repeats that have no sweep, and why.
NOT_SWEPT = {
    "SplitToSequence": "a sequence: the corpus",
    "ConcatFromSequence": "a sequence: the corpus",
    "QuantizeLinear": "reads its axis as DequantizeLinear does",
    "ObserveSums": "its few cases have every axis, random and exact",
}


def sweep(*ops):
    """Registers a generator of cases that are not random; it is called as f(op)."""
    def register(f):
        for op in ops:
            assert op not in SWEEPS, op
            SWEEPS[op] = f
        return f
    return register


def oracle(*ops):
    """Registers a generator of cases for operators; it is called as f(g), or f(g, op) for several."""
    def register(f):
        for op in ops:
            assert op not in ORACLES, op
            ORACLES[op] = f if len(ops) == 1 else (lambda g, op=op: f(g, op))
        return f
    return register


# ---- the text of a case --------------------------------------------------------------------------


def shape_text(shape):
    return "<" + " x ".join(str(d) for d in shape) + ">"


def literal(kind, v):
    if kind == "string":
        return '"' + "".join(c if 32 <= ord(c) and c not in '"\\' else "\\x%02x" % ord(c)
                             for c in v) + '"'
    if kind == "bool":
        return "true" if v else "false"
    if not is_float(kind):
        return str(int(v))
    if np.isnan(v):
        return "nan"
    if np.isinf(v):
        return "-inf" if v < 0 else "inf"
    return repr(float(v))


def list_text(kind, a):
    if np.ndim(a) == 0:
        return literal(kind, a[()] if isinstance(a, np.ndarray) else a)
    return "[" + ", ".join(list_text(kind, x) for x in a) + "]"


def initializer(t):
    if t.data.size == 0:
        return "[]"
    return list_text(t.kind, t.data)


def module_text(op, case):
    """The module of a case, and the names of the inputs that are given at run time."""
    declare, body, operands, given = [], [], [], []
    for i, t in enumerate(case.inputs):
        if t is None:
            operands.append("none")
            continue
        carrier = CARRIED.get(t.kind, t.kind)
        if t.constant or t.kind == "string":
            declare.append(f"constant @x{i} : {t.kind}{shape_text(t.shape)} = {initializer(t)}")
            operands.append(f"@x{i}")
            continue
        declare.append(f"placeholder @x{i} : {carrier}{shape_text(t.shape)}")
        given.append((f"x{i}", t))
        operands.append(f"@x{i}")
        if carrier != t.kind:
            body.append(f"%c{i} = Cast(@x{i}) {{to = {t.kind}}} : {t.kind}{shape_text(t.shape)}")
            operands[-1] = f"%c{i}"
    types, saves = [], []
    for i, r in enumerate(case.results):
        carrier = CARRIED.get(r.kind, r.kind)
        shape = r.claim or shape_text(r.values.shape)
        types.append(r.kind + shape)
        declare.append(f"placeholder @y{i} : {carrier}{shape}")
        if carrier != r.kind:
            saves.append(f"%d{i} = Cast(%r{i}) {{to = {carrier}}} : {carrier}{shape}")
        saves.append(f"Save(%{'d' if carrier != r.kind else 'r'}{i}, @y{i})")
    names = ", ".join(f"%r{i}" for i in range(max(1, len(case.results))))
    note = " : " + ", ".join(types) if case.annotate else ""
    members = f" {{{case.members}}}" if case.members else ""
    if case.body:
        body += [re.sub(r"\$(\d+)", lambda m: operands[int(m[1])], line) for line in case.body]
    else:
        body.append(f"{names} = {op}({', '.join(operands)}){members}{note}")
    lines = ["declare {"] + ["  " + d for d in declare] + ["}", "func @main {"]
    return "\n".join(lines + ["  " + b for b in body + saves] + ["}", ""]), given


# How much is known of an operand's shape.
LESS = {
    "bounded": lambda t: "<" + " x ".join(f"..{d}" if d else "0" for d in t.shape) + ">",
    "open": lambda t: "<" + " x ".join("?" * len(t.shape)) + ">",
    "unranked": lambda t: "<*>",
    "not constant": lambda t: shape_text(t.shape),
    "nothing": lambda t: "<*>",
}


# What one extent of 1 must be, to be sure, where the other operand gives way only then.
UNCERTAIN = re.compile("does not broadcast to|the product has extent 1 there")


def unknown_text(op, case, less, only, index):
    """A function with the nodes of a case; less is known of its operands, or of the one with number `only`."""
    declare, params, operands = [], [], []
    for i, t in enumerate(case.inputs):
        if t is None:
            operands.append("none")
        elif t.constant and (less not in ("not constant", "nothing") or only not in (None, i)):
            declare.append(f"  constant @x{index}_{i} : {t.kind}{shape_text(t.shape)} = {initializer(t)}")
            operands.append(f"@x{index}_{i}")
        else:
            params.append(f"%x{i} : {t.kind}{shape_text(t.shape) if only not in (None, i) else LESS[less](t)}")
            operands.append(f"%x{i}")
    if case.body:
        body = [re.sub(r"\$(\d+)", lambda m: operands[int(m[1])], line) for line in case.body]
    else:
        names = ", ".join(f"%r{i}" for i in range(max(1, len(case.results))))
        types = ", ".join(r.kind + (r.claim or shape_text(r.values.shape)) for r in case.results)
        members = f" {{{case.members}}}" if case.members else ""
        body = [f"{names} = {op}({', '.join(operands)}){members} : {types}"]
    return declare, [f"func @case{index}({', '.join(params)}) {{"] + ["  " + line for line in body] + ["}"]


def check_unknown(options, op):
    """The number of functions made of the cases of an operator, and what is wrong with them."""
    declare, functions, count = [], [], 0
    with np.errstate(all="ignore"):
        cases = [case for case, _ in cases_of(options, op) if not case.error]
    for case in cases:
        single = range(len(case.inputs)) if 1 < len(case.inputs) < 9 else ()
        for less, only in itertools.product(LESS, (None, *single)):
            more, lines = unknown_text(op, case, less, only, count)
            declare += more
            functions += lines
            count += 1
    text = "\n".join(["declare {"] + declare + ["}"] + functions + [""])
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(options.keep or folder, f"{op}.gg")
        with open(module, "w", encoding="utf-8") as f:
            f.write(text)
        run = subprocess.run([os.path.join(options.tools, "glow-opt"), module, "-o", os.devnull],
                             capture_output=True, text=True, errors="replace")
    errors = [line for line in run.stderr.splitlines() if " error: " in line]
    if run.returncode == 0 or (run.returncode == 1 and errors and all(UNCERTAIN.search(line) for line in errors)):
        return count, []
    return count, [f"{op}: exit status {run.returncode}\n{run.stderr}"]


# ---- running and judging -------------------------------------------------------------------------


def read_strings(path):
    """The string_data (field 6) and dims (field 1) of a TensorProto."""
    data, at, dims, out = open(path, "rb").read(), 0, [], []

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            v = varint()
            if tag >> 3 == 1:
                dims.append(v)
            continue
        n = varint()
        payload, at = data[at:at + n], at + n
        if tag >> 3 == 6:
            out.append(payload.decode())
        elif tag >> 3 == 1:
            save, data, at = (data, at), payload, 0
            while at < len(data):
                dims.append(varint())
            data, at = save
    return np.array(out, object).reshape(dims)


def read_result(folder, i, kind):
    if kind == "string":
        return read_strings(os.path.join(folder, f"y{i}.pb"))
    return np.load(os.path.join(folder, f"y{i}.npy"))


def differences(case, r, got):
    """None, or what is wrong with the first wrong element."""
    if got.shape != r.values.shape:
        return f"shape {got.shape}, expected {r.values.shape}"
    if not is_float(r.kind) or case.ulps == 0:
        want = r.values if not is_float(r.kind) else round_to(r.kind, r.values)
        same = np.asarray(got == want)
        if is_float(r.kind):
            # Exact: the sign of zero counts too.
            same = (same & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))
        elif r.kind.startswith("complex"):
            same |= np.isnan(got) & np.isnan(want)
        bad = np.argwhere(~same)
    else:
        c = 2 if case.ulps is None else case.ulps
        want, u = r.values, 2.0 ** -(MANTISSA[r.kind] + 1)
        have = got.astype(np.longdouble if r.kind == "double" else np.float64)
        with np.errstate(all="ignore"):
            scale = np.abs(want) if r.scale is None else np.maximum(np.abs(want), r.scale)
            # c ulps: an ulp is up to 2 u |x|; below the normal range it is the least denormal.
            slack = np.maximum(2 * c * u * scale, c * LEAST[r.kind])
            ok = np.abs(have - want) <= slack
            ok |= (np.isnan(have) & np.isnan(want)) | (have == want)
            top = largest(r.kind)
            ok |= np.isinf(have) & (np.sign(have) == np.sign(want)) & (np.abs(want) >= top - slack)
        bad = np.argwhere(~np.broadcast_to(ok, got.shape))
    if not len(bad):
        return None
    at = tuple(bad[0])
    return f"{len(bad)} of {got.size} elements differ, first at {list(map(int, at))}: " \
           f"got {got[at]!r}, expected {want[at]!r}"


def run_tool(options, folder, module, given, out, level):
    if "--backend=cpu" in level:
        command = [os.path.join(options.tools, "glow-run"), module]
    else:
        command = [options.interp, module, "--backend=interp"]
    command += ["--output-dir", out] + level
    for name, _ in given:
        command += ["--input", f"{name}={folder}/{name}.npy"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def plant(case):
    """Makes the first expectation that has elements wrong; false if the case has none."""
    for r in case.results:
        if r.values.size and not case.error:
            values = r.values.copy().reshape(-1)
            v = values[0]
            if r.kind == "string":
                values[0] = v + "!"
            elif r.kind == "bool":
                values[0] = not v
            elif not is_float(r.kind):
                values[0] = v + 1 if v == 0 else 0
            else:
                values[0] = 1.0 if not np.isfinite(v) or v == 0 else -v
            r.values = values.reshape(r.values.shape)
            return True
    return False


def check_case(options, op, case, label):
    """None, or a message: what is wrong with the case and where its files are."""
    if options.planted and not plant(case):
        return None
    with tempfile.TemporaryDirectory() as scratch:
        folder = scratch
        if options.keep:
            folder = os.path.join(options.keep, label.replace(" ", "-"))
            os.makedirs(folder, exist_ok=True)
        text, given = module_text(op, case)
        module = os.path.join(folder, "case.gg")
        with open(module, "w", encoding="utf-8") as f:
            f.write(text)
        for name, t in given:
            np.save(os.path.join(folder, name + ".npy"), t.data)
        problem = judge(options, case, folder, module, given)
        return problem and f"{label}: {problem}\n{text}"


def judge(options, case, folder, module, given):
    graph = os.path.join(folder, "graph")
    os.makedirs(graph, exist_ok=True)
    run = run_tool(options, folder, module, given, graph, case.run_args)
    if case.error:
        if run.returncode != 1 or not re.search(case.error, run.stdout + run.stderr):
            return f"exit status {run.returncode}, expected an error like /{case.error}/: {run.stderr}"
        return None
    if run.returncode:
        return f"exit status {run.returncode}: {run.stderr}"
    results = [read_result(graph, i, r.kind) for i, r in enumerate(case.results)]
    for i, r in enumerate(case.results):
        wrong = differences(case, r, results[i])
        if wrong:
            return f"result {i} ({r.kind}): {wrong}"
    strings = any(r.kind == "string" for r in case.results)
    ways = [("program", ["-O0"]), ("primitives", ["--primitives"])]
    if options.cpu:
        levels = [("", ["-O0"])] + [("optimized ", ["-O2", "-exact"])] * case.swept
        ways = [(f"{how}{tier} code", level + ["--backend=cpu", f"--tier={tier}"]) for how, level in levels
                for tier in ["library"] + ["compiled"] * case.compiled]
    for what, level in ways:
        if what != "primitives" and (case.graph_only or strings):
            continue
        other = os.path.join(folder, what)
        os.makedirs(other, exist_ok=True)
        run = run_tool(options, folder, module, given, other, level + case.run_args)
        if run.returncode:
            return f"{what}: exit status {run.returncode}: {run.stderr}"
        for i, r in enumerate(case.results):
            if not same_bits(r.kind, read_result(other, i, r.kind), results[i]):
                return f"result {i}: graph and {what} differ"
    return None


def same_bits(kind, a, b):
    """Whether two results are the same, NaNs being one."""
    if a.shape != b.shape or kind == "string":
        return a.shape == b.shape and bool(np.all(a == b))
    if is_float(kind) or kind.startswith("complex"):
        a, b = (np.where(np.isnan(v), np.nan, v) for v in (a, b))
        return bool(np.array_equal(a, b, equal_nan=True) and
                    np.array_equal(np.signbit(a.real), np.signbit(b.real)))
    return bool(np.array_equal(a, b))


def cases_of(options, op):
    """The cases of an operator and what to call each."""
    for k in range(options.cases):
        for j, case in enumerate(ORACLES[op](Random([options.seed, *op.encode(), k]))):
            case.compiled = k == 0
            yield case, f"{op} round {k} case {j}"
    for j, case in enumerate(SWEEPS[op](op) if op in SWEEPS else ()):
        case.swept = True
        yield case, f"{op} sweep {j}"


def check_operator(options, op):
    """The number of cases and the messages of those that are wrong."""
    problems, count = [], 0
    with np.errstate(all="ignore"):
        for case, label in cases_of(options, op):
            problem = check_case(options, op, case, label)
            count += 1
            if problem:
                problems.append(problem)
            if len(problems) >= 3:
                break
    return count, problems


# Operands and members that choose axes, boxes and repetitions.
CHOICES = re.compile(r"`(?:Axes|Axis|Starts|Pads|Repeats) : |member `(?:axis|axes|perm) : ")


def check_complete(page):
    """0 if every operator on the generated page has an oracle or a reason; node names begin with a
    capital."""
    sections = re.findall(r"^## ([A-Z]\w*)$(.*?)(?=^## |\Z)", open(page, encoding="utf-8").read(), re.M | re.S)
    ops = [name for name, _ in sections]
    problems = [f"{op}: has neither an oracle nor a reason in EXCEPTIONS"
                for op in ops if op not in ORACLES and op not in EXCEPTIONS]
    problems += [f"{op}: has an oracle and a reason why not" for op in EXCEPTIONS if op in ORACLES]
    chosen = [op for op, text in sections if CHOICES.search(text)]
    problems += [f"{op}: has neither a sweep nor a reason in NOT_SWEPT"
                 for op in chosen if op not in SWEEPS and op not in NOT_SWEPT]
    problems += [f"{op}: is swept and has a reason why not" for op in NOT_SWEPT if op in SWEEPS]
    problems += [f"{op}: no such operator" for op in {**EXCEPTIONS, **ORACLES, **SWEEPS} if op not in ops]
    print("\n".join(problems + [f"{len(ops)} operators, {len(problems)} problems"]))
    return 1 if problems or not ops else 0


def main():
    parser = argparse.ArgumentParser(description="compare operators with oracles in numpy")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tools", help="folder of glow-run")
    what.add_argument("--complete", metavar="OPS.md", help="check that no operator lacks an oracle")
    parser.add_argument("--interp", metavar="PROGRAM", help="runs what is not for the CPU backend; else glow-run")
    parser.add_argument("--op", action="append", help="only this operator; may be repeated")
    parser.add_argument("--cases", type=int, default=3, help="rounds per operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="keep each case's files below this folder")
    parser.add_argument("--unknown", action="store_true", help="verify the cases with less known of their operands")
    parser.add_argument("--planted", action="store_true", help="expect every oracle to complain")
    parser.add_argument("--cpu", action="store_true", help="compare with machine code")
    slices.add_argument(parser)
    options = parser.parse_args()
    options.interp = options.interp or os.path.join(options.tools or "", "glow-run")
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    sys.modules["oracle"] = sys.modules["__main__"]  # one registry, whoever imports it
    for path in sorted(glob.glob(os.path.join(here, "*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        if name != "oracle":
            importlib.import_module(name)
    if options.complete:
        return check_complete(options.complete)
    unknown = [op for op in options.op or [] if op not in ORACLES and op not in EXCEPTIONS]
    if unknown:
        parser.error("no oracle for " + ", ".join(unknown))
    ops = slices.part(sorted(op for op in options.op or ORACLES if op in ORACLES), options.slice)
    check = check_unknown if options.unknown else check_operator
    failed = cases = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for op, (count, problems) in zip(ops, pool.map(lambda o: check(options, o), ops)):
            cases += count
            if count == 0:
                problems = [f"{op}: its oracle yields no case"]
            if options.planted:
                problems = [] if problems else [f"{op}: a wrong expectation went unnoticed"]
            if problems:
                failed += 1
                print(f"{op}: wrong\n" + "\n".join(problems), flush=True)
                print(f"repeat: {sys.executable} {os.path.abspath(__file__)} --tools {options.tools} --op {op} "
                      f"--cases {options.cases} --seed {options.seed}" + " --planted" * options.planted +
                      " --unknown" * options.unknown + " --cpu" * options.cpu, flush=True)
    print(f"{len(ops)} operators, {cases} cases, {failed} operators wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
