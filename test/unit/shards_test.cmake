# Through the table of backends.
target_link_libraries(shards_test PRIVATE glow_backends)
