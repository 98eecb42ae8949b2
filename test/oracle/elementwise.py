"""Oracles of the element-wise operators and of casts.

Floating point is computed in double (double itself in long double) and integers in Python's, so what
rounds, wraps or saturates is written down here and nowhere taken from a machine."""
import math

import numpy as np

from oracle import (BITS, DATA, DTYPE, FLOATS, INTS, NUMS, SINTS, Case, Result, Tensor, is_float, largest,
                    limits, oracle, round_to)


def some_floats(g):
    return ["float", g.pick(FLOATS[1:])]


def some_numbers(g):
    return [g.pick(FLOATS), g.pick(INTS)]


def shape_of(g):
    """Now and then more elements than a row of a loop holds."""
    return (g.integer(1, 3), g.integer(500, 700)) if g.integer(0, 7) == 0 else g.shape()


def pair(g, kind, **how):
    a, b = g.broadcast_pair()
    return g.tensor(kind, a, **how), g.tensor(kind, b, **how)


def wrap(kind, values):
    """Python integers modulo 2^bits, as the array of an integer kind."""
    low, high = limits(kind)
    size = high - low + 1
    return each(lambda v: (int(v) - low) % size + low, values).astype(DTYPE[kind])


def each(f, *arrays):
    """f on Python's numbers, with broadcasting."""
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape, object)
    for i in np.ndindex(out.shape):
        out[i] = f(*(a[i].item() if isinstance(a[i], np.generic) and not isinstance(a[i], np.longdouble) else a[i]
                     for a in arrays))
    return out


# ---- arithmetic ------------------------------------------------------------------------------------


def divide(x, y):
    q = abs(x) // abs(y) if y else 0
    return q if (x < 0) == (y < 0) else -q


ARITHMETIC = {"Add": (np.add, lambda x, y: x + y), "Sub": (np.subtract, lambda x, y: x - y),
              "Mul": (np.multiply, lambda x, y: x * y), "Div": (np.divide, divide)}


@oracle(*ARITHMETIC)
def arithmetic(g, op):
    real, whole = ARITHMETIC[op]
    for kind in some_numbers(g) + [g.pick(INTS)]:
        x, y = pair(g, kind)
        if is_float(kind):
            # Double carries more than twice the digits of the others, so rounding again is harmless.
            z = real(x.data, y.data) if kind == "double" else real(x.wide(), y.wide())
        else:
            z = wrap(kind, each(whole, x.data, y.data))
        yield Case([x, y], [Result(kind, z)], ulps=0)
    yield Case([g.tensor("float", (2, 3)), g.tensor("float", (2,))], error="broadcast")
    yield Case([g.tensor("float", (2,)), g.tensor("i32", (2,))], error="Y has type i32")


def c_remainder(x, y):
    """With the sign of x, as C's fmod and %."""
    if isinstance(x, int):
        return 0 if y == 0 else math.copysign(1, x) * (abs(x) % abs(y)) if abs(x) < 2**50 else \
            (abs(x) % abs(y)) * (1 if x > 0 else -1)
    return math.nan if math.isinf(x) or y == 0 or x != x or y != y else math.fmod(x, y)


def floor_remainder(x, y):
    """With the sign of y: x - floor(x / y) y."""
    if isinstance(x, int):
        return 0 if y == 0 else x % y
    r = c_remainder(x, y)
    if r == 0:
        return math.copysign(0.0, y)
    return r + y if r == r and (r < 0) != (y < 0) else r


@oracle("Mod")
def mod(g):
    for kind in some_numbers(g) + [g.pick(SINTS)]:
        for name, f in (("false", floor_remainder), ("true", c_remainder)):
            x, y = pair(g, kind)
            if is_float(kind):
                z = each(lambda a, b: f(float(a), float(b)), x.data, y.data).astype(np.float64)
            else:
                z = wrap(kind, each(lambda a, b: f(int(a), int(b)), x.data, y.data))
            yield Case([x, y], [Result(kind, z)], members=f"fmod = {name}", ulps=0)


def integer_power(x, y):
    if y >= 0:
        return pow(x, y, 1 << 64)
    return {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)


