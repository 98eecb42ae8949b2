# Through the table of backends.
target_link_libraries(network_test PRIVATE glow_backends)
