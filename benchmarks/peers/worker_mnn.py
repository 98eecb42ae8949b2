"""MNN. Its converter's result is kept beside the model."""
import serve  # first: engines print when they are imported
import os
import subprocess
import sys

import MNN
import MNN.expr as expr


def start(model, x, threads):
    converted = serve.artefact(model, ".mnn")
    if not os.path.exists(converted):
        tool = os.path.join(os.path.dirname(sys.executable), "mnnconvert")
        subprocess.run([tool, "-f", "ONNX", "--modelFile", model, "--MNNModel", converted + ".part", "--bizCode",
                        "peers"], check=True)
        os.rename(converted + ".part", converted)
    runtime = MNN.nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": threads},))
    network = MNN.nn.load_module_from_file(converted, [], [], runtime_manager=runtime, shape_mutable=False)
    given, last = expr.const(x, list(x.shape), expr.NCHW), []

    def run():
        result = network.forward([given])
        last[:] = result if isinstance(result, list) else [result]
        last[0].read()  # nothing is computed before
    return run, lambda: expr.convert(last[0], expr.NCHW).read(), f"mnn-{MNN.version()}"


serve.serve(start)
