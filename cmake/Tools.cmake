# The command `relay`: bin/relay in the build directory. All of it but `main` is an OBJECT library, which the Python package
# takes in as well.

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/relay/*.cpp)
set(entry ${CMAKE_SOURCE_DIR}/tools/relay/entry.cpp)
list(REMOVE_ITEM sources ${entry})
add_library(relay_tool OBJECT ${sources})
target_link_libraries(relay_tool PRIVATE relay_common relay_warnings CLI11::CLI11)
target_compile_definitions(relay_tool PRIVATE RELAY_VERSION="${PROJECT_VERSION}")
# It measures the machine: with all optimisation in every configuration.
set_source_files_properties(${CMAKE_SOURCE_DIR}/tools/relay/peak.cpp PROPERTIES COMPILE_OPTIONS "-O3"
  SKIP_PRECOMPILE_HEADERS ON)
relay_compile_quickly(relay_tool)
if(RELAY_PCH)
  target_precompile_headers(relay_tool PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h <CLI/CLI.hpp>)
endif()

relay_add_executable(relay ${entry})
target_link_libraries(relay PRIVATE relay_tool ${CMAKE_DL_LIBS})
# Plug-ins find the library's symbols in it (relay/op/registry/plugin.h).
set_target_properties(relay PROPERTIES ENABLE_EXPORTS ON)
