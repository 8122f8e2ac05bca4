#include <relay/lsp/text.h>

#include <algorithm>

#include <relay/support/utf8.h>

namespace relay::lsp {
namespace {

// UTF-16 units of a character of `length` bytes.
size_t units(size_t length) { return length == 4 ? 2 : 1; }

size_t character_length(std::string_view text) { return std::max<size_t>(utf8_length(text), 1); }

}  // namespace

LineIndex::LineIndex(std::string_view text) : starts_{0} {
  if (text.find('\r') == text.npos) {
    for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at))
      starts_.push_back(++at);
    return;
  }
  for (size_t at = text.find_first_of("\r\n"); at != text.npos;
       at = text.find_first_of("\r\n", at)) {
    at += text.substr(at).starts_with("\r\n") ? 2 : 1;
    starts_.push_back(at);
  }
}

size_t LineIndex::offset(std::string_view text, Position position) const {
  if (position.line >= starts_.size()) return text.size();
  size_t at = starts_[position.line];
  for (size_t column = 0; column < position.character && at < text.size();) {
    if (text[at] == '\n' || text[at] == '\r') break;
    const size_t length = character_length(text.substr(at));
    column += units(length);
    at += length;
  }
  return std::min(at, text.size());
}

Position LineIndex::position(std::string_view text, size_t offset) const {
  offset = std::min(offset, text.size());
  const auto line = std::upper_bound(starts_.begin(), starts_.end(), offset) - 1;
  Position result{static_cast<size_t>(line - starts_.begin()), 0};
  for (size_t at = *line; at < offset;) {
    const size_t length = character_length(text.substr(at));
    result.character += units(length);
    at += length;
  }
  return result;
}

}  // namespace relay::lsp
