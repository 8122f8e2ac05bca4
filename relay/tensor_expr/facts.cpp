#include <relay/tensor_expr/facts.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

bool is_lazy(const ScalarNode& node) {
  return node.kind == ScalarKind::kSelect || node.kind == ScalarKind::kFail;
}

size_t num_values(const ScalarNode& fold) {
  return fold.combiner->kind == Combiner::Kind::kCustom ? fold.combiner->lhs.size() : 1;
}

/// The operands that a node's value is made of: not where a load reads, nor what chooses.
std::span<const ScalarRef> value_operands(const ScalarNode& node) {
  std::span<const ScalarRef> args(node.args);
  switch (node.kind) {
    case ScalarKind::kLoad:
      return {};
    case ScalarKind::kSelect:
      return args.subspan(1);
    case ScalarKind::kFail:
      return args.subspan(1, 1);
    case ScalarKind::kFold:
      return args.first(num_values(node));
    default:
      return args;
  }
}

/// The expressions from which a stage computes values, apart from indices: domain values, steps,
/// updates.
std::vector<ScalarRef> value_roots(const Stage& stage) {
  if (const auto* update = std::get_if<Update>(&stage.body)) return {update->value};
  return stage_roots(stage);
}

// ---- Where numbers come from ------------------------------------------------------------------

NumbersOf joined(NumbersOf a, NumbersOf b) {
  if (a == b) return a;
  bool elements = std::max(a, b) <= NumbersOf::kElementsOrConstants;
  return elements ? NumbersOf::kElementsOrConstants : std::max(a, b);
}

/// The identities of max and min, which give way to every number.
bool gives_way(const ScalarNode& constant) {
  DType dtype = constant.dtype;
  auto equals = [&](const Scalar& x) {
    return dtype.is_float() ? x.node()->value.f == constant.value.f
                            : x.node()->value.i == constant.value.i;
  };
  return !dtype.is_bool() && (equals(lowest(dtype)) || equals(highest(dtype)));
}

class Numbers {
 public:
  explicit Numbers(const Computation& computation) : computation_(computation) {}

  NumbersOf run() {
    for (const Stage& stage : computation_.stages) add(stage);
    std::optional<NumbersOf> all;
    for (const Output& output : computation_.outputs) {
      NumbersOf one = of(output.tensor);
      all = all ? joined(*all, one) : one;
    }
    return all.value_or(NumbersOf::kConstants);
  }

 private:
  using Known = std::unordered_map<const ScalarNode*, NumbersOf>;

