// Loads. The usual one has indices that are affine in the lanes plus something that is the same for
// all lanes: offsets of the lanes are computed once for a chunk, bounds are checked for the chunk's
// box, and only where the box sticks out are lanes looked at one by one.
#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/program.h>

namespace relay::te {
namespace {

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

[[noreturn]] void throw_out_of_range(int64_t index, int64_t extent) {
  throw RuntimeError(with_index(kOutOfRange, index, extent));
}

bool inside(int64_t index, int64_t extent) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(extent);
}

/// Index after clamping or wrapping; the extent is not 0.
int64_t bring_inside(int64_t index, int64_t extent, Bounds bounds) {
  if (bounds == Bounds::kClamp) return std::clamp<int64_t>(index, 0, extent - 1);
  int64_t rest = index % extent;
  return rest < 0 ? rest + extent : rest;
}

const std::byte* element(const LoadInfo& load, int64_t offset) {
  return static_cast<const std::byte*>(load.array.raw()) +
         offset * static_cast<int64_t>(load.dtype.size());
}

/// Recomputes what depends on the chunk.
void refresh(LoadInfo& load, const Lanes& lanes) {
  load.serial = lanes.serial;
  load.base = 0;
  for (size_t a = 0; a < lanes.axes.size(); ++a) {
    load.base = wrap_add(load.base, wrap_mul(load.coefficients[a], lanes.first[a]));
  }
  for (LoadInfo::Axis& axis : load.axes) {
    axis.low = axis.high = 0;
    for (size_t a = 0; a < axis.lanes.size(); ++a) {
      int64_t c = axis.lanes[a];
      axis.low = wrap_add(axis.low, wrap_mul(c, c >= 0 ? lanes.low[a] : lanes.high[a]));
      axis.high = wrap_add(axis.high, wrap_mul(c, c >= 0 ? lanes.high[a] : lanes.low[a]));
    }
  }
}

const int64_t* lane_row(LoadInfo::Axis& axis, const Lanes& lanes) {
  if (axis.row_serial != lanes.serial || axis.lane_row.empty()) {
    axis.lane_row.resize(static_cast<size_t>(lanes.capacity));
    lanes.linear(axis.lanes, 0, axis.lane_row.data());
    axis.row_serial = lanes.serial;
  }
  return axis.lane_row.data();
}

const int64_t* offset_row(LoadInfo& load, const Lanes& lanes) {
  if (load.offsets_serial != lanes.serial || load.offsets.empty()) {
    load.offsets.resize(static_cast<size_t>(lanes.capacity));
    lanes.linear(load.coefficients, 0, load.offsets.data());
    load.offsets_serial = lanes.serial;
  }
  return load.offsets.data();
}

/// The parts of the indices that are the same for all lanes.
void refresh_uniform(LoadInfo& load, const std::vector<Register>& registers) {
  for (LoadInfo::Axis& axis : load.axes) {
    int64_t at = axis.constant;
    for (const Term& term : axis.uniform) {
      int64_t value = *reinterpret_cast<const int64_t*>(registers[term.reg].data);
      at = wrap_add(at, wrap_mul(term.coefficient, value));
    }
    axis.at = at;
  }
}

/// True if low + at and high + at are proper numbers inside the extent.
bool box_inside(const LoadInfo::Axis& axis) {
  int64_t low, high;
  if (__builtin_add_overflow(axis.low, axis.at, &low)) return false;
  if (__builtin_add_overflow(axis.high, axis.at, &high)) return false;
  return low >= 0 && high < axis.extent && low <= high;
}

}  // namespace

void Program::run_load(const Instr& instr, const Block& block, const uint8_t* mask) {
  LoadInfo& load = loads_[instr.extra];
  void* out = registers_[instr.out].data;
  refresh_uniform(load, registers_);
  if (!instr.wide) return load_uniform(load, out);
  const Lanes& lanes = contexts_[block.context];
  if (load.serial != lanes.serial) refresh(load, lanes);
  if (load.affine) return load_rows(load, lanes, out, mask);
  load_general(load, lanes, out, mask);
}

void Program::load_uniform(LoadInfo& load, void* out) {
  int64_t offset = 0;
  for (const LoadInfo::Axis& axis : load.axes) {
    int64_t index = axis.at;
    if (!inside(index, axis.extent)) {
      bool settle = load.bounds == Bounds::kClamp || load.bounds == Bounds::kWrap;
      if (load.bounds == Bounds::kFill) return rows::splat(load.dtype, out, load.fill, 1);
      if (!settle || axis.extent == 0) throw_out_of_range(index, axis.extent);
      index = bring_inside(index, axis.extent, load.bounds);
    }
    offset += index * axis.stride;
  }
  rows::load_strided(load.dtype, out, element(load, offset), 0, 1);
}

// The index of one lane that is outside.
void Program::refuse_lane(LoadInfo& load, const Lanes& lanes, int64_t lane) {
  for (LoadInfo::Axis& axis : load.axes) {
    int64_t index = axis.at;
    if (!axis.lanes.empty()) index = wrap_add(index, lane_row(axis, lanes)[lane]);
    for (const Term& term : axis.wide) {
      index = wrap_add(index, wrap_mul(term.coefficient, data<int64_t>(term.reg)[lane]));
    }
    if (!inside(index, axis.extent)) throw_out_of_range(index, axis.extent);
  }
  throw RuntimeError(std::string(kOutOfRange));
}

