// Walks over expressions, none of which recurses.
#include <bindings/bindings.h>

#include <nanobind/stl/function.h>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay::python {

void bind_visits(nb::module_& m) {
  m.def("post_order",
        [](const ExprRef& root) {
          nb::list nodes;
          post_order(root.get(), [&](const Expr* expr) { nodes.append(nb::steal(object_of(expr))); });
          return nodes;
        },
        nb::arg("expr"), "Every node that can be reached, once, operands before the node.");
  m.def("post_order_visit",
        [](const ExprRef& root, nb::callable visit) {
          post_order(root.get(), [&](const Expr* expr) { visit(nb::steal(object_of(expr))); });
        },
        nb::arg("expr"), nb::arg("fvisit"), "Calls `fvisit` with every node that can be reached, once, operands before the node.");
  m.def("rewrite_post_order",
        [](const ExprRef& root, nb::callable rewrite) {
          return rewrite_post_order(root, [&](const Expr* expr, std::span<const ExprRef> operands) {
            ExprRef rebuilt = rebuild(expr, operands);
            nb::object result = rewrite(nb::steal(object_of(rebuilt.get())));
            if (result.is_none()) return rebuilt;
            ExprRef expr_result;
            if (!nb::try_cast(result, expr_result))
              throw nb::type_error("a rewrite gives an expression, or None to keep what it was called with");
            return expr_result;
          });
        },
        nb::arg("expr"), nb::arg("rewrite"),
        "Rewrites from the leaves: `rewrite` is called once with every node, whose operands are rewritten already, and gives what "
        "stands in its place, or None to keep it. Shared nodes stay shared.");
  m.def("free_vars", [](const ExprRef& expr) { return free_vars(expr.get()); }, nb::arg("expr"),
        "Variables that are used but not bound inside, in order of first visit.");
  m.def("bound_vars", [](const ExprRef& expr) { return bound_vars(expr.get()); }, nb::arg("expr"),
        "Variables that are bound inside, in order of first visit.");
  m.def("count_nodes", [](const ExprRef& expr) { return count_nodes(expr.get()); }, nb::arg("expr"));
  m.def("substitute",
        [](const ExprRef& expr, nb::dict binds) {
          std::unordered_map<const Var*, ExprRef> replacement;
          std::vector<VarRef> kept;
          for (auto [var, value] : binds) {
            kept.push_back(nb::cast<VarRef>(var));
            replacement.insert_or_assign(kept.back().get(), nb::cast<ExprRef>(value));
          }
          return substitute(expr, replacement);
        },
        nb::arg("expr"), nb::arg("binds"), "The expression with free variables replaced.");
  m.def("copy_with_fresh_vars", [](const ExprRef& expr) { return copy_with_fresh_vars(expr); }, nb::arg("expr"),
        "A copy in which every bound variable is a new one.");
}

}  // namespace relay::python
