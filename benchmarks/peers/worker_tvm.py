"""TVM with relax's default pipeline for CPUs, untuned. The compiled library is kept beside the model."""
import serve  # first: engines print when they are imported
import os

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

ISA = os.environ.get("PEERS_ISA", "host")  # its code is made for a named target: it asks no processor


def host():
    with open("/proc/cpuinfo") as f:
        have = next((line.split() for line in f if line.startswith("flags")), [])
    names = ["avx", "avx2", "fma", "f16c"] + ["avx512f", "avx512vl", "avx512bw", "avx512dq"] * (ISA != "avx2")
    features = [n for n in names if n in have]
    return tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v3" if "avx2" in have else "x86-64-v2",
                              "mattr": ["+" + n for n in features]})


def start(model, x, threads):
    library = serve.artefact(model, f"_tvm_{ISA}.so")
    if not os.path.exists(library):
        target = host()
        with target:
            module = relax.get_pipeline("zero")(from_onnx(onnx.load(model)))
            tvm.compile(module, target).export_library(library)
    machine = relax.VirtualMachine(tvm.runtime.load_module(library), tvm.cpu())
    given, last = tvm.runtime.tensor(x), []

    def run():
        last[:] = [machine["main"](given)]
    return run, lambda: last[0].numpy(), f"tvm-{tvm.__version__}"


serve.serve(start)
