#!/usr/bin/env python3
"""docs/Optimizations.md and the pass table agree.

Every `-name` of the page is a pass (or an option of the tools that the page needs), and every exact or
bounded pass of the table is on the page; passes that only prepare others are listed here. Every
optimization of Glow in the lists below has its place in the page, once.
"""
import argparse
import os
import re
import subprocess
import sys

OPTIONS = {"O", "O1", "O2", "exact", "fast-math", "print-passes", "print-after-all", "stats", "target"}

# FunctionPasses.def and IRPasses.def of Glow.
GRAPH = """DCE SinkCode SinkConversions SinkReshapes HoistCode MergeMatMulOnLHS MergeMatMulOnRHS MergePadIntoConvolution
OptimizeSmallConv MergeTransposeIntoMatMulOrFC ConvertBroadcastedBatchMatMul MergeBatchedAdd OptimizeReduceMean
FoldArithmeticChainUnderConvIntoBN FoldBatchNormalizationWithArithmeticChain ConvTransposeBiasAddFold OptimizeBatchNorm
OptimizeConcatNodes OptimizeArithmeticNodes TransposeConstants CSE OptimizeSplat OptimizeTransposeIntoReshape
OptimizeReshape OptimizeResize OptimizeInsert EliminateNoop OptimizeClips OptimizeConversions OptimizeQuantization
FoldLeakyRelu FoldChannelShuffle ConstantFold GatherToSlice FoldTileAddIntoBatchedAdd
FoldElemKindConversionIntoOutputs FoldElemKindConversionIntoInputs FoldMatMulAddIntoFullyConnected
ConvertMatMulToFullyConnected FoldSlicesIntoConstants FoldDilatedConv EliminateConcatSlice EliminateSliceConcat
RaiseClipsAboveShapeNodes EliminateClipsOutsideFP16Range OptimizeQuantizeClip OptimizeOutIntermediateConversions
OptimizeQuantFCFloatRelu OptimizeConcatQuantization SinkConcatBelowQuantize FoldLayerNormArithmetic QuantizeSwish
ReplaceQuantizedHardSwishWithLookupTable ConvertFullyConnectedToConvolution FoldMinMaxToClip
ReplaceZeroScaleFP16QuantNodes FoldExpSumDivIntoSoftmax RemoveIdentityRelu RemoveIdentityClip""".split()
PROGRAM = """PeepholeOptimizations DSE OptimizeInserts OptimizeExtracts ShareBuffers HoistDealloc SinkAllocas
DeleteDeadAllocs MakeWeightsConst DebugInstrument IRInstrument IRVerify IRDumper""".split()


def rows(text, heading):
    """The first columns of the tables below a heading."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", required=True)
    parser.add_argument("--tools", required=True)
    options = parser.parse_args()
    with open(options.page, encoding="utf-8") as f:
        text = f.read()
    table = subprocess.run([os.path.join(options.tools, "glow-opt"), "-print-passes"], check=True,
                           capture_output=True, text=True).stdout.split("named pipelines:")[0]
    passes = dict(re.findall(r"^  ([a-z][a-z0-9-]*)\n.*\n +class: (\w+)", table, re.M))
    named = set(re.findall(r"`-([A-Za-z][\w-]*)(?:=\w+)?`", text))
    wrong = [f"-{n} is no pass" for n in sorted(named - set(passes) - OPTIONS)]
    wrong += [f"-{n} is missing" for n in sorted(set(passes) - named)]
    for heading, names in (("Graphs", GRAPH), ("Programs", PROGRAM)):
        cells = rows(text, heading)
        for name in names:
            count = sum(re.search(rf"\b{name}\b", c) is not None for c in cells)
            if count < 1:
                wrong.append(f"{name} of Glow has no row under {heading}")
    for message in wrong:
        print("FAILED", message)
    checked = len(passes) + len(GRAPH) + len(PROGRAM)
    print(f"{checked - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong) or not passes


sys.exit(main())