  NumbersOf of(TensorId id) const {
    return id.is_input() ? NumbersOf::kElements
                         : stages_[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
  }

  void add(const Stage& stage) {
    std::vector<NumbersOf> results(stage.outputs.size(), NumbersOf::kFunctions);
    if (const auto* map = std::get_if<Map>(&stage.body)) {
      Known known = walk(map->values, {});
      for (size_t k = 0; k < results.size(); ++k) results[k] = known.at(map->values[k].get());
    } else if (const auto* scan = std::get_if<Scan>(&stage.body)) {
      scan_carries(*scan, results);
    } else if (const auto* update = std::get_if<Update>(&stage.body)) {
      NumbersOf value = walk({&update->value, 1}, {}).at(update->value.get());
      results[0] = update->combiner ? folded(*update->combiner, joined(of(update->base), value))
                                    : joined(of(update->base), value);
    } else if (const auto* view = std::get_if<View>(&stage.body)) {
      results[0] = of(view->source);
    }
    stages_.push_back(std::move(results));
  }

  // Carries are their initial values and the results of a step: a join of the kinds of all steps.
  void scan_carries(const Scan& scan, std::vector<NumbersOf>& results) const {
    Known init = walk(scan.init, {});
    for (size_t k = 0; k < results.size(); ++k) results[k] = init.at(scan.init[k].get());
    for (bool changed = true; changed;) {
      Known carries;
      for (size_t k = 0; k < results.size(); ++k) carries[scan.carries[k].get()] = results[k];
      Known known = walk(scan.step, carries);
      changed = false;
      for (size_t k = 0; k < results.size(); ++k) {
        NumbersOf next = std::max(results[k], joined(results[k], known.at(scan.step[k].get())));
        changed |= next != results[k];
        results[k] = next;
      }
    }
  }

  static NumbersOf folded(const Combiner& combiner, NumbersOf value) {
    switch (combiner.kind) {
      case Combiner::Kind::kMax:
      case Combiner::Kind::kMin:
        return value;
      case Combiner::Kind::kSum:
        return value == NumbersOf::kConstants ? value : std::max(value, NumbersOf::kSums);
      default:
        return value == NumbersOf::kConstants ? value : NumbersOf::kFunctions;
    }
  }

  // By variable, since placeholders of one id may be several nodes.
  static const NumbersOf* carried(const Known& carries, const ScalarNode& var) {
    for (const auto& [carry, numbers] : carries) {
      if (carry->id == var.id) return &numbers;
    }
    return nullptr;
  }

  Known walk(std::span<const ScalarRef> roots, const Known& carries) const {
    Known known;
    for (const ScalarNode* node : post_order(roots)) known[node] = classify(*node, known, carries);
    return known;
  }

  NumbersOf classify(const ScalarNode& node, const Known& known, const Known& carries) const {
    auto arg = [&](size_t i) { return known.at(node.args[i].get()); };
    switch (node.kind) {
      case ScalarKind::kConst:
      case ScalarKind::kIndex:
      case ScalarKind::kFromDim:
        return NumbersOf::kConstants;
      case ScalarKind::kVar: {
        const NumbersOf* found = carried(carries, node);
        return found == nullptr ? NumbersOf::kFunctions : *found;
      }
      case ScalarKind::kLoad: {
        bool fills = node.bounds == Bounds::kFill && !gives_way(*node.fill);
        return fills ? joined(of(node.tensor), NumbersOf::kConstants) : of(node.tensor);
      }
      case ScalarKind::kSelect:
        return either(*node.args[1], *node.args[2], arg(1), arg(2));
      case ScalarKind::kFail:
        return arg(1);
      case ScalarKind::kFold:
        return folded(*node.combiner, arg(0));
      case ScalarKind::kCast: {
        bool same = node.dtype.is_float() == node.args[0]->dtype.is_float() &&
                    node.dtype.is_bool() == node.args[0]->dtype.is_bool();
        return same || arg(0) == NumbersOf::kConstants ? arg(0) : NumbersOf::kFunctions;
      }
      case ScalarKind::kUnary: {
        if (arg(0) == NumbersOf::kConstants) return NumbersOf::kConstants;
        bool turns = node.unary == UnaryOp::kNeg && arg(0) <= NumbersOf::kSums;
        return turns ? NumbersOf::kSums : NumbersOf::kFunctions;
      }
      case ScalarKind::kBinary:
        return binary(node, arg(0), arg(1));
      case ScalarKind::kBitcast:
      case ScalarKind::kGet:
        return NumbersOf::kFunctions;
    }
    return NumbersOf::kFunctions;
  }

  static NumbersOf either(const ScalarNode& x, const ScalarNode& y, NumbersOf a, NumbersOf b) {
    if (x.kind == ScalarKind::kConst && gives_way(x)) return b;
    if (y.kind == ScalarKind::kConst && gives_way(y)) return a;
    return joined(a, b);
  }

  static NumbersOf binary(const ScalarNode& node, NumbersOf a, NumbersOf b) {
    if (a == NumbersOf::kConstants && b == NumbersOf::kConstants) return a;
    bool plain = std::max(a, b) <= NumbersOf::kSums && !node.dtype.is_bool();
    switch (node.binary) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        return plain ? NumbersOf::kSums : NumbersOf::kFunctions;
      case BinaryOp::kMul: {
        // Multiples of sums only by constants.
        bool simple = std::max(a, b) <= NumbersOf::kElementsOrConstants ||
                      std::min(a, b) == NumbersOf::kConstants;
        return plain && simple ? NumbersOf::kSums : NumbersOf::kFunctions;
      }
      case BinaryOp::kDiv:
        return plain && b == NumbersOf::kConstants ? NumbersOf::kSums : NumbersOf::kFunctions;
      case BinaryOp::kMin:
      case BinaryOp::kMax:
        return plain ? either(*node.args[0], *node.args[1], a, b) : NumbersOf::kFunctions;
      default:
        return NumbersOf::kFunctions;
    }
  }

