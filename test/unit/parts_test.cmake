# It selects work by glow_cpu.
target_link_libraries(parts_test PRIVATE glow_cpu glow_codegen)
