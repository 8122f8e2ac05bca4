// The reverse pass through ifs: the branch that was taken gives its gradients, and what they need
// of the forward pass is saved in slots.
#include <relay/transform/gradient/reverse.h>

#include <relay/ir/rewrite.h>
#include <relay/support/error.h>

namespace relay::grad {

// ---- The forward pass ----------------------------------------------------------------------

void Reverse::forward_if(uint32_t id) {
  const Expr* expr = regions_.expr(id);
  std::vector<ExprRef> operands{value_of(target(id, 0))};
  bool any = false;
  for (size_t branch = 1; branch <= 2; ++branch) {
    const uint32_t region = regions_.region_of(id, branch);
    forward_region(region);
    const uint32_t result = result_of(region);
    any = any || varied_[result];
    operands.push_back(with_ifs(nodes_of(region), value_of(result)));
  }
  varied_[id] = any && leaf_table_.count(types_[id]) > 0;
  if (varied_[id]) {
    IfParts& parts = ifs_[id];
    parts.saved = make_var("saved", {}, expr->span());
    values_[id] = make_projection(parts.saved, 0, expr->span());
  } else {
    values_[id] = rebuild(expr, operands);
  }
  note(values_[id], regions_.home(id), types_[id]);
}

ExprRef Reverse::build_if(uint32_t id) {
  const Expr* expr = regions_.expr(id);
  IfParts& parts = ifs_.at(id);
  ExprRef branches[2];
  for (int branch = 0; branch < 2; ++branch) {
    const uint32_t region = regions_.region_of(id, static_cast<size_t>(branch) + 1);
    std::vector<ExprRef> fields{value_of(result_of(region))};
    for (const Slot& slot : parts.slots) {
      const ExprRef& value = slot.values[branch];
      fields.push_back(value ? value : zeros_of_type(slot.type.get()));
    }
    branches[branch] = with_ifs(nodes_of(region), make_tuple(fields));
  }
  return make_if(values_[target(id, 0)], branches[0], branches[1], expr->span());
}

void Reverse::take_ifs(std::span<const uint32_t> nodes, std::vector<Binding>& out) {
  for (uint32_t node : nodes) {
    auto found = ifs_.find(node);
    if (found != ifs_.end()) out.emplace_back(found->second.saved, build_if(node));
  }
}

ExprRef Reverse::with_ifs(std::span<const uint32_t> nodes, ExprRef value) {
  std::vector<Binding> bindings;
  take_ifs(nodes, bindings);
  for (size_t i = bindings.size(); i-- > 0;)
    value = make_let(bindings[i].first, bindings[i].second, std::move(value));
  return value;
}

// ---- The backward pass ---------------------------------------------------------------------

// Puts slots in the place of what the forward branch computed.
class Reverse::Capture final : public Rewriter {
 public:
  Capture(Reverse& all, uint32_t id, int branch, const Leaves& given)
      : all_(all),
        id_(id),
        branch_(branch),
        region_(all.regions_.region_of(id, static_cast<size_t>(branch) + 1)) {
    for (const ExprRef& gradient : given) {
      if (gradient) given_.insert(gradient.get());
    }
  }

 private:
  ExprRef enter(const Expr* expr) override {
    if (given_.contains(expr)) return ExprRef(expr);
    const Home* home = all_.homes_.find(expr);
    if (home == nullptr) return {};
    if (!all_.regions_.contains(region_, home->region)) return ExprRef(expr);
    return all_.slot(id_, branch_, ExprRef(expr), home->type);
  }

  Reverse& all_;
  const uint32_t id_;
  const int branch_;
  const uint32_t region_;
  PointerSet<Expr> given_;
};

ExprRef Reverse::slot(uint32_t id, int branch, const ExprRef& value, const Type* type) {
  IfParts& parts = ifs_.at(id);
  size_t free = parts.slots.size();
  size_t found = parts.slots.size();
  for (size_t i = parts.slots.size(); i-- > 0;) {
    const Slot& slot = parts.slots[i];
    if (slot.values[branch] == value) found = i;
    if (!slot.values[branch] && slot.type.get() == type) free = i;
  }
  if (found == parts.slots.size()) {
    if (free == parts.slots.size()) parts.slots.push_back({TypeRef(type), {}});
    parts.slots[free].values[branch] = value;
    found = free;
  }
  ExprRef taken = make_projection(parts.saved, static_cast<uint32_t>(found) + 1, value->span());
  note(taken, regions_.home(id), type);
  return taken;
}

std::vector<Reverse::Outer> Reverse::backward_branch(uint32_t region, const Leaves& gradients) {
  open_frame(region);
  const uint32_t result = result_of(region);
  for (uint32_t leaf = 0; leaf < gradients.size(); ++leaf) add(result, leaf, gradients[leaf]);
  backward(nodes_of(region));
  return close_frame();
}

ExprRef Reverse::zeros_of_leaf(uint32_t id, uint32_t leaf) {
  const Type* type = types_[id];
  uint32_t left = leaf;
  std::vector<size_t> path;
  while (const auto* tuple = type->as<TupleType>()) {
    path.push_back(leaf_table_.field_with(*tuple, left));
    left -= leaf_table_.offset(*tuple, path.back());
    type = tuple->fields()[path.back()].get();
  }
  if (is_static(type)) return zeros_of_type(type);
  if (!is_tensorial(types_[id])) return zeros_of(type, missing_leaf_(id, leaf));
  ExprRef value = value_of(id);
  for (size_t field : path) value = field_of(value, field);
  return zeros_of(type, value);
}

void Reverse::backward_if(uint32_t id, const Leaves& gradients) {
  std::vector<Outer> found[2];
  std::map<std::pair<uint32_t, uint32_t>, size_t> places;
  std::vector<std::pair<uint32_t, uint32_t>> keys;
  for (int branch = 0; branch < 2; ++branch) {
    found[branch] =
        backward_branch(regions_.region_of(id, static_cast<size_t>(branch) + 1), gradients);
    for (const Outer& outer : found[branch]) {
      if (places.try_emplace({outer.id, outer.leaf}, keys.size()).second)
        keys.emplace_back(outer.id, outer.leaf);
    }
  }
  if (keys.empty()) return;
  ExprRef branches[2];
  for (int branch = 0; branch < 2; ++branch) {
    std::vector<ExprRef> fields(keys.size());
    for (const Outer& outer : found[branch])
      fields[places.at({outer.id, outer.leaf})] = outer.gradient;
    for (size_t k = 0; k < keys.size(); ++k) {
      if (!fields[k]) fields[k] = zeros_of_leaf(keys[k].first, keys[k].second);
    }
    branches[branch] = Capture(*this, id, branch, gradients).run(make_tuple(fields));
  }
  const Span span = regions_.expr(id)->span();
  const ExprRef all = make_if(values_[target(id, 0)], branches[0], branches[1], span);
  for (size_t k = 0; k < keys.size(); ++k)
    add(keys[k].first, keys[k].second, make_projection(all, static_cast<uint32_t>(k), span));
}

}  // namespace relay::grad
