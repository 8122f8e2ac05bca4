// Constants in the `#[metadata]` section of program text: TVM's JSON with its binary form of a
// tensor in base64. The printer writes it; the parser (parse/metadata.cpp) reads every such section
// of TVM's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <relay/runtime/ndarray.h>

namespace relay {

std::string encode_base64(std::string_view bytes);
/// Ignores white space. Throws `Error` for text that is not base64.
std::string decode_base64(std::string_view text);

/// TVM's serialised tensor in base64: magic, device, rank, dtype, extents, byte count, elements.
std::string encode_ndarray(const NDArray& array);
/// The tensor of such a text. Throws `Error` if it is malformed, or larger than the memory limit.
NDArray decode_ndarray(std::string_view base64);

/// The section `#[metadata]` with everything that `meta[relay.Constant][i]` refers to; ends in a
/// newline. TVM reads it as well.
std::string constants_metadata(std::span<const NDArray> constants);

}  // namespace relay
