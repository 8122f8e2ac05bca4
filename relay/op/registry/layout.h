// Layouts: the meanings of a tensor's axes, `NCHW`, `HWIO`, blocked `NCHW8c`.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/tensor_expr/builder.h>

namespace relay {

/// A position along one axis of meaning. If it came from a blocked layout, it also has the indices
/// of its place there, outermost first, so that a copy between equal blocks needs no division.
struct Coordinate {
  te::Scalar whole;
  std::vector<int64_t> blocks;    // extents of the inner indices
  std::vector<te::Scalar> parts;  // one more than blocks, or none

  Coordinate() = default;
  Coordinate(te::Scalar position)
      : whole(std::move(position)) {}  // NOLINT(google-explicit-constructor)
};

/// A parsed layout. A capital letter is an axis of meaning; a number and a small letter is a block
/// cut off the end of the axis of that name: element (n, C, h, w, c) of NCHW8c is channel 8·C + c.
class Layout {
 public:
  /// Throws `Error` unless `text` names each letter of `axes` once. `attribute` is for the message.
  static Layout parse(std::string_view text, std::string_view axes, std::string_view attribute);

  const std::string& text() const { return text_; }
  size_t rank() const { return places_.size(); }
  /// Throws `Error` unless a tensor of these extents has the layout's rank.
  void check(std::span<const Dim> dims, std::string_view what) const;

  /// The positions that store an axis: its outermost index, then its blocks.
  std::vector<size_t> positions(char axis) const;
  /// Extents of an axis' blocks, outermost first.
  std::vector<int64_t> blocks(char axis) const;
  /// Extent of an axis of a tensor with extents `dims`.
  Dim extent(std::span<const Dim> dims, char axis) const;
  /// Extents of a tensor whose axes have the given extents. Throws `Error` if a block does not
  /// divide.
  std::vector<Dim> dims(const std::function<Dim(char axis)>& extent) const;

  /// The position on an axis of the element at `index`.
  Coordinate coordinate(te::Indices index, char axis) const;
  /// The position made of one index for each of `positions(axis)`.
  Coordinate join(char axis, te::Indices parts) const;
  /// The index of the element at the given positions.
  std::vector<te::Scalar> index(const std::function<Coordinate(char axis)>& at) const;

 private:
  struct Place {
    char axis;      // capital
    int64_t block;  // 0: the outermost index
  };
  std::string text_;
  std::vector<Place> places_;
};

/// The letters of the first `rank` spatial dimensions: "W", "HW", "DHW".
std::string_view spatial_axes(size_t rank);

/// One integer for each of `count` dimensions from an attribute with 1 or `count` entries, all at
/// least `least`. Throws `Error` naming the attribute.
std::vector<int64_t> spatial_attr(const std::vector<int64_t>& values, size_t count,
                                  std::string_view attribute, int64_t least = 1);

/// Padding before and after each dimension.
struct Padding {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};
/// From 1 entry, one for each dimension, or all before and then all after.
Padding padding_attr(const std::vector<int64_t>& values, size_t count);

}  // namespace relay
