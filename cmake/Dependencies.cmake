# Everything comes from Debian packages (scripts/setup.sh installs them).

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)

# What every file of the project is compiled with.
add_library(relay_common INTERFACE)
target_include_directories(relay_common INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(relay_common INTERFACE
  fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json ZLIB::ZLIB Threads::Threads)
