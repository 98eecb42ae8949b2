target_compile_options(math_test PRIVATE -fwrapv -fno-math-errno)
target_link_libraries(math_test PRIVATE ${GLOW_MPFR} gmp)
