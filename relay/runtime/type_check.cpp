#include <relay/runtime/type_check.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

#include <relay/runtime/dim_equations.h>
#include <relay/runtime/typed_closure.h>

namespace relay {

namespace {

class Checker {
 public:
  Checker(const TypeCheck& check, std::span<const TypeCheck::Part> parts, bool only_shapes,
          TypeMismatch& mismatch)
      : check_(check),
        parts_(parts),
        only_shapes_(only_shapes),
        mismatch_(mismatch),
        equations_(check.terms, check.symbols.size()) {}

  bool run(std::span<const Value* const> values) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const TypeCheck::Part& part = parts_[i];
      part_ = i;
      if (part.inside ? walk(part, *values[i]) : fits(part.type, *values[i])) continue;
      return refuse(values);
    }
    // Terms over names, now that the names are known; they may tell further ones.
    if (equations_.empty()) return true;
    std::optional<DimEquations::Failure> failure = equations_.solve(check_.closed);
    if (!failure) return true;
    const Term& term = terms_[failure->teller];
    part_ = term.part;
    if (term.type != &parts_[part_].type && parts_[part_].inside) {
      mismatch_.expected = tensor_type_text(*term.type) + " in " + parts_[part_].text;
      mismatch_.found = value_type_text(*term.value);
    }
    explain(*failure, term.dim->text);
    return refuse(values);
  }

 private:
  /// A dimension that is compared with an extent as a term.
  struct Term {
    size_t part = 0;
    const TypeInfo* type = nullptr;
    const TypeInfo::Dim* dim = nullptr;
    const Value* value = nullptr;
  };

  bool refuse(std::span<const Value* const> values) {
    mismatch_.part = part_;
    if (mismatch_.found.empty()) {
      mismatch_.expected = parts_[part_].text;
      mismatch_.found = value_type_text(*values[part_]);
    }
    return false;
  }

