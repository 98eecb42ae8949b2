#!/usr/bin/env python3
"""Plants disagreements with the kernel table: a wrong field, count, kind, variant or kernel in a source, in the
selection that makes work for it, or in the table. None may compile, for the reason that is given here; without them
all do."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

CONVS, PRODUCTS, REDUCTIONS, LINE_ROWS, SAMPLES, ELEMENTS = (
    f"lib/kernels/{name}.ops" for name in ("conv", "matmul", "reduce", "lines", "sample", "elements"))
CONV, MATMUL = "lib/kernels/cpu/conv.c", "lib/kernels/cpu/matmul.c"
DIRECT, PRODUCT = "lib/backend/cpu/conv_direct.c", "lib/backend/cpu/matmul.c"
SETUP, PRODUCT_SETUP = "lib/target/cpu/setup/conv.c", "lib/target/cpu/setup/matmul.c"
REDUCE, LINES, RESIZE = "lib/backend/cpu/reduce.c", "lib/backend/cpu/lines.c", "lib/backend/cpu/resize.c"
KERNEL_REDUCE = "lib/kernels/cpu/reduce.c"
KERNEL_LINES, SCATTER, STACK = "lib/kernels/cpu/lines.c", "lib/kernels/cpu/scatter.c", "lib/kernels/cpu/stack.c"
# What is wrong, what is compiled, the file that changes, a text in it, the wrong one, and what the compiler says.
PLANTED = (
    ("field", MATMUL, MATMUL, "s->lda", "s->ldb", "no member named 'ldb'"),
    ("field", MATMUL, PRODUCTS, "  derived lda : i64", "  derived ldb : i64", "no member named 'lda'"),
    ("field", PRODUCT_SETUP, PRODUCT_SETUP, "p->lda", "p->ldb", "no member named .ldb"),
    ("field", SETUP, CONVS, "  derived fetch : i64", "  derived catch : i64", "no member named .fetch"),
    ("count", CONV, CONV, "int64_t from, int64_t to, int64_t group)", "int64_t from, int64_t to)", "conflicting types"),
    ("count", CONV, CONV, "GlowConvTileFn *full_odd, GlowConvTileFn *small_odd,", "GlowConvTileFn *small_odd,",
     "conflicting types"),
    ("count", MATMUL, PRODUCTS, "ints batch, row, col, depth, phase", "ints row, col, depth, phase", "conflicting types"),
    ("count", SETUP, SETUP, "glow_size_conv_scattered(rows, vectors)", "glow_size_conv_scattered(rows)",
     "too few arguments"),
    ("count", DIRECT, CONVS, "out y : float  in x : float, w : float, bias : float?, zeros : float?\n}\n\nkernel conv_few",
     "out y : float  in x : float, w : float, bias : float?\n}\n\nkernel conv_few", "no member named .zeros"),
    ("kind", CONV, CONV, "const float *bias, const float *zeros", "const double *bias, const float *zeros",
     "conflicting types"),
    ("kind", MATMUL, PRODUCTS, "out c : float  in a : float, b : float, next : float", "out c : float  in a : i32, b : float, "
     "next : float", "conflicting types"),
    ("kind", MATMUL, MATMUL, "GlowMatrixEpilogueFn *epilogue, float *c, const float *a,    \\",
     "GlowEpilogueFn *epilogue, float *c, const float *a,    \\", "conflicting types"),
    ("kind", DIRECT, DIRECT, "glow_work_conv(s, n, &p, &setup,", "glow_work_conv(s, n, &p.g, &setup,",
     "incompatible.pointer.types"),
    ("kind", SETUP, CONVS, "  derived padded : i64", "  padded : i64\n  derived g2 : ConvGeometry", "only fields of type i64"),
    ("kind", PRODUCT, PRODUCT, "glow_setup_matmul(&s->cpu, &p,", "glow_setup_conv(&s->cpu, &p,",
     "incompatible.pointer.types"),
    ("variant", REDUCE, REDUCE, "return GLOW_REDUCE_MAX;", "return GLOW_REDUCE_TOP;", ".GLOW_REDUCE_TOP. undeclared"),
    ("variant", REDUCE, REDUCTIONS, "params ReduceParams\n  variants sum, prod, max, min", "params ReduceParams\n  variants sum, prod, top, min",
     ".GLOW_REDUCE_MAX. undeclared"),
    ("variant", LINES, LINE_ROWS, "  params LinesParams\n  variants sum, prod\n", "  params LinesParams\n", "too many arguments"),
    ("variant", KERNEL_REDUCE, REDUCTIONS, "params ReduceParams\n  variants sum, prod, max, min",
     "params ReduceParams\n  variants sum, max, min", "no previous prototype for function 'glow_reduce_prod_float'"),
    ("kind", KERNEL_REDUCE, KERNEL_REDUCE, "INTEGER(i8, int8_t, int8_t, i64, ", "INTEGER(i4, int8_t, int8_t, i64, ", "undeclared function 'glow_max_i4'"),
    ("kernel", KERNEL_LINES, LINE_ROWS, "kernel trilu ", "kernel triangle ", "no previous prototype for function 'glow_trilu'"),
    ("kind", KERNEL_LINES, LINE_ROWS, "  out y : i64  in x : T", "  out y : i32  in x : T", "incompatible pointer types"),
    ("kind", LINES, LINES, "glow_work_arg_max(s, n, x.type->kind, ", "glow_work_arg_max(s, n, ", "too few arguments"),
    ("kind", SCATTER, SCATTER, "void *to, const void *from, int64_t count", "float *to, const float *from, int64_t count",
     "conflicting types"),
    ("count", STACK, ELEMENTS, "step Stack(i0, i1, i2, i3, i4, i5)", "step Stack(i0, i1, i2, i3, i4)", "too many arguments"),
    ("count", STACK, STACK, "GlowStackFn *step, GlowStackFn *rest, ", "GlowStackFn *step, ", "conflicting types"),
    ("count", RESIZE, RESIZE, "t.table.data, t.table.count,", "t.table.data,", "incompatible|too few arguments"),
    ("count", RESIZE, SAMPLES, "  table : i64[]\n", "  table : i64[9]\n", "too many arguments"),
)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Compiler:
    """Compiles one source of the tree as the build does, but for the files that a folder has in their place."""

    def __init__(self, options):
        self.options = options

    def _find(self, path, folder):
        """Where the folder, or else the tree, has the file."""
        planted = os.path.join(folder, path)
        return planted if os.path.exists(planted) else os.path.join(self.options.source, path)

    def generate(self, folder):
        """The headers of the table, of which the folder has a file; what was wrong with it."""
        table = [self._find(os.path.relpath(path, self.options.source), folder) for path in self.options.table]
        for generator, header in (("params", "kernels/params.h"), ("prototypes", "kernels/kernels.h"),
                                  ("setups-header", "target/cpu/setups.h"), ("rows-header", "target/cpu/rows.h"), ("work-header", "cpu/work.h")):
            os.makedirs(os.path.dirname(os.path.join(folder, header)), exist_ok=True)
            result = subprocess.run([self.options.tblgen, "-gen=" + generator, "-o", os.path.join(folder, header), *table],
                                    capture_output=True, text=True)
            if result.returncode:
                return result.stderr
        return ""

    def compile(self, source, folder):
        """Messages of the compiler; none if it is content."""
        o = self.options
        path = self._find(source, folder)
        include = [folder, os.path.join(o.source, "lib"), os.path.join(o.source, "include"), o.gen,
                   os.path.dirname(os.path.join(o.source, source))]
        kernel = [o.clang, "-target", "x86_64-unknown-linux-gnu", "-march=x86-64-v3", "-ffreestanding", "-DGLOW_BITCODE",
                  "-DGLOW_VL=8", "-DGLOW_TILE_PIXELS=6", "-DGLOW_TILE_VECTORS=2"]
        command = (kernel if "/kernels/" in source else [o.cc, "-D_GNU_SOURCE"]) + ["-std=gnu17", "-Werror", "-Wmissing-prototypes",
                                                                                       "-fsyntax-only"]
        result = subprocess.run([*command, *("-I" + i for i in include), path], capture_output=True, text=True)
        return result.stderr if result.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("source", "gen", "tblgen", "clang", "cc"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--table", required=True, nargs="+", help="files, in the order in which they are read")
    options = parser.parse_args()
    compiler, failed = Compiler(options), 0
    for source in sorted({row[1] for row in PLANTED}):
        with tempfile.TemporaryDirectory() as folder:
            messages = compiler.compile(source, folder)
        if messages:
            sys.exit(f"{source} does not compile:\n{messages}")
    for what, source, changed, right, wrong, expected in PLANTED:
        text = read(os.path.join(options.source, changed))
        if right not in text:
            sys.exit(f"{changed}: there is no '{right}'")
        with tempfile.TemporaryDirectory() as folder:
            write(os.path.join(folder, changed), text.replace(right, wrong, 1))
            messages = compiler.generate(folder) if changed.endswith(".ops") else ""
            messages = messages or compiler.compile(source, folder)
        noticed = re.search(expected, messages)
        print(f"wrong {what} in {changed}, {source}: " + ("refused" if noticed else f"MISSED\n{messages or 'it compiles'}"))
        failed += not noticed
    print(f"{len(PLANTED) - failed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
