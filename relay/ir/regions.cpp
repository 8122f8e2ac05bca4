#include <relay/ir/regions.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/support/pointer_map.h>

namespace relay {
namespace {

bool has_number(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
    case ExprKind::kGlobalVar:
    case ExprKind::kOp:
    case ExprKind::kConstructor:
      return false;
    default:
      return true;
  }
}

/// The operand of `expr` visited at place `i`. A function literal that is called comes after the
/// arguments: creating a closure is nothing to see, and in text it then stands beside the call.
size_t visit_order(const Expr* expr, size_t i) {
  if (expr->kind() == ExprKind::kCall && expr->operands()[0]->kind() == ExprKind::kFunction) {
    return i + 1 == expr->operands().size() ? 0 : i + 1;
  }
  return i;
}

}  // namespace

Regions::Regions(const Expr* root, Mode mode) : root_(root) {
  walk(root);
  find_homes(mode);
  if (self_reference_) find_late();
  if (mode == Mode::kText) settle_late();
  order_steps();
}

void Regions::walk(const Expr* root) {
  struct Frame {
    uint32_t node;
    uint32_t next;
  };
  // Only nodes with several owners can be met twice.
  PointerMap<Expr, uint32_t> shared;
  std::vector<Frame> stack;
  auto enter = [&](const Expr* expr, uint32_t user, uint32_t operand) {
    uint32_t id = num_nodes();
    RELAY_CHECK(id < kNone / 2, "an expression has too many nodes");
    exprs_.push_back(expr);
    kinds_.push_back(expr->kind());
    first_operand_.push_back(static_cast<uint32_t>(operands_.size()));
    uses_.push_back(0);
    users_.push_back({user, operand});
    operands_.resize(operands_.size() + expr->operands().size(), kNone);
    stack.push_back({id, 0});
    if (expr->kind() == ExprKind::kLet) {
      const auto* let = static_cast<const Let*>(expr);
      if (let->value()->kind() == ExprKind::kFunction) function_lets_[let->var().get()] = id;
    }
    return id;
  };
  if (has_number(root)) enter(root, kNone, 0);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    uint32_t id = frame.node;
    const Expr* expr = exprs_[id];
    auto operands = expr->operands();
    if (frame.next == operands.size()) {
      stack.pop_back();
      order_.push_back(id);
      continue;
    }
    if (frame.next == 1 && expr->kind() == ExprKind::kLet)
      bindings_.push_back({static_cast<uint32_t>(order_.size()), id});
    size_t i = visit_order(expr, frame.next++);
    const Expr* child = operands[i].get();
    if (!has_number(child)) {
      if (!self_reference_ && !function_lets_.empty() && child->kind() == ExprKind::kVar) {
        self_reference_ = function_lets_.count(static_cast<const Var*>(child)) > 0;
      }
      continue;
    }
    uint32_t child_id = num_nodes();
    bool fresh = child->has_one_owner();
    if (!fresh) {
      auto [entry, inserted] = shared.insert(child);
      if (inserted) *entry = child_id;
      fresh = inserted;
      child_id = *entry;
    }
    operands_[first_operand_[id] + i] = child_id;
    if (fresh) enter(child, id, static_cast<uint32_t>(i));
    ++uses_[child_id];
  }
  first_operand_.push_back(static_cast<uint32_t>(operands_.size()));
}

// Nodes in the order in which they are done, and between them the bindings of lets.
template <class F>
void Regions::for_each_event(const F& f) const {
  auto binding = bindings_.begin();
  for (uint32_t done = 0; done < order_.size(); ++done) {
    for (; binding != bindings_.end() && binding->done == done; ++binding)
      f(Event{binding->let, true});
    f(Event{order_[done], false});
  }
}

uint32_t Regions::add_region(uint32_t owner, uint32_t operand, uint32_t parent) {
  auto id = static_cast<uint32_t>(regions_.size());
  Region region{};
  region.owner = owner;
  region.operand = operand;
  region.parent = parent;
  region.root = owner == kNone ? (exprs_.empty() ? kNone : 0) : this->operand(owner, operand);
  regions_.push_back(region);
  jump_.push_back(0);
  if (owner != kNone) place_region(id, parent);
  return id;
}

void Regions::place_region(uint32_t id, uint32_t parent) {
  regions_[id].parent = parent;
  regions_[id].depth = regions_[parent].depth + 1;
  // Skew-binary jump pointers (Myers 1983): ancestors in logarithmic time.
  uint32_t a = jump_[parent];
  uint32_t b = jump_[a];
  bool far = regions_[parent].depth - regions_[a].depth == regions_[a].depth - regions_[b].depth;
  jump_[id] = far ? b : parent;
}

