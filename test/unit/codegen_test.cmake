# It selects work by glow_cpu, and makes modules for LLVM that are no good.
target_link_libraries(codegen_test PRIVATE glow_cpu ${GLOW_LLVM_LIBRARY})
target_include_directories(codegen_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
