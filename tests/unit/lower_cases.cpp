#include <tests/unit/lower_cases.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include <nlohmann/json.hpp>

#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>

#include <tests/unit/test_paths.h>

namespace relay::testing {
namespace {

NDArray read_array(const nlohmann::json& json) {
  std::vector<int64_t> shape = json.at("shape");
  DType dtype = DType::parse(json.at("dtype").get<std::string>()).value();
  NDArray array = NDArray::empty(shape, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = array.data<T>();
    for (const auto& value : json.at("values")) {
      if (value.is_string()) {
        *data++ = convert_element<T>(std::stod(value.get<std::string>()));
      } else if (value.is_boolean()) {
        *data++ = convert_element<T>(int64_t{value.get<bool>()});
      } else if (value.is_number_unsigned()) {
        *data++ = convert_element<T>(static_cast<int64_t>(value.get<uint64_t>()));
      } else if (value.is_number_integer()) {
        *data++ = convert_element<T>(value.get<int64_t>());
      } else {
        *data++ = convert_element<T>(value.get<double>());
      }
    }
  });
  return array;
}

bool is_dataflow(const Function& function) {
  bool plain = true;
  post_order(function.body().get(), [&](const Expr* expr) {
    switch (expr->kind()) {
      case ExprKind::kVar:
      case ExprKind::kConstant:
      case ExprKind::kTuple:
      case ExprKind::kTupleGetItem:
      case ExprKind::kLet:
      case ExprKind::kOp:
        break;
      case ExprKind::kCall:
        plain &= expr->as<Call>()->callee()->is<Op>();
        break;
      default:
        plain = false;
    }
  });
  return plain;
}

}  // namespace

TypeRef array_type(const NDArray& array) {
  std::vector<Dim> dims(array.shape().begin(), array.shape().end());
  return TensorType::make(dims, array.dtype());
}

FunctionRef main_function(const std::string& program, const std::vector<TypeRef>& types) {
  Module module = parse_module("case", program);
  infer_types_or_throw(module);
  return FunctionRef(specialize(module, "main", types).function("main"));
}

namespace {

void in_double(std::string& line) {
  const std::string from = "float32", to = "float64";
  for (size_t at = 0; (at = line.find(from, at)) != std::string::npos; at += to.size()) {
    line.replace(at, from.size(), to);
  }
}

std::vector<LowerCase> read_cases(const std::string& file, void (*edit)(std::string& line)) {
  std::ifstream in(source_dir() + "/tests/op/data/" + file + ".jsonl");
  std::vector<LowerCase> cases;
  for (std::string line; std::getline(in, line);) {
    if (edit != nullptr) edit(line);
    nlohmann::json json = nlohmann::json::parse(line);
    if (json.contains("error") || !json.contains("outputs")) continue;
    LowerCase one;
    one.name = json.at("name");
    for (const auto& input : json.at("inputs")) {
      one.inputs.push_back(read_array(input));
      one.types.push_back(array_type(one.inputs.back()));
    }
    try {
      one.function = main_function(json.at("program"), one.types);
    } catch (const Error&) {
      continue;  // rejected programs are the business of the operator_data test
    }
    if (is_dataflow(*one.function)) cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace

std::vector<LowerCase> lower_cases(const std::string& file) { return read_cases(file, nullptr); }
std::vector<LowerCase> lower_cases_in_double(const std::string& file) {
  return read_cases(file, in_double);
}

std::vector<std::string> lower_case_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/op/data")) {
    if (entry.path().extension() == ".jsonl") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t value_of(const Symbols& symbols, const TypeVar* symbol) {
  for (const auto& [extent, var] : symbols) {
    if (var.get() == symbol) return extent;
  }
  return -1;
}

std::vector<TypeRef> symbolic_types(const std::vector<NDArray>& inputs, Symbols& symbols) {
  std::vector<TypeRef> types;
  for (const NDArray& input : inputs) {
    std::vector<Dim> dims;
    for (int64_t extent : input.shape()) {
      if (extent < 2) {
        dims.emplace_back(extent);
        continue;
      }
      auto known = std::find_if(symbols.begin(), symbols.end(),
                                [&](const auto& s) { return s.first == extent; });
      if (known == symbols.end()) {
        symbols.emplace_back(extent, TypeVar::make("n" + std::to_string(extent), Kind::kShapeVar));
        known = symbols.end() - 1;
      }
      dims.push_back(Dim::symbol(known->second.get()));
    }
    types.push_back(TensorType::make(dims, input.dtype()));
  }
  return types;
}

std::string difference(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted,
                       const std::function<double(DType)>& tolerance) {
  if (found.size() != wanted.size()) return std::to_string(found.size()) + " results";
  for (size_t k = 0; k < found.size(); ++k) {
    TypeRef type = array_type(found[k]);
    if (type != array_type(wanted[k])) return "result " + std::to_string(k) + ": " + type->str();
    DType dtype = wanted[k].dtype();
    double limit = tolerance(dtype);
    for (int64_t i = 0; i < found[k].size(); ++i) {
      bool near = false;
      if (!dtype.is_float()) {
        near = found[k].element_as_int64(i) == wanted[k].element_as_int64(i);
      } else {
        double a = found[k].element_as_double(i), b = wanted[k].element_as_double(i);
        near = std::isnan(b)   ? std::isnan(a)
               : std::isinf(b) ? a == b
                               : std::abs(a - b) <= limit * std::max(1.0, std::abs(b));
      }
      if (near) continue;
      std::ostringstream text;
      text << std::setprecision(9) << found[k].element_as_double(i) << " instead of "
           << wanted[k].element_as_double(i) << " at " << i << " of result " << k;
      return text.str();
    }
  }
  return {};
}

NDArray random_array(std::span<const int64_t> shape, DType dtype, uint32_t seed) {
  NDArray array = NDArray::empty(shape, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < array.size(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      int32_t bits = static_cast<int32_t>(seed >> 20) - 2048;
      if constexpr (std::is_integral_v<T>) {
        array.data<T>()[i] = static_cast<T>(bits / 64);
      } else {
        array.data<T>()[i] = convert_element<T>(bits / 512.0);
      }
    }
  });
  return array;
}

}  // namespace relay::testing
