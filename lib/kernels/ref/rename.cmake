# Writes a header that gives every function of gen/ops/kernels.h a suffix, so that the reference
# kernels can be compiled once more for another machine: cmake -DIN=... -DOUT=... -DSUFFIX=... -P
file(STRINGS ${IN} lines REGEX "glow_(kernel|scratch)_")
set(text "/* Generated from ops/kernels.h. */\n#define glow_elementwise_rows glow_elementwise_rows_${SUFFIX}\n#define glow_kernel_table glow_kernel_table_${SUFFIX}\n")
foreach(line IN LISTS lines)
  string(REGEX MATCH "glow_(kernel|scratch)_[a-z0-9_]+" name "${line}")
  string(APPEND text "#define ${name} ${name}_${SUFFIX}\n")
endforeach()
file(GLOB sources ${CMAKE_CURRENT_LIST_DIR}/*.h)
foreach(source IN LISTS sources)
  # What the files of this folder share among themselves.
  file(STRINGS ${source} lines REGEX "^[A-Za-z].* \\*?glow_[a-z0-9_]+\\(")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "glow_[a-z0-9_]+" name "${line}")
    string(APPEND text "#define ${name} ${name}_${SUFFIX}\n")
  endforeach()
endforeach()
file(WRITE ${OUT} "${text}")
