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
  int64_t count = 1;                     // lines
  int64_t parts = 1, pitch = 1;

  int64_t line() const { return parts * pitch; }
  int64_t elements() const { return count * line(); }
};

/// Statements that copy lines into `scratch`: `first` is the number of the first one in the data,
/// perhaps outside of it. Other axes of the load are named by `names`.
void copy_lines(Draft& draft, IndexMath& math, const Lines& lines,
                const std::unordered_map<uint32_t, te::ScalarRef>& names, int32_t scratch,
                const te::Scalar& first, Block& body);

}  // namespace relay::lower
