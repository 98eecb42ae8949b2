# Through the table of backends.
target_link_libraries(threads_test PRIVATE glow_backends)

# The same under the thread sanitizer, which sees what executables, executions and the walker do.
if(GLOW_HAVE_TSAN)
  glow_races(threads LIBRARIES glow_backends
             SOURCES exec/execution.c exec/executable.c exec/profile.c rt/walk.c)
endif()
