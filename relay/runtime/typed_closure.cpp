#include <relay/runtime/typed_closure.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <relay/support/error.h>

namespace relay {

namespace {

using Kind = TypeInfo::Kind;

const DataInfo* data_of(const TypeCheck& check, const TypeInfo& type) {
  return type.data < check.data.size() ? &check.data[type.data] : nullptr;
}

// Types of whose values functions may be a part. A type nests no deeper than Type::kMaxDepth.
class FunctionFinder {
 public:
  explicit FunctionFinder(const TypeCheck& check) : check_(check) {}

  bool holds(const TypeInfo& type) {
    switch (type.kind) {
      case Kind::kFunction:
        return true;
      case Kind::kTuple:
      case Kind::kReference:
        return any(type.fields);
      case Kind::kData:
        find();
        return type.data < data_.size() && data_[type.data];
      default:
        return false;
    }
  }

 private:
  bool any(const std::vector<TypeInfo>& types) {
    return std::any_of(types.begin(), types.end(),
                       [&](const TypeInfo& type) { return holds(type); });
  }

  // Recursive types: again until nothing is new.
  void find() {
    if (!data_.empty()) return;
    data_.resize(check_.data.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < data_.size(); ++i) {
        const auto& constructors = check_.data[i].constructors;
        if (data_[i] || std::none_of(constructors.begin(), constructors.end(),
                                     [&](const auto& each) { return any(each.fields); }))
          continue;
        data_[i] = changed = true;
      }
    }
  }

  const TypeCheck& check_;
  std::vector<bool> data_;
};

// Copies values that hold functions, with their types, without recursion. References stay the same
// cells: their contents are replaced.
class Leaving {
 public:
  Leaving(const KnownType& whole, FunctionFinder& finder) : whole_(whole), finder_(finder) {}

  Value run(const Value& value) {
    Value result = copy(value, *whole_.type);
    while (!cells_.empty()) {
      auto [cell, type] = std::move(cells_.back());
      cells_.pop_back();
      cell.set(copy(cell.get(), *type));
    }
    return result;
  }

 private:
  struct Step {
    const Value* value;
    const TypeInfo* type;
    bool fields_done = false;
  };
  using Key = std::pair<const void*, const TypeInfo*>;

  Value copy(const Value& whole, const TypeInfo& whole_type) {
    std::vector<Step> steps{{&whole, &whole_type}};
    std::vector<Value> done;
    while (!steps.empty()) {
      Step& step = steps.back();
      const Value& value = *step.value;
      const std::vector<TypeInfo>* types =
          finder_.holds(*step.type) ? field_types(*whole_.check, *step.type, value) : nullptr;
      if (types == nullptr || types->empty()) {
        done.push_back(leaf(value, *step.type));
        steps.pop_back();
        continue;
      }
      Key key{value.fields().data(), step.type};
      if (auto known = copies_.find(key); known != copies_.end()) {
        done.push_back(known->second);
        steps.pop_back();
      } else if (step.fields_done) {
        std::span<Value> fields(done.data() + (done.size() - types->size()), types->size());
        Value made =
            value.is_tuple() ? Value::tuple(fields) : Value::data(value.constructor(), fields);
        done.resize(done.size() - types->size());
        copies_.emplace(key, made);
        originals_.push_back(value);
        done.push_back(std::move(made));
        steps.pop_back();
      } else {
        step.fields_done = true;
        for (size_t i = types->size(); i-- > 0;) steps.push_back({&value.field(i), &(*types)[i]});
      }
    }
    return std::move(done.back());
  }

  Value leaf(const Value& value, const TypeInfo& type) {
    if (type.kind == Kind::kFunction && !type.fields.empty() && value.is_closure()) {
      if (auto* closure = dynamic_cast<TypedClosure*>(value.closure()))
        return Value::closure(closure->with_type(whole_.part(type)));
    }
    if (type.kind == Kind::kReference && !type.fields.empty() && value.is_reference() &&
        finder_.holds(type) && visited_.emplace(&value.get(), &type).second)
      cells_.emplace_back(value, &type.fields[0]);
    return value;
  }

