# Through the table of backends.
target_link_libraries(tier_oom_test PRIVATE glow_backends)