  // Walks everything in a value, shared parts once.
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
      if (!only_shapes_ && !is_of_kind(*type, *value)) return false;
      switch (type->kind) {
        case TypeInfo::Kind::kTensor:
          if (fits(*type, *value)) break;
          if (type != &part.type) {
            mismatch_.expected = tensor_type_text(*type) + " in " + part.text;
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
          if (type->data == TypeInfo::kNoData || !value->is_data() || value->fields().empty())
            break;
          const DataInfo& data = check_.data[type->data];
          auto tag = static_cast<size_t>(value->tag());
          if (tag >= data.constructors.size()) break;
          if (!visited_.insert({value->fields().data(), &data}).second) break;
          push(data.constructors[tag].fields, value->fields());
          break;
        }
        default:
          break;
      }
    }
    return true;
  }

  // True if a value has the kind of its type, apart from its contents.
  bool is_of_kind(const TypeInfo& type, const Value& value) {
    bool right = true;
    switch (type.kind) {
      case TypeInfo::Kind::kAny:
      case TypeInfo::Kind::kTensor:
        return true;
      case TypeInfo::Kind::kTuple:
        right = value.is_tuple() && value.fields().size() == type.fields.size();
        break;
      case TypeInfo::Kind::kFunction:
        if (!value.is_closure()) {
          right = false;
        } else if (!is_function(type, value)) {
          return false;
        }
        break;
      case TypeInfo::Kind::kReference:
        right = value.is_reference();
        break;
      case TypeInfo::Kind::kData:
        right = value.is_data() && value.constructor()->type_name.view() == type.name;
        if (right && type.data != TypeInfo::kNoData) return has_constructor(type, value);
        break;
    }
    if (!right && mismatch_.why.empty()) mismatch_.why = "in it is " + value_type_text(value);
    return right;
  }

  // True if a closure may be called with this type.
  bool is_function(const TypeInfo& type, const Value& value) {
    if (type.fields.empty()) return true;
    const auto* closure = dynamic_cast<const TypedClosure*>(value.closure());
    const KnownType known = closure == nullptr ? KnownType() : closure->type();
    if (known && is_usable_as(*known.check, *known.type, check_, type)) return true;
    mismatch_.why = known ? "the function is of type " + type_text(*known.check, *known.type)
                          : "the type of the function is not known";
    return false;
  }

  bool has_constructor(const TypeInfo& type, const Value& value) {
    const auto& constructors = check_.data[type.data].constructors;
    const ConstructorInfo& made_by = *value.constructor();
    auto tag = static_cast<size_t>(value.tag());
    if (constructors.empty()) return true;
    if (tag < constructors.size() && constructors[tag].name == made_by.name.view() &&
        constructors[tag].fields.size() == made_by.arity)
      return true;
    mismatch_.why = "the value is of another type of that name: it has a constructor " +
                    made_by.name.str() + " with " + std::to_string(made_by.arity) +
                    (made_by.arity == 1 ? " field" : " fields") + " at place " +
                    std::to_string(tag);
    return false;
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
          if (!dim(type, type.dims[i], value, shape[i])) return false;
        }
        if (only_shapes_ || shape.empty() || value.device() == type.device) return true;
        mismatch_.wrong = wrong_device_text(value.device(), type.device);
        return false;
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
        return only_shapes_ || (value.is_closure() && is_function(type, value));
      case TypeInfo::Kind::kReference:
        return only_shapes_ || value.is_reference();
    }
    return false;
  }

  bool dim(const TypeInfo& type, const TypeInfo::Dim& dim, const Value& value, int64_t extent) {
    switch (dim.kind) {
      case TypeInfo::Dim::Kind::kAny:
        return true;
      case TypeInfo::Dim::Kind::kInt:
        return dim.value == extent;
      case TypeInfo::Dim::Kind::kSymbol: {
        auto name = static_cast<size_t>(dim.value);
        std::optional<int64_t> known = equations_.value(name);
        if (!known) {
          // Told by a whole dimension: the tellers of terms are numbers of `terms_`.
          terms_.push_back({part_, &type, &dim, &value});
          equations_.tell(name, extent, terms_.size() - 1);
        } else if (*known != extent) {
          add_name(name);
          return false;
        }
        return true;
      }
      case TypeInfo::Dim::Kind::kTerm:
        if (equations_.add(static_cast<uint32_t>(dim.value), extent, terms_.size()))
          terms_.push_back({part_, &type, &dim, &value});
        return true;
    }
    return false;
  }

  void add_name(size_t name) {
    mismatch_.names.push_back(
        {check_.symbols[name] + " = " + std::to_string(*equations_.value(name)),
         terms_[equations_.teller(name)].part});
  }

  void explain(const DimEquations::Failure& failure, const std::string& term) {
    using Why = DimEquations::Failure::Why;
    std::string open;  // the names that are not known
    size_t unknowns = 0;
    for (size_t name : equations_.names_of(failure.slot)) {
      if (equations_.value(name)) {
        add_name(name);
      } else {
        open += (unknowns++ == 0 ? "" : ", ") + check_.symbols[name];
      }
    }
    std::string extent = std::to_string(failure.extent);
    switch (failure.why) {
      case Why::kDiffers:
        mismatch_.why = term + " is " + std::to_string(failure.value) + ", not " + extent;
        if (failure.value < 0) mismatch_.why += ": no dimension is below 0";
        break;
      case Why::kNoValue:
        mismatch_.why = term + " has no value: " + failure.wrong;
        break;
      case Why::kUnsolved:
        mismatch_.why = "no whole number ≥ 0 makes " + term + " equal to " + extent;
        if (unknowns != 0)
          mismatch_.why = std::string("no whole ") + (unknowns == 1 ? "number " : "numbers ") +
                          open + " ≥ 0 " + (unknowns == 1 ? "makes " : "make ") + term +
                          " equal to " + extent;
        break;
      case Why::kUntold:
        mismatch_.wrong = open + " cannot be determined from the arguments: " + term + " = " +
                          extent + " is not enough";
        mismatch_.help = "a parameter with the name alone as a dimension determines it";
        break;
    }
  }

  const TypeCheck& check_;
  const std::span<const TypeCheck::Part> parts_;
  const bool only_shapes_;
  TypeMismatch& mismatch_;
  DimEquations equations_;
  ShortList<Term, 16> terms_;  // by the number of a teller
  size_t part_ = 0;
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
    case Value::Kind::kClosure:
      if (const auto* closure = dynamic_cast<const TypedClosure*>(value.closure());
          closure != nullptr && closure->type()) {
        out += type_text(*closure->type().check, *closure->type().type);
        return;
      }
      [[fallthrough]];
    default:
      out += kind_name(value.kind());
  }
}

}  // namespace

