// Reductions over axes, running sums and products.
#include <algorithm>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// The steps of a reduction on the data first and on its result at last; between them stands an
// operator of Relay that runs over axes.
struct Reduction {
  const char* op;
  GraphValue (*before)(NodeContext& node, const GraphValue& x) = nullptr;
  GraphValue (*after)(NodeContext& node, const GraphValue& x) = nullptr;
  bool extremum = false;  // max or min, which must be told what to give for nothing
};

std::vector<int64_t> all_axes(const GraphValue& x) {
  std::vector<int64_t> axes;
  for (size_t k = 0; k < x.rank(); ++k) axes.push_back(static_cast<int64_t>(k));
  return axes;
}

GraphValue reduced(NodeContext& node, const Reduction& how, const GraphValue& x,
                   const std::vector<int64_t>& axes, bool keep) {
  if (axes.empty()) return x;
  AttrList over{{"axis", axes}, {"keepdims", keep}};
  auto open = [&](int64_t axis) {
    Dim extent = x.dim(static_cast<size_t>(axis));
    return !extent.is_int() || extent.is_int(0);
  };
  // ONNX reduces nothing to the identity. Where elements are sure to be there the program need not
  // say so.
  if (how.extremum && std::any_of(axes.begin(), axes.end(), open)) {
    over.emplace_back("allow_empty", true);
  }
  return node.emit(how.op, {x}, over);
}

// The axes of a node, from an attribute or, since `since_input`, from an input.
class Axes {
 public:
  Axes(NodeContext& node, const GraphValue& x, int64_t since_input) : node_(node) {
    keep_ = node.attr_bool("keepdims", true);
    bool noop = false;
    if (node.opset() < since_input) {
      fixed_ = node.attr_ints("axes", std::vector<int64_t>());
    } else {
      noop = node.attr_bool("noop_with_empty_axes", false);
      if (node.has(1)) read_input(noop, x.rank());
    }
    if (run_time_) return;
    for (int64_t& axis : fixed_) axis = node.axis(axis, x.rank(), "axes entry");
    std::sort(fixed_.begin(), fixed_.end());
    node.require(std::adjacent_find(fixed_.begin(), fixed_.end()) == fixed_.end(),
                 "axes names an axis twice");
    if (fixed_.empty() && !noop) fixed_ = all_axes(x);
  }

  /// Reduced axes have the extent 1.
  GraphValue reduce(const Reduction& how, const GraphValue& x) const {
    return run_time_ ? reduce_chosen(how, x) : reduced(node_, how, x, fixed_, true);
  }
  /// Drops them, if the node wants that.
  GraphValue finish(const GraphValue& x) const {
    if (keep_) return x;
    if (run_time_) return node_.emit("dyn.squeeze", {x, run_time_});
    return fixed_.empty() ? x : node_.emit("squeeze", {x}, {{"axis", fixed_}});
  }
  GraphValue reduce_and_finish(const Reduction& how, const GraphValue& x) const {
    return run_time_ ? finish(reduce(how, x)) : reduced(node_, how, x, fixed_, keep_);
  }

 private:
  void read_input(bool noop, size_t rank) {
    GraphValue given = as_list(node_, node_.input(1), "axes");
    if (given.dim(0).is_int(0)) return;
    if (node_.constant(1)) {
      fixed_ = node_.ints(1, "axes");
      return;
    }
    run_time_ = given;
    if (!keep_) length_of(node_, run_time_, "axes");
    chosen_ = chosen_axes(node_, run_time_, rank);
    if (run_time_.dim(0).is_int() || noop) return;
    // There may be none of them, which means all.
    GraphValue count = extent_value(node_, run_time_, 0);
    GraphValue none = node_.emit("equal", {count, number_value(node_, 0)});
    for (GraphValue& axis : chosen_) axis = node_.emit("logical_or", {axis, none});
  }

