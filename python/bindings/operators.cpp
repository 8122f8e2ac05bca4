// Operators: what is declared of them, and calls.
#include <bindings/arrays.h>
#include <bindings/attrs.h>
#include <bindings/bindings.h>

#include <relay/op/op.h>
#include <relay/op/registry/gradient.h>
#include <relay/support/suggest.h>

namespace relay::python {

ExprRef expr_of(nb::handle object) {
  RecursionScope nesting(" in an argument of an operator");
  if (object.is_none()) throw nb::type_error("an expression, number or array is needed, not None");
  ExprRef expr;
  if (nb::try_cast(object, expr)) return expr;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    std::vector<ExprRef> fields;
    for (nb::handle item : nb::iter(object)) fields.push_back(expr_of(item));
    return make_tuple(fields);
  }
  if (PyBool_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) {
    if (PyBool_Check(object.ptr())) return make_constant(NDArray::scalar(object.ptr() == Py_True));
    return nb::cast<ExprRef>(nb::type<Literal>()(object));
  }
  return make_constant(array_of(object));
}

const Operator* operator_of(nb::handle op) {
  ExprRef expr;
  if (nb::try_cast(op, expr) && expr->is<Op>()) return expr->as<Op>()->op();
  Name name = required<Name>(op, "an operator is an Op or its name");
  const Operator* found = find_op(name);
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const Operator* known : all_ops()) names.push_back(known->name().str());
    std::string near = did_you_mean(name.str(), names);
    throw nb::key_error(
        ("there is no operator " + name.str() + (near.empty() ? "" : "; " + near)).c_str());
  }
  return found;
}

AttrsRef op_attrs(const Operator* op, nb::handle given) {
  auto attrs = nb::borrow<nb::dict>(given);
  if (op->attrs_schema() == nullptr) {
    if (attrs.size() > 0) throw nb::type_error((op->name().str() + " has no attributes").c_str());
    return {};
  }
  std::vector<NamedAttr> values = named_attrs_of(attrs, [&](Name name, nb::handle value) {
    return "attribute " + name.str() + " of " + op->name().str() + " cannot be " + shown(value);
  });
  try {
    return Attrs::make(*op->attrs_schema(), values, {});
  } catch (const Error& error) {  // which has no place to say whose attribute it is
    std::vector<Diagnostic> problems = error.diagnostics();
    for (Diagnostic& problem : problems)
      problem.message = op->name().str() + ": " + problem.message;
    throw Error(std::move(problems));
  }
}

namespace {

/// The first operator whose attributes have a type. Throws ValueError.
const Operator* op_with_attrs(const Name& type_key) {
  for (const Operator* op : all_ops()) {
    if (op->attrs_schema() != nullptr && op->attrs_schema()->name == type_key) return op;
  }
  throw nb::value_error(("no operator has attributes of type " + type_key.str()).c_str());
}

}  // namespace

const AttrsSchema* schema_of_type(const Name& type_key) {
  const AttrsSchema& dictionary = attrs_schema<DictAttrs>();
  return type_key == dictionary.name ? &dictionary : op_with_attrs(type_key)->attrs_schema();
}

AttrsRef attrs_of_type(const Name& type_key, nb::dict given) {
  return op_attrs(op_with_attrs(type_key), given);
}

namespace {

nb::dict attr_info(const AttrsSchema& schema, size_t i) {
  const AttrField& field = schema.fields[i];
  nb::dict info;
  info["name"] = nb::cast(field.name);
  info["doc"] = field.doc;
  info["type"] = field.type_text();
  info["required"] = field.required;
  if (!field.required) info["default"] = object_of_attr(schema.defaults(i));
  return info;
}

}  // namespace

void bind_operators(nb::module_& m) {
  m.def(
      "op", [](Name name) { return make_op(operator_of(nb::cast(name))); }, nb::arg("name"),
      "The operator of a name. Raises KeyError.");
  m.def("op_names", [] {
    std::vector<Name> names;
    for (const Operator* op : all_ops()) names.push_back(op->name());
    return names;
  });
  m.def(
      "op_info",
      [](nb::handle name) {
        const Operator* op = operator_of(name);
        nb::dict info;
        info["name"] = nb::cast(op->name());
        info["doc"] = op->doc();
        info["level"] = op->level();
        info["pure"] = op->pure();
        nb::list inputs, outputs, attrs;
        for (const OpInput& input : op->inputs())
          inputs.append(nb::make_tuple(nb::cast(input.name), input.doc));
        for (const OpOutput& output : op->outputs())
          outputs.append(nb::make_tuple(nb::cast(output.name), output.doc));
        info["inputs"] = inputs;
        info["outputs"] = outputs;
        const AttrsSchema* schema = op->attrs_schema();
        info["attrs_type"] = schema == nullptr ? "" : schema->name.str();
        if (schema != nullptr) {
          for (size_t i = 0; i < schema->fields.size(); ++i) attrs.append(attr_info(*schema, i));
        }
        info["attrs"] = attrs;
        nb::list input_specs, output_specs;
        for (const OpInput& input : op->inputs()) input_specs.append(input.spec.str());
        for (const OpOutput& output : op->outputs()) output_specs.append(output.spec.str());
        info["input_specs"] = input_specs;
        info["output_specs"] = output_specs;
        const GradientEntry* gradient = gradient_column().find(op);
        bool computed = op->definition() == DefinitionKind::kCompute;
        info["definition"] = computed                                      ? "a tensor expression"
                             : op->definition() == DefinitionKind::kExpand ? "other operators"
                             : op->definition() == DefinitionKind::kIntrinsic ? "the machine's own"
                                                                              : "none";
        info["relation"] = op->relation() == nullptr || op->relation()->name == op->name()
                               ? std::string("its own")
                               : op->relation()->name.str();
        info["gradient"] =
            gradient != nullptr ? gradient->rule ? "by a rule" : "none: " + gradient->none
            : computed          ? "derived: " + std::string(kGradientPrefix) + op->name().str()
                                : "that of the operators that define it";
        return info;
      },
      nb::arg("name"),
      "What an operator's declaration says: doc, level, inputs, outputs, attributes.");
  m.def(
      "call_op",
      [](nb::handle op, nb::args args, nb::kwargs attrs) {
        const Operator* found = operator_of(op);
        std::vector<ExprRef> operands;
        operands.reserve(args.size());
        for (nb::handle arg : args) operands.push_back(expr_of(arg));
        AttrsRef made = op_attrs(found, attrs);
        return make_call(make_op(found), operands, made);
      },
      "A call of an operator: `call_op(\"nn.conv2d\", data, weight, strides=(2, 2))`. Numbers, "
      "arrays and tuples become "
      "expressions.");
  m.def(
      "op_attrs", [](nb::handle op, nb::kwargs attrs) { return op_attrs(operator_of(op), attrs); },
      "The attributes of a call of an operator; None if it has none.");
  m.def(
      "as_expr", [](nb::handle object) { return expr_of(object); }, nb::arg("value").none(),
      "An expression of a number, an array, or a tuple or list of such.");
}

}  // namespace relay::python