bool fits(const TypeCheck& check, std::span<const Value* const> values, bool only_shapes,
          TypeMismatch& mismatch) {
  return fits(check, check.parts, values, only_shapes, mismatch);
}

bool fits(const TypeCheck& check, std::span<const TypeCheck::Part> parts,
          std::span<const Value* const> values, bool only_shapes, TypeMismatch& mismatch) {
  return Checker(check, parts, only_shapes, mismatch).run(values);
}

namespace {
using Text = std::function<std::string(size_t part)>;

Diagnostic error_of(const TypeCheck& check, const TypeMismatch& mismatch, const Text& what,
                    const Text& maker, const std::function<Span(const TypeCheck::Part&)>& place) {
  std::string where;
  for (const TypeMismatch::Name& name : mismatch.names) {
    where += (where.empty() ? " where " : ", ") + name.value;
  }
  std::string wrong = mismatch.wrong;
  if (wrong.empty()) wrong = "expected " + mismatch.expected + where + ", found " + mismatch.found;
  Diagnostic diagnostic =
      Diagnostic::error(what(mismatch.part) + ": " + wrong, place(check.parts[mismatch.part]));
  if (!mismatch.why.empty()) diagnostic.note(mismatch.why);
  for (const TypeMismatch::Name& name : mismatch.names)
    diagnostic.note(name.value + " by " + maker(name.part), place(check.parts[name.part]));
  if (!mismatch.help.empty()) diagnostic.help(mismatch.help);
  return diagnostic;
}
}  // namespace

Diagnostic mismatch_error(const TypeCheck& check, const TypeMismatch& mismatch,
                          const std::function<Span(const TypeCheck::Part&)>& place) {
  auto what = [&](size_t part) { return check.parts[part].what; };
  return error_of(check, mismatch, what, what, place);
}

Diagnostic argument_error(const TypeCheck& check, const TypeMismatch& mismatch,
                          const std::string& entry,
                          const std::function<Span(const TypeCheck::Part&)>& place) {
  auto name = [&](size_t part) { return "%" + check.parts[part].what; };
  return error_of(
      check, mismatch,
      [&](size_t part) {
        return "argument " + std::to_string(part + 1) + " of @" + entry + ", " + name(part);
      },
      [&](size_t part) { return name(part) + " of @" + entry; }, place);
}

std::string tensor_type_text(const TypeInfo& type) {
  std::string dtype = type.dtype.valid() ? std::string(type.dtype.name()) : type.name;
  if (type.has_rank && type.dims.empty()) return dtype;
  std::string text = type.has_rank ? "Tensor[(" : "Tensor[_";
  for (size_t i = 0; i < type.dims.size(); ++i) text += (i > 0 ? ", " : "") + type.dims[i].text;
  return text + (type.has_rank ? "), " : ", ") + dtype + "]";
}

std::string value_type_text(const Value& value) {
  std::string text;
  append_type(text, value, 0);
  return text;
}

}  // namespace relay
