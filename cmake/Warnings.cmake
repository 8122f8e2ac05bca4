# Warnings for our own code. They fail the build only where RELAY_WERROR is set.

add_library(relay_warnings INTERFACE)
target_compile_options(relay_warnings INTERFACE
  -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  $<$<BOOL:${RELAY_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports both inside inlined libstdc++ code that is correct (GCC bugs 105329, 105562, 105651).
  target_compile_options(relay_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  # The same inlining gives false alarms about the bounds of strings (GCC bug 105329): shown, but no reason to fail.
  target_compile_options(relay_warnings INTERFACE
    $<$<BOOL:${RELAY_WERROR}>:-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-error=stringop-overread>)
endif()
