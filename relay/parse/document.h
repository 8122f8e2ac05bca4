// Text whose line breaks are chosen: groups stand on one line where they fit, else each of their
// breaks is one. After Oppen, "Prettyprinting" (1980), with widths known in advance.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace relay::parsing {

class Document {
 public:
  /// A piece of text without line breaks. `counts`: it takes part in what fits on a line.
  void text(std::string_view text, bool counts = true);
  /// A space, or a line break where the group is broken.
  void line() { add(Kind::kLine); }
  /// Nothing, or a line break where the group is broken.
  void soft() { add(Kind::kSoft); }
  /// A space, or a line break where the text up to the next one does not fit.
  void fill() { add(Kind::kFill); }
  /// A line break: breaks the groups around it, up to the innermost block.
  void hard();
  /// As `hard`, and an empty line.
  void blank();
  void begin_group();
  void end_group();
  /// Lines inside are indented where the group around is broken.
  void begin_indent() { add(Kind::kBeginIndent); }
  void end_indent() { add(Kind::kEndIndent); }
  /// Lines inside are indented, and groups around it need not break for its line breaks. A line
  /// begins at its end.
  void begin_block();
  void end_block();

  /// The text, with lines of `width` columns where that is possible.
  std::string print(size_t width) const;

 private:
  enum class Kind : unsigned char {
    kText,
    kLine,
    kSoft,
    kFill,
    kHard,
    kBlank,
    kBeginGroup,
    kEndGroup,
    kBeginIndent,
    kEndIndent,
    kBeginBlock,
    kEndBlock
  };
  struct Op {
    Kind kind;
    bool broken = false;  // of a group: a line break stands in it
    size_t columns = 0;
    size_t end = 0;  // of a group: its end
    std::string_view text;
  };
  struct Measures;
  class Lines;

  void add(Kind kind) { ops_.push_back({kind, false, 0, 0, {}}); }
  void break_groups();
  static bool is_break(Kind kind) {
    return kind == Kind::kLine || kind == Kind::kSoft || kind == Kind::kFill || is_hard(kind);
  }
  static bool is_hard(Kind kind) {
    return kind == Kind::kHard || kind == Kind::kBlank || kind == Kind::kEndBlock;
  }

  std::vector<Op> ops_;
  std::vector<size_t> open_;  // groups and blocks
};

}  // namespace relay::parsing
