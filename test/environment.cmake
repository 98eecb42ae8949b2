# Read by ctest before it runs anything: what is compiled must not depend on earlier runs.
set(ENV{GLOW_CACHE_DIR} /dev/null)
