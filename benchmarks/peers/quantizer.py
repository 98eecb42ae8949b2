"""Makes the 8-bit form of a network as ONNX Runtime's quantizer does: QuantizeLinear and DequantizeLinear around every
operator that ONNX Runtime has in integers, values of unsigned bytes, weights of signed bytes by channel. The ranges are
those of four random inputs that are not the one of the comparison.

    quantizer.py NAME.onnx BITS     writes NAME_intBITS.onnx, .in and .json; weights have 7 or 8 bits
"""
import json
import logging
import os
import shutil
import sys

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Inputs(CalibrationDataReader):
    def __init__(self, shape):
        random = np.random.default_rng(11)
        self.feeds = iter([{"x": random.standard_normal(shape, dtype=np.float32)} for _ in range(4)])

    def get_next(self):
        return next(self.feeds, None)


def quantize(path, bits):
    name = os.path.splitext(path)[0]
    quantized = f"{name}_int{bits}"
    with open(name + ".json") as f:
        about = json.load(f)
    logging.disable(logging.WARNING)  # advice to preprocess a model that was written without anything to fold
    quantize_static(path, quantized + ".onnx", Inputs(about["input"]), quant_format=QuantFormat.QDQ, per_channel=True,
                    reduce_range=bits == 7, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    shutil.copyfile(name + ".in", quantized + ".in")
    with open(quantized + ".json", "w") as f:  # last: it says that the others are whole
        json.dump(about, f)


quantize(sys.argv[1], int(sys.argv[2]))
