// Values for programs that change, and the comparison of results.
#include <algorithm>
#include <cmath>
#include <utility>

#include <relay/infer/runtime/type_checks.h>
#include <relay/reduce/draft.h>
#include <relay/reduce/predicates.h>
#include <relay/runtime/format.h>
#include <relay/runtime/made_up.h>
#include <relay/support/hash.h>

namespace relay::reduce {

namespace {

uint64_t text_hash(const std::string& text) {
  uint64_t hash = 0;
  for (char c : text)
    hash = hash_combine(hash, static_cast<uint64_t>(static_cast<unsigned char>(c)));
  return hash;
}

// Makes the values of one call.
class Maker {
 public:
  explicit Maker(const TypeCheck& check) : check_(check), extents_(check) {}
  Extents& extents() { return extents_; }

  // A given value, cut and converted to the type, or one that is made up. Nothing if a tensor is
  // too large, and for types that have no known values unless one is given. Types nest no deeper
  // than Type::kMaxDepth.
  Value value(const TypeInfo& type, const Value& given, uint64_t seed) {
    switch (type.kind) {
      case TypeInfo::Kind::kTuple: {
        std::vector<Value> fields;
        for (size_t i = 0; i < type.fields.size(); ++i) {
          const bool has = given.is_tuple() && i < given.fields().size();
          fields.push_back(
              value(type.fields[i], has ? given.field(i) : Value(), hash_combine(seed, i)));
          if (!fields.back()) return {};
        }
        return Value::tuple(std::move(fields));
      }
      case TypeInfo::Kind::kTensor:
        return tensor(type, given, seed);
      case TypeInfo::Kind::kData:
        if (given.is_data() && given.constructor()->type_name.view() == type.name) return given;
        break;
      case TypeInfo::Kind::kReference:
        if (given.is_reference()) return given;
        break;
      case TypeInfo::Kind::kAny:
      case TypeInfo::Kind::kFunction:
        return given;
    }
    return made_up(check_, type, extents_, seed);
  }

 private:
  Value tensor(const TypeInfo& type, const Value& given, uint64_t seed) {
    if (!type.has_rank || type.dtype == DType()) return given.is_tensor() ? given : Value();
    // An open extent is the given one.
    Shape shape = extents_.shape(type);
    const bool same_rank = given.is_tensor() && given.shape().size() == shape.size();
    for (size_t i = 0; same_rank && i < shape.size(); ++i) {
      if (type.dims[i].kind != TypeInfo::Dim::Kind::kInt) shape[i] = given.shape()[i];
    }
    if (element_count(shape) > (int64_t{1} << 28)) return {};
    if (!given.is_tensor() || given.array().size() == 0)
      return Value(small_numbers(shape, type.dtype, seed));
    return Value(fitted(given.array(), shape, type.dtype));
  }

  const TypeCheck& check_;
  Extents extents_;
};

void append_nested(std::string& out, const NDArray& array) {
  // Brackets open before an element that is the first of an axis, and close behind the last.
  int64_t size = array.size();
  for (int64_t i = 0; i < size; ++i) {
    int64_t inner = 1;
    std::string opened, closed;
    for (size_t axis = array.rank(); axis-- > 0;) {
      inner *= array.extent(axis);
      if (i % inner == 0) opened += '[';
      if ((i + 1) % inner == 0) closed += ']';
    }
    if (i > 0) out += ", ";
    out += opened;
    append_element(out, array.dtype(), array.element(i));
    out += closed;
  }
}

}  // namespace

std::optional<std::vector<Value>> arguments_for(const Module& module, const Arguments& arguments) {
  const Function* function = module.function(arguments.entry);
  if (function == nullptr) return std::nullopt;
  const TypeCheck check = argument_check(module, arguments.entry);
  Maker maker(check);
  auto given = [&](size_t i) {
    auto found = arguments.given.find(check.parts[i].what);
    return found == arguments.given.end() ? Value() : found->second;
  };
  for (size_t i = 0; i < check.parts.size(); ++i)
    maker.extents().learn(check.parts[i].type, given(i));
  std::vector<Value> values;
  for (size_t i = 0; i < check.parts.size(); ++i) {
    const uint64_t seed = hash_combine(arguments.seed, text_hash(check.parts[i].what));
    try {
      values.push_back(maker.value(check.parts[i].type, given(i), seed));
    } catch (const Error&) {
      return std::nullopt;
    }
    if (!values.back()) return std::nullopt;
  }
  return values;
}

std::string arguments_text(const Module& module, const Arguments& arguments) {
  constexpr int64_t kMostElements = 64;
  std::optional<std::vector<Value>> values = arguments_for(module, arguments);
  if (!values) return "";
  std::string text;
  const auto& params = module.function(arguments.entry)->params();
  for (size_t i = 0; i < params.size(); ++i) {
    const Value& value = (*values)[i];
    if (!value.is_tensor() || value.array().size() > kMostElements || value.array().size() == 0)
      return "";
    text += (i > 0 ? " --arg '" : "--arg '") + params[i]->name().str() + "=";
    append_nested(text, value.array());
    text += "'";
  }
  return text;
}

// ---- Results ----------------------------------------------------------------------------------

namespace {

std::string tensor_difference(const NDArray& a, const NDArray& b, const Comparison& comparison) {
  const bool floats = comparison.any_float && a.dtype().is_float() && b.dtype().is_float();
  if ((a.dtype() != b.dtype() && !floats) || shape_text(a.shape()) != shape_text(b.shape())) {
    return std::string(a.dtype().name()) + shape_text(a.shape()) + " for " +
           std::string(b.dtype().name()) + shape_text(b.shape());
  }
  bool real = a.dtype().is_float();
  if (!real && bit_equal(a, b)) return "";
  double largest = 1;
  for (int64_t i = 0; real && i < b.size(); ++i) {
    double value = std::abs(b.element_as_double(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  for (int64_t i = 0; i < a.size(); ++i) {
    double x = a.element_as_double(i), y = b.element_as_double(i);
    if (real) {
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (std::abs(x - y) <= comparison.tolerance * largest) continue;
    } else if (a.element_as_int64(i) == b.element_as_int64(i)) {
      continue;
    }
    std::string text = "element " + std::to_string(i) + " is ";
    append_element(text, a.dtype(), a.element(i));
    text += " for ";
    append_element(text, b.dtype(), b.element(i));
    return text;
  }
  return "";
}

}  // namespace

std::string difference(const Value& found, const Value& wanted, const Comparison& comparison) {
  std::vector<std::pair<Value, Value>> stack{{found, wanted}};
  constexpr size_t kMostParts = size_t{1} << 22;  // parts that values share are seen again
  for (size_t parts = 0; !stack.empty() && parts < kMostParts; ++parts) {
    auto [a, b] = std::move(stack.back());
    stack.pop_back();
    if (a.is_tensor() && b.is_tensor()) {
      std::string text = tensor_difference(a.array(), b.array(), comparison);
      if (!text.empty()) return text;
      continue;
    }
    if (a.kind() != b.kind()) return "values of different kinds";
    if (!a.is_tuple() && !a.is_data()) continue;
    if (a.is_data() && a.constructor() != b.constructor())
      return a.constructor()->name.str() + " for " + b.constructor()->name.str();
    if (a.fields().size() != b.fields().size()) return "another number of fields";
    for (size_t i = a.fields().size(); i-- > 0;) stack.emplace_back(a.field(i), b.field(i));
  }
  return "";
}

}  // namespace relay::reduce