uint32_t Regions::common(uint32_t a, uint32_t b) const {
  if (regions_[a].depth < regions_[b].depth) std::swap(a, b);
  while (regions_[a].depth > regions_[b].depth) {
    a = regions_[jump_[a]].depth >= regions_[b].depth ? jump_[a] : regions_[a].parent;
  }
  while (a != b) {
    if (jump_[a] != jump_[b]) {
      a = jump_[a];
      b = jump_[b];
    } else {
      a = regions_[a].parent;
      b = regions_[b].parent;
    }
  }
  return a;
}

bool Regions::contains(uint32_t outer, uint32_t inner) const {
  return common(outer, inner) == outer;
}

uint32_t Regions::region_of(uint32_t node, size_t i) const {
  uint32_t first = first_region_[node];
  if (first == kNone) return kNone;
  switch (kinds_[node]) {
    case ExprKind::kFunction:
      return first;
    case ExprKind::kLet:
      return i == 1 ? first : kNone;
    default:
      return i == 0 ? kNone : first + static_cast<uint32_t>(i) - 1;
  }
}

const Expr* Regions::root_expr(uint32_t id) const {
  const Region& region = regions_[id];
  return region.owner == kNone ? root_ : exprs_[region.owner]->operands()[region.operand].get();
}

Regions::Result Regions::result(uint32_t id) const {
  uint32_t node = regions_[id].root;
  const Expr* expr = root_expr(id);
  while (expr->kind() == ExprKind::kLet && first_region_[node] == kNone) {
    node = operand(node, 1);
    expr = expr->operands()[1].get();
  }
  return {expr, node};
}

size_t Regions::tail_step(uint32_t id) const {
  auto all = steps(id);
  size_t last = all.size();
  while (last > 0 && all[last - 1].bind == 0 && kinds_[all[last - 1].node] == ExprKind::kLet)
    --last;
  bool made = last > 0 && all[last - 1].bind == 0 && all[last - 1].node == result(id).node;
  return made ? last - 1 : all.size();
}

void Regions::find_homes(Mode mode) {
  add_region(kNone, 0, 0);
  homes_.assign(num_nodes(), kNone);
  first_region_.assign(num_nodes(), kNone);
  if (exprs_.empty()) return;
  homes_[0] = 0;
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    // All users of this node have been seen, so its home is final.
    uint32_t id = *it;
    uint32_t node_home = homes_[id];
    uint32_t count = num_operands(id);
    uint32_t first = count;
    switch (kinds_[id]) {
      case ExprKind::kFunction:
        first = 0;
        break;
      case ExprKind::kIf:
      case ExprKind::kMatch:
        first = 1;
        break;
      case ExprKind::kLet: {
        uint32_t user = users_[id].node;
        if (mode == Mode::kRun || user == kNone) break;
        uint32_t operand = users_[id].operand;
        bool chained = uses_[id] == 1 && (region_of(user, operand) != kNone ||
                                          (kinds_[user] == ExprKind::kLet && operand == 1));
        if (!chained) first = 1;
        break;
      }
      default:
        break;
    }
    for (uint32_t i = first; i < count; ++i) {
      uint32_t region = add_region(id, i, node_home);
      if (i == first) first_region_[id] = region;
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t child = operand(id, i);
      if (child == kNone) continue;
      uint32_t place = i < first ? node_home : first_region_[id] + (i - first);
      uint32_t& home = homes_[child];
      home = home == kNone ? place : common(home, place);
    }
  }
}

