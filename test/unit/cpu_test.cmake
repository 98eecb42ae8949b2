# A convolution tile that needs more registers than there are, to see that the search for spills finds
# them.
set(spilling ${GLOW_GEN_DIR}/kernels/test/conv_1x7x4.bc)
file(MAKE_DIRECTORY ${GLOW_GEN_DIR}/kernels/test)
include(GlowBitcode)
glow_bitcode_file(${spilling} ${PROJECT_SOURCE_DIR}/lib/kernels/cpu/conv.c x86_64-unknown-linux-gnu
                  x86-64-v4 -O1 GLOW_VL=16 GLOW_TILE_PIXELS=7 GLOW_TILE_VECTORS=4 GLOW_TEST_TILE)
add_custom_target(glow_test_bitcode DEPENDS ${spilling})
add_dependencies(cpu_test glow_test_bitcode)
target_compile_definitions(cpu_test PRIVATE GLOW_TEST_BITCODE="${spilling}")
