# Bitcode of the CPU backend's kernels and of the reference kernels, for the rows of
# lib/kernels/isa.def, and machine code of the former for the rows of this machine's family.
#
# glow_bitcode(CPU name... REF name... DIR dir): compiles DIR/cpu/name.c for every row and
# DIR/ref/name.c for the rows that others name in their column `ref`, to
# GLOW_KERNELS_DIR/<row>/cpu_name.bc and ref_name.bc; writes GLOW_GEN_DIR/kernels/blobs.inc, a
# line BLOB(row, CPU or REF, name, "path") for each. The target glow_kernel_bitcode makes them all.

# glow_library_rows(CPU name... DIR dir): the latter, GLOW_KERNELS_DIR/<base>/library.o for all
# rows of a base; writes GLOW_GEN_DIR/kernels/library.inc, a line ROW(row) for each, and sets GLOW_LIBRARY_OBJECTS.

# glow_bitcode_file(OUTPUT SOURCE TRIPLE MARCH LEVEL DEFINITIONS...), glow_library_file(the same): one
# file. The kernels are freestanding: they see clang's own headers, the project's, and nothing of the host. The program that
# uses a kernel is optimized when its constants are known; level -O1 keeps loops as they are written
# until then. Headers of the folder GLOW_BITCODE_FIRST, which the target of that name makes, come
# before all others.
execute_process(COMMAND ${GLOW_CLANG} -print-resource-dir OUTPUT_VARIABLE glow_clang_resources
                OUTPUT_STRIP_TRAILING_WHITESPACE)
function(glow_bitcode_file output source triple march level)
  glow_kernel_file("-DGLOW_BITCODE -emit-llvm" ${output} ${source} ${triple} ${march} "${level}" ${ARGN})
endfunction()
function(glow_library_file output source triple march level)
  glow_kernel_file("-DGLOW_LIBRARY -fPIC -fvisibility=hidden" ${output} ${source} ${triple} ${march} "${level}"
                   ${ARGN})
endfunction()

# Sets `taken` to whether the file is one that the build GLOW_KERNELS made; then no rule makes it here.
function(glow_is_taken taken file)
  set(${taken} OFF PARENT_SCOPE)
  if(GLOW_KERNELS)
    cmake_path(IS_PREFIX GLOW_KERNELS_DIR ${file} is_prefix)
    set(${taken} ${is_prefix} PARENT_SCOPE)
  endif()
endfunction()

function(glow_kernel_file form output source triple march level)
  glow_is_taken(taken ${output})
  if(taken)
    return()
  endif()
  separate_arguments(form)
  set(includes)
  set(first)
  if(GLOW_BITCODE_FIRST)
    set(first ${GLOW_GEN_DIR}/${GLOW_BITCODE_FIRST})
  endif()
  foreach(dir IN ITEMS ${first} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${GLOW_GEN_DIR})
    list(APPEND includes -I${dir})
  endforeach()
  set(warnings -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-unused-function
      -Wno-unused-parameter -Wno-pass-failed) # parameters of library code
  if(source MATCHES "/cpu/")
    list(APPEND warnings -Wmissing-prototypes) # a kernel without a row
  endif()
  if(GLOW_WERROR OR CMAKE_C_FLAGS MATCHES "-Werror")
    list(APPEND warnings -Werror)
  endif()
  if(triple MATCHES "^x86_64")
    set(width -mprefer-vector-width=512)
    if(source MATCHES "/grid_sample.c$") # loads one by one take less time than a gather (Zen 4)
      list(APPEND width -mno-gather)
    endif()
  endif()
  if(triple MATCHES "^i686" AND source MATCHES "/ref/")
    set(width -malign-double) # structs as in codegen/reference.c
  endif()
  list(TRANSFORM ARGN PREPEND -D OUTPUT_VARIABLE definitions)
  separate_arguments(machine UNIX_COMMAND "-march=${march}")
  cmake_path(RELATIVE_PATH output BASE_DIRECTORY ${GLOW_KERNELS_DIR} OUTPUT_VARIABLE short)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${GLOW_CLANG} -target ${triple} ${machine} ${width}
            ${level} -std=c17 -ffreestanding -nostdinc -isystem ${glow_clang_resources}/include
            -ffp-contract=off -fno-math-errno -fwrapv -fno-unwind-tables
            -fno-asynchronous-unwind-tables ${warnings} ${includes} ${definitions} ${form}
            -MD -MF ${output}.d -MT ${output} -c ${source} -o ${output}
    MAIN_DEPENDENCY ${source}
    DEPENDS glow_ops_headers glow_kernel_headers ${GLOW_BITCODE_FIRST}
    DEPFILE ${output}.d
    COMMENT "kernels ${short}"
    VERBATIM)
endfunction()

# The rows `sources O2 = ...` of the kernel table.
set(table ${PROJECT_SOURCE_DIR}/lib/kernels/kernels.ops)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
file(READ ${table} text)
string(REGEX MATCH "\nsources O2 =([^\"]*)\"" row "${text}")
string(REGEX MATCHALL "[a-z0-9_]+" glow_o2_sources "${CMAKE_MATCH_1}")

