#!/usr/bin/env python3
"""Writes the models of the import tests into a folder: small ones, put together byte by byte."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils"))
from onnx_bytes import (BOOL, FLOAT, HALF, I8, I32, I64, STRING, U8, attr, external, f, floats,  # noqa: E402
                        function, graph, ints, model, node, tensor, value, varint)

X = value("x", FLOAT, [2])
Y = value("y", FLOAT, [2])


def one(n, opset=17, ins=(X,), outs=(Y,), inits=(), **more):
    return model(graph([n] if isinstance(n, bytes) else n, ins, outs, inits), opset, **more)


def make_basic(w):
    big = floats("big", [64], [float(i) for i in range(64)])
    typed = tensor("typed", FLOAT, [40], fields=f(4, struct.pack("<40f", *range(40))))
    half = tensor("half", HALF, [2], fields=f(5, 0x3C00) + f(5, 0xC000))
    small = ints("small", [2], [1, -1])
    text = tensor("text", STRING, [2], fields=f(6, b"a\x00b") + f(6, "\u00e9"))
    nodes = [node("Relu", "x", "r", "first"), node("Add", "r,big", "s"), node("Identity", "typed", "t"),
             node("Identity", "half", "h"), node("Identity", "text", "e"),
             node("Reshape", "s,small", "y", "re shape"),
             node("Constant", "", "c", value=floats("", [48], [0.5] * 48)), node("Identity", "c", "k"),
             node("Constant", "", "q", value_ints=[3, 4])]
    w("basic", model(graph(nodes, [value("x", FLOAT, [64]), value("big", FLOAT, [64])],
                           [value(n) for n in ("y", "t", "h", "e", "k", "q")], [big, typed, half, small, text],
                           name="basic graph")))


def make_bind(w):
    g = graph([node("Relu", "a", "ra"), node("Relu", "b", "rb"), node("Relu", "c", "rc"), node("Relu", "u", "ru")],
              [value("a", FLOAT, ["N", "batch size", 3]), value("b", FLOAT, ["?", None, "N"]),
               value("c", FLOAT, [-1, "batch size"]), value("u", FLOAT)],
              [value("ra", FLOAT, ["M", 7, 3]), value("rb"), value("rc"), value("ru")])
    w("bind", model(g))
    w("claim", one(node("NonZero", "x", "y"), outs=[value("y", I64, [1, 2])]))
    w("claim-wrong", one(node("Relu", "x", "y"), outs=[value("y", FLOAT, [3])]))


def make_control(w):
    yes = graph([node("Add", "x,k", "t")], outs=[value("t")], inits=[floats("k", [2], [1.0, 2.0])])
    no = graph([node("Constant", "", "k", value=floats("", [64], [1.0] * 64)), node("ReduceSum", "k", "s", keepdims=0),
                node("Mul", "x,s", "n")], outs=[value("n")])
    w("if", one([node("Cast", "f", "c", to=BOOL), node("If", "c", "y", "choose", then_branch=yes, else_branch=no)],
                ins=[X, value("f", FLOAT, [1])]))
    body = graph([node("Identity", "ci", "co"), node("Add", "v,x", "vo"), node("Unsqueeze", "vo,ax", "s"),
                  node("Cast", "i", "fi", to=FLOAT)],
                 [value("i", I64, [1]), value("ci", BOOL, []), value("v", FLOAT, [2])],
                 [value("co"), value("vo"), value("s"), value("fi")], [ints("ax", [1], [0])])
    w("loop", one(node("Loop", "n,,x", "y,a,b", body=body), ins=[X, value("n", I64, [1])],
                  outs=[value("y"), value("a"), value("b")]))
    scan = graph([node("Add", "s,e", "so"), node("Identity", "so", "o")],
                 [value("s", FLOAT), value("e")], [value("so"), value("o")])
    w("scan", one(node("Scan", "x,z", "y,p", num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], body=scan),
                  ins=[X, value("z", FLOAT, [2, 5])], outs=[value("y"), value("p")]))
    w("random", one([node("RandomUniformLike", "x", "u", seed=7.0, high=2.0), node("RandomUniform", "", "v", shape=[2], dtype=HALF),
                     node("Add", "x,u", "y")], outs=[Y, value("v")]))
    inside = graph([node("RandomUniformLike", "x", "t")], outs=[value("t")])
    outside = graph([node("Identity", "x", "t")], outs=[value("t")])
    body = graph([node("Identity", "ci", "co"), node("If", "ci", "r", then_branch=outside, else_branch=inside),
                  node("Add", "v,r", "vo"), node("Identity", "vo", "s")],
                 [value("i", I64, []), value("ci", BOOL, []), value("v", FLOAT, [2])], [value("co"), value("vo"), value("s")])
    w("random-loop", one(node("Loop", "n,,x", "y,a", body=body), ins=[X, value("n", I64, [1])], outs=[value("y"), value("a")]))
    drawn = graph([node("RandomUniformLike", "s", "so"), node("Identity", "e", "o")],
                  [value("s", FLOAT), value("e")], [value("so"), value("o")])
    w("random-scan", one(node("Scan", "x,x", "y,p", num_scan_inputs=1, body=drawn), outs=[value("y"), value("p")]))


def make_functions(w):
    scale = function("scale", "local", ["p", "q"], ["r"],
                     [node("Constant", "", "f", value_float=("ref", "by")), node("Mul", "p,f", "m"),
                      node("Sum", "m,q", "r")], attrs=["by"], defaults=[attr("by", 3.0)])
    twice = function("twice", "local", ["p"], ["r"],
                     [node("scale", "p,p", "a", "inner", domain="local", by=("ref", "by")),
                      node("scale", "a,p", "r", domain="local")], attrs=["by"])
    loc = [("local", 1)]
    w("functions", one([node("twice", "x", "a", "call", domain="local", by=0.5), node("scale", "a,x", "y", domain="local")],
                       functions=[scale, twice], imports=loc))
    again = function("again", "local", ["p"], ["r"], [node("again", "p", "r", domain="local")])
    w("function-recursive", one(node("again", "x", "y", domain="local"), functions=[again], imports=loc))
    doubling = [function(f"f{i}", "local", ["p"], ["r"],
                         [node(f"f{i + 1}", "p", "a", domain="local"), node(f"f{i + 1}", "a", "r", domain="local")])
                for i in range(28)] + [function("f28", "local", ["p"], ["r"], [node("Relu", "p", "r")])]
    w("function-bomb", one(node("f0", "x", "y", domain="local"), functions=doubling, imports=loc))


def make_old(w):
    a = value("a", FLOAT, [2, 3, 4, 5])
    nodes = [node("Add", "a,b", "s", broadcast=1, axis=1), node("Clip", "s", "c", min=-1.0, max=1.0),
             node("Pad", "c", "p", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=2.0), node("Slice", "p", "l", axes=[2], starts=[1], ends=[-1]),
             node("Squeeze", "l1", "q", axes=[0]), node("Unsqueeze", "q", "u", axes=[0]), node("Split", "a", "d,e", axis=1, split=[1, 2]),
             node("Softmax", "a", "m", axis=1), node("PRelu", "a,b", "r"), node("ReduceMean", "a", "n", axes=[1], keepdims=0),
             node("Dropout", "a", "o", is_test=1, ratio=0.5), node("Max", "a,r,m", "x3"), node("Gemm", "g,h,i", "k", transB=1, alpha=0.5, broadcast=1),
             node("BatchNormalization", "a,b,b,b,b", "bn", is_test=1, epsilon=0.001), node("TopK", "g", "tv,ti", k=2)]
    w("old-6", model(graph(nodes[:-1], [a, value("b", FLOAT, [3]), value("l1", FLOAT, [1, 7]), value("g", FLOAT, [4, 3]), value("h", FLOAT, [5, 3]), value("i", FLOAT, [5])],
                           [value(n) for n in ("l", "u", "d", "e", "n", "o", "x3", "k", "bn")]), 6))
    w("topk-1", one(node("TopK", "g", "tv,ti", k=2), 9, ins=[value("g", FLOAT, [4, 3])], outs=[value("tv"), value("ti")]))


def make_operators(w):
    img = value("x", FLOAT, [1, 2, 5, 7])
    nodes = [node("Conv", "x,w", "c", strides=[2, 2], auto_pad="SAME_UPPER", kernel_shape=[3, 3]),
             node("MaxPool", "x", "m,mi", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER", ceil_mode=1),
             node("AveragePool", "x", "a", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
             node("HardSwish", "x", "h"), node("ArgMin", "x", "am", axis=1, keepdims=0), node("ArgMin", "b8", "ab", axis=0),
             node("ReduceL2", "x,ax", "l2", keepdims=0), node("Mean", "x,h", "me"), node("Slice", "x,i32,e32", "sl"),
             node("Split", "x", "s0,,s2", axis=3, num_outputs=3), node("BitShift", "b8,b8", "bs", direction="RIGHT"),
             node("QuantizeLinear", "x,sc,zp", "ql", axis=1), node("DequantizeLinear", "ql,sc,zp", "dq"),
             node("CastLike", "x,b8", "cl"), node("Compress", "x,cond", "cm"), node("Mod", "b8,b8", "md", fmod=1),
             node("Clip", "x,,mx", "cp"), node("Shape", "x", "sh", start=1), node("Gemm", "g,h2", "gm", transA=1, alpha=2.0)]
    w("operators", model(graph(nodes, [img, value("b8", U8, [4]), value("g", FLOAT, [3, 2]), value("h2", FLOAT, [3, 4])],
                               [value(n) for n in "c m mi a am ab l2 me sl s0 s2 bs dq cl cm md cp sh gm".split()],
                               [floats("w", [4, 2, 3, 3], [0.0] * 72), ints("ax", [1], [2]), tensor("i32", I32, [1], b"\1\0\0\0"),
                                tensor("e32", I32, [1], b"\2\0\0\0"), floats("sc", [], [0.5]), tensor("zp", I8, [], b"\3"),
                                tensor("cond", BOOL, [3], b"\1\0\1"), floats("mx", [], [6.0])]), 18))


def make_elementwise(w):
    nodes = [node("Gelu", "x", "ge", approximate="tanh"), node("HardSwish", "x", "hs"), node("IsNaN", "f8", "nn"),
             node("IsInf", "f8", "ni", detect_negative=0), node("IsInf", "x", "xi"), node("BitCast", "x", "bc", to=I32),
             node("Mod", "x,x", "mo", fmod=1), node("BitShift", "bc,bc", "sh", direction="RIGHT"),
             node("SwiGLU", "x,x", "sg", alpha=2.0), node("Equal", "t,t", "eq")]
    w("elementwise", one(nodes, 28, ins=[X, value("f8", 19, [2]), value("t", STRING, [2])],
                         outs=[value(n) for n in "ge hs nn ni xi mo sh sg eq".split()]))
    old = [node("Cast", "x", "ca", to="INT16"), node("Selu", "x", "se", gamma=2.0, consumed_inputs=[0]),
           node("Elu", "x", "el", alpha=0.5, consumed_inputs=[0])]
    w("elementwise-1", one(old, 1, outs=[value(n) for n in "ca se el".split()]))
    w("gelu-form", one(node("Gelu", "x", "y", "n", approximate="fast"), 20))
    w("cast-name", one(node("Cast", "x", "y", "n", to="FLOAT128"), 1))
    w("cast-none", one(node("Cast", "x", "y", "n"), 1))
    w("bits", one(node("BitCast", "x", "y", "n", to=I64), 26, outs=[value("y")]))
    w("shift-direction", one(node("BitShift", "b,b", "y", "n", direction="UP"), 11, ins=[value("b", U8, [2])], outs=[value("y")]))
    w("gate-shapes", one(node("SwiGLU", "x,z", "y", "n"), 28, ins=[X, value("z", FLOAT, [1])]))
    w("angle-kind", one(node("Sin", "i", "y", "n"), 7, ins=[value("i", I64, [2])], outs=[value("y")]))


def make_windows(w):
    """Convolutions and pools: what auto_pad and output_shape mean, and old versions."""
    img, w4 = value("x", FLOAT, [1, 4, 5, 7]), value("w", FLOAT, [4, 2, 3, 2])
    at = value("i", I64, [1, 4, 5, 7])
    grow = lambda out, **attrs: node("ConvTranspose", "x,w", out, out, **attrs)
    nodes = [grow("a", strides=[2, 3], auto_pad="SAME_UPPER"), grow("b", strides=[2, 3], auto_pad="SAME_LOWER"),
             grow("c", strides=[2, 2], output_shape=[10, 16]), grow("d", strides=[2, 2], output_shape=[1, 8, 10, 13], auto_pad="SAME_UPPER"),
             grow("e", strides=[2, 2], dilations=[2, 3], output_padding=[1, 0], auto_pad="SAME_UPPER", group=2),
             grow("f", strides=[1, 3], dilations=[3, 2], pads=[2, 1, 0, 1], output_padding=[0, 2]),
             grow("g", strides=[2, 2], pads=[1, 1, 1, 1], auto_pad="VALID"),
             node("LpPool", "x", "l", "l", kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER", ceil_mode=1, p=3),
             node("GlobalLpPool", "x", "m"), node("MaxUnpool", "x,i", "u", kernel_shape=[2, 2], strides=[2, 2]),
             node("Col2Im", "t,is,bs", "p", dilations=[1, 2], pads=[1, 0, 1, 0]),
             node("DeformConv", "x,k,o,,q", "v", offset_group=2, group=2, strides=[2, 1])]
    w("windows", model(graph(nodes, [img, w4, at, value("t", FLOAT, [1, 8, 12]), value("k", FLOAT, [6, 2, 2, 2]),
                                     value("o", FLOAT, [1, 16, 2, 6]), value("q", FLOAT, [1, 8, 2, 6])],
                             [value(n) for n in "a b c d e f g l m u p v".split()],
                             [ints("is", [2], [3, 5]), ints("bs", [2], [2, 2])]), 22))
    pools = [node("LpPool", "x", "l", kernel_shape=[2, 2], p=1.5), node("GlobalLpPool", "x", "m", p=0.5)]
    w("windows-1", model(graph(pools, [img], [value("l"), value("m")]), 1))
    tokens = [value(n, FLOAT, [1, 3, d]) for n, d in (("q", 8), ("k", 4), ("v", 2), ("d", 1), ("b", 1))]
    tokens += [value("s", FLOAT, [1, 3, 4]), value("f", FLOAT, [3, 1, 2]), value("c", FLOAT, [1, 3, 2])]
    nodes = [node("LinearAttention", "q,k,v,,d,b", "y,p", q_num_heads=2, kv_num_heads=1, chunk_size=8, scale=0.5),
             node("CausalConvWithState", "s,f", "z,r", activation="swish"),
             node("RotaryEmbedding", "q,c,c", "e", num_heads=2, interleaved=1)]
    w("tokens", one(nodes, 27, ins=tokens, outs=[value(n) for n in "y p z r e".split()]))
    w("tokens-heads", one(node("LinearAttention", "q,k,v", "y,p", "y", q_num_heads=-1, kv_num_heads=1), 27, ins=tokens, outs=[value("y")]))
    wrong = {"stride-0": grow("y", strides=[0, 1]), "pads-negative": grow("y", pads=[-1, 0, 0, 0]),
             "pads-large": grow("y", pads=[9, 9, 9, 9]), "kernel": grow("y", kernel_shape=[3, 3]),
             "group-0": grow("y", group=0), "auto-pad": grow("y", auto_pad="SAME"),
             "output-shape": grow("y", output_shape=[5]), "output-far": grow("y", output_shape=[5, 1 << 40]),
             "lp-kernel": node("LpPool", "x", "y", "y"), "lp-p": node("LpPool", "x", "y", "y", kernel_shape=[2, 2], p=0),
             "unpool-kernel": node("MaxUnpool", "x,i", "y", "y"), "offset-groups": node("DeformConv", "x,k,o", "y", "y", offset_group=-1)}
    for name, n in wrong.items():
        w("window-" + name, one(n, 22, ins=[img, w4, at, value("k", FLOAT, [6, 4, 2, 2]), value("o", FLOAT, [1, 8, 4, 6])], outs=[value("y")]))


def make_folded(w):
    """An output whose shape is arithmetic on the input's shape: 4 x 6 becomes 2 * 4 x 3."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s,i", "b", axis=0), node("Mul", "b,two", "c"),
             node("Concat", "c,m", "shape", axis=0), node("Reshape", "x,shape", "y")]
    w("folded-shape", model(graph(nodes, [value("x", FLOAT, [4, 6])], [value("y", FLOAT)],
                                  [ints("i", [1], [0]), ints("m", [1], [-1]), ints("two", [1], [2])])))


