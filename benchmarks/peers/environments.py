"""Virtual environments of the engines that Glow is compared with, made from PyPI when they are first needed."""
import os
import shlex
import subprocess
import sys

# name: (virtual environment, what pip installs, oldest Python)
ENGINES = {
    "onnxruntime": ("onnxruntime", ["onnxruntime==1.31.1", "numpy"], "3.11"),
    "openvino": ("openvino", ["openvino==2026.4.1", "numpy"], "3.11"),
    "mnn": ("mnn", ["mnn==3.6.1", "numpy"], "3.11"),
    "xla": ("xla", ["jax==0.12.0", "onnx", "numpy", "safetensors"], "3.12"),
    "tvm": ("tvm", ["apache-tvm==0.27.0.post1", "onnx", "numpy"], "3.11"),
}
# What other programs of the benchmarks run in.
TOOLS = {
    "quantizer": ("quantizer", ["onnxruntime==1.31.1", "onnx", "numpy", "sympy"], "3.11"),
}


class Failed(Exception):
    pass


def find_python(oldest):
    """A Python of at least this version, the nearest first."""
    minor = int(oldest.split(".")[1])
    names = [sys.executable] + [f"python3.{m}" for m in range(minor, minor + 4)]
    for pattern in names + [os.path.expanduser(f"~/.pyenv/versions/3.{m}.{k}/bin/python3")
                            for m in range(minor, minor + 4) for k in range(20)]:
        try:
            test = [pattern, "-c", f"import sys, venv, ensurepip; sys.exit(sys.version_info < (3, {minor}))"]
            if subprocess.run(test, capture_output=True).returncode == 0:
                return pattern
        except OSError:
            pass
    raise Failed(f"no Python {oldest} with venv")


def environment(folder, engine):
    """The Python of an engine or a tool, installed if it is not there."""
    name, packages, oldest = {**ENGINES, **TOOLS}[engine]
    venv = os.path.join(folder, "venv-" + name)
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(os.path.join(venv, "complete")):
        print(f"installing {' '.join(packages)}", file=sys.stderr)
        for command in ([find_python(oldest), "-m", "venv", venv],
                        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]):
            if subprocess.run(command, stdout=sys.stderr).returncode:
                raise Failed(f"{shlex.join(command)} failed")
        open(os.path.join(venv, "complete"), "w").close()
    return python