@oracle("Pow")
def power(g):
    for kind in some_floats(g):
        x, y = pair(g, kind)
        z = np.power(x.wide(), y.wide())
        yield Case([x, y], [Result(kind, z)], ulps=2)
        x, y = g.tensor(kind, (4, 9)), g.tensor(g.pick(INTS), (9,), low=0, high=12)
        yield Case([x, y], [Result(kind, np.power(x.wide(), y.data.astype(np.longdouble)))], ulps=2)
    kind, other = g.pick(INTS), g.pick(INTS)
    x, y = g.tensor(kind, (5, 7)), g.tensor(other, (7,), low=0 if other[0] == "u" else -3, high=40)
    yield Case([x, y], [Result(kind, wrap(kind, each(integer_power, x.data, y.data)))])
    x, y = g.tensor("i32", (6,), low=-30, high=30), g.tensor("float", (6,), low=0, high=3)
    y = Tensor("float", np.rint(y.data))
    z = each(lambda a, b: a**int(b), x.data, y.data)
    yield Case([x, y], [Result("i32", wrap("i32", z))])


def extreme(larger):
    def f(x, y):
        if x != x or y != y:
            return math.nan
        if x == y == 0:  # -0 is below +0
            negative = [math.copysign(1, v) < 0 for v in (x, y)]
            return -0.0 if (all if larger else any)(negative) else 0.0
        return max(x, y) if larger else min(x, y)
    return f


@oracle("Max", "Min")
def max_min(g, op):
    f = extreme(op == "Max")
    for kind in some_numbers(g) + [g.pick(INTS)]:
        x, y = pair(g, kind)
        z = each(f if is_float(kind) else max if op == "Max" else min, x.data, y.data)
        yield Case([x, y], [Result(kind, z.astype(x.data.dtype))], ulps=0)


@oracle("Clip")
def clip(g):
    for kind in some_numbers(g):
        x = g.tensor(kind, shape_of(g))
        low = g.tensor(kind, (), special=False) if g.integer(0, 3) else None
        high = g.tensor(kind, (1,), special=False) if g.integer(0, 3) else None
        z = x.data
        if low is not None:
            z = np.where(z < low.data.item(), low.data.item(), z)
        if high is not None:
            z = np.where(z > high.data.item(), high.data.item(), z)
        yield Case([x, low, high], [Result(kind, z.astype(x.data.dtype))])
    yield Case([x, g.tensor(kind, (2,)), None], error="Min must have one element")


# ---- one operand, exact --------------------------------------------------------------------------------

EXACT = {"Floor": np.floor, "Ceil": np.ceil, "Round": np.rint}


@oracle(*EXACT)
def rounding(g, op):
    for kind in FLOATS:
        x = g.tensor(kind, shape_of(g))
        half = Tensor(kind, np.arange(-6, 7) * 0.5)
        yield Case([x], [Result(kind, EXACT[op](x.data))], ulps=0)
        yield Case([half], [Result(kind, EXACT[op](half.data))], ulps=0)
    yield Case([g.tensor("i32")], error="X has type i32")


SIGNED = {"Neg": lambda x: -x, "Abs": abs, "Sign": lambda x: x if x == 0 or x != x else 1 if x > 0 else -1,
          "Relu": lambda x: 0 if x < 0 else x}


@oracle(*SIGNED)
def signed(g, op):
    wide = SINTS if op in ("Neg", "Relu") else INTS
    for kind in FLOATS + [g.pick(wide), g.pick(wide)]:
        x = g.tensor(kind, shape_of(g))
        z = each(SIGNED[op], x.data)
        z = z.astype(np.float64) if is_float(kind) else wrap(kind, z)
        yield Case([x], [Result(kind, z)], ulps=0)


@oracle("Reciprocal", "Sqrt")
def ieee(g, op):
    for kind in FLOATS:
        x = g.tensor(kind, shape_of(g))
        f = np.sqrt if op == "Sqrt" else lambda v: 1 / v
        yield Case([x], [Result(kind, f(x.data if kind == "double" else x.wide()))], ulps=0)


