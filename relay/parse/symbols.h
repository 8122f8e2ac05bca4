// The names of one text, numbered, with their current meanings in the parse.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace relay::parsing {

using Symbol = uint32_t;

/// Words with a meaning somewhere in the grammar. Their symbols are these numbers.
enum Keyword : Symbol {
  kwNone,  // the empty name
#define RELAY_KEYWORD(name, text, taken) kw##name,
#include <relay/support/keywords.def>
  kNumKeywords
};

struct SymbolInfo {
  const char* text;
  uint32_t length;
  uint32_t hash;
  int32_t local = -1;        // innermost open binding of the local name
  int32_t closed = -1;       // latest graph binding in a block that is closed by now
  int32_t type_var = -1;     // innermost type parameter or dimension of that name
  int32_t constructor = -1;  // constructor of that name
  int32_t op = -1;           // operator entry; -1 not asked yet
  // True if the constructor was declared in quotes: the word keeps its other meaning.
  bool constructor_quoted = false;
  std::string_view view() const { return {text, length}; }
};

/// Open-addressing hash table from texts to dense numbers. Keeps views: the texts outlive it.
class SymbolTable {
 public:
  /// Room for about `expected` names before the table has to grow.
  explicit SymbolTable(size_t expected = 0);
  Symbol intern(std::string_view text);
  /// Like `intern`, for a text that does not outlive the call.
  Symbol intern_copy(std::string text);
  SymbolInfo& operator[](Symbol symbol) { return infos_[symbol]; }
  const SymbolInfo& operator[](Symbol symbol) const { return infos_[symbol]; }
  size_t size() const { return infos_.size(); }

 private:
  void grow();
  std::vector<SymbolInfo> infos_;
  // The hash stands beside the symbol, so that a probe seldom leaves the table.
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = 0;  // symbol + 1, or 0
  };
  std::vector<Slot> slots_;
  std::deque<std::string> copies_;
};

}  // namespace relay::parsing
