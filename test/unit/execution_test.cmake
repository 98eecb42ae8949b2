# Through the table of backends.
target_link_libraries(execution_test PRIVATE glow_backends)
