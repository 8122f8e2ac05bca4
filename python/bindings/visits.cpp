// Walks over expressions, none of which recurses.
#include <bindings/bindings.h>

#include <nanobind/stl/function.h>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay::python {

namespace {

/// No collection of cycles by Python's collector meanwhile.
struct NoCollection {
  bool was_enabled = PyGC_Disable() != 0;
  NoCollection() = default;
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;
  ~NoCollection() {
    if (was_enabled) PyGC_Enable();
  }
};

/// Dataflow below `root` in post-order, up to what `memo` has. Nodes that bind or branch are in the
/// list, what is inside is not.
nb::list pending(const ExprRef& root, nb::dict memo) {
  struct Frame {
    nb::object object;
    const Expr* expr;
    uint32_t next;
  };
  // Each collection would walk all objects of nodes made so far, and find nothing.
  NoCollection no_collection;
  nb::list result;
  PointerSet<Expr> seen;
  std::vector<Frame> stack;
  auto enter = [&](const Expr* expr) {
    if (!seen.insert(expr)) return;
    nb::object object = nb::steal(object_of(expr));
    int known = PyDict_Contains(memo.ptr(), object.ptr());
    if (known < 0) throw nb::python_error();
    if (known == 0) stack.push_back({std::move(object), expr, 0});
  };
  auto dataflow = [](ExprKind kind) {
    return kind == ExprKind::kCall || kind == ExprKind::kTuple || kind == ExprKind::kTupleGetItem ||
           kind == ExprKind::kRefCreate || kind == ExprKind::kRefRead ||
           kind == ExprKind::kRefWrite;
  };
  enter(root.get());
  while (!stack.empty()) {
    Frame& frame = stack.back();
    auto operands = frame.expr->operands();
    if (dataflow(frame.expr->kind()) && frame.next < operands.size()) {
      const Expr* child = operands[frame.next++].get();
      enter(child);
      continue;
    }
    result.append(frame.object);
    stack.pop_back();
  }
  return result;
}

/// The expression rebuilt of what `memo` has for its operands; None if it lacks one.
nb::object rebuild_from(const ExprRef& expr, nb::dict memo) {
  std::vector<ExprRef> operands;
  auto old = expr->operands();
  operands.reserve(old.size());
  bool changed = false;
  for (const ExprRef& operand : old) {
    nb::object key = nb::steal(object_of(operand.get()));
    PyObject* found = PyDict_GetItemWithError(memo.ptr(), key.ptr());
    if (found == nullptr) {
      if (PyErr_Occurred()) throw nb::python_error();
      return nb::none();
    }
    if (found == key.ptr()) {
      operands.push_back(operand);
      continue;
    }
    ExprRef result;
    if (!nb::try_cast(nb::handle(found), result))
      throw nb::type_error("a mutator's memo has a value that is not an expression");
    changed |= result != operand;
    operands.push_back(std::move(result));
  }
  if (!changed) return nb::steal(object_of(static_cast<const Expr*>(expr.get())));
  ExprRef made = rebuild(expr.get(), operands);
  return nb::steal(object_of(static_cast<const Expr*>(made.get())));
}

// The count of one thread: the interpreter's limit, which all threads share, stays.
void add_recursion_room(int frames) {
  PyThreadState* thread = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030C0000
  thread->py_recursion_remaining += frames;
#elif PY_VERSION_HEX >= 0x030B0000
  thread->recursion_remaining += frames;
#else
  thread->recursion_depth -= frames;
#endif
}

}  // namespace

void bind_visits(nb::module_& m) {
  m.def("add_recursion_room", &add_recursion_room, nb::arg("frames"),
        "Lets this thread recurse through so many more frames of Python, or fewer.");
  m.def(
      "post_order",
      [](const ExprRef& root) {
        nb::list nodes;
        post_order(root.get(), [&](const Expr* expr) { nodes.append(nb::steal(object_of(expr))); });
        return nodes;
      },
      nb::arg("expr"), "Every node that can be reached, once, operands before the node.");
  m.def(
      "post_order_visit",
      [](const ExprRef& root, nb::callable visit) {
        post_order(root.get(), [&](const Expr* expr) {
          nb::object object = nb::steal(object_of(expr));
          call_python(visit, {object});
        });
      },
      nb::arg("expr"), nb::arg("fvisit"),
      "Calls `fvisit` with every node that can be reached, once, operands before the node.");
  m.def(
      "rewrite_post_order",
      [](const ExprRef& root, nb::callable rewrite) {
        return rewrite_post_order(root, [&](const Expr* expr, std::span<const ExprRef> operands) {
          ExprRef rebuilt = rebuild(expr, operands);
          nb::object object = nb::steal(object_of(rebuilt.get()));
          nb::object result = call_python(rewrite, {object});
          if (result.is_none()) return rebuilt;
          ExprRef expr_result;
          if (!nb::try_cast(result, expr_result))
            throw nb::type_error(
                "a rewrite gives an expression, or None to keep what it was called with");
          return expr_result;
        });
      },
      nb::arg("expr"), nb::arg("rewrite"),
      "Rewrites from the leaves: `rewrite` is called once with every node, whose operands are "
      "rewritten already, and gives what "
      "stands in its place, or None to keep it. Shared nodes stay shared.");
  m.def(
      "free_vars", [](const ExprRef& expr) { return free_vars(expr.get()); }, nb::arg("expr"),
      "Variables that are used but not bound inside, in order of first visit.");
  m.def(
      "bound_vars", [](const ExprRef& expr) { return bound_vars(expr.get()); }, nb::arg("expr"),
      "Variables that are bound inside, in order of first visit.");
  m.def("pending", &pending, nb::arg("expr"), nb::arg("memo"),
        "The calls, tuples, projections and references that `expr` is built of, and what they "
        "take, operands before the node; "
        "what is in the dictionary `memo` is left out, with what only it takes.");
  m.def("rebuild_from", &rebuild_from, nb::arg("expr"), nb::arg("memo"),
        "The expression rebuilt of what the dictionary `memo` has for its operands, itself when "
        "they are the same objects; None if one "
        "is not there.");
  m.def(
      "let_chain_length",
      [](const ExprRef& expr) {
        size_t length = 0;
        for (const Expr* at = expr.get(); at->is<Let>(); at = at->as<Let>()->body().get()) ++length;
        return length;
      },
      nb::arg("expr"),
      "The number of lets that follow each other from here on, this one included.");
  m.def(
      "count_nodes", [](const ExprRef& expr) { return count_nodes(expr.get()); }, nb::arg("expr"));
  m.def(
      "substitute",
      [](const ExprRef& expr, nb::dict binds) {
        std::unordered_map<const Var*, ExprRef> replacement;
        std::vector<VarRef> kept;
        for (auto [var, value] : binds) {
          VarRef variable;
          ExprRef expr;
          if (!nb::try_cast(var, variable)) throw nb::type_error("only variables can be replaced");
          if (!nb::try_cast(value, expr))
            throw nb::type_error(
                ("the replacement of %" + variable->name().str() + " is not an expression")
                    .c_str());
          kept.push_back(variable);
          replacement.insert_or_assign(kept.back().get(), expr);
        }
        return substitute(expr, replacement);
      },
      nb::arg("expr"), nb::arg("binds"), "The expression with free variables replaced.");
  m.def(
      "copy_with_fresh_vars", [](const ExprRef& expr) { return copy_with_fresh_vars(expr); },
      nb::arg("expr"), "A copy in which every bound variable is a new one.");
}

}  // namespace relay::python
