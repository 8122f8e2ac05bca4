// Decision trees. The kernel is in relay/runtime/kernels/trees.cpp.
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>

namespace relay {
namespace {

TypeRef infer_tree_leaves(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0), nodes = call.tensor(1), roots = call.tensor(2);
  int64_t words = data.dtype == kFloat32 ? 4 : 5;
  call.require_equal(nodes.dims[1], words,
                     "nodes for features of " + std::string(data.dtype.name()) + " have " +
                         std::to_string(words) + " words each, found " + call.input(1)->str());
  Dim dims[] = {data.dims[0], roots.dims[0]};
  return TensorType::make(dims, kInt32);
}

// Walks go through a dozen nodes or so: how many, only the data say.
constexpr int64_t kSteps = 12;

RELAY_OP("tree_leaves")
    .doc(
        "The leaves of decision trees that rows of features come to. A node is a row of words: the "
        "number of a feature, plus 2^30 if not-a-number goes to the first child; the first and the "
        "second child; and the bits of a threshold of the data's dtype: one word of float32, two "
        "of float64, the low one first. A feature of at most the threshold goes to the first "
        "child. Children and roots are numbers of nodes, or -1 - n for leaf n. A number outside, "
        "or a node that comes after itself, fails when a walk meets it.")
    .input("data", "Features, a row for each example.",
           tensor('T', DTypes(kFloat32) | kFloat64).rank(2))
    .input("nodes", "The nodes that are no leaves, of all trees: (nodes, 4 or 5).",
           tensor(kInt32).rank(2))
    .input("roots", "The root of each tree.", tensor(kInt32).rank(1))
    .output("leaves", "Numbers of leaves: (rows, trees).", tensor(kInt32))
    .example(
        "fn (%x: Tensor[(3, 1), float32], %n: Tensor[(1, 4), int32], %r: Tensor[(1), int32]) { "
        "tree_leaves(%x, %n, %r) }",
        "[[-1], [0], [2]]", "[[0, -1, -2, 0]]", "[0]")
    .relation(infer_tree_leaves)
    .level(10)
    .column(costs(),
            [](const OpCall& call) {
              return kernel_cost(call, elements_of(call, 2) * call.tensor(0).dims[0] * kSteps);
            })
    .column(quantised_rules(), QuantisedRule::kFloats)
    .kernel("tree_leaves", [](const OpCall&) { return KernelParams(); });

}  // namespace
}  // namespace relay