# ---- functions -----------------------------------------------------------------------------------------


def spread(v, f):
    """math.f of a double on each element; a long double's rest goes in by the derivative f' = d."""
    return np.vectorize(f, otypes=[np.float64])(np.asarray(v, np.float64))


def erf(x):
    head = np.asarray(x, np.float64)
    slope = 2 / np.sqrt(np.pi) * np.exp(-np.minimum(head * head, 1e4))
    rest = np.where(np.isfinite(head), x - head, 0)
    return spread(x, math.erf) + slope * rest


def erfc(x):
    head = np.asarray(x, np.float64)
    slope = 2 / np.sqrt(np.longdouble(np.pi)) * np.exp(-np.minimum(np.asarray(head, np.longdouble)**2, 1e4))
    rest = np.where(np.isfinite(head), x - head, 0)
    return spread(x, math.erfc) - slope * rest


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(0, x)


def gelu(x):
    x = np.asarray(x, np.longdouble)
    return x * erfc(-x * np.sqrt(np.longdouble(0.5))) / 2


def gelu_tanh(x):
    x = np.asarray(x, np.longdouble)
    k = np.sqrt(8 / (4 * np.arctan(np.longdouble(1))))
    return x * sigmoid(k * (x + x**3 * 44715 / np.longdouble(1000000)))


# The function, and how many ULP of double it may be off; two in the other kinds.
FUNCTIONS = {"Exp": (np.exp, 2), "Log": (np.log, 2), "Tanh": (np.tanh, 2), "Sigmoid": (sigmoid, 2), "Erf": (erf, 4),
             "Sin": (np.sin, 2), "Cos": (np.cos, 2), "Tan": (np.tan, 3), "Asin": (np.arcsin, 2),
             "Acos": (np.arccos, 2), "Atan": (np.arctan, 2), "Sinh": (np.sinh, 4), "Cosh": (np.cosh, 4),
             "Asinh": (np.arcsinh, 4), "Acosh": (np.arccosh, 4), "Atanh": (np.arctanh, 4),
             "Softplus": (softplus, 4), "Softsign": (lambda x: x / (1 + abs(x)), 2)}


@oracle(*FUNCTIONS)
def function(g, op):
    f, wide_ulps = FUNCTIONS[op]
    for kind in FLOATS:
        ulps = wide_ulps if kind == "double" else 2
        x = g.tensor(kind, shape_of(g))
        yield Case([x], [Result(kind, f(x.wide()))], ulps=ulps)
        small = g.tensor(kind, (40,), low=-1.25, high=1.25)
        yield Case([small], [Result(kind, f(small.wide()))], ulps=ulps)
    # Over all exponents, which the angles of sine and cosine need most.
    x = Tensor("float", np.ldexp(g.rng.uniform(-2, 2, 100), g.rng.integers(-149, 127, 100)))
    yield Case([x], [Result("float", f(x.wide()))], ulps=2)
    yield Case([g.tensor("i64")], error="X has type i64")


@oracle("Gelu")
def gelu_forms(g):
    for kind in FLOATS:
        for form, f in (("none", gelu), ("tanh", gelu_tanh)):
            for x in (g.tensor(kind, shape_of(g)), g.tensor(kind, (60,), low=-14, high=9)):
                yield Case([x], [Result(kind, f(x.wide()))], members=f"approximate = {form}",
                           ulps=8 if kind == "double" else 2)
    yield Case([g.tensor("float")], members="approximate = fast", error="expects none or tanh")


# ---- activations ---------------------------------------------------------------------------------------


def real_member(g, *values):
    """A member of kind float as text, and its value."""
    v = np.float32(g.pick(values))
    return repr(float(v)), np.float64(v)


def activation(g, f, names, ulps, choices=(0.5, 1.0, 1.702, 0.01), kinds=FLOATS):
    """Cases of f(x, members...); f returns the value, and what its errors are relative to or None."""
    for kind in kinds:
        texts, values = zip(*(real_member(g, *choices) for _ in names)) if names else ((), ())
        x = g.tensor(kind, shape_of(g))
        y, scale = f(x.wide(), *values)
        members = ", ".join(f"{n} = {t}" for n, t in zip(names, texts))
        yield Case([x], [Result(kind, y, scale)], members=members, ulps=ulps)


