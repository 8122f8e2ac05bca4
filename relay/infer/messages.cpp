#include <relay/infer/messages.h>

#include <algorithm>
#include <utility>

#include <relay/infer/type_walk.h>
#include <relay/print/print.h>

namespace relay::inference {

std::string display(Solver& solver, const TypeRef& type) {
  TypeRef known = solver.zonk(type);
  std::function<TypeRef(const TypeRef&)> leaf = [&](const TypeRef& t) -> TypeRef {
    if (!t->is<IncompleteType>() || t->as<IncompleteType>()->id() == 0) return t;
    const Slot& slot = solver.slot(t.get());
    switch (slot.numeric) {
      case Numeric::kNum:
      case Numeric::kFloat:
        return BaseType::make(default_dtype(slot.numeric, slot.wide));
      case Numeric::kAny:
        return IncompleteType::make(0, slot.kind);
    }
    return t;
  };
  std::function<Dim(Dim)> dim = [](Dim d) { return d.has_variable() ? Dim::any() : d; };
  return map_type(known, leaf, dim)->str();
}

namespace {

// A dimension as it was written: with the names that variables are instances of.
Dim with_names(Solver& solver, Dim dim) {
  return substitute(dim, [&](Dim atom) -> Dim {
    if (!atom.is_variable()) return atom;
    const DimSlot& slot = solver.dim_slot(atom.variable_id());
    if (slot.name != nullptr) return Dim::symbol(slot.name);
    return slot.solved ? with_names(solver, slot.binding) : Dim::any();
  });
}

// "n = 4"; empty if it is not decided.
std::string value_text(Solver& solver, uint32_t variable) {
  Dim value = solver.zonk(Dim::variable(variable));
  if (value.has_variable() || value.is_any()) return {};
  std::string name = solver.dim_slot(variable).name->name().str();
  std::string text = value.str();
  return name + " = " + (text == name ? "the caller's " : "") + text;
}

std::string dim_text(Solver& solver, Dim dim) { return with_names(solver, dim).str(); }

void add_named(Solver& solver, Dim dim, std::vector<uint32_t>& found) {
  for_each_atom(dim, [&](Dim atom) {
    if (!atom.is_variable()) return;
    uint32_t id = atom.variable_id();
    const DimSlot& slot = solver.dim_slot(id);
    if (slot.name == nullptr) {
      if (slot.solved) add_named(solver, slot.binding, found);
    } else if (std::find(found.begin(), found.end(), id) == found.end()) {
      found.push_back(id);
    }
  });
}

// The named dimensions inside that have a value.
std::vector<uint32_t> named_dims(Solver& solver, Dim dim) {
  std::vector<uint32_t> found;
  add_named(solver, dim, found);
  std::erase_if(found, [&](uint32_t id) { return value_text(solver, id).empty(); });
  return found;
}

bool mentions(const TypeRef& type, uint32_t variable) {
  bool found = false;
  auto visit = [&](const Type* part) {
    for_each_dim(part, [&](Dim dim) {
      for_each_atom(dim, [&](Dim atom) { found |= atom == Dim::variable(variable); });
    });
    return !found && part->has_incomplete();
  };
  walk_type(type.get(), visit);
  return found;
}

}  // namespace

std::string display_named(Solver& solver, const TypeRef& type) {
  std::vector<uint32_t> names;
  std::function<TypeRef(const TypeRef&)> leaf = [](const TypeRef& t) { return t; };
  std::function<Dim(Dim)> dim = [&](Dim d) {
    add_named(solver, d, names);
    return with_names(solver, d);
  };
  std::string text = display(solver, map_type(type, leaf, dim));
  const char* join = " where ";
  for (uint32_t id : names) {
    std::string value = value_text(solver, id);
    if (value.empty()) continue;
    text += join + value;
    join = ", ";
  }
  return text;
}

std::string source_text(Span span, size_t width) {
  std::shared_ptr<const Source> source = span.known() ? SourceMap::find(span) : nullptr;
  if (source == nullptr) return {};
  std::string_view text = source->text().substr(span.begin() - source->base(), span.length());
  std::string line;
  for (char c : text) {
    bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank && (line.empty() || line.back() == ' ')) continue;
    line += blank ? ' ' : c;
    if (line.size() > width) return {};
  }
  return line;
}

