# Through the table of backends.
target_link_libraries(open_test PRIVATE glow_backends)

# The same under the thread sanitizer, which sees executions and how programs are selected and shared.
if(GLOW_HAVE_TSAN)
  glow_races(open LIBRARIES glow_backends
             SOURCES exec/background.c exec/execution.c exec/executable.c exec/extents.c exec/pool.c
                     backend/cpu/bound.c backend/cpu/select.c backend/cpu/selector.c backend/cpu/shared.c
                     support/arena.c support/context.c support/room.c support/str.c tensor/form.c
                     tensor/type.c rt/walk.c)
endif()
