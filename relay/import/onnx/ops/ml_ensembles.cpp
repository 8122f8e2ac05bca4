// TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include <relay/import/onnx/ops/ml_trees.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// Numbers of an attribute that is a list of float32, or of NAME_as_tensor, which may be float64.
struct Numbers {
  std::vector<double> values;
  bool is_double = false;
};

Numbers numbers_of(NodeContext& node, const std::string& name) {
  std::string tensor = name + "_as_tensor";
  if (!node.has_attr(tensor)) return {node.attr_floats(name, std::vector<double>()), false};
  node.require(!node.has_attr(name), name + " and " + tensor + " are both given");
  NDArray array = node.attr_tensor(tensor);
  Numbers result{{}, array.dtype() == kFloat64};
  for (int64_t k = 0; k < array.size(); ++k) result.values.push_back(array.element_as_double(k));
  return result;
}

/// A list with an entry for each node, or leaf, as `like` says.
void require_length(NodeContext& node, const std::string& name, size_t found, size_t wanted,
                    const std::string& like) {
  node.require(found == wanted, name + " has " + std::to_string(found) + " entries, " + like +
                                    " has " + std::to_string(wanted));
}

// ---- Lists of nodes by tree and number ----

class ListedTrees {
 public:
  /// `prefix`: of the attributes that say what leaves give: "class" or "target".
  ListedTrees(NodeContext& node, std::string prefix) : node_(node), prefix_(std::move(prefix)) {
    trees_ = node.attr_ints("nodes_treeids");
    numbers_ = node.attr_ints("nodes_nodeids");
    node.ignore({"nodes_hitrates", "nodes_hitrates_as_tensor"});  // how often, in training
    node.require(!trees_.empty(), "there are no trees");
    node.countable(static_cast<int64_t>(trees_.size()), "the nodes of the trees");
  }

  Forest forest() {
    Forest forest;
    read_tests(forest);
    index_nodes(forest);
    link(forest);
    read_weights(forest);
    return forest;
  }

 private:
  void read_tests(Forest& forest) {
    size_t count = trees_.size();
    std::vector<int64_t> features = node_.attr_ints("nodes_featureids");
    std::vector<std::string> modes = node_.attr_strings("nodes_modes");
    std::vector<int64_t> tracks =
        node_.attr_ints("nodes_missing_value_tracks_true", std::vector<int64_t>());
    Numbers thresholds = numbers_of(node_, "nodes_values");
    require_length(node_, "nodes_nodeids", numbers_.size(), count, "nodes_treeids");
    require_length(node_, "nodes_featureids", features.size(), count, "nodes_treeids");
    require_length(node_, "nodes_modes", modes.size(), count, "nodes_treeids");
    require_length(node_, "nodes_values", thresholds.values.size(), count, "nodes_treeids");
    if (!tracks.empty()) {
      require_length(node_, "nodes_missing_value_tracks_true", tracks.size(), count,
                     "nodes_treeids");
    }
    if (thresholds.is_double) forest.dtype = kFloat64;
    forest.nodes.resize(count);
    for (size_t k = 0; k < count; ++k) {
      Forest::Node& to = forest.nodes[k];
      to.test = test_of(node_, modes[k]);
      if (to.is_leaf()) continue;
      bool fits = features[k] >= 0 && features[k] <= std::numeric_limits<int32_t>::max();
      node_.require(fits, "a node looks at feature " + std::to_string(features[k]));
      to.feature = static_cast<int32_t>(features[k]);
      to.threshold = thresholds.values[k];
      if (!tracks.empty() && tracks[k] != 0) to.test |= kIsMissing;
    }
  }

  void index_nodes(Forest& forest) {
    for (size_t k = 0; k < trees_.size(); ++k) {
      bool added = places_[trees_[k]].emplace(numbers_[k], static_cast<int32_t>(k)).second;
      node_.require(added, place_text(trees_[k], numbers_[k]) + " is there twice");
      // The first node of a tree is its root.
      if (k == 0 || trees_[k] != trees_[k - 1]) {
        node_.require(roots_.insert(trees_[k]).second,
                      "the nodes of tree " + std::to_string(trees_[k]) + " are not together");
        forest.roots.push_back(static_cast<int32_t>(k));
      }
    }
  }

