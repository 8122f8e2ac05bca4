// JSON that commands print.
#pragma once

#include <string>

#include <relay/support/quote.h>

namespace relay::tool {

inline std::string quoted_json(const std::string& text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

/// A list of JSON; `text` writes an element.
template <class List, class Text>
std::string json_list(const List& list, const Text& text) {
  std::string out = "[";
  for (const auto& one : list) out += (out.size() > 1 ? ", " : "") + text(one);
  return out + "]";
}

}  // namespace relay::tool
