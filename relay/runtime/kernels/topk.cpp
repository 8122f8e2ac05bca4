// topk along an axis: the first k in order, of equal ones the first; not-a-number comes last.
#include <relay/runtime/kernels/lanes.h>
#include <relay/runtime/kernels/order.h>
#include <relay/runtime/kernels/positions.h>
#include <relay/runtime/kernels/radix.h>
#include <relay/runtime/library_operands.h>

namespace relay {
namespace {

constexpr int64_t kBlock = 64;       // elements that are tested together
constexpr int64_t kChunk = 1 << 15;  // elements of a task within a long lane

/// Adds the items below `limit` among elements begin … end - 1 to `to`; how many, is returned.
template <class Item>
using FilterItems = int64_t (*)(const void* lane, int64_t stride, int64_t begin, int64_t end,
                                uint64_t limit, Item* to);

template <class Item, class T, bool falling>
int64_t filter_items(const void* lane, int64_t stride, int64_t begin, int64_t end, uint64_t limit,
                     Item* to) {
  const T* from = static_cast<const T*>(lane);
  auto most = static_cast<KeyOf<T>>(limit);
  // Mostly none is below the limit: a block without one is passed over by wide comparisons.
  KeyOf<T> keys[kBlock];
  KeyOf<T> any = 0;
  int64_t n = end - begin;
  if (n == kBlock && stride == 1) {
    from += begin;
    for (int64_t i = 0; i < kBlock; ++i) {
      keys[i] = order_key<falling>(from[i]);
      any = static_cast<KeyOf<T>>(any | (keys[i] < most ? 1 : 0));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      keys[i] = order_key<falling>(from[(begin + i) * stride]);
      any = static_cast<KeyOf<T>>(any | (keys[i] < most ? 1 : 0));
    }
  }
  if (any == 0) return 0;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    to[count] = make_item(Item{}, keys[i], begin + i);
    count += keys[i] < most ? 1 : 0;
  }
  return count;
}

template <class Item>
FilterItems<Item> filter_of(DType dtype, bool falling) {
  return dispatch(dtype, [&](auto tag) -> FilterItems<Item> {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 8 && std::is_same_v<Item, NarrowItem>) {
      return nullptr;
    } else {
      return falling ? filter_items<Item, T, true> : filter_items<Item, T, false>;
    }
  });
}

/// Finds the first k items of lanes.
template <class Item>
class Selection {
 public:
  Selection(const NDArray& input, const Lanes& lanes, bool falling, int64_t k)
      : bytes_(input.dtype().size()),
        data_(static_cast<const std::byte*>(input.raw())),
        lanes_(lanes),
        k_(k),
        fill_(items_of<Item>(input.dtype(), falling)),
        filter_(filter_of<Item>(input.dtype(), falling)) {}

  /// The number of items that `find` needs memory for.
  int64_t room(int64_t n) const { return sorts(n) ? 2 * n : buffer() + kBlock; }

  /// The first of lane `lane` in order, of elements begin … end - 1: at most k. Returns where they
  /// are.
  Item* find(LibraryCall& call, int64_t lane, int64_t begin, int64_t end, Item* items,
             int64_t& count) const {
    const void* from = data_ + static_cast<size_t>(lanes_.start(lane)) * bytes_;
    int64_t n = end - begin;
    if (sorts(n)) {
      fill_(from, lanes_.inner, begin, end, items);
      count = std::min(k_, n);
      return sort_items(call, items, items + n, n, bytes_);
    }
    int64_t held = buffer() / 2;  // n is more
    fill_(from, lanes_.inner, begin, begin + held, items);
    uint64_t limit = keep(items, held);
    for (int64_t i = begin + buffer() / 2; i < end; i += kBlock) {
      held += filter_(from, lanes_.inner, i, std::min(end, i + kBlock), limit, items + held);
      if (held > buffer()) limit = keep(items, held);
    }
    keep(items, held);
    count = k_;
    return sort_items(call, items, items + k_, k_, bytes_);
  }

  /// The first k of more items in order; there is memory for 2 k. Returns their place.
  Item* merge(LibraryCall& call, Item* items, int64_t count) const {
    keep(items, count);
    return sort_items(call, items, items + k_, k_, bytes_);
  }

 private:
  /// True if many of the elements are results anyway.
  bool sorts(int64_t n) const { return n <= kFewItems || k_ > n / 8; }
  /// The largest number of candidates before they are thinned out: at least twice the wanted
  /// number, and no more than the elements.
  int64_t buffer() const { return std::max<int64_t>(4 * k_, 2 * kFewItems); }

  /// Keeps the first k of the items; later elements have to be below the key that is returned.
  uint64_t keep(Item* items, int64_t& count) const {
    std::nth_element(items, items + k_ - 1, items + count);
    count = k_;
    return item_key(items[k_ - 1]);
  }

  size_t bytes_;
  const std::byte* data_;
  const Lanes& lanes_;
  int64_t k_;
  FillItems<Item> fill_;
  FilterItems<Item> filter_;
};

template <class T>
void copy_element(const void* from, int64_t at, void* to, int64_t to_at) {
  static_cast<T*>(to)[to_at] = static_cast<const T*>(from)[at];
}

