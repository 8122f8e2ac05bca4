// Improvement for elementwise relations (T3), as joins of any number of inputs (T9).
#include <algorithm>

#include <relay/infer/messages.h>
#include <relay/infer/solve/constraints.h>

namespace relay::inference {

using Outcome = Constraints::Outcome;

Outcome Constraints::shapes_differ(const Constraint& c, std::span<const TypeRef> shapes) {
  // Name the first two that do not fit; more than two inputs come from merged constraints.
  size_t left = 0;
  size_t right = shapes.size() > 1 ? 1 : 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t j = i + 1; j < shapes.size(); ++j) {
      const auto* a = shapes[i]->as<ShapeType>();
      const auto* b = shapes[j]->as<ShapeType>();
      if (a == nullptr || b == nullptr || broadcast_shapes(a->dims(), b->dims())) continue;
      left = i;
      right = j;
      i = j = shapes.size();
    }
  }
  return fail(c, "the shapes " + shape_str(shapes[left]->as<ShapeType>()->dims()) + " and " +
                     shape_str(shapes[right]->as<ShapeType>()->dims()) + " do not broadcast");
}

Outcome Constraints::no_tensor(const Constraint& c, const TypeRef& found) {
  Name name = c.op != nullptr ? c.op->name() : c.relation->name;
  return fail(c, name.str() + " needs tensors, found " + display(solver_, found));
}

Outcome Constraints::set_output_shape(Constraint& c, const TypeRef& shape) {
  const auto* output = solver_.resolve(c.args.back())->as<TensorType>();
  if (output == nullptr || solver_.unify(output->shape(), shape)) return Outcome::kSolved;
  return fail(c, c.relation->name.str() + " cannot give " + display(solver_, c.args.back()) +
                     ": the result has the shape " + display(solver_, shape));
}

Outcome Constraints::solve_elementwise(Constraint& c, bool compare) {
  size_t inputs = c.args.size() - 1;
  // All are tensors, of one dtype; the result of a comparison is bool.
  TypeRef dtype;
  TypeRef dtype_owner;
  bool rigid = false;
  for (size_t i = 0; i < c.args.size(); ++i) {
    bool is_output = i == inputs;
    if (!c.args[i]) continue;  // an output to be filled in
    TypeRef arg = solver_.resolve(c.args[i]);
    if (is_output && rigid && arg->is<IncompleteType>()) continue;  // may be the declared type
    if (arg->is<IncompleteType>()) {
      uint32_t level = solver_.slot(arg.get()).level;
      TypeRef element = is_output && compare ? BaseType::make(kBool)
                        : dtype              ? dtype
                                             : solver_.fresh_at(level, Kind::kBaseType, c.span);
      TypeRef shape = solver_.fresh_at(level, Kind::kShape, c.span);
      if (!solver_.unify(arg, TensorType::make(shape, element))) {
        return no_tensor(c, arg);
      }
      arg = solver_.resolve(arg);
    }
    if (arg->is<TypeVar>()) {
      rigid = true;
      continue;
    }
    const auto* tensor = arg->as<TensorType>();
    if (tensor == nullptr) return no_tensor(c, arg);
    if (is_output && compare) {
      if (!solver_.unify(tensor->dtype_type(), BaseType::make(kBool))) {
        return fail(c, c.relation->name.str() + " gives bool, where " + display(solver_, arg) +
                           " is needed");
      }
      continue;
    }
    if (!dtype) {
      dtype = tensor->dtype_type();
      dtype_owner = arg;
    } else if (!solver_.unify(dtype, tensor->dtype_type())) {
      Diagnostic reason = Diagnostic::error("");
      explain(reason, solver_);
      return fail(c,
                  "dtypes " + display(solver_, dtype) + " and " +
                      display(solver_, tensor->dtype_type()) + " differ, in " +
                      display(solver_, dtype_owner) + " and " + display(solver_, arg),
                  reason.notes);
    }
  }
  if (rigid) {
    // A declared type: it must be a tensor, which only callers know. For one input with itself, or
    // with numbers, the result is known all the same.
    const TypeRef scalar = ShapeType::make({});
    TypeRef declared;
    bool same = true;
    for (size_t i = 0; i < inputs; ++i) {
      TypeRef arg = solver_.resolve(c.args[i]);
      const auto* tensor = arg->as<TensorType>();
      if (tensor != nullptr && solver_.resolve(tensor->shape()) == scalar) continue;
      same &= !declared || declared == arg;
      declared = std::move(arg);
    }
    if (!declared) declared = c.args[0];  // all are numbers
    if (!c.args[inputs]) {
      c.args[inputs] = same && !compare ? declared : solver_.fresh(Kind::kType, c.span);
    } else if (same && !compare && !solver_.unify(c.args[inputs], declared)) {
      return fail(c, c.relation->name.str() + " cannot give " + display(solver_, c.args[inputs]));
    }
    return Outcome::kWait;
  }
  if (!c.args[inputs]) {
    TypeRef element = compare ? BaseType::make(kBool) : dtype;
    c.args[inputs] = TensorType::make(solver_.fresh(Kind::kShape, c.span), std::move(element));
  }
  std::vector<TypeRef> shapes;
  for (size_t i = 0; i < inputs; ++i) {
    shapes.push_back(solver_.zonk(solver_.resolve(c.args[i])->as<TensorType>()->shape()));
  }
  return solve_shapes(c, std::move(shapes));
}