def above(x, low):
    return np.where(x > 0, x, low(np.minimum(x, 0)))


def finite(scale):
    return np.where(np.isfinite(scale), scale, 0)


# Arguments that are products carry a rounding each, which an exponential multiplies by its size.
ACTIVATIONS = {
    "HardSwish": (lambda x: (x * np.clip(np.float32(1 / 6) * x + 0.5, 0, 1), finite(abs(x))), (), 4),
    "Mish": (lambda x: (x * np.tanh(softplus(x)), None), (), 4),
    "Swish": (lambda x, a: (x * sigmoid(a * x), finite(abs(x * sigmoid(a * x)) * (1 + abs(a * x)))), ("alpha",), 5),
    "Elu": (lambda x, a: (above(x, lambda v: a * np.expm1(v)), None), ("alpha",), 4),
    "Celu": (lambda x, a: (above(x, lambda v: a * np.expm1(v / a)), finite(abs(x))), ("alpha",), 4),
    "Selu": (lambda x, a, c: (c * above(x, lambda v: a * np.expm1(v)), None), ("alpha", "gamma"), 5),
    "LeakyRelu": (lambda x, a: (np.where(x < 0, a * x, x), None), ("alpha",), 1),
    "ThresholdedRelu": (lambda x, a: (np.where(x > a, x, 0), None), ("alpha",), 0),
    "HardSigmoid": (lambda x, a, b: (np.where(np.isnan(x), x, np.clip(a * x + b, 0, 1)), 1 + finite(abs(x)) * 0),
                    ("alpha", "beta"), 2),
}


@oracle(*ACTIVATIONS)
def activations(g, op):
    f, names, ulps = ACTIVATIONS[op]
    yield from activation(g, f, names, ulps)
    if names:
        x = g.tensor("float")
        yield Case([x], members=f"{names[0]} = 1, {names[0]} = 2", error="twice|already|more than once")


@oracle("Shrink")
def shrink(g):
    for kind in some_numbers(g) + [g.pick(INTS)]:
        x = g.tensor(kind, shape_of(g), special=is_float(kind))
        (lt, lambd), (bt, bias) = real_member(g, 0.5, 1.5, 20.0), real_member(g, 0.0, 0.25, 3.0)
        v = x.wide() if is_float(kind) else x.data.astype(np.float64)
        y = np.where(v < -lambd, v + bias, np.where(v > lambd, v - bias, 0))
        if not is_float(kind):
            y = each(lambda r: min(max(int(r), limits(kind)[0]), limits(kind)[1]), y).astype(x.data.dtype)
        yield Case([x], [Result(kind, y)], members=f"lambd = {lt}, bias = {bt}", ulps=1)


@oracle("MulAdd")
def mul_add(g):
    for kind in FLOATS:
        shape = g.shape()
        x, y, z = g.tensor(kind, shape), g.tensor(kind, shape), g.tensor(kind, shape)
        product = x.wide() * y.wide()
        yield Case([x, y, z], [Result(kind, product + z.wide(), np.abs(product) + np.abs(z.wide()))], ulps=1)


@oracle("PRelu")
def prelu(g):
    for kind in some_numbers(g):
        x, slope = pair(g, kind, special=is_float(kind))
        if is_float(kind):
            y = np.where(x.wide() < 0, slope.wide() * x.wide(), x.wide() + 0 * np.isnan(slope.wide()))
        else:
            y = wrap(kind, each(lambda a, b: a * b if a < 0 else a, x.data, slope.data))
        yield Case([x, slope], [Result(kind, y)], ulps=1)


