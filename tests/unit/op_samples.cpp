#include <tests/unit/op_samples.h>

#include <optional>

#include <algorithm>

#include <nlohmann/json.hpp>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>

namespace relay {

Value map_tensors(const Value& value, const std::function<NDArray(const NDArray&)>& change) {
  if (value.is_tensor()) return Value(change(value.array()));
  RELAY_CHECK(value.is_tuple(), "an argument that is no tensor");
  std::vector<Value> fields;
  for (size_t i = 0; i < value.fields().size(); ++i)
    fields.push_back(map_tensors(value.field(i), change));
  return Value::tuple(std::move(fields));
}

std::vector<NDArray> tensors_of(const Value& value) {
  std::vector<NDArray> found;
  map_tensors(value, [&](const NDArray& array) {
    found.push_back(array);
    return array;
  });
  return found;
}

namespace {

/// An argument of the command line: nested lists of numbers, or `random(2, 3)`.
NDArray array_of(std::string text, DType dtype) {
  std::vector<int64_t> shape;
  std::vector<double> numbers;
  if (text.starts_with("random(")) {
    auto extents = nlohmann::json::parse("[" + text.substr(7, text.size() - 8) + "]");
    int64_t size = 1;
    for (const auto& extent : extents) size *= shape.emplace_back(extent.get<int64_t>());
    for (int64_t i = 0; i < size; ++i) numbers.push_back(static_cast<double>(i % 7));
  } else {
    for (const auto& [word, number] : {std::pair("True", "1"), std::pair("False", "0")}) {
      for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;)
        text.replace(at, std::string_view(word).size(), number);
    }
    auto value = nlohmann::json::parse(text);
    for (const auto* at = &value; at->is_array(); at = &at->front()) {
      shape.push_back(static_cast<int64_t>(at->size()));
      if (at->empty()) break;
    }
    std::function<void(const nlohmann::json&)> read = [&](const nlohmann::json& part) {
      if (!part.is_array()) return numbers.push_back(part.get<double>());
      for (const auto& inner : part) read(inner);
    };
    read(value);
  }
  NDArray wide = NDArray::empty(shape, kFloat64);
  std::copy(numbers.begin(), numbers.end(), wide.data<double>());
  return wide.cast(dtype);
}

bool is_closed(const Expr* expr) {
  bool closed = true;
  post_order(expr, [&](const Expr* part) { closed &= !part->is<Var>(); });
  return closed;
}

/// The call that an example shows, with its arguments evaluated; nothing for one of a function,
/// which is no value that another program could be given.
std::optional<Sample> sample_of(const Operator& op, const OpExample& example) {
  Module module = parse_module("example", "def @main" + example.program.substr(2));
  infer_types_or_throw(module);
  const Function* main = module.function("main");
  std::vector<Value> given;
  std::vector<TypeRef> types;
  for (size_t i = 0; i < example.arguments.size(); ++i) {
    const auto* type = main->params()[i]->annotation()->as<TensorType>();
    RELAY_CHECK(type != nullptr, "a parameter that is no tensor");
    given.emplace_back(array_of(example.arguments[i], type->dtype()));
    types.push_back(value_type(given.back()));
  }
  Module special = specialize(module, "main", types);
  const Function* function = special.function("main");
  const Call* call = nullptr;
  post_order(function->body().get(), [&](const Expr* expr) {
    const auto* candidate = expr->as<Call>();
    const auto* callee = candidate == nullptr ? nullptr : candidate->callee()->as<Op>();
    if (callee != nullptr && callee->op() == &op) call = candidate;
  });
  RELAY_CHECK(call != nullptr, "the example of " + op.name().str() + " does not call it");
  Sample sample{&op, call->attrs(), {}, {}};
  std::vector<ExprRef> args(call->args().begin(), call->args().end());
  for (const ExprRef& arg : args) {
    if (arg->type() != nullptr && arg->type()->is<FuncType>()) return std::nullopt;
    sample.constant.push_back(is_closed(arg.get()));
  }
  Module inputs;
  inputs.add_function("main", make_function(std::vector<VarRef>(function->params().begin(),
                                                                function->params().end()),
                                            relay::make_tuple(args)));
  infer_types_or_throw(inputs);
  Value values = evaluate_function(inputs, "main", given);
  for (size_t i = 0; i < args.size(); ++i) sample.arguments.push_back(values.field(i));
  return sample;
}

ExprRef literal_of(const Value& value) {
  if (value.is_tensor()) return make_constant(value.array());
  std::vector<ExprRef> fields;
  for (size_t i = 0; i < value.fields().size(); ++i) fields.push_back(literal_of(value.field(i)));
  return relay::make_tuple(fields);
}

}  // namespace

void each_sample(const std::function<void(const Sample&)>& visit) {
  for (const Operator* op : all_ops()) {
    if (!op->pure()) continue;  // its effect would be seen
    for (const OpExample& example : op->examples())
      if (std::optional<Sample> sample = sample_of(*op, example)) visit(*sample);
  }
}

Sample with_attribute(const Sample& sample, Name name, AttrValue value) {
  Sample result = sample;
  AttrsRef attrs = sample.attrs ? sample.attrs : Attrs::make(*sample.op->attrs_schema(), {}, {});
  std::vector<NamedAttr> values = attrs->fields(false);
  std::erase_if(values, [&](const NamedAttr& attr) { return attr.name == name; });
  values.push_back({name, std::move(value), {}});
  result.attrs = Attrs::make(*sample.op->attrs_schema(), values, {});
  return result;
}

SampleProgram program_of(const Sample& sample) {
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  std::vector<Value> given;
  for (size_t i = 0; i < sample.arguments.size(); ++i) {
    const Value& value = sample.arguments[i];
    if (sample.constant[i]) {
      args.push_back(literal_of(value));
      continue;
    }
    params.push_back(make_var("x" + std::to_string(i), value_type(value)));
    args.push_back(params.back());
    given.push_back(value);
  }
  return {make_function(params, make_call(make_op(sample.op), args, sample.attrs)), given};
}

std::string refusal_of(const Sample& sample) {
  Module module;
  module.add_function("main", program_of(sample).function);
  try {
    infer_types_or_throw(module);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace relay