def make_unsupported(w):
    inner = graph([node("ImageDecoder", "x", "t", "deep")], outs=[value("t")])
    nodes = [node("ImageDecoder", "x", "a", "e1"), node("If", "c", "b", then_branch=inner, else_branch=inner),
             node("Frobnicate", "x", "d"), node("Gelu", "x", "e", "g1", domain="com.microsoft"), node("Relu", "a", "y"),
             node("MaxPool", "x", "mp", "p1", kernel_shape=[2], auto_pad="SAME_UPPER"),
             node("Relu", "x", "at", "r1", bogus=1), node("Sqrt", "d", "sq")]
    w("unsupported", one(nodes, 20, ins=[X, value("c", BOOL, [])], outs=[Y, value("d")]))
    w("unsupported-many", one([node(f"Foo{i}", "x", f"v{i}") for i in range(1500)]))
    w("opset-99", one(node("Relu", "x", "y"), 99))
    w("opset-none", f(1, 8) + f(7, graph([node("Relu", "x", "y")], [X], [Y])))
    w("newer", one([node("Relu", "x", "r"), node("Reshape", "r,s", "y")], 25, inits=[ints("s", [1], [2])]))
    w("too-old", one(node("Where", "c,x,x", "y"), 8, ins=[X, value("c", BOOL, [2])]))
    w("sparse", model(graph([node("Relu", "x", "y")], [X], [Y]) + f(15, b"")))
    w("map-output", one(node("ZipMap", "x", "y", domain="ai.onnx.ml"), ins=[value("x", FLOAT, ["N"])],
                        outs=[f(1, "y") + f(2, f(5, b""))]))
    w("map", one(node("Relu", "x", "y"), ins=[f(1, "x") + f(2, f(5, b""))]))


