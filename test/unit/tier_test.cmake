# Through the table of backends.
target_link_libraries(tier_test PRIVATE glow_backends)
glow_test(unit.tier.exit COMMAND ${CMAKE_COMMAND} -E env GLOW_TEST_UNFINISHED=1 $<TARGET_FILE:tier_test>)

# The same under the thread sanitizer, which sees executions, the walker, and who swaps pieces.
if(GLOW_HAVE_TSAN)
  add_executable(tier_race_test tier_test.c ${PROJECT_SOURCE_DIR}/lib/exec/background.c
                 ${PROJECT_SOURCE_DIR}/lib/exec/execution.c ${PROJECT_SOURCE_DIR}/lib/exec/executable.c
                 ${PROJECT_SOURCE_DIR}/lib/exec/code.c ${PROJECT_SOURCE_DIR}/lib/exec/code_debug.c
                 ${PROJECT_SOURCE_DIR}/lib/backend/cpu/code.c ${PROJECT_SOURCE_DIR}/lib/rt/walk.c)
  set_target_properties(tier_race_test PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_compile_options(tier_race_test PRIVATE -fsanitize=thread -g)
  target_link_options(tier_race_test PRIVATE -fsanitize=thread)
  target_link_libraries(tier_race_test PRIVATE glow_backends m)
  glow_test(unit.tier.races COMMAND tier_race_test)
  set_tests_properties(unit.tier.races PROPERTIES SKIP_REGULAR_EXPRESSION
                       "unexpected memory mapping")
endif()
