# Libraries as archives, for RELAY_STATIC. Objects are compiled exactly as they are without it, so ccache has them.

find_program(RELAY_LLVM_CONFIG llvm-config PATHS ${llvm_root}/bin NO_DEFAULT_PATH REQUIRED)
execute_process(COMMAND ${RELAY_LLVM_CONFIG} --link-static --libfiles passes asmparser x86codegen x86asmparser aarch64codegen
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE llvm_archives COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(llvm_archives)
foreach(name z zstd)
  find_library(RELAY_${name}_ARCHIVE lib${name}.a)
  mark_as_advanced(RELAY_${name}_ARCHIVE)
  if(NOT RELAY_${name}_ARCHIVE)
    message(FATAL_ERROR "lib${name}.a is missing: on Debian, `scripts/setup.sh --wheel` installs what the wheel is built of")
  endif()
endforeach()
target_link_libraries(relay_llvm INTERFACE ${llvm_archives} ${RELAY_zstd_ARCHIVE} ${RELAY_z_ARCHIVE} ${CMAKE_DL_LIBS})

# Debian has fmt and spdlog as shared libraries only; their sources are in their headers.
foreach(library fmt::fmt spdlog::spdlog)
  target_compile_definitions(relay_common INTERFACE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
  target_include_directories(relay_common SYSTEM INTERFACE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
endforeach()
add_library(relay_static_dependencies OBJECT ${CMAKE_SOURCE_DIR}/cmake/static_dependencies.cpp)
target_link_libraries(relay_static_dependencies PRIVATE relay_common)
target_link_libraries(relay_llvm INTERFACE relay_static_dependencies $<TARGET_OBJECTS:relay_static_dependencies>)
