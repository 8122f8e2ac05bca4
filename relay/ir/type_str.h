// Types as text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <relay/ir/type.h>

namespace relay {

/// The names of type variables within one text: each variable keeps its name unless another one
/// already has it; then `_1`, `_2`, … follows.
class TypeNames {
 public:
  const std::string& name(const TypeVar* var);
  /// No variable gets this name.
  void reserve(std::string_view name) { taken_.emplace(name); }

 private:
  std::unordered_map<const TypeVar*, std::string> names_;
  std::unordered_set<std::string> taken_;
};

/// The name of a type, a type parameter or a dimension, in quotes if the word means something else
/// in types.
std::string type_word(std::string_view name);
/// Like `Type::str`, with names that the caller shares between several types. A type definition is
/// shown by its name.
std::string type_str(const Type* type, TypeNames& names);
/// `s : Shape`, or `a` for kind Type.
std::string type_param_str(const TypeVar* var, TypeNames& names);

}  // namespace relay
