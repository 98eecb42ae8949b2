# Through the table of backends.
target_link_libraries(tier_test PRIVATE glow_backends)
glow_test(unit.tier.exit COMMAND ${CMAKE_COMMAND} -E env GLOW_TEST_UNFINISHED=1 $<TARGET_FILE:tier_test>)

# The same under the thread sanitizer, which sees executions, the walker, and who swaps pieces.
if(GLOW_HAVE_TSAN)
  glow_races(tier LIBRARIES glow_backends
             SOURCES exec/background.c exec/execution.c exec/executable.c exec/code.c exec/code_debug.c
                     exec/extents.c backend/cpu/code.c backend/cpu/shared.c backend/cpu/selector.c
                     support/room.c rt/walk.c)
endif()
