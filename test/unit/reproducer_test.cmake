target_sources(reproducer_test PRIVATE ${PROJECT_SOURCE_DIR}/tools/glow-opt/driver.c
                                       ${PROJECT_SOURCE_DIR}/tools/glow-opt/reproducer.c)
target_include_directories(reproducer_test PRIVATE ${PROJECT_SOURCE_DIR}/tools/glow-opt)