std::string source_text(const Expr* expr, size_t width) {
  if (const auto* var = expr->as<Var>()) return "%" + var->name().str();
  if (const auto* constructor = expr->as<Constructor>()) return constructor->name().str();
  std::string text = source_text(expr->span(), width);
  return text.empty() ? print_short(expr, width) : text;
}

Span use_span(const Expr* operand, const Expr* user) {
  bool shared_name = operand->is<Var>() || operand->is<Op>() || operand->is<Constructor>();
  return (shared_name || !operand->span().known()) && user->span().known() ? user->span()
                                                                           : operand->span();
}

const Expr* tail(const Expr* expr) {
  while (const auto* let = expr->as<Let>()) expr = let->body().get();
  return expr;
}

std::string numeric_name(Numeric numeric) {
  return numeric == Numeric::kFloat ? "a float dtype" : "a numeric dtype";
}

namespace {

// The rule that a failed unification breaks.
const char* rule_of(const Mismatch& m) {
  switch (m.why) {
    case Mismatch::Why::kDims: {
      auto is_name = [](Dim dim) { return dim.as_symbol() != nullptr; };
      if (is_name(m.left_dim) || is_name(m.right_dim)) return "T13";
      const bool open = m.left_open.has_variable() || m.right_open.has_variable() ||
                        m.left_dim.has_symbol() || m.right_dim.has_symbol();
      return open ? "T14" : "T1";
    }
    case Mismatch::Why::kNumeric:
      return "T4";
    case Mismatch::Why::kRigid:
    case Mismatch::Why::kEscape:
      return "T10";
    default:
      return "T1";
  }
}

}  // namespace

void explain(Diagnostic& diagnostic, Solver& solver) {
  const Mismatch& m = solver.mismatch();
  diagnostic.of_rule(rule_of(m));
  switch (m.why) {
    case Mismatch::Why::kDims:
      if (!m.no_value.empty()) {
        diagnostic.note(m.no_value);
        break;
      }
      if (Dim name = m.left_dim.as_symbol() != nullptr ? m.left_dim : m.right_dim,
          other = name == m.left_dim ? m.right_dim : m.left_dim;
          name.as_symbol() != nullptr && (other.is_int() || other.as_symbol() != nullptr)) {
        diagnostic.note("this requires " + name.str() + " = " + other.str() +
                        ": a named dimension of a parameter is whatever the caller chooses");
      } else if (m.left_dim.has_symbol() || m.right_dim.has_symbol()) {
        diagnostic.note(
            "dimensions " + dim_text(solver, m.left_dim) + " and " + dim_text(solver, m.right_dim) +
            " need not be equal: a named dimension of a parameter is whatever the caller "
            "chooses");
      } else if (m.left_dim.has_variable() || m.right_dim.has_variable()) {
        diagnostic.note("no whole number ≥ 0 makes " + dim_text(solver, m.left_dim) + " equal to " +
                        dim_text(solver, m.right_dim));
      } else {
        diagnostic.note("dimensions " + m.left_dim.str() + " and " + m.right_dim.str() + " differ");
      }
      break;
    case Mismatch::Why::kOccurs:
      diagnostic.note("a type would contain itself: " + display(solver, m.right));
      break;
    case Mismatch::Why::kEscape:
      diagnostic.note("a type parameter would leave its function, in " + display(solver, m.right));
      break;
    case Mismatch::Why::kNumeric: {
      const Numeric numeric =
          m.left->is<IncompleteType>() ? solver.slot(m.left.get()).numeric : Numeric::kNum;
      diagnostic.note("the literal needs " + numeric_name(numeric) + ", and " +
                          display(solver, m.right) + " is not one",
                      m.left_reason == diagnostic.span ? Span() : m.left_reason);
      break;
    }
    case Mismatch::Why::kRigid: {
      const Type* rigid = m.left->is<TypeVar>() ? m.left.get() : m.right.get();
      diagnostic.note("the type parameter " + rigid->str() +
                      " stands for whatever the caller chooses");
      break;
    }
    case Mismatch::Why::kArity:
      if (m.left->is<FuncType>() && m.right->is<FuncType>()) {
        diagnostic.note("the numbers of parameters differ: " +
                        std::to_string(m.left->as<FuncType>()->params().size()) + " and " +
                        std::to_string(m.right->as<FuncType>()->params().size()));
      }
      [[fallthrough]];
    case Mismatch::Why::kTypes:
    case Mismatch::Why::kKind:
      if (m.left && m.left_reason.known()) {
        diagnostic.note(display(solver, m.left) + " was decided here", m.left_reason);
      }
      if (m.right && m.right_reason.known()) {
        diagnostic.note(display(solver, m.right) + " was decided here", m.right_reason);
      }
      break;
  }
}

