#include <relay/transform/gradient/blocks.h>

namespace relay::grad {

bool is_structure(ExprKind kind) {
  switch (kind) {
    case ExprKind::kTuple:
    case ExprKind::kTupleGetItem:
    case ExprKind::kConstant:
    case ExprKind::kLiteral:
    case ExprKind::kLet:
      return true;
    default:
      return false;
  }
}

namespace {

class Blocks {
 public:
  explicit Blocks(Reverse& reverse) : reverse_(reverse), regions_(reverse.regions()) {
    block_of_.assign(reverse.size(), Reverse::kNone);
    leaves_block_.assign(reverse.size(), false);
    find_blocks();
    find_what_leaves();
  }

  std::vector<bool> leaving() && { return std::move(leaves_block_); }

 private:
  bool is_node(uint32_t id) const { return id < regions_.num_nodes(); }

  // True for the branches of an if that is part of a block.
  bool is_inside(uint32_t region) const {
    for (;; region = regions_.region(region).parent) {
      const uint32_t owner = regions_.region(region).owner;
      if (owner == Reverse::kNone) return false;
      if (regions_.kind(owner) == ExprKind::kFunction) return false;
      if (reverse_.is_dataflow(owner)) return true;
    }
  }

  void find_blocks() {
    for (uint32_t region = 0; region < regions_.num_regions(); ++region) {
      if (is_inside(region)) continue;
      bool open = false;
      for (const Regions::Step step : regions_.steps(region)) {
        if (step.bind || is_structure(regions_.kind(step.node))) continue;
        if (!reverse_.is_dataflow(step.node)) {
          open = false;
          continue;
        }
        if (!open) ++blocks_;
        open = true;
        block_of_[step.node] = blocks_;
        reverse_.set_owner(step.node, static_cast<uint32_t>(regions_.num_regions()) + blocks_);
      }
    }
    // Owners of regions come before what is in them.
    for (uint32_t region = 1; region < regions_.num_regions(); ++region) {
      if (!is_inside(region)) continue;
      for (uint32_t node : reverse_.nodes_of(region))
        block_of_[node] = block_of_[regions_.region(region).owner];
    }
  }

  void leaves(uint32_t id, uint32_t block) {
    std::vector<uint32_t> work{id};
    while (!work.empty()) {
      id = work.back();
      work.pop_back();
      if (id == Reverse::kNone || !is_node(id)) continue;
      if (const auto* projection = regions_.expr(id)->as<TupleGetItem>()) {
        const uint32_t tuple = reverse_.target(id, 0);
        const bool written = is_node(tuple) && regions_.kind(tuple) == ExprKind::kTuple;
        work.push_back(written ? reverse_.target(tuple, projection->index()) : tuple);
      } else if (regions_.kind(id) == ExprKind::kTuple) {
        for (size_t i = 0; i < regions_.num_operands(id); ++i)
          work.push_back(reverse_.target(id, i));
      } else if (reverse_.is_dataflow(id) && block_of_[id] != block) {
        leaves_block_[id] = true;
      }
    }
  }

  void find_what_leaves() {
    for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
      if (is_structure(regions_.kind(id)) || regions_.kind(id) == ExprKind::kFunction) continue;
      const size_t operands =
          regions_.kind(id) == ExprKind::kIf || regions_.kind(id) == ExprKind::kMatch
              ? 1
              : regions_.num_operands(id);
      const uint32_t block = reverse_.is_dataflow(id) ? block_of_[id] : 0;
      for (size_t i = 0; i < operands; ++i) leaves(reverse_.target(id, i), block);
    }
    for (uint32_t region = 1; region < regions_.num_regions(); ++region) {
      const uint32_t owner = regions_.region(region).owner;
      leaves(reverse_.result_of(region), is_inside(region) ? block_of_[owner] : 0);
    }
  }

  Reverse& reverse_;
  const Regions& regions_;
  std::vector<uint32_t> block_of_;  // from 1 on
  std::vector<bool> leaves_block_;
  uint32_t blocks_ = 0;
};

}  // namespace

std::vector<bool> values_that_leave_blocks(Reverse& reverse) { return Blocks(reverse).leaving(); }

}  // namespace relay::grad
