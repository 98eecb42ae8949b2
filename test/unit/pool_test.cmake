# Threads that the system refuses.
target_link_options(pool_test PRIVATE LINKER:--wrap=pthread_create)
