#!/usr/bin/env python3
"""Compiles a program as a bundle for several rows of isa.def and compares what it computes with the
interpreter, bit by bit (a NaN is a NaN): with and without a callback for threads, with weights from the
file and linked in, in C99 and in C++, for machines that qemu knows too.

run_bundle.py FILE.gir --scratch DIR --row ROW [--row ROW ...] [--once]

The module is retargeted to each row. Inputs are random. --once: one run of each bundle, without threads and with
weights from the file."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

import numpy as np

BARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare")
BUILTINS = glob.glob("/usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.builtins-i386.a")
RV_FLAGS = ["-static", "-march=rv64gc", "-mabi=lp64d"]
MACHINES = {  # by the beginning of the row: compiler, flags, emulator
    "x86-64": (["cc"], [], []),
    "aarch64": (["aarch64-linux-gnu-gcc"], ["-static"], ["qemu-aarch64"]),
    "rv64gcv": (["riscv64-linux-gnu-gcc"], RV_FLAGS, ["qemu-riscv64", "-cpu", "rv64,v=true,vlen=128"]),
    "rv64gc": (["riscv64-linux-gnu-gcc"], RV_FLAGS, ["qemu-riscv64"]),
    "generic32": (["clang-19", "--target=i686-unknown-linux-gnu"],
                  ["-march=pentium4", "-static", "-nostdlib", "-nostdlibinc", "-ffreestanding", "-fno-builtin",
                   "-isystem", BARE, BARE + "/i686.c"],
                  ["qemu-i386"]),
}
KINDS = {"float": "<f4", "double": "<f8", "i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "u8": "u1",
         "bool": "?", "float16": "<f2"}
ALLOWED = {"memcpy", "memmove", "memset", "memcmp"}
WIDE = {"__divdi3", "__moddi3", "__udivdi3", "__umoddi3"}  # which 32-bit machines' compilers have for 64 bits
FIELD = re.compile(r"^  (?:const )?\w+ \*(\w+); /\* (in|out|in and out) @(.*): (\w+)(?:\[.*\])?<(.*)> \*/$")
ENTRY = re.compile(r"^int64_t (\w+)\(const \w+ \*buffers")

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "NAME.h"

/* Nothing runs, and the member is named, with a fault to tell it and without. */
#define REFUSED(name)                                                                                    \
  (ENTRY(&bad, argc > 1 ? &two : 0, &fault) != GLOW_FAULT_BUFFER || fault.error != GLOW_FAULT_BUFFER ||  \
   fault.instruction != -1 || strcmp(members[fault.detail], #name) ||                                    \
   ENTRY(&bad, argc > 1 ? &two : 0, 0) != GLOW_FAULT_BUFFER)

/* Shards in reverse, as two workers. */
static void run(const GlowParallel *p, GlowPieceFn *piece, void *const *ptrs, int64_t units, int64_t shards) {
  for (int64_t i = shards; i > 0; i--)
    piece(ptrs, units * (i - 1) / shards, units * i / shards, i % 2);
  (void)p;
}

static void *aligned(size_t size, size_t align) {
  void *p = aligned_alloc(align, (size + align) / align * align);
  if (!p) exit(9);
  memset(p, 0xa5, size);
  return p;
}

static void *file(const char *path, size_t size) {
  void *p = aligned(size, 64);
  FILE *f = fopen(path, "rb");
  if (!f || fread(p, 1, size, f) != size) exit(8);
  fclose(f);
  return p;
}

int main(int argc, char **argv) {
  GlowParallel two = {run, 0, 2};
  int64_t workers = argc > 1 ? 2 : 1;
  (void)argv;
  ENTRY_buffers b = {0};
  b.arena_size = UPPER_ARENA_SIZE(workers);
  b.arena = aligned(b.arena_size, UPPER_ARENA_ALIGN);
SETUP
  GlowFault fault = {7, 7, 7};
  int64_t error = ENTRY(&b, argc > 1 ? &two : 0, &fault);
  if (error) {
    printf("%s: instruction %d, detail %d\n", NAME_error_text(error), (int)fault.instruction, (int)fault.detail);
    return 3;
  }
OUTPUTS
  /* What does not fit is refused. */
  ENTRY_buffers bad = b;
  bad.arena_size = UPPER_ARENA_SIZE(workers) - 1;
  if (UPPER_ARENA_SIZE(workers) > 64 && ENTRY(&bad, argc > 1 ? &two : 0, &fault) != GLOW_FAULT_ARENA) return 4;
  static const char *const members[] = UPPER_MEMBERS;
  bad = b;
  bad.arena = (char *)b.arena + 8;
  if (UPPER_ARENA_SIZE(workers) > 64 && REFUSED(arena)) return 10;
  bad.arena = 0;
  if (UPPER_ARENA_SIZE(workers) > 64 && REFUSED(arena)) return 11;
REFUSALS
  if (strcmp(NAME_error_text(GLOW_FAULT_WEIGHTS), "the weights are not those of this code") ||
      strcmp(NAME_error_text(-1), "unknown error") || strcmp(NAME_error_text(99), "unknown error")) return 12;
  return ENTRY(0, 0, 0) == GLOW_FAULT_BUFFER ? 0 : 7;
}
"""


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed ({result.returncode}):\n{result.stdout.decode()}")
    return result.stdout.decode()


