#include <relay/program/view.h>

#include <algorithm>

#include <relay/ir/visit.h>
#include <relay/support/error.h>

namespace relay {

/// Numbers the nodes of an expression with an explicit stack.
class ViewWalk {
 public:
  explicit ViewWalk(View& view) : view_(view) {}

  void walk(const Expr* root) {
    enter(root);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const Expr* expr = frame.expr;
      auto operands = expr->operands();
      if (frame.next < operands.size()) {
        const size_t operand = frame.next++;
        bind(expr, operand);
        enter(operands[operand].get());
        continue;
      }
      stack_.pop_back();
      leave(expr, operands.size());
    }
    view_.first_operand_.push_back(static_cast<uint32_t>(view_.operands_.size()));
  }

 private:
  struct Frame {
    const Expr* expr;
    size_t next;
  };

  void enter(const Expr* expr) {
    if (!expr->has_one_owner()) {
      if (const uint32_t* known = shared_.find(expr)) {
        done_.push_back(*known);
        return;
      }
    }
    if (expr->operands().empty()) {
      done_.push_back(number(expr));
      return;
    }
    stack_.push_back({expr, 0});
  }

  void leave(const Expr* expr, size_t operands) {
    const size_t first = done_.size() - operands;
    const uint32_t id = number(expr);
    view_.operands_.insert(view_.operands_.end(), done_.begin() + static_cast<ptrdiff_t>(first),
                           done_.end());
    done_.resize(first);
    done_.push_back(id);
  }

  // Operands are appended after this.
  uint32_t number(const Expr* expr) {
    const uint32_t id = view_.size();
    RELAY_CHECK(id < View::kNone / 2, "an expression has too many nodes");
    view_.exprs_.push_back(expr);
    view_.kinds_.push_back(expr->kind());
    view_.first_operand_.push_back(static_cast<uint32_t>(view_.operands_.size()));
    if (!expr->has_one_owner()) shared_[expr] = id;
    return id;
  }

  void bind(const Expr* expr, size_t operand) {
    switch (expr->kind()) {
      case ExprKind::kFunction:
        for (const VarRef& param : static_cast<const Function*>(expr)->params()) bind(param.get());
        break;
      case ExprKind::kLet:
        if (operand == 1) bind(static_cast<const Let*>(expr)->var().get());
        break;
      case ExprKind::kMatch:
        if (operand == 0) break;
        for (const VarRef& var :
             pattern_vars(static_cast<const Match*>(expr)->patterns()[operand - 1].get()))
          bind(var.get());
        break;
      default:
        break;
    }
  }
  void bind(const Var* var) {
    if (!shared_.contains(var)) number(var);
  }

  View& view_;
  std::vector<Frame> stack_;
  std::vector<uint32_t> done_;  // numbers of the operands of all frames, each frame's contiguous
  PointerMap<Expr, uint32_t> shared_;  // only nodes with several owners can be met twice
};

View::View(ExprRef root) : root_(std::move(root)) {
  RELAY_CHECK(root_ != nullptr, "a view of no expression");
  ViewWalk(*this).walk(root_.get());
}
View::~View() = default;

uint32_t View::id(const Expr* expr) const {
  const auto& ids = ids_.get([this] {
    PointerMap<Expr, uint32_t> result;
    for (uint32_t id = 0; id < size(); ++id) result[exprs_[id]] = id;
    return result;
  });
  const uint32_t* found = ids.find(expr);
  return found == nullptr ? kNone : *found;
}

bool View::is_name(uint32_t id) const {
  switch (kinds_[id]) {
    case ExprKind::kOp:
    case ExprKind::kConstructor:
    case ExprKind::kGlobalVar:
      return true;
    default:
      return false;
  }
}

uint32_t View::binder(uint32_t id) const {
  if (kinds_[id] != ExprKind::kVar) return kNone;
  const auto& binders = binders_.get([this] {
    std::vector<uint32_t> result(size(), kNone);
    for (uint32_t node = 0; node < size(); ++node) {
      auto bind = [&](const VarRef& var) { result[this->id(var.get())] = node; };
      if (const auto* function = exprs_[node]->as<Function>()) {
        for (const VarRef& param : function->params()) bind(param);
      } else if (const auto* let = exprs_[node]->as<Let>()) {
        bind(let->var());
      } else if (const auto* match = exprs_[node]->as<Match>()) {
        for (const PatternRef& pattern : match->patterns()) {
          for (const VarRef& var : pattern_vars(pattern.get())) bind(var);
        }
      }
    }
    return result;
  });
  return binders[id];
}

namespace {

template <class T, class... Args>
const T& made(const Column<std::unique_ptr<T>>& column, Args&&... args) {
  return *column.get([&] { return std::make_unique<T>(std::forward<Args>(args)...); });
}

}  // namespace

const Users& View::users() const { return made(users_, *this); }
const Scopes& View::scopes() const { return made(scopes_, *this); }
const Dominators& View::post_dominators() const {
  return made(post_dominators_, *this, Dominators::Direction::kToUsers);
}
const Dominators& View::dominators() const {
  return made(dominators_, *this, Dominators::Direction::kToOperands);
}
const Liveness& View::liveness() const { return made(liveness_, *this); }

std::span<const uint32_t> View::free_variables(uint32_t function) const {
  const auto& all = free_variables_.get([this] {
    // Each function's own nodes are walked up to the functions inside, which are done before.
    FreeVariables result;
    std::vector<uint32_t> seen(size(), kNone);  // the function that saw a node last
    std::vector<uint32_t> stack;
    for (uint32_t id = 0; id < size(); ++id) {
      if (kinds_[id] != ExprKind::kFunction && id + 1 != size()) continue;
      std::vector<uint32_t> used;
      std::vector<uint32_t> bound;
      auto add = [&](uint32_t node) {
        if (seen[node] == id) return;
        seen[node] = id;
        if (kinds_[node] == ExprKind::kVar) used.push_back(node);
        if (!operands(node).empty()) stack.push_back(node);
      };
      auto bind = [&](const VarRef& var) { bound.push_back(this->id(var.get())); };
      seen[id] = id;
      stack.assign(1, id);
      while (!stack.empty()) {
        const uint32_t node = stack.back();
        stack.pop_back();
        if (node != id) {
          if (auto inner = result.find(node); inner != result.end()) {
            for (uint32_t var : inner->second) add(var);
            continue;
          }
        }
        if (const auto* literal = exprs_[node]->as<Function>()) {
          for (const VarRef& param : literal->params()) bind(param);
        } else if (const auto* let = exprs_[node]->as<Let>()) {
          bind(let->var());
        } else if (const auto* match = exprs_[node]->as<Match>()) {
          for (const PatternRef& pattern : match->patterns()) {
            for (const VarRef& var : pattern_vars(pattern.get())) bind(var);
          }
        }
        for (uint32_t operand : operands(node)) add(operand);
      }
      if (kinds_[id] == ExprKind::kVar) used.push_back(id);  // the expression is a variable alone
      std::sort(used.begin(), used.end());
      std::sort(bound.begin(), bound.end());
      std::vector<uint32_t>& free = result[id];
      std::set_difference(used.begin(), used.end(), bound.begin(), bound.end(),
                          std::back_inserter(free));
    }
    return result;
  });
  auto found = all.find(function);
  RELAY_CHECK(found != all.end(), "free variables are known of functions and the whole expression");
  return found->second;
}

}  // namespace relay
