// Values for programs that change, and the comparison of results.
#include <algorithm>
#include <cmath>
#include <utility>

#include <relay/infer/infer.h>
#include <relay/reduce/draft.h>
#include <relay/reduce/predicates.h>
#include <relay/runtime/format.h>
#include <relay/support/hash.h>

namespace relay::reduce {

namespace {

// Small numbers that follow from `seed`: floats are multiples of 1/8 from -2 to 2, integers are
// from 0 to 4, so that most are indices too.
NDArray small_numbers(ShapeView shape, DType dtype, uint64_t seed) {
  NDArray numbers = NDArray::empty(shape, kFloat64);
  for (int64_t i = 0; i < numbers.size(); ++i) {
    uint64_t random = hash_combine(seed, static_cast<uint64_t>(i)) >> 16;
    double number = dtype.is_float()  ? static_cast<double>(random % 33) / 8 - 2
                    : dtype.is_bool() ? static_cast<double>(random % 2)
                                      : static_cast<double>(random % 5);
    numbers.data<double>()[i] = number;
  }
  return numbers.cast(dtype);
}

uint64_t text_hash(const std::string& text) {
  uint64_t hash = 0;
  for (char c : text)
    hash = hash_combine(hash, static_cast<uint64_t>(static_cast<unsigned char>(c)));
  return hash;
}

// Types nest no deeper than Type::kMaxDepth. Nothing if a type is not a tensor or a tuple of
// tensors, or if an extent is open and no value was given.
Value value_of(const Type* type, const Value& given, uint64_t seed) {
  if (type == nullptr) return given;
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<Value> fields;
    for (size_t i = 0; i < tuple->fields().size(); ++i) {
      bool has = given.is_tuple() && i < given.fields().size();
      fields.push_back(value_of(tuple->fields()[i].get(), has ? given.field(i) : Value(),
                                hash_combine(seed, i)));
      if (!fields.back()) return {};
    }
    return Value::tuple(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) return {};
  if (!tensor->has_rank() || !tensor->has_dtype()) return given.is_tensor() ? given : Value();
  Shape shape;
  for (size_t i = 0; i < tensor->dims().size(); ++i) {
    Dim dim = tensor->dims()[i];
    bool same_rank = given.is_tensor() && given.shape().size() == tensor->dims().size();
    // An open extent is the given one; else 2, for all names alike.
    shape.push_back(dim.is_int() ? dim.as_int() : same_rank ? given.shape()[i] : 2);
  }
  if (element_count(shape) > (int64_t{1} << 28)) return {};
  if (!given.is_tensor() || given.array().size() == 0)
    return Value(small_numbers(shape, tensor->dtype(), seed));
  return Value(fitted(given.array(), shape, tensor->dtype()));
}

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
  TypeRef signature = function_signature(module, arguments.entry);
  const auto* type = signature ? signature->as<FuncType>() : nullptr;
  std::vector<Value> values;
  for (size_t i = 0; i < function->params().size(); ++i) {
    std::string name = function->params()[i]->name().str();
    auto given = arguments.given.find(name);
    const Type* wanted =
        type != nullptr && i < type->params().size() ? type->params()[i].get() : nullptr;
    values.push_back(value_of(wanted, given == arguments.given.end() ? Value() : given->second,
                              hash_combine(arguments.seed, text_hash(name))));
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
