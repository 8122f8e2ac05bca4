#include <relay/import/onnx/ops/slice.h>

#include <algorithm>
#include <numeric>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/run_time.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

/// One axis of a slice. Backwards from before the first element is from the first.
struct Cut {
  int64_t axis;
  Dim extent, start, end;
  int64_t step;

  bool numbers() const { return start.is_int() && end.is_int(); }
  bool whole() const {
    return start.is_int(0) && step == 1 &&
           (end == extent || (end.is_int() && end.as_int() >= kMostExtent));
  }
};

// An operator of slices refuses a slice that ends before it begins. `kEmpty`: it does so for every
// extent; `kSound`: for none.
enum class Order { kSound, kEmpty, kOpen };

Order order_of_numbers(const Cut& cut) {
  int64_t start = cut.start.as_int(), end = cut.end.as_int();
  bool forwards = cut.step > 0;
  auto ordered = [&](int64_t from, int64_t to) {
    return (forwards ? from <= to : to <= from) ? Order::kSound : Order::kEmpty;
  };
  if (cut.extent.is_int()) {
    int64_t extent = cut.extent.as_int();
    auto place = [&](int64_t at, int64_t least) {
      return std::min(std::max(at < 0 ? at + extent : at, least), forwards ? extent : extent - 1);
    };
    return ordered(place(start, 0), place(end, forwards ? 0 : -1));
  }
  if (!forwards && start < -1) return Order::kOpen;
  if ((start < 0) == (end < 0)) return ordered(start, end);
  // One counts from the front, the other from the end: at an end of the axis nothing is beyond.
  if (forwards) {
    if (start == 0 || end >= kMostExtent || start <= -kMostExtent) return Order::kSound;
    if (start >= kMostExtent || end <= -kMostExtent) return Order::kEmpty;
  } else {
    if (start == -1 || end <= -kMostExtent || start >= kMostExtent) return Order::kSound;
    if (end >= kMostExtent) return Order::kEmpty;
  }
  return Order::kOpen;
}

Order order_of_terms(const Cut& cut) {
  bool far = cut.end.is_int() && cut.end.as_int() >= kMostExtent;
  if (cut.step > 0 && (cut.start.is_int(0) || far)) return Order::kSound;
  bool from_front = cut.start.is_natural() && cut.end.is_natural();
  if (!from_front) return Order::kOpen;
  Dim distance = cut.step > 0 ? cut.end - cut.start : cut.start - cut.end;
  return distance.is_natural() ? Order::kSound : Order::kOpen;
}

/// Starts on the axis, and ends no nearer than they are; those before the first element are far
/// below it.
std::pair<GraphValue, GraphValue> bounds_in_order(NodeContext& node, const GraphValue& x,
                                                  const std::vector<int64_t>& axes,
                                                  const GraphValue& starts, const GraphValue& ends,
                                                  const GraphValue& steps) {
  Elements dims;
  for (int64_t axis : axes) dims.push_back(x.dim(static_cast<size_t>(axis)));
  Dim count[] = {static_cast<int64_t>(axes.size())};
  GraphValue extents = known_or(node, std::move(dims), count, kInt64, [&] {
    return node.emit("take", {shape_value(node, x), node.int_list(axes)}, {{"axis", 0}});
  });
  GraphValue zero = number_value(node, 0);
  GraphValue forwards = node.emit("greater", {steps, zero});
  GraphValue low = node.emit("where", {forwards, zero, number_value(node, -1)});
  GraphValue high = node.emit("add", {extents, low});
  auto place = [&](const GraphValue& at, const GraphValue& least) {
    GraphValue behind = node.emit("add", {at, extents});
    GraphValue front = node.emit("where", {node.emit("less", {at, zero}), behind, at});
    return node.emit("minimum", {node.emit("maximum", {front, least}), high});
  };
  GraphValue start = place(starts, zero), end = place(ends, low);
  end = node.emit(
      "where", {forwards, node.emit("maximum", {start, end}), node.emit("minimum", {start, end})});
  GraphValue far = number_value(node, -kMostExtent);
  return {start, node.emit("where", {node.emit("less", {end, zero}), far, end})};
}

