# The same under the thread sanitizer, which sees what the threads do: the list of pieces, and the
# kernels that write them.
if(GLOW_HAVE_TSAN)
  set(kernels ${PROJECT_SOURCE_DIR}/lib/kernels/ref/movement.c
              ${PROJECT_SOURCE_DIR}/lib/kernels/ref/winograd.c)
  set(flags -fwrapv -fno-math-errno -fsanitize=thread -g)
  add_library(pack_race_kernels OBJECT ${kernels})
  target_compile_options(pack_race_kernels PRIVATE ${flags})
  add_dependencies(pack_race_kernels glow_ops_headers)
  add_executable(pack_race_test pack_test.c ${PROJECT_SOURCE_DIR}/lib/backend/interp/pack.c
                 ${PROJECT_SOURCE_DIR}/lib/support/threads.c $<TARGET_OBJECTS:pack_race_kernels>)
  if(TARGET glow_ref_v3)
    add_library(pack_race_kernels_v3 OBJECT ${kernels})
    target_compile_options(pack_race_kernels_v3 PRIVATE ${flags} -march=x86-64-v3 -include
                           ${GLOW_GEN_DIR}/kernels/rename_v3.h)
    add_dependencies(pack_race_kernels_v3 glow_ref_rename)
    target_sources(pack_race_test PRIVATE $<TARGET_OBJECTS:pack_race_kernels_v3>)
  endif()
  set_target_properties(pack_race_test PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_compile_options(pack_race_test PRIVATE -fsanitize=thread -g)
  target_link_options(pack_race_test PRIVATE -fsanitize=thread LINKER:--wrap=malloc
                      LINKER:--wrap=calloc LINKER:--wrap=realloc)
  target_link_libraries(pack_race_test PRIVATE ${libraries} m)
  glow_test(unit.pack.races COMMAND pack_race_test)
  set_tests_properties(unit.pack.races PROPERTIES SKIP_REGULAR_EXPRESSION
                       "unexpected memory mapping")
endif()
