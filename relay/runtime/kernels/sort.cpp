// sort and argsort along an axis. Stable; not-a-number comes last in either direction.
#include <relay/runtime/kernels/lanes.h>
#include <relay/runtime/kernels/order.h>
#include <relay/runtime/kernels/positions.h>
#include <relay/runtime/kernels/radix.h>
#include <relay/runtime/library_operands.h>

#include <atomic>

namespace relay {
namespace {

constexpr int64_t kChunk = 1 << 15;  // elements of a task within a long lane

/// Calls `body(begin, end)` on pieces of a lane, which are shared if it is long.
template <class F>
void for_pieces(LibraryCall& call, int64_t n, F&& body) {
  if (n < kManyItems) return body(int64_t{0}, n);
  call.parallel((n + kChunk - 1) / kChunk,
                [&](int64_t task) { body(task * kChunk, std::min(n, (task + 1) * kChunk)); });
}

/// True if the key does not determine the element: -0, not-a-number.
template <class T>
bool is_special(T value) {
  using Traits = KeyTraits<T>;
  if constexpr (!Traits::kFloat) return false;
  return std::bit_cast<KeyOf<T>>(value) == Traits::kSign || is_nan_element(value);
}

template <class T>
bool is_zero(T value) {
  return order_key<false>(value) == order_key<false>(T{});
}

/// Reads and writes elements of a type for a sort.
template <class Key>
struct Access {
  /// Keys of elements begin … end - 1; whether some say not all.
  bool (*read)(const void* lane, int64_t stride, int64_t begin, int64_t end, Key* keys);
  void (*write)(const Key* keys, int64_t stride, int64_t begin, int64_t end, void* lane);
  /// Zeros and not-a-numbers of a sorted lane as they came.
  void (*restore)(const void* from, int64_t stride, int64_t n, void* to);
};

template <bool falling, class T>
bool read_keys(const void* lane, int64_t stride, int64_t begin, int64_t end, KeyOf<T>* keys) {
  const T* from = static_cast<const T*>(lane);
  KeyOf<T> any = 0;
  for (int64_t i = begin; i < end; ++i) {
    T value = from[i * stride];
    keys[i] = order_key<falling>(value);
    any = static_cast<KeyOf<T>>(any | (is_special(value) ? 1 : 0));
  }
  return any != 0;
}

template <bool falling, class T>
void write_elements(const KeyOf<T>* keys, int64_t stride, int64_t begin, int64_t end, void* lane) {
  T* to = static_cast<T*>(lane);
  for (int64_t i = begin; i < end; ++i) to[i * stride] = order_element<falling, T>(keys[i]);
}

template <class T>
void restore(const void* lane, int64_t stride, int64_t n, void* sorted) {
  const T* from = static_cast<const T*>(lane);
  T* to = static_cast<T*>(sorted);
  int64_t nan = n, zero = 0;  // the first of them in the result
  while (nan > 0 && is_nan_element(to[(nan - 1) * stride])) --nan;
  while (zero < nan && !is_zero(to[zero * stride])) ++zero;
  for (int64_t i = 0; i < n; ++i) {
    T element = from[i * stride];
    if (is_nan_element(element)) {
      to[nan++ * stride] = element;
    } else if (is_zero(element)) {
      to[zero++ * stride] = element;
    }
  }
}

template <class Key>
Access<Key> access_of(DType dtype, bool falling) {
  return dispatch(dtype, [&](auto tag) -> Access<Key> {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<KeyOf<T>, Key>) {
      if (falling) return {read_keys<true, T>, write_elements<true, T>, restore<T>};
      return {read_keys<false, T>, write_elements<false, T>, restore<T>};
    } else {
      RELAY_UNREACHABLE("keys of another size");
    }
  });
}

template <class Key>
Key* sort_keys(LibraryCall& call, Key* keys, Key* other, int64_t n) {
  if (n <= kFewItems) {
    insertion_sort(keys, n);
    return keys;
  }
  auto digit = [](Key key, int pass) { return static_cast<uint32_t>(key >> (8 * pass)) & 0xff; };
  constexpr int kPasses = sizeof(Key);
  if (n >= kManyItems) return radix_sort_shared<kPasses>(call, keys, other, n, digit);
  return radix_sort<kPasses>(keys, other, n, digit);
}

template <class Key>
void sort_lanes(LibraryCall& call, const NDArray& input, const Lanes& lanes) {
  Access<Key> access = access_of<Key>(input.dtype(), !call.flag("ascending"));
  const auto* data = static_cast<const Key*>(input.raw());
  auto* out = static_cast<Key*>(call.outputs[0].raw());
  int64_t n = lanes.extent, stride = lanes.inner;
  auto sort_lane = [&](int64_t lane, Key* keys) {
    const Key* from = data + lanes.start(lane);
    Key* to = out + lanes.start(lane);
    std::atomic<bool> special = false;
    for_pieces(call, n, [&](int64_t begin, int64_t end) {
      if (access.read(from, stride, begin, end, keys))
        special.store(true, std::memory_order_relaxed);
    });
    const Key* sorted = sort_keys(call, keys, keys + n, n);
    for_pieces(call, n,
               [&](int64_t begin, int64_t end) { access.write(sorted, stride, begin, end, to); });
    if (special.load(std::memory_order_relaxed)) access.restore(from, stride, n, to);
  };
  auto sort_group = [&](int64_t begin, int64_t end) {
    Scratch<Key> keys(2 * n);
    for (int64_t lane = begin; lane < end; ++lane) sort_lane(lane, keys.data());
  };
  if (n >= kManyItems) return sort_group(0, lanes.count);
  for_lane_groups(call, lanes, sort_group);
}

template <class Item, class P>
void argsort_lanes(LibraryCall& call, const NDArray& input, const Lanes& lanes, P* out) {
  FillItems<Item> fill = items_of<Item>(input.dtype(), !call.flag("ascending"));
  size_t bytes = input.dtype().size();
  const auto* data = static_cast<const std::byte*>(input.raw());
  int64_t n = lanes.extent, stride = lanes.inner;
  auto sort_group = [&](int64_t first, int64_t last) {
    Scratch<Item> items(2 * n);
    for (int64_t lane = first; lane < last; ++lane) {
      const std::byte* from = data + static_cast<size_t>(lanes.start(lane)) * bytes;
      P* to = out + lanes.start(lane);
      for_pieces(call, n, [&](int64_t begin, int64_t end) {
        fill(from, stride, begin, end, items.data() + begin);
      });
      const Item* sorted = sort_items(call, items.data(), items.data() + n, n, bytes);
      for_pieces(call, n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          to[i * stride] = static_cast<P>(item_position(sorted[i]));
      });
    }
  };
  if (n >= kManyItems) return sort_group(0, lanes.count);
  for_lane_groups(call, lanes, sort_group);
}

