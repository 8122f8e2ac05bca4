// Identifies the code generator.
#pragma once

#include <string_view>

namespace relay::codegen {

/// A hash of the code generator's sources, made by the build (cmake/SourceHash.cmake): a cache does
/// not find kernels of another version.
std::string_view source_hash();

}  // namespace relay::codegen
