#include <relay/lower/work.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <relay/ir/dim_error.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::BinaryOp;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

ValueWork work_of_cost(ScalarCost cost) {
  switch (cost) {
    case ScalarCost::kStep:
      return {1, 0};
    case ScalarCost::kDivide:
      return {4, 0};
    case ScalarCost::kRoot:
      return {5, 0};
    case ScalarCost::kRemainder:
      return {8, 0};
    case ScalarCost::kFunction:
      return {0, 1};
  }
  RELAY_UNREACHABLE("unknown cost");
}

bool is_product(const ScalarRef& value) {
  return value->kind == ScalarKind::kBinary && value->binary == BinaryOp::kMul &&
         value->dtype.is_float();
}

// True if an operand is a product that the instruction multiplies and adds at once.
bool adds_product(const ScalarNode& node) {
  return node.kind == ScalarKind::kBinary && node.dtype.is_float() &&
         (node.binary == BinaryOp::kAdd || node.binary == BinaryOp::kSub) &&
         std::any_of(node.args.begin(), node.args.end(), is_product);
}

class NestWork {
 public:
  NestWork(const Nest& nest, const Processor& processor) : nest_(nest), processor_(processor) {}

  KernelWork run() {
    block(nest_.body);
    return work_;
  }

 private:
  struct Loop {
    uint32_t axis = 0;
    Dim times = 1;                           // that its body runs, altogether
    std::vector<const ScalarNode*> nodes{};  // that are evaluated in it
  };

  size_t depth() const { return loops_.size(); }
  Dim times(size_t depth) const { return depth == 0 ? Dim(1) : loops_[depth - 1].times; }
  bool is_vector(size_t depth) const { return vector_.depth != 0 && depth >= vector_.depth; }
  void add(const ValueWork& work, Dim times) {
    work_.steps = work_.steps + times * Dim(work.steps);
    work_.functions = work_.functions + times * Dim(work.functions);
  }

  void block(const Block& block) {
    for (const Stmt& stmt : block)
      std::visit([&](const auto& node) { statement(node); }, stmt.node);
  }

  void statement(const For& loop) {
    std::optional<Dim> begin = first_value(loop.begin), end = first_value(loop.end);
    Dim count = begin && end ? max(Dim(0), *end - *begin) : Dim(1);
    const bool vector = loop.kind == LoopKind::kVector;
    const int64_t step = vector ? lanes_of(loop) : std::max<int64_t>(1, loop.step);
    if (step > 1) count = ceil_div(count, Dim(step));
    loops_.push_back({loop.axis, times(depth()) * count, {}});
    if (vector) vector_ = {depth(), step};
    if (loop.kind == LoopKind::kTurned) turned_ = true;
    // Its counter.
    if (loop.kind != LoopKind::kUnrolled) add({1, 0}, loops_.back().times);
    block(loop.body);
    if (vector) vector_ = {};
    if (loop.kind == LoopKind::kTurned) turned_ = false;
    for (const ScalarNode* node : loops_.back().nodes) depth_of_node_.erase(node);
    loops_.pop_back();
  }

  void statement(const Let& let) {
    depth_of_var_[let.var] = value(let.value);
    if (let.value->dtype != kInt64) return;
    if (const std::optional<Dim> first = first_value(let.value))
      first_of_var_.insert_or_assign(let.var, *first);
  }
  // A register that changes has another value in each iteration.
  void statement(const Set& set) {
    value(set.value);
    depth_of_var_[set.var] = depth();
  }

  void statement(const Accumulate& sum) {
    for (const ScalarRef& each : sum.values) {
      value(each);
      const bool fused = sum.combiner.kind == te::Combiner::Kind::kSum && is_product(each);
      if (!fused) add({1, 0}, times(depth()));
    }
    if (sum.combiner.kind == te::Combiner::Kind::kCustom) {
      for (const ScalarNode* node : te::post_order(sum.combiner.result))
        add(lower::work_of(*node), times(depth()));
    }
    if (sum.where) value(sum.where);
    for (uint32_t var : sum.vars) depth_of_var_[var] = depth();
  }

  void statement(const Store& store) {
    value(store.value);
    add({access(store.indices, store.buffer), 0}, times(depth()));
  }

  void statement(const If& branch) {
    value(branch.condition);
    block(branch.then_block);
    block(branch.else_block);
  }

  void statement(const Check& check) { value(check.condition); }
  void statement(const Repeat& repeat) { block(repeat.body); }
  void statement(const NextTurn&) {}
  void statement(const Grow&) {}

