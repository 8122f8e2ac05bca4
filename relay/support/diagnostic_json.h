// Diagnostics as JSON, for editors and other programs.
#pragma once

#include <span>
#include <string>

#include <relay/support/diagnostic.h>

namespace relay {

/// An object for each diagnostic, on a line of its own:
/// `{"severity", "code", "message", "place", "notes": [{"kind", "message", "place"}], "fixes":
/// [{"place", "text", "safe"}]}`. A place is null, or `{"file", "line", "column", "end_line",
/// "end_column"}`; lines and columns count from 1, columns in bytes.
std::string diagnostics_json(std::span<const Diagnostic> diagnostics);

}  // namespace relay
