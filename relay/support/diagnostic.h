// Diagnostics are data: collected first, rendered later (language.md §6).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <relay/support/span.h>

namespace relay {

enum class Severity { kError, kWarning };

/// A further remark of a diagnostic. A note with a span is shown with its own source excerpt; a
/// `help` proposes a fix.
struct DiagnosticNote {
  enum class Kind { kNote, kHelp };
  Kind kind = Kind::kNote;
  std::string message;
  Span span;
};

/// One error or warning. The message alone names what matters: names, types, the two shapes.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string message;
  Span span;
  std::vector<DiagnosticNote> notes;

  static Diagnostic error(std::string message, Span span = {});
  static Diagnostic warning(std::string message, Span span = {});
  Diagnostic& note(std::string message, Span span = {}) &;
  Diagnostic& help(std::string message, Span span = {}) &;
  Diagnostic&& note(std::string message, Span span = {}) &&;
  Diagnostic&& help(std::string message, Span span = {}) &&;
};

/// Collects diagnostics. After `kMaxErrors` errors it only counts further ones.
class DiagnosticSink {
 public:
  static constexpr size_t kMaxErrors = 100;

  void add(Diagnostic diagnostic);
  bool has_errors() const { return error_count_ > 0; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  std::vector<Diagnostic> take();
  /// Throws `Error` with everything collected if there is any error.
  void throw_if_errors();

 private:
  std::vector<Diagnostic> diagnostics_;
  size_t error_count_ = 0;
};

/// Text for a terminal: `error: …`, ` --> file:line:column`, the source line with carets, notes.
/// Long source lines are cut around the caret; control characters are replaced.
std::string render(const Diagnostic& diagnostic);
std::string render(const std::vector<Diagnostic>& diagnostics);

/// The `candidates` most similar to `name` by edit distance, best first, at most `most`; for
/// messages such as "did you mean …".
std::vector<std::string> nearest_names(const std::string& name,
                                       const std::vector<std::string>& candidates, size_t most = 3);

}  // namespace relay
