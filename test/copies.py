"""A copy of the tree with a build of its own, for tests that change sources."""
import os
import shutil
import subprocess
import sys

KEEP = ("CMakeLists.txt", "cmake", "include", "lib", "tools", "utils", "test", "examples", "docs", "benchmarks",
        "LICENSE", "README.md")


def run(command, **more):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


class Copy:
    """Below `scratch`, which is emptied: `root` and `build`, fast to build: not optimized, mostly without LLVM."""

    def __init__(self, source, scratch):
        self.scratch, self.root, self.build = scratch, os.path.join(scratch, "src"), os.path.join(scratch, "build")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(self.root)
        for name in KEEP:
            path = os.path.join(source, name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(self.root, name), symlinks=True)
            elif os.path.exists(path):
                shutil.copy2(path, os.path.join(self.root, name))

    def make(self, *targets, llvm=False):
        """Configures and builds; leaves this program where that fails."""
        configure = run(["cmake", "-G", "Ninja", "-S", self.root, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                         "-DCMAKE_C_FLAGS_RELEASE=-O0", f"-DGLOW_ENABLE_LLVM={'ON' if llvm else 'OFF'}"])
        if configure.returncode:
            sys.exit(configure.stdout)
        result = run(["ninja", "-C", self.build, *targets])
        if result.returncode:
            sys.exit(result.stdout[-6000:])

    def remove(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
