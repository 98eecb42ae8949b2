# The library as users have it, and no other.
set_property(TARGET ${program} PROPERTY LINK_LIBRARIES glow)

# Compiles in a process of its own, --isolate.
if(TARGET glow_bundle)
  add_dependencies(${program} glow-llc)
endif()

# The same under the thread sanitizer, which sees what the API, executions and the walker do, and what
# runs of the interpreter change that belongs to the executable.
if(GLOW_HAVE_TSAN)
  file(GLOB api CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/glow/*.c)
  set(seen exec/execution.c exec/executable.c exec/profile.c exec/pool.c rt/walk.c driver/backend.c
      tensor/tensor.c backend/interp/values.c backend/interp/storage.c support/context.c support/arena.c)
  list(TRANSFORM seen PREPEND ${PROJECT_SOURCE_DIR}/lib/)
  add_executable(executable_race_test executable_test.c ${api} ${seen})
  set_target_properties(executable_race_test PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_compile_options(executable_race_test PRIVATE -fsanitize=thread -g)
  target_link_options(executable_race_test PRIVATE -fsanitize=thread)
  target_link_libraries(executable_race_test PRIVATE glow_backends m)
  glow_test(unit.executable.races COMMAND executable_race_test)
  set_tests_properties(unit.executable.races PROPERTIES SKIP_REGULAR_EXPRESSION
                       "unexpected memory mapping")
endif()
