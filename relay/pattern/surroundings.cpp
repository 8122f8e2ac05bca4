// Types and limits of matches, and what a match found.
#include <relay/infer/infer.h>
#include <relay/ir/tensor_types.h>
#include <relay/pattern/matcher.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay::pattern {

namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 24;     // of one match
constexpr uint64_t kMostAllSteps = uint64_t{1} << 31;  // of all matches in an expression
constexpr uint64_t kAsk = 1 << 16;                     // steps between looks for Ctrl-C

/// The type of an expression whose nodes get theirs by this; null if it has none.
TypeRef infer(const ExprRef& expr, const Module* module) {
  try {
    return infer_expr_type(expr, module == nullptr ? Module() : *module);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void Surroundings::step(const Expr* root) {
  ++steps_;
  if (++all_steps_ % kAsk == 0) stop_if_asked();
  if (steps_ <= kMostSteps && all_steps_ <= kMostAllSteps) return;
  throw Error(Diagnostic::error("matching this pattern takes too many steps", root->span())
                  .note("alternatives, and operands that may change places, multiply"));
}

const Type* Surroundings::type_of(const Expr* expr) {
  if (expr->type() != nullptr) return expr->type();
  if (const auto* var = expr->as<Var>(); var != nullptr && var->annotation())
    return var->annotation().get();
  if (const auto* constant = expr->as<Constant>()) {
    expr->publish_type(type_of_array(constant->data()));
    return expr->type();
  }
  if (expr->is<Op>() || expr->is<Constructor>()) return nullptr;
  if (!inferred_) {
    inferred_ = true;  // once: it types all nodes, or the expression is wrong
    infer(root_, module_);
  }
  return expr->type();
}

MatchResult::MatchResult(std::span<const Binding> bindings) {
  entries_.reserve(bindings.size());
  for (const Binding& binding : bindings)
    entries_.push_back({DFPatternRef(binding.pattern), ExprRef(binding.expr)});
}

std::vector<ExprRef> MatchResult::nodes(const DFPattern* part) const {
  std::vector<ExprRef> found;
  for (const Entry& entry : entries_) {
    if (entry.pattern.get() == part) found.push_back(entry.expr);
  }
  return found;
}

ExprRef MatchResult::node(const Name& name) const {
  for (const Entry& entry : entries_) {
    if (entry.pattern->name() == name) return entry.expr;
  }
  return {};
}

bool match(const DFPatternRef& pattern, const ExprRef& expr, MatchResult* result,
           const Module* module) {
  CompiledPattern compiled(pattern);
  Surroundings around(expr, module);
  Matcher matcher(around);
  bool fits = matcher.match(compiled, expr.get());
  if (result != nullptr) *result = fits ? MatchResult(matcher.bindings()) : MatchResult();
  return fits;
}

}  // namespace relay::pattern