void Program::load_rows(LoadInfo& load, const Lanes& lanes, void* out, const uint8_t* mask) {
  int64_t n = lanes.n;
  int64_t start = 0;
  bool all_inside = true;
  for (const LoadInfo::Axis& axis : load.axes) {
    all_inside &= box_inside(axis);
    start = wrap_add(start, wrap_mul(axis.at, axis.stride));
  }
  if (all_inside) {
    if (load.stepped) {
      rows::load_strided(load.dtype, out, element(load, start + load.base), load.step, n);
    } else {
      rows::load_gather(load.dtype, out, element(load, start), offset_row(load, lanes), n);
    }
    return;
  }
  if (load.bounds == Bounds::kClamp || load.bounds == Bounds::kWrap) {
    return load_general(load, lanes, out, mask);
  }
  uint8_t* valid = nullptr;
  for (LoadInfo::Axis& axis : load.axes) {
    if (box_inside(axis)) continue;
    bool first = valid == nullptr;
    if (first) {
      scratch_valid_.resize(std::max(scratch_valid_.size(), static_cast<size_t>(n)));
      valid = scratch_valid_.data();
    }
    auto extent = static_cast<uint64_t>(axis.extent);
    auto at = static_cast<uint64_t>(axis.at);
    if (axis.lanes.empty()) {  // the same everywhere: outside
      std::fill_n(valid, n, uint8_t{0});
      break;
    }
    const int64_t* row = lane_row(axis, lanes);
    if (first) {
      for (int64_t i = 0; i < n; ++i) valid[i] = static_cast<uint64_t>(row[i]) + at < extent;
    } else {
      for (int64_t i = 0; i < n; ++i) valid[i] &= static_cast<uint64_t>(row[i]) + at < extent;
    }
  }
  if (load.bounds != Bounds::kFill) {
    for (int64_t i = 0; i < n; ++i) {
      if (valid[i] == 0 && (mask == nullptr || mask[i] != 0)) refuse_lane(load, lanes, i);
    }
  }
  // The start may lie outside the memory; it is only moved to where lanes are inside.
  const int64_t* offsets = offset_row(load, lanes);
  scratch_offsets_.resize(std::max(scratch_offsets_.size(), static_cast<size_t>(n)));
  for (int64_t i = 0; i < n; ++i) scratch_offsets_[i] = wrap_add(offsets[i], start);
  rows::load_valid(load.dtype, out, load.array.raw(), scratch_offsets_.data(), valid, load.fill, n);
}

void Program::load_general(LoadInfo& load, const Lanes& lanes, void* out, const uint8_t* mask) {
  int64_t n = lanes.n;
  auto size = static_cast<size_t>(lanes.capacity);
  scratch_valid_.resize(std::max(scratch_valid_.size(), size));
  scratch_offsets_.resize(std::max(scratch_offsets_.size(), size));
  scratch_row_.resize(std::max(scratch_row_.size(), size));
  uint8_t* valid = scratch_valid_.data();
  int64_t* offsets = scratch_offsets_.data();
  std::fill_n(valid, n, uint8_t{1});
  std::fill_n(offsets, n, int64_t{0});
  bool settle = load.bounds == Bounds::kClamp || load.bounds == Bounds::kWrap;
  for (LoadInfo::Axis& axis : load.axes) {
    int64_t* index = scratch_row_.data();
    if (axis.lanes.empty()) {
      std::fill_n(index, n, axis.at);
    } else {
      const int64_t* row = lane_row(axis, lanes);
      for (int64_t i = 0; i < n; ++i) index[i] = wrap_add(row[i], axis.at);
    }
    for (const Term& term : axis.wide) {
      const auto* row = data<int64_t>(term.reg);
      int64_t c = term.coefficient;
      if (c == 1) {
        for (int64_t i = 0; i < n; ++i) index[i] = wrap_add(index[i], row[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) index[i] = wrap_add(index[i], wrap_mul(c, row[i]));
      }
    }
    if (settle && axis.extent > 0) {
      for (int64_t i = 0; i < n; ++i) {
        if (!inside(index[i], axis.extent)) {
          index[i] = bring_inside(index[i], axis.extent, load.bounds);
        }
      }
    } else {
      for (int64_t i = 0; i < n; ++i) valid[i] &= inside(index[i], axis.extent) ? 1 : 0;
    }
    for (int64_t i = 0; i < n; ++i) {
      offsets[i] = wrap_add(offsets[i], wrap_mul(index[i], axis.stride));
    }
  }
  if (load.bounds != Bounds::kFill) {
    for (int64_t i = 0; i < n; ++i) {
      if (valid[i] == 0 && (mask == nullptr || mask[i] != 0)) refuse_lane(load, lanes, i);
    }
  }
  rows::load_valid(load.dtype, out, load.array.raw(), offsets, valid, load.fill, n);
}

}  // namespace relay::te