void sort_kernel(LibraryCall& call) {
  size_t axis = axis_of(call);
  NDArray input = call.inputs[0].contiguous();
  Lanes lanes(input.shape(), axis);
  if (input.size() == 0) return;
  switch (input.dtype().size()) {
    case 1:
      return sort_lanes<uint8_t>(call, input, lanes);
    case 2:
      return sort_lanes<uint16_t>(call, input, lanes);
    case 4:
      return sort_lanes<uint32_t>(call, input, lanes);
    default:
      return sort_lanes<uint64_t>(call, input, lanes);
  }
}

void argsort_kernel(LibraryCall& call) {
  size_t axis = axis_of(call);
  NDArray input = call.inputs[0].contiguous();
  const NDArray& out = call.outputs[0];
  Lanes lanes(input.shape(), axis);
  check_positions(lanes.extent, out.dtype());
  if (input.size() == 0) return;
  write_positions(out, [&](auto* positions) {
    with_items(input.dtype(), lanes.extent,
               [&](auto item) { argsort_lanes<decltype(item)>(call, input, lanes, positions); });
  });
}

void sort_rule(const LibraryOperands& of) {
  of.axis_of(of.inputs[0]);
  of.same(of.outputs[0], of.inputs[0]);
}

void argsort_rule(const LibraryOperands& of) {
  of.axis_of(of.inputs[0]);
  of.shape(of.outputs[0], of.inputs[0].shape);
}

RELAY_LIBRARY_RULE("sort", sort_rule);
RELAY_LIBRARY_RULE("argsort", argsort_rule);
const LibrarySignature kOrder{
    1, 1, {{"axis", ParamKind::kInteger}, {"ascending", ParamKind::kFlag}}};
RELAY_LIBRARY_KERNEL("sort", sort_kernel, kOrder);
RELAY_LIBRARY_KERNEL("argsort", argsort_kernel, kOrder);

}  // namespace
}  // namespace relay