  // The value of an index in the first iteration of the loops around it; nothing if elements decide
  // it.
  std::optional<Dim> first_value(const ScalarRef& root) const {
    std::unordered_map<const ScalarNode*, std::optional<Dim>> known;
    for (const ScalarNode* node : te::post_order({&root, 1})) {
      if (node->dtype != kInt64) continue;
      if (node->kind == ScalarKind::kBinary) {
        known[node] =
            first_of(node->binary, known[node->args[0].get()], known[node->args[1].get()]);
      } else {
        known[node] = first_of(*node);
      }
    }
    return known[root.get()];
  }

  std::optional<Dim> first_of(const ScalarNode& leaf) const {
    switch (leaf.kind) {
      case ScalarKind::kConst:
        return Dim(leaf.value.i);
      case ScalarKind::kFromDim:
        return leaf.dim;
      case ScalarKind::kIndex:
        return Dim(0);
      case ScalarKind::kVar: {
        auto found = first_of_var_.find(leaf.id);
        return found == first_of_var_.end() ? std::nullopt : std::optional(found->second);
      }
      default:
        return std::nullopt;
    }
  }

  static std::optional<Dim> first_of(BinaryOp op, const std::optional<Dim>& a,
                                     const std::optional<Dim>& b) {
    if (!a || !b) return std::nullopt;
    switch (op) {
      case BinaryOp::kAdd:
        return *a + *b;
      case BinaryOp::kSub:
        return *a - *b;
      case BinaryOp::kMul:
        return *a * *b;
      case BinaryOp::kMin:
        return min(*a, *b);
      case BinaryOp::kMax:
        return max(*a, *b);
      case BinaryOp::kFloorDiv:
        // A divisor that a run gives may be 0.
        if (!b->is_int() || b->as_int() <= 0) return std::nullopt;
        return floor_div(*a, *b);
      default:
        return std::nullopt;
    }
  }

  // The number of instructions of a vector's access: one, unless the elements lie apart.
  int64_t access(const std::vector<ScalarRef>& indices, int32_t buffer) const {
    if (vector_.depth == 0) return 1;
    // Squares are turned in registers.
    constexpr int64_t kTurning = 3;
    if (turned_) return kTurning;
    const te::Affine offset =
        te::affine_offset(indices, nest_.buffers[static_cast<size_t>(buffer)].dims);
    const uint32_t lane = loops_[vector_.depth - 1].axis;
    const Dim step = offset.coefficient(lane);
    const bool beside = step.is_int(0) || step.is_int(1);
    return beside && !depends_on_lane(offset) ? 1 : vector_.lanes;
  }