  // Axis by axis: the data and their reduction stand side by side, and the run chooses.
  GraphValue reduce_chosen(const Reduction& how, const GraphValue& x) const {
    GraphValue zero = number_value(node_, 0), one = number_value(node_, 1);
    GraphValue result = x;
    for (size_t k = 0; k < x.rank(); ++k) {
      auto axis = static_cast<int64_t>(k);
      GraphValue extent = extent_value(node_, result, k);
      GraphValue both = node_.concat({result, reduced(node_, how, result, {axis}, true)}, axis);
      GraphValue begin = node_.emit("where", {chosen_[k], extent, zero});
      GraphValue behind = node_.emit("where", {chosen_[k], one, zero});
      result = slice_between(node_, both, axis, begin, node_.emit("add", {extent, behind}));
    }
    return result;
  }

  NodeContext& node_;
  bool keep_ = true;
  std::vector<int64_t> fixed_;
  GraphValue run_time_;
  Values chosen_;
};

Values reduce(NodeContext& node, const Reduction& how, int64_t since_input) {
  GraphValue x = node.input(0);
  Axes axes(node, x, since_input);
  GraphValue result = how.before != nullptr ? how.before(node, x) : x;
  result = axes.reduce_and_finish(how, result);
  if (how.after != nullptr) result = how.after(node, result);
  return {node.cast(result, x.dtype())};
}

// Roots, logarithms and exponentials of integers are taken in float64, of narrow floats in float32.
GraphValue widened(NodeContext& node, const GraphValue& x) {
  if (!x.dtype().is_float()) return node.cast(x, kFloat64);
  return x.dtype().bits < 32 ? node.cast(x, kFloat32) : x;
}
GraphValue magnitude(NodeContext& node, const GraphValue& x) {
  return x.dtype().is_unsigned() ? x : node.emit("abs", {x});
}
GraphValue square(NodeContext& node, const GraphValue& x) { return node.emit("multiply", {x, x}); }
GraphValue wide_square(NodeContext& node, const GraphValue& x) {
  GraphValue wide = widened(node, x);
  return square(node, wide);
}
GraphValue root(NodeContext& node, const GraphValue& x) { return node.emit("sqrt", {x}); }
GraphValue logarithm(NodeContext& node, const GraphValue& x) { return node.emit("log", {x}); }

constexpr Reduction kSum{"sum"}, kMean{"mean"}, kProd{"prod"};
constexpr Reduction kMax{"max", nullptr, nullptr, true};
constexpr Reduction kMin{"min", nullptr, nullptr, true};
constexpr Reduction kL1{"sum", magnitude};
constexpr Reduction kL2{"sum", wide_square, root};
constexpr Reduction kLogSum{"sum", widened, logarithm};
constexpr Reduction kSumSquare{"sum", square};

Values convert_sum(NodeContext& node) { return reduce(node, kSum, 13); }
Values convert_prod(NodeContext& node) { return reduce(node, kProd, 18); }
Values convert_max(NodeContext& node) { return reduce(node, kMax, 18); }
Values convert_min(NodeContext& node) { return reduce(node, kMin, 18); }
Values convert_l1(NodeContext& node) { return reduce(node, kL1, 18); }
Values convert_l2(NodeContext& node) { return reduce(node, kL2, 18); }
Values convert_log_sum(NodeContext& node) { return reduce(node, kLogSum, 18); }
Values convert_sum_square(NodeContext& node) { return reduce(node, kSumSquare, 18); }
// A mean of means of integers would truncate more than once: float64 holds what they sum up to.
constexpr Reduction kWideMean{"mean", widened};
Values convert_mean(NodeContext& node) {
  bool run_time = node.opset() >= 18 && node.has(1) && !node.constant(1);
  bool integers = !node.input(0).dtype().is_float();
  return reduce(node, run_time && integers ? kWideMean : kMean, 18);
}