GraphValue sliced_by_terms(NodeContext& node, const GraphValue& x, const std::vector<Cut>& cuts) {
  std::vector<int64_t> axes, steps;
  Elements starts, ends;
  for (Cut cut : cuts) {
    Order order = cut.numbers() ? order_of_numbers(cut) : order_of_terms(cut);
    if (order == Order::kEmpty) cut.end = cut.start;
    if (order == Order::kOpen && cut.numbers() && cut.step > 0 && !cut.extent.is_any()) {
      // Both from the front, on the axis.
      auto place = [&](Dim at) {
        return min(max(at.as_int() < 0 ? cut.extent + at : at, 0), cut.extent);
      };
      Dim start = place(cut.start), end = place(cut.end);
      cut.start = start;
      cut.end = max(start, end);
    } else if (order == Order::kOpen && cut.step > 0 && cut.start.is_natural() &&
               cut.end.is_natural()) {
      cut.end = max(cut.start, cut.end);
    }
    axes.push_back(cut.axis);
    steps.push_back(cut.step);
    starts.push_back(cut.start);
    ends.push_back(cut.end);
  }
  return node.emit("dyn.strided_slice",
                   {x, node.dim_list(starts), node.dim_list(ends), node.int_list(steps)},
                   {{"axes", axes}});
}

// The places that a slice of a list takes.
std::optional<std::vector<int64_t>> slice_places(int64_t extent, Dim start, Dim end, int64_t step) {
  if (!start.is_int() || !end.is_int() || step == 0) return std::nullopt;
  auto place = [&](Dim at, int64_t least) {
    int64_t i = at.as_int() < 0 ? at.as_int() + extent : at.as_int();
    return std::min(std::max(i, least), step > 0 ? extent : extent - 1);
  };
  if (extent > static_cast<int64_t>(kMostElements)) return std::nullopt;
  // A backward slice may go on to the front: an end far below.
  std::vector<int64_t> places;
  int64_t stop = place(end, step > 0 ? 0 : -1);
  for (int64_t i = place(start, 0); step > 0 ? i < stop : i > stop; i += step) places.push_back(i);
  return places;
}

GraphValue slice_known(NodeContext& node, const GraphValue& x, const std::vector<int64_t>& axes,
                       const Elements& starts, const Elements& ends,
                       const std::vector<int64_t>& steps) {
  auto emit = [&] { return sliced(node, x, axes, starts, ends, steps); };
  std::optional<std::vector<std::vector<int64_t>>> places = all_places(x);
  if (!places) return emit();
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    auto taken = slice_places(x.dim(axis).as_int(), starts[k], ends[k], steps[k]);
    if (!taken) return emit();
    (*places)[axis] = std::move(*taken);
  }
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  if (auto known = fold_places(node, x, *places, order, emit)) return *known;
  return emit();
}

/// Farther than every element is from every other: places and steps of slices beyond it mean as
/// much.
constexpr int64_t kFar = int64_t{1} << 60;

Elements as_elements(const std::vector<int64_t>& values) {
  Elements result;
  for (int64_t value : values) result.emplace_back(std::clamp(value, -kFar, kFar));
  return result;
}

Values convert_slice_attributes(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> starts = node.attr_ints("starts"), ends = node.attr_ints("ends");
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.attr_ints("axes", axes);
  node.require(starts.size() == ends.size() && starts.size() == axes.size(),
               "starts, ends and axes differ in length");
  node.require(axes.size() <= x.rank(), "starts has " + std::to_string(axes.size()) +
                                            " entries for rank " + std::to_string(x.rank()));
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank(), "axes entry");
  return {slice_known(node, x, axes, as_elements(starts), as_elements(ends),
                      std::vector<int64_t>(axes.size(), 1))};
}

