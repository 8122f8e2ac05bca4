#include <relay/parse/symbols.h>

#include <cstring>

#include <relay/support/error.h>
#include <relay/support/hash.h>

namespace relay::parsing {
namespace {

constexpr const char* kKeywordTexts[] = {
    "",      "let",    "fn",     "fun",   "if",   "else",  "match", "case",     "def",
    "type",  "data",   "extern", "import", "where", "True", "False", "None",     "meta",
    "Constant", "ref", "ref_read", "ref_write", "free_var", "_", "Tensor"};
static_assert(sizeof(kKeywordTexts) / sizeof(kKeywordTexts[0]) == kNumKeywords);

uint32_t hash_of(std::string_view text) {
  uint64_t hash = text.size();
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    hash = hash_mix(hash ^ word);
  }
  uint64_t word = 0;
  for (size_t k = i; k < text.size(); ++k) word = word << 8 | static_cast<unsigned char>(text[k]);
  return static_cast<uint32_t>(hash_mix(hash * 31 + word) >> 7);
}

}  // namespace

SymbolTable::SymbolTable() : slots_(256) {
  infos_.reserve(128);
  for (const char* text : kKeywordTexts) intern(text);
}

Symbol SymbolTable::intern(std::string_view text) {
  uint32_t hash = hash_of(text);
  size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != 0) {
    const SymbolInfo& info = infos_[slots_[slot] - 1];
    if (info.hash == hash && info.view() == text) return slots_[slot] - 1;
    slot = (slot + 1) & mask;
  }
  auto symbol = static_cast<Symbol>(infos_.size());
  infos_.push_back({text.data(), static_cast<uint32_t>(text.size()), hash});
  slots_[slot] = symbol + 1;
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
  slots_.assign(slots_.size() * 2, 0);
  size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < infos_.size(); ++i) {
    size_t slot = infos_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace relay::parsing
