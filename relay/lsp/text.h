// Lines and columns of a text as editors count them: lines from 0, columns in UTF-16 units.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace relay::lsp {

struct Position {
  size_t line = 0;
  size_t character = 0;  // UTF-16 units
};

struct Range {
  Position begin;
  Position end;
};

/// The beginnings of the lines of a text. Lines end with "\n", "\r\n" or "\r".
class LineIndex {
 public:
  LineIndex() : starts_{0} {}
  explicit LineIndex(std::string_view text);

  size_t count() const { return starts_.size(); }
  /// The byte of a place. A column behind the end of its line is that end, a line behind the last
  /// the end of the text, as the protocol has it.
  size_t offset(std::string_view text, Position position) const;
  /// The place of a byte.
  Position position(std::string_view text, size_t offset) const;

 private:
  std::vector<size_t> starts_;
};

}  // namespace relay::lsp
