# It looks at the bitcode in glow_codegen, at code that glow_cpu makes of programs, and asks LLVM for this host's features.
target_link_libraries(isa_test PRIVATE glow_cpu glow_codegen ${GLOW_LLVM_LIBRARY})
target_include_directories(isa_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
