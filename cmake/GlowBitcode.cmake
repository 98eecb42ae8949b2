# Bitcode of the CPU backend's kernels: every source for every row of lib/kernels/isa.def.
#
# glow_bitcode(SOURCES name... DIR dir): compiles DIR/name.c to GLOW_GEN_DIR/kernels/<row>/name.bc and
# writes GLOW_GEN_DIR/kernels/blobs.inc, a line BLOB(row, name, "path") for each. The target
# glow_kernel_bitcode makes them all.

# glow_bitcode_file(OUTPUT SOURCE TRIPLE CPU DEFINITIONS...): one file. The kernels are freestanding:
# they see clang's own headers, the project's, and nothing of the host. -O1 keeps loops as they are
# written; the program that uses a kernel is optimized when its constants are known.
execute_process(COMMAND ${GLOW_CLANG} -print-resource-dir OUTPUT_VARIABLE glow_clang_resources
                OUTPUT_STRIP_TRAILING_WHITESPACE)
function(glow_bitcode_file output source triple cpu)
  set(level -O1)
  if(source MATCHES "vector_ops")
    set(level -O2) # these are vectorized here, not later
  endif()
  set(includes)
  foreach(dir IN ITEMS ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${GLOW_GEN_DIR})
    list(APPEND includes -I${dir})
  endforeach()
  set(warnings -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-unused-function -Wno-pass-failed)
  if(GLOW_WERROR)
    list(APPEND warnings -Werror)
  endif()
  list(TRANSFORM ARGN PREPEND -D OUTPUT_VARIABLE definitions)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${GLOW_CLANG} -target ${triple} -march=${cpu} -mprefer-vector-width=512 ${level}
            -std=c17 -ffreestanding -nostdinc -isystem ${glow_clang_resources}/include
            -ffp-contract=off -fno-math-errno -fwrapv -fno-unwind-tables
            -fno-asynchronous-unwind-tables ${warnings} ${includes} ${definitions}
            -MD -MF ${output}.d -MT ${output} -emit-llvm -c ${source} -o ${output}
    MAIN_DEPENDENCY ${source}
    DEPENDS glow_ops_headers
    DEPFILE ${output}.d
    COMMENT "bitcode ${output}"
    VERBATIM)
endfunction()

function(glow_bitcode)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DIR" "SOURCES")
  set(table ${PROJECT_SOURCE_DIR}/lib/kernels/isa.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  set(row "ISA\\(([A-Z0-9_]+), \"([^\"]+)\", \"([^\"]+)\", \"([^\"]+)\", \"([^\"]+)\", ([0-9]+), ([0-9]+), ([0-9]+),")
  string(REGEX MATCHALL "${row}" rows "${text}")
  set(blobs "")
  set(outputs "")
  foreach(line IN LISTS rows)
    string(REGEX MATCH "${row}" line "${line}")
    set(id ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    set(triple ${CMAKE_MATCH_3})
    set(cpu ${CMAKE_MATCH_4})
    set(definitions GLOW_VL=${CMAKE_MATCH_6} GLOW_TILE_PIXELS=${CMAKE_MATCH_7}
                    GLOW_TILE_VECTORS=${CMAKE_MATCH_8})
    file(MAKE_DIRECTORY ${GLOW_GEN_DIR}/kernels/${name})
    foreach(source IN LISTS arg_SOURCES)
      set(output ${GLOW_GEN_DIR}/kernels/${name}/${source}.bc)
      glow_bitcode_file(${output} ${arg_DIR}/${source}.c ${triple} ${cpu} ${definitions})
      list(APPEND outputs ${output})
      string(APPEND blobs "BLOB(${id}, ${source}, \"${output}\")\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${GLOW_GEN_DIR}/kernels/blobs.inc CONTENT "${blobs}")
  add_custom_target(glow_kernel_bitcode DEPENDS ${outputs})
  set_property(GLOBAL PROPERTY GLOW_BITCODE ${outputs})
endfunction()