def make_wrong(w):
    """Models that are wrong in one way each."""
    relu = node("Relu", "x", "y", "n")
    good = one(relu)
    w("wire-type", f(1, 8) + f(7, 5))
    w("group", f(1, 8) + b"\x0b")
    w("varint", f(1, 8) + b"\x38" + b"\xff" * 11)
    w("length", f(1, 8) + varint(7 << 3 | 2) + varint(1 << 62))
    w("field-zero", b"\x00\x00")
    w("in-node", f(1, 8) + f(7, f(1, f(1, "x") + f(3, "broken") + varint(5 << 3 | 0) + b"\x01")))
    w("name-utf8", one(node("Relu", "x", "y").replace(b"\x01y", b"\x01\xff")))
    w("name-nul", one(node("Relu", "x", "y").replace(b"\x01y", b"\x01\x00")))
    w("name-long", one(node("Relu", "x", "y" * 5000)))
    w("no-operator", one(node("", "x", "y")))
    w("no-graph", f(1, 8) + f(8, f(2, 17)))
    w("truncated", good[:-3])
    w("cycle", one([node("Add", "x,b", "a", "p"), node("Relu", "a", "b", "q"), node("Relu", "b", "y")]))
    w("undefined", one([node("Add", "x,nothing", "y", "n"), node("Add", "x,gone", "z", "m"), node("Relu", "y", "k")]))
    w("output-missing", one(relu, outs=[Y, value("z", FLOAT, [2])]))
    w("duplicate-value", one([relu, node("Neg", "x", "y", "other")]))
    w("duplicate-init", one(relu, inits=[floats("w", [1], [1.0]), floats("w", [1], [2.0])]))
    w("duplicate-input", one(relu, ins=[X, X]))
    w("duplicate-output", one(relu, outs=[Y, Y]))
    w("duplicate-attr", one(f(1, "x") + f(2, "y") + f(4, "Flatten") + f(5, attr("axis", 1)) * 2))
    w("dim-negative", one(relu, ins=[value("x", FLOAT, [-5])]))
    w("dim-huge", one(relu, ins=[value("x", FLOAT, [1 << 30, 1 << 30])]))
    w("rank-9", one(relu, ins=[value("x", FLOAT, [1] * 9)]))
    w("init-negative", one(relu, inits=[tensor("w", FLOAT, [-2], b"")]))
    w("init-short", one(relu, inits=[tensor("w", FLOAT, [3], b"\0" * 8)]))
    w("init-typed", one(relu, inits=[tensor("w", FLOAT, [3], fields=f(4, b"\0" * 8))]))
    w("init-field", one(relu, inits=[tensor("w", FLOAT, [1], fields=f(7, 1))]))
    w("init-type", one(relu, inits=[tensor("w", 77, [1], b"\0")]))
    w("init-declared", one(relu, ins=[X, value("w", FLOAT, [3])], inits=[floats("w", [1], [1.0])]))
    w("init-string", one(relu, inits=[tensor("w", STRING, [1], b"abc")]))
    w("no-type", one(relu, ins=[value("x")]))
    w("mismatch", one([node("Add", "x,z", "y", "sum")], ins=[X, value("z", FLOAT, [3])]))
    w("kind-mismatch", one([node("Add", "x,z", "y", "sum")], ins=[X, value("z", I64, [2])]))
    w("attr-type", one(node("Flatten", "x", "y", "n", axis=1.5)))
    w("attr-missing", one(node("Concat", "x,x", "y", "n")))
    w("operands", one(node("Relu", "x,x", "y", "n")))
    deep = graph([node("Relu", "x", "t")], outs=[value("t")])
    for _ in range(70):
        deep = graph([node("If", "c", "t", then_branch=deep, else_branch=deep)] if len(deep) < 4000
                     else [node("If", "c", "t", then_branch=deep, else_branch=graph([], outs=[value("x")]))], outs=[value("t")])
    w("deep", one(node("If", "c", "y", then_branch=deep, else_branch=graph([], outs=[value("x")])), ins=[X, value("c", BOOL, [])]))


