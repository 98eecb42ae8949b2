# cmake -DDIR=... -DOUT=... -P GlowSourceId.cmake: a header with a hash of all sources below DIR. What one
# build keeps in a cache is then only taken by builds of the same sources.
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${DIR} ${DIR}/*)
list(SORT files)
set(all)
foreach(file IN LISTS files)
  file(SHA256 ${DIR}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 id "${all}")
file(CONFIGURE OUTPUT ${OUT} CONTENT "/* Of the sources that this build is made of. */\n#define GLOW_SOURCE_ID \"${id}\"\n" @ONLY)
