#include <relay/import/onnx/ops/ml_trees.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// Trees that are deeper become a loop: each round goes one node down.
constexpr size_t kMostUnrolled = 24;
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

/// The columns of the table of nodes; those that are the same for all nodes are left out.
struct Tables {
  GraphValue feature, threshold, yes, no;
  GraphValue test;      // of all bits, where nodes differ
  int8_t one_test = 0;  // else the test of all nodes
};

Tables tables_of(NodeContext& node, const Forest& forest) {
  std::vector<int32_t> feature, yes, no;
  std::vector<int8_t> test;
  std::vector<double> threshold;
  std::set<int8_t> tests;
  for (const Forest::Node& each : forest.nodes) {
    feature.push_back(each.feature);
    threshold.push_back(each.threshold);
    yes.push_back(each.yes);
    no.push_back(each.no);
    test.push_back(each.test);
    if (!each.is_leaf()) tests.insert(each.test);
  }
  Tables tables{list_of(node, feature),
                floats_of(node, forest.dtype, threshold),
                list_of(node, yes),
                list_of(node, no),
                {},
                {}};
  if (tests.size() > 1) {
    tables.test = list_of(node, test);
  } else {
    tables.one_test = tests.empty() ? int8_t{kIsLess} : *tests.begin();
  }
  return tables;
}

GraphValue holds(NodeContext& node, const GraphValue& x, const GraphValue& threshold, int8_t test) {
  const char* op = nullptr;
  switch (test & ~kIsMissing) {
    case kIsLess:
      op = "less";
      break;
    case kIsLess | kIsEqual:
      op = "less_equal";
      break;
    case kIsGreater:
      op = "greater";
      break;
    case kIsGreater | kIsEqual:
      op = "greater_equal";
      break;
    case kIsEqual:
      op = "equal";
      break;
    default:
      op = "not_equal";
      break;  // which not-a-number is, too
  }
  GraphValue result = node.emit(op, {x, threshold});
  bool missing = (test & kIsMissing) != 0;
  return missing ? node.emit("logical_or", {result, node.emit("isnan", {x})}) : result;
}

// Nodes of several tests: the bit of what holds is looked up in the test's bits.
GraphValue holds(NodeContext& node, const GraphValue& x, const GraphValue& threshold,
                 const GraphValue& test) {
  auto bit = [&](int8_t value) { return node.scalar(kInt8, value); };
  auto choice = [&](const char* op, int8_t value, const GraphValue& otherwise) {
    return node.emit("where", {node.emit(op, {x, threshold}), bit(value), otherwise});
  };
  GraphValue found = choice("greater", kIsGreater, bit(kIsMissing));
  found = choice("equal", kIsEqual, found);
  found = choice("less", kIsLess, found);
  return node.emit("not_equal", {node.emit("bitwise_and", {test, found}), bit(0)});
}

/// One node further down: numbers of nodes, (rows, trees).
GraphValue below(NodeContext& node, const Tables& tables, const GraphValue& x,
                 const GraphValue& at) {
  auto look = [&](const GraphValue& table) { return node.emit("take", {table, at}); };
  GraphValue seen = node.emit("gather", {x, look(tables.feature)}, {{"axis", 1}});
  GraphValue threshold = look(tables.threshold);
  GraphValue yes = tables.test ? holds(node, seen, threshold, look(tables.test))
                               : holds(node, seen, threshold, tables.one_test);
  return node.emit("where", {yes, look(tables.yes), look(tables.no)});
}

/// The leaves that rows of features come to: numbers of nodes, (rows, trees).
GraphValue leaves_of(NodeContext& node, const Forest& forest, const GraphValue& x) {
  size_t depth = std::max<size_t>(forest.depth(node), 1);
  Tables tables = tables_of(node, forest);
  // The roots are the same for all rows, and so are their features.
  GraphValue at = list_of(node, forest.roots);
  auto look = [&](const GraphValue& table) { return node.emit("take", {table, at}); };
  GraphValue seen = node.emit("take", {x, look(tables.feature)}, {{"axis", 1}});
  GraphValue threshold = look(tables.threshold);
  GraphValue yes = tables.test ? holds(node, seen, threshold, look(tables.test))
                               : holds(node, seen, threshold, tables.one_test);
  at = node.emit("where", {yes, look(tables.yes), look(tables.no)});
  if (depth <= kMostUnrolled) {
    for (size_t k = 1; k < depth; ++k) at = below(node, tables, x, at);
    return at;
  }
  GraphValue limit = node.constant_value(NDArray::scalar<int64_t>(static_cast<int64_t>(depth)));
  GraphValue round = node.constant_value(NDArray::scalar<int64_t>(1));
  round = GraphValue::of(node.importer().expr(round), round.type());  // changes
  auto test = [&](NodeContext& inner, const Values& states) {
    return inner.emit("less", {states[0], limit});
  };
  auto step = [&](NodeContext& inner, const Values& states) {
    return Values{inner.emit("add", {states[0], inner.scalar(kInt64, 1)}),
                  below(inner, tables, x, states[1])};
  };
  return node.loop({round, at}, test, step)[1];
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
  std::vector<double> weights(forest.nodes.size(), 0);
  for (const Forest::Weight& weight : forest.weights) {
    weights[static_cast<size_t>(weight.node)] = weight.value;
  }
  GraphValue leaves = leaves_of(node, forest, x);
  GraphValue said = node.emit("take", {floats_of(node, forest.dtype, weights), leaves});
  bool equal =
      std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == counts[0]; });
  if (equal) {
    GraphValue groups = node.reshape(said, {x.dim(0), Dim(forest.targets), Dim(counts[0])});
    return reduced(node, groups, 2, aggregate);
  }
  Values columns;
  int64_t begin = 0;
  for (int64_t count : counts) {
    GraphValue group = node.slice(said, 1, begin, begin + count);
    // No tree speaks of the target.
    GraphValue column = count == 0 ? node.emit("sum", {group}, {{"axis", std::vector<int64_t>{1}}})
                                   : reduced(node, group, 1, aggregate);
    columns.push_back(node.unsqueeze(column, {1}));
    begin += count;
  }
  return node.concat(columns, 1);
}

/// Leaves with weights for several targets: a row of them for each node.
GraphValue dense_scores(NodeContext& node, const Forest& forest, const GraphValue& x,
                        Aggregate aggregate) {
  auto count = static_cast<int64_t>(forest.nodes.size());
  node.require(forest.targets <= kMostWeights / std::max<int64_t>(count, 1),
               std::to_string(forest.targets) + " targets for each of " + std::to_string(count) +
                   " nodes are more than " + std::to_string(kMostWeights) + " weights");
  double otherwise = nothing(aggregate);
  std::vector<double> weights(static_cast<size_t>(count * forest.targets), otherwise);
  for (const Forest::Weight& weight : forest.weights) {
    double& to = weights[static_cast<size_t>(weight.node * forest.targets + weight.target)];
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
  Dim features = x.dim(1);
  GraphValue rows = x;
  std::string needed = "the trees look at feature " + std::to_string(most);
  if (features.is_int()) {
    node.require(most < features.as_int(),
                 needed + ", and there are " + features.str() + ", counted from 0");
  } else {
    GraphValue few = node.emit("less_equal", {extent_value(node, x, 1), number_value(node, most)});
    rows = node.emit("add", {x, node.cast(zero_unless(node, few), x.dtype())});
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
