# Read by ctest before it runs anything.

# What is compiled must not depend on earlier runs.
set(ENV{GLOW_CACHE_DIR} /dev/null)

# Which slice of the slow tests runs (cmake/GlowTest.cmake): that of the commit, unless it is said.
if(NOT DEFINED ENV{GLOW_SLICE})
  execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} rev-parse HEAD
                  OUTPUT_VARIABLE commit ERROR_QUIET)
  string(SUBSTRING "0${commit}" 0 7 commit)
  math(EXPR slice "0x${commit} % 8")
  set(ENV{GLOW_SLICE} ${slice}/8)
  message("Slow tests run slice ${slice} of 0 to 7, by the commit: `ctest --preset slice-${slice}` "
          "repeats it, `ctest --preset full` runs all")
endif()
