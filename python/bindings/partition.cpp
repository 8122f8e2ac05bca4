// Partitioning: tables of patterns, what code generators take, regions.
#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/passes.h>

#include <nanobind/stl/shared_ptr.h>

#include <relay/analysis/regions.h>
#include <relay/support/error.h>
#include <relay/transform/annotate_target.h>
#include <relay/transform/merge_composite.h>

namespace relay::python {

namespace {

/// The answer of a Python function about an expression.
bool answer(const Callable& call, const std::string& pass,
            std::initializer_list<nb::handle> given) {
  nb::object said = run_pass_part([&] { return "in pass " + pass; }, false,
                                  [&] { return call_python(*call, given); });
  const int truth = PyObject_IsTrue(said.ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

// Entries are tuples (name, pattern, check or None).
nb::object merge_composite(nb::list table) {
  std::vector<CompositePattern> entries;
  nb::list kept;
  for (nb::handle item : table) {
    auto entry = nb::cast<nb::tuple>(item);
    CompositePattern made{nb::cast<std::string>(entry[0]), nb::cast<DFPatternRef>(entry[1]), {}};
    if (!entry[2].is_none()) {
      nb::object check = entry[2];
      kept.append(check);
      made.check = [call = Callable(check)](const ExprRef& root) {
        Locked gil;
        nb::object expr = nb::cast(root);
        return answer(call, "MergeComposite", {expr});
      };
    }
    entries.push_back(std::move(made));
  }
  nb::object pass =
      nb::cast(std::const_pointer_cast<Pass>(make_merge_composite(std::move(entries))));
  keep(pass, kept);
  return pass;
}

nb::object merge_composite_text(std::string text) {
  return nb::cast(std::const_pointer_cast<Pass>(
      make_merge_composite(parse_pattern_table("pattern_table", std::move(text)))));
}

nb::object annotate_target(std::vector<std::string> targets, bool include_non_call_ops,
                           nb::callable supports) {
  AnnotateTargetOptions options;
  options.targets = std::move(targets);
  options.include_non_call_ops = include_non_call_ops;
  options.supports = [call = Callable(supports)](const std::string& target, const ExprRef& expr) {
    Locked gil;
    nb::object name = nb::cast(target), node = nb::cast(expr);
    return answer(call, "AnnotateTarget", {name, node});
  };
  nb::object pass =
      nb::cast(std::const_pointer_cast<Pass>(make_annotate_target(std::move(options))));
  keep(pass, supports);
  return pass;
}

// (id, target, nodes, begins, ends) of each region.
nb::list annotated_regions(const ExprRef& expr, const std::string& begin, const std::string& end) {
  const View view(expr);
  AnnotatedRegions::Options options{find_op(begin), find_op(end), {}};
  if (options.begin == nullptr || options.end == nullptr)
    throw Error("there is no operator " + (options.begin == nullptr ? begin : end));
  AnnotatedRegions regions(view, nullptr, options);
  nb::list result;
  for (const AnnotatedRegion& region : regions.list()) {
    auto exprs = [&](const std::vector<uint32_t>& ids) {
      nb::list list;
      for (uint32_t id : ids) list.append(nb::cast(ExprRef(view.expr(id))));
      return list;
    };
    result.append(nb::make_tuple(region.id, region.target, exprs(region.nodes),
                                 exprs(region.begins), exprs(region.ends)));
  }
  return result;
}

}  // namespace

void bind_partition(nb::module_& m) {
  m.def("merge_composite", &merge_composite, nb::arg("table"),
        "relay.transform.MergeComposite is the public form.");
  m.def("merge_composite_text", &merge_composite_text, nb::arg("text"));
  m.def("annotate_target", &annotate_target, nb::arg("targets"), nb::arg("include_non_call_ops"),
        nb::arg("supports"), "relay.transform.AnnotateTarget is the public form.");
  m.def("annotated_regions", &annotated_regions, nb::arg("expr"), nb::arg("begin"), nb::arg("end"),
        "relay.analysis.AnnotatedRegionSet is the public form.");
}

}  // namespace relay::python
