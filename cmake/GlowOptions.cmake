# Compiler and linker flags that every target of this project gets, and where outputs go.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the static libraries are also parts of libglow
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# Generated headers and sources; a folder's generated files keep its path below it.
set(GLOW_GEN_DIR ${PROJECT_BINARY_DIR}/gen)
file(MAKE_DIRECTORY ${GLOW_GEN_DIR})

# Kernels know no sanitizers, so builds of one checkout can share them.
set(GLOW_KERNELS "" CACHE PATH "A finished build of this checkout, whose compiled kernels are taken")
set(GLOW_KERNELS_DIR ${GLOW_GEN_DIR}/kernels)
if(GLOW_KERNELS)
  set(GLOW_KERNELS_DIR ${GLOW_KERNELS}/gen/kernels)
endif()

include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${GLOW_GEN_DIR}
                    ${PROJECT_SOURCE_DIR})
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings
                    -ffp-contract=off)
if(GLOW_WERROR)
  add_compile_options(-Werror)
endif()

if(GLOW_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "GLOW_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang-19")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
if(GLOW_SANITIZE OR GLOW_FUZZ)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND sanitize -fno-sanitize=function) # machine code of ours has no types before it
  endif()
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()

# A fault in every reader's bounds check, for the test that the fuzz targets find it.
option(GLOW_PLANT_OFF_BY_ONE "Break the bounds checks of all readers by one, to test the fuzzers" OFF)
if(GLOW_PLANT_OFF_BY_ONE)
  add_compile_definitions(GLOW_OFF_BY_ONE=1)
endif()
