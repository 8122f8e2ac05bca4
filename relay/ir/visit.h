// Walks over expressions with an explicit stack: depth costs memory, never C++ stack.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>

namespace relay {

/// Calls `f` with the node as its own class: `visit_node(expr, [](const auto& node) {...})`.
template <class F>
decltype(auto) visit_node(const Expr& expr, F&& f) {
  switch (expr.kind()) {
#define RELAY_NODE(Kind, doc, operands, fields) \
  case ExprKind::k##Kind:                       \
    return f(static_cast<const Kind&>(expr));
#include <relay/ir/nodes.def>
  }
  RELAY_UNREACHABLE("unknown node kind");
}

/// Lambda overload set: `visit_node(e, Overloaded{[](const Call& c) {...}, [](const Expr&)
/// {...}})`.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// Visits each node reachable from `root` once, operands (in order) before the node.
///
/// `Visitor` is called as `visitor(const Expr*)`. Only nodes with several owners are remembered.
template <class Visitor>
void post_order(const Expr* root, Visitor&& visitor) {
  struct Frame {
    const Expr* expr;
    uint32_t next;
  };
  PointerSet<Expr> seen;
  std::vector<Frame> stack;
  auto enter = [&](const Expr* expr) {
    if (!expr->has_one_owner() && !seen.insert(expr)) return;
    stack.push_back({expr, 0});
  };
  enter(root);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    auto operands = frame.expr->operands();
    if (frame.next < operands.size()) {
      const Expr* child = operands[frame.next++].get();
      enter(child);
      continue;
    }
    const Expr* expr = frame.expr;
    stack.pop_back();
    visitor(expr);
  }
}

/// Visits each node reachable from `root` once, in no particular order: the quickest walk, since
/// each node is fetched once. `Visitor` is called as `visitor(const Expr*)` and returns true to go
/// on.
template <class Visitor>
void visit_each(const Expr* root, Visitor&& visitor) {
  PointerSet<Expr> seen;
  std::vector<const Expr*> stack{root};
  while (!stack.empty()) {
    const Expr* expr = stack.back();
    stack.pop_back();
    if (!expr->has_one_owner() && !seen.insert(expr)) continue;
    if (!visitor(expr)) return;
    for (const ExprRef& operand : expr->operands()) stack.push_back(operand.get());
  }
}

/// A walk with hooks for scoping. Each node is entered once (nodes with several owners are
/// remembered); derive and override the hooks that you need.
///
///   enter(e)        before any operand; return false to skip the operands (leave is still called)
///   before(e, i)    just before operand i is walked
///   leave(e)        after all operands
class Walker {
 public:
  virtual ~Walker() = default;
  void walk(const Expr* root);

 protected:
  virtual bool enter(const Expr* expr) {
    (void)expr;
    return true;
  }
  virtual void before(const Expr* expr, uint32_t operand) {
    (void)expr;
    (void)operand;
  }
  virtual void leave(const Expr* expr) { (void)expr; }

 private:
  PointerSet<Expr> seen_;
};

/// Free variables of an expression (used but not bound inside), in order of first visit.
std::vector<VarRef> free_vars(const Expr* root);
/// Variables bound inside (parameters, lets, patterns), in order of first visit.
std::vector<VarRef> bound_vars(const Expr* root);
/// The number of distinct nodes.
size_t count_nodes(const Expr* root);

}  // namespace relay
