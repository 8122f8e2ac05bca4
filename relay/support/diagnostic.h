// Diagnostics are data: collected first, rendered later (language.md §6).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
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

/// A change of the text that mends what a diagnostic is about. Text without a length is inserted.
struct FixIt {
  Span span;         // what is replaced
  std::string text;  // by this
  /// False if a person must look at it first: `relay check --fix` makes only safe changes.
  bool safe = true;
};

/// One error or warning. The message alone names what matters: names, types, the two shapes.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string message;
  Span span;
  std::vector<DiagnosticNote> notes;
  /// The rule that it is about, as `relay explain` knows it (`diagnostic_rules.h`); may be empty.
  std::string code = {};
  std::vector<FixIt> fixes = {};  // to be made together

  static Diagnostic error(std::string message, Span span = {});
  static Diagnostic warning(std::string message, Span span = {});
  Diagnostic& note(std::string message, Span span = {}) &;
  Diagnostic& help(std::string message, Span span = {}) &;
  Diagnostic&& note(std::string message, Span span = {}) &&;
  Diagnostic&& help(std::string message, Span span = {}) &&;
  /// Says which rule it is about, unless that is known already.
  Diagnostic& of_rule(std::string_view code) &;
  Diagnostic&& of_rule(std::string_view code) &&;
  Diagnostic& fix(Span replaced, std::string text, bool safe = true) &;
  Diagnostic&& fix(Span replaced, std::string text, bool safe = true) &&;
};

/// Says of those that name no rule that they are about this one.
void of_rule(std::vector<Diagnostic>& diagnostics, std::string_view code);

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
/// Long source lines are cut around the caret; control characters are replaced. `codes`: begins
/// with `error[T13]: …` if the rule is known.
std::string render(const Diagnostic& diagnostic, bool codes = false);
std::string render(const std::vector<Diagnostic>& diagnostics, bool codes = false);

/// The `candidates` most similar to `name` by edit distance, best first, at most `most`; for
/// messages such as "did you mean …".
std::vector<std::string> nearest_names(const std::string& name,
                                       const std::vector<std::string>& candidates, size_t most = 3);

}  // namespace relay
