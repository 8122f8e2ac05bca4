// Questions that can be asked of programs without changing them.
#include <bindings/bindings.h>

#include <algorithm>

#include <nanobind/stl/map.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/tuple.h>

#include <relay/analysis/counts.h>
#include <relay/analysis/fc_transpose.h>
#include <relay/analysis/features.h>
#include <relay/analysis/forms.h>
#include <relay/analysis/variables.h>
#include <relay/infer/infer.h>
#include <relay/op/registry/facts.h>
#include <relay/print/annotated.h>
#include <relay/program/call_graph.h>

namespace relay::python {

namespace {

std::vector<int> numbers(FeatureSet features) {
  std::vector<int> result;
  for (Feature feature : features.list()) result.push_back(static_cast<int>(feature));
  return result;
}

/// How quantised numbers go through a call, by a word; if it multiplies and adds elements of two
/// tensors; and if attributes name the layouts of its operands, as those of convolutions do. Empty
/// for what is no call of an operator, or has an operand without type.
std::tuple<std::string, bool, bool> numbers_of_call(const ExprRef& expr) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (callee == nullptr || call->type() == nullptr) return {};
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call->args()) {
    if (arg->type() == nullptr) return {};
    types.emplace_back(arg->type());
  }
  if (types.size() != callee->op()->num_inputs()) return {};
  AttrsRef attrs = call->attrs();
  if (const AttrsSchema* schema = callee->op()->attrs_schema(); !attrs && schema != nullptr)
    attrs = Attrs::make(*schema, {}, {});
  OpCall typed(callee->op(), attrs, std::move(types), TypeRef(call->type()));
  QuantisedRule rule = quantised_rule(typed);
  bool sums = rule == QuantisedRule::kRequantises;
  const bool multiplies = sums && !(cost_of(typed).macs == Dim(0));
  if (multiplies && !std::ranges::all_of(call->args(), [](const ExprRef& arg) {
        const auto* tensor = arg->type()->as<TensorType>();
        return tensor != nullptr && tensor->has_dtype() && tensor->dtype().is_float();
      }))
    return {};
  return {std::string(word_text(rule)), multiplies, layout_rule(typed) == LayoutRule::kNamed};
}

}  // namespace

void bind_analyses(nb::module_& m) {
  m.def(
      "all_vars", [](const ExprRef& expr) { return all_vars(expr.get()); }, nb::arg("expr"),
      "Free and bound variables, in order of first mention.");
  m.def(
      "bound_type_vars", [](const ExprRef& expr) { return bound_type_vars(expr.get()); },
      nb::arg("expr"));
  m.def(
      "free_type_vars", [](const ExprRef& expr) { return free_type_vars(expr.get()); },
      nb::arg("expr"));
  m.def(
      "all_type_vars", [](const ExprRef& expr) { return all_type_vars(expr.get()); },
      nb::arg("expr"));
  m.def(
      "all_dtypes", [](const ExprRef& expr) { return all_dtypes(expr.get()); }, nb::arg("expr"),
      "Names of the element types of all sub-expressions that are constants or have a type.");
  m.def(
      "op_frequencies", [](const ExprRef& expr) { return op_frequencies(expr.get()); },
      nb::arg("expr"));
  m.def(
      "op_frequencies", [](const Module& mod) { return op_frequencies(mod); }, nb::arg("mod"),
      "How often each operator is called, by name.");
  m.def(
      "search_fc_transpose", [](const ExprRef& expr) { return search_fc_transpose(expr.get()); },
      nb::arg("expr"), "Names of variables that are transposed to be the weight of nn.dense.");
  m.def(
      "count_layers",
      [](const ExprRef& expr, const std::vector<std::string>& ops) {
        return count_layers(expr.get(), ops);
      },
      nb::arg("expr"), nb::arg("valid_ops"),
      "The most calls of these operators along one path of the dataflow.");
  m.def(
      "total_macs", [](const ExprRef& expr) { return total_macs(expr.get()); }, nb::arg("expr"),
      "Multiply-accumulates of all convolutions and matrix products. Wants types; raises "
      "RelayError where an extent is unknown.");
  m.def(
      "annotated_text",
      [](const Module& mod, const nb::callable& remark) {
        return print_annotated(mod, [&](const Expr*, const Expr* expr) {
          nb::object said = remark(nb::cast(ExprRef(expr)));
          return said.is_none() ? std::string() : nb::cast<std::string>(said);
        });
      },
      nb::arg("mod"), nb::arg("remark"),
      "The module as text, with what `remark` says of each node as a comment after it.");
  m.def("numbers_of_call", &numbers_of_call, nb::arg("call"),
        "The rule for quantised numbers of a call with types, if it multiplies and adds, and if "
        "attributes name its layouts.");
  m.def(
      "detect_features", [](const ExprRef& expr) { return numbers(detect_features(expr.get())); },
      nb::arg("expr"));
  m.def(
      "detect_features", [](const Module& mod) { return numbers(detect_features(mod)); },
      nb::arg("mod"), "Which constructs a program uses, as numbers of `Feature`.");
  m.def("feature_names", [] {
    std::vector<std::string> names;
    for (int i = 0; i < static_cast<int>(Feature::kCount); ++i)
      names.emplace_back(feature_name(static_cast<Feature>(i)));
    return names;
  });
  m.def(
      "in_basic_block_form", [](const ExprRef& expr) { return in_basic_block_form(expr.get()); },
      nb::arg("expr"));
  m.def(
      "unmatched_cases",
      [](const ExprRef& match, const Module& mod, size_t most) {
        const auto* node = match->as<Match>();
        if (node == nullptr) throw nb::type_error("only a match has cases");
        UnmatchedCases found = unmatched_cases(*node, mod, most);
        if (!found.decided && found.examples.empty()) {
          throw Error(
              "it is not decided whether match covers all values: its patterns take too long "
              "to compare",
              node->span());
        }
        return std::move(found.examples);
      },
      nb::arg("match"), nb::arg("mod"), nb::arg("most") = 4,
      "Patterns of values that no clause covers; empty if complete. Raises RelayError where that "
      "takes "
      "too long to decide.");
  m.def(
      "kind_of_type",
      [](const TypeRef& type, const Module& mod) {
        DiagnosticSink sink;
        Kind kind = check_kind(type, mod, sink);
        if (sink.has_errors()) throw Error(sink.take());
        return kind;
      },
      nb::arg("type"), nb::arg("mod"),
      "The kind of a type, checking everything inside. Raises RelayError.");
  nb::class_<CallGraph>(m, "CallGraph", "Which global function refers to which.")
      .def(nb::init<const Module&>(), nb::arg("module"))
      .def(
          "ref_count", [](const CallGraph& self, Name name) { return self.ref_count(name); },
          nb::arg("var"))
      .def(
          "global_call_count",
          [](const CallGraph& self, Name name) { return self.global_call_count(name); },
          nb::arg("var"))
      .def(
          "is_recursive", [](const CallGraph& self, Name name) { return self.is_recursive(name); },
          nb::arg("var"))
      .def(
          "callees", [](const CallGraph& self, Name name) { return self.callees(name); },
          nb::arg("var"))
      .def("reachable", &CallGraph::reachable, nb::arg("names"));
}

}  // namespace relay::python
