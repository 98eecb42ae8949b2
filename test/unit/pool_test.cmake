# Threads that the system refuses, or does not let run.
set(wraps LINKER:--wrap=pthread_create LINKER:--wrap=pthread_cond_wait)
target_link_options(pool_test PRIVATE ${wraps})

# The same under the thread sanitizer.
if(GLOW_HAVE_TSAN)
  glow_races(pool LIBRARIES glow_support SOURCES exec/pool.c OPTIONS ${wraps})
endif()