def make_external(w, folder):
    os.makedirs(os.path.join(folder, "ext", "sub"), exist_ok=True)
    with open(os.path.join(folder, "outside.bin"), "wb") as out:
        out.write(b"\0" * 400)
    with open(os.path.join(folder, "ext", "sub", "data.bin"), "wb") as out:
        out.write(struct.pack("<100f", *range(100)))
    for link, target in (("link.bin", "../outside.bin"), ("inner.bin", "sub/data.bin")):
        path = os.path.join(folder, "ext", link)
        if not os.path.islink(path):
            os.symlink(target, path)
    fifo = os.path.join(folder, "ext", "fifo.bin")
    if not os.path.exists(fifo):
        os.mkfifo(fifo)
    cases = {"good": dict(location="sub/data.bin", offset="40", length="160"), "inner": dict(location="inner.bin"),
             "parent": dict(location="../outside.bin"), "hidden": dict(location="sub/../../outside.bin"),
             "absolute": dict(location=os.path.join(os.path.abspath(folder), "outside.bin")), "link": dict(location="link.bin"),
             "fifo": dict(location="fifo.bin"), "beyond": dict(location="sub/data.bin", offset="300"),
             "folder": dict(location="sub"), "missing": dict(location="none.bin"), "length": dict(location="sub/data.bin", length="8"),
             "number": dict(location="sub/data.bin", offset="-4"), "nowhere": dict(offset="0")}
    for name, entries in cases.items():
        w("ext/" + name, one(node("Add", "x,w", "y"), ins=[value("x", FLOAT, [40])], outs=[value("y")],
                             inits=[external("w", [40], **entries)]))


