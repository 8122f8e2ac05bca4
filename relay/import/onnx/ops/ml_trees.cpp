#include <relay/import/onnx/ops/ml_trees.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// Targets whose trees are summed by themselves.
constexpr int64_t kMostGroups = 256;
/// The most elements of a matrix with a column for each target.
constexpr int64_t kMostWeights = int64_t{1} << 27;

template <class T>
GraphValue list_of(NodeContext& node, const std::vector<T>& elements) {
  return node.constant_value(
      NDArray::from<T>(Shape{static_cast<int64_t>(elements.size())},
                       std::span<const T>(elements.data(), elements.size())));
}

GraphValue floats_of(NodeContext& node, DType dtype, const std::vector<double>& elements) {
  if (dtype == kFloat64) return list_of(node, elements);
  return list_of(node, std::vector<float>(elements.begin(), elements.end()));
}

// ---- The walk ----

/// The nodes that are no leaves as `tree_leaves` reads them, and the numbers of the leaves.
template <class T>
class Table {
 public:
  explicit Table(const Forest& forest) : forest_(forest), numbers_(forest.nodes.size(), 0) {
    // A test of equality takes two nodes.
    int32_t inner = 0, leaves = 0;
    for (size_t k = 0; k < forest.nodes.size(); ++k) {
      const Forest::Node& each = forest.nodes[k];
      numbers_[k] = each.is_leaf() ? -1 - leaves++ : inner;
      if (!each.is_leaf()) inner += splits(each) ? 2 : 1;
    }
    for (const Forest::Node& each : forest.nodes) add(each);
  }

  GraphValue nodes(NodeContext& node) const {
    return node.constant_value(
        NDArray::from<int32_t>(Shape{static_cast<int64_t>(words_.size()) / kWords, kWords},
                               std::span<const int32_t>(words_)));
  }
  GraphValue roots(NodeContext& node) const {
    std::vector<int32_t> roots;
    for (int32_t root : forest_.roots) roots.push_back(number(root));
    return list_of(node, roots);
  }

 private:
  int32_t number(int32_t node) const { return numbers_[static_cast<size_t>(node)]; }
  static int8_t order_of(const Forest::Node& node) { return node.test & ~kIsMissing; }
  static bool splits(const Forest::Node& node) {
    int8_t order = order_of(node);
    return !std::isnan(node.threshold) && (order == kIsEqual || order == (kIsLess | kIsGreater));
  }
  /// The greatest number below; not-a-number, which nothing is at most, below all of them.
  static T below(T threshold) {
    T least = -std::numeric_limits<T>::infinity();
    return threshold == least ? std::numeric_limits<T>::quiet_NaN()
                              : std::nextafter(threshold, least);
  }

  /// To `first` if the feature is at most the threshold, or not-a-number and `missing`.
  void push(int32_t feature, bool missing, T threshold, int32_t first, int32_t second) {
    words_.push_back(missing ? feature | kMissingFirst : feature);
    words_.push_back(first);
    words_.push_back(second);
    int32_t bits[sizeof(T) / sizeof(int32_t)];
    std::memcpy(bits, &threshold, sizeof(T));
    words_.insert(words_.end(), std::begin(bits), std::end(bits));
  }

  void add(const Forest::Node& node) {
    if (node.is_leaf()) return;
    auto threshold = static_cast<T>(node.threshold);
    bool missing = (node.test & kIsMissing) != 0;
    int32_t yes = number(node.yes), no = number(node.no);
    int8_t order = order_of(node);
    if (std::isnan(threshold)) {
      bool unequal = order == (kIsLess | kIsGreater);  // the one test that it passes
      return push(node.feature, missing, threshold, yes, unequal ? yes : no);
    }
    switch (order) {
      case kIsLess | kIsEqual:
        return push(node.feature, missing, threshold, yes, no);
      case kIsLess:
        return push(node.feature, missing, below(threshold), yes, no);
      case kIsGreater:
        return push(node.feature, !missing, threshold, no, yes);
      case kIsGreater | kIsEqual:
        return push(node.feature, !missing, below(threshold), no, yes);
      default:
        break;
    }
    bool equal = order == kIsEqual;
    auto next = static_cast<int32_t>(static_cast<int64_t>(words_.size()) / kWords) + 1;
    push(node.feature, equal == missing, threshold, next, equal ? no : yes);
    push(node.feature, false, below(threshold), equal ? no : yes, equal ? yes : no);
  }

  static constexpr int64_t kWords = 3 + static_cast<int64_t>(sizeof(T) / sizeof(int32_t));
  static constexpr int32_t kMissingFirst = 1 << 30;
  const Forest& forest_;
  std::vector<int32_t> numbers_;  // of each node, as the table has it
  std::vector<int32_t> words_;
};

