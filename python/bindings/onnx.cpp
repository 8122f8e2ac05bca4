// ONNX models, with converters that are Python functions.
#include <map>

#include <bindings/arrays.h>
#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/lock.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <relay/import/onnx/import.h>
#include <relay/import/onnx/registry.h>
#include <relay/infer/infer.h>
#include <relay/ir/expr.h>
#include <relay/support/error.h>

namespace relay::python {
namespace {

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::object attribute_of(const OnnxNode::Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute)) return bytes_of(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    nb::list all;
    for (const std::string& text : *texts) all.append(bytes_of(text));
    return all;
  }
  return std::visit(
      [](const auto& value) -> nb::object {
        if constexpr (std::is_convertible_v<decltype(value), const std::string&> ||
                      std::is_convertible_v<decltype(value), const std::vector<std::string>&>) {
          return nb::none();  // above
        } else {
          return nb::cast(value);
        }
      },
      attribute);
}

/// The node as arguments of the Python function: names, the version, inputs, values, attributes and
/// outputs.
nb::object arguments_of(const OnnxNode& node) {
  nb::list inputs, values;
  for (const ExprRef& input : node.inputs) inputs.append(input ? nb::cast(input) : nb::none());
  for (const auto& value : node.values) values.append(value ? nb::cast(*value) : nb::none());
  nb::dict attributes;
  for (const auto& [name, value] : node.attributes) attributes[name.c_str()] = attribute_of(value);
  return nb::make_tuple(node.op_type, node.domain, node.name, node.opset, inputs, values,
                        attributes, node.outputs);
}

OnnxConverter converter_of(const std::string& name, nb::object function) {
  // Made, copied and destroyed with the interpreter's lock.
  return [name, call = std::move(function)](const OnnxNode& node) {
    std::vector<ExprRef> made;
    {
      Locked locked;
      run_part("", "the converter of " + name, [&] {
        nb::object result = call_python(call, {arguments_of(node)});
        made = required<std::vector<ExprRef>>(result, "a converter gives a list of relay.Expr");
      });
    }
    std::vector<std::pair<ExprRef, TypeRef>> outputs;
    const TypeRef types = infer_expr_type(make_tuple(made), Module());
    for (size_t i = 0; i < made.size(); ++i) {
      const ExprRef& expr = made[i];
      const TypeRef type = types->as<TupleType>()->fields()[i];
      const auto* tuple = type->as<TupleType>();
      if (tuple == nullptr) outputs.emplace_back(expr, type);
      for (uint32_t k = 0; tuple != nullptr && k < tuple->fields().size(); ++k)
        outputs.emplace_back(make_projection(expr, k, expr->span()), tuple->fields()[k]);
    }
    return outputs;
  };
}

}  // namespace

void bind_onnx(nb::module_& m) {
  m.def(
      "from_onnx",
      [](nb::handle model, std::map<std::string, std::vector<int64_t>> shape,
         std::map<std::string, DType> dtypes, std::optional<int64_t> opset, bool freeze,
         bool fake_quantization, const std::map<std::string, nb::object>& converters) {
        OnnxOptions options;
        options.shapes = std::move(shape);
        options.dtypes = std::move(dtypes);
        options.opset = opset;
        options.freeze = freeze;
        options.fake_quantization = fake_quantization;
        for (const auto& [name, function] : converters)
          options.converters[name] = converter_of(name, function);
        nb::bytes bytes;
        std::string path;
        bool in_memory = nb::try_cast(model, bytes);
        if (!in_memory) path = nb::cast<std::string>(model);
        OnnxModel made;
        {
          Unlocked released;
          made = in_memory ? from_onnx({static_cast<const std::byte*>(bytes.data()), bytes.size()},
                                       options)
                           : from_onnx(path, options);
        }
        nb::dict params;
        for (auto& [name, array] : made.params) params[name.c_str()] = nb::cast(array);
        return nb::make_tuple(nb::cast(std::move(made.module)), params, made.warnings);
      },
      nb::arg("model"), nb::arg("shape"), nb::arg("dtypes"), nb::arg("opset").none(),
      nb::arg("freeze"), nb::arg("fake_quantization"), nb::arg("converters"),
      "A model from a path or bytes: the module, parameters by name, warnings. Raises RelayError.");
  m.def(
      "onnx_operators",
      [] {
        std::vector<std::tuple<std::string, std::string, int64_t>> found;
        for (const onnx::ConverterEntry& entry : onnx::all_converters())
          found.emplace_back(entry.domain, entry.op_type, entry.since);
        return found;
      },
      "What from_onnx converts: the domain, name and first version of each operator's forms.");
}

}  // namespace relay::python
