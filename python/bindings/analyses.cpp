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
#include <relay/print/annotated.h>
#include <relay/program/call_graph.h>
#include <relay/transform/sparse/sparse.h>

namespace relay::python {

namespace {

std::vector<int> numbers(FeatureSet features) {
  std::vector<int> result;
  for (Feature feature : features.list()) result.push_back(static_cast<int>(feature));
  return result;
}

NodeRemark said_by(const nb::callable& remark) {
  return [&remark](const Expr*, const Expr* expr) {
    nb::object said = remark(nb::cast(ExprRef(expr)));
    return said.is_none() ? std::string() : nb::cast<std::string>(said);
  };
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
      [](const Module& mod, const nb::callable& remark, bool values) {
        return print_annotated(mod, said_by(remark), values);
      },
      nb::arg("mod"), nb::arg("remark"), nb::arg("show_meta_data") = true,
      "The module as text, with what `remark` says of each node as a comment after it.");
  m.def(
      "annotated_text",
      [](const ExprRef& expr, const nb::callable& remark, bool values) {
        return print_annotated(expr.get(), said_by(remark), values);
      },
      nb::arg("expr"), nb::arg("remark"), nb::arg("show_meta_data") = true,
      "The expression as text, with what `remark` says of each node as a comment after it.");
  m.def(
      "block_matrix",
      [](const NDArray& matrix, int64_t height, int64_t width) {
        sparse::BlockMatrix made = sparse::block_matrix(matrix, height, width);
        return std::make_tuple(made.elements, made.columns, made.beginnings);
      },
      nb::arg("matrix"), nb::arg("height"), nb::arg("width"),
      "Elements, columns and beginnings of rows of the blocks of a matrix that are not all zeros.");
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
