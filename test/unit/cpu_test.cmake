include(${CMAKE_CURRENT_SOURCE_DIR}/planted.cmake)
glow_planted_tile(cpu_test conv GLOW_TEST_CONV "EACH_CONV_TILE(M)=M(1, 7, 4)")
