# relay._core: the extension module, in build/python/relay beside links to the package's sources, so that PYTHONPATH=build/python
# is enough to use it.
option(RELAY_PYTHON "Build the Python package" OFF)
if(RELAY_PYTHON)
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB binding_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/bindings/*.cpp)
  nanobind_add_module(relay_python NB_STATIC NB_DOMAIN relay ${binding_sources})
  target_link_libraries(relay_python PRIVATE ${RELAY_OBJECT_TARGETS} relay_common relay_warnings ${RELAY_LLVM_LIBRARY})
  target_include_directories(relay_python PRIVATE ${CMAKE_SOURCE_DIR}/python)
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

  # Types of the extension module for type checkers and editors.
  add_custom_command(TARGET relay_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_BINARY_DIR}/python
      ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/python_stubs.py ${CMAKE_BINARY_DIR}/python/relay/_core.pyi
    VERBATIM COMMENT "Writing _core.pyi")

  # The functions of operators, after a declaration has changed.
  add_custom_target(python-ops DEPENDS relay_python USES_TERMINAL
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_BINARY_DIR}/python
      ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/generate_python_ops.py)

  if(BUILD_TESTING AND NOT RELAY_SANITIZE)
    add_test(NAME python.package
      COMMAND ${Python_EXECUTABLE} -m pytest ${CMAKE_SOURCE_DIR}/tests/python_package)
    set_tests_properties(python.package PROPERTIES LABELS python WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} TIMEOUT 900
      ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python;RELAY_BIN=$<TARGET_FILE:relay>")
    add_test(NAME python.tvm
      COMMAND ${Python_EXECUTABLE} -m pytest ${CMAKE_SOURCE_DIR}/tests/conformance/python)
    set_tests_properties(python.tvm PROPERTIES LABELS python WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} TIMEOUT 900
      ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python")
  endif()
endif()
