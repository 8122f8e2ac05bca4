#include <relay/parse/symbols.h>

#include <cstring>

#include <relay/support/hash.h>

namespace relay::parsing {
namespace {

constexpr const char* kKeywordTexts[] = {
    "",
#define RELAY_KEYWORD(name, text, taken) text,
#include <relay/support/keywords.def>
};
static_assert(sizeof(kKeywordTexts) / sizeof(kKeywordTexts[0]) == kNumKeywords);

// Names that differ in their last character only, as numbered ones do, are neighbours in the table:
// a program walks through them in order, and a table of a million does not fit the caches.
uint32_t hash_of(std::string_view text) {
  if (text.empty()) return 0;
  uint64_t hash = text.size();
  size_t size = text.size() - 1;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    hash = hash_mix(hash ^ word);
  }
  uint64_t word = 0;
  for (size_t k = i; k < size; ++k) word = word << 8 | static_cast<unsigned char>(text[k]);
  return static_cast<uint32_t>(hash_mix(hash * 31 + word) << 4) |
         (static_cast<unsigned char>(text.back()) & 15u);
}

}  // namespace

SymbolTable::SymbolTable(size_t expected) : slots_(256) {
  while (slots_.size() < expected * 2) slots_.resize(slots_.size() * 2);
  infos_.reserve(128);
  for (const char* text : kKeywordTexts) intern(text);
}

Symbol SymbolTable::intern(std::string_view text) {
  uint32_t hash = hash_of(text);
  size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].number != 0) {
    if (slots_[slot].hash == hash && infos_[slots_[slot].number - 1].view() == text) {
      return slots_[slot].number - 1;
    }
    slot = (slot + 1) & mask;
  }
  auto symbol = static_cast<Symbol>(infos_.size());
  infos_.push_back({text.data(), static_cast<uint32_t>(text.size()), hash});
  slots_[slot] = {hash, symbol + 1};
  if (infos_.size() * 2 > slots_.size()) grow();
  return symbol;
}

Symbol SymbolTable::intern_copy(std::string text) {
  size_t before = infos_.size();
  Symbol symbol = intern(text);
  if (infos_.size() != before) {
    copies_.push_back(std::move(text));
    infos_[symbol].text = copies_.back().data();
  }
  return symbol;
}

void SymbolTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  size_t mask = slots_.size() - 1;
  for (const Slot& entry : old) {
    if (entry.number == 0) continue;
    size_t slot = entry.hash & mask;
    while (slots_[slot].number != 0) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

}  // namespace relay::parsing
