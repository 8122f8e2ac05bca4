#include <relay/vm/machine/type_check.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_set>

#include <relay/vm/machine/dims.h>
#include <relay/vm/machine/machine.h>
#include <relay/vm/machine/positions.h>

namespace relay::vm {

namespace {

// Numbers that may be unknown. Few of them, as is usual, need no allocation.
class Unknowns {
 public:
  explicit Unknowns(size_t count) {
    if (count > kFew) many_.resize(count);
    numbers_ = many_.empty() ? few_.data() : many_.data();
  }
  Unknowns(const Unknowns&) = delete;
  Unknowns& operator=(const Unknowns&) = delete;
  std::optional<int64_t>& operator[](size_t i) { return numbers_[i]; }

 private:
  static constexpr size_t kFew = 16;
  std::array<std::optional<int64_t>, kFew> few_;
  std::vector<std::optional<int64_t>> many_;
  std::optional<int64_t>* numbers_;
};

class Checker {
 public:
  Checker(const TypeCheck& check, bool only_shapes, TypeMismatch& mismatch)
      : check_(check),
        only_shapes_(only_shapes),
        mismatch_(mismatch),
        symbols_(check.symbols.size()),
        makers_(check.symbols.size()) {}

  bool run(std::span<const Value* const> values) {
    if (!all(values)) return false;
    // Terms over names, now that the names are known; they may tell further ones.
    for (bool again = has_terms_; again;) {
      second_ = true;
      told_ = false;
      visited_.clear();
      if (!all(values)) return false;
      again = told_;
    }
    return true;
  }

 private:
  bool all(std::span<const Value* const> values) {
    for (size_t i = 0; i < check_.parts.size(); ++i) {
      const TypeCheck::Part& part = check_.parts[i];
      part_ = i;
      if (part.inside ? walk(part, *values[i]) : fits(part.type, *values[i])) continue;
      mismatch_.part = i;
      if (mismatch_.found.empty()) {
        mismatch_.expected = part.text;
        mismatch_.found = value_type_text(*values[i]);
      }
      return false;
    }
    return true;
  }

  // Everything in a value, what it shares once.
  bool walk(const TypeCheck::Part& part, const Value& whole) {
    std::vector<std::pair<const TypeInfo*, const Value*>> stack{{&part.type, &whole}};
    auto push = [&](const std::vector<TypeInfo>& types, std::span<const Value> values) {
      if (types.size() != values.size()) return;
      for (size_t i = types.size(); i-- > 0;) {
        if (types[i].kind != TypeInfo::Kind::kAny) stack.emplace_back(&types[i], &values[i]);
      }
    };
    while (!stack.empty()) {
      auto [type, value] = stack.back();
      stack.pop_back();
      switch (type->kind) {
        case TypeInfo::Kind::kTensor:
          if (fits(*type, *value)) break;
          if (type != &part.type) {
            mismatch_.expected = tensor_text(*type) + " in " + part.text;
            mismatch_.found = value_type_text(*value);
          }
          return false;
        case TypeInfo::Kind::kTuple:
          if (value->is_tuple()) push(type->fields, value->fields());
          break;
        case TypeInfo::Kind::kReference:
          if (type->fields.empty() || !value->is_reference()) break;
          if (!visited_.insert({&value->get(), type}).second) break;
          stack.emplace_back(&type->fields[0], &value->get());
          break;
        case TypeInfo::Kind::kData: {
          if (type->data == kNone || !value->is_data() || value->fields().empty()) break;
          const DataInfo& data = check_.data[type->data];
          auto tag = static_cast<size_t>(value->tag());
          if (tag >= data.constructors.size()) break;
          if (!visited_.insert({value->fields().data(), &data}).second) break;
          push(data.constructors[tag], value->fields());
          break;
        }
        default:
          break;
      }
    }
    return true;
  }

  static std::string tensor_text(const TypeInfo& type) {
    std::string text = "Tensor[(";
    for (size_t i = 0; i < type.dims.size(); ++i) text += (i > 0 ? ", " : "") + type.dims[i].text;
    return text + "), " + (type.dtype.valid() ? std::string(type.dtype.name()) : type.name) + "]";
  }