def same(a, b):
    """Equal bits, any NaN for a NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    equal = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}") if a.dtype != bool else a == b
    if a.dtype.kind == "f":
        equal = equal | (np.isnan(a) & np.isnan(b))
    return bool(np.all(equal))


class Field:
    def __init__(self, match):
        self.c, how, self.name, self.kind, dims = match.groups()
        self.reads, self.writes = "in" in how.split(), "out" in how.split()
        self.dims = [int(d) for d in dims.split("x")] if dims.strip() else []


def interface(header):
    """The entry of a header with one program, and its fields."""
    entry, fields = None, []
    for line in open(header, encoding="utf-8"):
        line = line.rstrip("\n")
        if FIELD.match(line):
            fields.append(Field(FIELD.match(line)))
        if ENTRY.match(line):
            entry = ENTRY.match(line).group(1)
    if not entry:
        sys.exit(f"{header} declares no entry")
    return entry, fields


def random_input(field, rng):
    dtype = np.dtype(KINDS[field.kind])
    if dtype.kind == "f":
        return rng.standard_normal(field.dims).astype(dtype)
    return rng.integers(0, 2 if dtype == bool else 5, field.dims).astype(dtype)


def write_main(path, name, entry, fields, linked, has_weights, has_variables):
    upper, model = entry.upper(), name.upper()
    setup, outputs, refusals = [], [], []
    if has_weights and not linked:
        setup += [f"  b.weights_size = {model}_WEIGHTS_SIZE;",
                  f'  b.weights = file("{name}.weights", b.weights_size);']
        refusals += ["  { char *other = aligned(b.weights_size, 64); memcpy(other, b.weights, b.weights_size);",
                     "    other[17] ^= 1; bad = b; bad.weights = other;",
                     f"    if ({entry}(&bad, argc > 1 ? &two : 0, &fault) != GLOW_FAULT_WEIGHTS) return 5;",
                     "    bad.weights = b.weights; bad.weights_size--;",
                     f"    if ({entry}(&bad, argc > 1 ? &two : 0, &fault) != GLOW_FAULT_WEIGHTS) return 5; }}",
                     "  bad = b; bad.weights = 0; if (REFUSED(weights)) return 13;",
                     "  bad.weights = (const char *)b.weights + 8; if (REFUSED(weights)) return 14;"]
    if has_variables:
        setup += [f"  b.variables = aligned({model}_VARIABLES_SIZE, 64);",
                  f"  if ({name}_reset_variables(b.variables, b.weights, b.weights_size)) return 6;",
                  f"  if ({name}_reset_variables(0, b.weights, b.weights_size) != GLOW_FAULT_BUFFER) return 15;",
                  f"  if ({name}_reset_variables((char *)b.variables + 4, b.weights, b.weights_size) != GLOW_FAULT_BUFFER)",
                  "    return 15;"]
    for i, f in enumerate(fields):
        size = f"{upper}_{f.c.upper()}_SIZE"
        setup += [f'  b.{f.c} = file("in{i}.raw", {size});' if f.reads else f"  b.{f.c} = aligned({size}, 64);"]
        if f.writes:
            outputs += [f'  {{ FILE *f = fopen("out{i}.raw", "wb"); fwrite(b.{f.c}, 1, {size}, f); fclose(f); }}']
        refusals += [f"  bad = b; bad.{f.c} = (void *)((char *)b.{f.c} + 4); if (REFUSED({f.c})) return 6;",
                     f"  bad.{f.c} = 0; if (REFUSED({f.c})) return 6;"]
    text = MAIN.replace("NAME", name).replace("ENTRY", entry).replace("UPPER", upper)
    text = text.replace("SETUP", "\n".join(setup)).replace("OUTPUTS", "\n".join(outputs))
    with open(path, "w", encoding="utf-8") as out:
        out.write(text.replace("REFUSALS", "\n".join(refusals)))


def check_header(header):
    """C99 and C++ take it without a warning, and it may be included twice."""
    for command in (["cc", "-std=c99", "-pedantic"], ["clang-19", "-x", "c++", "-std=c++17"]):
        if shutil.which(command[0]):
            run(*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-include", header, "-include", header,
                "-x", command[2] if command[1] == "-x" else "c", "/dev/null")


def check_symbols(folder, name, row):
    allowed = ALLOWED | {"U"} | (WIDE | {"_GLOBAL_OFFSET_TABLE_"} if row == "generic32" else set())
    undefined = set(run("nm", "-u", f"{folder}/{name}.o").split()) - allowed
    if undefined:
        sys.exit(f"{name}.o needs {sorted(undefined)}")
    defined = re.findall(r" [A-Z] (\w+)$", run("nm", "-g", "--defined-only", f"{folder}/{name}.o"), re.M)
    strangers = [s for s in defined if not s.startswith(name + "_")]
    if strangers:
        sys.exit(f"{name}.o defines {strangers}")


def check_row(arguments, row, linked, state):
    folder = f"{arguments.scratch}/{row}{'-linked' if linked else ''}"
    os.makedirs(folder)
    name = "model"
    source = f"{folder}/{name}.gir"
    run("glow-opt", f"-target={row}", arguments.file, "-o", source)
    run("glow-llc", f"-bundle={folder}", f"-constants={'linked' if linked else 'file'}", source)
    entry, fields = interface(f"{folder}/{name}.h")
    has_variables = "VARIABLES_SIZE" in open(f"{folder}/{name}.h", encoding="utf-8").read()
    if state.get("inputs") is None:
        rng = np.random.default_rng(1)
        state["inputs"] = {f.name: random_input(f, rng) for f in fields if f.reads}
        given = []
        for k, v in state["inputs"].items():
            path = f"{arguments.scratch}/{len(given)}.npy"
            np.save(path, v)
            given += ["--input", f"{k}={path}"]
        run("glow-run", source, "--backend=interp", *given, "--output-dir", f"{arguments.scratch}/expected")
    check_header(f"{folder}/{name}.h")
    check_symbols(folder, name, row)
    for i, f in enumerate(fields):
        if f.reads:
            state["inputs"][f.name].tofile(f"{folder}/in{i}.raw")
    write_main(f"{folder}/main.c", name, entry, fields, linked, os.path.exists(f"{folder}/{name}.weights"),
               has_variables)
    compiler, flags, emulator = next(v for k, v in MACHINES.items() if row.startswith(k))
    run(*compiler, *flags, "-Wall", "-Wextra", "-Werror", "-I.", "main.c", f"{name}.o",
        *(BUILTINS if row == "generic32" else []), "-o", "main", cwd=folder)
    compared = 0
    for extra in [[]] if arguments.once else [[], ["threads"]]:
        run(*emulator, "./main", *extra, cwd=folder)
        for i, f in enumerate(fields):
            if f.writes:
                file = re.sub(r"[^A-Za-z0-9_.-]", "_", f.name)
                want = np.load(f"{arguments.scratch}/expected/{file}.npy")
                got = np.fromfile(f"{folder}/out{i}.raw", dtype=want.dtype).reshape(want.shape)
                compared += 1
                if not same(got, want):
                    sys.exit(f"{row}: {f.name} differs from the interpreter's: {got.ravel()[:5]}, {want.ravel()[:5]}")
    if not compared:
        sys.exit(f"{row}: nothing was compared")
    print(f"{row}{' linked' if linked else ''}: {compared} outputs are equal")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--row", action="append", required=True)
    parser.add_argument("--once", action="store_true")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    os.makedirs(arguments.scratch)
    state = {}
    for i, row in enumerate(arguments.row):
        check_row(arguments, row, False, state)
        if i == 0 and not arguments.once:
            check_row(arguments, row, True, state)


main()