/// A slice of the first axes, as many as `starts` has entries, which only a run knows: the lists
/// are filled up with what leaves the other axes whole.
GraphValue slice_of_open_count(NodeContext& node, const GraphValue& x) {
  const auto rank = static_cast<int64_t>(x.rank());
  GraphValue count = extent_value(node, as_list(node, node.input(1), "starts"), 0);
  auto filled = [&](size_t i, const char* what, int64_t otherwise) {
    GraphValue list = as_list(node, node.input(i), what);
    GraphValue length = extent_value(node, list, 0);
    GraphValue differs = node.emit("not_equal", {length, count});
    GraphValue many = node.emit("greater", {length, number_value(node, rank)});
    GraphValue bad = node.emit("logical_or", {differs, many});
    GraphValue zero =
        zero_unless(node, bad,
                    std::string(what) + (i == 1 ? " has more entries than there are axes"
                                                : " has not as many entries as starts"));
    GraphValue all =
        node.concat({list, node.int_list(std::vector<int64_t>(x.rank(), otherwise))}, 0);
    GraphValue first = slice_between(node, all, 0, number_value(node, 0), number_value(node, rank));
    return node.reshape(node.emit("add", {first, zero}), {Dim(rank)});
  };
  GraphValue starts = filled(1, "starts", 0), ends = filled(2, "ends", kMostExtent);
  GraphValue steps =
      node.has(4) ? filled(4, "steps", 1) : node.int_list(std::vector<int64_t>(x.rank(), 1));
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return sliced_at_run_time(node, x, axes, starts, ends, steps);
}

Values convert_slice(NodeContext& node) {
  GraphValue x = node.input(0);
  GraphValue starts = node.input(1), ends = node.input(2);
  if (starts.rank() == 1 && !starts.dim(0).is_int() && !node.has(3)) {
    return {slice_of_open_count(node, x)};
  }
  node.require(starts.rank() == 1 && starts.dim(0).is_int(), "the number of starts is not known");
  node.require(
      starts.dim(0).as_int() <= static_cast<int64_t>(x.rank()),
      "starts has " + starts.dim(0).str() + " entries for rank " + std::to_string(x.rank()));
  auto count = static_cast<size_t>(starts.dim(0).as_int());
  if (node.has(3) && !node.constant(3)) {
    auto list = [&](size_t i, const char* what) { return as_list(node, node.input(i), what); };
    GraphValue steps =
        node.has(4) ? list(4, "steps") : node.int_list(std::vector<int64_t>(count, 1));
    return {slice_at_run_time(node, x, list(1, "starts"), list(2, "ends"), list(3, "axes"), steps)};
  }
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(3)) axes = node.ints(3, "axes");
  node.require(axes.size() == count && ends.rank() == 1 && ends.dim(0) == starts.dim(0),
               "starts, ends and axes differ in length");
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank(), "axes entry");
  // Ends may be beyond what a term holds: then they are constants.
  auto bounds = [&](size_t i, const char* what) -> std::optional<Elements> {
    if (node.constant(i)) return as_elements(node.ints(i, what));
    return node.known(i);
  };
  std::optional<Elements> from = bounds(1, "starts"), to = bounds(2, "ends");
  bool steps_known = !node.has(4) || node.constant(4);
  if (from && to && steps_known) {
    std::vector<int64_t> steps(count, 1);
    if (node.has(4)) steps = node.ints(4, "steps");
    node.require(steps.size() == count, "starts and steps differ in length");
    for (int64_t& step : steps) {
      node.require(step != 0, "a step is 0");
      step = std::clamp(step, -kFar, kFar);
    }
    return {slice_known(node, x, axes, *from, *to, steps)};
  }
  GraphValue steps = node.has(4) ? node.input(4) : node.int_list(std::vector<int64_t>(count, 1));
  return {sliced_at_run_time(node, x, axes, node.cast(starts, kInt64), node.cast(ends, kInt64),
                             node.cast(steps, kInt64))};
}
RELAY_ONNX("Slice", 1, convert_slice_attributes)
RELAY_ONNX("Slice", 10, convert_slice)

}  // namespace