  // Types nest no deeper than the executable's verifier allows.
  bool fits(const TypeInfo& type, const Value& value) {
    switch (type.kind) {
      case TypeInfo::Kind::kAny:
        return true;
      case TypeInfo::Kind::kTensor: {
        if (!value.is_tensor()) return only_shapes_;
        if (!only_shapes_ && type.dtype.valid() && value.dtype() != type.dtype) return false;
        if (!type.has_rank) return true;
        ShapeView shape = value.shape();
        if (shape.size() != type.dims.size()) return only_shapes_;
        for (size_t i = 0; i < shape.size(); ++i) {
          if (!dim(type.dims[i], shape[i])) return false;
        }
        return true;
      }
      case TypeInfo::Kind::kTuple: {
        if (!value.is_tuple() || value.fields().size() != type.fields.size()) return only_shapes_;
        for (size_t i = 0; i < type.fields.size(); ++i) {
          if (!fits(type.fields[i], value.field(i))) return false;
        }
        return true;
      }
      case TypeInfo::Kind::kData:
        return only_shapes_ ||
               (value.is_data() && value.constructor()->type_name.view() == type.name);
      case TypeInfo::Kind::kFunction:
        return only_shapes_ || value.is_closure();
      case TypeInfo::Kind::kReference:
        return only_shapes_ || value.is_reference();
    }
    return false;
  }

  bool dim(const TypeInfo::Dim& dim, int64_t extent) {
    switch (dim.kind) {
      case TypeInfo::Dim::Kind::kAny:
        return true;
      case TypeInfo::Dim::Kind::kInt:
        return dim.value == extent;
      case TypeInfo::Dim::Kind::kSymbol: {
        std::optional<int64_t>& known = symbols_[static_cast<size_t>(dim.value)];
        if (!known) {
          known = extent;
          makers_[static_cast<size_t>(dim.value)] = part_;
        }
        if (*known == extent) return true;
        add_name(static_cast<size_t>(dim.value));
        return false;
      }
      case TypeInfo::Dim::Kind::kLinear:
        has_terms_ = true;
        return !second_ || linear(dim, extent);
      case TypeInfo::Dim::Kind::kTerm: {
        has_terms_ = true;
        if (!second_) return true;
        Unknowns slots(check_.terms.size());
        for (size_t i = 0; i < check_.terms.size(); ++i) {
          const DimInstruction& at = check_.terms[i];
          int64_t result = 0;
          if (at.code == DimCode::kConst) {
            slots[i] = at.value;
          } else if (at.code == DimCode::kSymbol) {
            slots[i] = symbols_[at.a];
          } else if (slots[at.a] && slots[at.b] &&
                     compute_dim(at.code, *slots[at.a], *slots[at.b], result) == nullptr) {
            slots[i] = result;
          }
        }
        auto slot = static_cast<size_t>(dim.value);
        if (!slots[slot] || *slots[slot] == extent) return true;
        std::vector<size_t> names;
        add_names_of(slot, names);
        for (size_t symbol : names) add_name(symbol);
        return false;
      }
    }
    return false;
  }

  // constant + sum of coefficient * name, of which one may be told by this.
  bool linear(const TypeInfo::Dim& dim, int64_t extent) {
    __int128 rest = static_cast<__int128>(extent) - dim.value;
    const TypeInfo::Dim::Part* unknown = nullptr;
    for (const TypeInfo::Dim::Part& part : dim.parts) {
      if (const std::optional<int64_t>& known = symbols_[part.symbol]) {
        rest -= static_cast<__int128>(*known) * part.coefficient;
      } else if (unknown == nullptr) {
        unknown = &part;
      } else {
        return true;
      }
    }
    bool right = rest == 0;
    if (unknown != nullptr) {
      __int128 value = rest / unknown->coefficient;
      right = rest % unknown->coefficient == 0 && value >= 0 && value <= INT64_MAX;
      if (right) {
        symbols_[unknown->symbol] = static_cast<int64_t>(value);
        makers_[unknown->symbol] = part_;
        told_ = true;
      }
    }
    if (right) return true;
    for (const TypeInfo::Dim::Part& part : dim.parts) {
      if (symbols_[part.symbol]) add_name(part.symbol);
    }
    return false;
  }

