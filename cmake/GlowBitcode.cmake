# Bitcode of the CPU backend's kernels and of the reference kernels, for the rows of
# lib/kernels/isa.def.
#
# glow_bitcode(CPU name... REF name... DIR dir): compiles DIR/cpu/name.c for every row and
# DIR/ref/name.c for the rows that others name in their column `ref`, to
# GLOW_GEN_DIR/kernels/<row>/cpu_name.bc and ref_name.bc; writes GLOW_GEN_DIR/kernels/blobs.inc, a
# line BLOB(row, CPU or REF, name, "path") for each. The target glow_kernel_bitcode makes them all.

# glow_bitcode_file(OUTPUT SOURCE TRIPLE MARCH LEVEL DEFINITIONS...): one file. The kernels are
# freestanding: they see clang's own headers, the project's, and nothing of the host. The program that
# uses a kernel is optimized when its constants are known; level -O1 keeps loops as they are written
# until then. Headers of the folder GLOW_BITCODE_FIRST, which the target of that name makes, come
# before all others.
execute_process(COMMAND ${GLOW_CLANG} -print-resource-dir OUTPUT_VARIABLE glow_clang_resources
                OUTPUT_STRIP_TRAILING_WHITESPACE)
function(glow_bitcode_file output source triple march level)
  set(includes)
  set(first)
  if(GLOW_BITCODE_FIRST)
    set(first ${GLOW_GEN_DIR}/${GLOW_BITCODE_FIRST})
  endif()
  foreach(dir IN ITEMS ${first} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${GLOW_GEN_DIR})
    list(APPEND includes -I${dir})
  endforeach()
  set(warnings -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-unused-function -Wno-pass-failed)
  if(source MATCHES "/cpu/")
    list(APPEND warnings -Wmissing-prototypes) # a kernel without a row
  endif()
  if(GLOW_WERROR)
    list(APPEND warnings -Werror)
  endif()
  if(triple MATCHES "^x86_64")
    set(width -mprefer-vector-width=512)
  endif()
  if(triple MATCHES "^i686" AND source MATCHES "/ref/")
    set(width -malign-double) # structs as in codegen/reference.c
  endif()
  list(TRANSFORM ARGN PREPEND -D OUTPUT_VARIABLE definitions)
  cmake_path(RELATIVE_PATH output BASE_DIRECTORY ${GLOW_GEN_DIR}/kernels OUTPUT_VARIABLE short)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${GLOW_CLANG} -target ${triple} -march=${march} ${width}
            ${level} -std=c17 -ffreestanding -nostdinc -isystem ${glow_clang_resources}/include
            -ffp-contract=off -fno-math-errno -fwrapv -fno-unwind-tables
            -fno-asynchronous-unwind-tables ${warnings} ${includes} -DGLOW_BITCODE ${definitions}
            -MD -MF ${output}.d -MT ${output} -emit-llvm -c ${source} -o ${output}
    MAIN_DEPENDENCY ${source}
    DEPENDS glow_ops_headers glow_kernel_headers ${GLOW_BITCODE_FIRST}
    DEPFILE ${output}.d
    COMMENT "bitcode ${short}"
    VERBATIM)
endfunction()

# The rows `sources O2 = ...` of the kernel table.
set(table ${PROJECT_SOURCE_DIR}/lib/kernels/kernels.ops)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
file(READ ${table} text)
string(REGEX MATCH "\nsources O2 =([^\"]*)\"" row "${text}")
string(REGEX MATCHALL "[a-z0-9_]+" glow_o2_sources "${CMAKE_MATCH_1}")

# The kernels of one row; appends to `outputs` and `blobs` of the caller.
function(glow_bitcode_row group id name triple march dir)
  file(MAKE_DIRECTORY ${GLOW_GEN_DIR}/kernels/${name})
  foreach(source IN LISTS arg_${group})
    set(level -O1)
    if(source IN_LIST glow_o2_sources)
      set(level -O2)
    elseif(source STREQUAL "rows")
      set(level -O1 -Xclang -disable-llvm-passes) # many functions, of which a program uses few
    endif()
    string(TOLOWER ${group} sub)
    set(output ${GLOW_GEN_DIR}/kernels/${name}/${sub}_${source}.bc)
    glow_bitcode_file(${output} ${dir}/${sub}/${source}.c ${triple} ${march} "${level}" ${ARGN})
    list(APPEND outputs ${output})
    string(APPEND blobs "BLOB(${id}, ${group}, ${source}, \"${output}\")\n")
  endforeach()
  set(outputs "${outputs}" PARENT_SCOPE)
  set(blobs "${blobs}" PARENT_SCOPE)
endfunction()

function(glow_bitcode)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DIR" "CPU;REF")
  foreach(source IN LISTS glow_o2_sources)
    if(NOT source IN_LIST arg_CPU AND NOT source IN_LIST arg_REF)
      message(FATAL_ERROR "sources in the kernel table: there is no ${source}.c")
    endif()
  endforeach()
  set(table ${PROJECT_SOURCE_DIR}/lib/kernels/isa.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  string(REPEAT "\"([^\"]+)\",[ \n]+" 4 names)
  set(row "ISA\\(([A-Z0-9_]+), ${names}([A-Z0-9_]+),[ \n]+\"[^\"]+\",[ \n]+([0-9]+),[ \n]+([0-9]+),[ \n]+([0-9]+),")
  string(REGEX MATCHALL "${row}" rows "${text}")
  set(blobs "")
  set(outputs "")
  foreach(line IN LISTS rows)
    string(REGEX MATCH "${row}" line "${line}")
    set(id ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    set(triple ${CMAKE_MATCH_3})
    set(march ${CMAKE_MATCH_5})
    set(ref ${CMAKE_MATCH_6})
    glow_bitcode_row(CPU ${id} ${name} ${triple} ${march} ${arg_DIR} GLOW_VL=${CMAKE_MATCH_7}
                     GLOW_TILE_PIXELS=${CMAKE_MATCH_8} GLOW_TILE_VECTORS=${CMAKE_MATCH_9})
    if(ref STREQUAL id)
      glow_bitcode_row(REF ${id} ${name} ${triple} ${march} ${arg_DIR})
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${GLOW_GEN_DIR}/kernels/blobs.inc CONTENT "${blobs}")
  add_custom_target(glow_kernel_bitcode DEPENDS ${outputs})
  set_property(GLOBAL PROPERTY GLOW_BITCODE ${outputs})
endfunction()
