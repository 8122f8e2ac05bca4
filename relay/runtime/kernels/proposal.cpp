// Boxes by their scores, without those that overlap a better one.
#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace relay {
namespace {

/// Left, top, right, bottom; the last row and column count as well.
template <class T>
struct Box {
  T left, top, right, bottom;
  T area() const { return (right - left + 1) * (bottom - top + 1); }
};

template <class T>
T overlap(const Box<T>& a, const Box<T>& b) {
  T width = std::max(T(0), std::min(a.right, b.right) - std::max(a.left, b.left) + 1);
  T height = std::max(T(0), std::min(a.bottom, b.bottom) - std::max(a.top, b.top) + 1);
  T both = width * height;
  return both / (a.area() + b.area() - both);
}

/// The best boxes of one image, each without much in common with a better one: at most `most`.
template <class T>
std::vector<int64_t> best_boxes(const T* scores, const Box<T>* boxes, int64_t count,
                                int64_t candidates, T threshold, int64_t most) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  auto before = [&](int64_t a, int64_t b) {
    T x = scores[a], y = scores[b];
    bool x_is_nan = x != x, y_is_nan = y != y;  // last
    if (x_is_nan != y_is_nan) return y_is_nan;
    return x > y || (!(y > x) && a < b);
  };
  if (candidates < count) {
    std::partial_sort(order.begin(), order.begin() + candidates, order.end(), before);
    order.resize(static_cast<size_t>(candidates));
  } else {
    std::sort(order.begin(), order.end(), before);
  }
  std::vector<int64_t> kept;
  for (int64_t box : order) {
    if (static_cast<int64_t>(kept.size()) == most) break;
    bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t better) {
      return overlap(boxes[better], boxes[box]) > threshold;
    });
    if (!covered) kept.push_back(box);
  }
  return kept;
}

template <class T>
void propose(LibraryCall& call) {
  NDArray scores = call.inputs[0].contiguous(), boxes = call.inputs[1].contiguous();
  NDArray& out = call.outputs[0];
  int64_t batch = scores.extent(0);
  int64_t count = scores.extent(1);
  if (batch == 0 || out.extent(0) == 0) return;
  int64_t rows = out.extent(0) / batch;
  int64_t candidates = call.integer("pre_nms_top_n");
  candidates = candidates > 0 ? std::min(candidates, count) : count;
  T threshold = static_cast<T>(call.number("threshold"));
  static_assert(sizeof(Box<T>) == 4 * sizeof(T));
  call.parallel(batch, [&](int64_t b) {
    const auto* mine = reinterpret_cast<const Box<T>*>(boxes.data<T>() + b * count * 4);
    std::vector<int64_t> kept =
        best_boxes(scores.data<T>() + b * count, mine, count, candidates, threshold, rows);
    T* to = out.data<T>() + b * rows * 5;
    // Too few: once more from the first.
    for (int64_t r = 0; r < rows; ++r, to += 5) {
      const Box<T>& box = mine[kept[static_cast<size_t>(r) % kept.size()]];
      to[0] = static_cast<T>(b);
      to[1] = box.left;
      to[2] = box.top;
      to[3] = box.right;
      to[4] = box.bottom;
    }
  });
}

void proposal_kernel(LibraryCall& call) {
  if (call.inputs[0].dtype() == kFloat64) {
    propose<double>(call);
  } else {
    RELAY_CHECK(call.inputs[0].dtype() == kFloat32, "scores of proposals");
    propose<float>(call);
  }
}

RELAY_LIBRARY_KERNEL("proposal", proposal_kernel,
                     {2,
                      1,
                      {{"pre_nms_top_n", ParamKind::kInteger}, {"threshold", ParamKind::kNumber}}});

}  // namespace
}  // namespace relay
