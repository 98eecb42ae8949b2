# glow_ops(GENERATOR OUTPUT): runs glow-tblgen over lib/ops/*.ops; OUTPUT is relative to
# GLOW_GEN_DIR/ops. kinds.ops comes first: kinds are declared before they are used.
set(GLOW_OPS_DIR ${PROJECT_SOURCE_DIR}/lib/ops)
set(GLOW_OPS_FILES
    ${GLOW_OPS_DIR}/kinds.ops ${GLOW_OPS_DIR}/elementwise.ops ${GLOW_OPS_DIR}/tensor.ops
    ${GLOW_OPS_DIR}/compute.ops ${GLOW_OPS_DIR}/control.ops)
set(GLOW_OPS_GEN_DIR ${GLOW_GEN_DIR}/ops)
file(MAKE_DIRECTORY ${GLOW_OPS_GEN_DIR})

function(glow_ops generator output)
  add_custom_command(
    OUTPUT ${GLOW_OPS_GEN_DIR}/${output}
    COMMAND glow-tblgen -gen=${generator} -o ${GLOW_OPS_GEN_DIR}/${output} ${GLOW_OPS_FILES}
    DEPENDS glow-tblgen ${GLOW_OPS_FILES}
    COMMENT "glow-tblgen ops/${output}"
    VERBATIM)
endfunction()