def make_families(w):
    """Training, quantization, random numbers and SequenceMap."""
    training = "ai.onnx.preview.training"
    r, t = floats("r", [], [0.5]), ints("t", [], [0])
    step = lambda ins, outs, op="Momentum", **more: node(
        op, "r,t," + ins, outs, "step", training, **({"alpha": 0.5, "beta": 2.0, "mode": "nesterov",
                                                      "norm_coefficient": 0.25} | more))
    both = [value(v, FLOAT, [2]) for v in "xgv"]
    trained = lambda n: one(n, ins=both, inits=[r, t], imports=[(training, 1)])
    dual = dict(imports=[(training, 1)])
    slope = lambda ins="x", **more: node("Gradient", ins, "y", "slope", training, **({"xs": ["x"], "y": "t"} | more))
    w("gradient", one([node("Mul", "x,x", "t"), slope()], **dual))
    w("gradient-rule", one([node("Hardmax", "x", "t"), slope()], **dual))
    w("gradient-kind", one([node("Cast", "x", "t", to=I64), slope()], **dual))
    w("gradient-undefined", one(slope(y="nothing"), **dual))
    w("gradient-other", one([node("Mul", "x,x", "t"), node("Neg", "x", "u"), slope("u")], **dual))
    w("gradient-if", one([node("Cast", "x", "c", to=BOOL), node("ReduceMax", "c", "d", keepdims=0), node(
        "If", "d", "t", "branch", then_branch=graph([node("Hardmax", "x", "u", "inner")], outs=[value("u", FLOAT, [2])]),
        else_branch=graph([node("Exp", "x", "v")], outs=[value("v", FLOAT, [2])])), slope()], opset=20, **dual))
    # Off the way: what y does not depend on, and what does not depend on x.
    w("gradient-many", one([node("Cos", "x", "off"), node("Acos", "c", "k"), node("Bernoulli", "x", "s", "first"), node("Hardmax", "s", "e"),
                            node("Mul", "e,k", "f"), node("Hardmax", "f", "t", "second"), node("Sin", "t", "after"), slope()],
                           inits=[floats("c", [2], [0.5, 0.5])], **dual))
    w("momentum", trained(step("x,g,v", "y,v1")))
    w("ragged", trained(step("x,g,v,x", "y")))
    w("steps", trained(step("x,g,v", "y,v1,v2")))
    w("mode", trained(step("x,g,v", "y", mode="sideways")))
    w("dft-axis", one(node("DFT", "x,n,a", "y", "bins"), 20,
                      [value("x", FLOAT, [1, 4, 1]), value("n", I64, []), value("a", I64, [])]))
    w("train-shape", one(step("x,g,v", "y,v1"), ins=[value("x", FLOAT, [2]), value("g", FLOAT, [3]), value("v", FLOAT, [2])],
                         inits=[r, t], imports=[(training, 1)]))
    w("train-kind", one(step("n,n,n", "y,v1"), inits=[r, t, ints("n", [2], [1, 2])], imports=[(training, 1)]))
    w("train-kinds", one(step("x,x,d", "y,v1"), inits=[r, t, tensor("d", 11, [2], bytes(16))], imports=[(training, 1)]))
    w("train-rate", one(step("x,x,x", "y,v1"), inits=[floats("r", [2], [0.5, 1.0]), t], imports=[(training, 1)]))
    w("no-mode", trained(node("Momentum", "r,t,x,g,v", "y", "step", training)))

    s16, s32, e8 = (tensor(n, k, [1], d) for n, k, d in (
        ("s16", HALF, b"\0\x3c"), ("s32", FLOAT, struct.pack("<f", 0.5)), ("e8", 24, b"\x80")))
    zero = tensor("z", U8, [1], b"\3")
    quantized = lambda nodes, ins=(X,): one(nodes, 24, ins, inits=[s16, s32, e8, zero])
    w("quantize", quantized([
        node("QuantizeLinear", "x,s16", "a", precision=1), node("QuantizeLinear", "x,e8", "b", output_dtype=22),
        node("QuantizeLinear", "x,s32", "c", output_dtype=17, saturate=0),
        node("DequantizeLinear", "a,s32", "d", output_dtype=10), node("DequantizeLinear", "a,e8", "e", output_dtype=1),
        node("DequantizeLinear", "a,s16,z", "f", axis=0, block_size=2), node("Identity", "x", "y")]))
    w("output-dtype", quantized(node("QuantizeLinear", "x,s32,z", "y", "q", output_dtype=3)))
    w("precision", quantized(node("QuantizeLinear", "x,s32,z", "y", "q", precision=11)))

    w("random-more", one([node("RandomNormalLike", "x", "n", mean=2.0, scale=3.0, seed=7.0),
                     node("RandomNormal", "", "m", shape=[3], dtype=11), node("Unsqueeze", "x,ax", "p"),
                     node("Multinomial", "p", "k", sample_size=4, dtype=7), node("Identity", "n", "y")],
                    inits=[ints("ax", [1], [0])]))
    w("samples", one(node("Multinomial", "x", "y", "m", sample_size=-1)))

    sub = graph([node("RandomUniformLike", "e", "u"), node("Add", "e,u", "q"), node("Add", "q,t", "o")],
                [value("e", FLOAT, [2]), value("t", FLOAT, [2])], [value("o", FLOAT, [2])])
    seq = [node("SequenceConstruct", "x,x", "s")]
    w("sequence-map", one(seq + [node("SequenceMap", "s,x", "r", "map", body=sub),
                                 node("ConcatFromSequence", "r", "y", axis=0)],
                            outs=[value("y", FLOAT, [4])]))
    w("sequence-identity", one([node("Relu", "x", "r"), node("SequenceConstruct", "x,r", "s"), node("Identity", "s", "t"),
                                node("ConcatFromSequence", "t", "y", axis=0)], outs=[value("y", FLOAT, [4])]))
    w("string-cast", one([node("Neg", "x", "n"), node("Cast", "n", "t", to=STRING), node("Reshape", "t,shape", "y")],
                         outs=[value("y", STRING, [1, 2])], inits=[ints("shape", [2], [1, 2])]))
    w("map-inputs", one(seq + [node("SequenceMap", "s", "y", "map", body=sub)]))
    w("map-lengths", one(seq + [node("SequenceConstruct", "x", "t"), node("SequenceMap", "s,t", "r", "map", body=sub),
                                node("ConcatFromSequence", "r", "y", axis=0)], outs=[value("y", FLOAT, [4])]))
    w("map-tensor", one([node("SequenceMap", "x,x", "y", "map", body=sub)]))


