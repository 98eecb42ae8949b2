/* The walker of programs, for bundles: whatever has no glow library. */
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#include "rt/walk.c"
#pragma clang attribute pop
