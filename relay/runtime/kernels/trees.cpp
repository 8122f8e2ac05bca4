// Walks decision trees from their roots to the leaves that rows of features come to.
#include <relay/runtime/kernels/interruption.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace relay {
namespace {

constexpr int kLanes = 8;             // trees that are walked together
constexpr int64_t kTaskWalks = 1024;  // a multiple of the lanes
constexpr int64_t kTaskRows = 64;
constexpr uint32_t kUnasked = 1 << 16;  // steps of a walk without a look for an interruption
constexpr uint32_t kMissing =
    1U << 30;  // bit of a node's feature: not-a-number goes to the first child

/// The table of nodes, and what a walk has to know of the data.
template <class T>
struct Trees {
  static constexpr uint32_t kWords = 3 + sizeof(T) / sizeof(int32_t);

  const int32_t* nodes;
  uint32_t count;
  const T* data;
  uint64_t features;

  /// Walks up to kLanes trees for one row. Each step of a walk waits for memory, so several at once
  /// take hardly longer than one; lanes that have come to a leaf stay there. The steps do not
  /// branch on what they find, which no processor can foretell.
  /// A tree may be as deep as it has nodes, so that a walk of many steps lets the run end early.
  template <bool missing>
  void walk(const T* row, const int32_t* roots, int lanes, int32_t* leaves,
            Interruption& interruption) const;

  /// Walks a tree again that `walk` could not finish, and throws where it fails.
  [[noreturn]] void refuse(const T* row, int32_t root, Interruption& interruption) const;

