// Hugging Face's .safetensors files.
#pragma once

#include <relay/runtime/npz.h>

#include <string>

namespace relay {

/// Reads all tensors, in the order of the header. Throws `Error` with the file's name unless the
/// header is JSON of exactly the expected form and the tensors fill the data without overlap or
/// hole.
NamedArrays read_safetensors(const std::string& path);

/// Writes a .safetensors file, all or nothing. The names must differ and be UTF-8.
void write_safetensors(const std::string& path, const NamedArrays& arrays);

}  // namespace relay
