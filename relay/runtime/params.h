// Parameters of a model in a file of any known format.
#pragma once

#include <relay/runtime/npz.h>

#include <string>

namespace relay {

/// Reads named arrays from an .npz, .safetensors or .params (TVM) file; the contents decide which.
/// Throws `Error` with the file's name and the reason.
NamedArrays load_params(const std::string& path);

/// Writes named arrays, all or nothing, in the format of the extension.
void save_params(const std::string& path, const NamedArrays& arrays);
/// Throws `Error` if `save_params` does not know the extension.
void check_params_path(const std::string& path);

/// TVM's dictionary of arrays.
NamedArrays read_tvm_params(const std::string& path);
void write_tvm_params(const std::string& path, const NamedArrays& arrays);

}  // namespace relay
