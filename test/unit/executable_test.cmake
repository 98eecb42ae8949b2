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
  glow_races(executable LIBRARIES glow_backends
             SOURCES ${api} exec/execution.c exec/executable.c exec/extents.c exec/profile.c exec/pool.c
                     rt/walk.c driver/backend.c backend/cpu/shared.c backend/cpu/selector.c support/room.c
                     tensor/tensor.c backend/interp/values.c backend/interp/storage.c support/context.c
                     support/arena.c)
endif()
