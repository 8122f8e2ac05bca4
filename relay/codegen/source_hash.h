// Which code generator this is.
#pragma once

#include <string_view>

namespace relay::codegen {

/// A hash of the sources of the code generator, made by the build (cmake/SourceHash.cmake): kernels
/// that another version compiled are not found in a cache.
std::string_view source_hash();

}  // namespace relay::codegen