  const Computation& computation_;
  std::vector<std::vector<NumbersOf>> stages_;
};

// ---- Work -------------------------------------------------------------------------------------

const ScalarNode* without_casts(const ScalarNode* node) {
  while (node->kind == ScalarKind::kCast) node = node->args[0].get();
  return node;
}

/// True if a fold sums products of elements of two tensors, like convolutions and matrix products.
bool sums_products(const ScalarNode& fold) {
  if (fold.combiner->kind != Combiner::Kind::kSum || fold.args.size() != 1) return false;
  const ScalarNode* product = without_casts(fold.args[0].get());
  if (product->kind != ScalarKind::kBinary || product->binary != BinaryOp::kMul) return false;
  const ScalarNode* a = without_casts(product->args[0].get());
  const ScalarNode* b = without_casts(product->args[1].get());
  return a->kind == ScalarKind::kLoad && b->kind == ScalarKind::kLoad && !(a->tensor == b->tensor);
}

bool is_arithmetic(const ScalarNode& node) {
  return node.kind == ScalarKind::kUnary || node.kind == ScalarKind::kBinary;
}

int64_t arithmetic_in(std::span<const ScalarRef> roots) {
  std::vector<const ScalarNode*> nodes = post_order(roots);
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const ScalarNode* node) { return is_arithmetic(*node); });
}

class WorkOfStage {
 public:
  WorkOfStage(const Computation& computation, const Stage& stage)
      : computation_(computation), stage_(stage) {
    nodes_ = post_order(stage_roots(stage));
    numbers_ = number_nodes(nodes_);
    free_ = free_sets(nodes_, numbers_);
    for (const Axis& axis : stage_axes(stage)) extents_.emplace(axis.id, axis.extent);
    for (const ScalarNode* node : nodes_) {
      for (const Axis& axis : node->axes) extents_.emplace(axis.id, axis.extent);
    }
    loads_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      loads_[i] = nodes_[i]->kind == ScalarKind::kLoad;
      for (const ScalarRef& arg : nodes_[i]->args) loads_[i] |= loads_[numbers_.at(arg.get())];
    }
  }

  void add_to(Work& work, std::map<int32_t, Dim>& reads) const {
    for (const ScalarNode* node : values()) {
      if (is_arithmetic(*node)) work.operations = work.operations + points(free(node));
      if (node->kind == ScalarKind::kFold) add_fold(*node, work);
    }
    for (const ScalarNode* node : nodes_) {
      if (node->kind == ScalarKind::kLoad) add_read(node->tensor, points(free(node)), reads);
    }
    if (const auto* update = std::get_if<Update>(&stage_.body)) {
      if (update->combiner) work.operations = work.operations + all_points();
      add_read(update->base, product(computation_.info(update->base).dims), reads);
    }
  }

 private:
  const FreeSet& free(const ScalarNode* node) const { return free_[numbers_.at(node)]; }

  Dim all_points() const {
    Dim count(1);
    for (const Axis& axis : stage_axes(stage_)) count = count * axis.extent;
    return count;
  }

  /// The number of different values of an expression with these dependences.
  Dim points(const FreeSet& ids, std::span<const Axis> more = {}) const {
    bool carried = std::any_of(ids.begin(), ids.end(), [](uint32_t id) { return id & kVarFlag; });
    Dim count = carried ? all_points() : Dim(1);
    auto is_done = [&](uint32_t id) {
      auto axes = stage_axes(stage_);
      return (id & kVarFlag) != 0 ||
             (carried && std::any_of(axes.begin(), axes.end(),
                                     [&](const Axis& axis) { return axis.id == id; }));
    };
    for (uint32_t id : ids) {
      if (!is_done(id)) count = count * extents_.at(id);
    }
    for (const Axis& axis : more) count = count * axis.extent;
    return count;
  }

  void add_fold(const ScalarNode& fold, Work& work) const {
    const Combiner& combiner = *fold.combiner;
    int64_t each = combiner.kind == Combiner::Kind::kCustom ? arithmetic_in(combiner.result) : 1;
    Dim joins = points(free(&fold), fold.axes);
    work.operations = work.operations + joins * Dim(each);
    if (sums_products(fold)) work.macs = work.macs + joins;
  }

  /// Nodes that are part of values: conditions are if they ask data, positions are not.
  std::vector<const ScalarNode*> values() const {
    std::vector<const ScalarNode*> found;
    std::unordered_set<const ScalarNode*> seen;
    std::vector<const ScalarNode*> stack;
    auto push = [&](const ScalarRef& node) {
      if (seen.insert(node.get()).second) stack.push_back(node.get());
    };
    for (const ScalarRef& root : value_roots(stage_)) push(root);
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      found.push_back(node);
      for (const ScalarRef& arg : value_operands(*node)) push(arg);
      bool asks = is_lazy(*node) && loads_[numbers_.at(node->args[0].get())];
      if (asks) push(node->args[0]);
    }
    return found;
  }

  void add_read(TensorId id, Dim count, std::map<int32_t, Dim>& reads) const {
    while (!id.is_input()) {
      const auto* view =
          std::get_if<View>(&computation_.stages[static_cast<size_t>(id.stage)].body);
      if (view == nullptr) return;
      id = view->source;
    }
    auto [entry, added] = reads.emplace(id.index, count);
    if (!added) entry->second = entry->second + count;
  }

  const Computation& computation_;
  const Stage& stage_;
  std::vector<const ScalarNode*> nodes_;
  NodeNumbers numbers_;
  std::vector<FreeSet> free_;
  std::vector<char> loads_;  // whether a value depends on loaded ones
  std::unordered_map<uint32_t, Dim> extents_;
};

}  // namespace

