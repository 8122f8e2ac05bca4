// Shared by the declarations of elementwise operators.
#pragma once

#include <functional>
#include <string_view>

#include <relay/op/op.h>

namespace relay {

/// Dtypes that an elementwise operator accepts.
enum class DTypeClass : uint8_t { kAny, kNumeric, kFloat, kInteger, kIntegerOrBool, kBool };

/// Identity (Broadcast, BroadcastComp) restricted to a class of dtypes; `kAny` is the plain
/// relation.
const Relation* identity_relation(DTypeClass dtypes);
const Relation* broadcast_relation(DTypeClass dtypes);
const Relation* compare_relation(DTypeClass dtypes);
/// One tensor in, bool of the same shape out.
const Relation* predicate_relation();

/// Declares a unary elementwise operator: result[i] = f(data[i]).
OpBuilder& declare_unary(std::string_view name, std::string doc, const Relation* relation,
                         std::function<te::Scalar(te::Scalar)> f);
/// Declares a binary operator with broadcasting: result[i] = f(lhs[i], rhs[i]).
OpBuilder& declare_binary(std::string_view name, std::string doc, const Relation* relation,
                          std::function<te::Scalar(te::Scalar, te::Scalar)> f);

}  // namespace relay

#define RELAY_UNARY_OP(name, doc, relation, f)                                          \
  [[maybe_unused]] static ::relay::OpBuilder& RELAY_OP_CONCAT(relay_op_, __COUNTER__) = \
      ::relay::declare_unary(name, doc, relation, f)
#define RELAY_BINARY_OP(name, doc, relation, f)                                         \
  [[maybe_unused]] static ::relay::OpBuilder& RELAY_OP_CONCAT(relay_op_, __COUNTER__) = \
      ::relay::declare_binary(name, doc, relation, f)
