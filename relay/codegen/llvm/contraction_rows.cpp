// Contractions: copying rows of the left factor.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

/// Vectors of a run that are written out, the last one no longer than it has to be: of those
/// vectors that the target has.
constexpr int64_t kWrittenOut = 4;
constexpr unsigned kShortestBytes = 16;
constexpr int64_t kMostPlace = int64_t{1} << 28;    // along an axis, in numbers of 32 bits
constexpr int64_t kMostOfPlace = kMostPlace / 128;  // for each of a vector's elements

}  // namespace

void ContractionEmitter::pack_lhs() {
  const std::optional<size_t> first = row_runs();
  const bool lines = has_short_lines();
  Value* end = piece_begin(plan_.row_tiles, task_.tile_end);
  // The last tile may have fewer rows than the others.
  const bool exact = plan_.row_tiles.known && plan_.row_tiles.rest == 0;
  if (!exact) end = least(dim(plan_.rows.extent), end);
  f_.emit_loop(task_.first_row, end, n(1), [&](Value* row) {
    Value* line =
        element(rows_, plan_.lhs_type, mul(b_.CreateSub(row, task_.first_row), row_pitch_));
    const std::vector<Value*> values = split(plan_.rows, row);
    if (lines) {
      pack_row_lines(values, line);
    } else {
      first ? pack_row_runs(*first, values, line) : pack_row_generic(values, line);
    }
  });
}

std::optional<size_t> ContractionEmitter::row_runs() const {
  if (!plan_.lhs.load) return std::nullopt;
  const LinearLoad& load = *plan_.lhs.load;
  if (!ScalarEmitter::has_masked_access(f_.target, load.dtype.size())) return std::nullopt;
  const std::vector<te::Axis>& axes = plan_.folded.axes;
  auto by_ones = [&](size_t axis) {
    return std::all_of(load.conditions.begin(), load.conditions.end(),
                       [&](const LinearLoad::Condition& condition) {
                         const Dim by = condition.index.coefficient(axes[axis].id);
                         return by.is_int(0) || by.is_int(1);
                       });
  };
  size_t first = axes.size();
  Dim length = 1;
  // Conditions may speak of the run's first axis alone.
  while (first > 0 && length.is_int() && load.offset.coefficient(axes[first - 1].id) == length &&
         by_ones(first - 1) && (first == axes.size() || !load.asks(axes[first].id))) {
    --first;
    length = length * axes[first].extent;
  }
  return first < axes.size() ? std::optional(first) : std::nullopt;
}