  void add_name(size_t symbol) {
    mismatch_.names.push_back({check_.symbols[symbol] + " = " + std::to_string(*symbols_[symbol]),
                               static_cast<size_t>(*makers_[symbol])});
  }

  void add_names_of(size_t slot, std::vector<size_t>& names) const {
    std::vector<size_t> todo{slot};
    std::vector<bool> seen(slot + 1);  // operands come before
    while (!todo.empty()) {
      size_t next = todo.back();
      todo.pop_back();
      if (seen[next]) continue;
      seen[next] = true;
      const DimInstruction& at = check_.terms[next];
      if (at.code == DimCode::kConst) continue;
      if (at.code == DimCode::kSymbol) {
        if (std::find(names.begin(), names.end(), at.a) == names.end()) names.push_back(at.a);
        continue;
      }
      todo.push_back(at.b);
      todo.push_back(at.a);
    }
  }

  const TypeCheck& check_;
  const bool only_shapes_;
  TypeMismatch& mismatch_;
  Unknowns symbols_;
  Unknowns makers_;  // the part that told a symbol
  size_t part_ = 0;
  bool has_terms_ = false;
  bool told_ = false;
  bool second_ = false;
  // Cells and fields with the types that they were compared with.
  struct VisitHash {
    size_t operator()(const std::pair<const void*, const void*>& visit) const {
      return std::hash<const void*>()(visit.first) * 31 + std::hash<const void*>()(visit.second);
    }
  };
  std::unordered_set<std::pair<const void*, const void*>, VisitHash> visited_;
};

void append_type(std::string& out, const Value& value, int depth) {
  constexpr int kDeepest = 16;
  switch (value.kind()) {
    case Value::Kind::kScalar:
      out += value.dtype().name();
      return;
    case Value::Kind::kTensor: {
      out += "Tensor[";
      out += '(';
      for (size_t i = 0; i < value.shape().size(); ++i) {
        if (i > 0) out += ", ";
        out += std::to_string(value.shape()[i]);
      }
      out += ')';
      out += ", ";
      out += value.dtype().name();
      out += ']';
      return;
    }
    case Value::Kind::kTuple: {
      if (depth == kDeepest) {
        out += "(…)";
        return;
      }
      out += '(';
      auto fields = value.fields();
      for (size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) out += ", ";
        append_type(out, fields[i], depth + 1);
      }
      out += fields.size() == 1 ? ",)" : ")";
      return;
    }
    case Value::Kind::kData:
      out += value.constructor()->type_name.view();
      return;
    default:
      out += kind_name(value.kind());
  }
}

}  // namespace

bool fits(const TypeCheck& check, std::span<const Value* const> values, bool only_shapes,
          TypeMismatch& mismatch) {
  return Checker(check, only_shapes, mismatch).run(values);
}

Diagnostic mismatch_error(const Executable& executable, const TypeCheck& check,
                          const TypeMismatch& mismatch,
                          const std::function<std::string(const TypeCheck::Part&)>& what,
                          std::vector<std::shared_ptr<const Source>>& sources) {
  const TypeCheck::Part& part = check.parts[mismatch.part];
  std::string where;
  for (const TypeMismatch::Name& name : mismatch.names) {
    where += (where.empty() ? " where " : ", ") + name.value;
  }
  Diagnostic diagnostic = Diagnostic::error(
      what(part) + ": expected " + mismatch.expected + where + ", found " + mismatch.found,
      position_span(executable, part.position, sources));
  for (const TypeMismatch::Name& name : mismatch.names) {
    const TypeCheck::Part& maker = check.parts[name.part];
    diagnostic.note(name.value + " by " + what(maker),
                    position_span(executable, maker.position, sources));
  }
  return diagnostic;
}

std::string value_type_text(const Value& value) {
  std::string text;
  append_type(text, value, 0);
  return text;
}

}  // namespace relay::vm
