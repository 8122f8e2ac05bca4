# The folders of relay/ in their order: each may include only those before it (scripts/check_layers.py checks).
# `vm/machine` is listed on its own because it belongs to the runtime library.
set(RELAY_LAYERS
  support runtime vm/machine
  ir tensor_expr op print std parse import infer program eval pattern analysis transform graph lower codegen vm reduce explore lsp)
set(RELAY_RUNTIME_LAYERS support runtime vm/machine)

# Operators, passes and kernels register themselves from static objects that nothing refers to; an archive would drop
# them. So each folder is an OBJECT library, and executables link the objects.
set(RELAY_OBJECT_TARGETS)
if(RELAY_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
  add_library(relay_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(relay_precompiled PRIVATE relay_common relay_warnings)
  target_precompile_headers(relay_precompiled PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
endif()
set(runtime_objects)
set(compiler_objects)
foreach(layer IN LISTS RELAY_LAYERS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/relay/${layer}/*.cpp)
  if(layer STREQUAL "vm")
    list(FILTER sources EXCLUDE REGEX "/relay/vm/machine/")
  endif()
  if(NOT sources)
    continue()
  endif()
  string(REPLACE "/" "_" name ${layer})
  set(target relay_${name})
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PRIVATE relay_common relay_warnings)
  if(layer STREQUAL "import")
    # The numbers of ONNX's schema; only the reader of the encoding includes them.
    set(onnx_schema ${CMAKE_BINARY_DIR}/generated/onnx_schema.h)
    add_custom_command(OUTPUT ${onnx_schema}
      COMMAND ${CMAKE_COMMAND} -DPROTO=${RELAY_ONNX_PROTO} -DOUTPUT=${onnx_schema} -P ${CMAKE_SOURCE_DIR}/cmake/OnnxSchema.cmake
      DEPENDS ${RELAY_ONNX_PROTO} ${CMAKE_SOURCE_DIR}/cmake/OnnxSchema.cmake
      VERBATIM)
    target_sources(${target} PRIVATE ${onnx_schema})
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  endif()
  if(layer STREQUAL "std")
    # The texts of the standard library.
    file(GLOB standard_texts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/relay/std/*.rly)
    set(standard_library ${CMAKE_BINARY_DIR}/generated/standard_library.cpp)
    add_custom_command(OUTPUT ${standard_library}
      COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUTPUT=${standard_library} -P ${CMAKE_SOURCE_DIR}/cmake/StandardLibrary.cmake
      DEPENDS ${standard_texts} ${CMAKE_SOURCE_DIR}/cmake/StandardLibrary.cmake
      VERBATIM)
    target_sources(${target} PRIVATE ${standard_library})
  endif()
  if(layer STREQUAL "explore")
    # The page, which is made of tools/explore/src by scripts/explore_page.py.
    set(explore_page ${CMAKE_BINARY_DIR}/generated/explore_page.cpp)
    add_custom_command(OUTPUT ${explore_page}
      COMMAND ${CMAKE_COMMAND} -DPAGE=${CMAKE_SOURCE_DIR}/tools/explore/page.html -DOUTPUT=${explore_page} -P ${CMAKE_SOURCE_DIR}/cmake/ExplorePage.cmake
      DEPENDS ${CMAKE_SOURCE_DIR}/tools/explore/page.html ${CMAKE_SOURCE_DIR}/cmake/ExplorePage.cmake
      VERBATIM)
    target_sources(${target} PRIVATE ${explore_page})
    set_source_files_properties(${explore_page} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(layer STREQUAL "codegen")
    target_link_libraries(${target} PRIVATE relay_llvm)
    # Names this version of the code generator in the keys of cached kernels.
    file(GLOB_RECURSE hashed CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/relay/codegen/*.cpp ${CMAKE_SOURCE_DIR}/relay/codegen/*.h
         ${CMAKE_SOURCE_DIR}/relay/lower/contraction_*.cpp ${CMAKE_SOURCE_DIR}/relay/lower/contraction_*.h)
    set(source_hash ${CMAKE_BINARY_DIR}/source_hash.cpp)
    add_custom_command(OUTPUT ${source_hash}
      COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUTPUT=${source_hash} -P ${CMAKE_SOURCE_DIR}/cmake/SourceHash.cmake
      DEPENDS ${hashed} ${CMAKE_SOURCE_DIR}/cmake/SourceHash.cmake ${CMAKE_SOURCE_DIR}/relay/lower/loops.h
              ${CMAKE_SOURCE_DIR}/relay/runtime/kernel.h ${CMAKE_SOURCE_DIR}/relay/runtime/scalar_ops.def
              ${CMAKE_SOURCE_DIR}/relay/tensor_expr/scalar.h
      VERBATIM)
    target_sources(${target} PRIVATE ${source_hash})
  endif()
  list(APPEND RELAY_OBJECT_TARGETS ${target})
  if(layer IN_LIST RELAY_RUNTIME_LAYERS)
    list(APPEND runtime_objects $<TARGET_OBJECTS:${target}>)
  else()
    list(APPEND compiler_objects $<TARGET_OBJECTS:${target}>)
  endif()
  if(RELAY_PCH)
    target_precompile_headers(${target} REUSE_FROM relay_precompiled)
  endif()
endforeach()

# The direct evaluator and library kernels are loops over rows: g++ 12 vectorises loops of unknown
# length from -O3 on.
file(GLOB row_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/relay/tensor_expr/rows_*.cpp
     ${CMAKE_SOURCE_DIR}/relay/runtime/kernels/*.cpp
     ${CMAKE_SOURCE_DIR}/relay/tensor_expr/program_load.cpp)
set_source_files_properties(${row_sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
# Fourier transforms are written in vectors, one source for each kind.
set(fft ${CMAKE_SOURCE_DIR}/relay/runtime/kernels/fft)
set_source_files_properties(${fft}/baseline.cpp PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>" SKIP_PRECOMPILE_HEADERS ON)
if(RELAY_X86)
  set_source_files_properties(${fft}/avx2.cpp PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma;$<$<CONFIG:Release>:-O3>" SKIP_PRECOMPILE_HEADERS ON)
endif()

set_source_files_properties(${CMAKE_SOURCE_DIR}/relay/vm/machine/c_api.cpp ${CMAKE_SOURCE_DIR}/relay/lsp/server.cpp PROPERTIES
  COMPILE_DEFINITIONS "RELAY_VERSION=\"${PROJECT_VERSION}\"")

# The interpreter's handlers each end in a jump of their own; these passes would join them again.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/relay/vm/machine/interpreter.cpp PROPERTIES
    COMPILE_OPTIONS "-fno-gcse;-fno-crossjumping")
endif()

# librelay_runtime.a is what a deployed model needs, librelay.a the rest. Whoever links librelay.a needs
# --whole-archive, for the reason above.
if(runtime_objects)
  add_library(relay_runtime_archive STATIC ${runtime_objects})
  set_target_properties(relay_runtime_archive PROPERTIES OUTPUT_NAME relay_runtime LINKER_LANGUAGE CXX)
  target_link_libraries(relay_runtime_archive PUBLIC relay_common)
endif()
# librelay_runtime.so: the same for programs that are not ours, with the C interface alone visible.
if(runtime_objects)
  add_library(relay_runtime_shared SHARED ${runtime_objects})
  set_target_properties(relay_runtime_shared PROPERTIES OUTPUT_NAME relay_runtime LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/relay_runtime.map)
  target_link_libraries(relay_runtime_shared PRIVATE relay_common)
  target_link_options(relay_runtime_shared PRIVATE
    LINKER:--as-needed LINKER:--gc-sections LINKER:--exclude-libs,ALL
    LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/relay_runtime.map)
endif()
if(compiler_objects)
  add_library(relay_archive STATIC ${compiler_objects})
  set_target_properties(relay_archive PROPERTIES OUTPUT_NAME relay LINKER_LANGUAGE CXX)
  target_link_libraries(relay_archive PUBLIC relay_common)
  if(TARGET relay_runtime_archive)
    # Who uses them installed takes both whole (Install.cmake).
    target_link_libraries(relay_archive PUBLIC $<BUILD_INTERFACE:relay_runtime_archive>)
  endif()
endif()

# relay_add_executable(name source...): an executable with all of the project's objects in it.
function(relay_add_executable name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ${RELAY_OBJECT_TARGETS} relay_common relay_warnings $<LINK_ONLY:relay_llvm>)
endfunction()

# For code whose compilation takes longer than better code would ever save: a quarter less.
function(relay_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
