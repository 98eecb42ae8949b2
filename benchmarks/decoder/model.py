#!/usr/bin/env python3
"""Writes a decoder in the form in which exporters write its cache, with random weights from a fixed seed.

    benchmarks/decoder/model.py OUT.onnx [--form exported] [--layers 12] [--hidden 768] [--heads 12] [--words 8192] [--bits 4]

Inputs are input_ids, position_ids [1, sequence], attention_mask [1, past + sequence], and for each layer
past_key_values.I.key and .value [1, heads, past, size]; outputs are logits [1, sequence, words], present.I.key and
present.I.value [1, heads, past + sequence, size]. Forms differ in how attention is written:

    exported   Concat with the past, two MatMul around Softmax, a mask of positions
    attention  ONNX's Attention (operator set 23) with past and present, which is causal itself
    static     the same (operator set 24) over caches of one size, into which TensorScatter writes
    grouped    com.microsoft GroupQueryAttention and RotaryEmbedding, with a third of the heads for keys and values

With --bits 4 matrices have 4 bits an element and a scale for each 32 rows of a column (com.microsoft MatMulNBits).
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "utils"))
import onnx_bytes as onnx  # noqa: E402

KINDS = {np.dtype(np.float32): onnx.FLOAT, np.dtype(np.int64): onnx.I64, np.dtype(np.uint8): onnx.U8}
BLOCK = 32
POSITIONS = 1024
STATIC = 576  # rows of a static cache


class Decoder:
    def __init__(self, form, layers, hidden, heads, words, bits):
        self.bits = bits
        self.form, self.layers, self.hidden, self.heads, self.words = form, layers, hidden, heads, words
        self.kv_heads = heads // 3 if form == "grouped" else heads
        self.size = hidden // heads
        self.nodes, self.arrays, self.count = [], {}, 0
        self.inputs, self.outputs = [], []
        self.random = np.random.default_rng(1)

    def constant(self, values, name=None):
        self.count += 1
        name = name or f"c{self.count}"
        values = np.asarray(values)
        self.arrays[name] = values
        return name

    def integers(self, *values):
        return self.constant(np.array(values, np.int64))

    def normal(self, *dims, deviation=0.02):
        return self.constant(self.random.standard_normal(dims, dtype=np.float32) * np.float32(deviation))

    def node(self, op, *inputs, outputs=None, domain="", **attributes):
        self.count += 1
        outputs = outputs or [f"n{self.count}"]
        self.nodes.append(onnx.node(op, ",".join(inputs), ",".join(outputs), f"n{self.count}", domain, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def take(self, name, kind, dims):
        self.inputs.append(onnx.value(name, kind, dims))
        return name

    def give(self, name, dims):
        self.outputs.append(onnx.value(name, onnx.FLOAT, dims))
        return name

    def product(self, x, rows, columns):
        w = self.normal(rows, columns)
        if self.bits == 32:
            return self.node("MatMul", x, w)
        values = self.arrays.pop(w).reshape(rows // BLOCK, BLOCK, columns)
        scale = np.maximum(np.abs(values).max(axis=1, keepdims=True) / np.float32(7), np.float32(1e-9))
        steps = (np.rint(values / scale) + 8).astype(np.uint8).transpose(2, 0, 1)
        packed = self.constant(np.ascontiguousarray(steps[..., 0::2] | steps[..., 1::2] << 4))
        scales = self.constant(np.ascontiguousarray(scale[:, 0].T.reshape(-1)))
        return self.node("MatMulNBits", x, packed, scales, domain="com.microsoft", K=rows, N=columns, bits=4,
                         block_size=BLOCK)

    def linear(self, x, rows, columns):
        return self.node("Add", self.product(x, rows, columns), self.normal(columns))

    def norm(self, x):
        scale, bias = self.constant(np.ones(self.hidden, np.float32)), self.normal(self.hidden)
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)

    def gelu(self, x):
        cube = self.node("Mul", self.node("Mul", x, x), x)
        inner = self.node("Add", x, self.node("Mul", cube, self.constant(np.float32(0.044715))))
        tanh = self.node("Tanh", self.node("Mul", inner, self.constant(np.float32((2 / np.pi) ** 0.5))))
        half = self.node("Mul", x, self.constant(np.float32(0.5)))
        return self.node("Mul", half, self.node("Add", tanh, self.constant(np.float32(1))))

    def cache(self, layer, part):
        past = self.take(f"past_key_values.{layer}.{part}", onnx.FLOAT,
                         [1, self.kv_heads, "past_sequence_length", self.size])
        present = self.give(f"present.{layer}.{part}",
                            [1, self.kv_heads, "past_sequence_length + sequence_length", self.size])
        return past, present

    def split_heads(self, x, heads):
        y = self.node("Reshape", x, self.integers(0, 0, heads, self.size))
        return self.node("Transpose", y, perm=[0, 2, 1, 3])

    def exported(self, layer, q, k, v):
        q, k, v = (self.split_heads(x, self.heads) for x in (q, k, v))
        (past_k, present_k), (past_v, present_v) = self.cache(layer, "key"), self.cache(layer, "value")
        k = self.node("Concat", past_k, k, outputs=[present_k], axis=2)
        v = self.node("Concat", past_v, v, outputs=[present_v], axis=2)
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.node("Div", scores, self.constant(np.float32(self.size ** 0.5)))
        shares = self.node("Softmax", self.node("Add", scores, self.mask), axis=-1)
        y = self.node("Transpose", self.node("MatMul", shares, v), perm=[0, 2, 1, 3])
        return self.node("Reshape", y, self.integers(0, 0, self.hidden))

    def attention(self, layer, q, k, v):
        (past_k, present_k), (past_v, present_v) = self.cache(layer, "key"), self.cache(layer, "value")
        self.count += 1
        return self.node("Attention", q, k, v, "", past_k, past_v, outputs=[f"a{layer}", present_k, present_v],
                         is_causal=1, q_num_heads=self.heads, kv_num_heads=self.heads)[0]

    def static(self, layer, q, k, v):
        presents = []
        for part, x in (("key", k), ("value", v)):
            dims = [1, self.heads, STATIC, self.size]
            past = self.take(f"past_key_values.{layer}.{part}", onnx.FLOAT, dims)
            presents.append(self.give(f"present.{layer}.{part}", dims))
            self.node("TensorScatter", past, self.split_heads(x, self.heads), "write_indices", outputs=presents[-1:])
        y = self.node("Attention", self.split_heads(q, self.heads), *presents, "", "", "", "nonpad_kv_seqlen",
                      is_causal=1)
        y = self.node("Transpose", y, perm=[0, 2, 1, 3])
        return self.node("Reshape", y, self.integers(0, 0, self.hidden))

    def grouped(self, layer, q, k, v):
        (past_k, present_k), (past_v, present_v) = self.cache(layer, "key"), self.cache(layer, "value")
        q, k = (self.node("RotaryEmbedding", x, "position_ids", *self.rotation, domain="com.microsoft")
                for x in (q, k))
        return self.node("GroupQueryAttention", q, k, v, past_k, past_v, self.last, self.total,
                         outputs=[f"a{layer}", present_k, present_v], domain="com.microsoft",
                         num_heads=self.heads, kv_num_heads=self.kv_heads)[0]

    def prepare(self):
        """What all layers share."""
        mask = "attention_mask"
        if self.form == "exported":
            keys = self.node("Sub", self.node("CumSum", mask, self.constant(np.int64(1))),
                             self.constant(np.int64(1)))
            keys = self.node("Unsqueeze", keys, self.integers(1, 2))
            queries = self.node("Unsqueeze", "position_ids", self.integers(1, 3))
            seen = self.node("LessOrEqual", keys, queries)
            self.mask = self.node("Where", seen, self.constant(np.float32(0)),
                                  self.constant(np.float32(np.finfo(np.float32).min)))
        elif self.form == "grouped":
            angles = np.outer(np.arange(POSITIONS), 10000.0 ** (-np.arange(0, self.size, 2) / self.size))
            self.rotation = [self.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin)]
            total = self.node("ReduceSum", mask, self.integers(1), keepdims=0)
            self.last = self.node("Cast", self.node("Sub", total, self.integers(1)), to=onnx.I32)
            length = self.node("Gather", self.node("Shape", mask), self.constant(np.int64(1)), axis=0)
            self.total = self.node("Cast", length, to=onnx.I32)

    def build(self):
        self.take("input_ids", onnx.I64, [1, "sequence_length"])
        if self.form == "static":
            self.take("write_indices", onnx.I64, [1])
            self.take("nonpad_kv_seqlen", onnx.I64, [1])
        elif self.form != "attention":
            self.take("attention_mask", onnx.I64, [1, "past_sequence_length + sequence_length"])
        self.take("position_ids", onnx.I64, [1, "sequence_length"])
        self.give("logits", [1, "sequence_length", self.words])
        self.prepare()
        x = self.node("Gather", self.normal(self.words, self.hidden), "input_ids", axis=0)
        if self.form != "grouped":
            x = self.node("Add", x, self.node("Gather", self.normal(POSITIONS, self.hidden), "position_ids", axis=0))
        for layer in range(self.layers):
            y = self.norm(x)
            kv = self.kv_heads * self.size
            q, k, v = (self.linear(y, self.hidden, columns) for columns in (self.hidden, kv, kv))
            y = getattr(self, self.form)(layer, q, k, v)
            x = self.node("Add", x, self.linear(y, self.hidden, self.hidden))
            y = self.gelu(self.linear(self.norm(x), self.hidden, 4 * self.hidden))
            x = self.node("Add", x, self.linear(y, 4 * self.hidden, self.hidden))
        self.node("Identity", self.product(self.norm(x), self.hidden, self.words), outputs=["logits"])
        tensors = [onnx.tensor(n, KINDS[a.dtype], a.shape, a.tobytes()) for n, a in self.arrays.items()]
        graph = onnx.graph(self.nodes, self.inputs, self.outputs, tensors, "decoder")
        return onnx.model(graph, {"attention": 23, "static": 24}.get(self.form, 17), imports=[("com.microsoft", 1)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--form", default="exported", choices=("exported", "attention", "static", "grouped"))
    parser.add_argument("--bits", type=int, default=32, choices=(32, 4))
    for option, default in (("layers", 12), ("hidden", 768), ("heads", 12), ("words", 8192)):
        parser.add_argument("--" + option, type=int, default=default)
    o = parser.parse_args()
    with open(o.path, "wb") as out:
        out.write(Decoder(o.form, o.layers, o.hidden, o.heads, o.words, o.bits).build())


if __name__ == "__main__":
    main()
