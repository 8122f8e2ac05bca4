// Runs code that may crash, hang or eat all memory in a child process, whose end is an answer.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace relay::reduce {

/// The result of running a program.
struct Outcome {
  enum class Kind : unsigned char {
    kFine,
    kThrows,       // an error of the compiler
    kIllTyped,     // a pass left a program that is no longer well typed
    kIllFormed,    // … or not well formed
    kDiffers,      // two results that should be equal
    kFails,        // it fails while it runs, and should not
    kRefused,      // it fails while it runs, and should: no conclusion
    kCrashes,      // the process ended by a signal
    kHangs,        // … or not at all
    kInterrupted,  // the user ended it
  };
  Kind kind = Kind::kFine;
  std::string text;  // the message, or the signal's name
};

/// "throws an error", "hangs", ….
const char* outcome_text(Outcome::Kind kind);

/// True if two programs fail in the same way: kind and message, apart from numbers and names in it.
bool same_failure(const Outcome& a, const Outcome& b);

struct Limits {
  double seconds = 5;               // of one run; 0: none
  size_t memory = size_t{4} << 30;  // bytes of address space; 0: no limit
  const std::atomic<bool>* interrupt = nullptr;
};

/// Runs `body` in a child process and returns its outcome; exceptions are kThrows with their text.
/// The calling process should have no other threads. Throws `Error` if no child can be started.
Outcome run_isolated(const std::function<Outcome()>& body, const Limits& limits);

/// The result of a shell command.
struct CommandResult {
  int exit_code = -1;  // -1 if a signal ended it
  std::string signal;  // its name
  bool hangs = false;
  bool interrupted = false;
  std::string output;  // standard output and standard error, at most kMostOutput bytes
};
inline constexpr size_t kMostOutput = size_t{1} << 20;
/// Quotes a text as one word of a shell command.
std::string shell_word(const std::string& text);
/// Runs a command by /bin/sh, with nothing on its standard input.
CommandResult run_command(const std::string& command, const Limits& limits);

}  // namespace relay::reduce