def make_scales(w):
    """Scales that divide numbers, and such that only multiply."""
    odd = {"zero": 0.0, "minus": -0.5, "tiny": 1e-45, "inf": float("inf"), "nan": float("nan"), "s": 0.5}
    inits = [floats(name, [], [number]) for name, number in odd.items()]
    inits += [floats("list", [2], [0.5, -3.0]), floats("more", [2], [-0.5, float("-inf")]), tensor("z", U8, [], b"\1"),
              tensor("q", U8, [1, 2], b"\1\2"), tensor("filter", U8, [1, 1, 1, 1], b"\1"), tensor("map", U8, [1, 1, 2, 2], bytes(4))]
    nodes = [node("QuantizeLinear", f"x,{name}", f"q.{name}", name) for name in odd]
    nodes += [node("DequantizeLinear", f"q,{name}", f"d.{name}", f"d.{name}") for name in odd]
    nodes += [node("QuantizeLinear", "x,list", "q.list", "list", axis=0), node("DequantizeLinear", "q,more", "d.more", "more"),
              node("QLinearMatMul", "q,s,z,q2,inf,z,zero,z", "product", "product"),
              node("QLinearConv", "map,nan,z,filter,minus,z,tiny,z", "conv", "conv"),
              node("QLinearAdd", "q,minus,z,q,nan,z,minus,z", "sum", "sum", "com.microsoft"),
              node("QGemm", "q,inf,z,q2,zero,z", "gemm", "gemm", "com.microsoft")]
    names = [n for name in odd for n in (f"q.{name}", f"d.{name}")] + ["q.list", "d.more", "product", "conv", "sum", "gemm"]
    inits.append(tensor("q2", U8, [2, 1], b"\1\2"))
    w("scales", model(graph(nodes, [X], [value(n) for n in names], inits), 17, imports=[("com.microsoft", 1)]))