/// The leaves that rows of features come to, (rows, trees): numbers of leaves alone, in order.
GraphValue leaves_of(NodeContext& node, const Forest& forest, const GraphValue& x) {
  forest.depth(node);  // refuses circles
  auto walked = [&](const auto& table) {
    return node.emit("tree_leaves", {x, table.nodes(node), table.roots(node)});
  };
  return forest.dtype == kFloat64 ? walked(Table<double>(forest)) : walked(Table<float>(forest));
}

/// The place of each node among the leaves; -1 for others.
std::vector<int64_t> leaf_numbers(const Forest& forest, int64_t& count) {
  std::vector<int64_t> numbers;
  count = 0;
  for (const Forest::Node& each : forest.nodes) numbers.push_back(each.is_leaf() ? count++ : -1);
  return numbers;
}

// ---- The scores ----

/// The one target that the leaves of a tree speak of, by its place among the roots; nothing if
/// a tree has several, or a leaf has two weights.
std::optional<std::vector<int64_t>> targets_of_trees(const Forest& forest) {
  std::vector<int64_t> of_node(forest.nodes.size(), -1);
  for (const Forest::Weight& weight : forest.weights) {
    int64_t& target = of_node[static_cast<size_t>(weight.node)];
    if (target != -1) return std::nullopt;
    target = weight.target;
  }
  std::vector<int64_t> result;
  std::vector<size_t> tree_of(forest.nodes.size(), 0);  // the first that has the node, from 1
  size_t tree = 0;
  for (int32_t root : forest.roots) {
    ++tree;
    int64_t found = -1;
    std::vector<int32_t> todo{root};
    while (!todo.empty()) {
      auto at = static_cast<size_t>(todo.back());
      todo.pop_back();
      const Forest::Node& here = forest.nodes[at];
      if (here.is_leaf()) {
        if (found == -1) found = of_node[at];
        if (of_node[at] == -1 || of_node[at] != found) return std::nullopt;
        continue;
      }
      if (tree_of[at] == tree) continue;
      if (tree_of[at] != 0) return std::nullopt;  // another tree's as well
      tree_of[at] = tree;
      todo.push_back(here.yes);
      todo.push_back(here.no);
    }
    if (found == -1) return std::nullopt;
    result.push_back(found);
  }
  return result;
}

/// The weight of a leaf that says nothing of a target.
double nothing(Aggregate aggregate) {
  if (aggregate == Aggregate::kMin) return std::numeric_limits<double>::infinity();
  if (aggregate == Aggregate::kMax) return -std::numeric_limits<double>::infinity();
  return 0;
}

GraphValue reduced(NodeContext& node, const GraphValue& weights, int64_t axis,
                   Aggregate aggregate) {
  const char* op = aggregate == Aggregate::kMin   ? "min"
                   : aggregate == Aggregate::kMax ? "max"
                                                  : "sum";
  return node.emit(op, {weights}, {{"axis", std::vector<int64_t>{axis}}});
}

/// Trees of one target each, in the order of targets: `counts` of them.
GraphValue grouped_scores(NodeContext& node, const Forest& forest, const GraphValue& x,
                          const std::vector<int64_t>& counts, Aggregate aggregate) {
  int64_t count = 0;
  std::vector<int64_t> numbers = leaf_numbers(forest, count);
  std::vector<double> weights(static_cast<size_t>(count), 0);
  for (const Forest::Weight& weight : forest.weights) {
    int64_t leaf = numbers[static_cast<size_t>(weight.node)];
    if (leaf >= 0) weights[static_cast<size_t>(leaf)] = weight.value;
  }
  GraphValue leaves = leaves_of(node, forest, x);
  GraphValue said = node.emit("take", {floats_of(node, forest.dtype, weights), leaves});
  bool equal =
      std::all_of(counts.begin(), counts.end(), [&](int64_t trees) { return trees == counts[0]; });
  if (equal) {
    GraphValue groups = node.reshape(said, {x.dim(0), Dim(forest.targets), Dim(counts[0])});
    return reduced(node, groups, 2, aggregate);
  }
  Values columns;
  int64_t begin = 0;
  for (int64_t trees : counts) {
    GraphValue group = node.slice(said, 1, begin, begin + trees);
    // No tree speaks of the target.
    GraphValue column = trees == 0 ? node.emit("sum", {group}, {{"axis", std::vector<int64_t>{1}}})
                                   : reduced(node, group, 1, aggregate);
    columns.push_back(node.unsqueeze(column, {1}));
    begin += trees;
  }
  return node.concat(columns, 1);
}

