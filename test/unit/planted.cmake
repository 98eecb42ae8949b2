# glow_planted_tile(TEST KERNEL MACRO EACH...): bitcode of lib/kernels/cpu/KERNEL.c whose tile, of 7 by 4
# registers of 512 bits, needs more registers than there are; its path is the string MACRO of the
# test, which must find the spills. EACH defines the list of its tiles in kernels/kernels.h.
include_guard(GLOBAL)
include(GlowBitcode)
function(glow_planted_tile test kernel macro)
  set(spilling ${GLOW_GEN_DIR}/kernels/test/${kernel}_7x4.bc)
  file(MAKE_DIRECTORY ${GLOW_GEN_DIR}/kernels/test)
  glow_bitcode_file(${spilling} ${PROJECT_SOURCE_DIR}/lib/kernels/cpu/${kernel}.c
                    x86_64-unknown-linux-gnu x86-64-v4 -O1 GLOW_VL=16 GLOW_TILE_PIXELS=7
                    GLOW_TILE_VECTORS=4 GLOW_TEST_TILE ${ARGN})
  add_custom_target(glow_planted_${kernel} DEPENDS ${spilling})
  add_dependencies(${test} glow_planted_${kernel})
  target_compile_definitions(${test} PRIVATE ${macro}="${spilling}")
endfunction()
