# Everything comes from Debian packages (scripts/setup.sh installs them).

include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)

# What every file of the project is compiled with.
add_library(relay_common INTERFACE)
target_include_directories(relay_common INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(relay_common INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
target_link_libraries(relay_common INTERFACE nlohmann_json::nlohmann_json Threads::Threads)

# LLVM makes machine code; only relay/codegen/llvm includes it. Found by its files: LLVM's own CMake package asks for the
# development files of all its dependencies.
set(llvm_root /usr/lib/llvm-19)
find_path(RELAY_LLVM_INCLUDE_DIR llvm/IR/Module.h PATHS ${llvm_root}/include NO_DEFAULT_PATH REQUIRED)
add_library(relay_llvm INTERFACE)
target_include_directories(relay_llvm SYSTEM INTERFACE ${RELAY_LLVM_INCLUDE_DIR})

# The wheel has everything inside that PyPI's other packages do not bring.
option(RELAY_STATIC "Link LLVM, fmt, spdlog, zlib and zstd into what is built" OFF)
if(RELAY_STATIC)
  include(StaticDependencies)
else()
  target_link_libraries(relay_common INTERFACE fmt::fmt spdlog::spdlog ZLIB::ZLIB)
  find_library(RELAY_LLVM_LIBRARY LLVM-19 PATHS ${llvm_root}/lib NO_DEFAULT_PATH REQUIRED)
  target_link_libraries(relay_llvm INTERFACE ${RELAY_LLVM_LIBRARY})
endif()

# The schema of ONNX models (Debian's libonnx-dev): only its text is used, see OnnxSchema.cmake. Nothing is linked.
find_file(RELAY_ONNX_PROTO onnx/onnx.proto PATHS /usr/include REQUIRED)
