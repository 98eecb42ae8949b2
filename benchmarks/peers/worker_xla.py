"""XLA's CPU backend, through jax: the graph in jax.numpy, images in NHWC, weights as constants."""
import serve  # first: engines print when they are imported
import os
import sys

if sys.argv[4] == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402


def convolution(x, w, b, kernel_shape, strides, pads, group=1):
    y = jax.lax.conv_general_dilated(
        x, w.transpose(2, 3, 1, 0), strides, ((pads[0], pads[2]), (pads[1], pads[3])),
        dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=group)
    return y + b


def max_pool(x, kernel_shape, strides, pads):
    padding = (0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, *kernel_shape, 1), (1, *strides, 1), padding)


def flatten(x, axis):
    x = x.transpose(0, 3, 1, 2) if x.ndim == 4 else x
    return x.reshape(x.shape[0], -1)


def layer_normalization(x, scale, bias, axis, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale + bias


OPERATORS = {
    "Conv": convolution, "MaxPool": max_pool, "Flatten": flatten, "LayerNormalization": layer_normalization,
    "Relu": lambda x: jnp.maximum(x, 0), "Clip": jnp.clip, "Add": jnp.add, "Mul": jnp.multiply, "Div": jnp.divide,
    "GlobalAveragePool": lambda x: x.mean((1, 2), keepdims=True), "MatMul": jnp.matmul, "Erf": jax.lax.erf,
    "Gemm": lambda x, w, b, transB: x @ w.T + b,
    "Reshape": lambda x, shape: x.reshape([int(n) for n in shape]),
    "Transpose": lambda x, perm: x.transpose(perm), "Softmax": lambda x, axis: jax.nn.softmax(x, axis),
    "Split": lambda x, sizes, axis: jnp.split(x, [int(n) for n in np.cumsum(sizes)[:-1]], axis),
}


def start(model, x, threads):
    graph = onnx.load(model).graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    def network(images):
        values = {**constants, graph.input[0].name: images.transpose(0, 2, 3, 1) if images.ndim == 4 else images}
        for node in graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            y = OPERATORS[node.op_type](*(values[i] for i in node.input), **attributes)
            values.update(zip(node.output, y if isinstance(y, list) else [y]))
        return values[graph.output[0].name]
    given, last = jnp.asarray(x), []
    compiled = jax.jit(network).lower(given).compile()

    def run():
        last[:] = [compiled(given).block_until_ready()]
    return run, lambda: np.asarray(last[0]), f"xla-jax{jax.__version__}"


serve.serve(start)
