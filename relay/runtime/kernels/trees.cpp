// Walks decision trees from their roots to the leaves that rows of features come to.
#include <relay/runtime/kernels/interruption.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace relay {
namespace {

constexpr int kLanes = 8;               // trees that are walked together
constexpr int64_t kTaskWalks = 1024;    // a multiple of the lanes
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

#if defined(__SSE2__)
/// Bits of 16 rows: those whose value is at most the threshold.
inline uint64_t at_most(const float* column, float threshold) {
  const __m128 most = _mm_set1_ps(threshold);
  auto four = [&](int k) { return _mm_castps_si128(_mm_cmple_ps(_mm_loadu_ps(column + k), most)); };
  __m128i low = _mm_packs_epi32(four(0), four(4)), high = _mm_packs_epi32(four(8), four(12));
  return static_cast<uint64_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
}

inline uint64_t at_most(const double* column, double threshold) {
  const __m128d most = _mm_set1_pd(threshold);
  auto two = [&](int k) { return _mm_castpd_ps(_mm_cmple_pd(_mm_loadu_pd(column + k), most)); };
  auto four = [&](int k) {
    return _mm_castps_si128(_mm_shuffle_ps(two(k), two(k + 2), _MM_SHUFFLE(2, 0, 2, 0)));
  };
  __m128i low = _mm_packs_epi32(four(0), four(4)), high = _mm_packs_epi32(four(8), four(12));
  return static_cast<uint64_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
}
#else
template <class T>
uint64_t at_most(const T* column, T threshold) {
  uint64_t bits = 0;
  for (int k = 0; k < 16; ++k) bits |= static_cast<uint64_t>(column[k] <= threshold) << k;
  return bits;
}
#endif

/// The features of up to 64 rows, by columns: a node is asked for all of its rows at once. That is
/// quicker than walks if the trees have few nodes, so that many rows come to each of them.
template <class T>
class Columns {
 public:
  static constexpr int64_t kRows = 64;
  static constexpr int64_t kLeastRows = 8;
  static constexpr int64_t kMostFeatures = 64;  // columns for the first cache

  static bool fit(const Trees<T>& trees, int64_t height, int64_t roots) {
    return height >= kLeastRows && trees.features <= kMostFeatures &&
           int64_t{trees.count} <= height * roots;
  }

  Columns(const Trees<T>& trees, const T* data, int64_t height)
      : trees_(trees), data_(data), rows_(~uint64_t{0} >> (kRows - height)) {
    for (uint64_t feature = 0; feature < trees.features; ++feature) {
      T* column = columns_[feature];
      std::fill(column + height, column + kRows, T(0));
      uint64_t missing = 0;
      for (int64_t k = 0; k < height; ++k) {
        T x = column[k] = data[static_cast<uint64_t>(k) * trees.features + feature];
        missing |= static_cast<uint64_t>(x != x) << k;
      }
      missing_[feature] = missing;
    }
  }

  /// Writes the leaves of a tree, one for each row, each `stride` after the one before.
  void walk(int32_t root, int32_t* leaves, int64_t stride, Interruption& interruption) const;

 private:
  /// The rows whose walk goes to the first child of a node.
  uint64_t firsts(uint64_t feature, uint32_t word, const int32_t* node) const {
    const T* column = columns_[feature];
    T threshold;
    std::memcpy(&threshold, node + 3, sizeof(T));
    uint64_t missing = (word & kMissing) != 0 ? missing_[feature] : 0;
    return at_most(column, threshold) | at_most(column + 16, threshold) << 16 |
           at_most(column + 32, threshold) << 32 | at_most(column + 48, threshold) << 48 | missing;
  }

  const Trees<T>& trees_;
  const T* data_;
  const uint64_t rows_;
  uint64_t missing_[kMostFeatures];
  T columns_[kMostFeatures][kRows];
};

template <class T>
void Columns<T>::walk(int32_t root, int32_t* leaves, int64_t stride,
                      Interruption& interruption) const {
  // No row is in two of the open nodes.
  int32_t at[kRows + 1];
  uint32_t depths[kRows + 1];
  uint64_t rows[kRows + 1];
  at[0] = root;
  depths[0] = 0;
  rows[0] = rows_;
  for (size_t open = 1; open != 0;) {
    --open;
    int32_t here = at[open];
    uint64_t of = rows[open];
    if (here < 0) {
      for (; of != 0; of &= of - 1) leaves[std::countr_zero(of) * stride] = -1 - here;
      continue;
    }
    interruption.after(kLanes);
    uint32_t depth = depths[open] + 1;
    const int32_t* node = trees_.nodes + uint64_t{static_cast<uint32_t>(here)} * Trees<T>::kWords;
    bool known = static_cast<uint32_t>(here) < trees_.count && depth <= trees_.count;
    uint32_t word = known ? static_cast<uint32_t>(node[0]) : 0;
    uint64_t feature = word & ~kMissing;
    if (!known || feature >= trees_.features) {
      auto row = static_cast<uint64_t>(std::countr_zero(of));
      trees_.refuse(data_ + row * trees_.features, root, interruption);
    }
    uint64_t first = firsts(feature, word, node);
    // Both are written, and only those with rows stay: no branch on what rows do.
    at[open] = node[2];
    rows[open] = of & ~first;
    depths[open] = depth;
    open += static_cast<size_t>((of & ~first) != 0);
    at[open] = node[1];
    rows[open] = of & first;
    depths[open] = depth;
    open += static_cast<size_t>((of & first) != 0);
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
  int64_t height = parts(rows, parts(rows, Columns<T>::kRows)), groups = parts(count, kLanes);
  int64_t most = std::max<int64_t>(kTaskWalks / kLanes / height, 1);
  int64_t width = parts(groups, parts(groups, most)) * kLanes, columns = parts(count, width);
  call.parallel(columns * parts(rows, height), [&](int64_t task) {
    check_interruption(call);
    Interruption interruption(call);
    int64_t top = task / columns * height, bottom = std::min(rows, top + height);
    int64_t left = task % columns * width, right = std::min(count, left + width);
    if (Columns<T>::fit(trees, bottom - top, count)) {
      Columns<T> columns_of(trees, trees.data + static_cast<uint64_t>(top) * trees.features,
                            bottom - top);
      for (int64_t tree = left; tree < right; ++tree) {
        columns_of.walk(root[tree], out + top * count + tree, count, interruption);
      }
      return;
    }
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
