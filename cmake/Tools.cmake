# The command `relay`: bin/relay in the build directory.

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/relay/*.cpp)
if(sources)
  relay_add_executable(relay ${sources})
  # It measures the machine: with all optimisation in every configuration.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tools/relay/peak.cpp PROPERTIES COMPILE_OPTIONS "-O3")
  target_link_libraries(relay PRIVATE CLI11::CLI11 ${CMAKE_DL_LIBS})
  # Plug-ins find the library's symbols in it (relay/op/plugin.h).
  set_target_properties(relay PROPERTIES ENABLE_EXPORTS ON)
  target_compile_definitions(relay PRIVATE RELAY_VERSION="${PROJECT_VERSION}")
endif()
