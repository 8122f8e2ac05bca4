// How much there is of what: operators, layers, multiplications.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <relay/ir/module.h>

namespace relay {

/// How often each operator is called.
std::map<std::string, int64_t> op_frequencies(const Expr* root);
std::map<std::string, int64_t> op_frequencies(const Module& module);

/// The greatest number of calls of these operators along one path of the dataflow.
int64_t count_layers(const Expr* root, std::span<const std::string> ops);

/// Multiply-accumulates of all convolutions and matrix products, each node counted once: of every
/// sum of products of two tensors' elements in the operators' tensor expressions. Wants published
/// types; throws `Error` where a dimension that counts is unknown.
int64_t total_macs(const Expr* root);

}  // namespace relay
