#!/bin/sh
# efficientnet.sh SOURCE BUILD ROW: compiles the example for the layouts of x86-64-v3, and runs it
# retargeted. Its weights are of half precision; in float, convolutions have layouts of their own.
set -e
PATH=$2/bin:$PATH
scratch=$2/test/bundle/efficientnet-$3
mkdir -p "$scratch"
glow-import "$1/examples/image-classifier/efficientnet-lite0-fp16.onnx" -o "$scratch/half.gg"
sed -E -f "$1/test/bundle/Inputs/to_float.sed" "$scratch/half.gg" >"$scratch/model.gg"
glow-opt -O2 -target=x86-64-v3 "$scratch/model.gg" -o "$scratch/opt.gg"
glow-irgen "$scratch/opt.gg" -o "$scratch/model.gir"
glow-opt -O2 "$scratch/model.gir" -o "$scratch/opt.gir"
grep -q NCHW16c "$scratch/opt.gir"
exec /usr/bin/python3 "$1/test/bundle/Inputs/run_bundle.py" "$scratch/opt.gir" --scratch "$scratch/run" --row "$3" --once
