# relay._core: the extension module, in build/python/relay beside links to the package's sources, so that PYTHONPATH=build/python
# is enough to use it.
option(RELAY_PYTHON "Build the Python package" OFF)
if(RELAY_PYTHON)
  find_package(Python COMPONENTS Interpreter Development.Module REQUIRED)
  # By the interpreter's own word: FindPython does not tell free-threaded builds apart.
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import sys; print(sys.implementation.name + '-%d.%d' % sys.version_info[:2] + sys.abiflags)"
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE python_kind COMMAND_ERROR_IS_FATAL ANY)
  if(NOT python_kind MATCHES "^cpython-3\\.1[0-3]$")
    message(FATAL_ERROR "the Python package is for standard builds of CPython 3.10 to 3.13 (not free-threaded ones); "
      "${Python_EXECUTABLE} is ${python_kind}")
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB binding_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/bindings/*.cpp)
  nanobind_add_module(relay_python NB_STATIC NB_DOMAIN relay ${binding_sources})
  # The command comes along as a function: an executable of its own in the wheel would be LLVM a second time.
  target_link_libraries(relay_python PRIVATE ${RELAY_OBJECT_TARGETS} relay_tool relay_common relay_warnings $<LINK_ONLY:relay_llvm>)
  target_include_directories(relay_python PRIVATE ${CMAKE_SOURCE_DIR}/python)
  if(RELAY_PCH)
    target_precompile_headers(relay_python PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h <nanobind/nanobind.h>
      <nanobind/stl/optional.h> <nanobind/stl/pair.h> <nanobind/stl/string.h> <nanobind/stl/vector.h>)
  endif()
  set_source_files_properties(${CMAKE_SOURCE_DIR}/python/bindings/module.cpp PROPERTIES
    COMPILE_DEFINITIONS "RELAY_VERSION=\"${PROJECT_VERSION}\"")
  if(RELAY_STATIC)
    # torch, onnxruntime and others have an LLVM, a fmt or a protobuf of their own in the same process. Without those
    # libraries outside, all of it can be hidden.
    set(map ${CMAKE_SOURCE_DIR}/cmake/python_module.map)
    target_link_options(relay_python PRIVATE
      LINKER:--gc-sections LINKER:--exclude-libs,ALL LINKER:--as-needed LINKER:--version-script=${map})
    set_target_properties(relay_python PROPERTIES LINK_DEPENDS ${map})
    # Their licenses ask to be passed on with what holds them.
    foreach(package llvm-19-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libzstd-dev)
      install(FILES /usr/share/doc/${package}/copyright DESTINATION relay/licenses RENAME ${package}.txt
        COMPONENT python EXCLUDE_FROM_ALL)
    endforeach()
    file(GLOB nanobind_license ${nanobind_ROOT}/../../nanobind-*.dist-info/licenses/LICENSE)
    install(FILES ${nanobind_license} DESTINATION relay/licenses RENAME nanobind.txt COMPONENT python EXCLUDE_FROM_ALL)
  endif()
  # The wheel's parts that are built; pyproject.toml asks for them alone, and the C++ installation leaves them out.
  install(TARGETS relay_python LIBRARY DESTINATION relay COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_BINARY_DIR}/python/relay/_core.pyi DESTINATION relay COMPONENT python EXCLUDE_FROM_ALL)
  target_link_options(relay_python PRIVATE -Wl,--wrap=PyErr_SetString)  # python/bindings/overloads.cpp
  set_target_properties(relay_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/relay)

  # A link for each file and folder of the package: edits are seen without a build, new ones from the next build on.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/python/relay)
  file(GLOB package_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/relay/*)
  foreach(part IN LISTS package_parts)
    cmake_path(GET part FILENAME name)
    if(NOT name STREQUAL "__pycache__")
      file(CREATE_LINK ${part} ${CMAKE_BINARY_DIR}/python/relay/${name} SYMBOLIC)
    endif()
  endforeach()

  # TVM's names over it.
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/tvm ${CMAKE_BINARY_DIR}/python/tvm SYMBOLIC)

  # Types of the extension module for type checkers and editors. An interpreter imports an instrumented module only with the
  # sanitizer's library loaded before (scripts/asan_python.sh).
  if(NOT RELAY_SANITIZE)
    add_custom_command(TARGET relay_python POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_BINARY_DIR}/python
        ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/python_stubs.py ${CMAKE_BINARY_DIR}/python/relay/_core.pyi
      VERBATIM COMMENT "Writing _core.pyi")
  endif()

  # The functions of operators, after a declaration has changed.
  add_custom_target(python-ops DEPENDS relay_python USES_TERMINAL
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_BINARY_DIR}/python
      ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/generate_python_ops.py)

  if(BUILD_TESTING AND NOT RELAY_SANITIZE)
    # The longest tests start first (COST), so that none runs alone at the end.
    add_test(NAME python.package
      COMMAND ${Python_EXECUTABLE} -m pytest ${CMAKE_SOURCE_DIR}/tests/python ${CMAKE_SOURCE_DIR}/tests/llm)
    set_tests_properties(python.package PROPERTIES LABELS python WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} TIMEOUT 1200 COST 900
      ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python;RELAY_BIN=$<TARGET_FILE:relay>")
    add_test(NAME python.tvm
      COMMAND ${Python_EXECUTABLE} -m pytest ${CMAKE_SOURCE_DIR}/tests/conformance/python ${CMAKE_SOURCE_DIR}/tests/scripts)
    set_tests_properties(python.tvm PROPERTIES LABELS python WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} TIMEOUT 900 COST 400
      ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python")
  endif()
endif()
