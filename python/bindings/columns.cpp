// Columns of facts about operators that passes ask for.
#include <bindings/bindings.h>
#include <bindings/callbacks.h>

#include <algorithm>
#include <optional>
#include <string>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <relay/infer/infer.h>

#include <relay/op/registry/attached.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/integer_form.h>
#include <relay/op/registry/precision_rules.h>
#include <relay/support/error.h>
#include <relay/transform/convert_layout.h>
#include <relay/transform/declared_fusion.h>
#include <relay/transform/fake_quantization.h>
#include <relay/transform/op_calls.h>

namespace relay::python {

namespace {

struct FlagColumn {
  const char* name;
  OpColumn<bool>& (*column)();
  const char* doc;
};
constexpr FlagColumn kFlags[] = {
    {"stops_fusion", stops_fusion, "True if nothing is fused across its calls."},
    {"quantised", quantised,
     "Whether it takes or gives scales and zero points, so that constant folding leaves it alone."},
};

struct FormColumn {
  const char* name;
  OpColumn<ExpandFn>& (*column)();
  const char* doc;
};
constexpr FormColumn kForms[] = {
    {"canonical_form", canonical_form,
     "What CanonicalizeOps writes a call as: a function of the call and its arguments."},
    {"simplified_for_inference", simplified_for_inference,
     "What SimplifyInference writes a call as, when a network no longer learns."},
};

constexpr const char* kFusion = "fusion_kind";
constexpr const char* kLanes = "lanes_form";

std::optional<te::FusionKind> fusion_of(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  std::string words;
  for (int i = 0; i <= static_cast<int>(te::FusionKind::kOpaque); ++i) {
    auto kind = static_cast<te::FusionKind>(i);
    if (kind == te::FusionKind::kRowProgram) continue;  // derived alone
    std::string word(te::fusion_kind_name(kind));
    if (nb::isinstance<nb::str>(value) && nb::cast<std::string>(value) == word) return kind;
    words += (words.empty() ? "" : ", ") + word;
  }
  throw nb::value_error(
      (std::string(kFusion) + " is one of " + words + ", or None, not " + shown(value)).c_str());
}

ExpandFn form_of(const std::string& part, const nb::object& function) {
  return [part, call = Callback(function)](const OpCall& use, std::span<const ExprRef> args) {
    nb::gil_scoped_acquire gil;
    ExprRef result;
    run_part(use.op()->name().str() + ": ", "its " + part, [&] {
      std::vector<ExprRef> given(args.begin(), args.end());
      ExprRef typed = make_call(make_op(use.op()), given, use.attrs_ref());
      result = expr_of(call.get()(nb::cast(typed)));
    });
    return result;
  };
}

void require_function(const std::string& column, nb::handle value) {
  if (PyCallable_Check(value.ptr()) == 0)
    throw nb::type_error((column + " is a function, not " + class_name_of(value)).c_str());
}

/// A function of the call of one lane, the arguments for all lanes, and their number or None.
LanesFn lanes_of(const nb::object& function) {
  return [call = Callback(function)](const Call& use, std::span<const ExprRef> args,
                                     const Dim& lanes) {
    nb::gil_scoped_acquire gil;
    ExprRef result;
    run_part(use.callee()->as<Op>()->op()->name().str() + ": ", "its lanes_form", [&] {
      nb::list given;
      for (const ExprRef& arg : args) given.append(nb::cast(arg));
      nb::object number = lanes.is_int() ? nb::object(nb::int_(lanes.as_int())) : nb::none();
      result = expr_of(call_python(call.get(), {nb::cast(ExprRef(&use)), given, number}));
    });
    return result;
  };
}

/// A function of attributes, arguments, and types: those of the arguments and then the result's, or
/// these apart.
ExpandFn attached_of(const std::string& key, const nb::object& function) {
  return [key, call = Callback(function)](const OpCall& use, std::span<const ExprRef> args) {
    nb::gil_scoped_acquire gil;
    ExprRef result;
    run_part(use.op()->name().str() + ": ", "what is attached as " + key, [&] {
      nb::list given, types;
      for (const ExprRef& arg : args) given.append(nb::cast(arg));
      for (size_t i = 0; i < use.num_inputs(); ++i) types.append(nb::cast(use.input(i)));
      nb::object attrs = use.attrs_ref() ? nb::cast(use.attrs_ref()) : nb::none();
      nb::object output = nb::cast(use.output());
      nb::object made;
      if (key == kAlterLayoutKey) {
        made = call_python(call.get(), {attrs, given, types, output});
      } else {
        types.append(output);
        made = call_python(call.get(), {attrs, given, types});
      }
      if (!made.is_none()) result = expr_of(made);
    });
    return result;
  };
}

/// A function of a call and the name of the narrow floats that gives 0 for always, 1 for follows, 2
/// for never, or None for the call's own rule.
PrecisionFn precision_of(const nb::object& function) {
  return [call = Callback(function)](const ExprRef& use,
                                     DType narrow) -> std::optional<PrecisionRule> {
    nb::gil_scoped_acquire gil;
    std::optional<PrecisionRule> rule;
    run_part(use->as<Call>()->callee()->as<Op>()->op()->name().str() + ": ", "its precision", [&] {
      nb::object made =
          call_python(call.get(), {nb::cast(use), nb::cast(std::string(narrow.name()))});
      if (made.is_none()) return;
      int64_t category = required<int64_t>(made, "a precision is 0, 1 or 2");
      if (category < 0 || category > 2)
        throw Error("a precision is 0, 1 or 2, not " + std::to_string(category));
      rule = static_cast<PrecisionRule>(category);
    });
    return rule;
  };
}

nb::object object_of_affine(const std::optional<Affine>& affine) {
  if (!affine) return nb::none();
  return nb::make_tuple(affine->scale, affine->zero_point, affine->dtype, affine->axis);
}

Affine affine_of(nb::handle object) {
  auto [scale, zero_point, dtype, axis] =
      required<std::tuple<nb::object, nb::object, DType, int64_t>>(
          object, "scale, zero point, dtype and axis are wanted");
  Affine affine{expr_of(scale), expr_of(zero_point), dtype, axis};
  for (const ExprRef& part : {affine.scale, affine.zero_point}) {
    const auto* constant = part->as<Constant>();
    const auto* tensor = part->type() == nullptr ? nullptr : part->type()->as<TensorType>();
    affine.vector |= (constant != nullptr && constant->data().rank() == 1) ||
                     (tensor != nullptr && tensor->has_rank() && tensor->dims().size() == 1);
  }
  return affine;
}

/// A function of the call on integers, of what each tensor of its arguments stands for, and of what
/// the result is to be.
IntegerFormFn integer_form_of(const nb::object& function) {
  return [call = Callback(function)](const QuantisedCall& use) -> std::optional<QuantisedResult> {
    nb::gil_scoped_acquire gil;
    std::optional<QuantisedResult> result;
    run_part(use.call.op()->name().str() + ": ", "its form on integers", [&] {
      std::vector<ExprRef> args;
      nb::list tensors;
      for (const QuantisedValue& input : use.inputs) {
        args.push_back(input.expr);
        nb::list fields;
        for (const auto& tensor : input.tensors) fields.append(object_of_affine(tensor));
        tensors.append(fields);
      }
      ExprRef written = make_call(make_op(use.call.op()), args, use.call.attrs_ref(), {}, use.span);
      nb::object wanted =
          use.result == nullptr ? nb::none() : object_of_affine(std::optional<Affine>(*use.result));
      nb::object made = call_python(call.get(), {nb::cast(written), tensors, wanted});
      if (made.is_none()) return;
      auto [expr, affines] = required<std::pair<nb::object, nb::list>>(
          made, "a form on integers gives an expression and what its tensors stand for");
      result.emplace();
      result->value.expr = expr_of(expr);
      for (nb::handle affine : affines)
        result->value.tensors.push_back(affine.is_none() ? std::nullopt
                                                         : std::optional(affine_of(affine)));
    });
    return result;
  };
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def(
      "op_columns",
      [] {
        std::vector<std::pair<std::string, std::string>> columns;
        for (const FlagColumn& flag : kFlags) columns.emplace_back(flag.name, flag.doc);
        for (const FormColumn& form : kForms) columns.emplace_back(form.name, form.doc);
        columns.emplace_back(kFusion,
                             "How its calls may be joined with others, where what it computes does "
                             "not show it (a Python kernel) or less is to be joined; None: as "
                             "derived.");
        columns.emplace_back(kLanes,
                             "What vmap writes a call as: a function of the call of one lane, the "
                             "arguments with all lanes along their first axis, and the number of "
                             "lanes or None. Left out: its definition with lanes.");
        return columns;
      },
      "Name and documentation of each column that the compiler reads and Python may set.");
  m.def(
      "op_column",
      [](nb::handle name, const std::string& column) -> nb::object {
        const Operator* op = operator_of(name);
        for (const FlagColumn& flag : kFlags) {
          if (column != flag.name) continue;
          const bool* found = flag.column().find(op);
          return found == nullptr ? nb::none() : nb::object(nb::bool_(*found));
        }
        if (column == kFusion) {
          const auto* found = declared_fusion().find(op);
          if (found == nullptr || !*found) return nb::none();
          return nb::str(std::string(te::fusion_kind_name(**found)).c_str());
        }
        if (column == kLanes)
          return lanes_form().find(op) == nullptr ? nb::none() : nb::object(nb::bool_(true));
        for (const FormColumn& form : kForms) {
          if (column != form.name) continue;
          return form.column().find(op) == nullptr ? nb::none() : nb::object(nb::bool_(true));
        }
        throw nb::key_error(("there is no column " + column).c_str());
      },
      nb::arg("op"), nb::arg("column"),
      "A fact about an operator, None where nothing is said. A function of the library is True.");
  m.def(
      "set_op_column",
      [](nb::handle name, const std::string& column, nb::object value, int level) {
        const Operator* op = operator_of(name);
        for (const FlagColumn& flag : kFlags) {
          if (column != flag.name) continue;
          if (!PyBool_Check(value.ptr()))
            throw nb::type_error((column + " is a bool, not " + class_name_of(value)).c_str());
          flag.column().set(op, value.ptr() == Py_True, level);
          return;
        }
        if (column == kFusion) {
          declared_fusion().set(op, fusion_of(value), level);
          return;
        }
        if (column == kLanes) {
          require_function(column, value);
          lanes_form().set(op, lanes_of(value), level);
          return;
        }
        for (const FormColumn& form : kForms) {
          if (column != form.name) continue;
          require_function(column, value);
          form.column().set(op, form_of(column, value), level);
          return;
        }
        throw nb::key_error(("there is no column " + column).c_str());
      },
      nb::arg("op"), nb::arg("column"), nb::arg("value").none(), nb::arg("level") = 10);
  m.def(
      "attach_rewrite",
      [](nb::handle op, const std::string& key, nb::object function, int level) {
        const Operator* known = operator_of(op);
        if (!function.is_none() && PyCallable_Check(function.ptr()) == 0)
          throw nb::type_error((key + " is a function, not " + class_name_of(function)).c_str());
        attach_rewrite(known, key, function.is_none() ? ExpandFn() : attached_of(key, function),
                       level);
      },
      nb::arg("op"), nb::arg("key"), nb::arg("function").none(), nb::arg("level") = 10,
      "Attaches a function that passes such as Legalize call; None takes away what is attached.");
  m.def(
      "attach_integer_form",
      [](nb::handle op, nb::object function, bool optional) {
        attach_integer_form(operator_of(op),
                            function.is_none() ? IntegerFormFn() : integer_form_of(function),
                            optional);
      },
      nb::arg("op"), nb::arg("function").none(), nb::arg("optional"),
      "What FakeQuantizationToInteger calls for an operator; None takes it away.");
  m.def(
      "attach_precision",
      [](nb::handle op, nb::object function) {
        static int level = 1000;  // what is attached last counts
        attached_precision().set(
            operator_of(op), function.is_none() ? PrecisionFn() : precision_of(function), ++level);
      },
      nb::arg("op"), nb::arg("function").none(),
      "What ToMixedPrecision asks for an operator first; None takes it away.");
  m.def(
      "precision_rule",
      [](const ExprRef& expr) -> std::optional<std::string> {
        const auto* call = expr->as<Call>();
        if (call == nullptr || called_op(call) == nullptr)
          throw nb::type_error("precision_rule asks about a call of an operator");
        std::vector<TypeRef> types;
        for (const ExprRef& arg : call->args()) types.push_back(TypeRef(arg->type()));
        const auto unknown = [](const TypeRef& type) { return type == nullptr; };
        if (call->type() == nullptr || std::any_of(types.begin(), types.end(), unknown))
          throw nb::value_error(
              "precision_rule asks about a call with types, which it has none of");
        std::optional<PrecisionRule> rule = precision_rule(
            OpCall(called_op(call), call->attrs(), std::move(types), TypeRef(call->type())));
        if (!rule) return std::nullopt;
        return std::string(word_text(*rule));
      },
      nb::arg("call"),
      "The rule of a typed call in mixed precision: always, follows or never; None for none.");
  m.def("fake_quantised_operators", [](const Module& module) {
    Module typed = module;
    return without_lock([&] {
      infer_types_or_throw(typed);
      return fake_quantised_operators(typed);
    });
  });
  m.def(
      "enter_layout_config",
      [](std::vector<int64_t> skip_layers) {
        auto config = std::make_shared<LayoutConfig>();
        config->skip_layers = std::move(skip_layers);
        LayoutConfig::enter(std::move(config));
      },
      nb::arg("skip_layers"));
  m.def("exit_layout_config", &LayoutConfig::exit);
}

}  // namespace relay::python
