# Threads that the system refuses, or does not let run.
set(wraps LINKER:--wrap=pthread_create LINKER:--wrap=pthread_cond_wait)
target_link_options(pool_test PRIVATE ${wraps})

# The same under the thread sanitizer, which excludes the other ones. Its runtime cannot start where
# addresses are randomized more widely than it knows.
if(NOT GLOW_SANITIZE AND NOT GLOW_FUZZ)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_c_source_compiles("int main(void) { return 0; }" GLOW_HAVE_TSAN)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
if(GLOW_HAVE_TSAN)
  add_executable(pool_race_test pool_test.c ${PROJECT_SOURCE_DIR}/lib/exec/pool.c)
  set_target_properties(pool_race_test PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_compile_options(pool_race_test PRIVATE -fsanitize=thread -g)
  target_link_options(pool_race_test PRIVATE -fsanitize=thread ${wraps})
  target_link_libraries(pool_race_test PRIVATE glow_support m)
  glow_test(unit.pool.races COMMAND pool_race_test)
  set_tests_properties(unit.pool.races PROPERTIES SKIP_REGULAR_EXPRESSION
                       "unexpected memory mapping")
endif()
