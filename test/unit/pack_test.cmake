# The same under the thread sanitizer, which sees what the threads do: the list of pieces, and the
# kernels that write them.
if(GLOW_HAVE_TSAN)
  set(kernels ${PROJECT_SOURCE_DIR}/lib/kernels/ref/movement.c
              ${PROJECT_SOURCE_DIR}/lib/kernels/ref/winograd.c)
  set(flags -fwrapv -fno-math-errno -fsanitize=thread -g)
  add_library(pack_race_kernels OBJECT ${kernels})
  target_compile_options(pack_race_kernels PRIVATE ${flags})
  add_dependencies(pack_race_kernels glow_ops_headers)
  glow_races(pack LIBRARIES ${libraries}
             SOURCES backend/interp/pack.c support/threads.c $<TARGET_OBJECTS:pack_race_kernels>
             OPTIONS LINKER:--wrap=malloc LINKER:--wrap=calloc LINKER:--wrap=realloc)
  if(TARGET glow_ref_v3)
    add_library(pack_race_kernels_v3 OBJECT ${kernels})
    target_compile_options(pack_race_kernels_v3 PRIVATE ${flags} -march=x86-64-v3 -include
                           ${GLOW_GEN_DIR}/kernels/rename_v3.h)
    add_dependencies(pack_race_kernels_v3 glow_ref_rename)
    target_sources(pack_race_test PRIVATE $<TARGET_OBJECTS:pack_race_kernels_v3>)
  endif()
endif()
