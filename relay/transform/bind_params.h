// Parameters that become constants of the program.
#pragma once

#include <unordered_map>

#include <relay/ir/module.h>
#include <relay/runtime/ndarray.h>

namespace relay {

/// The module with parameters of `function` replaced by constants: a map from positions to arrays.
/// The other parameters keep their order. If the program calls the function itself, it stays as it
/// is under another name, which the one of the old name calls. The result has no types yet. Throws
/// `Error` if there is no such function or parameter.
Module bind_params(const Module& module, Name function,
                   const std::unordered_map<size_t, NDArray>& values);

}  // namespace relay
