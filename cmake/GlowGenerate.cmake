# Rules for generated C: re2c lexers and lemon grammars. Outputs go below GLOW_GEN_DIR, which is on
# the include path. Add the outputs to the SOURCES of the library that uses them.

# glow_re2c(INPUT OUTPUT [flags...]): OUTPUT is relative to GLOW_GEN_DIR unless absolute.
function(glow_re2c input output)
  cmake_path(ABSOLUTE_PATH input BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(ABSOLUTE_PATH output BASE_DIRECTORY ${GLOW_GEN_DIR})
  cmake_path(GET output PARENT_PATH dir)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${GLOW_RE2C} -W -i ${ARGN} --depfile ${output}.d -o ${output} ${input}
    MAIN_DEPENDENCY ${input}
    DEPFILE ${output}.d
    COMMENT "re2c ${output}"
    VERBATIM)
endfunction()

# glow_lemon(GRAMMAR OUTDIR): writes OUTDIR/<base>.c and OUTDIR/<base>.h, OUTDIR relative to
# GLOW_GEN_DIR unless absolute. lemon's own code is not written for our warnings.
function(glow_lemon grammar outdir)
  cmake_path(ABSOLUTE_PATH grammar BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(ABSOLUTE_PATH outdir BASE_DIRECTORY ${GLOW_GEN_DIR})
  cmake_path(GET grammar STEM base)
  file(MAKE_DIRECTORY ${outdir})
  add_custom_command(
    OUTPUT ${outdir}/${base}.c ${outdir}/${base}.h
    COMMAND ${GLOW_LEMON} -q -d${outdir} ${grammar}
    MAIN_DEPENDENCY ${grammar}
    COMMENT "lemon ${outdir}/${base}.c"
    VERBATIM)
  set_source_files_properties(${outdir}/${base}.c PROPERTIES COMPILE_OPTIONS -w)
endfunction()
