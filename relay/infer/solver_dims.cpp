// Equations between dimensions (T13–T15), and the common type of two branches.
#include <algorithm>
#include <numeric>
#include <utility>

#include <relay/infer/solver.h>
#include <relay/support/error.h>

namespace relay::inference {

namespace {

/// constant + sum of coefficient * atom.
struct Linear {
  int64_t constant = 0;
  std::vector<DimTerm::Part> parts;

  explicit Linear(Dim dim) {
    if (dim.is_int()) {
      constant = dim.as_int();
    } else if (dim.is_term() && dim.term().op == DimOp::kLinear) {
      constant = dim.term().constant;
      parts = dim.term().parts;
    } else {
      parts.push_back({1, dim});
    }
  }

  /// Whether no integers make it zero.
  bool never_zero() const {
    int64_t divisor = 0;
    for (const DimTerm::Part& part : parts) divisor = std::gcd(divisor, part.coefficient);
    return divisor == 0 ? constant != 0 : constant % divisor != 0;
  }

  /// What atom i is where it is zero, or nothing if that is no linear term with whole numbers.
  std::optional<Dim> solve(size_t i) const {
    int64_t divisor = parts[i].coefficient;
    if (constant % divisor != 0) return std::nullopt;
    Dim solution(-(constant / divisor));
    for (size_t j = 0; j < parts.size(); ++j) {
      if (j == i) continue;
      if (parts[j].coefficient % divisor != 0) return std::nullopt;
      solution = solution - Dim(parts[j].coefficient / divisor) * parts[j].atom;
    }
    return solution;
  }
};

}  // namespace

bool Solver::chosen_by_callers(Dim atom) const {
  const TypeVar* symbol = atom.as_symbol();
  return symbol != nullptr && existential_.count(symbol) == 0;
}

bool Solver::unify_dims(Dim first, Dim second) {
  if (first == second) return true;
  Dim a = zonk(first);
  Dim b = zonk(second);
  if (a == b) return true;
  if (a.is_any() || b.is_any()) {
    Dim other = a.is_any() ? b : a;
    if (other.is_variable() && !dims_[other.variable_id()].met_any) {
      dims_[other.variable_id()].met_any = true;
      any_dims_.push_back(other.variable_id());
    }
    return true;
  }
  Dim difference = a - b;
  if (difference.is_any()) return true;  // a `?` inside a term: checked at run time
  auto refuted = [&] {
    mismatch_.left_dim = a;
    mismatch_.right_dim = b;
    mismatch_.left_open = first;
    mismatch_.right_open = second;
    return false;
  };
  Linear linear(difference);
  if (linear.never_zero()) return refuted();
  bool has_variable = false;
  bool universal = true;  // every atom is a declared dimension, which may be anything
  for (size_t i = 0; i < linear.parts.size(); ++i) {
    Dim atom = linear.parts[i].atom;
    has_variable |= atom.has_variable();
    universal &= chosen_by_callers(atom);
    if (!atom.is_variable()) continue;
    bool elsewhere = false;  // inside an opaque term
    for (size_t j = 0; j < linear.parts.size(); ++j) {
      if (j == i) continue;
      for_each_atom(linear.parts[j].atom, [&](Dim inner) { elsewhere |= inner == atom; });
    }
    std::optional<Dim> solution = elsewhere ? std::nullopt : linear.solve(i);
    if (!solution) continue;
    if (solution->is_int() && solution->as_int() < 0) return refuted();
    uint32_t id = atom.variable_id();
    if (!lower_dim(*solution, dims_[id].level)) return refuted();
    bind_dim(id, *solution);
    return true;
  }
  if (has_variable) {
    waiting_dims_.push_back({a, b, first, second, span_});
    return true;
  }
  // T13: a body cannot choose a declared dimension. T14: anything else is checked at run time.
  return universal ? refuted() : true;
}

void Solver::check(Dim a, Dim b, const std::string& message) {
  Dim difference = a - b;
  if (difference.is_any()) return;
  Linear linear(difference);
  bool universal =
      std::all_of(linear.parts.begin(), linear.parts.end(),
                  [&](const DimTerm::Part& part) { return chosen_by_callers(part.atom); });
  if (!universal && !linear.never_zero()) return;
  required_ = Requirement{a, b};
  for (size_t i = 0; i < linear.parts.size(); ++i) {
    std::optional<Dim> solution = linear.solve(i);
    if (!solution) continue;
    required_ = Requirement{linear.parts[i].atom, *solution};
    break;
  }
  throw Error(message);
}

std::optional<Solver::Requirement> Solver::take_requirement() {
  return std::exchange(required_, std::nullopt);
}

std::vector<Solver::DimEquality> Solver::retry_dims() {
  std::vector<DimEquality> waiting;
  std::vector<DimEquality> refuted;
  if (!std::exchange(retry_dims_, false)) return refuted;
  waiting.swap(waiting_dims_);
  for (DimEquality& equality : waiting) {
    Dim a = zonk(equality.a);
    Dim b = zonk(equality.b);
    if (a == equality.a && b == equality.b) {
      waiting_dims_.push_back(equality);
    } else if (!unify_dims(equality.open_a, equality.open_b)) {
      refuted.push_back({a, b, equality.open_a, equality.open_b, equality.span});
    }
  }
  return refuted;
}

void Solver::settle_any() {
  for (uint32_t id : any_dims_) {
    if (!dims_[id].solved) bind_dim(id, Dim::any());
  }
  any_dims_.clear();
}

// ---- Joins (T15) ------------------------------------------------------------------------------

TypeRef Solver::join(const TypeRef& a, const TypeRef& b) {
  if (a == b) return a;
  if (any_failed_ && is_failed(a)) return b;
  if (!unify(a, b)) return {};
  TypeRef x = zonk(a);
  TypeRef y = zonk(b);
  if (x == y || (!x->has_any_dim() && !y->has_any_dim())) return x;
  return join_known(x, y);
}

TypeRef Solver::join_known(const TypeRef& a, const TypeRef& b) {
  if (a == b || a->tag() != b->tag()) return a;
  switch (a->tag()) {
    case TypeTag::kTensor:
      return TensorType::make(
          join_known(a->as<TensorType>()->shape(), b->as<TensorType>()->shape()),
          a->as<TensorType>()->dtype_type());
    case TypeTag::kShape: {
      auto x = a->as<ShapeType>()->dims();
      auto y = b->as<ShapeType>()->dims();
      std::vector<Dim> dims(x.begin(), x.end());
      for (size_t i = 0; i < dims.size() && i < y.size(); ++i) {
        if (y[i].is_any()) dims[i] = y[i];
      }
      return ShapeType::make(dims);
    }
    case TypeTag::kTuple: {
      auto x = a->as<TupleType>()->fields();
      auto y = b->as<TupleType>()->fields();
      std::vector<TypeRef> fields;
      for (size_t i = 0; i < x.size(); ++i) fields.push_back(join_known(x[i], y[i]));
      return TupleType::make(std::move(fields));
    }
    case TypeTag::kCall: {
      auto x = a->as<TypeCall>()->args();
      auto y = b->as<TypeCall>()->args();
      std::vector<TypeRef> args;
      for (size_t i = 0; i < x.size(); ++i) args.push_back(join_known(x[i], y[i]));
      return TypeCall::make(a->as<TypeCall>()->callee(), std::move(args));
    }
    case TypeTag::kFunc: {
      const auto* x = a->as<FuncType>();
      if (x->is_scheme()) return a;
      return FuncType::make({x->params().begin(), x->params().end()},
                            join_known(x->result(), b->as<FuncType>()->result()));
    }
    default:
      return a;
  }
}

}  // namespace relay::inference
