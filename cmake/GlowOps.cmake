# glow_ops(GENERATOR OUTPUT): runs glow-tblgen over lib/ops/*.ops; OUTPUT is relative to
# GLOW_GEN_DIR/ops. kinds.ops comes first: kinds are declared before they are used.
set(GLOW_OPS_DIR ${PROJECT_SOURCE_DIR}/lib/ops)
file(GLOB GLOW_OPS_FILES CONFIGURE_DEPENDS ${GLOW_OPS_DIR}/*.ops)
list(REMOVE_ITEM GLOW_OPS_FILES ${GLOW_OPS_DIR}/kinds.ops)
list(PREPEND GLOW_OPS_FILES ${GLOW_OPS_DIR}/kinds.ops)
# Functions that scalar bodies call, which lowering takes apart.
file(GLOB math CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/num/math*.h)
list(APPEND GLOW_OPS_FILES ${math})
set(GLOW_OPS_GEN_DIR ${GLOW_GEN_DIR}/ops)
file(MAKE_DIRECTORY ${GLOW_OPS_GEN_DIR})

# The kernel table. A file may use what those before it declare.
set(GLOW_KERNEL_TABLE kernels conv matmul bytes bf16 indices reduce pool lines move sample elements)
list(TRANSFORM GLOW_KERNEL_TABLE REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/lib/kernels/\\1.ops")

# glow_kernel_table(GENERATOR OUTPUT [FILES...]): runs it over the kernel table, or another one;
# OUTPUT is relative to GLOW_GEN_DIR.
function(glow_kernel_table generator output)
  set(table ${GLOW_KERNEL_TABLE})
  if(ARGN)
    set(table ${ARGN})
  endif()
  cmake_path(GET output PARENT_PATH dir)
  file(MAKE_DIRECTORY ${GLOW_GEN_DIR}/${dir})
  add_custom_command(
    OUTPUT ${GLOW_GEN_DIR}/${output}
    COMMAND glow-tblgen -gen=${generator} -o ${GLOW_GEN_DIR}/${output} ${table}
    DEPENDS glow-tblgen ${table}
    COMMENT "glow-tblgen ${output}"
    VERBATIM)
endfunction()

function(glow_ops generator output)
  add_custom_command(
    OUTPUT ${GLOW_OPS_GEN_DIR}/${output}
    COMMAND glow-tblgen -gen=${generator} -o ${GLOW_OPS_GEN_DIR}/${output} ${GLOW_OPS_FILES}
    DEPENDS glow-tblgen ${GLOW_OPS_FILES}
    COMMENT "glow-tblgen ops/${output}"
    VERBATIM)
endfunction()
