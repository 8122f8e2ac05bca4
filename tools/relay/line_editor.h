// Lines that a person types.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace relay::tool {

/// Reads lines from standard input: on a terminal with editing, history and completion by libedit,
/// if that is installed; otherwise as they come.
class LineEditor {
 public:
  /// What a word may become that stands at the end of what is typed.
  using Complete = std::function<std::vector<std::string>(const std::string& word)>;

  LineEditor(std::string history_file, Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  bool interactive() const { return interactive_; }
  /// The next line without its end; nothing at the end of the input.
  std::optional<std::string> read(const std::string& prompt);
  /// Adds an entry to the history.
  void remember(const std::string& text);

 private:
  struct Library;
  bool interactive_;
  Library* library_ = nullptr;
  std::string history_file_;
};

}  // namespace relay::tool
