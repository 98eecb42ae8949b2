# Random programs are made by test/library.
file(GLOB cases CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/library/*.c)
target_sources(library_test PRIVATE ${cases})
target_link_libraries(library_test PRIVATE glow_cpu)
target_compile_definitions(library_test PRIVATE GLOW_TEST_LIBRARIES="${GLOW_KERNELS_DIR}")
set(how SLICED)