  void link(Forest& forest) {
    std::vector<int64_t> yes = node_.attr_ints("nodes_truenodeids");
    std::vector<int64_t> no = node_.attr_ints("nodes_falsenodeids");
    require_length(node_, "nodes_truenodeids", yes.size(), trees_.size(), "nodes_treeids");
    require_length(node_, "nodes_falsenodeids", no.size(), trees_.size(), "nodes_treeids");
    for (size_t k = 0; k < trees_.size(); ++k) {
      Forest::Node& to = forest.nodes[k];
      auto self = static_cast<int32_t>(k);
      to.yes = to.is_leaf() ? self : place(trees_[k], yes[k]);
      to.no = to.is_leaf() ? self : place(trees_[k], no[k]);
    }
  }

  void read_weights(Forest& forest) {
    std::vector<int64_t> trees = node_.attr_ints(prefix_ + "_treeids");
    std::vector<int64_t> numbers = node_.attr_ints(prefix_ + "_nodeids");
    std::vector<int64_t> targets = node_.attr_ints(prefix_ + "_ids");
    Numbers weights = numbers_of(node_, prefix_ + "_weights");
    std::string like = prefix_ + "_treeids";
    require_length(node_, prefix_ + "_nodeids", numbers.size(), trees.size(), like);
    require_length(node_, prefix_ + "_ids", targets.size(), trees.size(), like);
    require_length(node_, prefix_ + "_weights", weights.values.size(), trees.size(), like);
    if (weights.is_double) forest.dtype = kFloat64;
    for (size_t k = 0; k < trees.size(); ++k) {
      int32_t at = place(trees[k], numbers[k]);
      node_.require(forest.nodes[static_cast<size_t>(at)].is_leaf(),
                    place_text(trees[k], numbers[k]) + " has a weight, and is no leaf");
      forest.weights.push_back({at, targets[k], weights.values[k]});
    }
  }

  static std::string place_text(int64_t tree, int64_t number) {
    return "node " + std::to_string(number) + " of tree " + std::to_string(tree);
  }

  int32_t place(int64_t tree, int64_t number) const {
    auto nodes = places_.find(tree);
    node_.require(nodes != places_.end() && nodes->second.contains(number),
                  place_text(tree, number) + " is not there");
    return nodes->second.at(number);
  }

  NodeContext& node_;
  std::string prefix_;
  std::vector<int64_t> trees_, numbers_;
  std::unordered_map<int64_t, std::unordered_map<int64_t, int32_t>> places_;
  std::set<int64_t> roots_;
};

GraphValue features_for(NodeContext& node, Forest& forest) {
  GraphValue x = feature_rows(node, node.input(0));
  if (x.dtype() == kFloat64) forest.dtype = kFloat64;
  return node.cast(x, forest.dtype);
}

void require_targets(NodeContext& node, const Forest& forest, const std::string& what) {
  node.require(forest.targets > 0, "there are " + std::to_string(forest.targets) + " " + what);
  for (const Forest::Weight& weight : forest.weights) {
    node.require(weight.target >= 0 && weight.target < forest.targets,
                 "a leaf has a weight for number " + std::to_string(weight.target) + " of " +
                     std::to_string(forest.targets) + " " + what);
  }
}

GraphValue with_base(NodeContext& node, const GraphValue& scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  bool wide = scores.dtype() == kFloat64;
  GraphValue row = float_array(node, base, {1, static_cast<int64_t>(base.size())});
  if (wide) {
    row = node.constant_value(NDArray::from<double>(Shape{1, static_cast<int64_t>(base.size())},
                                                    std::span<const double>(base)));
  }
  return node.emit("add", {scores, row});
}

// ---- Regressors ----

