// Gradients of values of any type as lists: one entry for each tensor of floats, left to right.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/op/registry/gradient_values.h>
#include <relay/support/pointer_map.h>

namespace relay::grad {

/// Null entries are zeros that nobody wrote.
using Leaves = std::vector<ExprRef>;

/// True for a tensor of floats.
bool is_leaf(const Type* type);
/// True for tensors of known rank and dtype, and for tuples of them.
bool is_tensorial(const Type* type);
/// True if, moreover, all extents are known.
bool is_static(const Type* type);

/// Where the leaves of the fields of tuple types are. Remembers what it found.
class LeafTable {
 public:
  /// The number of leaves of a type of tensors and tuples.
  uint32_t count(const Type* type);
  /// The number of leaves before field i of a tuple.
  uint32_t offset(const TupleType& tuple, size_t field);
  /// The field with a leaf.
  size_t field_with(const TupleType& tuple, uint32_t leaf);

 private:
  const std::vector<uint32_t>& offsets(const TupleType& tuple);
  PointerMap<Type, std::vector<uint32_t>> offsets_;
};

/// Field i of a tuple: the expression itself if the tuple is written out.
ExprRef field_of(const ExprRef& tuple, size_t i);
/// Calls `visit(tensor type, the tensor)` for each tensor in a value, left to right.
void for_each_tensor(const Type* type, const ExprRef& value,
                     const std::function<void(const Type*, const ExprRef&)>& visit);
/// A value of the type with each tensor replaced.
ExprRef map_tensors(const Type* type, const ExprRef& value,
                    const std::function<ExprRef(const Type*, const ExprRef&)>& map);

/// Zeros of a static type.
ExprRef zeros_of_type(const Type* type);

/// A value of the type with these leaves. Missing ones, and tensors of other dtypes, are zeros.
ExprRef from_leaves(const Type* type, const ExprRef& like, const Leaves& leaves);
}  // namespace relay::grad
