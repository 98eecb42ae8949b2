# It selects work by glow_cpu, and makes modules for LLVM that are no good.
target_link_libraries(codegen_test PRIVATE glow_cpu glow_codegen ${GLOW_LLVM_LIBRARY})
target_include_directories(codegen_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})

# Bitcode of matrix products that was built from another table, in which the parameters of
# convolutions have a field less.
include(GlowBitcode)
include(GlowOps)
function(glow_planted_table test)
  set(GLOW_BITCODE_FIRST glow_planted_table)
  set(dir ${GLOW_GEN_DIR}/${GLOW_BITCODE_FIRST})
  set(conv ${PROJECT_SOURCE_DIR}/lib/kernels/conv.ops)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${conv})
  file(READ ${conv} text)
  string(REGEX REPLACE "  derived fetch : i64[^\n]*\n" "" less "${text}")
  if(less STREQUAL text)
    message(FATAL_ERROR "${conv} has no field 'fetch', which a test leaves out")
  endif()
  file(CONFIGURE OUTPUT ${dir}/conv.ops CONTENT "${less}" @ONLY)
  list(TRANSFORM GLOW_KERNEL_TABLE REPLACE "^${conv}$" ${dir}/conv.ops OUTPUT_VARIABLE table)
  glow_kernel_table(params ${GLOW_BITCODE_FIRST}/kernels/params.h ${table})
  glow_kernel_table(prototypes ${GLOW_BITCODE_FIRST}/kernels/kernels.h ${table})
  add_custom_target(glow_planted_table DEPENDS ${dir}/kernels/params.h ${dir}/kernels/kernels.h)
  glow_bitcode_file(${dir}/matmul.bc ${PROJECT_SOURCE_DIR}/lib/kernels/cpu/matmul.c
                    x86_64-unknown-linux-gnu x86-64-v3 -O1 GLOW_VL=8 GLOW_TILE_PIXELS=6
                    GLOW_TILE_VECTORS=2)
  add_custom_target(glow_planted_less DEPENDS ${dir}/matmul.bc)
  add_dependencies(${test} glow_planted_less)
  target_compile_definitions(${test} PRIVATE GLOW_TEST_LESS="${dir}/matmul.bc")
endfunction()
glow_planted_table(codegen_test)
