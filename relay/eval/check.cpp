// Declared shapes against those of values.
#include <relay/eval/check.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include <relay/eval/eval.h>
#include <relay/support/error.h>

namespace relay::eval {

namespace {

struct PairHash {
  size_t operator()(const std::pair<const Value*, const Type*>& pair) const {
    return std::hash<const void*>()(pair.first) * 31 + std::hash<const void*>()(pair.second);
  }
};

class Checker {
 public:
  Checker(const ShapeCheck& check, std::span<const Value> values)
      : check_(check), values_(values) {}

  void run() {
    for (part_ = 0; part_ < values_.size(); ++part_) {
      const Type* type = check_.parts[part_].type.get();
      if (const auto* tensor = type->as<TensorType>()) {
        compare(tensor, values_[part_]);
      } else {
        walk(type, values_[part_]);
      }
    }
    // Names first, then terms over them.
    for (const Term& term : terms_) {
      Dim extent = substitute(term.dim, [&](Dim atom) {
        auto known = atom.as_symbol() == nullptr ? names_.end() : find(atom.as_symbol());
        return known == names_.end() ? atom : Dim(known->second);
      });
      if (!extent.is_int() || extent.is_int(term.extent)) continue;
      part_ = term.part;
      refuse(term.tensor, *term.value, term.dim, term.extent);
    }
  }

 private:
  struct Term {
    size_t part;
    const TensorType* tensor;
    const Value* value;
    Dim dim;
    int64_t extent;
  };
  using Fields = std::vector<TypeRef>;

  std::vector<std::pair<const TypeVar*, int64_t>>::iterator find(const TypeVar* symbol) {
    return std::find_if(names_.begin(), names_.end(),
                        [&](const auto& entry) { return entry.first == symbol; });
  }

  void compare(const TensorType* tensor, const Value& value) {
    // A rank is always decided by inference.
    if (!tensor->has_rank() || tensor->dims().empty() || !value.is_tensor()) return;
    ShapeView shape = value.shape();
    auto dims = tensor->dims();
    if (shape.size() != dims.size()) return;
    for (size_t k = 0; k < shape.size(); ++k) {
      Dim dim = dims[k];
      if (dim.is_any() || dim.is_int(shape[k])) continue;
      if (dim.is_int()) refuse(tensor, value, dim, shape[k]);
      const TypeVar* symbol = dim.as_symbol();
      if (symbol == nullptr) {
        Term term{part_, tensor, &value, dim, shape[k]};
        bool seen = !terms_.empty() && terms_.back().dim == dim && terms_.back().extent == shape[k];
        if (!seen) terms_.push_back(term);
        continue;
      }
      auto known = find(symbol);
      if (known == names_.end()) {
        names_.emplace_back(symbol, shape[k]);
      } else if (known->second != shape[k]) {
        refuse(tensor, value, dim, shape[k]);
      }
    }
  }

  // What the fields of a data value have to be, by the type of the value.
  const Fields& fields_of(const TypeCall* type, const GlobalTypeVar* name, const Value& value) {
    const Type* key = type != nullptr ? static_cast<const Type*>(type) : name;
    auto [entry, added] = fields_.try_emplace({key, value.tag()});
    if (!added) return entry->second;
    const TypeData* data = check_.module == nullptr ? nullptr : check_.module->type_data(name);
    auto tag = static_cast<size_t>(value.tag());
    if (data == nullptr || tag >= data->constructors().size()) return entry->second;
    for (const TypeRef& input : data->constructors()[tag]->inputs()) {
      entry->second.push_back(substitute(input, [&](const TypeVar* var) -> TypeRef {
        for (size_t i = 0; type != nullptr && i < type->args().size(); ++i) {
          if (data->type_vars()[i].get() == var) return type->args()[i];
        }
        return {};
      }));
    }
    return entry->second;
  }

  void walk(const Type* root, const Value& whole) {
    std::vector<std::pair<const Type*, const Value*>> stack{{root, &whole}};
    auto push = [&](std::span<const TypeRef> types, std::span<const Value> fields) {
      if (types.size() != fields.size()) return;
      for (size_t k = types.size(); k-- > 0;) {
        if (types[k]->is<FuncType>() || types[k]->is<TypeVar>()) continue;
        stack.emplace_back(types[k].get(), &fields[k]);
      }
    };
    bool inside = check_.parts[part_].inside;
    while (!stack.empty()) {
      auto [type, value] = stack.back();
      stack.pop_back();
      if (const auto* tensor = type->as<TensorType>()) {
        compare(tensor, *value);
      } else if (const auto* tuple = type->as<TupleType>()) {
        if (value->is_tuple()) push(tuple->fields(), value->fields());
      } else if (!inside) {
        continue;
      } else if (const auto* cell = type->as<RefType>()) {
        if (!value->is_reference() || !visited_.emplace(&value->get(), type).second) continue;
        stack.emplace_back(cell->value().get(), &value->get());
      } else if (value->is_data() && !value->fields().empty()) {
        const auto* call = type->as<TypeCall>();
        const auto* name = (call != nullptr ? call->callee().get() : type)->as<GlobalTypeVar>();
        if (name == nullptr || !visited_.emplace(value->fields().data(), type).second) continue;
        push(fields_of(call, name, *value), value->fields());
      }
    }
  }

  [[noreturn]] void refuse(const TensorType* tensor, const Value& value, Dim dim, int64_t extent) {
    const DeclaredShape& part = check_.parts[part_];
    std::string expected = part.type->str();
    std::string found;
    if (part.inside && tensor != part.type.get()) {
      expected = tensor->str() + " in " + expected;
      found = value_type(value)->str();
    } else {
      found = value_type(values_[part_])->str();
    }
    Diagnostic diagnostic =
        Diagnostic::error(part.what + ": expected " + expected + ", found " + found, part.span);
    if (!dim.is_int()) {
      diagnostic.note("dimension " + dim.str() + " is not " + std::to_string(extent) + " here");
    }
    throw RuntimeError(std::move(diagnostic));
  }

  const ShapeCheck& check_;
  std::span<const Value> values_;
  size_t part_ = 0;
  std::vector<std::pair<const TypeVar*, int64_t>> names_;
  std::vector<Term> terms_;
  std::unordered_set<std::pair<const Value*, const Type*>, PairHash> visited_;
  std::map<std::pair<const Type*, int32_t>, Fields> fields_;
};

}  // namespace

void ShapeCheck::run(std::span<const Value> values) const { Checker(*this, values).run(); }

}  // namespace relay::eval
