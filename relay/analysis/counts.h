// Counts operators, layers and multiplications.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <relay/ir/module.h>

namespace relay {

/// The number of calls of each operator.
std::map<std::string, int64_t> op_frequencies(const Expr* root);
std::map<std::string, int64_t> op_frequencies(const Module& module);

/// The greatest number of calls of these operators along one path of the dataflow.
int64_t count_layers(const Expr* root, std::span<const std::string> ops);

/// Multiply-accumulates of all convolutions and matrix products: of every sum of products of two
/// tensors' elements in the operators' tensor expressions, each node counted once. Needs published
/// types; throws `Error` if a dimension that counts is unknown.
int64_t total_macs(const Expr* root);

}  // namespace relay