Values convert_tree_regressor(NodeContext& node) {
  Forest forest = ListedTrees(node, "target").forest();
  GraphValue x = features_for(node, forest);
  forest.targets = node.attr_int("n_targets", 1);
  require_targets(node, forest, "targets");
  std::string word = node.attr_string("aggregate_function", "SUM");
  Aggregate aggregate = word == "AVERAGE" ? Aggregate::kAverage
                        : word == "MIN"   ? Aggregate::kMin
                        : word == "MAX"   ? Aggregate::kMax
                                          : Aggregate::kSum;
  node.require(aggregate != Aggregate::kSum || word == "SUM",
               "aggregate_function is " + quoted(word));
  std::vector<double> base = numbers_of(node, "base_values").values;
  node.require(base.empty() || static_cast<int64_t>(base.size()) == forest.targets,
               "base_values has " + std::to_string(base.size()) + " entries for " +
                   std::to_string(forest.targets) + " targets");
  PostTransform transform = post_transform(node);
  GraphValue scores = with_base(node, forest_scores(node, forest, x, aggregate), base);
  return {node.cast(transformed(node, scores, transform), kFloat32)};
}
RELAY_ONNX_ML("TreeEnsembleRegressor", 1, convert_tree_regressor)

// ---- Classifiers ----

// The one of several classes with the greatest score, among those that have any.
Values classified(NodeContext& node, const Forest& forest, const Labels& labels,
                  const GraphValue& scores, bool based, PostTransform transform) {
  std::vector<double> least(labels.size(), -std::numeric_limits<double>::infinity());
  for (const Forest::Weight& weight : forest.weights) least[static_cast<size_t>(weight.target)] = 0;
  bool all = based || std::all_of(least.begin(), least.end(), [](double x) { return x == 0; });
  GraphValue seen = scores;
  if (!all) {
    GraphValue row = float_array(node, least, {1, static_cast<int64_t>(least.size())});
    seen = node.emit("add", {scores, node.cast(row, scores.dtype())});
  }
  GraphValue position =
      node.emit("argmax", {seen}, {{"axis", std::vector<int64_t>{1}}, {"keepdims", false}});
  return {label_of(node, labels, position), transformed(node, scores, transform)};
}

Values convert_tree_classifier(NodeContext& node) {
  Forest forest = ListedTrees(node, "class").forest();
  GraphValue x = features_for(node, forest);
  Labels labels = class_labels(node, "classlabels_int64s");
  forest.targets = static_cast<int64_t>(labels.size());
  require_targets(node, forest, "classes");
  std::vector<double> base = numbers_of(node, "base_values").values;
  PostTransform transform = post_transform(node);
  std::set<int64_t> ids;
  bool positive = true;
  for (const Forest::Weight& weight : forest.weights) {
    ids.insert(weight.target);
    positive &= weight.value >= 0;
  }
  Values results;
  if (labels.size() == 2 && ids.size() == 1) {
    // One score for two classes.
    for (Forest::Weight& weight : forest.weights) weight.target = 0;
    forest.targets = 1;
    node.require(base.size() <= 2,
                 "base_values has " + std::to_string(base.size()) + " entries for 2 classes");
    if (base.size() == 2) base.erase(base.begin());
    GraphValue score = with_base(node, forest_scores(node, forest, x, Aggregate::kSum), base);
    results = two_classes(node, labels, score, transform, positive ? 0.5 : 0, positive);
  } else {
    node.require(base.empty() || base.size() == labels.size(),
                 "base_values has " + std::to_string(base.size()) + " entries for " +
                     std::to_string(labels.size()) + " classes");
    GraphValue scores = with_base(node, forest_scores(node, forest, x, Aggregate::kSum), base);
    results = classified(node, forest, labels, scores, !base.empty(), transform);
  }
  results[1] = node.cast(results[1], kFloat32);
  return results;
}
RELAY_ONNX_ML("TreeEnsembleClassifier", 1, convert_tree_classifier)

// ---- TreeEnsemble of version 5 ----

