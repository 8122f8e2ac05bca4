# benchmarks/<name>.cpp is the program bin/bench_<name>, with Google Benchmark where it is installed. Built only by the
# target `benchmarks`: tests do not wait for them.

add_custom_target(benchmarks)
find_package(benchmark QUIET)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/benchmarks/*.cpp)
if(NOT RELAY_X86)
  list(FILTER sources EXCLUDE REGEX "/(kernels_packed|streaming)\\.cpp$")  # in instructions of x86-64
endif()
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  relay_add_executable(bench_${name} ${source})
  set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  if(benchmark_FOUND)
    target_link_libraries(bench_${name} PRIVATE benchmark::benchmark)
    target_compile_definitions(bench_${name} PRIVATE RELAY_HAVE_GOOGLE_BENCHMARK=1)
  endif()
  add_dependencies(benchmarks bench_${name})
endforeach()
# Runs groups as the tests do.
target_sources(bench_kernels_loops PRIVATE
  ${CMAKE_SOURCE_DIR}/tests/unit/lower_cases.cpp ${CMAKE_SOURCE_DIR}/tests/unit/native_runner.cpp
  ${CMAKE_BINARY_DIR}/test_paths.cpp)
# Its own package file asks for OpenCL, which nothing here uses.
find_library(RELAY_DNNL_LIBRARY dnnl)
find_path(RELAY_DNNL_INCLUDE oneapi/dnnl/dnnl.hpp)
mark_as_advanced(RELAY_DNNL_LIBRARY RELAY_DNNL_INCLUDE)
if(RELAY_DNNL_LIBRARY AND RELAY_DNNL_INCLUDE)
  target_link_libraries(bench_kernels_onednn PRIVATE ${RELAY_DNNL_LIBRARY})
  target_include_directories(bench_kernels_onednn SYSTEM PRIVATE ${RELAY_DNNL_INCLUDE})
  target_compile_definitions(bench_kernels_onednn PRIVATE RELAY_HAVE_DNNL=1)
endif()
