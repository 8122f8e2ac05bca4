# `cmake --install BUILD --prefix PREFIX`: the command, the two libraries with their headers, and what find_package(relay)
# and pkg-config say of them. examples/embed uses all of it.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/relay)
install(TARGETS relay RUNTIME)

# Headers keep their paths; the C interface also stands by itself, for `#include <relay_runtime.h>`. LLVM stays inside.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/relay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
  PATTERN "codegen/llvm" EXCLUDE PATTERN "runtime/kernels" EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/relay/vm/machine/relay_runtime.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The shared library with the C interface has an export of its own: projects in C cannot use what the archives ask for.
set_target_properties(relay_runtime_shared PROPERTIES EXPORT_NAME runtime_c)
target_include_directories(relay_runtime_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS relay_runtime_shared EXPORT relay_runtime_c LIBRARY)
install(EXPORT relay_runtime_c NAMESPACE relay:: DESTINATION ${package_dir} FILE relayRuntimeC.cmake)

set_target_properties(relay_archive PROPERTIES EXPORT_NAME archive)
set_target_properties(relay_runtime_archive PROPERTIES EXPORT_NAME runtime_archive)
set_target_properties(relay_common PROPERTIES EXPORT_NAME common)
install(TARGETS relay_archive relay_runtime_archive relay_common EXPORT relay_archives ARCHIVE)
install(EXPORT relay_archives NAMESPACE relay:: DESTINATION ${package_dir} FILE relayArchives.cmake)

cmake_path(GET RELAY_LLVM_LIBRARY PARENT_PATH RELAY_LLVM_LIBRARY_DIR)
cmake_path(GET RELAY_LLVM_LIBRARY STEM LAST_ONLY RELAY_LLVM_NAME)
string(REGEX REPLACE "^lib" "" RELAY_LLVM_NAME ${RELAY_LLVM_NAME})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/relayConfig.cmake.in ${CMAKE_BINARY_DIR}/relayConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 nothing is promised from one minor version to the next.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/relayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/relayConfig.cmake ${CMAKE_BINARY_DIR}/relayConfigVersion.cmake DESTINATION ${package_dir})

# pkg-config finds everything from where its own file lies, so that `--prefix` may be chosen when installing.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir} OUTPUT_VARIABLE RELAY_PC_LIBDIR)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
  OUTPUT_VARIABLE RELAY_PC_INCLUDEDIR)
foreach(name relay relay-runtime)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Completion for shells and the manual page: the command writes them from its own table of commands and options.
set(shell_dir ${CMAKE_BINARY_DIR}/completion)
add_custom_command(OUTPUT ${shell_dir}/relay.bash ${shell_dir}/relay.zsh ${shell_dir}/relay.fish ${shell_dir}/relay.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${shell_dir}
  COMMAND $<TARGET_FILE:relay> completion bash > ${shell_dir}/relay.bash
  COMMAND $<TARGET_FILE:relay> completion zsh > ${shell_dir}/relay.zsh
  COMMAND $<TARGET_FILE:relay> completion fish > ${shell_dir}/relay.fish
  COMMAND $<TARGET_FILE:relay> completion man > ${shell_dir}/relay.1
  DEPENDS relay VERBATIM)
add_custom_target(relay_completion ALL DEPENDS ${shell_dir}/relay.1)
install(FILES ${shell_dir}/relay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME relay)
install(FILES ${shell_dir}/relay.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _relay)
install(FILES ${shell_dir}/relay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${shell_dir}/relay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

if(BUILD_TESTING AND NOT RELAY_SANITIZE AND NOT RELAY_COVERAGE)
  add_test(NAME install_embed
    COMMAND ${CMAKE_SOURCE_DIR}/tests/install/embed.sh ${CMAKE_COMMAND} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/examples/embed ${CMAKE_CXX_COMPILER})
endif()
