#include <relay/transform/partial/idle.h>

#include <algorithm>
#include <vector>

#include <relay/support/pointer_map.h>
#include <relay/transform/lets.h>

namespace relay::partial {
namespace {

// The lets of a function in which nothing is known.
class Chain {
 public:
  /// False for any other function.
  bool read(const Function* function) {
    if (function->body()->contains(ExprPart::kEffect)) return false;
    const Expr* at = function->body().get();
    for (; at->is<Let>(); at = static_cast<const Let*>(at)->body().get()) {
      if (!add(*static_cast<const Let*>(at))) return false;
    }
    used_.insert(at);
    return at->is<Var>() && !known_.contains(at);
  }
  const PointerSet<Let>& constants() const { return constants_; }
  bool all_used() const {
    return std::all_of(bound_.begin(), bound_.end(),
                       [&](const Expr* var) { return used_.contains(var); });
  }

 private:
  bool add(const Let& let) {
    if (let.var()->annotation()) return false;  // it may convert
    bound_.push_back(let.var().get());
    const Expr* value = let.value().get();
    std::span<const ExprRef> inputs = value->operands();
    if (value->is<Constant>()) {
      known_.insert(let.var().get());
      constants_.insert(&let);
      return true;
    }
    if (const auto* call = value->as<Call>()) {
      if (!call->callee()->is<Op>()) return false;
      inputs = call->args();
    } else if (!value->is<TupleGetItem>()) {
      return false;
    }
    bool all_known = !inputs.empty();  // a call without arguments is not computed
    for (const ExprRef& input : inputs) {
      if (!input->is<Var>() && !input->is<Constant>()) return false;
      const bool known = input->is<Constant>() || known_.contains(input.get());
      if (input->is<Var>()) used_.insert(input.get());
      all_known = all_known && known;
    }
    return !all_known;
  }

  PointerSet<Expr> known_;
  PointerSet<Expr> used_;
  PointerSet<Let> constants_;
  std::vector<const Expr*> bound_;
};

}  // namespace

FunctionRef without_known(const FunctionRef& function) {
  Chain chain;
  return chain.read(function.get()) ? without_lets(function, chain.constants()) : FunctionRef();
}

bool is_idle(const FunctionRef& function) {
  Chain chain;
  return chain.read(function.get()) && chain.constants().empty() && chain.all_used();
}

}  // namespace relay::partial
