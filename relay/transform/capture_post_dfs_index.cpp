// CapturePostDfsIndexInSpans: the numbers of nodes, as places.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

// A copy of a function whose nodes have other places.
class Respanner final : public Rewriter {
 public:
  Respanner(const View& view, const std::vector<Span>& spans) : view_(view), spans_(spans) {
    for (uint32_t id = 0; id < view.size(); ++id) {
      const auto* var = view.expr(id)->as<Var>();
      if (var != nullptr) vars_[var] = make_var(var->name(), var->annotation(), spans[id]);
    }
  }

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* var = expr->as<Var>();
    return var == nullptr ? ExprRef() : ExprRef(vars_.at(var));
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const Span span = spans_[view_.id(expr)];
    switch (expr->kind()) {
      case ExprKind::kGlobalVar:
        return make_global_var(static_cast<const GlobalVar*>(expr)->name(), span);
      case ExprKind::kConstant:
        return make_constant(static_cast<const Constant*>(expr)->data(), span);
      case ExprKind::kLiteral:
        return make_literal(static_cast<const Literal*>(expr)->value(), span);
      case ExprKind::kTuple:
        return make_tuple(operands, span);
      case ExprKind::kTupleGetItem:
        return make_projection(operands[0], static_cast<const TupleGetItem*>(expr)->index(), span);
      case ExprKind::kCall: {
        const auto& call = static_cast<const Call&>(*expr);
        return make_call(operands[0], operands.subspan(1), call.attrs(), call.type_args(), span);
      }
      case ExprKind::kLet:
        return make_let(vars_.at(static_cast<const Let*>(expr)->var().get()), operands[0],
                        operands[1], span);
      case ExprKind::kIf:
        return make_if(operands[0], operands[1], operands[2], span);
      case ExprKind::kMatch: {
        const auto& match = static_cast<const Match&>(*expr);
        std::vector<PatternRef> patterns;
        for (const PatternRef& pattern : match.patterns()) patterns.push_back(copy(*pattern));
        return make_match(operands[0], std::move(patterns), operands.subspan(1), match.complete(),
                          span);
      }
      case ExprKind::kRefCreate:
        return make_ref_create(operands[0], span);
      case ExprKind::kRefRead:
        return make_ref_read(operands[0], span);
      case ExprKind::kRefWrite:
        return make_ref_write(operands[0], operands[1], span);
      case ExprKind::kFunction: {
        const auto& function = static_cast<const Function&>(*expr);
        std::vector<VarRef> params;
        for (const VarRef& param : function.params()) params.push_back(vars_.at(param.get()));
        return make_function(std::move(params), operands[0], function.ret_type(),
                             function.type_params(), function.constraints(), function.attrs(),
                             span);
      }
      default:
        return ExprRef(expr);  // one node stands for all uses of an operator or constructor
    }
  }

  // As deep as patterns are, which is bounded.
  PatternRef copy(const Pattern& pattern) const {
    if (pattern.kind() == PatternKind::kWildcard) return Pattern::wildcard(pattern.span());
    if (pattern.kind() == PatternKind::kVar)
      return Pattern::var(vars_.at(pattern.var().get()), pattern.span());
    std::vector<PatternRef> fields;
    for (const PatternRef& field : pattern.fields()) fields.push_back(copy(*field));
    return pattern.kind() == PatternKind::kTuple
               ? Pattern::tuple(std::move(fields), pattern.span())
               : Pattern::constructor(pattern.constructor(), std::move(fields), pattern.span());
  }

  const View& view_;
  const std::vector<Span>& spans_;
  PointerMap<Var, VarRef> vars_;
};

// The names of places, one at a time.
class Places {
 public:
  explicit Places(const View& view) : dominators_(view.post_dominators()) {
    std::copy(kHead.begin(), kHead.end(), text_.begin());
  }
  std::string_view place(uint32_t id) {
    // The last node is dominated by none, which TVM says by -1.
    const uint32_t dominator = dominators_.parent(id);
    char* const end = text_.data() + text_.size();
    char* at = std::to_chars(text_.data() + kHead.size(), end, id).ptr;
    *at++ = ':';
    at = std::to_chars(at, end, dominator == View::kNone ? int64_t{-1} : int64_t{dominator}).ptr;
    return {text_.data(), static_cast<size_t>(at - text_.data())};
  }

 private:
  static constexpr std::string_view kHead = "index:";
  const Dominators& dominators_;
  std::array<char, 64> text_{};
};

// True if every node has its place. The places of a function are sources one behind the other, and
// the module holds them in order.
bool is_captured(const View& view, const Module& module) {
  const auto& sources = module.sources();
  auto before = [](const auto& source, uint64_t begin) { return source->base() < begin; };
  const uint64_t begin = view.root()->span().begin();
  auto at = std::lower_bound(sources.begin(), sources.end(), begin, before);
  if (at - sources.begin() + 1 < static_cast<ptrdiff_t>(view.size())) return false;
  at -= view.size() - 1;
  Places places(view);
  for (uint32_t id = 0; id < view.size(); ++id, ++at) {
    if (at == sources.end() || (*at)->name() != places.place(id)) return false;
    // One node stands for all uses of an operator or constructor.
    if (view.kind(id) == ExprKind::kOp || view.kind(id) == ExprKind::kConstructor) continue;
    if (view.expr(id)->span().begin() != (*at)->base()) return false;
  }
  return true;
}

Module capture(const Module& module, const PassContext&) {
  const Program program = program_of(module);
  Module result = module;
  for (const Module::FunctionEntry& entry : module.functions()) {
    const View& view = program.view(entry.function);
    if (is_captured(view, module)) continue;
    std::vector<Span> spans(view.size());
    Places places(view);
    for (uint32_t id = 0; id < view.size(); ++id) {
      const std::string place(places.place(id));
      auto source = SourceMap::add(place, place);
      spans[id] = source->span(0, place.size());
      result.add_source(std::move(source));
    }
    ExprRef made = Respanner(view, spans).run(entry.function);
    result.update_function(entry.name, FunctionRef(made->as<Function>()));
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"CapturePostDfsIndexInSpans",
     0,
     {},
     "Gives every node the place `index:NUMBER:DOMINATOR`: its number, operands before users, and "
     "that of the first node that all ways from it pass, -1 if there is none. `relay "
     "explain-program post-dominators` prints the same numbers."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, capture); },
});

}  // namespace
}  // namespace relay
