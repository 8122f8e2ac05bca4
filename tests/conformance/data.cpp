#include <tests/conformance/data.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <regex>
#include <set>

#include <relay/op/op.h>
#include <relay/support/error.h>

namespace relay::conformance {

std::vector<Json> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("cannot read " + path);
  std::vector<Json> result;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty()) result.push_back(Json::parse(line));
  }
  return result;
}

namespace {

double number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

NDArray read_array(const Json& json) {
  std::vector<int64_t> shape = json.at("shape").get<std::vector<int64_t>>();
  DType dtype = *DType::parse(json.at("dtype").get<std::string>());
  NDArray array = NDArray::empty(shape, dtype);
  const Json& values = json.at("values");
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = array.template data<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, Bool>) {
        out[i] = Bool(number(values[i]) != 0);
      } else if constexpr (std::is_integral_v<T>) {
        out[i] = values[i].is_number_unsigned() ? static_cast<T>(values[i].get<uint64_t>())
                                                : static_cast<T>(values[i].get<int64_t>());
      } else {
        out[i] = static_cast<T>(number(values[i]));
      }
    }
  });
  return array;
}

std::vector<NDArray> flatten(const Value& value) {
  if (!value.is_tuple()) return {value.array()};
  std::vector<NDArray> result;
  for (const Value& field : value.fields()) {
    for (NDArray& array : flatten(field)) result.push_back(std::move(array));
  }
  return result;
}

std::optional<std::string> difference(const NDArray& found, const NDArray& wanted,
                                      double tolerance) {
  if (found.dtype() != wanted.dtype()) {
    return "dtype " + std::string(found.dtype().name()) + " for " +
           std::string(wanted.dtype().name());
  }
  if (!std::equal(found.shape().begin(), found.shape().end(), wanted.shape().begin(),
                  wanted.shape().end())) {
    return "shape " + shape_text(found.shape()) + " for " + shape_text(wanted.shape());
  }
  NDArray a = found.contiguous();
  NDArray b = wanted.contiguous();
  return dispatch(a.dtype(), [&](auto tag) -> std::optional<std::string> {
    using T = typename decltype(tag)::type;
    const T* x = a.template data<T>();
    const T* y = b.template data<T>();
    for (int64_t i = 0; i < element_count(a.shape()); ++i) {
      bool equal;
      std::string text;
      if constexpr (std::is_same_v<T, Bool> || std::is_integral_v<T>) {
        ComputeType<T> p = x[i];
        ComputeType<T> q = y[i];
        double distance = std::abs(static_cast<double>(p) - static_cast<double>(q));
        equal = p == q || (tolerance > 0 &&
                           distance <= tolerance * std::max(1.0, std::abs(static_cast<double>(q))));
        text = std::to_string(p) + " for " + std::to_string(q);
      } else {
        auto p = static_cast<double>(static_cast<ComputeType<T>>(x[i]));
        auto q = static_cast<double>(static_cast<ComputeType<T>>(y[i]));
        equal = p == q || (std::isnan(p) && std::isnan(q)) ||
                std::abs(p - q) <= tolerance * std::max(1.0, std::abs(q));
        text = std::to_string(p) + " for " + std::to_string(q);
      }
      if (!equal) return "element " + std::to_string(i) + " is " + text;
    }
    return std::nullopt;
  });
}

std::optional<std::string> undeclared_operator(const std::string& program) {
  static const std::set<std::string> words = {
      "fn", "if", "let", "match", "ref", "free_var", "def", "ref_read", "ref_write", "type", "meta",
      "Tensor",
      // Names that cases use as operators that do not exist.
      "no_such_operator", "nn.frobnicate", "main"};
  static const std::regex call(R"((^|[^%@\w."])([a-z_][\w]*(\.[a-zA-Z_]\w*)*)\s*(?=\())");
  std::string text = program.substr(0, program.find("#[metadata]"));
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    std::string name = (*it)[2];
    if (words.count(name) > 0 || find_op(name) != nullptr) continue;
    return name;
  }
  return std::nullopt;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool type_agrees(const Type* ours, const Type* recorded) {
  if (types_equal(ours, recorded)) return true;
  if (ours->tag() != recorded->tag()) return false;
  if (const auto* a = ours->as<TensorType>()) {
    const auto* b = recorded->as<TensorType>();
    if (a->dtype_type() != b->dtype_type() || !a->has_rank() || !b->has_rank()) return false;
    if (a->dims().size() != b->dims().size()) return false;
    for (size_t i = 0; i < a->dims().size(); ++i) {
      if (a->dims()[i] != b->dims()[i] && !b->dims()[i].is_any()) return false;
    }
    return true;
  }
  if (const auto* a = ours->as<TupleType>()) {
    const auto* b = recorded->as<TupleType>();
    if (a->fields().size() != b->fields().size()) return false;
    for (size_t i = 0; i < a->fields().size(); ++i) {
      if (!type_agrees(a->fields()[i].get(), b->fields()[i].get())) return false;
    }
    return true;
  }
  if (const auto* a = ours->as<FuncType>()) {
    const auto* b = recorded->as<FuncType>();
    if (a->params().size() != b->params().size()) return false;
    for (size_t i = 0; i < a->params().size(); ++i) {
      if (!type_agrees(a->params()[i].get(), b->params()[i].get())) return false;
    }
    return type_agrees(a->result().get(), b->result().get());
  }
  return false;
}

}  // namespace relay::conformance
