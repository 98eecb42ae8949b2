# Through the table of backends.
target_link_libraries(threads_test PRIVATE glow_backends)

# The same under the thread sanitizer, which sees what executables, executions and the walker do.
if(GLOW_HAVE_TSAN)
  add_executable(threads_race_test threads_test.c ${PROJECT_SOURCE_DIR}/lib/exec/execution.c
                 ${PROJECT_SOURCE_DIR}/lib/exec/executable.c ${PROJECT_SOURCE_DIR}/lib/exec/profile.c
                 ${PROJECT_SOURCE_DIR}/lib/rt/walk.c)
  set_target_properties(threads_race_test PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_compile_options(threads_race_test PRIVATE -fsanitize=thread -g)
  target_link_options(threads_race_test PRIVATE -fsanitize=thread)
  target_link_libraries(threads_race_test PRIVATE glow_backends m)
  glow_test(unit.threads.races COMMAND threads_race_test)
  set_tests_properties(unit.threads.races PROPERTIES SKIP_REGULAR_EXPRESSION
                       "unexpected memory mapping")
endif()
