# It looks at the texts that code generation makes.
target_link_libraries(cpu_test PRIVATE glow_cpu glow_codegen)
include(${CMAKE_CURRENT_SOURCE_DIR}/planted.cmake)
glow_planted_tile(cpu_test conv GLOW_TEST_CONV "EACH_CONV_TILE(M)=M(1, 7, 4)")
