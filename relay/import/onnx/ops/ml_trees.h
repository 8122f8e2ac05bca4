// Decision trees: what the attributes of the three operators that have them say, as one list of
// nodes, and the walk from the roots to the leaves.
#pragma once

#include <string>
#include <vector>

#include <relay/import/onnx/ops/ml.h>

namespace relay::onnx {

/// How a feature may be to its threshold: bits of a node's test. The first child is next if the bit
/// of what holds is set.
enum : int8_t { kIsLess = 1, kIsEqual = 2, kIsGreater = 4, kIsMissing = 8 };

/// All trees, their nodes one behind the other.
struct Forest {
  struct Node {
    int32_t feature = 0;
    int8_t test = 0;  // bits as above; 0: a leaf
    int32_t yes = 0, no = 0;
    double threshold = 0;
    bool is_leaf() const { return test == 0; }
  };
  /// The number that a leaf adds to the score of a target.
  struct Weight {
    int32_t node;
    int64_t target;
    double value;
  };
  std::vector<Node> nodes;
  std::vector<int32_t> roots;
  std::vector<Weight> weights;
  int64_t targets = 1;
  DType dtype = kFloat32;  // of thresholds and weights

  /// The most tests between a root and a leaf. An error if a node comes again on its own way down,
  /// or if two trees' roots or nodes lead outside.
  size_t depth(NodeContext& node) const;
};

/// The test that a mode stands for (BRANCH_LEQ, …), LEAF giving 0.
int8_t test_of(NodeContext& node, const std::string& mode);

enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

/// The sums (or others) of what the leaves say, (rows, targets), before base values. `x`: rows of
/// features of the forest's dtype. The order of the roots changes.
GraphValue forest_scores(NodeContext& node, Forest& forest, const GraphValue& x,
                         Aggregate aggregate);

}  // namespace relay::onnx
