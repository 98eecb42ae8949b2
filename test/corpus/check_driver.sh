#!/bin/sh
# The corpus driver fails when it should: for a listed case that fails, for one that does not exist,
# for an unlisted one that passes, and for a crash, which --processes pins on its case.
# Usage: check_driver.sh DRIVER LIST
driver=$1 list=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect STATUS TEXT ARGUMENTS...: the exit status, and a line that must be printed
expect() {
  status=$1 text=$2
  shift 2
  "$driver" "$@" >"$scratch/out" 2>&1
  got=$?
  if [ $got -eq 77 ]; then
    cat "$scratch/out"
    exit 77
  fi
  if [ $got -ne "$status" ] || ! grep -q -x -- "$text" "$scratch/out"; then
    echo "FAILED: $* exits with $got (want $status), or does not print '$text':"
    tail -5 "$scratch/out"
    exit 1
  fi
}

printf 'node/test_abs\nnode/test_acos\n' >"$scratch/two"
expect 0 '2 passed, 0 failed' "$scratch/two"
expect 0 '2 passed, 0 failed' --processes "$scratch/two"
expect 1 'FAILED node/test_acos: signal 9' --processes --crash node/test_acos "$scratch/two"
expect 1 '1 passed, 1 failed' --processes --crash node/test_acos "$scratch/two"

grep -v '^node/test_abs$' "$list" >"$scratch/less"
expect 0 '.* passed, .* failed' "$scratch/less"
expect 1 'passed node/test_abs' --all "$scratch/less"

# A part of the cases: those with an operator, and those of a slice.
expect 0 '1 passed, 0 failed' --operators Acos "$scratch/two"
expect 0 '1 cases were left out' --operators acos "$scratch/two"
expect 2 "glow-onnx-corpus: no operator 'acoss'" --operators acos,acoss "$scratch/two"
expect 2 "glow-onnx-corpus: '8/8' is no slice such as 0/8" --slice 8/8 "$scratch/two"
for slice in 0 1 2; do # each case is in one of them
  "$driver" --verbose --slice $slice/3 "$list" | grep '^passed '
done | sort >"$scratch/slices"
"$driver" --verbose "$list" | grep '^passed ' | sort | cmp - "$scratch/slices" ||
  { echo "FAILED: slices do not make up the whole"; exit 1; }

# A case whose expected output is another's.
mkdir -p "$scratch/data/node"
cp -r /usr/share/libonnx-testdata/data/node/test_abs "$scratch/data/node/"
cp /usr/share/libonnx-testdata/data/node/test_neg/test_data_set_0/output_0.pb \
  "$scratch/data/node/test_abs/test_data_set_0/"
echo node/test_abs >"$scratch/one"
expect 1 'FAILED node/test_abs: output y differs: .*' --data "$scratch/data" "$scratch/one"
expect 1 'FAILED node/test_acos: no such case' --data "$scratch/data" "$scratch/two"

# Refused for a reason that is none, and more than may be.
echo 'node/test_acos no kernel' >"$scratch/reasons"
expect 1 'FAILED node/test_acos: refused for no permitted reason' --refused "$scratch/reasons" "$scratch/two"
for i in $(seq 81); do echo "node/test_acos strings"; done >"$scratch/reasons"
expect 1 'FAILED node/test_acos: too many cases are refused' --refused "$scratch/reasons" "$scratch/two"

# Operators that run as reference kernels are those that are named.
n=15
if "$driver" --backend cpu "$scratch/two" >"$scratch/out" 2>&1; then
  printf 'node/test_eyelike_with_dtype\nnode/test_abs\n' >"$scratch/two"
  expect 0 '2 passed, 0 failed' --backend cpu --references eye_like "$scratch/two"
  expect 1 "FAILED: 'eye_like' runs as a reference kernel" --backend cpu --references '' "$scratch/two"
  expect 1 "FAILED: 'dft' no longer runs as a reference kernel" --backend cpu --references eye_like,dft "$scratch/two"
  printf 'node/test_compress_0\nnode/test_abs\n' >"$scratch/two"
  expect 0 '2 passed, 0 failed' --backend cpu --steps alloc,compress,expect_shape,tensorview "$scratch/two"
  expect 1 "FAILED: 'compress' runs as a step of the interpreter" --backend cpu --steps '' "$scratch/two"
  n=20
fi
echo "$n passed, 0 failed"