def make_qlinear(w):
    """Quantized operators of ONNX Runtime."""
    domain = "com.microsoft"
    inits = [tensor("q", U8, [2], b"\1\2"), tensor("z", U8, [], b"\1"), floats("s", [1], [0.5]), floats("s2", [2], [0.5, 1.0]),
             tensor("m", U8, [1, 2], b"\1\2"), ints("n", [2], [1, 2]), tensor("x3", U8, [1, 1, 2], b"\1\2"),
             tensor("w", U8, [2, 6], bytes(12)), floats("b", [6], [0.0] * 6), tensor("ends", I32, [3], bytes(12))]
    quantized = lambda op, ins, **more: one(node(op, ins, "y", "q1", domain, **more), inits=inits, imports=[(domain, 1)])
    w("qlinear-add", quantized("QLinearAdd", "q,s,z,q,s,z,s,z"))
    w("qlinear-few", quantized("QLinearAdd", "q,s,z,q,s"))
    w("qlinear-scale", quantized("QLinearMul", "q,s2,z,q,s,z,s,z"))
    w("qlinear-kind", quantized("QLinearSigmoid", "n,s,z,s,z"))
    w("qlinear-ragged", quantized("QLinearConcat", "s,z,q,s,z,q", axis=0))
    w("qlinear-axis", quantized("QLinearConcat", "s,z,q,s,z"))
    w("qlinear-auto", quantized("QLinearAveragePool", "q,s,z,s,z", kernel_shape=[1], auto_pad="SAME_UPPER", channels_last=1))
    w("qlinear-where", quantized("QLinearWhere", "q,q,s,z,q,s,z,s,z"))
    w("qlinear-gemm", quantized("QGemm", "m,s,z,m,s,z"))
    w("qlinear-alpha", quantized("QLinearSigmoid", "q,s,z,s,z", alpha=1.0))
    w("qattention-heads", quantized("QAttention", "x3,w,b,s,s"))
    w("qattention-rank", quantized("QAttention", "m,w,b,s,s", num_heads=1))
    w("qattention-ends", quantized("QAttention", "x3,w,b,s,s,ends", num_heads=1))
    w("qattention-mask", quantized("QAttention", "x3,w,b,s,s,z", num_heads=1))
    w("qattention-past", quantized("QAttention", "x3,w,b,s,s,,,,s", num_heads=1))
    w("qattention-columns", quantized("QAttention", "x3,w,b,s,s2", num_heads=1))
    w("qattention-split", quantized("QAttention", "x3,w,b,s,s", num_heads=4))
    w("qattention-rotary", quantized("QAttention", "x3,w,b,s,s", num_heads=1, do_rotary=1))


def make_weights(w):
    """Operators of ONNX Runtime with weights of a few bits."""
    domain, bits = "com.microsoft", dict(K=32, N=2, block_size=16)
    inits = [tensor("b", U8, [2, 2, 8], bytes(32)), floats("a", [1, 32], [1.0] * 32), floats("s", [2, 2], [0.5] * 4),
             ints("i", [2], [0, 1]), tensor("t", U8, [2, 8], bytes(16)), floats("l", [2, 1], [0.5] * 2),
             floats("l3", [3, 1], [0.5] * 3)]
    narrow = lambda op, ins, **more: one(node(op, ins, "y", "q1", domain, **more), inits=inits, imports=[(domain, 1)])
    w("weights-bits", narrow("MatMulNBits", "a,b,s", **bits))
    w("weights-few", narrow("MatMulNBits", "a,b", **bits))
    w("weights-extent", narrow("MatMulNBits", "a,b,s", K=32, block_size=16))
    w("weights-huge", narrow("MatMulNBits", "a,b,s", K=1 << 40, N=2, block_size=16))
    w("weights-block", narrow("MatMulNBits", "a,b,s", K=32, N=2, block_size=24))
    w("weights-three", narrow("MatMulNBits", "a,b,s", bits=3, **bits))
    w("weights-size", narrow("MatMulNBits", "a,b,s", K=64, N=2, block_size=16))
    w("weights-kind", narrow("MatMulNBits", "a,s,s", **bits))
    w("weights-order", narrow("MatMulNBits", "a,b,s,b,i", **bits))
    w("weights-packed", narrow("MatMulNBits", "a,b,s", weight_prepacked=1, **bits))
    w("weights-type", narrow("MatMulBnb4", "a,b,s", quant_type=2, **bits))
    w("weights-axis", narrow("GatherBlockQuantized", "t,i,l", block_size=16, gather_axis=2))
    w("weights-scales", narrow("GatherBlockQuantized", "t,i,l3", block_size=16))
    w("weights-same", narrow("GatherBlockQuantized", "t,i,l", block_size=16, gather_axis=1))
    w("weights-inner", narrow("GatherBlockQuantized", "t,i,l", block_size=16, gather_axis=1, quantize_axis=0))


