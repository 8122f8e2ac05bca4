// Shared by the declarations of elementwise operators.
#pragma once

#include <functional>
#include <string_view>

#include <relay/op/op.h>

namespace relay {

/// Declares a unary elementwise operator: result[i] = f(data[i]), of the data's dtype.
OpBuilder& declare_unary(std::string_view name, std::string doc, DTypes dtypes,
                         std::function<te::Scalar(te::Scalar)> f);
/// Declares a question about each element: result[i] = f(data[i]), a bool.
OpBuilder& declare_predicate(std::string_view name, std::string doc, DTypes dtypes,
                             std::function<te::Scalar(te::Scalar)> f);
/// Declares a binary operator with broadcasting: result[i] = f(lhs[i], rhs[i]), of their dtype.
OpBuilder& declare_binary(std::string_view name, std::string doc, DTypes dtypes,
                          std::function<te::Scalar(te::Scalar, te::Scalar)> f);
/// Declares a comparison with broadcasting: result[i] = f(lhs[i], rhs[i]), a bool.
OpBuilder& declare_compare(std::string_view name, std::string doc, DTypes dtypes,
                           std::function<te::Scalar(te::Scalar, te::Scalar)> f);

}  // namespace relay

#define RELAY_ELEMENTWISE(kind, ...)                                                    \
  [[maybe_unused]] static ::relay::OpBuilder& RELAY_OP_CONCAT(relay_op_, __COUNTER__) = \
      ::relay::declare_##kind(__VA_ARGS__)
#define RELAY_UNARY_OP(...) RELAY_ELEMENTWISE(unary, __VA_ARGS__)
#define RELAY_PREDICATE_OP(...) RELAY_ELEMENTWISE(predicate, __VA_ARGS__)
#define RELAY_BINARY_OP(...) RELAY_ELEMENTWISE(binary, __VA_ARGS__)
#define RELAY_COMPARE_OP(...) RELAY_ELEMENTWISE(compare, __VA_ARGS__)
