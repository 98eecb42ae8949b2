# glow_test(NAME [SLICED | SLICE k] COMMAND word...)
#
# A test of ctest's, through test/launch.sh, which prints on a failure what repeats it. Slow tests are
# cut into eight slices, of which a run takes one (test/environment.cmake says which): SLICED
# tests take the option --slice K/N and do a part in each, those with SLICE k run in that slice alone.
# Exit status 77 means that there is nothing to test here.
function(glow_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SLICED" "SLICE" "COMMAND")
  set(how whole)
  if(arg_SLICED)
    set(how sliced)
  elseif(DEFINED arg_SLICE)
    set(how ${arg_SLICE})
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${name} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
           COMMAND ${PROJECT_SOURCE_DIR}/test/launch.sh ${name} ${PROJECT_BINARY_DIR} ${how} ${program}
                   ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