// A node that is used inside a recursive function and outside of it, and that mentions the
// function's name, can run only when the name is bound, though the first use is in the let's value.
// So do lets inside of it.
void Regions::find_late() {
  using Lets = std::vector<uint32_t>;
  std::unordered_map<uint32_t, Lets> waiting;        // node → lets not bound yet
  std::unordered_map<const Var*, Lets> late_vars;    // bound by a let that waits itself
  std::unordered_map<uint32_t, Lets> late_bindings;  // let → lets that wait for it
  std::vector<bool> bound(num_nodes());
  auto add = [&](const Lets& from, Lets& lets) {
    for (uint32_t let : from) {
      if (!bound[let]) lets.push_back(let);
    }
  };
  auto collect = [&](uint32_t node, size_t i, Lets& lets) {
    uint32_t child = operand(node, i);
    const Expr* expr = exprs_[node]->operands()[i].get();
    if (child != kNone) {
      if (auto entry = waiting.find(child); entry != waiting.end()) add(entry->second, lets);
    } else if (const Var* var = expr->as<Var>()) {
      auto entry = function_lets_.find(var);
      if (entry != function_lets_.end() && !bound[entry->second]) lets.push_back(entry->second);
      if (auto late = late_vars.find(var); late != late_vars.end()) add(late->second, lets);
    }
  };
  for_each_event([&](const Event& event) {
    uint32_t id = event.node;
    Lets lets;
    size_t count = event.bind ? 1 : num_operands(id);
    for (size_t i = 0; i < count; ++i) collect(id, i, lets);
    std::sort(lets.begin(), lets.end());
    lets.erase(std::unique(lets.begin(), lets.end()), lets.end());
    // Inner lets wait for nodes outside, not the other way round.
    std::erase_if(lets, [&](uint32_t let) { return let >= id; });
    uint32_t wait = kNone;
    for (uint32_t let : lets) {  // the outermost first: it is bound last
      if (homes_[let] != homes_[id] || (!event.bind && operand(let, 0) == id)) continue;
      wait = let;
      break;
    }
    if (!event.bind) {
      if (wait != kNone) late_[id] = wait;
      if (!lets.empty()) waiting[id] = std::move(lets);
      return;
    }
    if (wait != kNone) {
      late_bindings_[id] = wait;
      late_bindings[wait].push_back(id);
      late_vars[static_cast<const Let*>(exprs_[id])->var().get()] = std::move(lets);
      return;
    }
    bound[id] = true;
    for (uint32_t let : late_bindings[id]) bound[let] = true;
  });
}

// In text such a node stands inside the function: one that mentions functions inside of one another
// goes into each after the one around it.
void Regions::settle_late() {
  std::unordered_map<uint32_t, uint32_t> inside;  // node → let of the innermost function so far
  while (!late_.empty()) {
    for (const auto& [node, let] : late_) inside[node] = let;
    late_.clear();
    late_bindings_.clear();
    const std::vector<uint32_t> before = homes_;
    move_inside(inside);
    if (homes_ != before) find_late();
  }
}

// Such nodes stand where their uses in the function meet, and so does what only they use.
void Regions::move_inside(const std::unordered_map<uint32_t, uint32_t>& inside) {
  std::vector<uint32_t> homes(num_nodes(), kNone);
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    uint32_t id = *it;
    if (homes[id] != kNone) homes_[id] = homes[id];
    size_t count = num_operands(id);
    for (size_t i = 0; i < count; ++i) {
      if (uint32_t region = region_of(id, i); region != kNone) place_region(region, homes_[id]);
      uint32_t child = operand(id, i);
      if (child == kNone) continue;
      uint32_t place = region_of(id, i);
      if (place == kNone) place = homes_[id];
      auto late = inside.find(child);
      if (late != inside.end() && !contains(region_of(operand(late->second, 0), 0), place))
        continue;
      homes[child] = homes[child] == kNone ? place : common(homes[child], place);
    }
  }
}

void Regions::order_steps() {
  auto place = [&](const Event& event) {
    uint32_t inner = event.bind ? region_of(event.node, 1) : kNone;
    return inner == kNone ? homes_[event.node] : inner;
  };
  for_each_event([&](const Event& event) { ++regions_[place(event)].num_steps; });
  uint32_t total = 0;
  for (Region& region : regions_) {
    region.first_step = total;
    total += region.num_steps;
    region.num_steps = 0;
  }
  steps_.resize(total);
  auto put = [&](const Event& event) {
    Region& region = regions_[place(event)];
    steps_[region.first_step + region.num_steps++] = {event.node, event.bind};
  };
  std::unordered_map<uint32_t, std::vector<Event>> waiting;  // let → what follows it
  for_each_event([&](const Event& event) {
    const auto& late = event.bind ? late_bindings_ : late_;
    if (!late.empty()) {
      if (auto entry = late.find(event.node); entry != late.end()) {
        waiting[entry->second].push_back(event);
        return;
      }
    }
    put(event);
    if (!event.bind || waiting.empty()) return;
    std::vector<Event> ready{event};  // the next one last
    while (!ready.empty()) {
      Event next = ready.back();
      ready.pop_back();
      if (next.node != event.node || !next.bind) put(next);
      auto entry = next.bind ? waiting.find(next.node) : waiting.end();
      if (entry == waiting.end()) continue;
      ready.insert(ready.end(), entry->second.rbegin(), entry->second.rend());
      waiting.erase(entry);
    }
  });
}

}  // namespace relay
