// The plane that a window slides over, and how it does.
#pragma once

#include <optional>

#include <relay/lower/space.h>

namespace relay::lower {

/// A dimension of the data along which the window slides: element stride·row + dilation·tap −
/// before.
struct Slide {
  size_t dim = 0;
  const te::Axis* row = nullptr;
  int64_t stride = 1;
  const te::Axis* tap = nullptr;  // null: one tap
  int64_t dilation = 1;
  int64_t before = 0;
  bool leaves_data = false;  // and is filled there
  bool unsure = false;       // nothing but the load says that it does not

  int64_t taps() const { return tap == nullptr ? 1 : tap->extent.as_int(); }
  bool is_open() const { return !row->extent.is_int(); }
  int64_t rows() const { return row->extent.as_int(); }
  /// Elements that `count` neighbouring results read.
  int64_t reach(int64_t count) const { return stride * (count - 1) + dilation * (taps() - 1) + 1; }
  te::Scalar reach(const te::Scalar& count) const {
    return (count - 1) * stride + (dilation * (taps() - 1) + 1);
  }
  bool overlaps() const { return dilation * (taps() - 1) + 1 > stride; }
};

/// A sum of products of integers that float32 adds up exactly, whatever they are: processors
/// multiply and add floats faster than numbers of 32 bits.
struct FloatSum {
  te::ScalarRef data;     // the load of the plane, as float32
  te::ScalarRef product;  // with it
};

/// The data of a window.
struct Plane {
  const te::ScalarNode* fold = nullptr;
  const te::ScalarNode* data = nullptr;  // the load
  std::optional<Slide> down;
  Slide along;                          // lanes
  std::optional<FloatSum> as_floats{};  // the fold, where it can be one

  int64_t taps() const { return along.taps() * (down ? down->taps() : 1); }
  DType copied_as() const { return as_floats ? DType(kFloat32) : data->dtype; }
};

/// The taps of a window over lines that are written out, each for each row; of more than these a
/// column is.
inline constexpr int64_t kMostWrittenTaps = 49;
/// The most columns that a window may step by: those of one remainder lie side by side in scratch.
inline constexpr int64_t kMostStride = 8;

/// The plane that the group's one fold slides over with `lane` along its lines, if a copy of it
/// pays: elements are read several times, and from where they are that takes masks or shuffles.
std::optional<Plane> find_plane(Space& space, const te::Computation& c, const te::Axis& lane);

}  // namespace relay::lower