using CopyElement = void (*)(const void* from, int64_t at, void* to, int64_t to_at);
CopyElement copy_of(DType dtype) {
  switch (dtype.size()) {
    case 1:
      return copy_element<uint8_t>;
    case 2:
      return copy_element<uint16_t>;
    case 4:
      return copy_element<uint32_t>;
    default:
      return copy_element<uint64_t>;
  }
}

template <class Item, class P>
void topk_lanes(LibraryCall& call, const NDArray& input, const Lanes& lanes, const Lanes& results,
                const NDArray* values, P* positions) {
  int64_t n = lanes.extent, k = results.extent;
  Selection<Item> selection(input, lanes, !call.flag("ascending"), k);
  CopyElement copy = copy_of(input.dtype());
  auto write = [&](int64_t lane, const Item* items) {
    int64_t from = lanes.start(lane), to = results.start(lane);
    for (int64_t i = 0; i < k; ++i) {
      int64_t position = item_position(items[i]);
      if (values != nullptr)
        copy(input.raw(), from + position * lanes.inner, values->raw(), to + i * results.inner);
      if (positions != nullptr) positions[to + i * results.inner] = static_cast<P>(position);
    }
  };
  if (n < kManyItems) {
    for_lane_groups(call, lanes, [&](int64_t begin, int64_t end) {
      Scratch<Item> items(selection.room(n));
      for (int64_t lane = begin; lane < end; ++lane) {
        int64_t count = 0;
        write(lane, selection.find(call, lane, 0, n, items.data(), count));
      }
    });
    return;
  }
  // Long lanes in pieces, whose candidates meet.
  int64_t piece = std::max(kChunk, 16 * k);
  int64_t pieces = (n + piece - 1) / piece;
  if (pieces < 2) {
    Scratch<Item> items(selection.room(n));
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      int64_t count = 0;
      write(lane, selection.find(call, lane, 0, n, items.data(), count));
    }
    return;
  }
  Scratch<Item> found(pieces * k);
  Scratch<int64_t> counts(pieces);
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    call.parallel(pieces, [&](int64_t task) {
      int64_t begin = task * piece, end = std::min(n, begin + piece);
      Scratch<Item> items(selection.room(end - begin));
      const Item* best = selection.find(call, lane, begin, end, items.data(), counts[task]);
      std::copy_n(best, counts[task], found.data() + task * k);
    });
    int64_t count = counts[0];
    for (int64_t task = 1; task < pieces; ++task) {
      std::copy_n(found.data() + task * k, counts[task], found.data() + count);
      count += counts[task];
    }
    write(lane, selection.merge(call, found.data(), count));
  }
}

/// k is the results' extent; results: "both", "values" or "indices".
void topk_kernel(LibraryCall& call) {
  size_t axis = axis_of(call);
  NDArray input = call.inputs[0].contiguous();
  const std::string& wanted = call.word("results");
  bool both = wanted == "both";
  RELAY_CHECK(call.outputs.size() == (both ? 2 : 1), "results of topk");
  const NDArray* values = wanted == "indices" ? nullptr : &call.outputs[0];
  const NDArray* positions = wanted == "values" ? nullptr : &call.outputs[both ? 1 : 0];
  Lanes lanes(input.shape(), axis), results(call.outputs[0].shape(), axis);
  if (results.extent > lanes.extent) {
    throw RuntimeError("k = " + std::to_string(results.extent) +
                       " is more than the extent of the axis, " + std::to_string(lanes.extent));
  }
  if (positions != nullptr) check_positions(lanes.extent, positions->dtype());
  if (call.outputs[0].size() == 0) return;
  with_items(input.dtype(), lanes.extent, [&](auto item) {
    using Item = decltype(item);
    if (positions == nullptr)
      return topk_lanes<Item, int32_t>(call, input, lanes, results, values, nullptr);
    write_positions(*positions,
                    [&](auto* to) { topk_lanes<Item>(call, input, lanes, results, values, to); });
  });
}

void topk_rule(const LibraryOperands& of) {
  const LibraryOperand &input = of.inputs[0], &first = of.outputs.front();
  const size_t axis = of.axis_of(input);
  const auto& wanted = of.param<std::string>("results");
  const bool both = wanted == "both";
  of.want(both || wanted == "values" || wanted == "indices",
          "results that are values, indices or both");
  of.want(of.outputs.size() == (both ? 2 : 1), "outputs for its results");
  Shape shape(input.shape.begin(), input.shape.end());
  if (first.shape.size() == shape.size()) shape[axis] = std::max<int64_t>(first.extent(axis), 0);
  for (const LibraryOperand& output : of.outputs) of.shape(output, shape);
  if (wanted != "indices") of.same_dtype(first, input);
}

RELAY_LIBRARY_RULE("topk", topk_rule);
RELAY_LIBRARY_KERNEL("topk", topk_kernel,
                     {1,
                      LibrarySignature::kAny,
                      {{"axis", ParamKind::kInteger},
                       {"ascending", ParamKind::kFlag},
                       {"results", ParamKind::kWord}}});

}  // namespace
}  // namespace relay
