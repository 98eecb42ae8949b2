target_link_libraries(cpu_product_test PRIVATE glow_cpu glow_codegen)
include(${CMAKE_CURRENT_SOURCE_DIR}/planted.cmake)
glow_planted_tile(cpu_product_test matmul GLOW_TEST_MATMUL "EACH_MATMUL_TILE(M)=M(7, 4)")
