// The helpers that the tests of inference share.
#pragma once

#include <string>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>

namespace relay::testing {

/// The signature of a function (by default the entry) of a program, or "error: …" with the
/// messages.
inline std::string signature(const std::string& program, const char* function = nullptr) {
  ParseResult parsed = parse_text("test", program);
  std::vector<Diagnostic> diagnostics = parsed.diagnostics;
  if (parsed.ok()) {
    for (Diagnostic& diagnostic : infer_types(parsed.module)) diagnostics.push_back(diagnostic);
  }
  std::string errors;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::kError) continue;
    errors += (errors.empty() ? "error: " : "; ") + diagnostic.message;
  }
  if (!errors.empty()) return errors;
  const Function* found = function != nullptr ? parsed.module.function(function)
                                              : parsed.module.entry()->function.get();
  return found->type()->str();
}

/// All diagnostics of a program as shown to people.
inline std::string report(const std::string& program) {
  ParseResult parsed = parse_text("test", program);
  std::vector<Diagnostic> diagnostics = parsed.diagnostics;
  if (parsed.ok()) {
    for (Diagnostic& diagnostic : infer_types(parsed.module)) diagnostics.push_back(diagnostic);
  }
  return render(diagnostics);
}

}  // namespace relay::testing
