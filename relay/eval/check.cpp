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
    // Names first, then terms over them, which may tell further ones.
    for (bool again = true; again;) {
      again = false;
      for (const Term& term : terms_) again |= solve(term);
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
  struct Known {
    const TypeVar* symbol;
    int64_t extent;
    size_t part;  // that told it
  };
  using Fields = std::vector<TypeRef>;

  const Known* find(const TypeVar* symbol) const {
    auto known = std::find_if(names_.begin(), names_.end(),
                              [&](const Known& name) { return name.symbol == symbol; });
    return known == names_.end() ? nullptr : &*known;
  }

  // Compares a term with the extent. Whether it has told what a name is: the only one that is not
  // known, in a linear term.
  bool solve(const Term& term) {
    Dim rest = substitute(term.dim,
                          [&](Dim atom) {
                            const Known* known =
                                atom.as_symbol() == nullptr ? nullptr : find(atom.as_symbol());
                            return known == nullptr ? atom : Dim(known->extent);
                          }) -
               Dim(term.extent);
    if (rest.is_int(0)) return false;
    part_ = term.part;
    if (rest.is_int()) refuse(term.tensor, *term.value, term.dim);
    const TypeVar* symbol = rest.as_symbol();
    int64_t coefficient = 1;
    int64_t constant = 0;
    if (symbol == nullptr && rest.is_term() && rest.term().op == DimOp::kLinear &&
        rest.term().parts.size() == 1) {
      symbol = rest.term().parts[0].atom.as_symbol();
      coefficient = rest.term().parts[0].coefficient;
      constant = rest.term().constant;
    }
    if (symbol == nullptr) return false;
    if (constant % coefficient != 0 || -constant / coefficient < 0) {
      refuse(term.tensor, *term.value, term.dim);
    }
    names_.push_back({symbol, -constant / coefficient, part_});
    return true;
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
      if (dim.is_int()) refuse(tensor, value, dim);
      const TypeVar* symbol = dim.as_symbol();
      if (symbol == nullptr) {
        Term term{part_, tensor, &value, dim, shape[k]};
        bool seen = !terms_.empty() && terms_.back().dim == dim && terms_.back().extent == shape[k];
        if (!seen) terms_.push_back(term);
        continue;
      }
      const Known* known = find(symbol);
      if (known == nullptr) {
        names_.push_back({symbol, shape[k], part_});
      } else if (known->extent != shape[k]) {
        refuse(tensor, value, dim);
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

  [[noreturn]] void refuse(const TensorType* tensor, const Value& value, Dim dim) {
    const DeclaredShape& part = check_.parts[part_];
    std::string expected = part.type->str();
    std::string found;
    if (part.inside && tensor != part.type.get()) {
      expected = tensor->str() + " in " + expected;
      found = value_type(value)->str();
    } else {
      found = value_type(values_[part_])->str();
    }
    std::vector<const Known*> names;
    for_each_atom(dim, [&](Dim atom) {
      const Known* known = atom.as_symbol() == nullptr ? nullptr : find(atom.as_symbol());
      if (known != nullptr && std::find(names.begin(), names.end(), known) == names.end())
        names.push_back(known);
    });
    auto text = [](const Known* name) {
      return name->symbol->name().str() + " = " + std::to_string(name->extent);
    };
    for (const Known* name : names) {
      expected += (name == names[0] ? " where " : ", ") + text(name);
    }
    Diagnostic diagnostic =
        Diagnostic::error(part.what + ": expected " + expected + ", found " + found, part.span);
    for (const Known* name : names) {
      const DeclaredShape& maker = check_.parts[name->part];
      diagnostic.note(text(name) + " by " + maker.what, maker.span);
    }
    throw RuntimeError(std::move(diagnostic));
  }

  const ShapeCheck& check_;
  std::span<const Value> values_;
  size_t part_ = 0;
  std::vector<Known> names_;
  std::vector<Term> terms_;
  std::unordered_set<std::pair<const Value*, const Type*>, PairHash> visited_;
  std::map<std::pair<const Type*, int32_t>, Fields> fields_;
};

}  // namespace

void ShapeCheck::run(std::span<const Value> values) const { Checker(*this, values).run(); }

}  // namespace relay::eval
