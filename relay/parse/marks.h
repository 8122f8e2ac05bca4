// Places in program text whose meaning only the parser knows: for tools that work on tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace relay {

/// The meaning of a token at its first byte.
enum class Mark : uint8_t {
  kItem = 1,         // begins a definition, statement, clause, constructor or final expression
  kTypeBracket = 2,  // a `<` that opens type parameters or arguments
  kGroup = 4         // a `(` around one expression
};

/// The marks of a text by byte. An offset behind the text has none.
class SyntaxMarks {
 public:
  explicit SyntaxMarks(size_t size) : bits_(size + 1) {}
  void set(size_t at, Mark mark) {
    if (at < bits_.size()) bits_[at] |= static_cast<uint8_t>(mark);
  }
  bool has(size_t at, Mark mark) const {
    return at < bits_.size() && (bits_[at] & static_cast<uint8_t>(mark)) != 0;
  }

 private:
  std::vector<uint8_t> bits_;
};

}  // namespace relay