NumbersOf numbers_of(const Computation& computation) { return Numbers(computation).run(); }

Work work_of(const Computation& computation) {
  Work work;
  std::map<int32_t, Dim> reads;
  bool moves = false;
  for (const Stage& stage : computation.stages) {
    if (std::holds_alternative<View>(stage.body)) continue;
    moves = true;
    if (std::holds_alternative<Library>(stage.body)) {
      work.has_library = true;
    } else {
      WorkOfStage(computation, stage).add_to(work, reads);
    }
  }
  if (!moves) return work;  // the same elements in another shape
  for (const auto& [input, count] : reads) {
    const TensorInfo& info = computation.inputs[static_cast<size_t>(input)];
    work.bytes =
        work.bytes + min(count, product(info.dims)) * Dim(static_cast<int64_t>(info.dtype.size()));
  }
  for (const Output& output : computation.outputs) {
    auto size = static_cast<int64_t>(computation.info(output.tensor).dtype.size());
    work.bytes = work.bytes + product(output.dims) * Dim(size);
  }
  return work;
}

bool uses_positions(const Computation& computation) {
  for (const Stage& stage : computation.stages) {
    std::unordered_set<const ScalarNode*> seen;
    std::vector<const ScalarNode*> stack;
    for (const ScalarRef& root : value_roots(stage)) stack.push_back(root.get());
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      if (!seen.insert(node).second) continue;
      if (node->kind == ScalarKind::kIndex) return true;
      if (node->kind == ScalarKind::kLoad) continue;
      for (const ScalarRef& arg : node->args) stack.push_back(arg.get());
    }
  }
  return false;
}

namespace {

bool is_finite_everywhere(const ScalarNode& node) {
  if (node.kind == ScalarKind::kFold)
    return node.combiner->kind != Combiner::Kind::kProd &&
           node.combiner->kind != Combiner::Kind::kCustom;
  if (node.kind == ScalarKind::kBinary) return scalar_op(node.binary).cost == ScalarCost::kStep;
  if (node.kind != ScalarKind::kUnary) return true;
  switch (node.unary) {
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kAtan:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kSigmoid:
    case UnaryOp::kAsinh:
      return true;
    default:
      return scalar_op(node.unary).cost == ScalarCost::kStep;
  }
}

}  // namespace

bool is_finite_everywhere(const Computation& computation) {
  for (const Stage& stage : computation.stages) {
    if (std::holds_alternative<View>(stage.body)) continue;
    if (!std::holds_alternative<Map>(stage.body)) return false;
    for (const ScalarNode* node : post_order(value_roots(stage))) {
      if (!is_finite_everywhere(*node)) return false;
    }
  }
  return true;
}

}  // namespace relay::te
