# The library as users have it, and no other: what it does not export does not link.
set_property(TARGET ${program} PROPERTY LINK_LIBRARIES glow)