@oracle("SwiGLU")
def swiglu(g):
    for kind in FLOATS:
        shape = g.shape()
        a, b = g.tensor(kind, shape), g.tensor(kind, shape)
        text, alpha = real_member(g, 1.0, 1.5)
        # A gate that underflows, alone or before the product, is worth nothing in comparison.
        a.data[(alpha * a.wide() < -60) | (abs(a.wide()) < 1e-6)] = 1
        y = a.wide() * sigmoid(alpha * a.wide()) * b.wide()
        scale = finite(abs(y) * (1 + abs(alpha * a.wide())))
        yield Case([a, b], [Result(kind, y, scale)], members=f"alpha = {text}", ulps=5)
    yield Case([g.tensor("float", (2, 3)), g.tensor("float", (3,))], error="they must have one shape")


# ---- comparisons, logic, bits ----------------------------------------------------------------------------

COMPARE = {"Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal,
           "Equal": np.equal}


@oracle(*COMPARE)
def compare(g, op):
    for kind in some_numbers(g) + [g.pick(INTS)] + (["bool"] if op == "Equal" else []):
        x, y = pair(g, kind)
        y.data[np.broadcast_to(g.rng.integers(0, 2, y.shape) == 0, y.shape)] = 1
        yield Case([x, y], [Result("bool", COMPARE[op](x.data, y.data))])
    if op == "Equal":
        x, y = g.tensor("string", (3, 4)), g.tensor("string", (4,))
        yield Case([x, y], [Result("bool", (x.data == y.data).astype(bool))], graph_only=True)
    else:
        yield Case([g.tensor("bool"), g.tensor("bool")], error="X has type bool")


LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


@oracle(*LOGIC)
def logic(g, op):
    for x, y in (pair(g, "bool"), (g.tensor("bool", (2, 3)), g.tensor("bool", (3,)))):
        yield Case([x, y], [Result("bool", LOGIC[op](x.data, y.data))])
    yield Case([g.tensor("u8", (2,)), g.tensor("u8", (2,))], error="X has type u8")


@oracle("Not")
def logical_not(g):
    for x in (g.tensor("bool", shape_of(g)), g.tensor("bool", (2, 3))):
        yield Case([x], [Result("bool", ~x.data)])


BITWISE = {"BitwiseAnd": lambda x, y: x & y, "BitwiseOr": lambda x, y: x | y, "BitwiseXor": lambda x, y: x ^ y}


@oracle(*BITWISE)
def bitwise(g, op):
    for kind in INTS:
        x, y = pair(g, kind)
        yield Case([x, y], [Result(kind, each(BITWISE[op], x.data, y.data).astype(x.data.dtype))])
    yield Case([g.tensor("float", (2,)), g.tensor("float", (2,))], error="X has type float")


@oracle("BitwiseNot")
def bitwise_not(g):
    for kind in INTS:
        x = g.tensor(kind)
        yield Case([x], [Result(kind, wrap(kind, each(lambda v: -1 - v, x.data)))])


@oracle("BitShift")
def bit_shift(g):
    for kind in INTS:
        bits = x_bits(kind)
        a, b = g.broadcast_pair()
        x = g.tensor(kind, a)
        y = g.tensor(kind, b, low=0 if kind[0] == "u" else -2, high=bits + 2)
        left = each(lambda v, n: v << n if 0 <= n < bits else 0, x.data, y.data)
        right = each(lambda v, n: v >> (n if 0 <= n < bits else bits), x.data, y.data)
        yield Case([x, y], [Result(kind, wrap(kind, left))])
        yield Case([x, y], [Result(kind, wrap(kind, right))], members="right = true")


def x_bits(kind):
    return int(kind[1:])


@oracle("IsNaN", "IsInf")
def classes(g, op):
    for kind in FLOATS:
        x = g.tensor(kind, shape_of(g))
        if op == "IsNaN":
            yield Case([x], [Result("bool", np.isnan(x.data))])
            continue
        for negative in (False, True):
            for positive in (False, True):
                want = np.isinf(x.data) & np.where(x.data < 0, negative, positive)
                yield Case([x], [Result("bool", want)],
                           members=f"negative = {str(negative).lower()}, positive = {str(positive).lower()}")


