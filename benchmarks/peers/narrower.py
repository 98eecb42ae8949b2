"""Makes the form of a network whose matrices have a few bits: MatMul by a constant becomes MatMulNBits of com.microsoft,
with a scale for each 32 rows of a column, the largest magnitude among them over the largest integer. Values stay float.

    narrower.py NAME.onnx BITS     writes NAME_weightsBITS.onnx, .in and .json; BITS are 2, 4 or 8
"""
import os
import shutil
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCK = 32


def narrow(w, bits):
    """Bytes and scales of a matrix [K, N], as MatMulNBits takes them: [N, blocks, bytes], [N * blocks]."""
    k, n = w.shape
    blocks, middle, in_byte = -(-k // BLOCK), 1 << bits - 1, 8 // bits
    rows = np.zeros((n, blocks * BLOCK), np.float32)
    rows[:, :k] = w.T
    rows = rows.reshape(n, blocks, BLOCK)
    scale = np.maximum(np.abs(rows).max(2) / np.float32(middle - 1), np.float32(1e-9))
    q = (np.clip(np.rint(rows / scale[..., None]), -middle, middle - 1) + middle).astype(np.uint8)
    packed = sum(q[..., i::in_byte] << np.uint8(i * bits) for i in range(in_byte))
    return packed.astype(np.uint8), scale.astype(np.float32).reshape(-1)


def main(path, bits):
    name = os.path.splitext(path)[0]
    model = onnx.load(path)
    constants = {t.name: t for t in model.graph.initializer}
    for i, node in enumerate(model.graph.node):
        w = constants.get(node.input[1]) if node.op_type == "MatMul" else None
        if w is None or len(w.dims) != 2:
            continue
        k, n = w.dims
        parts = zip((f"{w.name}.bits", f"{w.name}.scales"), narrow(numpy_helper.to_array(w), bits))
        model.graph.initializer.remove(w)
        model.graph.initializer.extend(numpy_helper.from_array(v, at) for at, v in parts)
        model.graph.node[i].CopyFrom(helper.make_node(
            "MatMulNBits", [node.input[0], f"{w.name}.bits", f"{w.name}.scales"], node.output, domain="com.microsoft",
            K=k, N=n, bits=bits, block_size=BLOCK))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, f"{name}_weights{bits}.onnx")
    shutil.copyfile(name + ".in", f"{name}_weights{bits}.in")
    shutil.copyfile(name + ".json", f"{name}_weights{bits}.json")  # last: it says that the others are whole


main(sys.argv[1], int(sys.argv[2]))