// log(sum(exp(x))), less the greatest element, which is added again at last.
Values convert_log_sum_exp(NodeContext& node) {
  GraphValue x = node.input(0);
  Axes axes(node, x, 18);
  GraphValue wide = widened(node, x);
  GraphValue most = axes.reduce(kMax, wide);
  GraphValue finite = node.emit("isfinite", {most});
  GraphValue shift = node.emit("where", {finite, most, node.scalar(wide.dtype(), 0)});
  GraphValue powers = node.emit("exp", {node.emit("subtract", {wide, shift})});
  GraphValue sum = axes.reduce(kSum, powers);
  GraphValue result = node.emit("add", {node.emit("log", {sum}), shift});
  return {node.cast(axes.finish(result), x.dtype())};
}

RELAY_ONNX("ReduceSum", 1, convert_sum)
RELAY_ONNX("ReduceMean", 1, convert_mean)
RELAY_ONNX("ReduceProd", 1, convert_prod)
RELAY_ONNX("ReduceMax", 1, convert_max)
RELAY_ONNX("ReduceMin", 1, convert_min)
RELAY_ONNX("ReduceL1", 1, convert_l1)
RELAY_ONNX("ReduceL2", 1, convert_l2)
RELAY_ONNX("ReduceLogSum", 1, convert_log_sum)
RELAY_ONNX("ReduceLogSumExp", 1, convert_log_sum_exp)
RELAY_ONNX("ReduceSumSquare", 1, convert_sum_square)

// ---- The place of the greatest ------------------------------------------------------------------

Values place_of(NodeContext& node, const char* op) {
  GraphValue x = node.input(0);
  node.require(x.rank() > 0, "the data have no axes");
  std::vector<int64_t> axes{node.axis(node.attr_int("axis", 0), x.rank())};
  bool keep = node.attr_bool("keepdims", true);
  bool last = node.opset() >= 12 && node.attr_bool("select_last_index", false);
  GraphValue place =
      node.emit(op, {x}, {{"axis", axes}, {"keepdims", keep}, {"select_last_index", last}});
  return {node.cast(place, kInt64)};
}
Values convert_arg_max(NodeContext& node) { return place_of(node, "argmax"); }
Values convert_arg_min(NodeContext& node) { return place_of(node, "argmin"); }
RELAY_ONNX("ArgMax", 1, convert_arg_max)
RELAY_ONNX("ArgMin", 1, convert_arg_min)

// ---- Running sums and products ------------------------------------------------------------------

Values running(NodeContext& node, const char* op) {
  GraphValue x = node.input(0);
  node.require(x.rank() > 0, "the data have no axes");
  bool exclusive = node.attr_bool("exclusive", false), reverse = node.attr_bool("reverse", false);
  auto along = [&](int64_t axis) {
    return node.emit(op, {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
  };
  if (std::optional<NDArray> axis = node.constant(1)) {
    node.require(axis->size() == 1, "axis has " + std::to_string(axis->size()) + " elements");
    return {along(node.axis(axis->element_as_int64(0), x.rank()))};
  }
  GraphValue axis = node.reshape(as_number(node, node.input(1), "axis"), {Dim(1)});
  Values chosen = chosen_axes(node, axis, x.rank());
  // For one axis, too: the run sees whether it is that.
  GraphValue result = x.rank() == 1 ? x : along(0);
  for (size_t k = x.rank() == 1 ? 0 : 1; k < x.rank(); ++k) {
    result = node.emit("where", {chosen[k], along(static_cast<int64_t>(k)), result});
  }
  return {result};
}
Values convert_cum_sum(NodeContext& node) { return running(node, "cumsum"); }
Values convert_cum_prod(NodeContext& node) { return running(node, "cumprod"); }
RELAY_ONNX("CumSum", 11, convert_cum_sum)
RELAY_ONNX("CumProd", 26, convert_cum_prod)

}  // namespace
}  // namespace relay::onnx