GraphValue sliced(NodeContext& node, const GraphValue& x, const std::vector<int64_t>& axes,
                  const Elements& starts, const Elements& ends, const std::vector<int64_t>& steps) {
  // A cut that concerns nothing but whole axes is left out.
  std::vector<Cut> cuts;
  bool numbers = true, open = false, unknown = false;  // …, so that a run has to see
  for (size_t k = 0; k < axes.size(); ++k) {
    Cut cut{axes[k], x.dim(static_cast<size_t>(axes[k])), starts[k], ends[k], steps[k]};
    bool before = cut.step < 0 && cut.start.is_int() && cut.start.as_int() < 0 &&
                  (cut.start.as_int() <= -kMostExtent ||
                   (cut.extent.is_int() && cut.start.as_int() + cut.extent.as_int() < 0));
    if (before) cut.start = 0;
    if (cut.whole()) continue;
    numbers &= cut.numbers();
    cuts.push_back(cut);
  }
  if (cuts.empty()) return x;
  if (!numbers) return sliced_by_terms(node, x, cuts);
  std::vector<int64_t> own_axes, begin, end, stride;
  std::vector<int64_t> first_axes, none, first_ends;
  auto bounded = [](Dim at) { return std::clamp(at.as_int(), -kMostExtent, kMostExtent); };
  for (Cut& cut : cuts) {
    Order order = order_of_numbers(cut);
    if (order == Order::kEmpty) cut.end = cut.start;
    if (order == Order::kOpen && cut.step > 0 && cut.start.as_int() > 0) {
      // The end is left off first: then the start clamps.
      first_axes.push_back(cut.axis);
      none.push_back(0);
      first_ends.push_back(bounded(cut.end));
      cut.end = kMostExtent;
      order = Order::kSound;
    }
    open |= order == Order::kOpen;
    unknown |= order == Order::kOpen && (cut.extent.is_any() || cut.step < 0);
    own_axes.push_back(cut.axis);
    begin.push_back(bounded(cut.start));
    end.push_back(bounded(cut.end));
    stride.push_back(cut.step);
  }
  GraphValue data = x;
  if (!first_axes.empty()) {
    data = node.emit("strided_slice", {data},
                     {{"begin", none}, {"end", first_ends}, {"axes", first_axes}});
  }
  if (unknown) {
    return sliced_at_run_time(node, data, own_axes, node.int_list(begin), node.int_list(end),
                              node.int_list(stride));
  }
  if (open) {
    for (Cut& cut : cuts) cut.extent = data.dim(static_cast<size_t>(cut.axis));
    return sliced_by_terms(node, data, cuts);
  }
  return node.emit("strided_slice", {data},
                   {{"begin", begin}, {"end", end}, {"strides", stride}, {"axes", own_axes}});
}

GraphValue sliced_at_run_time(NodeContext& node, const GraphValue& x,
                              const std::vector<int64_t>& axes, const GraphValue& starts,
                              const GraphValue& ends, const GraphValue& steps) {
  auto all = [](const GraphValue& list, auto holds) {
    return list.elements() &&
           std::all_of(list.elements()->begin(), list.elements()->end(),
                       [&](Dim dim) { return dim.is_int() && holds(dim.as_int()); });
  };
  // A step beyond every axis means as much as a nearer one, which arithmetic on extents holds.
  constexpr int64_t kLongest = int64_t{1} << 48;
  GraphValue strides = steps;
  if (!all(steps, [](int64_t step) { return step >= -kLongest && step <= kLongest; })) {
    GraphValue least = node.emit("maximum", {steps, number_value(node, -kLongest)});
    strides = node.emit("minimum", {least, number_value(node, kLongest)});
  }
  bool forwards = all(steps, [](int64_t step) { return step > 0; });
  bool sound = forwards && (all(starts, [](int64_t at) { return at == 0; }) ||
                            all(ends, [](int64_t at) { return at >= kMostExtent; }));
  auto [start, end] =
      sound ? std::pair(starts, ends) : bounds_in_order(node, x, axes, starts, ends, strides);
  return node.emit("dyn.strided_slice", {x, start, end, strides}, {{"axes", axes}});
}

}  // namespace relay::onnx
