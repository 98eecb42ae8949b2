#!/bin/sh
# check_alone.sh SOURCE BUILD CC: libglow as it is shipped runs a model alone.
#
# - It is at most 14 MiB without symbols, and needs no LLVM and nothing of C++.
# - examples/run-model, compiled by the installed headers' rules and linked with -lglow alone, names the cat in a root
#   folder that has the program, libglow, what ldd lists for it, and no other file but model and picture: no
#   libglow_codegen, no /proc, no folder for a cache.
# - What needs code generation says that there is none there.
#
# Skipped where nobody may change the root folder; with GLOW_CI set that is a failure.
set -eu
source=$1 build=$2 cc=$3
root=$build/test/alone
rm -rf "$root"
mkdir -p "$root"
strip -o "$root/stripped" "$build/lib/libglow.so"
size=$(stat -c %s "$root/stripped")
rm "$root/stripped"
echo "libglow: $size bytes"
[ "$size" -le $((14 << 20)) ] || { echo "libglow is larger than 14 MiB"; exit 1; }
if ldd "$build/lib/libglow.so" | grep -E 'LLVM|stdc\+\+|clang|not found'; then
  echo "libglow needs the above"
  exit 1
fi

"$cc" -std=c99 -Wall -Wextra -Werror -I"$source/include" -o "$root/run-model" "$source/examples/run-model/run-model.c" \
  -L"$build/lib" -lglow
for file in $(LD_LIBRARY_PATH=$build/lib ldd "$root/run-model" | grep -o '/[^ ]*'); do
  case $file in
  "$build"/*) to=$root/lib/$(basename "$file") ;; # where the loader looks for libglow
  *) to=$root$file ;;
  esac
  mkdir -p "$(dirname "$to")"
  cp -L "$file" "$to"
done
cat >"$root/copy.gg" <<'END'
declare {
  placeholder @image : float<1 x 3 x 224 x 224>
  placeholder @cat : float<1 x 3 x 224 x 224>
}
func @main {
  %r = Identity(@image)
  Save(%r, @cat)
}
END
"$build/bin/glow-run" --backend=interp "$root/copy.gg" --input "$source/examples/image-classifier/cat.png" \
  --mean 127 --std 128 --output-dir "$root"
cp "$source/examples/image-classifier/efficientnet-lite0-fp16.onnx" "$root/model.onnx"

alone=
for way in "chroot" "unshare -r chroot"; do
  if $way "$root" /run-model >/dev/null 2>&1 || [ $? = 2 ]; then # it wants a model
    alone=$way
    break
  fi
done
if [ -z "$alone" ]; then
  echo "nobody may change the root folder here"
  [ -z "${GLOW_CI:-}" ] && exit 77
  exit 1
fi
$alone "$root" /run-model /model.onnx /cat.npy | tee "$root/out"
grep -q '^ *282 ' "$root/out"
[ "$(sed -n 2p "$root/out" | tr -d ' ' | cut -c 1-3)" = 282 ]
if GLOW_OPTIONS=--tier=compiled $alone "$root" /run-model /model.onnx /cat.npy 2>"$root/err"; then
  echo "there is code generation somewhere"
  exit 1
fi
grep 'libglow_codegen.so, which is not beside' "$root/err"
rm -rf "$root"
