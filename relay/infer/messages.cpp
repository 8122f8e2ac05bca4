#include <relay/infer/messages.h>

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
        return BaseType::make(slot.wide ? kInt64 : kInt32);
      case Numeric::kFloat:
        return BaseType::make(kFloat32);
      case Numeric::kAny:
        return IncompleteType::make(0, slot.kind);
    }
    return t;
  };
  std::function<Dim(Dim)> dim = [](Dim d) { return d.has_variable() ? Dim::any() : d; };
  return map_type(known, leaf, dim)->str();
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

void explain(Diagnostic& diagnostic, Solver& solver) {
  const Mismatch& m = solver.mismatch();
  switch (m.why) {
    case Mismatch::Why::kDims:
      if (m.left_dim.has_symbol() || m.right_dim.has_symbol()) {
        diagnostic.note(
            "dimensions " + m.left_dim.str() + " and " + m.right_dim.str() +
            " need not be equal: a named dimension of a parameter is whatever the caller "
            "chooses");
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
                          display(solver, m.right) + " is none",
                      m.left_reason);
      break;
    }
    case Mismatch::Why::kRigid: {
      const Type* rigid = m.left->is<TypeVar>() ? m.left.get() : m.right.get();
      diagnostic.note("the type parameter " + rigid->str() +
                      " stands for whatever the caller chooses");
      break;
    }
    case Mismatch::Why::kArity:
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

Diagnostic type_mismatch(Solver& solver, const std::string& what, const TypeRef& expected,
                         const TypeRef& found, Span span) {
  Diagnostic diagnostic = Diagnostic::error(
      what + ": expected " + display(solver, expected) + ", found " + display(solver, found), span);
  explain(diagnostic, solver);
  return diagnostic;
}

}  // namespace relay::inference