/// Interior nodes first, then the leaves.
class IndexedTrees {
 public:
  explicit IndexedTrees(NodeContext& node) : node_(node) {}

  Forest forest() {
    Forest forest;
    std::vector<int64_t> features = node_.attr_ints("nodes_featureids");
    NDArray splits = node_.attr_tensor("nodes_splits"), modes = node_.attr_tensor("nodes_modes");
    leaf_targets_ = node_.attr_ints("leaf_targetids");
    NDArray weights = node_.attr_tensor("leaf_weights");
    node_.ignore({"nodes_hitrates"});
    count_ = features.size();
    node_.countable(static_cast<int64_t>(count_ + leaf_targets_.size()), "the nodes of the trees");
    require_length(node_, "nodes_splits", size(splits), count_, "nodes_featureids");
    require_length(node_, "nodes_modes", size(modes), count_, "nodes_featureids");
    require_length(node_, "leaf_weights", size(weights), leaf_targets_.size(), "leaf_targetids");
    if (splits.dtype() == kFloat64) forest.dtype = kFloat64;
    forest.nodes.resize(count_ + leaf_targets_.size());
    for (size_t k = 0; k < count_; ++k) {
      bool fits = features[k] >= 0 && features[k] <= std::numeric_limits<int32_t>::max();
      node_.require(fits, "a node looks at feature " + std::to_string(features[k]));
      forest.nodes[k].feature = static_cast<int32_t>(features[k]);
      forest.nodes[k].threshold = splits.element_as_double(static_cast<int64_t>(k));
    }
    for (size_t k = 0; k < leaf_targets_.size(); ++k) {
      auto at = static_cast<int32_t>(count_ + k);
      forest.nodes[static_cast<size_t>(at)].yes = forest.nodes[static_cast<size_t>(at)].no = at;
      forest.weights.push_back(
          {at, leaf_targets_[k], weights.element_as_double(static_cast<int64_t>(k))});
    }
    link(forest);
    read_tests(forest, modes);
    for (int64_t root : node_.attr_ints("tree_roots")) forest.roots.push_back(inner(root));
    node_.require(!forest.roots.empty(), "there are no trees");
    return forest;
  }

 private:
  static size_t size(const NDArray& array) { return static_cast<size_t>(array.size()); }

  int32_t inner(int64_t number) const {
    bool inside = number >= 0 && static_cast<size_t>(number) < count_;
    node_.require(inside, "node " + std::to_string(number) + " of " + std::to_string(count_) +
                              " is not there");
    return static_cast<int32_t>(number);
  }
  int32_t child(int64_t number, int64_t leaf) const {
    if (leaf == 0) return inner(number);
    bool inside = number >= 0 && static_cast<size_t>(number) < leaf_targets_.size();
    node_.require(inside, "leaf " + std::to_string(number) + " of " +
                              std::to_string(leaf_targets_.size()) + " is not there");
    return static_cast<int32_t>(count_) + static_cast<int32_t>(number);
  }

  void link(Forest& forest) const {
    std::vector<int64_t> yes = node_.attr_ints("nodes_truenodeids");
    std::vector<int64_t> no = node_.attr_ints("nodes_falsenodeids");
    std::vector<int64_t> yes_leaf = node_.attr_ints("nodes_trueleafs");
    std::vector<int64_t> no_leaf = node_.attr_ints("nodes_falseleafs");
    require_length(node_, "nodes_truenodeids", yes.size(), count_, "nodes_featureids");
    require_length(node_, "nodes_falsenodeids", no.size(), count_, "nodes_featureids");
    require_length(node_, "nodes_trueleafs", yes_leaf.size(), count_, "nodes_featureids");
    require_length(node_, "nodes_falseleafs", no_leaf.size(), count_, "nodes_featureids");
    for (size_t k = 0; k < count_; ++k) {
      forest.nodes[k].yes = child(yes[k], yes_leaf[k]);
      forest.nodes[k].no = child(no[k], no_leaf[k]);
    }
  }

