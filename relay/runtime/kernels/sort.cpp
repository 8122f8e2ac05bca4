// sort, argsort and topk along an axis. Stable; not-a-number comes last in either direction.
#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace relay {
namespace {

/// Elements as they compare; bool as a byte, since a vector of bool has no elements.
template <class T>
using Key = std::conditional_t<std::is_same_v<T, Bool>, uint8_t, ComputeType<T>>;

template <class K>
struct Before {
  bool ascending;
  bool operator()(K a, K b) const {
    if constexpr (std::is_floating_point_v<K>) {
      if (a != a) return false;
      if (b != b) return true;
    }
    return ascending ? a < b : b < a;
  }
};

/// Calls `visit(lane, offset)` for each lane along `axis`: its number, in row-major order of the
/// other axes, and the offset of its first element.
template <class F>
void for_each_lane(const NDArray& input, size_t axis, F visit) {
  int64_t lanes = 1;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (d != axis) lanes *= input.extent(d);
  }
  std::vector<int64_t> index(input.rank(), 0);
  int64_t offset = 0;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    visit(lane, offset);
    for (size_t d = input.rank(); d-- > 0;) {
      if (d == axis) continue;
      offset += input.stride(d);
      if (++index[d] < input.extent(d)) break;
      offset -= input.stride(d) * input.extent(d);
      index[d] = 0;
    }
  }
}

/// Where lane number `lane` of a contiguous array starts; its elements are `inner` apart.
int64_t lane_start(int64_t lane, int64_t inner, int64_t extent) {
  return lane / inner * inner * extent + lane % inner;
}

int64_t inner_size(const NDArray& array, size_t axis) {
  int64_t inner = 1;
  for (size_t d = axis + 1; d < array.rank(); ++d) inner *= array.extent(d);
  return inner;
}

/// The first `count` of each lane in order: elements to `values`, positions to `positions` (either
/// may be missing).
void order_lanes(const NDArray& input, size_t axis, bool ascending, int64_t count,
                 const NDArray* values, const NDArray* positions) {
  int64_t extent = input.extent(axis);
  int64_t stride = input.stride(axis);
  int64_t inner = inner_size(input, axis);
  std::vector<int64_t> order(static_cast<size_t>(extent));
  dispatch(input.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using K = Key<T>;
    const T* data = input.data<T>();
    std::vector<K> keys(static_cast<size_t>(extent));
    Before<K> before{ascending};
    for_each_lane(input, axis, [&](int64_t lane, int64_t offset) {
      for (int64_t k = 0; k < extent; ++k)
        keys[static_cast<size_t>(k)] = static_cast<K>(data[offset + k * stride]);
      std::iota(order.begin(), order.end(), int64_t{0});
      auto first = [&](int64_t a, int64_t b) {
        K x = keys[static_cast<size_t>(a)];
        K y = keys[static_cast<size_t>(b)];
        if (before(x, y)) return true;
        return !before(y, x) && a < b;
      };
      if (count < extent / 8) {
        std::partial_sort(order.begin(), order.begin() + count, order.end(), first);
      } else {
        std::sort(order.begin(), order.end(), first);
      }
      int64_t start = lane_start(lane, inner, count);
      if (values != nullptr) {
        T* out = values->data<T>();
        for (int64_t k = 0; k < count; ++k) {
          out[start + k * inner] = data[offset + order[static_cast<size_t>(k)] * stride];
        }
      }
      if (positions != nullptr) {
        dispatch(positions->dtype(), [&](auto position_tag) {
          using P = typename decltype(position_tag)::type;
          P* out = positions->data<P>();
          for (int64_t k = 0; k < count; ++k) {
            out[start + k * inner] = convert_element<P>(order[static_cast<size_t>(k)]);
          }
        });
      }
    });
  });
}

size_t axis_of(const LibraryCall& call) {
  RELAY_CHECK(call.inputs.size() == 1 && call.params.size() >= 2, "arguments of a sort");
  RELAY_CHECK(call.params[0] >= 0 && call.params[0] < static_cast<int64_t>(call.inputs[0].rank()),
              "axis of a sort");
  return static_cast<size_t>(call.params[0]);
}

/// params: axis, whether ascending.
void sort_kernel(LibraryCall& call) {
  size_t axis = axis_of(call);
  const NDArray& input = call.inputs[0];
  order_lanes(input, axis, call.params[1] != 0, input.extent(axis), &call.outputs[0], nullptr);
}

/// params: axis, whether ascending.
void argsort_kernel(LibraryCall& call) {
  size_t axis = axis_of(call);
  const NDArray& input = call.inputs[0];
  order_lanes(input, axis, call.params[1] != 0, input.extent(axis), nullptr, &call.outputs[0]);
}

/// params: axis, whether ascending, results (0: values and positions, 1: values, 2: positions). k
/// is the results' extent.
void topk_kernel(LibraryCall& call) {
  size_t axis = axis_of(call);
  const NDArray& input = call.inputs[0];
  int64_t results = call.params[2];
  int64_t k = call.outputs[0].extent(axis);
  if (k > input.extent(axis)) {
    throw RuntimeError("topk: k = " + std::to_string(k) + " of an axis of extent " +
                       std::to_string(input.extent(axis)));
  }
  const NDArray* values = results == 2 ? nullptr : &call.outputs[0];
  const NDArray* positions = results == 1 ? nullptr : &call.outputs[results == 0 ? 1 : 0];
  order_lanes(input, axis, call.params[1] != 0, k, values, positions);
}

RELAY_LIBRARY_KERNEL("sort", sort_kernel);
RELAY_LIBRARY_KERNEL("argsort", argsort_kernel);
RELAY_LIBRARY_KERNEL("topk", topk_kernel);

}  // namespace
}  // namespace relay
