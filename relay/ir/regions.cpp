#include <relay/ir/regions.h>

#include <relay/support/error.h>

namespace relay {

namespace {
constexpr uint32_t kUnset = ~uint32_t{0};
}

bool Regions::is_region(const Expr* owner, uint32_t operand) {
  switch (owner->kind()) {
    case ExprKind::kFunction:
      return true;
    case ExprKind::kIf:
    case ExprKind::kMatch:
      return operand > 0;
    default:
      return false;
  }
}

bool Regions::is_atom(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
    case ExprKind::kGlobalVar:
    case ExprKind::kConstant:
    case ExprKind::kLiteral:
    case ExprKind::kOp:
    case ExprKind::kConstructor:
      return true;
    default:
      return false;
  }
}

const Expr* Regions::value_of(const Expr* expr) {
  while (const auto* let = expr->as<Let>()) expr = let->body().get();
  return expr;
}

Regions::Regions(const Expr* root) {
  regions_.push_back({0, 0, nullptr, 0, root});

  // Every event of a left-to-right walk: a node done, or a let's value done.
  std::vector<Step> events;
  {
    struct Frame {
      const Expr* expr;
      uint32_t next;
    };
    std::vector<Frame> stack;
    auto enter = [&](const Expr* expr) {
      if (is_atom(expr)) return;
      if (!info_.try_emplace(expr, Info{kUnset, 0}).second) return;
      stack.push_back({expr, 0});
    };
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Expr* expr = frame.expr;
      if (frame.next < expr->operands().size()) {
        uint32_t operand = frame.next++;
        if (operand == 1 && expr->is<Let>()) events.push_back({expr, true});
        enter(expr->operands()[operand].get());
        continue;
      }
      stack.pop_back();
      events.push_back({expr, false});
    }
  }

  // Users before what they use: homes from the root down.
  auto use = [&](const Expr* expr, uint32_t region) {
    if (is_atom(expr)) return;
    uint32_t& home = info_.find(expr)->second.home;
    home = home == kUnset ? region : common(home, region);
  };
  use(root, 0);
  for (size_t i = events.size(); i-- > 0;) {
    if (events[i].bind) continue;
    const Expr* expr = events[i].expr;
    Info& info = info_.find(expr)->second;
    auto operands = expr->operands();
    for (uint32_t k = 0; k < operands.size(); ++k) {
      uint32_t region = info.home;
      if (is_region(expr, k)) {
        region = static_cast<uint32_t>(regions_.size());
        if (info.first_region == 0) info.first_region = region;
        regions_.push_back({info.home, regions_[info.home].depth + 1, expr, k, operands[k].get()});
      }
      use(operands[k].get(), region);
    }
  }

  steps_.resize(regions_.size());
  for (const Step& step : events) {
    if (!step.bind && step.expr->is<Let>()) continue;  // its value is its body's
    steps_[info_.find(step.expr)->second.home].push_back(step);
  }
}

uint32_t Regions::common(uint32_t a, uint32_t b) const {
  while (a != b) {
    if (regions_[a].depth >= regions_[b].depth) {
      a = regions_[a].parent;
    } else {
      b = regions_[b].parent;
    }
  }
  return a;
}

uint32_t Regions::region_of(const Expr* owner, uint32_t operand) const {
  if (!is_region(owner, operand)) return 0;
  auto found = info_.find(owner);
  if (found == info_.end() || found->second.first_region == 0) return 0;
  return found->second.first_region + operand - (owner->is<Function>() ? 0 : 1);
}

uint32_t Regions::home(const Expr* expr) const {
  auto found = info_.find(expr);
  RELAY_CHECK(found != info_.end(), "a node that is not in the expression");
  return found->second.home;
}

}  // namespace relay