  const KnownType& whole_;
  FunctionFinder& finder_;
  std::map<Key, Value> copies_;
  std::vector<Value> originals_;  // keeps the addresses in copies_ taken
  std::set<Key> visited_;
  std::vector<std::pair<Value, const TypeInfo*>> cells_;
};

// Pairs of types that must all agree, without recursion: data types refer to themselves.
class Comparison {
 public:
  bool run(const TypeCheck& check, const TypeInfo& type, const TypeCheck& wanted_check,
           const TypeInfo& wanted) {
    push({&check, &type}, {&wanted_check, &wanted});
    while (!stack_.empty()) {
      auto [given, asked] = stack_.back();
      stack_.pop_back();
      if (!agree(given, asked)) return false;
    }
    return true;
  }

 private:
  struct Side {
    const TypeCheck* check;
    const TypeInfo* type;
    Side part(const TypeInfo& of) const { return {check, &of}; }
  };

  void push(Side given, Side asked) { stack_.emplace_back(given, asked); }

  bool push_all(const Side& given, const std::vector<TypeInfo>& fields, const Side& asked,
                const std::vector<TypeInfo>& asked_fields) {
    if (fields.size() != asked_fields.size()) return false;
    for (size_t i = fields.size(); i-- > 0;)
      push(given.part(fields[i]), asked.part(asked_fields[i]));
    return true;
  }

  bool agree(const Side& given, const Side& asked) {
    const TypeInfo& type = *given.type;
    const TypeInfo& wanted = *asked.type;
    if (wanted.kind == Kind::kAny) return true;  // nothing looks at it
    if (type.kind != wanted.kind) return false;
    switch (type.kind) {
      case Kind::kAny:
        return true;
      case Kind::kTensor:
        return tensors(type, wanted);
      case Kind::kTuple:
        return push_all(given, type.fields, asked, wanted.fields);
      case Kind::kData:
        return data(given, asked);
      case Kind::kFunction: {
        if (wanted.fields.empty()) return true;
        if (type.fields.size() != wanted.fields.size()) return false;
        size_t params = type.fields.size() - 1;
        push(given.part(type.fields[params]), asked.part(wanted.fields[params]));
        for (size_t i = params; i-- > 0;)
          push(asked.part(wanted.fields[i]), given.part(type.fields[i]));
        return true;
      }
      case Kind::kReference:
        // A reference is read and written, so its type must fit in both directions.
        if (type.fields.size() != 1 || wanted.fields.size() != 1) return false;
        push(given.part(type.fields[0]), asked.part(wanted.fields[0]));
        push(asked.part(wanted.fields[0]), given.part(type.fields[0]));
        return true;
    }
    return false;
  }

  // Dimensions that are not numbers are compared when the tensors exist.
  static bool tensors(const TypeInfo& type, const TypeInfo& wanted) {
    if (wanted.dtype.valid() && type.dtype != wanted.dtype) return false;
    if (!wanted.has_rank) return true;
    if (!type.has_rank || type.dims.size() != wanted.dims.size()) return false;
    for (size_t i = 0; i < type.dims.size(); ++i) {
      const TypeInfo::Dim &a = type.dims[i], &b = wanted.dims[i];
      if (a.kind == TypeInfo::Dim::Kind::kInt && b.kind == TypeInfo::Dim::Kind::kInt &&
          a.value != b.value)
        return false;
    }
    return true;
  }

  bool data(const Side& given, const Side& asked) {
    if (given.type->name != asked.type->name) return false;
    const DataInfo* own = data_of(*given.check, *given.type);
    const DataInfo* wanted = data_of(*asked.check, *asked.type);
    if (own == wanted && own != nullptr) return true;
    // Types too large to be known may be different ones.
    if (own == nullptr || wanted == nullptr || own->constructors.empty() ||
        own->constructors.size() != wanted->constructors.size())
      return false;
    if (!compared_.emplace(own, wanted).second) return true;
    for (size_t i = 0; i < own->constructors.size(); ++i) {
      const DataInfo::Constructor& made = own->constructors[i];
      const DataInfo::Constructor& other = wanted->constructors[i];
      if (made.name != other.name || !push_all(given, made.fields, asked, other.fields))
        return false;
    }
    return true;
  }

