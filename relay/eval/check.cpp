// Declared shapes against those of values.
#include <relay/eval/check.h>

#include <algorithm>

#include <relay/eval/eval.h>
#include <relay/support/error.h>

namespace relay::eval {

bool has_shape_to_check(const TypeRef& type) {
  std::vector<const Type*> stack{type.get()};
  while (!stack.empty()) {
    const Type* at = stack.back();
    stack.pop_back();
    if (at == nullptr) continue;
    if (const auto* tensor = at->as<TensorType>()) {
      if (!tensor->has_rank()) continue;
      for (Dim dim : tensor->dims()) {
        if (!dim.is_any()) return true;
      }
    } else if (const auto* tuple = at->as<TupleType>()) {
      for (const TypeRef& field : tuple->fields()) stack.push_back(field.get());
    }
  }
  return false;
}

void ShapeCheck::run(std::span<const Value> values) const {
  std::vector<std::pair<const TypeVar*, int64_t>> names;
  auto known = [&](const TypeVar* symbol) {
    return std::find_if(names.begin(), names.end(),
                        [&](const auto& entry) { return entry.first == symbol; });
  };
  auto refuse = [&](const Part& part, const Value& value, Dim dim, int64_t extent) {
    Diagnostic diagnostic = Diagnostic::error(
        part.what + ": expected " + part.type->str() + ", found " + value_type(value)->str(),
        part.span);
    if (!dim.is_int())
      diagnostic.note("dimension " + dim.str() + " is not " + std::to_string(extent) + " here");
    throw RuntimeError(std::move(diagnostic));
  };
  // Names first, then terms over them.
  for (bool terms : {false, true}) {
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::pair<const Type*, Value>> stack{{parts[i].type.get(), values[i]}};
      while (!stack.empty()) {
        auto [type, value] = std::move(stack.back());
        stack.pop_back();
        if (const auto* tuple = type->as<TupleType>()) {
          if (!value.is_tuple() || value.fields().size() != tuple->fields().size()) continue;
          for (size_t k = 0; k < tuple->fields().size(); ++k) {
            stack.emplace_back(tuple->fields()[k].get(), value.field(k));
          }
          continue;
        }
        const auto* tensor = type->as<TensorType>();
        if (tensor == nullptr || !tensor->has_rank() || tensor->dims().empty() ||
            !value.is_tensor())
          continue;
        ShapeView shape = value.array().shape();
        if (shape.size() != tensor->dims().size())
          continue;  // a rank is always decided by inference
        for (size_t k = 0; k < shape.size(); ++k) {
          Dim dim = tensor->dims()[k];
          if (dim.is_any()) continue;
          const TypeVar* symbol = dim.as_symbol();
          if (!terms && symbol != nullptr && known(symbol) == names.end()) {
            names.emplace_back(symbol, shape[k]);
            continue;
          }
          Dim extent =
              dim.is_int() || !(terms || symbol != nullptr) ? dim : substitute(dim, [&](Dim atom) {
                auto found = atom.as_symbol() == nullptr ? names.end() : known(atom.as_symbol());
                return found == names.end() ? atom : Dim(found->second);
              });
          if (extent.is_int() && !extent.is_int(shape[k]))
            refuse(parts[i], values[i], dim, shape[k]);
        }
      }
    }
  }
}

}  // namespace relay::eval
