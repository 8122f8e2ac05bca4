// Lines of a plane in scratch, with what surrounds them: what inner loops read is always there.
#pragma once

#include <optional>

#include <relay/lower/draft.h>

namespace relay::lower {

/// Lines of a plane of a tensor. Columns `parts` apart lie side by side: element `parts`·j + p −
/// `before` of the data at p·pitch + j of a line.
struct Lines {
  const te::ScalarNode* data = nullptr;  // a load; its other indices say which plane
  std::optional<size_t> down;            // dimension of the data that counts lines; nothing: one
  size_t along = 0;                      // dimension of the data that runs along lines
  int64_t before = 0;                    // elements in front of the data
  int64_t count = 1;                     // lines that there is room for
  int64_t parts = 1, pitch = 1;
  int64_t width = 0;    // elements of a part that are read; 0: all of its pitch
  int64_t ahead = 0;    // elements of scratch in front of the first line
  bool unsure = false;  // lines may lie outside of the data, though the load is not filled there
  DType stored{};       // of the copy; invalid: that of the data
  /// Above 1, for one part of known columns: the data of each line begins with a vector of so many
  /// elements, and lines are whole vectors, so that what is behind the data of a line is in front
  /// of that of the next. There are `before` elements more in scratch.
  int64_t lanes = 1;

  int64_t line() const { return parts * pitch; }
  int64_t read() const { return width > 0 ? width : pitch; }
  int64_t elements() const { return count * line(); }
};

/// The piece of a plane that a copy holds.
struct LinesPiece {
  te::Scalar first;  // number of the first line in the data, perhaps outside of it
  te::Scalar count;  // lines; null: all that there is room for
  /// Columns of each part in front of the piece, and in it; null: none, and all that there is room
  /// for.
  te::Scalar begin, columns;
  /// Where the copy begins in scratch; null: in front.
  te::Scalar place{};
};

/// Statements that copy lines into `scratch`. Other axes of the load are named by `names`.
void copy_lines(Draft& draft, IndexMath& math, const Lines& lines,
                const std::unordered_map<uint32_t, te::ScalarRef>& names, int32_t scratch,
                const LinesPiece& piece, Block& body);

}  // namespace relay::lower
