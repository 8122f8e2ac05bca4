#include <tools/relay/argument.h>

#include <utility>

#include <relay/parse/lexer.h>
#include <relay/support/error.h>

namespace relay::tool {

namespace {

// The first `=` outside of brackets and quotes, or npos: that of `x=random(2, seed=1)`.
size_t outer_equals(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // One that nothing ends is a character like others.
    if (c == '"') quoted = !quoted && text.find('"', i + 1) != std::string_view::npos;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == '=' && depth <= 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

bool take_quoted_name(std::string_view text, std::string& name, size_t& length) {
  size_t begin = text.starts_with('%') ? 1 : 0;
  if (begin >= text.size() || text[begin] != '"') return false;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  if (end + 1 >= text.size() || text[end + 1] != '=') return false;
  name.clear();
  if (!parsing::unescape(text.substr(begin, end + 1 - begin), name)) return false;
  length = end + 1;
  return true;
}

Argument split_argument(std::string text, int position) {
  std::string name;
  size_t length = 0;
  if (take_quoted_name(text, name, length)) {
    return {std::move(name), text.substr(length + 1), position, length + 1};
  }
  if (text.starts_with('%') && text.find('=') != std::string::npos) text.erase(0, 1);
  // Names may hold any character, and of the values only the names of files hold this one.
  size_t equals = text.starts_with('@') ? std::string::npos : outer_equals(text);
  if (equals != std::string::npos && equals > 0) {
    return {text.substr(0, equals), text.substr(equals + 1), position, equals + 1};
  }
  return {std::nullopt, std::move(text), position, 0};
}

Value read_argument(const Argument& argument, const WantedValue& wanted) {
  try {
    return read_value(argument.text, wanted, argument.shift);
  } catch (const Error& error) {
    std::string what = argument.name ? *argument.name + "=" + argument.text : argument.text;
    // The name of a file is told whole: cut, it does not say which file is meant.
    if (what.size() > 80 && !argument.text.starts_with('@')) what = what.substr(0, 77) + "...";
    throw Error("--arg " + what + ": " + error.what());
  }
}

}  // namespace relay::tool
