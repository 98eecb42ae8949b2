"""Writes ONNX models as protobuf bytes, for tests and benchmarks: no package is needed.

Messages are bytes; `f(number, value)` is one field of one, by the type of the value. The names of
the fields are in onnx.proto of ONNX. Whatever is asked for is written, be it sensible or not."""
import struct


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def f(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


FLOAT, U8, I8, I32, I64, STRING, BOOL, HALF = 1, 2, 3, 6, 7, 8, 9, 10


class Tensor(bytes):
    pass


class Graph(bytes):
    pass


class Type(bytes):
    pass


def tensor(name, kind, dims, raw=None, fields=b""):
    return Tensor(b"".join(f(1, d) for d in dims) + f(2, kind) + (f(9, raw) if raw is not None else b"")
                  + fields + (f(8, name) if name else b""))


def floats(name, dims, values):
    return tensor(name, FLOAT, dims, struct.pack(f"<{len(values)}f", *values))


def ints(name, dims, values):
    return tensor(name, I64, dims, struct.pack(f"<{len(values)}q", *values))


def external(name, dims, **entries):
    return tensor(name, FLOAT, dims, fields=b"".join(f(13, f(1, k) + f(2, v)) for k, v in entries.items()) + f(14, 1))


def type_of(kind, dims=None):
    """A tensor type; a dim is a number, a name, or None."""
    if dims is None:
        return Type(f(1, f(1, kind)))
    dim = lambda d: b"" if d is None else f(1, d) if isinstance(d, int) else f(2, d)
    return Type(f(1, f(1, kind) + f(2, b"".join(f(1, dim(d)) for d in dims))))


def value(name, kind=None, dims=None):
    return f(1, name) + (b"" if kind is None else f(2, type_of(kind, dims)))


def attr(name, v):
    """An attribute, by the type of the value; ("ref", x) refers to the function's attribute x."""
    head = f(1, name)
    if isinstance(v, tuple):
        return head + f(21, v[1]) + f(20, 2)
    if isinstance(v, Tensor):
        return head + f(5, v) + f(20, 4)
    if isinstance(v, Graph):
        return head + f(6, v) + f(20, 5)
    if isinstance(v, Type):
        return head + f(14, v) + f(20, 13)
    if isinstance(v, float):
        return head + f(2, v) + f(20, 1)
    if isinstance(v, int):
        return head + f(3, v) + f(20, 2)
    if isinstance(v, str):
        return head + f(4, v) + f(20, 3)
    if v and isinstance(v[0], float):
        return head + b"".join(f(7, x) for x in v) + f(20, 6)
    if v and isinstance(v[0], str):
        return head + b"".join(f(9, x) for x in v) + f(20, 8)
    return head + f(8, b"".join(varint(x) for x in v)) + f(20, 7)  # packed


def node(op, ins, outs, name="", domain="", **attrs):
    return (b"".join(f(1, x) for x in ins.split(",") if ins) + b"".join(f(2, x) for x in outs.split(",") if outs)
            + (f(3, name) if name else b"") + f(4, op) + b"".join(f(5, attr(k, v)) for k, v in attrs.items())
            + (f(7, domain) if domain else b""))


def graph(nodes, ins=(), outs=(), inits=(), name="g"):
    return Graph(b"".join(f(1, n) for n in nodes) + f(2, name) + b"".join(f(5, t) for t in inits)
                 + b"".join(f(11, v) for v in ins) + b"".join(f(12, v) for v in outs))


def function(name, domain, ins, outs, nodes, attrs=(), defaults=(), opset=17):
    return (f(1, name) + b"".join(f(4, x) for x in ins) + b"".join(f(5, x) for x in outs)
            + b"".join(f(6, x) for x in attrs) + b"".join(f(7, n) for n in nodes) + f(9, f(2, opset))
            + f(10, domain) + b"".join(f(11, d) for d in defaults))


def model(g, opset=17, functions=(), more=b"", imports=()):
    sets = [f(2, opset)] + [f(1, d) + f(2, v) for d, v in imports]
    return (f(1, 8) + f(2, "test") + f(7, g) + b"".join(f(8, s) for s in sets) + more
            + b"".join(f(25, x) for x in functions))
