#include <relay/support/quote.h>

#include <cstddef>

#include <relay/support/utf8.h>

namespace relay {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// True if a word has a meaning of its own where a type, a constructor or a pattern may stand.
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

std::string word_or_quoted(std::string_view name) {
  if (is_word(name)) return std::string(name);
  std::string text;
  append_quoted(text, name);
  return text;
}

std::string quoted_name(std::string_view name) {
  if (!is_taken(name)) return word_or_quoted(name);
  std::string text;
  append_quoted(text, name);
  return text;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    char c = text[0];
    size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      length = 1;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace relay
