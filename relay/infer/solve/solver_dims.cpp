// Equations between dimensions (T13–T15), and the common type of two branches.
#include <algorithm>
#include <numeric>
#include <utility>

#include <relay/infer/solve/solver.h>
#include <relay/ir/dim_program.h>
#include <relay/runtime/dim_equations.h>
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

  /// True if no integers make it zero.
  bool never_zero() const {
    int64_t divisor = 0;
    for (const DimTerm::Part& part : parts) divisor = std::gcd(divisor, part.coefficient);
    return divisor == 0 ? constant != 0 : constant % divisor != 0;
  }

  /// True if it is above (below) zero for all values of the dimensions in it.
  bool always_positive() const { return constant > 0 && all_of_sign(1); }
  bool always_negative() const { return constant < 0 && all_of_sign(-1); }

  /// The value of atom i if the whole is zero, or nothing if that is not a linear term with whole
  /// numbers.
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

 private:
  bool all_of_sign(int sign) const {
    return std::all_of(parts.begin(), parts.end(), [&](const DimTerm::Part& part) {
      bool is_dimension = part.atom.is_variable() || part.atom.as_symbol() != nullptr;
      return is_dimension && (part.coefficient > 0) == (sign > 0);
    });
  }
};

}  // namespace

bool Solver::chosen_by_callers(Dim atom) const {
  const TypeVar* symbol = atom.as_symbol();
  return symbol != nullptr && existential_.count(symbol) == 0;
}

bool Solver::unify_dims(Dim first, Dim second) {
  if (first == second) return true;
  Dim a;
  Dim b;
  auto refuted = [&] {
    mismatch_.left_dim = a;
    mismatch_.right_dim = b;
    mismatch_.left_open = first;
    mismatch_.right_open = second;
    return false;
  };
  mismatch_.no_value.clear();
  try {
    a = substitute_solved(first);
    b = substitute_solved(second);
  } catch (const Error& error) {
    a = zonk(first);
    b = zonk(second);
    mismatch_.no_value = error.what();
    return refuted();
  }
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
  Linear linear(difference);
  if (linear.never_zero() || linear.always_positive() || linear.always_negative()) return refuted();
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
    uint32_t id = atom.variable_id();
    if (!lower_dim(*solution, dims_[id].level)) return refuted();
    bind_dim(id, *solution);
    if (!solution->is_int()) told_dims_.push_back({atom, *solution, first, second, span_, {}});
    return true;
  }
  if (has_variable) {
    waiting_dims_.push_back({a, b, first, second, span_, {}});
    retry_dims_ = true;
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
  std::vector<DimEquality> refuted;
  Span outer = span_;
  while (std::exchange(retry_dims_, false)) {
    for (DimEquality& equality : std::exchange(waiting_dims_, {})) {
      Dim a = zonk(equality.a);
      Dim b = zonk(equality.b);
      span_ = equality.span;
      if (a == equality.a && b == equality.b) {
        waiting_dims_.push_back(equality);
      } else if (!unify_dims(equality.open_a, equality.open_b)) {
        refuted.push_back(
            {a, b, equality.open_a, equality.open_b, equality.span, mismatch_.no_value});
      }
    }
    solve_waiting(refuted);
    check_told(refuted);
  }
  span_ = outer;
  return refuted;
}

bool Solver::divide_waiting(uint32_t outer) {
  if (waiting_dims_.empty()) return false;
  bool any = false;
  const Span last = span_;
  for (const DimEquality& equality : std::vector<DimEquality>(waiting_dims_)) {
    const Dim difference = zonk(equality.a) - zonk(equality.b);
    if (difference.is_any()) continue;
    const Linear linear(difference);
    const DimTerm::Part* unknown = nullptr;
    size_t open = 0;
    Dim rest(linear.constant);
    for (const DimTerm::Part& part : linear.parts) {
      if (part.atom.has_variable()) {
        unknown = &part;
        ++open;
      } else {
        rest = rest + Dim(part.coefficient) * part.atom;
      }
    }
    if (open != 1 || !unknown->atom.is_variable() || unknown->coefficient == 0) continue;
    const uint32_t id = unknown->atom.variable_id();
    if (dims_[id].level <= outer) continue;
    const bool negative = unknown->coefficient < 0;
    const Dim value = floor_div(negative ? rest : Dim(0) - rest,
                                Dim(negative ? -unknown->coefficient : unknown->coefficient));
    if (value.is_any() || !lower_dim(value, dims_[id].level)) continue;
    span_ = equality.span;
    bind_dim(id, value);
    any = true;
  }
  span_ = last;
  return any;
}

// Variables that were told in terms of others, as m = 2 - n by n + m = 2.
void Solver::check_told(std::vector<DimEquality>& refuted) {
  std::vector<DimEquality> open;
  for (DimEquality& equality : std::exchange(told_dims_, {})) {
    equality.b = zonk(equality.b);
    if (!equality.b.is_any() && Linear(equality.b).always_negative()) {
      refuted.push_back(equality);
    } else if (equality.b.is_term()) {
      open.push_back(equality);
    }
  }
  told_dims_.insert(told_dims_.end(), open.begin(), open.end());
}

// Equalities in which only variables are left, as n * n = 9.
void Solver::solve_waiting(std::vector<DimEquality>& refuted) {
  std::vector<uint32_t> names;
  std::vector<DimInstruction> code;
  DimProgram program([&](Dim atom) {
    auto name = std::find(names.begin(), names.end(), atom.variable_id());
    auto number = static_cast<uint32_t>(name - names.begin());
    if (name == names.end()) names.push_back(atom.variable_id());
    return DimInstruction{DimCode::kSymbol, number, 0, 0};
  });
  struct Open {
    size_t waiting;
    uint32_t slot;
    int64_t extent;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < waiting_dims_.size(); ++i) {
    Dim a = zonk(waiting_dims_[i].a);
    Dim b = zonk(waiting_dims_[i].b);
    if (a.is_int()) std::swap(a, b);
    Dim term = b.is_int() ? a : a - b;
    bool variables_only = term.has_variable() && !term.is_any();
    for_each_atom(term, [&](Dim atom) { variables_only &= atom.is_variable(); });
    if (!variables_only) continue;
    open.push_back({i, program.slot(term, code), b.is_int() ? b.as_int() : 0});
  }
  if (open.empty()) return;
  DimEquations equations(code, names.size());
  for (size_t i = 0; i < open.size(); ++i) equations.add(open[i].slot, open[i].extent, i);
  if (auto failure = equations.solve(false)) {
    size_t at = open[failure->teller].waiting;
    refuted.push_back(waiting_dims_[at]);
    waiting_dims_.erase(waiting_dims_.begin() + static_cast<ptrdiff_t>(at));
    return;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!equations.value(i)) continue;
    span_ = waiting_dims_[open[equations.teller(i)].waiting].span;
    bind_dim(names[i], Dim(*equations.value(i)));
  }
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
