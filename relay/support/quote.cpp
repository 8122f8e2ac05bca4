#include <relay/support/quote.h>

#include <cstddef>

namespace relay {
namespace {

/// The length of the UTF-8 sequence at the front, or 0 if there is none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned char c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c < 0xE0) return follows(1) ? 2 : 0;
  if (c >= 0xE0 && c < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    if (c == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (c == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
    return 3;
  }
  if (c >= 0xF0 && c < 0xF5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (c == 0xF0 && byte(1) < 0x90) return 0;
    if (c == 0xF4 && byte(1) >= 0x90) return 0;
    return 4;
  }
  return 0;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Whether a word has a meaning of its own where a type, a constructor or a pattern may stand.
bool is_taken(std::string_view word) {
#define RELAY_KEYWORD(name, text, taken) \
  if (taken && word == text) return true;
#include <relay/support/keywords.def>
  return false;
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    size_t length = utf8_length(text.substr(i));
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i++];
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else if (c == '\t') {
      out += "\\t";
      ++i;
    } else if (c == '\r') {
      out += "\\r";
      ++i;
    } else if (c < 0x20 || c == 0x7f || length == 0) {
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  out += '"';
}

bool is_word(std::string_view name) {
  bool starts = true;
  for (char c : name) {
    bool digit = c >= '0' && c <= '9';
    if (starts ? !is_letter(c) : !is_letter(c) && !digit && c != '.') return false;
    starts = c == '.';
  }
  return !starts;
}

std::string quoted_name(std::string_view name) {
  if (is_word(name) && !is_taken(name)) return std::string(name);
  std::string text;
  append_quoted(text, name);
  return text;
}

}  // namespace relay
