// Parameters that become constants of the program.
#pragma once

#include <unordered_map>

#include <relay/ir/module.h>
#include <relay/runtime/ndarray.h>

namespace relay {

/// The module with parameters of `function` replaced by constants: a map from positions to arrays.
/// The other parameters keep their order. If the program calls the function itself, the old
/// function stays under another name, and the new one calls it. The result has no types yet. Throws
/// `Error` if the function or parameter does not exist.
Module bind_params(const Module& module, Name function,
                   const std::unordered_map<size_t, NDArray>& values);

}  // namespace relay