  void read_tests(Forest& forest, const NDArray& modes) const {
    static const char* const kModes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",   "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER"};
    constexpr int64_t kMember = 6;
    std::vector<int64_t> tracks =
        node_.attr_ints("nodes_missing_value_tracks_true", std::vector<int64_t>());
    if (!tracks.empty()) {
      require_length(node_, "nodes_missing_value_tracks_true", tracks.size(), count_,
                     "nodes_featureids");
    }
    std::vector<std::vector<double>> sets = member_sets();
    size_t used = 0;
    for (size_t k = 0; k < count_; ++k) {
      int64_t mode = modes.element_as_int64(static_cast<int64_t>(k));
      node_.require(mode >= 0 && mode <= kMember,
                    "a node of a tree has the mode " + std::to_string(mode));
      Forest::Node& to = forest.nodes[k];
      int8_t missing = !tracks.empty() && tracks[k] != 0 ? int8_t{kIsMissing} : int8_t{0};
      if (mode != kMember) {
        to.test = static_cast<int8_t>(test_of(node_, kModes[mode]) | missing);
        continue;
      }
      node_.require(used < sets.size(), "membership_values has too few sets");
      add_members(forest, k, sets[used++], missing);
    }
  }

  /// Sets of numbers, each ended by not-a-number.
  std::vector<std::vector<double>> member_sets() const {
    std::vector<std::vector<double>> sets;
    if (!node_.has_attr("membership_values")) return sets;
    NDArray values = node_.attr_tensor("membership_values");
    bool open = false;
    for (int64_t k = 0; k < values.size(); ++k) {
      double value = values.element_as_double(k);
      if (!open) sets.emplace_back();
      open = !std::isnan(value);
      if (open) sets.back().push_back(value);
    }
    return sets;
  }

  /// A test for being in a set: tests for being equal, one behind the other.
  void add_members(Forest& forest, size_t at, const std::vector<double>& set,
                   int8_t missing) const {
    node_.require(!set.empty(), "a set of membership_values has no numbers");
    node_.countable(static_cast<int64_t>(forest.nodes.size() + set.size()),
                    "the nodes of the trees");
    Forest::Node last = forest.nodes[at];
    for (size_t k = 0; k < set.size(); ++k) {
      Forest::Node& to = forest.nodes[at];
      to = last;
      to.test = static_cast<int8_t>(kIsEqual | missing);
      to.threshold = set[k];
      if (k + 1 == set.size()) break;
      to.no = static_cast<int32_t>(forest.nodes.size());
      at = forest.nodes.size();
      forest.nodes.emplace_back();
    }
  }

  NodeContext& node_;
  size_t count_ = 0;
  std::vector<int64_t> leaf_targets_;
};

Values convert_tree_ensemble(NodeContext& node) {
  Forest forest = IndexedTrees(node).forest();
  GraphValue x = feature_rows(node, node.input(0));
  DType dtype = x.dtype();
  forest.targets = node.attr_int("n_targets", 1);
  require_targets(node, forest, "targets");
  int64_t aggregate = node.attr_int("aggregate_function", 1);
  node.require(aggregate >= 0 && aggregate <= 3,
               "aggregate_function is " + std::to_string(aggregate));
  constexpr PostTransform kTransforms[] = {PostTransform::kNone, PostTransform::kSoftmax,
                                           PostTransform::kLogistic, PostTransform::kSoftmaxZero,
                                           PostTransform::kProbit};
  int64_t transform = node.attr_int("post_transform", 0);
  node.require(transform >= 0 && transform <= 4, "post_transform is " + std::to_string(transform));
  x = features_for(node, forest);
  GraphValue scores = forest_scores(node, forest, x, static_cast<Aggregate>(aggregate));
  return {node.cast(transformed(node, scores, kTransforms[transform]), dtype)};
}
RELAY_ONNX_ML("TreeEnsemble", 5, convert_tree_ensemble)

}  // namespace
}  // namespace relay::onnx
