// Patterns made ready for the matcher.
#include <relay/pattern/matcher.h>

#include <relay/op/op.h>

namespace relay::pattern {

namespace {

struct Arithmetic {
  const Operator* add = get_op("add");
  const Operator* multiply = get_op("multiply");
  const Operator* divide = get_op("divide");
};
const Arithmetic& arithmetic() {
  static const Arithmetic ops;
  return ops;
}

/// The operator of a pattern of a call with two arguments, or null.
const Operator* binary_op(const DFPattern& pattern) {
  if (pattern.kind() != DFPatternKind::kCall || pattern.any()) return nullptr;
  return pattern.children().size() == 3 ? pattern.child(0)->as_op() : nullptr;
}

}  // namespace

uint32_t CompiledPattern::add(const DFPattern* pattern, std::vector<uint32_t> children,
                              bool recorded) {
  Part part{pattern, static_cast<uint32_t>(children_.size()),
            static_cast<uint32_t>(children.size())};
  part.recorded = recorded;
  const Operator* op = binary_op(*pattern);
  part.commutes = op != nullptr && (op == arithmetic().add || op == arithmetic().multiply);
  children_.insert(children_.end(), children.begin(), children.end());
  parts_.push_back(part);
  return static_cast<uint32_t>(parts_.size()) - 1;
}

CompiledPattern::CompiledPattern(DFPatternRef pattern)
    : pattern_(std::move(pattern)), order_(patterns_in(pattern_.get())) {
  PointerMap<DFPattern, uint32_t> numbers;
  // A target may come after its wildcard; children never come after their parents unless the
  // pattern is recursive.
  for (uint32_t i = 0; i < order_.size(); ++i) numbers[order_[i]] = i;
  for (const DFPattern* part : order_) {
    std::vector<uint32_t> children;
    for (const DFPatternRef& child : part->children()) children.push_back(numbers.at(child.get()));
    uint32_t id = add(part, std::move(children), true);
    if (part->target()) parts_[id].target = numbers.at(part->target().get());
    has_dominator_ |= part->kind() == DFPatternKind::kDominator;
  }
  root_ = numbers.at(pattern_.get());
  for (uint32_t i = 0; i < order_.size(); ++i) rotate(i);
  find_simple();
  if (has_dominator_) find_independent();
}

// (a * b) / c is a * (b / c) and b * (a / c); a * (b / c) is (a * b) / c.
void CompiledPattern::rotate(uint32_t id) {
  const auto& [add_op, multiply, divide] = arithmetic();
  const DFPattern& outer = *order_[id];
  const Operator* op = binary_op(outer);
  if (op != divide && op != multiply) return;
  std::vector<uint32_t> forms;
  auto make = [&](const DFPatternRef& callee, uint32_t callee_part, uint32_t a, uint32_t b) {
    auto ref = [&](uint32_t part) { return DFPatternRef(parts_[part].pattern); };
    made_.push_back(DFPattern::call(callee, {ref(a), ref(b)}));
    return add(made_.back().get(), {callee_part, a, b}, false);
  };
  for (size_t which : {1u, 2u}) {
    const DFPattern& inner = *outer.child(which);
    const Operator* inner_op = binary_op(inner);
    uint32_t inner_part = child(id, which);
    if (op == divide && which == 1 && inner_op == multiply) {
      for (size_t kept : {1u, 2u}) {
        uint32_t quotient =
            make(outer.child(0), child(id, 0), child(inner_part, kept), child(id, 2));
        forms.push_back(
            make(inner.child(0), child(inner_part, 0), child(inner_part, 3 - kept), quotient));
      }
    }
    if (op == multiply && inner_op == divide) {
      uint32_t product =
          make(outer.child(0), child(id, 0), child(inner_part, 1), child(id, 3 - which));
      forms.push_back(make(inner.child(0), child(inner_part, 0), product, child(inner_part, 2)));
    }
  }
  parts_[id].num_rotated = static_cast<uint32_t>(forms.size());
  parts_[id].rotated = static_cast<uint32_t>(children_.size());
  children_.insert(children_.end(), forms.begin(), forms.end());
}

void CompiledPattern::find_simple() {
  for (uint32_t id = 0; id < order_.size(); ++id) {
    Part& part = parts_[id];
    part.one_node = part.target == UINT32_MAX;
    part.one_way = part.one_node && !part.commutes && part.num_rotated == 0 &&
                   part.pattern->kind() != DFPatternKind::kAlt;
    for (size_t i = 0; i < part.count; ++i) {
      // Children come before their parents unless they are recursive.
      const bool known = child(id, i) < id;
      part.one_node = part.one_node && known && parts_[child(id, i)].one_node;
      part.one_way = part.one_way && known && parts_[child(id, i)].one_way;
    }
  }
}

void CompiledPattern::find_independent() {
  constexpr uint32_t kMost = 64;  // dominators for which this is worth the time
  uint32_t count = 0;
  for (uint32_t dominator = 0; dominator < order_.size(); ++dominator) {
    if (order_[dominator]->kind() != DFPatternKind::kDominator || ++count > kMost) continue;
    // 1: reached by way of the parent, 2: by other ways.
    std::vector<uint8_t> reached(parts_.size(), 0);
    auto walk = [&](uint32_t from, uint8_t mark) {
      std::vector<uint32_t> stack{from};
      while (!stack.empty()) {
        uint32_t part = stack.back();
        stack.pop_back();
        if ((reached[part] & mark) != 0) continue;
        reached[part] |= mark;
        size_t skipped = mark == 2 && part == dominator ? 2 : 0;  // parent and path
        for (size_t i = skipped; i < parts_[part].count; ++i) stack.push_back(child(part, i));
        if (parts_[part].target != UINT32_MAX) stack.push_back(parts_[part].target);
      }
    };
    walk(child(dominator, 0), 1);
    walk(root_, 2);
    bool shared = false;
    for (uint8_t marks : reached) shared |= marks == 3;
    parts_[dominator].independent = !shared;
  }
}

}  // namespace relay::pattern
