# What is not ours: libraries found by pkg-config, programs that generate code, and LLVM.
# docs/Dependencies says why each one is here.

find_package(PkgConfig REQUIRED)
pkg_check_modules(YAJL REQUIRED IMPORTED_TARGET yajl)
pkg_check_modules(SPNG IMPORTED_TARGET spng)
pkg_check_modules(JPEG IMPORTED_TARGET libjpeg)

find_path(UTHASH_INCLUDE_DIR uthash.h REQUIRED)
find_program(GLOW_RE2C re2c REQUIRED)
find_program(GLOW_LEMON lemon REQUIRED)

# clang-19 makes the bitcode of the kernels whatever the host compiler is.
if(GLOW_ENABLE_LLVM)
  find_package(LLVM 19.1 REQUIRED CONFIG)
  find_program(GLOW_CLANG NAMES clang-19 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
endif()
