// Contractions: copying windows into panels, a few places in one pass.
#include <algorithm>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

std::optional<ContractionEmitter::Window> ContractionEmitter::written_out() const {
  constexpr int64_t kMostPlaces = 11;
  if (!plan_.rhs.load) return std::nullopt;
  const LinearLoad& load = *plan_.rhs.load;
  const std::vector<te::Axis>& axes = plan_.folded.axes;
  std::optional<Dim> stride = plan_.columns.stride_of(load.offset);
  if (!stride || !stride->is_int(1) || load.conditions.empty()) return std::nullopt;
  if (!ScalarEmitter::has_masked_access(f_.target, load.dtype.size())) return std::nullopt;
  const FoldOrder order = condition_order(std::nullopt);
  Window window;
  window.across.assign(order.axes.begin() + static_cast<std::ptrdiff_t>(order.decided),
                       order.axes.end());
  // The last of the window's axes are written out, as many as give few places.
  size_t first = order.decided;
  int64_t count = 1;
  while (first > 0) {
    const size_t axis = order.axes[first - 1];
    const Dim extent = axes[axis].extent;
    if (!extent.is_int() || extent.as_int() < 1 || extent.as_int() > kMostPlaces / count ||
        (axis == 0 && !plan_.one_pass))
      break;
    count *= extent.as_int();
    --first;
  }
  window.around.assign(order.axes.begin(), order.axes.begin() + static_cast<std::ptrdiff_t>(first));
  window.within.assign(order.axes.begin() + static_cast<std::ptrdiff_t>(first),
                       order.axes.begin() + static_cast<std::ptrdiff_t>(order.decided));
  window.places.push_back(std::vector<int64_t>(axes.size(), 0));
  for (size_t axis : window.within) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& place : window.places) {
      for (int64_t value = 0; value < axes[axis].extent.as_int(); ++value) {
        longer.push_back(place);
        longer.back()[axis] = value;
      }
    }
    window.places = std::move(longer);
  }
  if (window.within.empty() || window.across.empty()) return std::nullopt;
  return window;
}

void ContractionEmitter::pack_window(const std::vector<LaneLoad>& all, const Window& window,
                                     Value* width, Value* panel) {
  const LinearLoad& load = *plan_.rhs.load;
  auto move_to = [&](const std::vector<int64_t>& place, std::vector<Value*>& values) {
    for (size_t axis : window.within) values[axis] = n(place[axis]);
  };
  std::vector<std::vector<LaneLoad>> loads(window.places.size(), all);
  bool bytes = false;
  // The next window but one begins far away, where the processor does not look by itself. Places
  // that differ in an axis along which the window's elements lie side by side are on the same
  // lines.
  constexpr int64_t kWindowsAhead = 2;
  const std::vector<te::Axis>& axes = plan_.folded.axes;
  const Dim ahead = load.offset.coefficient(axes[window.across.back()].id) * Dim(kWindowsAhead);
  auto begins_lines = [&](const std::vector<int64_t>& place) {
    return std::all_of(window.within.begin(), window.within.end(), [&](size_t axis) {
      return place[axis] == 0 || !load.offset.coefficient(axes[axis].id).is_int(1);
    });
  };
  auto find_masks = [&](std::vector<Value*>& values) {
    for (size_t p = 0; p < window.places.size(); ++p) {
      move_to(window.places[p], values);
      for (LaneLoad& lanes : loads[p]) lanes.mask = mask_at(lanes, values);
    }
    // Bytes that are as they are in memory: all vectors of a line at once.
    bytes = joins_bytes(static_cast<int64_t>(all.size())) && load.dtype == plan_.rhs_type &&
            std::all_of(loads.begin(), loads.end(), [](const auto& place) {
              return std::all_of(place.begin(), place.end(), [](const LaneLoad& lanes) {
                return lanes.mask != nullptr && lanes.offsets == nullptr;
              });
            });
  };
  auto copy_places = [&](std::vector<Value*>& values) {
    for (size_t p = 0; p < window.places.size(); ++p) {
      move_to(window.places[p], values);
      Value* along = part_of(load.offset, plan_.folded, values);
      Value* row = element(panel, plan_.rhs_type, mul(flat_step(values), width));
      if (bytes) {
        if (begins_lines(window.places[p])) {
          Value* at = add(add(all[0].base, along), dim(ahead));
          prefetch(element(f_.buffer(load.buffer), load.dtype, at));
        }
        store_scratch(load_bytes(loads[p], along), row, kRaw, static_cast<unsigned>(plan_.lanes));
        continue;
      }
      for (size_t v = 0; v < all.size(); ++v) {
        if (begins_lines(window.places[p])) {
          Value* at = add(add(all[v].base, along), dim(ahead));
          prefetch(element(f_.buffer(load.buffer), load.dtype, at));
        }
        store_packed(load_lanes(loads[p][v], along),
                     element(row, plan_.rhs_type, n(static_cast<int64_t>(v) * plan_.lanes)));
      }
    }
  };
  std::vector<size_t> order = window.around;
  order.insert(order.end(), window.across.begin(), window.across.end());
  fold_loops(order, copy_places,
             [&](size_t depth, std::vector<Value*>& values, const std::function<void()>& inner) {
               if (depth == window.around.size()) find_masks(values);
               inner();
             });
}

std::optional<size_t> ContractionEmitter::shared_taps(const std::vector<LaneLoad>& all) const {
  constexpr int64_t kMostTaps = 8;  // written out
  if (all.size() != 1 || all[0].step != 2 || all[0].starts.size() != 1) return std::nullopt;
  const AxisGroup& folded = plan_.folded;
  for (size_t i = 0; i < folded.axes.size(); ++i) {
    const Dim extent = folded.axes[i].extent;
    const bool whole = i > 0 || plan_.one_pass;
    if (whole && plan_.rhs.load->offset.coefficient(folded.axes[i].id).is_int(1) &&
        extent.is_int() && extent.as_int() >= 2 && extent.as_int() <= kMostTaps)
      return i;
  }
  return std::nullopt;
}

void ContractionEmitter::pack_taps(const LaneLoad& lanes, size_t taps, Value* width, Value* panel) {
  const LinearLoad& load = *plan_.rhs.load;
  const FoldOrder order = condition_order(taps);
  const auto count = static_cast<size_t>(plan_.folded.axes[taps].extent.as_int());
  std::vector<Value*> masks(count);
  auto around = [&](size_t depth, std::vector<Value*>& values, const std::function<void()>& inner) {
    for (size_t tap = 0; depth == order.decided && tap < count; ++tap) {
      values[taps] = n(static_cast<int64_t>(tap));
      masks[tap] = mask_at(lanes, values);
    }
    values[taps] = n(0);
    inner();
  };
  fold_loops(
      order.axes,
      [&](std::vector<Value*>& values) {
        Value* start = add(lanes.starts[0], part_of(load.offset, plan_.folded, values));
        std::vector<Value*> loaded = load_taps(start, count);
        for (size_t tap = 0; tap < count; ++tap) {
          values[taps] = n(static_cast<int64_t>(tap));
          Value* row = element(panel, plan_.rhs_type, mul(flat_step(values), width));
          if (masks[tap] != nullptr)
            loaded[tap] = b_.CreateSelect(masks[tap], loaded[tap], fill_of(load, lanes_));
          store_packed(loaded[tap], row);
        }
        values[taps] = n(0);
      },
      around);
}

}  // namespace relay::codegen
