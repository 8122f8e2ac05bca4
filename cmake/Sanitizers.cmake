# Whole-build instrumentation, chosen by presets.

if(RELAY_SANITIZE)
  # A report must end the process with an error, else a test would pass over it.
  add_compile_options(-fsanitize=${RELAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RELAY_SANITIZE})
endif()

if(RELAY_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

option(RELAY_FUZZ "Build the fuzzers (needs clang); best with RELAY_SANITIZE=address,undefined" OFF)
if(RELAY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