  bool goes_first(const int32_t* node, T x) const {
    T threshold;
    std::memcpy(&threshold, node + 3, sizeof(T));
    return x <= threshold || (x != x && (static_cast<uint32_t>(node[0]) & kMissing) != 0);
  }
};

template <class T>
void Trees<T>::refuse(const T* row, int32_t root, Interruption& interruption) const {
  int32_t at = root;
  for (uint32_t steps = 0; at >= 0 && steps <= count; ++steps) {
    interruption.after(1);
    auto number = static_cast<uint32_t>(at);
    if (number >= count) {
      throw RuntimeError("node " + std::to_string(number) + " is asked for, and there are " +
                         std::to_string(count));
    }
    const int32_t* node = nodes + uint64_t{number} * kWords;
    uint32_t feature = static_cast<uint32_t>(node[0]) & ~kMissing;
    if (feature >= features) {
      throw RuntimeError("node " + std::to_string(number) + " looks at feature " +
                         std::to_string(static_cast<int32_t>(node[0])) + ", and there are " +
                         std::to_string(features));
    }
    at = goes_first(node, row[feature]) ? node[1] : node[2];
  }
  throw RuntimeError("a node comes after itself");
}

template <class T>
template <bool missing>
void Trees<T>::walk(const T* row, const int32_t* roots, int lanes, int32_t* leaves,
                    Interruption& interruption) const {
  constexpr int32_t kNowhere = std::numeric_limits<int32_t>::max();  // the number of no node
  int32_t at[kLanes];
  for (int k = 0; k < kLanes; ++k) at[k] = k < lanes ? roots[k] : -1;
  // Lanes at a leaf, and those whose walk fails, are at the number of no node: they do not move.
  uint32_t moving = count == 0 || features == 0 ? 0 : 1;
  uint32_t steps = 0;
  while (moving != 0 && steps <= count) {
    uint32_t begun = steps, last = std::min(count, steps + kUnasked);
    for (; moving != 0 && steps <= last; ++steps) {
      moving = 0;
#pragma GCC unroll 8
      for (int k = 0; k < kLanes; ++k) {
        auto number = static_cast<uint32_t>(at[k]);
        bool moves = number < count;
        const int32_t* node = nodes + uint64_t{moves ? number : 0} * kWords;
        auto word = static_cast<uint32_t>(node[0]);
        uint64_t feature = word & ~kMissing;
        bool known = feature < features;
        T x = row[known ? feature : 0], threshold;
        std::memcpy(&threshold, node + 3, sizeof(T));
        auto first = static_cast<uint32_t>(x <= threshold);
        if constexpr (missing) first |= static_cast<uint32_t>(x != x) & (word >> 30);
        int32_t child = node[2 - (first & 1)];
        child = known ? child : kNowhere;
        at[k] = moves ? child : at[k];
        moving |= static_cast<uint32_t>(moves);
      }
    }
    interruption.after(int64_t{steps - begun} * kLanes);
  }
  for (int k = 0; k < lanes; ++k) {
    if (at[k] >= 0) refuse(row, roots[k], interruption);
    leaves[k] = -1 - at[k];
  }
}

template <class T>
bool has_missing(const T* row, uint64_t features) {
  unsigned found = 0;
  for (uint64_t k = 0; k < features; ++k) found |= static_cast<unsigned>(row[k] != row[k]);
  return found != 0;
}

template <class T>
void walk_all(LibraryCall& call, const NDArray& data, const NDArray& nodes, const NDArray& roots) {
  int64_t rows = data.extent(0), count = roots.extent(0);
  Trees<T> trees{nodes.data<int32_t>(), static_cast<uint32_t>(nodes.extent(0)), data.data<T>(),
                 static_cast<uint64_t>(data.extent(1))};
  const int32_t* root = roots.data<int32_t>();
  int32_t* out = call.outputs[0].data<int32_t>();
  if (rows == 0 || count == 0) return;
  // A task takes many rows through few trees, which stay in the first cache. Tasks are of nearly
  // the same size, so that threads end together.
  auto parts = [](int64_t of, int64_t most) { return (of + most - 1) / most; };
  int64_t height = parts(rows, parts(rows, kTaskRows)), groups = parts(count, kLanes);
  int64_t most = std::max<int64_t>(kTaskWalks / kLanes / height, 1);
  int64_t width = parts(groups, parts(groups, most)) * kLanes, columns = parts(count, width);
  call.parallel(columns * parts(rows, height), [&](int64_t task) {
    check_interruption(call);
    Interruption interruption(call);
    int64_t top = task / columns * height, bottom = std::min(rows, top + height);
    int64_t left = task % columns * width, right = std::min(count, left + width);
    bool missing = has_missing(trees.data + static_cast<uint64_t>(top) * trees.features,
                               static_cast<uint64_t>(bottom - top) * trees.features);
    for (int64_t tree = left; tree < right; tree += kLanes) {
      auto lanes = static_cast<int>(std::min<int64_t>(kLanes, right - tree));
      const T* row = trees.data + static_cast<uint64_t>(top) * trees.features;
      int32_t* to = out + top * count + tree;
      for (int64_t k = top; k < bottom; ++k, row += trees.features, to += count) {
        if (missing) {
          trees.template walk<true>(row, root + tree, lanes, to, interruption);
        } else {
          trees.template walk<false>(row, root + tree, lanes, to, interruption);
        }
      }
    }
  });
}

void tree_leaves_kernel(LibraryCall& call) {
  NDArray data = call.inputs[0].contiguous(), nodes = call.inputs[1].contiguous(),
          roots = call.inputs[2].contiguous();
  if (data.dtype() == kFloat32) {
    walk_all<float>(call, data, nodes, roots);
  } else {
    walk_all<double>(call, data, nodes, roots);
  }
}

void tree_leaves_rule(const LibraryOperands& of) {
  const LibraryOperand &data = of.inputs[0], &nodes = of.inputs[1], &roots = of.inputs[2];
  of.rank(data, 2);
  of.dtype(data, {kFloat32, kFloat64});
  of.dtype(nodes, {kInt32});
  of.rank(nodes, 2);
  of.want(nodes.extent(1) == (data.dtype == kFloat32 ? 4 : 5), "nodes with the words of the dtype");
  of.want(nodes.extent(0) < kMissing, "fewer nodes");
  of.dtype(roots, {kInt32});
  of.rank(roots, 1);
  of.dtype(of.outputs[0], {kInt32});
  of.shape(of.outputs[0], {data.extent(0), roots.extent(0)});
}

RELAY_LIBRARY_RULE("tree_leaves", tree_leaves_rule);
RELAY_LIBRARY_KERNEL("tree_leaves", tree_leaves_kernel, {3, 1, {}});

}  // namespace
}  // namespace relay
