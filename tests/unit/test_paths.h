#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace relay::testing {

/// Root of the checkout the tests were built from.
std::string source_dir();

std::string read_text(const std::filesystem::path& path);

/// The .rly files below folders of the checkout, in the order of their paths.
std::vector<std::filesystem::path> program_files(std::initializer_list<const char*> folders);

}  // namespace relay::testing