void ContractionEmitter::pack_row_runs(size_t first, const std::vector<Value*>& row, Value* line) {
  const LinearLoad& load = *plan_.lhs.load;
  const AxisGroup& folded = plan_.folded;
  Dim inner = 1;  // elements of the run for one step of its first axis
  for (size_t i = first + 1; i < folded.axes.size(); ++i) inner = inner * folded.axes[i].extent;
  const Dim length = folded.axes[first].extent * inner;
  const bool whole = first > 0 || plan_.one_pass;
  Value* begin = first == 0 ? mul(task_.k_begin, dim(inner)) : n(0);
  Value* end = first == 0 ? mul(task_.k_end, dim(inner)) : dim(length);
  const bool narrow = length.is_int() && length.as_int() < (int64_t{1} << 31) - plan_.lanes;
  llvm::Type* type = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  Value* base = add(batch_part(load.offset), part_of(load.offset, plan_.rows, row));

  std::vector<size_t> order;
  for (size_t i = 0; i < first; ++i) order.push_back(i);
  fold_loops(order, [&](std::vector<Value*>& values) {
    Value* from = element(f_.buffer(load.buffer), load.dtype,
                          add(base, part_of(load.offset, folded, values)));
    Value* to = element(line, plan_.lhs_type, flat_step(values));
    // The part of the run where all conditions hold.
    Value *low = begin, *high = end;
    for (const LinearLoad::Condition& condition : load.conditions) {
      Value* at = add(add(batch_part(condition.index), part_of(condition.index, plan_.rows, row)),
                      part_of(condition.index, folded, values));
      if (condition.index.coefficient(folded.axes[first].id).is_int(0)) {
        high = b_.CreateSelect(b_.CreateICmpULT(at, dim(condition.extent)), high, low);
        continue;
      }
      Value* left = b_.CreateSub(dim(condition.extent), at);
      low = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, low, mul(b_.CreateNeg(at), dim(inner)));
      high = least(high, mul(left, dim(inner)));
    }
    Value* count = nullptr;
    if (!load.conditions.empty()) {
      low = least(low, end);
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(high, low), n(0));
      count = b_.CreateTrunc(count, type);
    }
    auto copy = [&](Value* at, unsigned lanes) {
      Value* mask = lanes_below(b_.CreateSub(end, at), lanes);
      if (count != nullptr) {
        Value* behind = splat(b_.CreateTrunc(b_.CreateSub(at, low), type), lanes);
        mask = b_.CreateICmpULT(add(lane_numbers(lanes, type), behind), splat(count, lanes));
      }
      Value* loaded = this->load(load.buffer, load.dtype, element(from, load.dtype, at), lanes,
                                 mask, mask == nullptr ? nullptr : fill_of(load, lanes));
      // Elements that are written past the end are overwritten by what comes next, or never read.
      Value* value = narrowed(of_loaded(plan_.lhs, loaded, lanes), plan_.lhs_type);
      store_scratch(value, element(to, plan_.lhs_type, at), kRows,
                    static_cast<unsigned>(plan_.lhs_bytes()));
    };
    if (!whole || !length.is_int() || length.as_int() > kWrittenOut * plan_.lanes) {
      f_.emit_loop(begin, end, n(plan_.lanes), [&](Value* at) { copy(at, lanes_); });
      return;
    }
    const auto shortest = std::max(1U, kShortestBytes / static_cast<unsigned>(plan_.lhs_bytes()));
    for (int64_t at = 0; at < length.as_int(); at += plan_.lanes) {
      const auto left = static_cast<unsigned>(length.as_int() - at);
      copy(n(at), std::min(lanes_, std::bit_ceil(std::max(left, shortest))));
    }
  });
}

bool ContractionEmitter::has_short_lines() const {
  const std::vector<te::Axis>& axes = plan_.folded.axes;
  if (!plan_.lhs.load || axes.size() < 2 || (axes.size() == 2 && !plan_.one_pass)) return false;
  const LinearLoad& load = *plan_.lhs.load;
  if (!ScalarEmitter::has_masked_access(f_.target, load.dtype.size())) return false;
  const te::Axis &line = axes[axes.size() - 2], &along = axes.back();
  if (!line.extent.is_int() || !along.extent.is_int() || line.extent.as_int() < 2) return false;
  const int64_t length = along.extent.as_int();
  if (length < 2 || length >= plan_.lanes || plan_.lanes % length != 0 ||
      line.extent.as_int() * length > kWrittenOut * plan_.lanes)
    return false;
  auto is_known = [&](const LinearLoad::Condition& condition) {
    const Dim by_line = condition.index.coefficient(line.id);
    const Dim by_place = condition.index.coefficient(along.id);
    auto is_small = [](Dim number) {
      return number.is_int() && std::abs(number.as_int()) < kMostOfPlace;
    };
    return condition.extent.is_int() && condition.extent.as_int() < kMostPlace &&
           is_small(by_line) && is_small(by_place);
  };
  // Without conditions on the lines, runs go through both axes at once.
  return load.asks(along.id) && load.offset.coefficient(along.id).is_int(1) &&
         load.offset.coefficient(line.id).is_int(length) &&
         std::all_of(load.conditions.begin(), load.conditions.end(), is_known);
}

