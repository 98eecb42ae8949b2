"""The lit configuration: tools on PATH, substitutions, features. See docs/HowTo-write-tests.md."""
import glob
import os
import shutil
import subprocess
import sys

import lit.formats
import lit.TestRunner

config.name = "Glow"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".gg", ".gir", ".test"]
config.excludes = ["Inputs", "models", "unit", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.glow_obj_root, "test")

# -Dtools=DIR: other tools, of the same tests.
path = [lit_config.params.get("tools", config.glow_tools_dir), config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
config.environment["GLOW_CACHE_DIR"] = "/dev/null"  # what is compiled must not depend on earlier runs
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%python", config.python),
    ("%src", config.glow_src_root),
    ("%obj", config.glow_obj_root),
    ("%onnx_data", "/usr/share/libonnx-testdata/data"),
    ("%models", config.glow_models),
    ("%lit", sys.argv[0]),
]
if config.glow_sanitize:
    config.environment["GLOW_UNBOUNDED"] = "1"


def stopping_the_clock(run):
    """lit's own function, but one that stops the test's clock when a command does not exist: lit does
    not, and the process of the test would end only with the clock."""
    def run_and_stop(command, environment, results, clock):
        try:
            return run(command, environment, results, clock)
        except lit.TestRunner.InternalShellError:
            clock.cancel()
            raise
    return run_and_stop


lit.TestRunner._executeShCmd = stopping_the_clock(lit.TestRunner._executeShCmd)


def works(*command):
    """Whether a command can be run here, to its end."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


on_a_terminal = os.path.join(config.test_source_root, "tools", "Inputs", "on_a_terminal.py")
without_exec = os.path.join(config.test_source_root, "tools", "Inputs", "without_exec.py")
for feature, there in {
    "llvm": config.glow_enable_llvm,
    "dot": shutil.which("dot"),
    "gdb": shutil.which("gdb") and os.path.exists(os.path.join(config.glow_obj_root, "test", "gdb-example")),
    "perf": works("perf", "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "true"),
    "pty": works(config.python, on_a_terminal, "true"),
    "seccomp": works(config.python, without_exec, "true"),
    "vim": shutil.which("vim"),
    "asan": config.glow_sanitize,
    "models": os.path.isdir(config.glow_models),
    "onnx-data": os.path.isdir("/usr/share/libonnx-testdata/data"),
    "x86": os.uname().machine == "x86_64",
    "cross-aarch64": shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64"),
    "bare-i686": (shutil.which("clang-19") and shutil.which("qemu-i386") and
                  glob.glob("/usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.builtins-i386.a")),
    "cross-riscv64": shutil.which("riscv64-linux-gnu-gcc") and shutil.which("qemu-riscv64"),
}.items():
    if there:
        config.available_features.add(feature)
seconds = 900 if config.glow_sanitize else 300
lit_config.maxIndividualTestTime = seconds if shutil.which("python3") and config.has_psutil else 0
