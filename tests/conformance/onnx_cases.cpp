// The backend tests of the onnx package (tests/onnx/write_cases.py).
#include <algorithm>
#include <cmath>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/import/onnx/model.h>
#include <relay/infer/infer.h>
#include <relay/runtime/npz.h>
#include <relay/support/error.h>

#include <tests/conformance/data.h>

namespace relay::conformance {

std::string case_folder;

namespace {

// A value of a data set: an array, a sequence as a tuple, nothing as the empty tuple.
Value read_value(const NpzReader& data, const Json& json) {
  if (json.is_null()) return Value::unit();
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json& item : json) items.push_back(read_value(data, item));
    return Value::tuple(std::move(items));
  }
  if (json.is_string()) return data.read(json.get<std::string>()).contiguous();
  NDArray bits = data.read(json.at("key").get<std::string>()).contiguous();
  NDArray array = NDArray::empty(bits.shape(), *DType::parse(json.at("dtype").get<std::string>()));
  std::copy_n(bits.data<uint16_t>(), element_count(bits.shape()),
              reinterpret_cast<uint16_t*>(array.raw()));
  return array;
}

// The difference that a result of a narrow type may have in any case: two units in its last place,
// which is what the recorded ones make by rounding each step to that type.
double resolution(DType dtype) {
  if (dtype == kFloat16) return 2 * 0x1p-10;
  return dtype == kBFloat16 ? 2 * 0x1p-7 : 0.0;
}

// Why arrays differ by more than `absolute` + `relative` · |wanted|, or nothing.
std::optional<std::string> beyond(const NDArray& found, const NDArray& wanted, double relative,
                                  double absolute) {
  if (std::optional<std::string> shape = difference(found, wanted, INFINITY)) return shape;
  NDArray a = found.contiguous();
  NDArray b = wanted.contiguous();
  relative = std::max(relative, resolution(wanted.dtype()));
  return dispatch(a.dtype(), [&](auto tag) -> std::optional<std::string> {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < element_count(a.shape()); ++i) {
      auto x = static_cast<double>(static_cast<ComputeType<T>>(a.template data<T>()[i]));
      auto y = static_cast<double>(static_cast<ComputeType<T>>(b.template data<T>()[i]));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (std::abs(x - y) <= absolute + relative * std::abs(y)) continue;
      return "element " + std::to_string(i) + " is " + std::to_string(x) + " for " +
             std::to_string(y);
    }
    return std::nullopt;
  });
}

std::optional<std::string> differ(const Value& found, const Value& wanted, const Json& json) {
  if (found.is_tuple() != wanted.is_tuple()) return "a tuple and a tensor";
  if (!found.is_tuple()) {
    return beyond(found.array(), wanted.array(), json.at("rtol").get<double>(),
                  json.at("atol").get<double>());
  }
  if (found.fields().size() != wanted.fields().size()) {
    return std::to_string(found.fields().size()) + " items for " +
           std::to_string(wanted.fields().size());
  }
  for (size_t i = 0; i < found.fields().size(); ++i) {
    if (auto why = differ(found.fields()[i], wanted.fields()[i], json)) {
      return "item " + std::to_string(i) + ": " + *why;
    }
  }
  return std::nullopt;
}

// Inputs by position; parameters are constants.
Value run_model(const OnnxModel& model, const NpzReader& data, const Json& inputs) {
  std::vector<Value> arguments;
  for (const Json& input : inputs) {
    if (arguments.size() < model.inputs.size()) arguments.push_back(read_value(data, input));
  }
  if (arguments.size() != model.inputs.size()) {
    throw Error(std::to_string(model.inputs.size()) + " inputs for " +
                std::to_string(arguments.size()));
  }
  return run_main(model.module, std::move(arguments));
}

// Adds what a model does not say of its inputs: how many items sequences have, what is empty.
void describe_inputs(OnnxOptions& options, const std::string& path, const NpzReader& data,
                     const Json& inputs) {
  bool plain = std::all_of(inputs.begin(), inputs.end(),
                           [](const Json& input) { return !input.is_null() && !input.is_array(); });
  if (plain) return;
  onnx::Model model = onnx::read_model(onnx::Bytes::map(path), path, "");
  for (size_t i = 0; i < inputs.size() && i < model.graph->inputs.size(); ++i) {
    std::string name(model.graph->inputs[i].name);
    if (inputs[i].is_null()) options.empty.insert(name);
    if (!inputs[i].is_array()) continue;
    std::vector<std::vector<int64_t>>& shapes = options.items[name];
    for (const Json& item : inputs[i]) {
      Value value = read_value(data, item);
      ShapeView shape = value.array().shape();
      shapes.emplace_back(shape.begin(), shape.end());
    }
  }
}

}  // namespace

Outcome run_onnx_case(const Json& json) {
  if (json.contains("outside")) return Outcome::not_applicable(json.at("outside"));
  OnnxOptions options;
  options.freeze = true;
  try {
    for (const Json& set : json.at("sets")) {
      std::string path = case_folder + json.at("model").get<std::string>();
      NpzReader data(case_folder + set.at("data").get<std::string>());
      describe_inputs(options, path, data, set.at("inputs"));
      OnnxModel model = from_onnx(path, options);
      Value found = run_model(model, data, set.at("inputs"));
      std::vector<Value> wanted;
      for (const Json& output : set.at("outputs")) wanted.push_back(read_value(data, output));
      if (wanted.size() == 1) {
        if (auto why = differ(found, wanted[0], json)) return Outcome::failed(*why);
        continue;
      }
      if (auto why = differ(found, Value::tuple(std::move(wanted)), json))
        return Outcome::failed(*why);
    }
  } catch (const Error& error) {
    std::string message = error.what();
    static const std::string kMissing = " not supported: ";
    size_t found = message.find(kMissing);
    if (found == std::string::npos) return Outcome::failed(message);
    return Outcome::not_applicable("operator " +
                                   first_line(message.substr(found + kMissing.size())));
  }
  return Outcome::passed();
}

}  // namespace relay::conformance
