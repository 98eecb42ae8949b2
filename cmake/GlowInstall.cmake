# Installs the public library: headers, libglow, glow.pc for pkg-config, and a CMake package that
# exports glow::glow. Tools install themselves (glow_tool).

if(TARGET glow)
  include(CMakePackageConfigHelpers)
  set(glow_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/glow)

  set_target_properties(glow PROPERTIES VERSION ${PROJECT_VERSION}
                                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_include_directories(glow INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS glow EXPORT glowTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/glow
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  if(EXISTS ${GLOW_GEN_DIR}/include/glow)
    install(DIRECTORY ${GLOW_GEN_DIR}/include/glow
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  endif()

  file(RELATIVE_PATH glow_pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p) # the installed tree may move
  configure_file(${CMAKE_CURRENT_LIST_DIR}/glow.pc.in ${PROJECT_BINARY_DIR}/glow.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/glow.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

  install(EXPORT glowTargets NAMESPACE glow:: DESTINATION ${glow_cmake_dir})
  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/glowConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/glowConfig.cmake
                                INSTALL_DESTINATION ${glow_cmake_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/glowConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/glowConfig.cmake ${PROJECT_BINARY_DIR}/glowConfigVersion.cmake
          DESTINATION ${glow_cmake_dir})
endif()