# What a row with another base has of its own: the sources with other code for a feature that the base
# lacks; and `bundle`, which asks for what the row's kernels need.
set(glow_feature_of_dot vnni)
set(glow_feature_of_dot_conv vnni)
set(glow_feature_of_narrow vnni)
set(glow_feature_of_bf16 amx-bf16)
set(glow_feature_of_bf16_pair avx512bf16)
# Sets `owner` to the id of the row whose code of the source row `id` uses: its own, or that of a base.
function(glow_row_owner owner source id)
  set(base ${glow_row_base_${id}})
  while(NOT base STREQUAL id AND NOT source STREQUAL bundle)
    set(feature ${glow_feature_of_${source}})
    if(feature AND glow_row_march_${id} MATCHES "${feature}" AND NOT glow_row_march_${base} MATCHES "${feature}")
      break()
    endif()
    set(id ${base})
    set(base ${glow_row_base_${id}})
  endwhile()
  set(${owner} ${id} PARENT_SCOPE)
endfunction()

# The kernels of one row; appends to `outputs` and `blobs` of the caller. A row with another base names
# the files of that one for most of its sources.
function(glow_bitcode_row group id base name triple march dir)
  file(MAKE_DIRECTORY ${GLOW_KERNELS_DIR}/${name})
  foreach(source IN LISTS arg_${group})
    set(level -O1)
    if(source IN_LIST glow_o2_sources)
      set(level -O2)
    elseif(source STREQUAL "rows")
      set(level -O1 -Xclang -disable-llvm-passes) # many functions, of which a program uses few
    endif()
    string(TOLOWER ${group} sub)
    set(owner ${id})
    if(group STREQUAL CPU)
      glow_row_owner(owner ${source} ${id})
    endif()
    if(NOT owner STREQUAL id)
      set(output ${GLOW_KERNELS_DIR}/${glow_row_name_${owner}}/${sub}_${source}.bc)
      string(APPEND blobs "BLOB(${id}, ${group}, ${source}, \"${output}\")\n")
      continue()
    endif()
    set(output ${GLOW_KERNELS_DIR}/${name}/${sub}_${source}.bc)
    glow_bitcode_file(${output} ${dir}/${sub}/${source}.c ${triple} ${march} "${level}" ${ARGN})
    list(APPEND outputs ${output})
    string(APPEND blobs "BLOB(${id}, ${group}, ${source}, \"${output}\")\n")
  endforeach()
  set(outputs "${outputs}" PARENT_SCOPE)
  set(blobs "${blobs}" PARENT_SCOPE)
endfunction()

# glow_rows(CALL): evaluates CALL(id name triple march ref base definitions...) for each row of isa.def.
set(glow_isa ${PROJECT_SOURCE_DIR}/lib/kernels/isa.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${glow_isa})
macro(glow_rows call)
  file(READ ${glow_isa} text)
  string(REPEAT "\"([^\"]+)\",[ \n]+" 2 names)
  set(row "ISA\\(([A-Z0-9_]+), ${names}\"[^\"]+\",[ \n]+\"([^\"]+)\",[ \n]+([A-Z0-9_]+),[ \n]+([A-Z0-9_]+),[ \n]+\"[^\"]+\",[ \n]+([0-9]+),[ \n]+([0-9]+),[ \n]+([0-9]+),")
  string(REGEX MATCHALL "${row}" rows "${text}")
  foreach(line IN LISTS rows)
    string(REGEX MATCH "${row}" line "${line}")
    set(glow_row_name_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    set(glow_row_march_${CMAKE_MATCH_1} ${CMAKE_MATCH_4})
    set(glow_row_base_${CMAKE_MATCH_1} ${CMAKE_MATCH_6})
  endforeach()
  foreach(line IN LISTS rows)
    string(REGEX MATCH "${row}" line "${line}")
    cmake_language(CALL ${call} ${CMAKE_MATCH_1} ${CMAKE_MATCH_2} ${CMAKE_MATCH_3} ${CMAKE_MATCH_4} ${CMAKE_MATCH_5} ${CMAKE_MATCH_6}
                   GLOW_VL=${CMAKE_MATCH_7} GLOW_TILE_PIXELS=${CMAKE_MATCH_8}
                   GLOW_TILE_VECTORS=${CMAKE_MATCH_9})
  endforeach()
endmacro()

function(glow_bitcode)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DIR" "CPU;REF")
  foreach(source IN LISTS glow_o2_sources)
    if(NOT source IN_LIST arg_CPU AND NOT source IN_LIST arg_REF)
      message(FATAL_ERROR "sources in the kernel table: there is no ${source}.c")
    endif()
  endforeach()
  set(blobs "")
  set(outputs "")
  macro(glow_bitcode_rows id name triple march ref base)
    glow_bitcode_row(CPU ${id} ${base} ${name} ${triple} ${march} ${arg_DIR} ${ARGN})
    if(${ref} STREQUAL ${id})
      glow_bitcode_row(REF ${id} ${id} ${name} ${triple} ${march} ${arg_DIR})
    endif()
  endmacro()
  glow_rows(glow_bitcode_rows)
  file(CONFIGURE OUTPUT ${GLOW_GEN_DIR}/kernels/blobs.inc CONTENT "${blobs}")
  add_custom_target(glow_kernel_bitcode DEPENDS ${outputs})
  set_property(GLOBAL PROPERTY GLOW_BITCODE ${outputs})
endfunction()

# Links `parts` to `output`, in which the tables of the rows `ids` alone are global.
function(glow_link_library output parts ids)
  glow_is_taken(taken ${output})
  if(taken)
    return()
  endif()
  list(TRANSFORM ids PREPEND --keep-global-symbol=glow_library_)
  cmake_path(GET output PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_LINKER} -r -o ${output} ${parts}
    COMMAND ${CMAKE_OBJCOPY} ${ids} ${output}
    DEPENDS ${parts}
    COMMENT "library ${name}"
    VERBATIM)