Outcome Constraints::solve_shapes(Constraint& c, std::vector<TypeRef> shapes) {
  const TypeRef scalar = ShapeType::make({});
  // Idempotent, with () as its unit.
  std::vector<TypeRef> distinct;
  for (TypeRef& shape : shapes) {
    if (shape == scalar) continue;
    if (std::find(distinct.begin(), distinct.end(), shape) == distinct.end()) {
      distinct.push_back(std::move(shape));
    }
  }
  if (distinct.empty()) return set_output_shape(c, scalar);
  if (distinct.size() == 1) return set_output_shape(c, distinct[0]);
  TypeRef result = solver_.zonk(solver_.resolve(c.args.back())->as<TensorType>()->shape());
  if (result == scalar) {
    for (const TypeRef& shape : distinct) {
      if (!solver_.unify(shape, scalar)) {
        return fail(c, c.relation->name.str() + " cannot give a scalar from the shape " +
                           display(solver_, shape));
      }
    }
    return Outcome::kSolved;
  }
  bool known = std::all_of(distinct.begin(), distinct.end(),
                           [](const TypeRef& shape) { return shape->is<ShapeType>(); });
  if (known) return broadcast_dims(c, distinct);
  // Only ones against an unknown, and a result that the ones cannot have made: the unknown made it.
  if (distinct.size() == 2 && result->is<ShapeType>()) {
    size_t which = distinct[0]->is<ShapeType>() ? 0 : 1;
    const auto* ones = distinct[which]->as<ShapeType>();
    auto dims = result->as<ShapeType>()->dims();
    if (ones != nullptr &&
        std::all_of(ones->dims().begin(), ones->dims().end(), [](Dim d) { return d.is_int(1); }) &&
        (dims.size() > ones->dims().size() || (dims[0].is_int() && !dims[0].is_int(1)))) {
      if (solver_.unify(distinct[1 - which], result)) return Outcome::kSolved;
      return fail(c, c.relation->name.str() + " cannot give " + display(solver_, c.args.back()));
    }
  }
  // Known shapes that contradict each other are an error whatever the others turn out to be.
  std::vector<TypeRef> fixed;
  for (const TypeRef& shape : distinct) {
    if (shape->is<ShapeType>()) fixed.push_back(shape);
  }
  for (size_t i = 0; i + 1 < fixed.size(); ++i) {
    for (size_t j = i + 1; j < fixed.size(); ++j) {
      if (!broadcast_shapes(fixed[i]->as<ShapeType>()->dims(), fixed[j]->as<ShapeType>()->dims())) {
        return shapes_differ(c, fixed);
      }
    }
  }
  return Outcome::kWait;
}

Outcome Constraints::broadcast_dims(Constraint& c, std::span<const TypeRef> shapes) {
  size_t rank = 0;
  for (const TypeRef& shape : shapes) rank = std::max(rank, shape->as<ShapeType>()->dims().size());
  TypeRef known_result = solver_.zonk(solver_.resolve(c.args.back())->as<TensorType>()->shape());
  const auto* expected = known_result->as<ShapeType>();
  if (expected != nullptr && expected->dims().size() != rank) expected = nullptr;
  std::vector<Dim> result(rank);
  bool wait = false;
  for (size_t i = 0; i < rank; ++i) {
    std::vector<Dim> dims;  // distinct, without 1
    Dim extent(1);
    for (const TypeRef& shape : shapes) {
      auto all = shape->as<ShapeType>()->dims();
      if (all.size() + i < rank) continue;
      Dim d = all[all.size() + i - rank];
      if (d.is_int(1) || std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
      if (d.is_int() && extent.is_int(1)) {
        extent = d;
      } else if (d.is_int()) {
        return shapes_differ(c, shapes);
      }
      dims.push_back(d);
    }
    bool variable = std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.has_variable(); });
    if (dims.empty() || !extent.is_int(1)) {
      result[i] = extent;  // a known k ≠ 1 decides the result;
      wait |= variable;    // an unknown against it stays in {1, k}
    } else if (dims.size() == 1) {
      result[i] = dims[0];
    } else if (variable) {
      result[i] = expected != nullptr ? expected->dims()[i] : solver_.fresh_dim();
      wait = true;
    } else {
      result[i] = dims[0];
      for (Dim d : dims) {
        std::optional<Dim> joined = broadcast(result[i], d);
        if (!joined) return shapes_differ(c, shapes);
        result[i] = *joined;
      }
    }
  }
  Outcome outcome = set_output_shape(c, ShapeType::make(result));
  return outcome == Outcome::kSolved && wait ? Outcome::kWait : outcome;
}

Outcome Constraints::solve_identity(Constraint& c) {
  size_t inputs = c.args.size() - 1;
  TypeRef first = solver_.resolve(c.args[0]);
  if (first->is<IncompleteType>()) {
    uint32_t level = solver_.slot(first.get()).level;
    TypeRef tensor = TensorType::make(solver_.fresh_at(level, Kind::kShape, c.span),
                                      solver_.fresh_at(level, Kind::kBaseType, c.span));
    // Cannot fail unless a numeric or an occurs check does, which a fresh tensor type passes.
    if (!solver_.unify(first, tensor)) return Outcome::kFailed;
    first = solver_.resolve(first);
  }
  if (!first->is<TensorType>() && !first->is<TypeVar>()) {
    return fail(c, c.relation->name.str() + " needs a tensor, found " + display(solver_, first));
  }
  if (!c.args[inputs]) c.args[inputs] = c.args[0];
  for (size_t i = 1; i < c.args.size(); ++i) {
    if (!solver_.unify(c.args[0], c.args[i])) {
      return fail(c, c.relation->name.str() + " cannot hold for " + display(solver_, c.args[0]) +
                         " and " + display(solver_, c.args[i]));
    }
  }
  return first->is<TypeVar>() ? Outcome::kWait : Outcome::kSolved;
}

}  // namespace relay::inference
