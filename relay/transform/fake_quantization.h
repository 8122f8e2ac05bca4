// Regions of a program that compute on dequantised numbers and quantise the result.
#pragma once

#include <map>
#include <set>
#include <string>

#include <relay/ir/module.h>

namespace relay {

/// How often each operator is called between a qnn.dequantize and a qnn.quantize that it leads to,
/// by name; a call counts once. Functions have types.
std::map<std::string, int64_t> fake_quantised_operators(const Module& module);

}  // namespace relay