endfunction()

# The objects of the library of one row; sets `parts_ID` of the caller to them, and appends to
# `library`. A row with another base has the sources of its own and the table alone, and has the adapters
# and the tiles of the last base for the rest.
function(glow_library_row id base name triple march dir)
  set(folder ${GLOW_KERNELS_DIR}/${name})
  file(MAKE_DIRECTORY ${folder})
  set(objects)
  set(is_base 0)
  if(base STREQUAL id)
    set(is_base 1)
  endif()
  while(NOT glow_row_base_${base} STREQUAL base)
    set(base ${glow_row_base_${base}})
  endwhile()
  set(definitions GLOW_ROW=${id} GLOW_ROW_NAME="${name}" ${ARGN})
  set(has) # kernels that are not the last base's
  foreach(source IN LISTS arg_CPU)
    glow_row_owner(owner ${source} ${id})
    if(NOT owner STREQUAL base)
      file(STRINGS ${dir}/cpu/${source}.c heads REGEX "^void glow_[a-z0-9_]+\\(const Glow[A-Za-z0-9]+Params \\*params")
      list(TRANSFORM heads REPLACE "^void glow_([a-z0-9_]+).*" "GLOW_HAS_\\1")
      list(APPEND has ${heads})
    endif()
    if(owner STREQUAL id)
      glow_library_file(${folder}/library_${source}.o ${dir}/cpu/${source}.c ${triple} ${march} -O2 ${definitions})
      list(APPEND objects ${folder}/library_${source}.o)
    endif()
  endforeach()
  glow_library_file(${folder}/library_table.o ${GLOW_GEN_DIR}/kernels/library.c ${triple} ${march} -Os ${definitions}
                    GLOW_BASE=${base} GLOW_IS_BASE=${is_base} ${has})
  list(APPEND objects ${folder}/library_table.o)
  set(parts_${id} ${objects} PARENT_SCOPE)
  set(library "${library}ROW(${id})\n" PARENT_SCOPE)
endfunction()

function(glow_library_rows)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DIR" "CPU")
  set(library "")
  set(objects "")
  set(ids "")
  string(REPLACE "AMD64" "x86_64" processor ${CMAKE_SYSTEM_PROCESSOR})
  macro(glow_library_rows_of_host id name triple march ref base)
    if(${triple} MATCHES "^${processor}-")
      glow_library_row(${id} ${base} ${name} ${triple} ${march} ${arg_DIR} ${ARGN})
      list(APPEND ids ${id})
    endif()
  endmacro()
  glow_rows(glow_library_rows_of_host)
  set(far 0) # rows by how many bases they have, which may stand behind them
  foreach(id IN LISTS ids)
    set(depth 0)
    set(row ${id})
    while(NOT glow_row_base_${row} STREQUAL row)
      set(row ${glow_row_base_${row}})
      math(EXPR depth "${depth} + 1")
    endwhile()
    list(PREPEND rows_${depth} ${id})
    if(depth GREATER far)
      set(far ${depth})
    endif()
  endforeach()
  set(ids "")
  foreach(depth RANGE ${far})
    list(PREPEND ids ${rows_${depth}})
  endforeach()
  foreach(id IN LISTS ids) # each is a part of its base, which comes later
    set(base ${glow_row_base_${id}})
    set(output ${GLOW_KERNELS_DIR}/${glow_row_name_${id}}/library.o)
    list(PREPEND tables_${id} ${id})
    glow_link_library(${output} "${parts_${id}}" "${tables_${id}}")
    if(base STREQUAL id)
      list(PREPEND objects ${output})
    else()
      list(APPEND parts_${base} ${output})
      list(APPEND tables_${base} ${tables_${id}})
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${GLOW_GEN_DIR}/kernels/library.inc CONTENT "${library}")
  set(GLOW_LIBRARY_OBJECTS ${objects} PARENT_SCOPE)
endfunction()
