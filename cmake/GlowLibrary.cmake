# The shapes that targets of this project have: a library per folder, a tool per folder, fuzz
# targets. Sources are globbed, so a new file needs no registration.

# glow_library(NAME [DIRS dir...] [SOURCES file...] [DEPS target...] [PRIVATE_DEPS target...])
#
# A static library of the *.c files of the current folder, or of DIRS below it, and of SOURCES
# (generated files). DEPS may name libraries that are defined later, and form no cycle: test/rooms reads
# them.
function(glow_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DIRS;SOURCES;DEPS;PRIVATE_DEPS")
  if(NOT arg_DIRS)
    set(arg_DIRS .)
  endif()
  set(sources ${arg_SOURCES})
  foreach(dir IN LISTS arg_DIRS)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.c)
    list(APPEND sources ${found})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  set_property(GLOBAL APPEND PROPERTY GLOW_LIBRARIES ${name})
endfunction()

# glow_tool(NAME [DEPS target...]): the program build/bin/NAME from the *.c files of the current
# folder, or of its subfolder NAME where that exists. Installed, with what bash needs to complete its
# command line: a script that the tool itself prints.
function(glow_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;SOURCES")
  set(dir ${CMAKE_CURRENT_SOURCE_DIR})
  if(IS_DIRECTORY ${dir}/${name})
    set(dir ${dir}/${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.c)
  add_executable(${name} ${sources} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} glow_support)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_property(GLOBAL APPEND PROPERTY GLOW_TOOLS ${name})
  set(completion ${GLOW_GEN_DIR}/completions/${name})
  add_custom_command(
    OUTPUT ${completion}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${GLOW_GEN_DIR}/completions
    COMMAND ${name} --print-completion > ${completion}
    DEPENDS ${name} VERBATIM)
  add_custom_target(${name}-completion ALL DEPENDS ${completion})
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endfunction()

# glow_fuzzer(NAME SOURCE [DEPS target...]): a libFuzzer program, a part of the target `fuzzers`;
# nothing unless GLOW_FUZZ is on.
function(glow_fuzzer name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEPS")
  if(GLOW_FUZZ)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${arg_DEPS} glow_support)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
  endif()
endfunction()