  // True if parts of a position that are no sums of axes vary from lane to lane.
  bool depends_on_lane(const te::Affine& offset) const {
    std::vector<ScalarRef> roots;
    for (const te::Affine::Other& other : offset.others) roots.push_back(other.value);
    const std::vector<const ScalarNode*> nodes = te::post_order(roots);
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const ScalarNode* node) { return is_vector(depth_of(node)); });
  }

  // The innermost loop that a node depends on, once those below it are known.
  size_t depth_of(const ScalarNode* node) const {
    size_t deepest = 0;
    if (node->kind == ScalarKind::kIndex) {
      for (size_t d = 0; d < depth(); ++d)
        if (loops_[d].axis == node->axis) deepest = d + 1;
    } else if (node->kind == ScalarKind::kVar) {
      auto var = depth_of_var_.find(node->id);
      if (var != depth_of_var_.end()) deepest = std::min(var->second, depth());
    }
    for (const ScalarRef& arg : node->args) {
      auto known = depth_of_node_.find(arg.get());
      if (known != depth_of_node_.end()) deepest = std::max(deepest, known->second);
    }
    return deepest;
  }

  // Counts the nodes of a value, each where it is evaluated; the depth of the value. Of positions
  // only what they load counts.
  size_t value(const ScalarRef& root) {
    std::unordered_set<const ScalarNode*> values{root.get()};
    std::vector<const ScalarNode*> stack{root.get()};
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      if (node->kind == ScalarKind::kLoad) continue;
      for (const ScalarRef& arg : node->args)
        if (values.insert(arg.get()).second) stack.push_back(arg.get());
    }
    for (const ScalarNode* node : te::post_order({&root, 1})) {
      if (depth_of_node_.contains(node)) continue;
      const size_t own = depth_of(node);
      depth_of_node_.emplace(node, own);
      if (own > 0) loops_[own - 1].nodes.push_back(node);
      if (node->kind == ScalarKind::kLoad) {
        add({is_vector(own) ? access(node->args, node->tensor.index) : 1, 0}, times(own));
      } else if (values.contains(node) && !adds_product(*node)) {
        add(lower::work_of(*node), times(own));
      }
    }
    return depth_of_node_.at(root.get());
  }

  // As many lanes as a vector has of the widest elements.
  int64_t lanes_of(const For& loop) const {
    int64_t widest = 1;
    auto count = [&](DType dtype) {
      const bool wide = dtype.is_float() && dtype.bits == 16;
      widest = std::max(widest, wide ? int64_t{4} : static_cast<int64_t>(dtype.size()));
    };
    auto of_value = [&](const ScalarRef& root) {
      for (const ScalarNode* node : te::post_order({&root, 1}))
        if (node->dtype != kInt64 && !node->dtype.is_bool()) count(node->dtype);
    };
    std::vector<const Block*> blocks{&loop.body};
    while (!blocks.empty()) {
      const Block& block = *blocks.back();
      blocks.pop_back();
      for (const Stmt& stmt : block) {
        if (const auto* inner = std::get_if<For>(&stmt.node)) blocks.push_back(&inner->body);
        if (const auto* branch = std::get_if<If>(&stmt.node)) {
          blocks.push_back(&branch->then_block);
          blocks.push_back(&branch->else_block);
        }
        if (const auto* let = std::get_if<Let>(&stmt.node)) of_value(let->value);
        if (const auto* sum = std::get_if<Accumulate>(&stmt.node))
          std::for_each(sum->values.begin(), sum->values.end(), of_value);
        if (const auto* store = std::get_if<Store>(&stmt.node)) {
          of_value(store->value);
          count(nest_.buffers[static_cast<size_t>(store->buffer)].dtype);
        }
      }
    }
    return std::max<int64_t>(1, processor_.lanes(widest));
  }

  const Nest& nest_;
  const Processor& processor_;
  KernelWork work_;
  std::vector<Loop> loops_;  // around
  struct {
    size_t depth = 0;  // 0: none
    int64_t lanes = 1;
  } vector_;
  bool turned_ = false;  // true inside of a loop of this kind
  std::unordered_map<uint32_t, size_t> depth_of_var_;
  std::unordered_map<uint32_t, Dim> first_of_var_;  // positions that registers hold
  std::unordered_map<const ScalarNode*, size_t> depth_of_node_;
};

}  // namespace

ValueWork work_of(const ScalarNode& node) {
  switch (node.kind) {
    case ScalarKind::kUnary:
      return work_of_cost(scalar_op(node.unary).cost);
    case ScalarKind::kBinary:
      return work_of_cost(scalar_op(node.binary).cost);
    case ScalarKind::kSelect:
    case ScalarKind::kCast:
    case ScalarKind::kLoad:
    case ScalarKind::kFail:
      return {1, 0};
    default:
      return {};
  }
}

KernelWork operator+(const KernelWork& a, const KernelWork& b) {
  return {a.products + b.products, a.steps + b.steps, a.functions + b.functions};
}

KernelWork operator*(const KernelWork& work, Dim times) {
  return {work.products * times, work.steps * times, work.functions * times};
}

KernelWork work_of(const Nest& nest, const Processor& processor) {
  return NestWork(nest, processor).run();
}

namespace {

// The work where counters of blocks are greatest, of all blocks.
KernelWork work_of_blocks(const Blocks& blocks, const Processor& processor) {
  KernelWork one;
  for (const auto& part : blocks.parts) {
    one = one + std::visit([&](const auto& body) { return work_of(body, processor); }, part);
  }
  auto largest = [&](Dim dim) {
    if (!dim.is_term()) return dim;
    return substitute(dim, [&](Dim atom) -> Dim {
      for (const Blocks::Counter& counter : blocks.counters)
        if (counter.symbol == atom) return max(counter.count - 1, 0);
      return atom;
    });
  };
  KernelWork all{largest(one.products), largest(one.steps), largest(one.functions)};
  for (const Blocks::Counter& counter : blocks.counters) all = all * counter.count;
  return all;
}

}  // namespace

KernelWork work_of(const Kernel& kernel, const Processor& processor) {
  try {
    if (const auto* blocks = std::get_if<Blocks>(&kernel.body))
      return work_of_blocks(*blocks, processor);
    if (const auto* contraction = std::get_if<Contraction>(&kernel.body))
      return work_of(*contraction, processor);
    return work_of(std::get<Nest>(kernel.body), processor);
  } catch (const DimRangeError&) {
    return {};
  }
}

}  // namespace relay::lower
