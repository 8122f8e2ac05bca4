#include <tools/relay/line_editor.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

namespace relay::tool {

// The part of libedit's interface that is that of readline. It is loaded when it is needed, so that
// programs that bring the command along do not depend on it.
struct LineEditor::Library {
  using Matches = char** (*)(const char*, int, int);
  using Generator = char* (*)(const char*, int);

  char* (*read_line)(const char*) = nullptr;
  int (*add_history)(const char*) = nullptr;
  int (*read_history)(const char*) = nullptr;
  int (*write_history)(const char*) = nullptr;
  char** (*matches)(const char*, Generator) = nullptr;
  Matches* complete = nullptr;
  int* append_character = nullptr;
  const char** word_breaks = nullptr;

  bool load() {
    void* handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    return find(handle, "readline", read_line) && find(handle, "add_history", add_history) &&
           find(handle, "read_history", read_history) &&
           find(handle, "write_history", write_history) &&
           find(handle, "rl_completion_matches", matches) &&
           find(handle, "rl_attempted_completion_function", complete) &&
           find(handle, "rl_completion_append_character", append_character) &&
           find(handle, "rl_basic_word_break_characters", word_breaks);
  }

 private:
  template <class T>
  static bool find(void* handle, const char* name, T*& target) {
    target = reinterpret_cast<T*>(dlsym(handle, name));
    return target != nullptr;
  }
};

namespace {

LineEditor::Complete& completer() {
  static LineEditor::Complete complete;
  return complete;
}

// The words of one completion, handed out one after the other.
char* next_word(const char* word, int state) {
  static std::vector<std::string> words;
  static size_t next = 0;
  if (state == 0) {
    words = completer()(word);
    next = 0;
  }
  return next < words.size() ? strdup(words[next++].c_str()) : nullptr;
}

char** (*match_words)(const char*, char* (*)(const char*, int)) = nullptr;

char** complete_word(const char* word, int, int) { return match_words(word, next_word); }

}  // namespace

LineEditor::LineEditor(std::string history_file, Complete complete)
    : interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1),
      history_file_(std::move(history_file)) {
  if (!interactive_) return;
  static Library library;
  if (!library.load()) return;
  library_ = &library;
  completer() = std::move(complete);
  match_words = library.matches;
  *library.complete = complete_word;
  *library.append_character = '\0';
  *library.word_breaks = " \t\n()[]{},;=+*/<>!&|-";
  if (!history_file_.empty()) library.read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
  if (library_ != nullptr && !history_file_.empty()) library_->write_history(history_file_.c_str());
}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  if (library_ != nullptr) {
    char* line = library_->read_line(prompt.c_str());
    if (line == nullptr) return std::nullopt;
    std::string text = line;
    std::free(line);
    return text;
  }
  if (interactive_) {
    fmt::print("{}", prompt);
    std::fflush(stdout);
  }
  std::string text;
  for (int c = std::fgetc(stdin); c != EOF; c = std::fgetc(stdin)) {
    if (c == '\n') return text;
    text += static_cast<char>(c);
  }
  if (text.empty()) return std::nullopt;
  return text;
}

void LineEditor::remember(const std::string& text) {
  if (library_ == nullptr || text.empty()) return;
  // An entry of several lines is one of the history: line breaks have no meaning in the language.
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  library_->add_history(line.c_str());
}

}  // namespace relay::tool
