# It selects work by glow_cpu, and makes objects of its own with LLVM.
target_link_libraries(link_test PRIVATE glow_cpu glow_codegen ${GLOW_LLVM_LIBRARY})
target_include_directories(link_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
set(how SLICED)