void ContractionEmitter::pack_row_lines(const std::vector<Value*>& row, Value* line) {
  const LinearLoad& load = *plan_.lhs.load;
  const AxisGroup& folded = plan_.folded;
  const size_t outer = folded.axes.size() - 2;
  const te::Axis &lines = folded.axes[outer], &along = folded.axes[outer + 1];
  const int64_t length = along.extent.as_int(), count = lines.extent.as_int() * length;
  const auto shortest = std::max(1U, kShortestBytes / static_cast<unsigned>(plan_.lhs_bytes()));
  Value* base = add(batch_part(load.offset), part_of(load.offset, plan_.rows, row));
  std::vector<size_t> order(outer);
  std::iota(order.begin(), order.end(), size_t{0});
  fold_loops(order, [&](std::vector<Value*>& values) {
    Value* from = element(f_.buffer(load.buffer), load.dtype,
                          add(base, part_of(load.offset, folded, values)));
    Value* to = element(line, plan_.lhs_type, flat_step(values));
    for (int64_t begin = 0; begin < count; begin += plan_.lanes) {
      const auto left = static_cast<unsigned>(count - begin);
      const unsigned lanes = std::min(lanes_, std::bit_ceil(std::max(left, shortest)));
      Value* mask = lanes_below(n(left), lanes);
      for (const LinearLoad::Condition& condition : load.conditions) {
        Value* at = add(add(batch_part(condition.index), part_of(condition.index, plan_.rows, row)),
                        part_of(condition.index, folded, values));
        std::vector<uint32_t> places;
        for (int64_t k = begin; k < begin + int64_t{lanes}; ++k) {
          places.push_back(
              static_cast<uint32_t>(condition.index.coefficient(lines.id).as_int() * (k / length) +
                                    condition.index.coefficient(along.id).as_int() * (k % length)));
        }
        // The first place of a line may be any number; beyond twice the greatest no lane is inside.
        Value* near = b_.CreateICmpULT(add(at, n(2 * kMostPlace)), n(4 * kMostPlace));
        Value* index = b_.CreateAdd(splat(b_.CreateTrunc(at, b_.getInt32Ty()), lanes),
                                    llvm::ConstantDataVector::get(f_.context, places));
        Value* extent = b_.getInt32(static_cast<uint32_t>(condition.extent.as_int()));
        mask = scalars_.and_mask(mask, b_.CreateICmpULT(index, splat(extent, lanes)));
        mask = scalars_.and_mask(mask, splat(near, lanes));
      }
      Value* loaded = this->load(load.buffer, load.dtype, element(from, load.dtype, n(begin)),
                                 lanes, mask, fill_of(load, lanes));
      // Elements that are written past the end are overwritten by what comes next, or never read.
      Value* value = narrowed(of_loaded(plan_.lhs, loaded, lanes), plan_.lhs_type);
      store_scratch(value, element(to, plan_.lhs_type, n(begin)), kRows,
                    static_cast<unsigned>(plan_.lhs_bytes()));
    }
  });
}

void ContractionEmitter::pack_row_generic(const std::vector<Value*>& row, Value* line) {
  const AxisGroup& folded = plan_.folded;
  std::vector<size_t> order;
  for (size_t i = 0; i + 1 < folded.axes.size(); ++i) order.push_back(i);
  Dependences binds = ids(folded);
  for (uint32_t id : ids(plan_.rows)) binds.push_back(id);
  std::sort(binds.begin(), binds.end());
  fold_loops(order, [&](std::vector<Value*>& values) {
    const size_t last = folded.axes.empty() ? 0 : folded.axes.size() - 1;
    Value* from = last == 0 ? task_.k_begin : n(0);
    Value* to = last == 0 ? task_.k_end : dim(folded.axes[last].extent);
    f_.emit_loop(from, to, n(plan_.lanes), [&](Value* k) {
      if (!values.empty()) values[last] = k;
      ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, binds);
      scalars_.set_lanes(lanes_, lanes_below(b_.CreateSub(to, k), lanes_));
      for (size_t i = 0; i < row.size(); ++i) {
        scalars_.bind_axis(plan_.rows.axes[i].id, LaneValue::uniform(row[i]));
      }
      for (size_t i = 0; i < values.size(); ++i) {
        scalars_.bind_axis(folded.axes[i].id,
                           i == last ? LaneValue::linear(k, n(1)) : LaneValue::uniform(values[i]));
      }
      // Elements that are written past the end are overwritten by what comes next, or never read.
      Value* value = narrowed(scalars_.emit_wide(plan_.lhs.value), plan_.lhs_type);
      store_scratch(value, element(line, plan_.lhs_type, flat_step(values)), kRows,
                    static_cast<unsigned>(plan_.lhs_bytes()));
    });
  });
}

}  // namespace relay::codegen
