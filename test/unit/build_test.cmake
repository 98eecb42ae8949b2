# Through the public library, as a user's program.
target_link_libraries(${program} PRIVATE glow)