  std::vector<std::pair<Side, Side>> stack_;
  std::set<std::pair<const DataInfo*, const DataInfo*>> compared_;
};

// A cell that anything may be put into would take what its other users do not expect.
bool writes_anything(const TypeInfo& type) {
  if (type.kind == Kind::kReference)
    return type.fields.empty() || type.fields[0].kind == Kind::kAny ||
           writes_anything(type.fields[0]);
  return std::any_of(type.fields.begin(), type.fields.end(), writes_anything);
}

}  // namespace

const std::vector<TypeInfo>* field_types(const TypeCheck& check, const TypeInfo& type,
                                         const Value& value) {
  const std::vector<TypeInfo>* types = nullptr;
  if (type.kind == Kind::kTuple && value.is_tuple()) {
    types = &type.fields;
  } else if (type.kind == Kind::kData && value.is_data()) {
    const DataInfo* data = data_of(check, type);
    auto tag = static_cast<size_t>(value.tag());
    if (data != nullptr && tag < data->constructors.size()) types = &data->constructors[tag].fields;
  }
  return types != nullptr && types->size() == value.fields().size() ? types : nullptr;
}

Value leave_program(Value value, const KnownType& type) {
  if (!type) return value;
  FunctionFinder finder(*type.check);
  return finder.holds(*type.type) ? Leaving(type, finder).run(value) : value;
}

bool is_usable_as(const TypeCheck& check, const TypeInfo& type, const TypeCheck& wanted_check,
                  const TypeInfo& wanted) {
  return Comparison().run(check, type, wanted_check, wanted);
}

std::string type_text(const TypeCheck& check, const TypeInfo& type) {
  auto list = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += (i > 0 ? ", " : "") + type_text(check, type.fields[i]);
    return text;
  };
  switch (type.kind) {
    case Kind::kAny:
      return "_";
    case Kind::kTensor:
      return tensor_type_text(type);
    case Kind::kTuple:
      return "(" + list(type.fields.size()) + (type.fields.size() == 1 ? ",)" : ")");
    case Kind::kData: {
      const DataInfo* data = data_of(check, type);
      return data == nullptr || data->text.empty() ? type.name : data->text;
    }
    case Kind::kFunction:
      if (type.fields.empty()) return "a function";
      return "fn (" + list(type.fields.size() - 1) + ") -> " + type_text(check, type.fields.back());
    case Kind::kReference:
      return "ref(" + (type.fields.empty() ? "_" : list(1)) + ")";
  }
  return "_";
}

KnownType check_closure_call(const Value& value, std::span<const Value> arguments) {
  if (!value.is_closure()) throw Error(std::string("cannot call ") + kind_name(value.kind()));
  const auto* closure = dynamic_cast<const TypedClosure*>(value.closure());
  if (closure == nullptr || !closure->type()) {
    throw Error((closure == nullptr ? "a function" : closure->name()) +
                " cannot be called from outside of its program: its type is not known");
  }
  const KnownType& known = closure->type();
  const std::vector<TypeInfo>& types = known.type->fields;
  size_t count = types.size() - 1;
  if (arguments.size() != count) {
    throw Error(closure->name() + " takes " + std::to_string(count) +
                (count == 1 ? " argument" : " arguments") + ", found " +
                std::to_string(arguments.size()));
  }
  TypeCheck told;
  std::vector<const Value*> values;
  for (size_t i = 0; i < count; ++i) {
    if (writes_anything(types[i])) {
      throw Error(closure->name() + " cannot be called from outside of its program: argument " +
                  std::to_string(i + 1) + " may be of any type of the form " +
                  type_text(*known.check, types[i]));
    }
    TypeCheck::Part& part = told.parts.emplace_back();
    part.type = types[i];
    part.inside = true;
    values.push_back(&arguments[i]);
  }
  auto fit = [&](TypeMismatch& mismatch) {
    return fits(*known.check, told.parts, values, false, mismatch);
  };
  TypeMismatch mismatch;
  if (fit(mismatch)) return known;
  for (size_t i = 0; i < count; ++i) {
    told.parts[i].text = type_text(*known.check, types[i]);
    told.parts[i].what = "argument " + std::to_string(i + 1) + " of " + closure->name();
  }
  mismatch = {};
  fit(mismatch);
  throw Error(mismatch_error(told, mismatch, [](const TypeCheck::Part&) { return Span(); }));
}

}  // namespace relay