void note_names(Diagnostic& diagnostic, Solver& solver, std::span<const TypeRef> params,
                const std::function<DiagnosticNote(size_t i)>& argument) {
  const Mismatch& m = solver.mismatch();
  if (m.why != Mismatch::Why::kDims) return;
  std::vector<uint32_t> names = named_dims(solver, m.left_open);
  if (names.empty()) names = named_dims(solver, m.right_open);
  for (uint32_t id : names) {
    auto maker = std::find_if(params.begin(), params.end(),
                              [&](const TypeRef& param) { return mentions(param, id); });
    if (maker == params.end()) continue;
    DiagnosticNote note = argument(static_cast<size_t>(maker - params.begin()));
    note.message = value_text(solver, id) + " by " + note.message;
    diagnostic.notes.push_back(std::move(note));
  }
}

Diagnostic dims_mismatch(Solver& solver, const Solver::DimEquality& equality) {
  Dim a = equality.open_a;
  Dim b = equality.open_b;
  if (a.is_int() || (named_dims(solver, a).empty() && !b.is_int())) std::swap(a, b);
  std::vector<uint32_t> names = named_dims(solver, a);
  std::string expected = dim_text(solver, a);
  Dim value = solver.zonk(a);
  Dim wanted = solver.zonk(b);
  std::string found = dim_text(solver, wanted);
  std::string message;
  if (value == wanted || value.has_variable() || wanted.has_variable()) {
    // All of it can be equal, but not where no dimension is below 0, or none fits.
    std::erase_if(names, [&](uint32_t id) {
      Dim known = solver.zonk(Dim::variable(id));
      return known.is_int() && known.as_int() < 0;
    });
    message = "no whole number ≥ 0 makes " + expected + " equal to " + found;
    const char* join = " where ";
    for (uint32_t id : names) {
      message += join + value_text(solver, id);
      join = ", ";
    }
  } else if (names.empty()) {
    message = "dimensions " + expected + " and " + found + " cannot be equal";
  } else {
    message = "dimension " + expected + " is " + dim_text(solver, value) + " here, found " + found;
  }
  if (!equality.no_value.empty()) message = "dimension " + expected + ": " + equality.no_value;
  Diagnostic diagnostic = Diagnostic::error(message, equality.span).of_rule("T14");
  for (uint32_t id : names) {
    diagnostic.note(value_text(solver, id) + " by this", solver.dim_slot(id).reason);
  }
  return diagnostic;
}

Diagnostic type_mismatch(Solver& solver, const std::string& what, const TypeRef& expected,
                         const TypeRef& found, Span span) {
  Diagnostic diagnostic = Diagnostic::error(
      what + ": expected " + display_named(solver, expected) + ", found " + display(solver, found),
      span);
  explain(diagnostic, solver);
  return diagnostic.of_rule("T1");
}

}  // namespace relay::inference