/// Leaves with weights for several targets: a row of them for each leaf.
GraphValue dense_scores(NodeContext& node, const Forest& forest, const GraphValue& x,
                        Aggregate aggregate) {
  int64_t count = 0;
  std::vector<int64_t> numbers = leaf_numbers(forest, count);
  node.require(forest.targets <= kMostWeights / std::max<int64_t>(count, 1),
               std::to_string(forest.targets) + " targets for each of " + std::to_string(count) +
                   " leaves are more than " + std::to_string(kMostWeights) + " weights");
  double otherwise = nothing(aggregate);
  std::vector<double> weights(static_cast<size_t>(count * forest.targets), otherwise);
  for (const Forest::Weight& weight : forest.weights) {
    int64_t leaf = numbers[static_cast<size_t>(weight.node)];
    if (leaf < 0) continue;
    double& to = weights[static_cast<size_t>(leaf * forest.targets + weight.target)];
    to = to == otherwise                ? weight.value
         : aggregate == Aggregate::kMin ? std::min(to, weight.value)
         : aggregate == Aggregate::kMax ? std::max(to, weight.value)
                                        : to + weight.value;
  }
  GraphValue table =
      node.reshape(floats_of(node, forest.dtype, weights), {Dim(count), Dim(forest.targets)});
  GraphValue said = node.emit("take", {table, leaves_of(node, forest, x)}, {{"axis", 0}});
  GraphValue scores = reduced(node, said, 1, aggregate);
  if (otherwise == 0) return scores;
  GraphValue none = node.emit("equal", {scores, node.scalar(forest.dtype, otherwise)});
  return node.emit("where", {none, node.scalar(forest.dtype, 0), scores});
}

}  // namespace

int8_t test_of(NodeContext& node, const std::string& mode) {
  if (mode == "LEAF") return 0;
  if (mode == "BRANCH_LEQ") return kIsLess | kIsEqual;
  if (mode == "BRANCH_LT") return kIsLess;
  if (mode == "BRANCH_GTE") return kIsGreater | kIsEqual;
  if (mode == "BRANCH_GT") return kIsGreater;
  if (mode == "BRANCH_EQ") return kIsEqual;
  if (mode == "BRANCH_NEQ") return kIsLess | kIsGreater | kIsMissing;
  node.fail("a node of a tree has the mode " + quoted(mode));
}

size_t Forest::depth(NodeContext& node) const {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(nodes.size(), State::kNew);
  std::vector<size_t> depths(nodes.size(), 0);
  size_t most = 0;
  for (int32_t root : roots) {
    std::vector<int32_t> stack{root};
    while (!stack.empty()) {
      auto at = static_cast<size_t>(stack.back());
      const Node& here = nodes[at];
      if (here.is_leaf() || states[at] == State::kDone) {
        states[at] = State::kDone;
        stack.pop_back();
        continue;
      }
      if (states[at] == State::kOpen) {
        depths[at] = 1 + std::max(depths[static_cast<size_t>(here.yes)],
                                  depths[static_cast<size_t>(here.no)]);
        states[at] = State::kDone;
        stack.pop_back();
        continue;
      }
      states[at] = State::kOpen;
      for (int32_t child : {here.yes, here.no}) {
        State state = states[static_cast<size_t>(child)];
        node.require(state != State::kOpen,
                     "node " + std::to_string(child) + " of the trees comes after itself");
        if (state == State::kNew) stack.push_back(child);
      }
    }
    most = std::max(most, depths[static_cast<size_t>(root)]);
  }
  return most;
}

GraphValue forest_scores(NodeContext& node, Forest& forest, const GraphValue& x,
                         Aggregate aggregate) {
  int32_t most = 0;
  for (const Forest::Node& each : forest.nodes) most = std::max(most, each.feature);
  constexpr int32_t kMost = 1 << 29;
  node.require(most < kMost, "the trees look at feature " + std::to_string(most));
  node.require(forest.nodes.size() < kMost,
               "the trees have " + std::to_string(forest.nodes.size()) + " nodes");
  Dim features = x.dim(1);
  GraphValue rows = x;
  std::string needed = "the trees look at feature " + std::to_string(most);
  if (features.is_int()) {
    node.require(most < features.as_int(),
                 needed + ", and there are " + features.str() + ", counted from 0");
  } else {
    GraphValue few = node.emit("less_equal", {extent_value(node, x, 1), number_value(node, most)});
    GraphValue zero = zero_unless(node, few, needed + ", and the data have fewer");
    rows = node.emit("add", {x, node.cast(zero, x.dtype())});
  }
  GraphValue scores;
  std::optional<std::vector<int64_t>> targets = targets_of_trees(forest);
  bool grouped = targets && (forest.targets <= kMostGroups);
  if (grouped) {
    std::vector<size_t> order(forest.roots.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (*targets)[a] < (*targets)[b]; });
    std::vector<int32_t> roots;
    std::vector<int64_t> counts(static_cast<size_t>(forest.targets), 0);
    for (size_t k : order) {
      roots.push_back(forest.roots[k]);
      ++counts[static_cast<size_t>((*targets)[k])];
    }
    forest.roots = std::move(roots);
    scores = grouped_scores(node, forest, rows, counts, aggregate);
  } else {
    scores = dense_scores(node, forest, rows, aggregate);
  }
  if (aggregate != Aggregate::kAverage) return scores;
  auto count = static_cast<double>(forest.roots.size());
  return node.emit("divide", {scores, node.scalar(forest.dtype, count)});
}

}  // namespace relay::onnx
