# It selects work by glow_cpu.
target_link_libraries(bands_test PRIVATE glow_cpu)
