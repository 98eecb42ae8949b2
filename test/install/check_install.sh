#!/bin/sh
# check_install.sh SOURCE BUILD: installs into a scratch prefix, then builds and runs a consumer, in C and in C++, and
# the examples build-lenet, read-module and run-model, by find_package and by pkg-config, and runs an installed tool. What build-lenet prints is
# the canonical text of Figure 3.
set -eu
source=$1 build=$2
scratch=$build/test/install
rm -rf "$scratch"
mkdir -p "$scratch/src"
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"
sed "s|@PROJECT_SOURCE_DIR@|$source|" "$source/test/install/CMakeLists.txt.in" >"$scratch/src/CMakeLists.txt"
cp "$source/test/install/consumer.c" "$scratch/src/consumer.cc"
cmake -G Ninja -S "$scratch/src" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/configure.log"
cmake --build "$scratch/build" >"$scratch/build.log"
"$scratch/build/consumer"
"$scratch/build/consumer-cxx"
"$scratch/build/read-module" "$source/test/oom/Inputs/small-cnn/model.onnx" >"$scratch/read-module"
diff "$source/examples/read-module/expected.txt" "$scratch/read-module"
head -c 4096 /dev/zero >"$scratch/zeros"
run_model() { GLOW_OPTIONS=$1 "$scratch/build/run-model" "$source/test/oom/Inputs/small-cnn/model.onnx" "$scratch/zeros"; }
run_model --backend=interp
if [ -f "$(find "$scratch/prefix" -name libglow_codegen.so)" ]; then
  run_model "--tier=library --no-cache"
  run_model "--tier=compiled --no-cache"
fi
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name glow.pc)")
export PKG_CONFIG_PATH
cc -o "$scratch/consumer" "$source/test/install/consumer.c" $(pkg-config --cflags --libs glow)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir glow) "$scratch/consumer"
c++ -std=c++11 -o "$scratch/consumer-cxx" "$scratch/src/consumer.cc" $(pkg-config --cflags --libs glow)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir glow) "$scratch/consumer-cxx"
cc -o "$scratch/build-lenet" "$source/examples/build-lenet/build-lenet.c" $(pkg-config --cflags --libs glow)
"$scratch/prefix/bin/glow-opt" "$source/test/ir/figure3.gir" >"$scratch/figure3.gir"
"$scratch/build/build-lenet" | diff - "$scratch/figure3.gir"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir glow) "$scratch/build-lenet" | diff - "$scratch/figure3.gir"
printf 'declare {\n}\n' | "$scratch/prefix/bin/glow-opt" -
if [ -f "$(find "$scratch/prefix" -name libglow_codegen.so)" ]; then
  for tier in library compiled; do
    "$scratch/prefix/bin/glow-run" --backend=cpu --tier=$tier "$source/test/codegen/lacks.gir" --input x=splat:1 --cache-dir=/dev/null |
      grep -q 2
  done
fi
for tool in "$scratch"/prefix/bin/glow-*; do
  bash -c 'source "$1" && complete -p "$2" >/dev/null' - \
    "$scratch/prefix/share/bash-completion/completions/$(basename "$tool")" "$(basename "$tool")"
done