@oracle("Where")
def where(g):
    for kind in [g.pick(DATA), g.pick(["complex64", "complex128", "i4", "u2", "float8e5m2"]), "string"]:
        a, b = g.broadcast_pair()
        c = g.tensor("bool", g.pick([a, b, ()]))
        x, y = g.tensor(kind, a), g.tensor(kind, b)
        yield Case([c, x, y], [Result(kind, np.where(c.data, x.data, y.data))], ulps=0, graph_only=kind == "string")
    yield Case([g.tensor("u8", (2,)), g.tensor("float", (2,)), g.tensor("float", (2,))], error="Cond has type u8")


# ---- casts -------------------------------------------------------------------------------------------------

SMALL_INTS = list(BITS)
FLOAT8 = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]


def odd_double(v):
    """An integer as a double that rounds to fewer digits as the integer does: to odd beyond 53 bits."""
    shift = max(abs(v).bit_length() - 53, 0)
    m = abs(v) >> shift
    m |= 1 if m << shift != abs(v) else 0
    return math.copysign(math.ldexp(m, shift), v)


def to_float(kind, x):
    if is_float(x.kind) or x.kind == "bool":
        v = x.data.astype(np.float64)
    elif kind == "double":
        return each(float, x.data).astype(np.float64)
    else:
        v = each(lambda i: odd_double(int(i)), x.data).astype(np.float64)
    if kind in FLOAT8:  # what is too large becomes the largest number
        v = np.clip(v, -largest(kind), largest(kind))
    r = round_to(kind, v)
    return r + np.float32(0) if kind.endswith("fnuz") else r  # no -0


def to_integer(kind, x):
    low, high = limits(kind)
    if not is_float(x.kind):
        return wrap_small(kind, x.data)
    return each(lambda v: 0 if v != v else low if v < low else high if v > high else int(v),
                x.data.astype(np.float64)).astype(np.int8 if kind in ("i4", "i2") else np.uint8 if kind in SMALL_INTS
                                                  else DTYPE[kind])


def wrap_small(kind, values):
    low, high = limits(kind)
    carrier = DTYPE[kind] if kind in DTYPE else np.int8 if kind[0] == "i" else np.uint8
    return each(lambda v: (int(v) - low) % (high - low + 1) + low, values).astype(carrier)


def cast_values(kind, x):
    if kind == "bool":
        return x.data != 0
    return to_float(kind, x) if is_float(kind) else to_integer(kind, x)


@oracle("Cast")
def cast(g):
    everything = NUMS + ["bool"] + SMALL_INTS + FLOAT8
    for source in everything:
        target = g.pick(everything)
        x = g.tensor(source)
        if source in FLOAT8:  # as which it is given, by a Cast that saturates
            x = Tensor(source, np.clip(x.data, -largest(source), largest(source)))
        yield Case([x], [Result(target, cast_values(target, x))], members=f"to = {target}", ulps=0)
    # Beyond the digits of double, and halfway between two float16.
    x = Tensor("i64", [2**62 + 2**9 + 1, -(2**53) - 1, 2**24 + 1, 2**63 - 1])
    for target in FLOATS:
        yield Case([x], [Result(target, cast_values(target, x))], members=f"to = {target}", ulps=0)
    x = Tensor("double", [1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 65519.99, 65520, 2.0**-25, -2.0**-25 * 1.5])
    yield Case([x], [Result("float16", cast_values("float16", x))], members="to = float16", ulps=0)


@oracle("BitCast")
def bit_cast(g):
    groups = [["i8", "u8"], ["i16", "u16", "float16"], ["i32", "u32", "float"], ["i64", "u64", "double", "complex64"]]
    for group in groups:
        source, target = g.pick(group), g.pick(group)
        x = g.tensor(source, g.shape(low=1))
        if not is_float(source) and is_float(target):
            x = g.tensor(target, g.shape(low=1))
            x = Tensor(source, x.data.view(DTYPE[source]))
        yield Case([x], [Result(target, np.ascontiguousarray(x.data).view(DTYPE[target]).reshape(x.shape))],
                   members=f"to = {target}", ulps=0)
    yield Case([g.tensor("float")], members="to = float16", error="the bits of float are no float16")
    yield Case([g.tensor("complex128")], members="to = string", error="the bits of complex128 are no string")
