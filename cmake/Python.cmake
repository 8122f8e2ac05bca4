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
endif()
