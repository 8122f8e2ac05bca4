// Questions of many passes about the types of tensors.
#pragma once

#include <algorithm>
#include <vector>

#include <relay/ir/type.h>
#include <relay/runtime/ndarray.h>

namespace relay {

/// The type of the tensor that a constant holds.
inline TypeRef type_of_array(const NDArray& array) {
  return TensorType::make(std::vector<Dim>(array.shape().begin(), array.shape().end()),
                          array.dtype());
}

/// True for a tensor that is known to have no dimensions. False for null.
inline bool is_number_type(const Type* type) {
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->dims().empty();
}

/// True for a tuple of tensors alone. False for null.
inline bool is_tuple_of_tensors(const Type* type) {
  const auto* tuple = type == nullptr ? nullptr : type->as<TupleType>();
  return tuple != nullptr &&
         std::all_of(tuple->fields().begin(), tuple->fields().end(),
                     [](const TypeRef& field) { return field->is<TensorType>(); });
}

}  // namespace relay