def make_movement(w):
    """Old and new forms of movement, reductions and selection."""
    x, m = floats("x", [2], [1.0, 2.0]), floats("m", [2, 2], [1.0, 2.0, 3.0, 4.0])
    fixed = lambda nodes, opset, inits, outs: model(graph(nodes, [], [value(o) for o in outs.split()], inits), opset)
    w("tile-1", fixed([node("Tile", "m,three,axis", "y")], 5,
                      [m, floats("three", [1], [3.0]), floats("axis", [1], [-1.0])], "y"))
    w("tile-axis", fixed([node("Tile", "m,three,axis", "y", "t")], 5,
                         [m, floats("three", [1], [3.0]), floats("axis", [1], [2.0])], "y"))
    inf = float("inf")
    w("log-sum-exp", fixed([node("ReduceLogSumExp", "e", "y", axes=[1], keepdims=0)], 13,
                           [floats("e", [5, 2], [-inf, -inf, inf, 0.0, 1e4, -1e4, inf, -inf, -0.0, -inf])], "y"))
    w("integer-root", fixed([node("ReduceL2", "n", "y", axes=[0], keepdims=0)], 13, [ints("n", [2], [3, -4])], "y"))
    w("half-range", fixed([node("Range", "a,b,c", "y")], 27,
                          [tensor(n, HALF, [], d) for n, d in (("a", b"\0\x3c"), ("b", b"\0\x44"), ("c", b"\0\x3c"))], "y"))
    w("stash", fixed([node("Range", "a,a,a", "y", "r", stash_type=6)], 27, [tensor("a", HALF, [], b"\0\x3c")], "y"))
    w("movement-forms", fixed(
        [node("EyeLike", "m", "e"), node("EyeLike", "m", "f", k=-1, dtype=9), node("Unique", "m", "u"),
         node("Unique", "m", "v,,,c", axis=1, sorted=0), node("Hardmax", "m", "h"), node("CumSum", "m,i32", "s", reverse=1),
         node("ScatterElements", "x,j,x", "p", axis=-1), node("GatherND", "m,j2", "g", batch_dims=1),
         node("SpaceToDepth", "d", "q", blocksize=2)], 15,
        [x, m, tensor("i32", I32, [1], b"\1\0\0\0"), ints("j", [2], [1, 0]), ints("j2", [2, 1], [1, 0]),
         floats("d", [1, 1, 2, 2], [1.0] * 4)], "e f u v c h s p g q"))
    w("movement-old", fixed([node("Hardmax", "d", "h"), node("Scatter", "x,j,x", "p", axis=0), node("DepthToSpace", "d", "q", blocksize=2),
                             node("GatherND", "x,j2", "g")], 11,
                            [x, ints("j", [2], [1, 0]), ints("j2", [2, 1], [1, 0]), floats("d", [1, 4, 1, 1], [1.0] * 4)], "h p q g"))


def make_resampling(w):
    """Old forms of resampling and detection, and attributes that are wrong."""
    line = value("x", FLOAT, [1, 1, 1, 4])
    grow, shrink = (floats("s", [4], [1.0, 1.0, *s]) for s in ([2.0, 1.5], [1.0, 0.6]))
    both = floats("s", [4], [1.0, 1.0, 2.0, 0.6])
    made = lambda n, opset, ins, inits=(): model(graph([n], ins, [value("y")], inits), opset)
    for name, scales in (("grow", grow), ("shrink", shrink), ("both", both)):
        w("resize-10-" + name, made(node("Resize", "x,s", "y"), 10, [line], [scales]))
    w("resize-10-run", made(node("Resize", "x,s", "y"), 10, [line, value("s", FLOAT, [4])]))
    w("resize-10-mode", made(node("Resize", "x,s", "y", "n", mode="cubic"), 10, [line], [grow]))
    w("resize-11-mode", made(node("Resize", "x,,s", "y", "n", mode="bilinear"), 11, [line], [grow]))
    w("upsample-7", made(node("Upsample", "x", "y", scales=[1.0, 1.0, 2.0, 1.5]), 7, [line]))
    w("upsample-7-none", made(node("Upsample", "x", "y", "n"), 7, [line]))
    w("upsample-1", made(node("Upsample", "x", "y", height_scale=2.0, width_scale=1.5, mode="bilinear"), 1, [line]))
    grid = [line, value("g", FLOAT, [1, 2, 3, 2])]
    w("grid-16", made(node("GridSample", "x,g", "y", mode="bicubic", padding_mode="border"), 16, grid))
    w("grid-20", made(node("GridSample", "x,g", "y"), 20, grid))
    w("grid-mode", made(node("GridSample", "x,g", "y", "n", mode="area"), 20, grid))
    w("grid-padding", made(node("GridSample", "x,g", "y", "n", padding_mode="wrap"), 20, grid))
    regions = [line, value("r", FLOAT, [5, 4]), value("b", I64, [5])]
    for opset in (10, 16, 22):
        w(f"roi-{opset}", made(node("RoiAlign", "x,r,b", "y", output_width=2), opset, regions))
    w("roi-mode", made(node("RoiAlign", "x,r,b", "y", "n", mode="sum"), 10, regions))
    w("roi-size", made(node("RoiAlign", "x,r,b", "y", "n", output_height=-1), 10, regions))
    w("roi-ratio", made(node("RoiAlign", "x,r,b", "y", "n", sampling_ratio=-1), 16, regions))
    pool = [line, value("r", FLOAT, [5, 5])]
    for opset in (1, 22):
        w(f"pool-{opset}", made(node("MaxRoiPool", "x,r", "y", pooled_shape=[2, 3]), opset, pool))
    w("pool-shape", made(node("MaxRoiPool", "x,r", "y", "n", pooled_shape=[2, -3]), 22, pool))
    w("pool-none", made(node("MaxRoiPool", "x,r", "y", "n"), 22, pool))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)

    def write(name, data):
        path = os.path.join(folder, name + ".onnx")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)

    for make in (make_basic, make_bind, make_control, make_elementwise, make_families, make_functions, make_movement, make_old, make_operators,
                 make_qlinear, make_resampling, make_scales, make_folded, make_unsupported, make_weights, make_windows, make_wrong):
        make(write)
    make_external(write, folder)
    write("empty", b"")


if __name__ == "__main__":
    main()
