# It looks at the bitcode in glow_codegen, and at code that glow_cpu makes of programs.
target_link_libraries(isa_test PRIVATE glow_cpu glow_codegen)
