#include <relay/support/error.h>

namespace relay {

namespace {
std::string join_messages(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += diagnostic.message;
  }
  return text;
}
}  // namespace

Error::Error(Diagnostic diagnostic) : Error(std::vector<Diagnostic>{std::move(diagnostic)}) {}
Error::Error(std::vector<Diagnostic> diagnostics)
    : diagnostics_(std::move(diagnostics)), what_(join_messages(diagnostics_)) {
  auto hold = [this](Span span) {
    std::shared_ptr<const Source> source = SourceMap::find(span);
    if (source == nullptr || (!sources_.empty() && sources_.back() == source)) return;
    sources_.push_back(std::move(source));
  };
  for (const Diagnostic& diagnostic : diagnostics_) {
    hold(diagnostic.span);
    for (const DiagnosticNote& note : diagnostic.notes) hold(note.span);
  }
}
Error::Error(std::string message, Span span) : Error(Diagnostic::error(std::move(message), span)) {}

void internal_error(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError("internal error: " + message + " (" + condition + ", " + file + ":" +
                      std::to_string(line) + ")");
}

}  // namespace relay
